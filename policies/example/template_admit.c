/* An admission rule: a block comes in when it is wanted for the second time. Change it into your own.
 *
 * policies/policy.h is the whole contract: the order of the calls is written there, and nothing else is needed.
 * A policy allocates nothing and keeps no static variables: all that it knows lives in the memory that it is given,
 * once for each run. Blocks have the ids 0 .. view->block_count - 1. */
#include "policies/policy.h"

struct state {
    uint64_t times;   /* the parameter */
    uint64_t asked[]; /* by block */
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
    state->times = (uint64_t)args->values[0];
}

/* May this block come in? Asked once for each load, before anything is evicted for it. A block that is refused is read
 * for its step all the same, but not kept. Blocks that could never fit are not asked about. */
static bool admit(void *self, const struct policy_view *view, block_id b)
{
    struct state *state = self;
    bool has_room =
        view->held_bytes <= view->budget_bytes && view->blocks[b].bytes <= view->budget_bytes - view->held_bytes;
    state->asked[b]++;
    return has_room || state->asked[b] >= state->times;
}

/* What the user may set: name, unit, smallest, largest, default, help. */
static const struct policy_param params[] = {
    {"times", POLICY_COUNT, 1, 1000, 2, "let a block in at this load of it; before, only where there is room"},
};

/* The one symbol that is looked up. */
const struct policy policy = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_ADMIT,
    .name = "template",
    .summary = "let a block in when it is wanted for the second time",
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .state_size = state_size,
    .init = init,
    .ops.admit = {.admit = admit},
};
