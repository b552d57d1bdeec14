/* An eviction policy to copy: most recently used goes first.
 *
 * For blocks that are used in turn, as the layers of a model token after token, the block used last is the one that is
 * needed again last, so this beats LRU when the cycle does not fit. README.md beside this file says how to build it. */
#include "policies/policy.h"

/* The engine gives memory for this, zeroed, once for each run. `last_use` has one element a block: ids are dense, so a
 * policy needs arrays only, never a hash table. */
struct mru {
    uint64_t uses; /* so far: a clock that ticks with each use */
    uint64_t age;  /* the parameter */
    uint64_t last_use[];
};

static size_t mru_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct mru) + (size_t)view->block_count * sizeof(uint64_t);
}

/* The values of `args` are checked against the table below and in its order. What is needed later is copied now. */
static void mru_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct mru *mru = self;
    mru->age = (uint64_t)args->values[0];
}

/* Notice: a step uses a block that is there, or on its way. */
static void mru_on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct mru *mru = self;
    mru->last_use[b] = ++mru->uses;
}

/* Notice: a block comes in, for a step or for a prefetch. */
static void mru_on_insert(void *self, const struct policy_view *view, block_id b)
{
    mru_on_hit(self, view, b);
}

/* Notice: a block that victim() named is gone. Nothing to tidy up here: on_insert sets the stamp anew. */
static void mru_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)self, (void)view, (void)b, (void)reason;
}

/* Question: which block shall go to make room for `incoming` (BLOCK_NONE at the end of a step)? Answer only with a
 * block for which policy_may_evict() holds, or with BLOCK_NONE; the engine checks, and ends the run on a wrong answer.
 * Here: the block used last among those that were not used in the last `age` uses; without one, the block used last. */
static block_id mru_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    const struct mru *mru = self;
    block_id newest = BLOCK_NONE, newest_aged = BLOCK_NONE;
    for (block_id b = 0; b < view->block_count; b++) {
        if (!policy_may_evict(view, b))
            continue;
        if (newest == BLOCK_NONE || mru->last_use[b] > mru->last_use[newest])
            newest = b;
        if (mru->uses - mru->last_use[b] >= mru->age &&
            (newest_aged == BLOCK_NONE || mru->last_use[b] > mru->last_use[newest_aged]))
            newest_aged = b;
    }
    return newest_aged != BLOCK_NONE ? newest_aged : newest;
}

/* What the user may set: name, unit, smallest, largest, default, help. */
static const struct policy_param mru_params[] = {
    {"age", POLICY_COUNT, 0, 1000000, 0, "spare blocks that were used within this many uses"},
};

/* The one symbol that a shared object exports. */
const struct policy policy = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "mru",
    .summary = "evict the block whose last use is the most recent",
    .param_count = sizeof mru_params / sizeof *mru_params,
    .params = mru_params,
    .state_size = mru_state_size,
    .init = mru_init,
    .ops.evict =
        {
            .on_hit = mru_on_hit,
            .victim = mru_victim,
            .on_insert = mru_on_insert,
            .on_remove = mru_on_remove,
        },
};
