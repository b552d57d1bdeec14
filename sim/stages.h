/* The stages of loading beside I/O: a block's memory is faulted in (allocation), and its bytes are checked, copied,
 * repacked (initialisation). docs/models.md section 4 is the rule.
 *
 * With loader threads, blocks whose reads are done wait in one queue, demanded ones before prefetched ones, each in the
 * order of their arrival; each thread takes the first and is busy with it for all of its stages. Without, the compute
 * thread runs an errand for each of a step's blocks, one at a time; a prefetched block is left as it was read until its
 * first use.
 *
 * With no such stage chosen run->stages is NULL: a block is there when its reads are. */
#ifndef POCKETLOAD_SIM_STAGES_H
#define POCKETLOAD_SIM_STAGES_H

#include "sim/run_state.h"

/* A block on a loader thread. */
struct stage_job {
    block_id block; /* BLOCK_NONE: the thread is free */
    uint16_t drop;  /* index into run_state.drops where the block was dropped meanwhile, or DROP_NONE */
};

/* A block that the compute thread brings for the running step. */
struct errand {
    block_id block;
    bool missed; /* its reads begin with its errand; else it was prefetched */
};

struct stages {
    int64_t *alloc_ns, *init_ns; /* by block */
    uint32_t threads;
    struct stage_job jobs[LOADER_THREADS_MAX];
    block_id *arrived; /* read, and not yet on a thread; in order of arrival */
    uint32_t arrived_count, arrived_demanded;
    struct errand *errands;
    uint32_t errand_count, missed_count; /* missed: whose reads have not begun */
};

/* Lays run->stages out, after the checks of the spec. False with run->err: out of memory, or stages that last over 18
 * years. */
bool stages_init(struct run_state *run, struct arena *arena);

/* Reads the file's header and parses it, where that is chosen: on the compute thread, which does nothing else. */
void stages_parse_header(struct run_state *run);

/* All reads of a block are done. */
void stages_arrived(struct run_state *run, block_id b);

/* The event of a loader thread that is done: `slot` is command_limit + its number. */
void stages_event(struct run_state *run, uint16_t slot);

/* The thread that has the block, which was not dropped; NULL: none. */
struct stage_job *stages_job_of(struct run_state *run, block_id b);

/* With stages: a block in flight is demanded from now on. */
void stages_promoted(struct run_state *run, block_id b);

/* A block in flight is dropped. */
void stages_forget(struct run_state *run, block_id b);

/* The app was ended: what had arrived is gone, and what is on a thread ends there, for nobody. */
void stages_restart(struct run_state *run);

/* The compute thread initialises blocks itself. */
static inline bool stages_by_compute(const struct run_state *run)
{
    return run->stages && run->stages->threads == 0;
}

/* Without threads: the running step, or the load phase, needs the block. */
void stages_add_errand(struct run_state *run, block_id b, bool missed);

/* Without threads: brings all of them, one after the other. Time passes, as stall or load. */
void stages_run_errands(struct run_state *run);

/* An errand is yet to begin its reads: no prefetch goes before them. */
static inline bool stages_hold_prefetches(const struct run_state *run)
{
    return run->stages && run->stages->missed_count > 0;
}

#endif
