/* The gnuplot scripts of the figures. Names never stand in them: they are data, in the figure's csv. */
#ifndef POCKETLOAD_RESULTS_PLOT_SCRIPTS_H
#define POCKETLOAD_RESULTS_PLOT_SCRIPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A unit for an axis: its name, and how many base units it has. */
struct axis_unit {
    const char *name;
    int64_t factor;
};
struct axis_unit axis_bytes(uint64_t largest); /* MiB or GiB */
struct axis_unit axis_time(double largest_ns); /* us, ms or s */

/* Terminals, palette and the title from the last column (number `columns`) of NAME.csv; defines `name`. Every script
 * begins with it; a long legend makes the picture higher. Then follow plot commands for both terminals, and script_end.
 */
void script_begin(FILE *file, const char *name, unsigned columns, unsigned legend_lines);
void script_end(FILE *file);

/* Lines of columns 2 .. series + 1 of the csv, scaled, against column 1. */
void script_lines(FILE *file, const char *title, const char *x_label, struct axis_unit x, const char *y_label,
                  struct axis_unit y, unsigned series, bool points);
/* Stacked bars: x, label, group, group_x, runtime, kv, activation, weights. */
struct bars {
    unsigned count, longest_label;
    double last_x;
    bool left_out;          /* there are more runs than bars */
    uint64_t highest_bytes; /* at least 1 */
};
void script_bars(FILE *file, const struct bars *bars);
/* Two panels: time, runtime, kv, activation, weights, in flight, flash rate (at most `fastest`). */
void script_memory(FILE *file, struct axis_unit x, struct axis_unit y, int64_t fastest);

#endif
