/* The table of errors, in every format; in markdown the page docs/validation.md. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "results/validate.h"
#include "sim/record.h"

#define TEXT(type, member, may_be_null, help)                                                                          \
    {                                                                                                                  \
#member, COLUMN_TEXT, offsetof(struct type, member), may_be_null, help                                         \
    }
#define REAL(type, member, help)                                                                                       \
    {                                                                                                                  \
#member, COLUMN_REAL, offsetof(struct type, member), true, help                                                \
    }

static const struct column row_columns[] = {
    TEXT(validation_row, source, false, "file and line"),
    TEXT(validation_row, family, false, "what kind of measurement"),
    TEXT(validation_row, subject, false, "what was measured"),
    TEXT(validation_row, quantity, true, "with its unit"),
    REAL(validation_row, measured, "of an interval the lower end"),
    REAL(validation_row, measured_high, "of an interval the upper end"),
    REAL(validation_row, simulated, "by the model"),
    REAL(validation_row, error_percent, "of the measured number"),
    REAL(validation_row, limit_percent, "what is claimed"),
    TEXT(validation_row, verdict, true, "ok, off or skipped; none where nothing is claimed"),
    TEXT(validation_row, note, true, "why, or what was assumed"),
};
#define WHOLE 1000.0 /* from here on values are shown whole */
enum { ROW_COLUMNS = sizeof row_columns / sizeof *row_columns };

static const struct column summary_columns[] = {
    TEXT(validation_summary, family, false, "what kind of measurement"),
    TEXT(validation_summary, quantity, true, "with its unit"),
    {"rows", COLUMN_INTEGER, offsetof(struct validation_summary, rows), false, "of it"},
    {"off", COLUMN_INTEGER, offsetof(struct validation_summary, off), false, "outside their limit"},
    {"skipped", COLUMN_INTEGER, offsetof(struct validation_summary, skipped), false, "not simulated"},
    REAL(validation_summary, median_percent, "of the errors without their sign"),
    REAL(validation_summary, worst_percent, "the largest of them"),
    TEXT(validation_summary, worst, true, "the row of the largest"),
    REAL(validation_summary, limit_percent, "what is claimed of the median"),
    TEXT(validation_summary, verdict, true, "of the median"),
};
enum { SUMMARY_COLUMNS = sizeof summary_columns / sizeof *summary_columns };
_Static_assert(sizeof(size_t) == sizeof(int64_t), "counts are columns of 64 bits");

static bool print_all(FILE *file, enum format format, const struct column *columns, size_t column_count,
                      const void *records, size_t size, size_t count, struct error *err)
{
    struct output *output;
    if (!output_open(file, format, columns, column_count, NULL, 0, &output, err))
        return false;
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        good = output_record(output, (const char *)records + i * size, err);
    struct error closing;
    const bool closed = output_close(output, good ? err : &closing);
    return good && closed;
}

/* ---- For people ---- */

enum { CELLS = 9, CELL_BYTES = 40 };

static const char *number_text(double value, char out[CELL_BYTES])
{
    if (isnan(value))
        return "-";
    snprintf(out, CELL_BYTES, value >= WHOLE ? "%.0f" : "%.4g", value);
    return out;
}

static const char *percent_text(double value, bool sign, char out[CELL_BYTES])
{
    if (isnan(value))
        return "-";
    snprintf(out, CELL_BYTES, sign ? "%+.2f" : "%.3g", value);
    return out;
}

/* One column for a measured number or interval; empty cells are "-". */
static bool print_table(FILE *file, const struct validation *validation, struct error *err)
{
    static const char *const names[CELLS] = {"source",     "subject", "quantity", "measured", "simulated",
                                             "error in %", "limit",   "verdict",  "note"};
    const size_t count = validation->row_count;
    char(*texts)[4][2 * CELL_BYTES + 8] = calloc(count + 1, sizeof *texts);
    const char **cells = calloc((count + 1) * CELLS, sizeof *cells);
    bool good = (texts != NULL && cells != NULL) || fail(err, STATUS_IO, "out of memory for the table");
    for (size_t i = 0; good && i < count; i++) {
        const struct validation_row *row = &validation->rows[i];
        char low[CELL_BYTES], high[CELL_BYTES], one[CELL_BYTES];
        const bool interval = !isnan(row->measured_high);
        snprintf(texts[i][0], sizeof texts[i][0], "%s%s%s", number_text(row->measured, low), interval ? " .. " : "",
                 interval ? number_text(row->measured_high, high) : "");
        snprintf(texts[i][1], sizeof texts[i][1], "%s", number_text(row->simulated, one));
        snprintf(texts[i][2], sizeof texts[i][2], "%s", percent_text(row->error_percent, true, one));
        snprintf(texts[i][3], sizeof texts[i][3], "%s", percent_text(row->limit_percent, false, one));
        const char *const line[CELLS] = {row->source, row->subject, row->quantity, texts[i][0], texts[i][1],
                                         texts[i][2], texts[i][3],  row->verdict,  row->note};
        for (size_t c = 0; c < CELLS; c++)
            cells[i * CELLS + c] = line[c][0] != '\0' ? line[c] : "-";
    }
    good = good && output_cells(file, FORMAT_TABLE, names, CELLS, cells, count, err);
    free(cells);
    free(texts);
    return good;
}

static bool print_rows(FILE *file, enum format format, const struct validation *validation, struct error *err)
{
    if (format == FORMAT_TABLE)
        return print_table(file, validation, err);
    return print_all(file, format, row_columns, ROW_COLUMNS, validation->rows, sizeof *validation->rows,
                     validation->row_count, err);
}

static bool print_summary(FILE *file, enum format format, const struct validation *validation, struct error *err)
{
    return print_all(file, format, summary_columns, SUMMARY_COLUMNS, validation->summaries,
                     sizeof *validation->summaries, validation->summary_count, err);
}

static const char title[] = "# Every model against every measured truth\n\n";
static const char own[] =
    "What `pocketload validate --format markdown` prints; `make validation` writes it anew, and a test compares the "
    "two. The measurements are the files of [configs/truth](../configs/truth), each with its source; [truth-files.md]"
    "(truth-files.md) says what each family simulates, what it assumes, and how to put measurements of your own to "
    "it.\n\n";
static const char legend[] =
    "A row is one quantity of one measurement. `error_percent` is simulated over measured, less one; where an interval "
    "was measured, `measured` to `measured_high`, it is the way to the nearer end, and 0 inside. `limit_percent` is "
    "what this project claims for each row; `verdict` is `ok` inside it, `off` outside, and empty where nothing is "
    "claimed. Rows that are off stay. A row is `skipped` when what it names is not known; `note` says why.\n";

bool validation_print(FILE *file, enum format format, const struct validation *validation, struct error *err)
{
    if (format == FORMAT_MARKDOWN) {
        fprintf(file, "%s%s%s", title, validation->own ? own : "", legend);
        fputs("\n## By family and quantity\n\nErrors without their sign; the limit is one of the median.\n\n", file);
        if (!print_summary(file, format, validation, err))
            return false;
        fputs("\n## Rows\n\n", file);
        return print_rows(file, format, validation, err);
    }
    if (!print_rows(file, format, validation, err))
        return false;
    if (format != FORMAT_TABLE)
        return true;
    size_t off, skipped;
    putc('\n', file);
    if (!print_summary(file, format, validation, err))
        return false;
    validation_good(validation, &off, &skipped);
    fprintf(file, "\n%zu rows, %zu skipped, %zu off\n", validation->row_count, skipped, off);
    return (fflush(file) == 0 && !ferror(file)) || fail(err, STATUS_IO, "cannot write the output");
}
