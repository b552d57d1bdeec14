/* Figures from a database through gnuplot: for each, NAME.svg, NAME.png, and beside them NAME.gp and NAME.csv, so that
 * a user can restyle it. */
#ifndef POCKETLOAD_RESULTS_PLOT_H
#define POCKETLOAD_RESULTS_PLOT_H

#include <stdio.h>

#include "results/store.h"

struct plot_spec {
    const char *folder;     /* made when absent */
    const char *experiment; /* NULL: the one stored last */
    const char *run_key; /* a key, or a prefix of one: for the figures of one run (memory over time, latency of tokens);
                            NULL: the best of the largest budget at which the policies differ, and its rivals */
    FILE *notes;         /* gets a line on each figure that was not drawn, and on configs left out; NULL: stderr */
};

/* Calls back with the path of each figure made. STATUS_IO when gnuplot is missing or fails, or the database has nothing
 * to plot. */
bool plot_all(struct store *store, const struct plot_spec *spec, void (*made)(void *context, const char *path),
              void *context, struct error *err);

#endif
