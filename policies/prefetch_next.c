/* Fetches what the next steps need and memory lacks, nearest step first. */
#include "policies/policy.h"

struct next {
    uint32_t depth;
    uint64_t plans;     /* made so far, this one included */
    uint64_t planned[]; /* by block: the last plan that held it, against duplicates */
};

static size_t next_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct next) + (size_t)view->block_count * sizeof(uint64_t);
}

static void next_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct next *next = self;
    next->depth = (uint32_t)args->values[0];
}

static uint32_t next_reach(const void *self, const struct policy_view *view)
{
    (void)view;
    const struct next *next = self;
    return next->depth;
}

static uint32_t next_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    struct next *next = self;
    uint32_t steps = next->depth < view->ahead_steps ? next->depth : view->ahead_steps;
    uint32_t uses = steps != 0 ? view->ahead_end[steps - 1] : 0, count = 0;
    next->plans++;
    for (uint32_t i = 0; i < uses && count < max; i++) {
        block_id b = view->ahead[i];
        if (view->state[b] & (POLICY_RESIDENT | POLICY_LOADING) || next->planned[b] == next->plans)
            continue;
        next->planned[b] = next->plans;
        out[count++] = b;
    }
    return count;
}

static const struct policy_param next_params[] = {
    {"depth", POLICY_COUNT, 1, POLICY_REACH_MAX, 1, "how many steps ahead to fetch"},
};

const struct policy policy_next = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "next",
    .summary = "fetch the blocks of the next steps while this one computes",
    .param_count = 1,
    .params = next_params,
    .state_size = next_state_size,
    .init = next_init,
    .ops.prefetch = {next_reach, next_plan},
};
