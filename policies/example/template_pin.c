/* A pin rule: the smallest blocks that are used stay in memory for the whole run. Change it into your own.
 *
 * policies/policy.h is the whole contract: the order of the calls is written there, and nothing else is needed.
 * A policy allocates nothing and keeps no static variables: all that it knows lives in the memory that it is given,
 * once for each run. Blocks have the ids 0 .. view->block_count - 1. */
#include "policies/policy.h"

struct state {
    uint64_t share_ppm; /* the parameter: of the budget, in parts per million */
    bool planned[];     /* by block */
};

/* How much memory this run's state takes. It comes zeroed. */
static size_t state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct state) + (size_t)view->block_count * sizeof(bool);
}

/* The values of `args` are in the order of the table `params` below and within its ranges. */
static void init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct state *state = self;
    state->share_ppm = (uint64_t)args->values[0];
}

/* The smallest block that is not planned yet and that some step uses. view->heat, which tells how often steps name a
 * block, is there because the policy says POLICY_NEEDS_HEAT. */
static block_id smallest(const struct state *state, const struct policy_view *view)
{
    block_id best = BLOCK_NONE;
    for (block_id b = 0; b < view->block_count; b++)
        if (!state->planned[b] && view->heat[b] > 0 &&
            (best == BLOCK_NONE || view->blocks[b].bytes < view->blocks[best].bytes))
            best = b;
    return best;
}

/* Asked once: which blocks to pin? At most `max`, each once, the most wanted first; the engine passes over those that
 * do not fit the budget. Leave room for the step: what is not pinned is loaded and evicted in the rest. */
static uint32_t plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    struct state *state = self;
    uint64_t room = view->budget_bytes / 1000000 * state->share_ppm;
    uint32_t count = 0;
    while (count < max) {
        block_id b = smallest(state, view);
        if (b == BLOCK_NONE || view->blocks[b].bytes > room)
            break;
        room -= view->blocks[b].bytes;
        state->planned[b] = true;
        out[count++] = b;
    }
    return count;
}

/* What the user may set: name, unit, smallest, largest, default, help. */
static const struct policy_param params[] = {
    {"share", POLICY_PPM, 0, 1000000, 250000, "how much of the budget to pin"},
};

/* The one symbol that is looked up. */
const struct policy policy = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PIN,
    .name = "template",
    .summary = "pin the smallest blocks that are used",
    .needs = POLICY_NEEDS_HEAT,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .state_size = state_size,
    .init = init,
    .ops.pin = {.plan = plan},
};
