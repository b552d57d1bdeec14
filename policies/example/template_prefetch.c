/* A prefetcher: while a step computes, fetch what the next steps need and memory lacks. Change it into your own.
 *
 * policies/policy.h is the whole contract: the order of the calls is written there, and nothing else is needed.
 * A policy allocates nothing and keeps no static variables: all that it knows lives in the memory that it is given,
 * once for each run. Blocks have the ids 0 .. view->block_count - 1. */
#include "policies/policy.h"

struct state {
    uint32_t depth;     /* the parameter */
    uint64_t plans;     /* asked for so far */
    uint64_t planned[]; /* by block: the last plan that holds it, so that no plan holds a block twice */
};

/* How much memory this run's state takes. It comes zeroed. */
static size_t state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct state) + (size_t)view->block_count * sizeof(uint64_t);
}

/* The values of `args` are in the order of the table `params` below and within its ranges. */
static void init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct state *state = self;
    state->depth = (uint32_t)args->values[0];
}

/* Asked once: how many steps ahead shall view->ahead show? 1 .. POLICY_REACH_MAX. */
static uint32_t reach(const void *self, const struct policy_view *view)
{
    (void)view;
    const struct state *state = self;
    return state->depth;
}

/* Asked when the blocks of a step are there: what shall be fetched meanwhile? At most `max` blocks, in the order of
 * their loads. Each plan replaces the one before; blocks that are there already are passed over.
 *
 * The blocks of the i-th next step are view->ahead[begin] .. view->ahead[view->ahead_end[i] - 1]; view->used has those
 * of the step that runs, for prefetchers that learn what follows what. */
static uint32_t plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    struct state *state = self;
    uint32_t count = 0, begin = 0;
    state->plans++;
    for (uint32_t i = 0; i < view->ahead_steps && i < state->depth; i++) {
        for (uint32_t at = begin; at < view->ahead_end[i] && count < max; at++) {
            block_id b = view->ahead[at];
            bool held = (view->state[b] & (POLICY_RESIDENT | POLICY_LOADING)) != 0;
            if (held || state->planned[b] == state->plans)
                continue;
            state->planned[b] = state->plans;
            out[count++] = b;
        }
        begin = view->ahead_end[i];
    }
    return count;
}

/* What the user may set: name, unit, smallest, largest, default, help. */
static const struct policy_param params[] = {
    {"depth", POLICY_COUNT, 1, POLICY_REACH_MAX, 1, "how many steps ahead to fetch"},
};

/* The one symbol that is looked up. */
const struct policy policy = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "template",
    .summary = "fetch what the next steps need",
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .state_size = state_size,
    .init = init,
    .ops.prefetch = {.reach = reach, .plan = plan},
};
