/* The worker's side of the farm, and what both sides know: the memory that they share, and the messages. */
#ifndef POCKETLOAD_SIM_FARM_WORKER_H
#define POCKETLOAD_SIM_FARM_WORKER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "sim/farm.h"

/* What a worker has in hand: a position in `indices` while it computes, with one of the marks afterwards. The marks
 * exclude each other, so that a run is either late or done, whoever comes first. */
#define FARM_SENDING (UINT64_C(1) << 62) /* set by the worker: the run is computed, its result under way */
#define FARM_LATE (UINT64_C(1) << 63)    /* set by the parent: the run took too long */
#define FARM_NO_RUN UINT64_MAX

struct farm_slot {
    atomic_ullong run;
    atomic_llong started_ns; /* of the wall clock */
};

/* Seen by all processes. */
struct farm_shared {
    atomic_ullong next; /* the entry of `positions` that the next free worker takes */
    struct farm_slot slots[FARM_JOBS_MAX];
};

/* A message is this and the raw arrays of the result: tokens, samples, blocks. */
struct farm_message {
    uint64_t position;
    bool good;
    struct error error;
    struct run_numbers numbers;
    uint64_t token_count, sample_count, block_count;
};

/* Takes the runs at `count` positions of `indices` and sends results to fd, until none is left; never returns. `parent`
 * is the process that forked this one. */
_Noreturn void farm_work(struct experiment *experiment, const size_t *indices, const size_t *positions, size_t count,
                         struct farm_shared *shared, unsigned slot, int fd, pid_t parent);

#endif
