/* csv with columns by place: what the user says of them, and the lines. */
#include "workloads/csv_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "workloads/reader.h"

/* ---- csv(...) ---- */

enum option { OPT_TIME, OPT_ID, OPT_SIZE, OPT_DELIMITER, OPT_HEADER, OPT_NUMBER, OPTIONS };
static const struct {
    const char *name, *other;
} option_names[OPTIONS] = {
    [OPT_TIME] = {"time", "time-col"},       [OPT_ID] = {"id", "obj-id-col"},
    [OPT_SIZE] = {"size", "obj-size-col"},   [OPT_DELIMITER] = {"delimiter", "delimiter"},
    [OPT_HEADER] = {"header", "has-header"}, [OPT_NUMBER] = {"number", "obj-id-is-num"},
};

static bool find_option(const char *name, enum option *option, struct error *err)
{
    const char *names[2 * OPTIONS];
    char near[256];
    for (uint32_t i = 0; i < OPTIONS; i++) {
        names[2 * i] = option_names[i].name;
        names[2 * i + 1] = option_names[i].other;
        if (strcmp(name, option_names[i].name) == 0 || strcmp(name, option_names[i].other) == 0) {
            *option = (enum option)i;
            return true;
        }
    }
    return fail(err, STATUS_USAGE, "csv(...): unknown option \"%.40s\"%s", name,
                suggest_text(name, names, 2 * OPTIONS, near, sizeof near));
}

/* The character at *text, which may be the comma that separates options otherwise, or a word for it. */
static bool parse_delimiter(const char **text, char *delimiter, struct error *err)
{
    static const struct {
        const char *word;
        char character;
    } words[] = {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"space", ' '}, {"pipe", '|'}, {"\\t", '\t'}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].word);
        if (strncmp(*text, words[i].word, length) == 0) {
            *delimiter = words[i].character;
            *text += length;
            return true;
        }
    }
    if (**text == '\0' || strchr(")(\"\r\n0123456789", **text) != NULL || (unsigned char)**text >= 0x80)
        return fail(err, STATUS_USAGE,
                    "csv(...): delimiter: expected one character that is no digit, quote or parenthesis, or comma, "
                    "semicolon, tab, space, pipe");
    *delimiter = *(*text)++;
    return true;
}

static bool parse_flag(const char *name, const char *text, bool *value, struct error *err)
{
    *value = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *value || strcmp(text, "false") == 0 || strcmp(text, "0") == 0 ||
           fail(err, STATUS_USAGE, "csv(...): %s=%.40s: expected true or false", name, text);
}

static bool parse_column(const char *name, const char *text, uint32_t *column, struct error *err)
{
    uint64_t number;
    const char *end = text;
    if (!read_number(&end, &number) || *end != '\0' || number < 1 || number > FIELDS_MAX)
        return fail(err, STATUS_USAGE, "csv(...): %s=%.40s: expected the number of a column, 1 to %d", name, text,
                    FIELDS_MAX);
    *column = (uint32_t)number;
    return true;
}

/* One option at *text, up to the comma or parenthesis behind it. */
static bool parse_option(const char **text, struct csv_columns *columns, unsigned *seen, struct error *err)
{
    char name[48], value[48];
    enum option option = OPTIONS;
    bool flag = true; /* what a name alone says */
    const size_t name_length = strcspn(*text, "=,) \t");
    if (name_length >= sizeof name)
        return fail(err, STATUS_USAGE, "csv(...): unknown option \"%.40s\"", *text);
    memcpy(name, *text, name_length);
    name[name_length] = '\0';
    if (!find_option(name, &option, err))
        return false;
    if (*seen & 1U << option)
        return fail(err, STATUS_USAGE, "csv(...): %s is given twice", name);
    *seen |= 1U << option;
    *text += name_length;
    const bool has_value = **text == '=';
    *text += has_value;
    if (option == OPT_DELIMITER)
        return parse_delimiter(text, &columns->delimiter, err);
    const size_t length = strcspn(*text, ",) \t");
    snprintf(value, sizeof value, "%.*s", (int)(length < sizeof value ? length : sizeof value - 1), *text);
    *text += length;
    switch (option) {
    case OPT_TIME:
        return parse_column(name, value, &columns->time, err);
    case OPT_ID:
        return parse_column(name, value, &columns->id, err);
    case OPT_SIZE:
        return parse_column(name, value, &columns->size, err);
    default:
        if (has_value && !parse_flag(name, value, &flag, err))
            return false;
        if (option == OPT_HEADER)
            columns->has_header = flag;
        else
            columns->id_kind = flag ? ID_NUMBER : ID_TEXT;
        return true;
    }
}

