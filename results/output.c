/* Records as a table, csv, json, jsonl or markdown. */
#include "results/output.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "results/grid.h"
#include "results/text.h"

const char *const format_names[FORMATS] = {"table", "csv", "json", "jsonl", "markdown"};

struct output {
    FILE *file;
    enum format format;
    const struct column *columns;
    size_t *shown; /* indices into columns */
    size_t shown_count;
    bool guess_numbers; /* texts that read as numbers stand at the right */
    size_t count;
    struct grid grid; /* of FORMAT_TABLE: widths are known at the end */
};

static bool no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory for the output");
}

/* ---- Cells ---- */

enum { NUMBER_TEXT = 40 };

/* The field of a record: its text, or NULL for NULL. Numbers are written into `number`. */
static const char *machine_text(const struct column *column, const void *record, char number[NUMBER_TEXT])
{
    const char *field = (const char *)record + column->offset;
    const char *text;
    int64_t integer;
    double real;
    switch (column->type) {
    case COLUMN_TEXT:
        memcpy(&text, field, sizeof text);
        return column->nullable && text[0] == '\0' ? NULL : text;
    case COLUMN_INTEGER:
        memcpy(&integer, field, sizeof integer);
        if (column->nullable && integer < 0)
            return NULL;
        snprintf(number, NUMBER_TEXT, "%" PRIu64, (uint64_t)integer);
        return number;
    case COLUMN_REAL:
        break;
    }
    memcpy(&real, field, sizeof real);
    return text_real(real, number);
}

