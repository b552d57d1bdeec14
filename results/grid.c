/* Rows of cells with aligned columns, for tables that people read. */
#include "results/grid.h"

#include <stdint.h>
#include <stdlib.h>

#include "results/text.h"

bool grid_add(struct grid *grid, const char *text)
{
    if (grid->count == grid->capacity) {
        const size_t capacity = grid->capacity ? 2 * grid->capacity : 256;
        char **cells = capacity > SIZE_MAX / sizeof *cells ? NULL : realloc(grid->cells, capacity * sizeof *cells);
        if (!cells)
            return false;
        grid->cells = cells;
        grid->capacity = capacity;
    }
    char *copy = text_clean(text, true);
    if (!copy)
        return false;
    grid->cells[grid->count++] = copy;
    return true;
}

bool grid_measure(struct grid *grid)
{
    grid->widths = calloc(grid->columns, sizeof *grid->widths);
    for (size_t i = 0; grid->widths && i < grid->count; i++) {
        const size_t width = text_width(grid->cells[i]);
        size_t *widest = &grid->widths[i % grid->columns];
        *widest = width > *widest ? width : *widest;
    }
    return grid->widths != NULL;
}

/* No blanks at the end of a line. */
void grid_print_row(const struct grid *grid, FILE *file, size_t row, const bool *right)
{
    char *const *cells = grid->cells + row * grid->columns;
    size_t used = 0;
    for (size_t i = 0; i < grid->columns; i++)
        if (cells[i][0] != '\0')
            used = i + 1;
    for (size_t i = 0; i < used; i++) {
        const int blanks = (int)(grid->widths[i] - text_width(cells[i]));
        const int before = right[i] ? blanks : 0, after = right[i] || i + 1 == used ? 0 : blanks;
        fprintf(file, "%s%*s%s%*s", i == 0 ? "" : "  ", before, "", cells[i], after, "");
    }
}

void grid_free(struct grid *grid)
{
    for (size_t i = 0; i < grid->count; i++)
        free(grid->cells[i]);
    free(grid->cells);
    free(grid->widths);
    *grid = (struct grid){0};
}
