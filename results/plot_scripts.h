/* The gnuplot scripts of the figures. Names never stand in them: they are data, in the figure's csv. */
#ifndef POCKETLOAD_RESULTS_PLOT_SCRIPTS_H
#define POCKETLOAD_RESULTS_PLOT_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A unit for an axis: its name, and how many base units it has. */
struct axis_unit {
    const char *name;
    int64_t factor;
};
struct axis_unit axis_bytes(uint64_t largest); /* MiB or GiB */
struct axis_unit axis_time(double largest_ns); /* us, ms or s */

/* Terminals, palette, the names of `series` (heads of the csv's columns from 2 on) and the titles (its last two of
 * `columns`); defines `name`. `configs` ends the first line of the title. Every script
 * begins with it. Then follow plot commands for both terminals, and script_end. */
enum { SCRIPT_HEIGHT = 620 }; /* of a picture whose labels are short */
void script_begin(FILE *file, const char *name, unsigned columns, unsigned series, const char *configs,
                  unsigned height);
void script_end(FILE *file);
unsigned script_legend_height(unsigned series); /* of a picture with so many in its legend */

/* Against the budget: column 1 the budget, then the value of each series, then 1 for each series that was killed. */
struct curves_drawing {
    const char *title, *y_label;
    struct axis_unit x, y;
    double largest_x; /* in bytes */
    unsigned series;
    bool left_out; /* there are more series than drawn */
    bool killed;   /* some runs were */
};
void script_curves(FILE *file, const struct curves_drawing *drawing);

/* Against the number of the token, in `rows` rows: column 1 the token, then the latency of each series. */
void script_latencies(FILE *file, const char *title, struct axis_unit y, unsigned series, size_t rows);

/* Stacked bars: x, group_x, runtime, kv, activation, streamed, weights, mapped file with page tables, peak of all,
 * label, group. */
struct bars {
    unsigned count, longest_label;
    double last_x;
    bool left_out;          /* there are more runs than bars */
    bool mapped;            /* some run mapped a file */
    uint64_t highest_bytes; /* at least 1 */
    uint64_t kill_bytes;    /* 0: no line */
};
unsigned script_bars_height(const struct bars *bars);
void script_bars(FILE *file, const struct bars *bars);
/* Two panels: time, the classes of memory from below (runtime, kv, activation, streamed, weights, in flight, page
 * tables, mapped file, zram), flash rate. */
enum { MOMENT_CLASSES = 9 };
struct memory_drawing {
    struct axis_unit x;
    uint64_t highest_bytes;         /* of all classes together, at least 1 */
    bool has_class[MOMENT_CLASSES]; /* it is not 0 all the time */
    int64_t fastest;                /* of the flash's rates */
};
void script_memory(FILE *file, const struct memory_drawing *drawing);

#endif
