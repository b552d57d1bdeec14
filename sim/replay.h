/* Policies alone, without time: what hits, what misses, how many bytes are read. The same calls in the same order as
 * the engine's, so that a run without prefetching counts the same. */
#ifndef POCKETLOAD_SIM_REPLAY_H
#define POCKETLOAD_SIM_REPLAY_H

#include "sim/engine.h"

struct replay_spec {
    const struct model *model;
    const struct trace *trace;
    uint64_t capacity_bytes; /* with by_objects: a number of blocks */
    bool by_objects;         /* every block takes 1 of the capacity, whatever its size; bytes are still counted */
    enum evict_when evict_when;
    bool strict; /* no policy may hold more than its capacity, as in a run: see may_exceed in policies/policy.h */
    struct bound_part evict, pin, admit; /* pinned blocks are read once, before the first step */
    uint64_t seed;                       /* for policies that draw lots */
    const uint64_t *profile;             /* as in run_spec */
    const struct future *future;         /* of the trace, shared by many replays; NULL: made when a policy needs it */
};

struct replay_result {
    uint64_t accesses, hits, misses, bytes_accessed, bytes_hit, bytes_read, evictions, uncacheable;
    uint64_t peak_held_bytes; /* of a policy that may exceed its capacity; 0: it never did */
    char remark[256];         /* what the policy says of itself at this capacity, or "" */
};

/* As engine_run. */
bool replay_run(const struct replay_spec *spec, struct arena *arena, struct replay_result *result, struct error *err);

#endif
