/* Records of list and show commands in every format. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/common.h"

enum { SHOWN_MAX = 192, CELL_BYTES = 96 };

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* One value for people, by the unit in its column's name. */
static const char *cell_text(const struct column *column, const void *record, char out[CELL_BYTES])
{
    const char *at = (const char *)record + column->offset;
    if (column->type == COLUMN_TEXT) {
        const char *text;
        memcpy(&text, at, sizeof text);
        return text;
    }
    if (column->type == COLUMN_REAL) {
        double value;
        memcpy(&value, at, sizeof value);
        if (isnan(value))
            return "";
        if (ends_with(column->name, "_share") || strcmp(column->name, "error") == 0)
            snprintf(out, CELL_BYTES, "%.1f %%", fabs(value) < 0.0005 ? 0.0 : 100 * value);
        else
            snprintf(out, CELL_BYTES, "%.6g", value);
        return out;
    }
    int64_t value;
    memcpy(&value, at, sizeof value);
    if (column->nullable && value == -1)
        return "";
    char units[UNITS_TEXT];
    if (ends_with(column->name, "bytes_per_s"))
        snprintf(out, CELL_BYTES, "%.4g GB/s", (double)value / 1e9);
    else if (ends_with(column->name, "flops_per_s"))
        snprintf(out, CELL_BYTES, "%.4g GFLOPS", (double)value / 1e9);
    else if (strstr(column->name, "bytes") != NULL)
        snprintf(out, CELL_BYTES, "%s", format_bytes((uint64_t)value, units));
    else if (ends_with(column->name, "_ns"))
        snprintf(out, CELL_BYTES, "%s", format_time(value, units));
    else
        snprintf(out, CELL_BYTES, "%" PRId64, value);
    return out;
}

static bool show_cells(const struct column *columns, size_t column_count, const char *records, size_t size,
                       size_t count, struct error *err)
{
    must(column_count <= SHOWN_MAX);
    const char *names[SHOWN_MAX];
    for (size_t i = 0; i < column_count; i++)
        names[i] = columns[i].name;
    size_t total = column_count * count;
    char(*texts)[CELL_BYTES] = calloc(total + 1, sizeof *texts);
    const char **cells = calloc(total + 1, sizeof *cells);
    bool good = (texts != NULL && cells != NULL) || fail(err, STATUS_IO, "out of memory");
    if (good) {
        for (size_t i = 0; i < total; i++)
            cells[i] = cell_text(&columns[i % column_count], records + i / column_count * size, texts[i]);
        good = output_cells(stdout, FORMAT_TABLE, names, column_count, cells, count, err);
    }
    free(cells);
    free(texts);
    return good;
}

bool show_list(enum format format, const struct column *columns, size_t column_count, const void *records, size_t size,
               size_t count, struct error *err)
{
    return format == FORMAT_TABLE ? show_cells(columns, column_count, records, size, count, err)
                                  : show_records(format, columns, column_count, records, size, count, err);
}

/* sources NULL: none. */
static bool show_fields(const struct column *columns, const char *const *sources, size_t count, const void *record,
                        struct error *err)
{
    static const char *const names[] = {"field", "value", "source"};
    const size_t width = sources != NULL ? 3 : 2;
    char texts[SHOWN_MAX][CELL_BYTES];
    const char *cells[3 * SHOWN_MAX];
    size_t rows = 0;
    must(count <= SHOWN_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *text = cell_text(&columns[i], record, texts[i]);
        if (text[0] == '\0')
            continue;
        cells[width * rows] = columns[i].name;
        cells[width * rows + 1] = text;
        if (sources != NULL)
            cells[width * rows + 2] = sources[i];
        rows++;
    }
    return output_cells(stdout, FORMAT_TABLE, names, width, cells, rows, err);
}

bool show_record(enum format format, const struct column *columns, size_t count, const void *record, struct error *err)
{
    return format == FORMAT_TABLE ? show_fields(columns, NULL, count, record, err)
                                  : show_records(format, columns, count, record, 0, 1, err);
}

bool show_sourced_record(const struct column *columns, const char *const *sources, size_t count, const void *record,
                         struct error *err)
{
    return show_fields(columns, sources, count, record, err);
}

bool show_records(enum format format, const struct column *columns, size_t column_count, const void *records,
                  size_t size, size_t count, struct error *err)
{
    struct output *output;
    if (!output_open(stdout, format, columns, column_count, NULL, 0, &output, err))
        return false;
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        good = output_record(output, (const char *)records + i * size, err);
    struct error closing;
    bool closed = output_close(output, good ? err : &closing);
    return good && closed;
}
