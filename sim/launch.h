/* The load phase: the file's header, and the start-up set, which is what a loader brings at launch: of a file that is
 * read whole all blocks, of a chunked one the pinned blocks and loader.preload. The first part of it
 * (loader.first_chunk) has to be there before the first step; the rest comes behind compute as prefetches, in its
 * order. docs/models.md section 6. */
#ifndef POCKETLOAD_SIM_LAUNCH_H
#define POCKETLOAD_SIM_LAUNCH_H

#include "sim/run_state.h"

struct launch_block {
    block_id block;
    bool for_good; /* pinned, or of the read loader: it never leaves, and no policy hears of it */
};

struct launch {
    struct launch_block *set; /* what has to be there first, then the rest */
    uint32_t count, first_count;
    uint32_t next; /* of the rest: the first that is not yet begun */
};

/* Lays the set out, after the host. */
bool launch_init(struct run_state *run, struct arena *arena);

/* The load phase, up to the moment at which the first step may begin. Time passes; with run->phase == PHASE_LOAD none
 * of it is booked as stall: the caller books it as load.
 *
 * Called again for a restart of the app: no block is held or in flight, host.state has no bits set
 * and no prefetch is planned; commands and threads that the ended app had may still be busy. What has been in memory
 * before stays counted as loaded, and the page cache as it is: a warm start is that of the first launch. */
void launch(struct run_state *run);

/* Where run->streams: begins the next block of the rest as a prefetch; false when there is none that may come. */
bool launch_next(struct run_state *run);

#endif
