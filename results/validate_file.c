/* Truth files: CSV whose set of columns tells what was measured. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "results/validate_parts.h"
#include "sim/settings.h"
#include "workloads/reader.h"

enum { LIST_TEXT = 512 };
#define NOT_THERE UINT32_MAX

struct parsing {
    const char *name;
    struct arena *arena;
    struct truth_file *file;
    uint32_t *place; /* by column of the family: which field of a line it is, or NOT_THERE */
    uint32_t field_count;
    size_t capacity;
};

static bool no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory for a truth file");
}

/* ---- The header ---- */

static bool has_column(const struct truth_family *family, const char *name)
{
    for (size_t c = 0; c < family->column_count; c++)
        if (strcmp(family->columns[c].name, name) == 0)
            return true;
    return false;
}

/* How far a header is from a family: columns that are missing and that are unknown. */
static size_t distance(const struct truth_family *family, char *const *fields, uint32_t count)
{
    size_t far = 0;
    for (uint32_t i = 0; i < count; i++)
        far += !has_column(family, fields[i]);
    for (size_t c = 0; c < family->column_count; c++) {
        bool found = (family->columns[c].flags & TRUTH_MAY_BE_MISSING) != 0;
        for (uint32_t i = 0; i < count && !found; i++)
            found = strcmp(family->columns[c].name, fields[i]) == 0;
        far += !found;
    }
    return far;
}

static void append(char list[LIST_TEXT], const char *text)
{
    const size_t used = strlen(list);
    snprintf(list + used, LIST_TEXT - used, "%s%s", used > 0 ? ", " : "", text);
}

/* Names the families, or the nearest and what keeps the file from it. */
static bool fail_family(char *const *fields, uint32_t count, struct error *err)
{
    const struct truth_family *near = NULL;
    size_t least = 0;
    char unknown[LIST_TEXT] = "", missing[LIST_TEXT] = "", names[LIST_TEXT] = "";
    for (size_t f = 0; f < truth_family_count; f++) {
        const size_t far = distance(truth_families[f], fields, count);
        if (near == NULL || far < least) {
            near = truth_families[f];
            least = far;
        }
    }
    if (least >= near->column_count) {
        const char *list[VALIDATE_FAMILIES_MAX];
        const size_t name_count = validate_family_names(list);
        for (size_t i = 0; i < name_count; i++)
            append(names, list[i]);
        return fail(err, STATUS_INPUT, "column \"%.40s\": these are the columns of no family; expected those of %s",
                    fields[0], names);
    }
    const char *list[TRUTH_COLUMNS_MAX];
    for (size_t c = 0; c < near->column_count; c++)
        list[c] = near->columns[c].name;
    for (uint32_t i = 0; i < count; i++)
        if (!has_column(near, fields[i])) {
            char one[64], hint[LIST_TEXT];
            const char *meant = suggest(fields[i], list, near->column_count);
            snprintf(hint, sizeof hint, meant != NULL ? " (did you mean %s?)" : "%s", meant != NULL ? meant : "");
            snprintf(one, sizeof one, "\"%.40s\"", fields[i]);
            append(unknown, one);
            if (meant != NULL && strlen(unknown) + strlen(hint) < LIST_TEXT)
                strcat(unknown, hint);
        }
    for (size_t c = 0; c < near->column_count; c++) {
        bool found = (near->columns[c].flags & TRUTH_MAY_BE_MISSING) != 0;
        for (uint32_t i = 0; i < count && !found; i++)
            found = strcmp(near->columns[c].name, fields[i]) == 0;
        if (!found)
            append(missing, near->columns[c].name);
    }
    return fail(err, STATUS_INPUT, "not the columns of a family; of the nearest, %s,%s%s%s%s%s", near->name,
                missing[0] != '\0' ? " missing: " : "", missing, missing[0] != '\0' && unknown[0] != '\0' ? ";" : "",
                unknown[0] != '\0' ? " unknown: " : "", unknown);
}

static bool read_header(struct parsing *parsing, char **fields, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(fields[i], fields[j]) == 0)
                return fail(err, STATUS_INPUT, "column \"%.40s\" is there twice", fields[i]);
    const struct truth_family *family = NULL;
    for (size_t f = 0; f < truth_family_count && family == NULL; f++)
        if (distance(truth_families[f], fields, count) == 0)
            family = truth_families[f];
    if (family == NULL)
        return fail_family(fields, count, err);
    parsing->place = arena_alloc(parsing->arena, family->column_count, sizeof *parsing->place);
    if (parsing->place == NULL)
        return no_memory(err);
    for (size_t c = 0; c < family->column_count; c++) {
        parsing->place[c] = NOT_THERE;
        for (uint32_t i = 0; i < count; i++)
            if (strcmp(family->columns[c].name, fields[i]) == 0)
                parsing->place[c] = i;
    }
    parsing->field_count = count;
    parsing->file->family = family;
    return true;
}

/* ---- Rows ---- */

