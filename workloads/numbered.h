/* Steps of one block each, whose blocks the file names by number (or by key) and may give sizes of: collected in
 * batches, so that nothing is done for one of them alone. The core of the readers of long traces. */
#ifndef POCKETLOAD_WORKLOADS_NUMBERED_H
#define POCKETLOAD_WORKLOADS_NUMBERED_H

#include "base/idmap.h"
#include "workloads/text_ids.h"
#include "workloads/trace.h"

struct reading;

/* What is known of a trace's blocks while it is read; all zeros at first. */
struct numbered {
    struct idmap ids;
    struct text_ids texts;       /* instead of ids where blocks have keys */
    uint64_t common_bytes;       /* the size that all records so far have; 0: none has one */
    bool differ;                 /* they do not have one size; then, of a model of the trace's own: */
    struct policy_block *blocks; /* by block: its first size */
    uint32_t block_count;        /* sizes known */
    size_t blocks_capacity;
    uint64_t accessed_bytes; /* of all records so far, each with its block's size; while sizes differ */
    uint64_t resized_count;
    uint64_t batched_count; /* records that came in batches */
    uint32_t known_count;   /* own blocks when the last batch had been added */
};

enum { NUMBERED_BATCH = 256 };

struct numbered_batch {
    struct reading *reading;
    bool has_bytes, by_text; /* sizes are given; numbers[] are ids of numbered.texts already */
    bool by_offset;          /* a place is an offset in the file, else a line */
    uint32_t count;
    uint64_t numbers[NUMBERED_BATCH], bytes[NUMBERED_BATCH], places[NUMBERED_BATCH];
};

/* Adds what the batch holds to the trace and empties it. Errors begin with the file and the record's place. */
bool numbered_flush(struct numbered_batch *batch, struct error *err);

/* Puts a record into the batch; bytes >= 1, of no account without has_bytes. */
static inline bool numbered_put(struct numbered_batch *batch, uint64_t number, uint64_t bytes, uint64_t place,
                                struct error *err)
{
    const uint32_t i = batch->count++;
    batch->numbers[i] = number;
    batch->bytes[i] = bytes;
    batch->places[i] = place;
    return batch->count < NUMBERED_BATCH || numbered_flush(batch, err);
}

/* The block with that number: an id of the model, or of the trace's own blocks, in order of first appearance. */
bool numbered_block(struct reading *reading, uint64_t number, block_id *block, struct error *err);

/* At the end of a file: builds the model of the trace's own blocks: a numbered one for a replay, one that can be run
 * else. Nothing to do with a model. */
bool numbered_finish(struct reading *reading, struct error *err);
void numbered_free(struct numbered *numbered);

#endif
