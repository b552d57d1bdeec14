/* What the figures share: the runs to draw, their labels, and the data files. */
#ifndef POCKETLOAD_RESULTS_PLOT_DATA_H
#define POCKETLOAD_RESULTS_PLOT_DATA_H

#include <stdint.h>
#include <stdio.h>

#include "results/plot.h"

enum {
    SERIES_MAX = 16,
    RIVALS_MAX = 8,
    BARS_MAX = 64,
    LABEL_CHARACTERS = 48,
    BAR_LABEL_CHARACTERS = 24,
    TITLE_CHARACTERS = 110
};

/* The runs of one experiment; everything lives in the arena. */
struct plot_runs {
    struct arena arena;
    struct run_record *records;
    char **labels; /* of each: the policy, and what else differs among the runs */
    size_t count, capacity;
    char *title;                     /* what they have in common */
    const struct run_record *chosen; /* the run of the figures of one run */
    const struct run_record
        *rivals[RIVALS_MAX]; /* the chosen one and those to compare it with, in the order of records */
    size_t rival_count;
};

/* On failure too, plot_runs_free. */
bool plot_runs_read(struct store *store, const struct plot_spec *spec, struct plot_runs *runs, struct error *err);
void plot_runs_free(struct plot_runs *runs);

const char *plot_label(const struct plot_runs *runs, const struct run_record *record);

/* One field of a data file that gnuplot reads: one line, at most `characters` long. A double quote becomes a single
 * one, and a comma a blank: gnuplot's columnheader() and strcol() end at it even within quotes. */
bool plot_text(FILE *file, const char *text, size_t characters, bool common);

/* A figure under way: NAME.csv and NAME.gp in the folder. */
struct figure {
    const char *folder, *name;
    FILE *data, *script;
};
bool figure_begin(struct figure *figure, const char *folder, const char *name, struct error *err);
/* Closes both and draws; made is called with the path of each picture. On failure (`ok` false: the caller's) only
 * closes. Returns false when anything failed. */
bool figure_end(struct figure *figure, bool ok, void (*made)(void *context, const char *path), void *context,
                struct error *err);

/* Closes both without drawing. */
void figure_abandon(struct figure *figure);

/* The figures; each writes its data and its script. *drawn false: there is nothing to show in it. */
typedef bool figure_write(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                          struct error *err);
figure_write figure_hit_rate, figure_stall_per_token, figure_peak_memory, figure_memory_over_time, figure_token_latency;

#endif
