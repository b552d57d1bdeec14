/* Rows of cells with aligned columns, for tables that people read. */
#ifndef POCKETLOAD_RESULTS_GRID_H
#define POCKETLOAD_RESULTS_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct grid {
    char **cells; /* row-major; row 0 is the head */
    size_t columns, count, capacity;
    size_t *widths; /* of each column, after grid_measure */
};

/* Adds one cell, a copy made safe for a terminal. False without memory. */
bool grid_add(struct grid *grid, const char *text);

/* Once all cells are there. False without memory. */
bool grid_measure(struct grid *grid);

/* One row without a line end. Columns with right[column] end at the same place. */
void grid_print_row(const struct grid *grid, FILE *file, size_t row, const bool *right);

void grid_free(struct grid *grid);

#endif
