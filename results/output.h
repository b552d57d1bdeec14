/* Records as text: a table for people, and csv, json, jsonl and markdown for machines (sizes in bytes, times in
 * nanoseconds, NULL as an empty field or null). Column names are those of sim/record.h. JSON through jansson. */
#ifndef POCKETLOAD_RESULTS_OUTPUT_H
#define POCKETLOAD_RESULTS_OUTPUT_H

#include <stdio.h>

#include "sim/record.h"

enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_JSONL, FORMAT_MARKDOWN, FORMATS };
extern const char *const format_names[FORMATS];

/* Records of one kind, one after the other; columns describe each. Table format shows `shown` columns only (indices
 * into columns; NULL: all), with sizes and times for people; the other formats show all. Reals have the fewest digits
 * that read back to the same value; csv quotes as RFC 4180 and ends lines with "\n". */
struct output;
bool output_open(FILE *file, enum format format, const struct column *columns, size_t column_count, const size_t *shown,
                 size_t shown_count, struct output **output, struct error *err);
bool output_record(struct output *output, const void *record, struct error *err);
/* Writes what is left, flushes, and checks for write errors (STATUS_IO). Frees. */
bool output_close(struct output *output, struct error *err);

/* The ranking of a grid for people: for each group of equal device, model, quant, workload, loader, seed and budget,
 * the policies from best to worst with hit rate, TTFT, time per token, share of the time that waits for weights, bytes
 * read a token, peak memory, and a verdict. Best is the least mean time per later token, then the least time to the
 * first; equal in both is a tie; killed runs come last. `color`: ANSI colours. */
bool output_ranking(FILE *file, const struct run_record *records, size_t count, bool color, struct error *err);

/* Cells of any table in any format, for list and show: texts only. Rows are row-major. */
bool output_cells(FILE *file, enum format format, const char *const *names, size_t column_count,
                  const char *const *cells, size_t row_count, struct error *err);

#endif
