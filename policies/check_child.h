/* A function in a process of its own, so that a policy's crash, endless loop or exit() ends that process alone.
 * Inside this folder only. */
#ifndef POCKETLOAD_POLICIES_CHECK_CHILD_H
#define POCKETLOAD_POLICIES_CHECK_CHILD_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"

enum { CHILD_END_TEXT = 96 };

/* Begins the memory that both processes see. */
struct child_shared {
    atomic_ullong beats; /* the limit starts anew when this changes */
    atomic_bool finished;
};

/* Memory of `size` bytes, zeroed, that a child shares with its parent. NULL without memory. Free with
 * child_memory_free(). */
struct child_shared *child_memory(size_t size);
void child_memory_free(struct child_shared *shared, size_t size);

/* Runs work(shared) in a child; what it writes into `shared` arrives. `quiet`: what the child prints goes nowhere;
 * otherwise to stderr. `limit_ms`: the longest time between two beats. `end` is "" when work() returned; else what
 * ended it, for a sentence: "crashed: signal 11 (Segmentation fault)", "took longer than 5 s", "ended the process (exit
 * code 3)". False with STATUS_IO when no process could be started. */
bool child_run(void (*work)(struct child_shared *shared), struct child_shared *shared, bool quiet, int limit_ms,
               char end[CHILD_END_TEXT], struct error *err);

#endif
