/* Naive twins of the eviction policies: arrays, linear scans, one block a step, no pins, nothing clever. Each is
 * written from the rules alone and is right to the eye; the fast policies are compared with them. */
#ifndef POCKETLOAD_TESTS_NAIVE_CACHE_H
#define POCKETLOAD_TESTS_NAIVE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAIVE_PARAMS_MAX = 8 };
#define NAIVE_NEVER UINT32_MAX

/* A trace of single accesses and a cache to run it through. */
struct naive_request {
    const uint32_t *ids; /* of the accesses, each below id_count */
    size_t count;        /* below NAIVE_NEVER */
    uint32_t id_count;
    const uint64_t *sizes; /* by id, what it takes of the capacity, each > 0 */
    const int32_t *layers; /* by id, -1: none */
    const uint32_t *kinds; /* by id, enum block_kind; may be NULL, as layers, for policies that do not look at them */
    uint64_t seed;         /* of the run */
    uint64_t capacity;
    /* lirs alone: blocks that none of its limits counts may exceed the capacity, as in a replay that is not strict. */
    bool may_exceed;
    /* In the order of the policy's parameter table, shares in parts per million. */
    int64_t params[NAIVE_PARAMS_MAX];
};

struct naive_counts {
    uint64_t misses, missed_bytes;
};

/* The misses of a policy. False when there is no twin of that name. */
bool naive_cache_run(const char *policy, const struct naive_request *request, struct naive_counts *counts);

#endif
