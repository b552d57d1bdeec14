/* Reads the table of sim/calibrate_table.h. */
#include "sim/calibrate_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/files.h"
#include "base/suggest.h"
#include "base/units.h"

enum { LANES, BLOCK_KIB, MIB_PER_S, LATENCY_MS, COLUMNS };
static const char *const column_names[COLUMNS] = {"lanes", "block_kib", "mib_per_s", "latency_ms"};
enum { LANES_MAX = 4096, KIB = 1024, PPM = 1000000, WORD_MAX = 40 };
#define MIB 1048576.0

struct reading {
    struct flash_table *table;
    int column_of[COLUMNS]; /* of each cell of a line */
    size_t cells;           /* 0: the header has not come yet */
};

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

static bool read_header(struct reading *reading, char *line, struct error *err)
{
    bool seen[COLUMNS] = {false};
    size_t cells = 0;
    for (char *cell; (cell = strsep(&line, ",")) != NULL;) {
        cell = trim(cell);
        int column = 0;
        while (column < COLUMNS && strcmp(cell, column_names[column]) != 0)
            column++;
        if (column == COLUMNS) {
            char near[256];
            return fail(err, STATUS_INPUT, "unknown column \"%.*s\"%s", WORD_MAX, cell,
                        suggest_text(cell, column_names, COLUMNS, near, sizeof near));
        }
        if (seen[column])
            return fail(err, STATUS_INPUT, "column %s stands there twice", cell);
        seen[column] = true;
        reading->column_of[cells++] = column;
    }
    for (int column = 0; column < LATENCY_MS; column++)
        if (!seen[column])
            return fail(err, STATUS_INPUT,
                        "column %s is missing: expected lanes,block_kib,mib_per_s and perhaps latency_ms",
                        column_names[column]);
    reading->cells = cells;
    return true;
}

static bool read_cell(int column, const char *cell, struct flash_point *point, struct error *err)
{
    uint64_t ppm;
    if (column == LANES)
        return parse_count(cell, 1, LANES_MAX, &point->lanes, err);
    if (column == LATENCY_MS && cell[0] == '\0')
        return true;
    if (!parse_decimal(cell, &ppm, err))
        return false;
    if (ppm == 0)
        return fail(err, STATUS_INPUT, "\"%.*s\": expected more than 0", WORD_MAX, cell);
    if (column == MIB_PER_S)
        point->bps = (double)ppm / PPM * MIB;
    if (column == BLOCK_KIB) {
        if (ppm * KIB % PPM != 0) /* at most 10^12 * 1024 */
            return fail(err, STATUS_INPUT, "\"%.*s\" KiB are no whole number of bytes", WORD_MAX, cell);
        point->block_bytes = ppm * KIB / PPM;
    }
    return true;
}

static bool read_point(struct reading *reading, char *line, struct error *err)
{
    struct flash_table *table = reading->table;
    struct flash_point point = {0};
    size_t cells = 0;
    for (char *cell; (cell = strsep(&line, ",")) != NULL; cells++) {
        if (cells == reading->cells)
            return fail(err, STATUS_INPUT, "more cells than the %zu of the header", reading->cells);
        int column = reading->column_of[cells];
        if (!read_cell(column, trim(cell), &point, err)) {
            err->code = STATUS_INPUT;
            return fail_in(err, "%s", column_names[column]);
        }
    }
    /* Only a latency at the end may be left out. */
    if (cells + 1 < reading->cells || (cells < reading->cells && reading->column_of[cells] != LATENCY_MS))
        return fail(err, STATUS_INPUT, "%zu cells: expected %zu", cells, reading->cells);
    if (table->count == FLASH_POINTS_MAX)
        return fail(err, STATUS_INPUT, "more than %d rows", FLASH_POINTS_MAX);
    if (!array_reserve((void **)&table->points, &table->capacity, table->count + 1, sizeof point, err))
        return false;
    table->points[table->count++] = point;
    return true;
}

static bool read_lines(struct lines *lines, const char *path, struct reading *reading, struct error *err)
{
    char *line;
    size_t length;
    uint64_t number;
    for (;;) {
        if (!lines_next(lines, &line, &length, &number, err))
            return false;
        if (line == NULL)
            break;
        line = trim(line);
        if (line[0] == '\0' || line[0] == '#')
            continue;
        if (!(reading->cells == 0 ? read_header(reading, line, err) : read_point(reading, line, err)))
            return fail_in(err, "%s:%llu", path, (unsigned long long)number);
    }
    return reading->cells > 0 ||
           fail(err, STATUS_INPUT, "%s: no table in it: expected a line lanes,block_kib,mib_per_s", path);
}

bool flash_table_read(const char *path, struct flash_table *table, struct error *err)
{
    struct reading reading = {.table = table};
    struct stream *stream = NULL;
    struct lines *lines = NULL;
    *table = (struct flash_table){0};
    bool good = stream_open(path, &stream, err) && lines_open(stream, &lines, err) &&
                read_lines(lines, stream_path(stream), &reading, err);
    lines_close(lines);
    stream_close(stream);
    return good;
}

void flash_table_free(struct flash_table *table)
{
    free(table->points);
    *table = (struct flash_table){0};
}
