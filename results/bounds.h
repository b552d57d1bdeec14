/* What a reader of hit rates has to know beside them: how large the trace's cycle and working set are, what a capacity
 * is of the cycle, and when a comparison shows no difference. In words, for people. */
#ifndef POCKETLOAD_RESULTS_BOUNDS_H
#define POCKETLOAD_RESULTS_BOUNDS_H

#include <stdio.h>

#include "workloads/trace.h"

struct trace_context {
    uint64_t accesses, distinct; /* distinct: blocks */
    uint64_t cycle_bytes, working_set_bytes;
    bool in_blocks;       /* the trace has no sizes: its bytes are blocks */
    bool marks_tokens;    /* the cycle is what one token touches; else it is the working set */
    bool is_loop;         /* the accesses are one sequence of distinct blocks, over and over */
    uint64_t block_bytes; /* the size of all blocks, 0 when they differ */
};

/* Looks at a trace of `distinct` blocks that all have `block_bytes` (0: they differ). STATUS_IO without memory. */
bool trace_context_make(const struct trace *trace, uint32_t distinct, uint64_t block_bytes, bool has_bytes,
                        struct trace_context *context, struct error *err);

/* "1000 accesses to 32 blocks, working set 32 MiB, cycle 32 MiB (a pure loop)" */
enum { BOUNDS_TEXT = 512 };
const char *bounds_trace_text(const struct trace_context *context, char out[BOUNDS_TEXT]);

/* "capacity 24obj is 0.75 of the cycle (32 blocks): LRU and FIFO hit nothing on a pure loop". `what` is "capacity
 * 24obj" or "budget 1 GiB"; it holds `bytes`. "" when there is nothing to say: a trace that neither marks tokens nor is
 * a loop has no cycle below its working set. */
const char *bounds_capacity_text(const struct trace_context *context, const char *what, uint64_t bytes,
                                 char out[BOUNDS_TEXT]);

/* Whether hit rates of `count` policies are so close that none is better, and the sentence that says so: "all 5
 * policies are within 0.3 points at 500obj: none is better here". "" when they are not, or when there is only one. NAN:
 * a policy without a hit rate, which does not count. */
const char *bounds_noise_text(const double *hit_rates, size_t count, const char *where, char out[BOUNDS_TEXT]);

#endif