bool csv_columns_parse(const char *text, struct csv_columns *columns, struct error *err)
{
    unsigned seen = 0;
    *columns = (struct csv_columns){.delimiter = ','};
    must(*text == '(');
    for (text++;;) {
        text += strspn(text, " \t");
        if (*text != ')' && !parse_option(&text, columns, &seen, err))
            return false;
        text += strspn(text, " \t");
        if (*text == ')')
            break;
        if (*text != ',')
            return fail(err, STATUS_USAGE, "csv(...): found \"%.40s\": expected a comma or \")\"", text);
        text++;
    }
    if (text[1 + strspn(text + 1, " \t")] != '\0')
        return fail(err, STATUS_USAGE, "csv(...): found \"%.40s\" behind it: expected nothing", text + 1);
    if (columns->id == 0)
        return fail(err, STATUS_USAGE, "csv(...): no column of the ids: expected for example csv(id=1,size=2)");
    if (columns->id == columns->size)
        return fail(err, STATUS_USAGE, "csv(...): id and size are both column %" PRIu32, columns->id);
    return true;
}

/* ---- Lines ---- */

struct columns_reader {
    const struct csv_columns *columns;
    struct numbered_batch batch;
    uint64_t line; /* the number of the one at hand */
    uint32_t fields_needed;
    bool header_due;
    enum id_kind kind; /* ID_AUTO until the first id */
};

static bool is_number(const char *text)
{
    uint64_t number;
    return read_number(&text, &number) && *text == '\0';
}

static bool find_text(struct reading *reading, const char *text, uint64_t *id, struct error *err)
{
    const struct model *model = reading->input->model;
    if (model == NULL) {
        uint32_t block = 0;
        if (!text_ids_put(&reading->numbered.texts, text, &block, err))
            return false;
        *id = block;
        return true;
    }
    const block_id block = *text != '\0' ? model_find(model, text) : BLOCK_NONE;
    *id = block;
    return block != BLOCK_NONE || reader_unknown_block(model, text, STATUS_INPUT, err);
}

static bool read_id(struct columns_reader *reader, const char *text, uint64_t *id, struct error *err)
{
    if (reader->kind == ID_AUTO)
        reader->kind = is_number(text) ? ID_NUMBER : ID_TEXT;
    reader->batch.by_text = reader->kind == ID_TEXT;
    if (reader->kind == ID_TEXT)
        return find_text(reader->batch.reading, text, id, err);
    const char *end = text;
    return (read_number(&end, id) && *end == '\0') ||
           fail(err, STATUS_INPUT,
                "id \"%.40s\": expected a number below 2^64%s, or obj-id-is-num=false among the columns of csv(...)",
                text, reader->columns->id_kind == ID_AUTO ? " like the first one" : "");
}

/* A first line that is none of numbers is most likely one of names. */
static bool fail_size(const struct columns_reader *reader, const char *text, struct error *err)
{
    return fail(err, STATUS_INPUT, "size \"%.40s\": expected a whole number from 1 to 2^63-1%s", text,
                reader->line == 1 && !reader->columns->has_header
                    ? "; where the first line has names, say header among the columns of csv(...)"
                    : "");
}

/* Reads a line whose fields up to the last one needed are plain: numbers where numbers are due, without quotes or
 * blanks around them. False for any other, which is then taken apart with care. */
