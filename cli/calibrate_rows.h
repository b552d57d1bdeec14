/* A calibration, or a fit alone, as rows of a table: each quantity with its spread, each rate of the flash with what
 * the law gives for it. */
#ifndef POCKETLOAD_CLI_CALIBRATE_ROWS_H
#define POCKETLOAD_CLI_CALIBRATE_ROWS_H

#include "results/output.h"
#include "sim/calibrate.h"

/* Writes the rows to stdout. */
bool show_calibration(enum format format, const struct calibration *calibration, struct error *err);

/* The same of points that were measured elsewhere. */
bool show_fit(enum format format, const struct flash_point *points, size_t count, const struct flash_fit *fit,
              struct error *err);

#endif
