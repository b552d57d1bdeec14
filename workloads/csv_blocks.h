/* The blocks of a csv trace: those of a given model, or a model of their own that grows as names appear. */
#ifndef POCKETLOAD_WORKLOADS_CSV_BLOCKS_H
#define POCKETLOAD_WORKLOADS_CSV_BLOCKS_H

#include "workloads/model.h"

struct csv_blocks {
    const struct model *given; /* or NULL: */
    struct model *own;         /* started by the caller, who frees it */
    uint32_t *slots;           /* names of own to ids: open addressing, 0 = empty, else id + 1 */
    uint32_t slot_count;
    uint64_t offset; /* where the next block of own lies */
    bool sized;      /* own: blocks have sizes of the file; else 1 byte each */
};

/* What a line says of its block. */
struct csv_about {
    uint64_t bytes; /* 0: nothing */
    int32_t layer;
    enum block_kind kind;
};

/* The block of that name, added to own where it is new. STATUS_INPUT for a name that the given model lacks, a size that
 * differs from the one known, or none where one is needed. */
bool csv_block(struct csv_blocks *blocks, const char *name, const struct csv_about *about, block_id *block,
               struct error *err);
void csv_blocks_free(struct csv_blocks *blocks);

#endif
