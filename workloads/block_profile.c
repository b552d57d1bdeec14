/* A profile of blocks, read from CSV. Columns by name: block and accesses; those that a stored run has beside them are
 * passed over. */
#include "workloads/block_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "workloads/reader.h"

enum { COLUMNS_MAX = 16 };

static const char *const columns[] = {"block", "accesses", "hits", "loads", "evictions", "bytes_read"};
enum { COLUMN_BLOCK, COLUMN_ACCESSES, COLUMNS = sizeof columns / sizeof *columns };

struct profile_reader {
    const struct model *model;
    uint64_t *accesses;
    uint8_t *named; /* by block */
    uint32_t width; /* columns of the head; 0: not read yet */
    uint32_t place[COLUMNS];
    uint64_t rows;
};

static bool read_head(struct profile_reader *reader, char *const fields[], uint32_t count, struct error *err)
{
    bool found[COLUMNS] = {false};
    for (uint32_t i = 0; i < count; i++) {
        size_t c = 0;
        while (c < COLUMNS && strcmp(columns[c], fields[i]) != 0)
            c++;
        char near[512];
        if (c == COLUMNS)
            return fail(err, STATUS_INPUT, "unknown column \"%.80s\"%s", fields[i],
                        suggest_text(fields[i], columns, COLUMNS, near, sizeof near));
        if (found[c])
            return fail(err, STATUS_INPUT, "column \"%s\" is there twice", columns[c]);
        found[c] = true;
        reader->place[c] = i;
    }
    for (size_t c = COLUMN_BLOCK; c <= COLUMN_ACCESSES; c++)
        if (!found[c])
            return fail(err, STATUS_INPUT, "no column \"%s\"; expected block,accesses", columns[c]);
    reader->width = count;
    return true;
}

static bool read_row(struct profile_reader *reader, char *const fields[], uint32_t count, struct error *err)
{
    if (count != reader->width)
        return fail(err, STATUS_INPUT, "%" PRIu32 " fields; expected %" PRIu32 ", as in the first line", count,
                    reader->width);
    const char *name = fields[reader->place[COLUMN_BLOCK]];
    const block_id b = model_find(reader->model, name);
    if (b == BLOCK_NONE)
        return reader_unknown_block(reader->model, name, STATUS_INPUT, err);
    if (reader->named[b])
        return fail(err, STATUS_INPUT, "block \"%.80s\" is there twice", name);
    reader->named[b] = 1;
    reader->rows++;
    if (parse_count(fields[reader->place[COLUMN_ACCESSES]], 0, INT64_MAX, &reader->accesses[b], err))
        return true;
    err->code = STATUS_INPUT;
    return fail_in(err, "accesses");
}

static bool read_line(struct reading *reading, void *context, char *line, struct error *err)
{
    (void)reading;
    struct profile_reader *reader = context;
    char *fields[COLUMNS_MAX];
    uint32_t count;
    if (*line == '\0')
        return true;
    if (!split_fields(line, ',', fields, COLUMNS_MAX, &count, err))
        return false;
    return reader->width == 0 ? read_head(reader, fields, count, err) : read_row(reader, fields, count, err);
}

bool block_profile_read(const char *path, const struct model *model, uint64_t *accesses, struct error *err)
{
    struct stream *stream;
    struct profile_reader reader = {.model = model, .accesses = accesses};
    const struct reader_input input = {.path = path, .model = model};
    memset(accesses, 0, model->block_count * sizeof *accesses);
    if (!stream_open(path, &stream, err))
        return false;
    struct reading reading = {.input = &input, .stream = stream};
    reader.named = calloc(model->block_count, 1);
    bool good = reader.named != NULL || fail(err, STATUS_IO, "out of memory");
    good = good && reader_each_line(&reading, read_line, &reader, err);
    if (good && reader.rows == 0)
        good = fail(err, STATUS_INPUT, "%s: the profile is empty: it names no block", path);
    free(reader.named);
    stream_close(stream);
    return good;
}
