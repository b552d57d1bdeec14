/* The format `oracleGeneral` of libCacheSim: records of 24 bytes, little-endian and without gaps: u32 time, u64 id, u32
 * size, i64 number of the next access to the id (-1: none). Each is a step of one block.
 *
 * Times are not used. Next accesses are not trusted: who needs the future finds it in the trace itself. A block has the
 * size of its first record; records that give another are counted. Where all sizes are 1 there are none. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "workloads/reader.h"

enum { RECORD = 24, AT_ID = 4, AT_SIZE = 12, AT_NEXT = 16 };

static inline uint64_t get64(const void *data)
{
    uint64_t value;
    memcpy(&value, data, sizeof value);
    return le64toh(value);
}

static inline uint32_t get32(const void *data)
{
    uint32_t value;
    memcpy(&value, data, sizeof value);
    return le32toh(value);
}

static bool take_record(struct numbered_batch *batch, const unsigned char *record, uint64_t offset, struct error *err)
{
    const uint32_t bytes = get32(record + AT_SIZE);
    if (bytes == 0)
        return fail(err, STATUS_INPUT, "%s: offset %" PRIu64 ": a record of size 0: expected at least 1",
                    batch->reading->input->path, offset);
    return numbered_put(batch, get64(record + AT_ID), bytes, offset, err);
}

/* Chunks of the stream do not end with records: the bytes of a cut one wait for the rest. */
static bool take_stream(struct numbered_batch *batch, struct error *err)
{
    unsigned char cut[RECORD];
    size_t cut_size = 0, size;
    uint64_t offset = 0; /* of the next record */
    for (const char *data; stream_next(batch->reading->stream, &data, &size, err);) {
        const unsigned char *c = (const unsigned char *)data, *end = c + size;
        if (size == 0 && cut_size > 0)
            return fail(err, STATUS_INPUT, "%s: offset %" PRIu64 ": the last record has %zu bytes: expected %d",
                        batch->reading->input->path, offset, cut_size, RECORD);
        if (size == 0)
            return numbered_flush(batch, err);
        if (cut_size > 0) {
            const size_t rest = RECORD - cut_size, more = size < rest ? size : rest;
            memcpy(cut + cut_size, c, more);
            cut_size += more;
            c += more;
            if (cut_size < RECORD)
                continue;
            if (!take_record(batch, cut, offset, err))
                return false;
            offset += RECORD;
        }
        for (; end - c >= RECORD; c += RECORD, offset += RECORD)
            if (!take_record(batch, c, offset, err))
                return false;
        cut_size = (size_t)(end - c);
        memcpy(cut, c, cut_size);
    }
    return false;
}

bool oracle_general_read(struct reading *reading, struct error *err)
{
    struct numbered_batch batch = {.reading = reading, .has_bytes = true, .by_offset = true};
    if (!reader_open_unmarked(reading, err) || !take_stream(&batch, err) || !numbered_finish(reading, err))
        return false;
    return reading->has_bytes || reader_needs_model(reading, "oracleGeneral whose sizes are all 1", err);
}

/* By its name, or as binary data whose first records may be some: times do not decrease, and the next access comes
 * later. */
bool oracle_general_matches(const struct trace_head *head)
{
    static const char *const names[] = {".oracleGeneral", ".oracleGeneral.bin", NULL};
    if (reader_path_ends(head->path, names))
        return true;
    if (memchr(head->raw, '\0', head->raw_size) == NULL)
        return false;
    uint32_t before = 0;
    const size_t records = head->raw_size / RECORD;
    for (size_t i = 0; i < records; i++) {
        const unsigned char *record = head->raw + i * RECORD;
        const uint32_t time = get32(record);
        const uint64_t next = get64(record + AT_NEXT);
        if (time < before || (next != UINT64_MAX && next <= i))
            return false;
        before = time;
    }
    return records > 0;
}