/* Decimal digits with a point and an exponent perhaps: no hexadecimal, no infinity, no sign. */
static bool parse_number(const struct truth_column *column, const char *text, double *number, struct error *err)
{
    char *end = NULL;
    const bool plain = text[0] >= '0' && text[0] <= '9' && text[strspn(text, "0123456789.eE+-")] == '\0';
    *number = plain ? strtod(text, &end) : (double)NAN;
    if (!plain || *end != '\0')
        return fail(err, STATUS_INPUT, "column %s: \"%.40s\" is no number; expected %s", column->name, text,
                    column->kind == TRUTH_COUNT ? "a whole number such as 4096" : "a number such as 1.71");
    if (!(*number <= column->most))
        return fail(err, STATUS_INPUT, "column %s: %.40s is too large; expected at most %.15g", column->name, text,
                    column->most);
    if (column->kind == TRUTH_COUNT && *number != floor(*number))
        return fail(err, STATUS_INPUT, "column %s: %.40s is not whole; expected a whole number", column->name, text);
    return true;
}

static bool read_cell(const struct truth_column *column, const char *text, struct truth_cell *cell, struct error *err)
{
    *cell = (struct truth_cell){.text = text, .number = (double)NAN};
    if (text[0] == '\0')
        return (column->flags & (TRUTH_MAY_BE_EMPTY | TRUTH_MAY_BE_MISSING)) != 0 ||
               fail(err, STATUS_INPUT, "column %s is empty; expected %s", column->name,
                    column->kind == TRUTH_TEXT ? "a text" : "a number");
    return column->kind == TRUTH_TEXT || parse_number(column, text, &cell->number, err);
}

static bool read_row(struct parsing *parsing, unsigned line, char **fields, uint32_t count, struct error *err)
{
    struct truth_file *file = parsing->file;
    if (count != parsing->field_count)
        return fail(err, STATUS_INPUT, "%u fields; expected %u, as many as there are columns", count,
                    parsing->field_count);
    if (file->row_count == TRUTH_ROWS_MAX)
        return fail(err, STATUS_INPUT, "more than %d rows", TRUTH_ROWS_MAX);
    if (file->row_count == parsing->capacity) {
        const size_t more = parsing->capacity == 0 ? 32 : 2 * parsing->capacity;
        struct truth_row *rows = arena_alloc(parsing->arena, more, sizeof *rows);
        if (rows == NULL)
            return no_memory(err);
        if (file->row_count > 0)
            memcpy(rows, file->rows, file->row_count * sizeof *rows);
        file->rows = rows;
        parsing->capacity = more;
    }
    const struct truth_family *family = file->family;
    struct truth_row *row = &file->rows[file->row_count];
    *row = (struct truth_row){.line = line};
    row->cells = arena_alloc(parsing->arena, family->column_count, sizeof *row->cells);
    if (row->cells == NULL)
        return no_memory(err);
    for (size_t c = 0; c < family->column_count; c++)
        if (!read_cell(&family->columns[c], parsing->place[c] != NOT_THERE ? fields[parsing->place[c]] : "",
                       &row->cells[c], err))
            return false;
    file->row_count++;
    return true;
}

/* ---- Lines ---- */

static bool read_line(struct parsing *parsing, unsigned number, char *line, struct error *err)
{
    char *fields[FIELDS_MAX];
    uint32_t count;
    if (strlen(line) > TRUTH_LINE_MAX)
        return fail(err, STATUS_INPUT, "a line of %zu bytes; expected at most %d", strlen(line), TRUTH_LINE_MAX);
    if (!text_check(line, err) || !split_fields(line, ',', fields, FIELDS_MAX, &count, err)) {
        err->code = STATUS_INPUT;
        return false;
    }
    return parsing->file->family == NULL ? read_header(parsing, fields, count, err)
                                         : read_row(parsing, number, fields, count, err);
}

bool truth_parse(const char *name, char *text, size_t size, struct arena *arena, struct truth_file *file,
                 struct error *err)
{
    static const char mark[] = "\xEF\xBB\xBF", route[] = "# route_trace";
    struct parsing parsing = {.name = name, .arena = arena, .file = file};
    unsigned number = 0;
    *file = (struct truth_file){.path = name, .name = name};
    if (memchr(text, '\0', size) != NULL)
        return fail(err, STATUS_INPUT, "%s: holds a NUL: this is no text", name);
    char *rest = strncmp(text, mark, sizeof mark - 1) == 0 ? text + sizeof mark - 1 : text;
    if (strncmp(rest, route, sizeof route - 1) == 0) {
        file->family = &truth_route_trace;
        return true;
    }
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        number++;
        const size_t length = strlen(line);
        if (length > 0 && line[length - 1] == '\r')
            line[length - 1] = '\0';
        if (line[0] == '#' || line[strspn(line, " \t")] == '\0')
            continue;
        if (!read_line(&parsing, number, line, err))
            return fail_in(err, "%s:%u", name, number);
    }
    if (file->family == NULL)
        return fail(err, STATUS_INPUT, "%s:%u: no line of column names; expected the columns of a family", name,
                    number);
    return file->row_count > 0 || fail(err, STATUS_INPUT, "%s:%u: no row behind the column names", name, number);
}
