/* See naive_parts.h. */
#include "tests/reference/naive_parts.h"

/* By block; in `capped` with what the policy needs besides. */
struct stamps {
    uint64_t cap_bytes, own_bytes, now;
    uint64_t last[]; /* by block: the time of the last use; 0: not held */
};

static size_t stamps_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct stamps) + (size_t)view->block_count * sizeof(uint64_t);
}

static void stamps_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct stamps *stamps = self;
    (void)view;
    if (args->values)
        stamps->cap_bytes = (uint64_t)args->values[0];
}

static void stamps_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct stamps *stamps = self;
    (void)view;
    stamps->last[b] = ++stamps->now;
}

static void stamps_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct stamps *stamps = self;
    stamps->own_bytes += view->blocks[b].bytes;
    stamps->last[b] = ++stamps->now;
}

static void stamps_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    struct stamps *stamps = self;
    (void)reason;
    stamps->own_bytes -= view->blocks[b].bytes;
    stamps->last[b] = 0;
}

static block_id oldest(void *self, const struct policy_view *view, block_id incoming)
{
    const struct stamps *stamps = self;
    block_id best = BLOCK_NONE;
    (void)incoming;
    for (block_id b = 0; b < view->block_count; b++)
        if (policy_may_evict(view, b) && (best == BLOCK_NONE || stamps->last[b] < stamps->last[best]))
            best = b;
    return best;
}

static bool capped_admit(void *self, const struct policy_view *view, block_id b)
{
    return view->blocks[b].bytes <= ((const struct stamps *)self)->cap_bytes;
}

static block_id capped_release(void *self, const struct policy_view *view)
{
    const struct stamps *stamps = self;
    return stamps->own_bytes > stamps->cap_bytes ? oldest(self, view, BLOCK_NONE) : BLOCK_NONE;
}

const struct policy part_capped = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "capped",
    .state_size = stamps_size,
    .init = stamps_init,
    .ops.evict = {.on_hit = stamps_on_hit,
                  .victim = oldest,
                  .on_insert = stamps_on_insert,
                  .on_remove = stamps_on_remove,
                  .admit = capped_admit,
                  .release = capped_release},
};

static block_id farthest(void *self, const struct policy_view *view, block_id incoming)
{
    block_id best = BLOCK_NONE;
    (void)self;
    (void)incoming;
    for (block_id b = 0; b < view->block_count; b++)
        if (policy_may_evict(view, b) && (best == BLOCK_NONE || view->next_use[b] > view->next_use[best]))
            best = b;
    return best;
}

const struct policy part_farthest = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "farthest",
    .needs = POLICY_NEEDS_FUTURE,
    .state_size = stamps_size,
    .init = stamps_init,
    .ops.evict = {.victim = farthest, .on_insert = stamps_on_insert, .on_remove = stamps_on_remove},
};

static size_t one_value_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    (void)args;
    return sizeof(uint32_t);
}

static void one_value_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    *(uint32_t *)self = args->values ? (uint32_t)args->values[0] : 1;
}

static bool most_admit(void *self, const struct policy_view *view, block_id b)
{
    (void)self;
    return (7 * (uint64_t)b + view->access) % 5 != 0;
}

const struct policy part_most = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_ADMIT,
    .name = "most",
    .state_size = one_value_size,
    .init = one_value_init,
    .ops.admit = {most_admit},
};

static uint32_t one_value_reach(const void *self, const struct policy_view *view)
{
    (void)view;
    return *(const uint32_t *)self;
}

/* Appends b to a plan, unless it is there or planned already. */
static void add(const struct policy_view *view, block_id b, block_id *out, uint32_t *count)
{
    if (view->state[b] & (POLICY_RESIDENT | POLICY_LOADING))
        return;
    for (uint32_t i = 0; i < *count; i++)
        if (out[i] == b)
            return;
    out[(*count)++] = b;
}

static uint32_t seer_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    uint32_t count = 0, uses = view->ahead_steps > 0 ? view->ahead_end[view->ahead_steps - 1] : 0;
    (void)self;
    (void)max;
    for (uint32_t i = 0; i < uses; i++)
        add(view, view->ahead[i], out, &count);
    return count;
}

const struct policy part_seer = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "seer",
    .needs = POLICY_NEEDS_FUTURE,
    .state_size = one_value_size,
    .init = one_value_init,
    .ops.prefetch = {one_value_reach, seer_plan},
};

static uint32_t follower_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    uint32_t count = 0;
    (void)self;
    (void)max;
    for (uint32_t i = 0; i < view->used_count; i++)
        add(view, (view->used[i] + 1) % view->block_count, out, &count);
    return count;
}

const struct policy part_follower = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "follower",
    .state_size = one_value_size,
    .init = one_value_init,
    .ops.prefetch = {one_value_reach, follower_plan},
};
