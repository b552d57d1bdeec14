/* What the tests of measured data share: where the data is, rows of comma-separated files, the phone, small runs. */
#ifndef POCKETLOAD_TESTS_TRUTH_DATA_H
#define POCKETLOAD_TESTS_TRUTH_DATA_H

#include <stdbool.h>

#include "sim/engine.h"

#define TRUTH_FOLDER "../shared/data/"

/* True when the folder of measured data is there; else says that the test skips itself. */
bool truth_available(void);

/* Reads a table whose lines are cells split at commas; lines that start with # and the header line are left out. The
 * cells of row i are cells[i * columns]; missing ones are "". Ends the process when the file cannot be read or a line
 * has more cells. */
struct truth_table {
    char *text;
    char **cells;
    size_t rows, columns;
};
void truth_read(const char *path, size_t columns, struct truth_table *table);
void truth_free(struct truth_table *table);

/* A cell as a number; ends the process when it is none. */
double truth_number(const struct truth_table *table, size_t row, size_t column);

/* configs/devices/NAME.ini */
void truth_device(const char *name, struct device *device);

/* A run that must succeed, under a policy's text, chunked; `loader` says the rest. */
void truth_run(const struct model *model, const struct trace *trace, const struct device *device,
               const struct loader *loader, const char *policy, struct arena *arena, struct run_result *result);

/* A loader with one lane of whole reads, no overlap, and that budget. */
struct loader plain_loader(uint64_t budget_bytes);

#endif
