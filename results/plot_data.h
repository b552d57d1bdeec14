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
    LABEL_CHARACTERS = 60,
    BAR_LABEL_CHARACTERS = 40,
    TITLE_CHARACTERS = 100
};

/* What stands between the parts of labels and titles. */
#define PLOT_BETWEEN " \xC2\xB7 "

/* A run, and what the figures need beyond its record. */
struct plot_run {
    struct run_record record;
    char *label;                            /* what tells it apart among the runs */
    size_t setting;                         /* equal: the configs differ in policy, budget and seed only */
    int64_t asked;                          /* rises with each asking */
    uint64_t runtime_bytes, streamed_bytes; /* peaks, as far as samples show them */
    int64_t kill_threshold;                 /* 0: none */
    double later_stall_ns;                  /* mean of the later tokens; NAN: it has none */
};

/* The runs of one experiment; everything lives in the arena. */
struct plot_runs {
    struct arena arena;
    struct plot_run *runs;
    size_t count, capacity;
    const char **settings; /* texts of the distinct ones */
    size_t setting_count, setting_capacity;
    unsigned rival_settings;                   /* the most that share all names; one of them is drawn */
    char configs[48];                          /* says so in titles; "": all are drawn */
    char *title;                               /* what the runs have in common */
    const struct plot_run *chosen;             /* the run of the figures of one run */
    const struct plot_run *rivals[RIVALS_MAX]; /* the chosen one and those to compare it with, in the order of runs */
    size_t rival_count;
};

/* On failure too, plot_runs_free. */
bool plot_runs_read(struct store *store, const struct plot_spec *spec, struct plot_runs *runs, struct error *err);
void plot_runs_free(struct plot_runs *runs);

/* SQL: of the finished tokens of run ?1 all but the first and those of a prompt. The last row of a killed run may be a
 * token that was cut off. */
#define PLOT_LATER_TOKENS                                                                                              \
    "(SELECT token, latency_ns, stall_ns FROM (SELECT *, row_number() OVER (ORDER BY token, phase <> 'prefill') AS "   \
    "place FROM token WHERE run_key = ?1) WHERE place > 1 AND phase <> 'prefill' AND place <= (SELECT tokens FROM "    \
    "run WHERE run_key = ?1))"

/* Both return false. */
bool plot_no_memory(struct error *err);
bool plot_query_failed(struct store *store, struct error *err);

/* One quoted field of a data file that gnuplot reads: one line, at most `characters` long. What is too long is cut in
 * the middle of its longest parts, so that all parts are still there, each with its start and its end. A double quote
 * becomes a single one, and a comma U+201A: gnuplot ends a text at it even within quotes; the scripts turn it back.
 * With `common`, characters that fonts for plots may lack become "?". */
bool plot_text(FILE *file, const char *text, size_t characters, bool common);

/* The heads of the last two columns of each figure, and their fields on each row, to the line's end: what its runs have
 * in common, and what this figure is of ("": nothing more). */
#define PLOT_TITLE_HEADS ",title,subtitle\n"
bool plot_titles(FILE *file, const struct plot_runs *runs, const char *subtitle);

/* A figure under way: NAME.csv and NAME.gp in the folder. */
struct figure {
    const char *folder, *name;
    const char *missing; /* why it was not drawn */
    FILE *data, *script;
};
bool figure_begin(struct figure *figure, const char *folder, const char *name, struct error *err);
/* Closes both and draws; made is called with the path of each picture. On failure (`ok` false: the caller's) only
 * closes. Returns false when anything failed. */
bool figure_end(struct figure *figure, bool ok, void (*made)(void *context, const char *path), void *context,
                struct error *err);

/* Closes both without drawing. */
void figure_abandon(struct figure *figure);

/* The figures; each writes its data and its script. *drawn false: there is nothing to show in it; figure->missing says
 * why. */
typedef bool figure_write(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                          struct error *err);
figure_write figure_hit_rate, figure_stall_per_token, figure_peak_memory, figure_memory_over_time, figure_token_latency;

#endif