static bool starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool ends(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The same for people: the name of a column tells its unit. */
static const char *person_text(const struct column *column, const void *record, char out[NUMBER_TEXT])
{
    const char *plain = machine_text(column, record, out);
    const char *name = column->name;
    char unit[UNITS_TEXT];
    if (!plain)
        return "-";
    if (column->type == COLUMN_INTEGER) {
        uint64_t value;
        memcpy(&value, (const char *)record + column->offset, sizeof value);
        if (ends(name, "_bytes") || starts(name, "bytes_"))
            snprintf(out, NUMBER_TEXT, "%s%s", format_bytes(value, unit), ends(name, "_per_s") ? "/s" : "");
        else if (ends(name, "_ns"))
            snprintf(out, NUMBER_TEXT, "%s", format_time((int64_t)value, unit));
    } else if (column->type == COLUMN_REAL) {
        double value;
        memcpy(&value, (const char *)record + column->offset, sizeof value);
        if (ends(name, "_rate"))
            snprintf(out, NUMBER_TEXT, "%.1f %%", 100 * value);
        else
            snprintf(out, NUMBER_TEXT, "%.4g", value);
    }
    return plain;
}

/* "peak_memory_bytes" is "peak memory". */
static bool add_heading(struct grid *grid, const char *name)
{
    char *text = strdup(name);
    if (!text)
        return false;
    if (ends(text, "_bytes"))
        text[strlen(text) - strlen("_bytes")] = '\0';
    else if (ends(text, "_ns"))
        text[strlen(text) - strlen("_ns")] = '\0';
    for (char *p = text; *p != '\0'; p++)
        *p = *p == '_' ? ' ' : *p;
    const bool ok = grid_add(grid, text);
    free(text);
    return ok;
}

/* ---- Formats ---- */

static bool write_json_text(FILE *file, const char *text, struct error *err)
{
    char *clean = text_clean(text, false);
    json_t *value = clean ? json_string(clean) : NULL;
    const bool ok = value && json_dumpf(value, file, JSON_ENCODE_ANY) == 0;
    json_decref(value);
    free(clean);
    return ok || ferror(file) || no_memory(err); /* a write error is told at the end */
}

static bool write_json(struct output *output, const void *record, struct error *err)
{
    FILE *file = output->file;
    char number[NUMBER_TEXT];
    if (output->format == FORMAT_JSON)
        fputs(output->count == 0 ? "[\n" : ",\n", file);
    for (size_t i = 0; i < output->shown_count; i++) {
        const struct column *column = &output->columns[output->shown[i]];
        fputs(i == 0 ? "{" : ", ", file);
        if (!write_json_text(file, column->name, err))
            return false;
        fputs(": ", file);
        const char *text = machine_text(column, record, number);
        if (!text)
            fputs("null", file);
        else if (column->type != COLUMN_TEXT)
            fputs(text, file);
        else if (!write_json_text(file, text, err))
            return false;
    }
    fputs(output->format == FORMAT_JSONL ? "}\n" : "}", file);
    return true;
}

static bool write_csv_text(FILE *file, const char *text, struct error *err)
{
    char *clean = text_clean(text, false);
    if (!clean)
        return no_memory(err);
    text_csv(file, clean);
    free(clean);
    return true;
}

/* In one line, with nothing in it that markdown would act on. */
static bool write_markdown_text(FILE *file, const char *text, struct error *err)
{
    char *clean = text_clean(text, true);
    if (!clean)
        return no_memory(err);
    for (const char *p = clean; *p != '\0'; p++) {
        if (strchr("\\|`*_<>[]&~", *p))
            putc('\\', file);
        putc(*p, file);
    }
    free(clean);
    return true;
}

/* A line of csv or markdown; record NULL: the names. */
static bool write_line(struct output *output, const void *record, struct error *err)
{
    FILE *file = output->file;
    const bool csv = output->format == FORMAT_CSV;
    char number[NUMBER_TEXT];
    for (size_t i = 0; i < output->shown_count; i++) {
        const struct column *column = &output->columns[output->shown[i]];
        const char *text = record ? machine_text(column, record, number) : column->name;
        fputs(csv ? (i == 0 ? "" : ",") : (i == 0 ? "| " : " | "), file);
        if (text && !(csv ? write_csv_text(file, text, err) : write_markdown_text(file, text, err)))
            return false;
    }
    fputs(csv ? "\n" : " |\n", file);
    return true;
}

static bool write_head(struct output *output, struct error *err)
{
    if (output->format == FORMAT_TABLE) {
        for (size_t i = 0; i < output->shown_count; i++)
            if (!add_heading(&output->grid, output->columns[output->shown[i]].name))
                return no_memory(err);
        return true;
    }
    if (output->format != FORMAT_CSV && output->format != FORMAT_MARKDOWN)
        return true;
    if (!write_line(output, NULL, err))
        return false;
    if (output->format == FORMAT_MARKDOWN) {
        for (size_t i = 0; i < output->shown_count; i++)
            fputs(output->columns[output->shown[i]].type == COLUMN_TEXT ? "| --- " : "| ---: ", output->file);
        fputs("|\n", output->file);
    }
    return true;
}

/* ---- Records ---- */

bool output_open(FILE *file, enum format format, const struct column *columns, size_t column_count, const size_t *shown,
                 size_t shown_count, struct output **out, struct error *err)
{
    const bool some = shown && format == FORMAT_TABLE;
    struct output *output = calloc(1, sizeof *output);
    *out = output;
    if (!output)
        return no_memory(err);
    output->file = file;
    output->format = format;
    output->columns = columns;
    output->shown_count = some ? shown_count : column_count;
    output->grid.columns = output->shown_count;
    output->shown = calloc(output->shown_count, sizeof *output->shown);
    bool ok = output->shown != NULL || no_memory(err);
    for (size_t i = 0; ok && i < output->shown_count; i++) {
        output->shown[i] = some ? shown[i] : i;
        must(output->shown[i] < column_count);
    }
    if (ok && write_head(output, err))
        return true;
    grid_free(&output->grid);
    free(output->shown);
    free(output);
    *out = NULL;
    return false;
}

bool output_record(struct output *output, const void *record, struct error *err)
{
    char number[NUMBER_TEXT];
    bool ok = true;
    if (output->format == FORMAT_TABLE) {
        for (size_t i = 0; ok && i < output->shown_count; i++) {
            const struct column *column = &output->columns[output->shown[i]];
            ok = grid_add(&output->grid, person_text(column, record, number)) || no_memory(err);
        }
    } else if (output->format == FORMAT_JSON || output->format == FORMAT_JSONL) {
        ok = write_json(output, record, err);
    } else {
        ok = write_line(output, record, err);
    }
    output->count++;
    return ok;
}

/* "35", "512 MiB", "45.7 %", "-": a number, and perhaps a unit after a blank. */
static bool reads_as_number(const char *text)
{
    if (strcmp(text, "-") == 0)
        return true;
    const size_t digits = strspn(text, "0123456789.");
    return digits > 0 && (text[digits] == '\0' || (text[digits] == ' ' && strlen(text + digits) < 8));
}

static bool print_table(struct output *output, struct error *err)
{
    struct grid *grid = &output->grid;
    bool *right = calloc(output->shown_count, sizeof *right);
    const bool ok = (right && grid_measure(grid)) || no_memory(err);
    for (size_t i = 0; ok && i < output->shown_count; i++) {
        right[i] = output->guess_numbers || output->columns[output->shown[i]].type != COLUMN_TEXT;
        for (size_t cell = grid->columns + i; output->guess_numbers && cell < grid->count; cell += grid->columns)
            right[i] = right[i] && reads_as_number(grid->cells[cell]);
    }
    for (size_t row = 0; ok && row <= output->count; row++) {
        grid_print_row(grid, output->file, row, right);
        putc('\n', output->file);
    }
    free(right);
    return ok;
}

static bool finish(FILE *file, struct error *err)
{
    if (fflush(file) != 0 || ferror(file))
        return fail(err, STATUS_IO, "cannot write the output: %s", errno != 0 ? strerror(errno) : "write error");
    return true;
}

bool output_close(struct output *output, struct error *err)
{
    bool ok = true;
    if (output->format == FORMAT_TABLE)
        ok = print_table(output, err);
    else if (output->format == FORMAT_JSON)
        fputs(output->count == 0 ? "[]\n" : "\n]\n", output->file);
    ok = ok && finish(output->file, err);
    grid_free(&output->grid);
    free(output->shown);
    free(output);
    return ok;
}

/* A row of texts is a record of text columns. */
bool output_cells(FILE *file, enum format format, const char *const *names, size_t column_count,
                  const char *const *cells, size_t row_count, struct error *err)
{
    struct column *columns = calloc(column_count, sizeof *columns);
    if (!columns)
        return no_memory(err);
    for (size_t i = 0; i < column_count; i++)
        columns[i] = (struct column){.name = names[i], .type = COLUMN_TEXT, .offset = i * sizeof *cells};
    struct output *output;
    bool ok = output_open(file, format, columns, column_count, NULL, 0, &output, err);
    if (ok) {
        output->guess_numbers = true;
        for (size_t row = 0; ok && row < row_count; row++)
            ok = output_record(output, cells + row * column_count, err);
        struct error close_error;
        const bool closed = output_close(output, &close_error);
        if (ok && !closed)
            *err = close_error;
        ok = ok && closed;
    }
    free(columns);
    return ok;
}
