/* The worker's side of the farm, and what both sides know: the memory that they share, and the messages. */
#ifndef POCKETLOAD_SIM_FARM_WORKER_H
#define POCKETLOAD_SIM_FARM_WORKER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "sim/farm_tasks.h"

/* What a worker has in hand: a task while it computes, with one of the marks afterwards. The marks exclude each other,
 * so that a task is either late or done, whoever comes first. */
#define FARM_SENDING (UINT64_C(1) << 62) /* set by the worker: the task is done, its message under way */
#define FARM_LATE (UINT64_C(1) << 63)    /* set by the parent: the task took too long */
#define FARM_NO_TASK UINT64_MAX

struct farm_slot {
    atomic_ullong task;
    atomic_llong started_ns; /* of the wall clock */
};

/* Seen by all processes. */
struct farm_shared {
    atomic_ullong next; /* the entry of `queue` that the next free worker takes */
    struct farm_slot slots[FARM_JOBS_MAX];
};

/* A message is this and `size` bytes. */
struct farm_message {
    uint64_t task, size;
    uint8_t good; /* 0 or 1 */
    struct error error;
};

/* Does the `count` tasks of `queue` and sends messages to fd, until none is left; never returns. `parent` is the
 * process that forked this one. */
_Noreturn void farm_work(const struct farm_tasks *tasks, const size_t *queue, size_t count, struct farm_shared *shared,
                         unsigned slot, int fd, pid_t parent);

#endif