static bool read_plain_line(const struct columns_reader *reader, const char *line, uint64_t *id, uint64_t *bytes)
{
    const struct csv_columns *columns = reader->columns;
    const char delimiter = columns->delimiter;
    *bytes = 1;
    for (uint32_t column = 1;; column++) {
        if (column == columns->id || column == columns->size) {
            if (!read_number(&line, column == columns->id ? id : bytes))
                return false;
        } else {
            while (*line != delimiter && *line != '"' && *line != '\0')
                line++;
        }
        if (column == reader->fields_needed)
            return (*line == delimiter || *line == '\0') && *bytes > 0 && *bytes <= INT64_MAX;
        if (*line++ != delimiter)
            return false;
    }
}

/* What a line says; *is_record is false for a blank one and for the names of the columns. */
static bool read_line(struct columns_reader *reader, char *line, bool *is_record, uint64_t *id, uint64_t *bytes,
                      struct error *err)
{
    const struct csv_columns *columns = reader->columns;
    char *fields[FIELDS_MAX];
    uint32_t count;
    *is_record = true;
    if (reader->kind == ID_NUMBER && !reader->header_due && read_plain_line(reader, line, id, bytes))
        return true;
    *is_record = line[strspn(line, " \t")] != '\0' && !reader->header_due;
    if (!*is_record) {
        reader->header_due = reader->header_due && line[strspn(line, " \t")] == '\0';
        return true;
    }
    if (!split_fields(line, columns->delimiter, fields, FIELDS_MAX, &count, err))
        return false;
    if (count < reader->fields_needed)
        return fail(err, STATUS_INPUT, "found %" PRIu32 " fields, expected at least %" PRIu32, count,
                    reader->fields_needed);
    *bytes = 1;
    if (columns->size > 0) {
        const char *text = fields[columns->size - 1], *end = text;
        if (!read_number(&end, bytes) || *end != '\0' || *bytes == 0 || *bytes > INT64_MAX)
            return fail_size(reader, text, err);
    }
    return read_id(reader, fields[columns->id - 1], id, err);
}

/* Not by reader_each_line: a batch's error names the line that it is about, which is not the last one. */
static bool read_lines(struct columns_reader *reader, struct lines *lines, struct error *err)
{
    const char *path = reader->batch.reading->input->path;
    char *line;
    size_t length;
    uint64_t id = 0, bytes = 0;
    bool is_record;
    while (lines_next(lines, &line, &length, &reader->line, err)) {
        if (line == NULL)
            return numbered_flush(&reader->batch, err);
        if (!read_line(reader, line, &is_record, &id, &bytes, err))
            return fail_in(err, "%s:%" PRIu64, path, reader->line);
        if (is_record && !numbered_put(&reader->batch, id, bytes, reader->line, err))
            return false;
    }
    return false;
}

bool csv_columns_plain(const char *line)
{
    uint64_t number;
    while (is_blank(*line))
        line++;
    if (!read_number(&line, &number) || *line++ != ',' || !read_number(&line, &number))
        return false;
    while (is_blank(*line) || *line == '\r')
        line++;
    return *line == '\n' || *line == '\0';
}

bool csv_columns_read(struct reading *reading, const struct csv_columns *columns, struct error *err)
{
    struct columns_reader reader = {.columns = columns,
                                    .batch = {.reading = reading, .has_bytes = columns->size > 0},
                                    .header_due = columns->has_header,
                                    .kind = columns->id_kind};
    reader.fields_needed = columns->id > columns->size ? columns->id : columns->size;
    if (columns->time > reader.fields_needed)
        reader.fields_needed = columns->time;
    struct lines *lines;
    if ((columns->size == 0 && !reader_needs_model(reading, "csv without a column of sizes", err)) ||
        !reader_open_unmarked(reading, err) || !lines_open(reading->stream, &lines, err))
        return false;
    const bool ok = read_lines(&reader, lines, err);
    lines_close(lines);
    return ok && numbered_finish(reading, err);
}
