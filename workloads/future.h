/* When each access's block is used next: what Belady's policy and an oracle are told.
 *
 * Accesses (first uses of a block by a step) are numbered from 0 over the whole run. A trace stores steps that repeat
 * once, so the next use is kept as a distance, which is the same in every repetition but the last. */
#ifndef POCKETLOAD_WORKLOADS_FUTURE_H
#define POCKETLOAD_WORKLOADS_FUTURE_H

#include "workloads/trace.h"

struct future {
    uint32_t *first; /* by block: the number of its first access; NEXT_USE_NEVER: none */
    /* By use: how many accesses later the same block is accessed again; 0: never, and for uses that are no accesses.
     * gap is for the last repetition of a segment, gap_again for the others: NULL where nothing repeats. */
    uint32_t *gap, *gap_again;
};

/* Owns its arrays: future_free. STATUS_USAGE over 2^32 - 2 accesses, STATUS_IO without memory. */
bool future_make(const struct trace *trace, struct future *future, struct error *err);
void future_free(struct future *future);

#endif
