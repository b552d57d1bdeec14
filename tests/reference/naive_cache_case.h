/* One trace of single accesses, as the replay takes it and as the naive twins of policies take it. */
#ifndef POCKETLOAD_TESTS_NAIVE_CACHE_CASE_H
#define POCKETLOAD_TESTS_NAIVE_CACHE_CASE_H

#include "sim/replay.h"
#include "tests/reference/naive_cache.h"

struct cache_case {
    struct model model;
    struct trace trace;
    bool by_objects; /* every block counts as 1; false in a case from arrays */
    uint64_t seed;   /* of the run */
    /* What the twins see of it. */
    uint32_t *ids, *kinds;
    uint64_t *sizes;
    int32_t *layers;
};

/* From arrays. `by_steps`: the last step names its block twice, which changes no count, but makes the replay go step by
 * step instead of through its loop for single uses. All functions end the process with a message on an error. */
void cache_case_make(const uint32_t *ids, uint64_t count, const struct policy_block *blocks, uint32_t block_count,
                     bool by_steps, struct cache_case *c);

/* From a file, by the reader that knows it. */
void cache_case_read(const char *path, bool by_objects, struct cache_case *c);

void cache_case_free(struct cache_case *c);

/* What a policy misses, by the replay and by the naive twin. `policy` is as users write it: clock(bits=2).
 * `strict`: no policy may hold more than the capacity. */
void cache_case_replay(const struct cache_case *c, const char *policy, uint64_t capacity, bool strict,
                       struct naive_counts *counts);
void cache_case_twin(const struct cache_case *c, const char *policy, uint64_t capacity, bool strict,
                     struct naive_counts *counts);

#endif
