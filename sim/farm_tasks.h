/* Many tasks at once: worker processes that take tasks one by one and send what comes out through pipes.
 *
 * Workers are forked: all that the parent made before is theirs, shared until somebody writes to it. A worker that dies
 * (a crash, a kill) ends only the task that it had: that task's result is an error that says so, and another worker is
 * started. One that dies between two tasks ends none: what it may have taken is handed out again, unless workers do
 * nothing but die. Results arrive in any order; what they hold does not depend on the number of jobs. */
#ifndef POCKETLOAD_SIM_FARM_TASKS_H
#define POCKETLOAD_SIM_FARM_TASKS_H

#include <signal.h>
#include <stdint.h>

#include "base/error.h"

enum { FARM_JOBS_MAX = 256, FARM_PARTS_MAX = 6 };

struct farm_options {
    unsigned jobs; /* worker processes, 1 .. FARM_JOBS_MAX; also a single one is a process of its own */
    /* Of each task, by the wall clock, with all that it makes for itself; 0: none. A task that takes longer is ended
     * within some 50 ms and is an error (STATUS_CHECK), and its worker is replaced. */
    int64_t timeout_ms;
    /* For a signal handler: once it is not zero, the farm ends within some 50 ms. NULL: nobody stops it. */
    const volatile sig_atomic_t *stop;
};

/* A piece of a message. */
struct farm_part {
    const void *data;
    size_t size; /* in bytes */
};

/* What the parent learns of a task. */
struct farm_outcome {
    size_t task;
    const void *bytes; /* the parts of the message, one behind the other, aligned to nothing; valid during the call */
    size_t size;
    const struct error *error; /* not NULL: the task failed, and there are no bytes */
    bool lost;                 /* the error is that of a worker that died or was late, not one that the task told */
};

/* The tasks 0 .. count-1. `context` is handed to the callbacks. */
struct farm_tasks {
    size_t count;
    void *context;
    /* In the worker: does a task and fills parts, which stay valid until the next call; false with err. What it changes
     * in memory is seen by later tasks of the same worker only. */
    bool (*work)(void *context, size_t task, struct farm_part parts[FARM_PARTS_MAX], struct error *err);
    /* In the parent, once for each task. The bytes come from a process that may have run foreign code: check them.
     * Returning false stops the farm, with err set by the callback. */
    bool (*take)(void *context, const struct farm_outcome *outcome, struct error *err);
    const int64_t *timeouts_ms; /* by task, in place of options->timeout_ms; NULL: that holds for all */
};

/* Does all tasks. *stopped tells that options->stop ended it: then `take` has heard of those tasks that were done, and
 * of no other. All workers are gone on return. STATUS_USAGE for a number of jobs out of range, STATUS_IO. */
bool farm_do(const struct farm_tasks *tasks, const struct farm_options *options, bool *stopped, struct error *err);

/* One worker for each processor, at most FARM_JOBS_MAX. */
unsigned farm_default_jobs(void);

#endif
