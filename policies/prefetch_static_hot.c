/* Fetches the blocks that an earlier run used most for their size, whenever they are absent.
 *
 * The set is chosen once: by accesses per byte of the profile, as many as fit beside the largest step. */
#include "policies/hottest.h"

struct static_hot {
    uint32_t count;   /* the user's limit; 0: none */
    uint32_t planned; /* of order[] */
    bool chosen;
    block_id order[]; /* a heap until the set is chosen, then the set, hottest first */
};

static size_t static_hot_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct static_hot) + 2 * (size_t)view->block_count * sizeof(block_id);
}

static void static_hot_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct static_hot *hot = self;
    hot->count = (uint32_t)args->values[0];
}

static uint32_t static_hot_reach(const void *self, const struct policy_view *view)
{
    (void)self, (void)view;
    return 1;
}

/* At the first plan: what is pinned is known by then. */
static void choose(struct static_hot *hot, const struct policy_view *view)
{
    uint64_t taken = view->pinned_bytes + view->step_bytes_max;
    uint64_t room = view->budget_bytes > taken ? view->budget_bytes - taken : 0;
    struct hottest hottest = hottest_start(view, view->profile, hot->order + view->block_count);
    hot->planned = hottest_choose(&hottest, room, hot->order, hot->count != 0 ? hot->count : UINT32_MAX);
    hot->chosen = true;
}

static uint32_t static_hot_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    struct static_hot *hot = self;
    uint32_t count = 0;
    if (!hot->chosen)
        choose(hot, view);
    for (uint32_t i = 0; i < hot->planned && count < max; i++)
        if (!(view->state[hot->order[i]] & (POLICY_RESIDENT | POLICY_LOADING)))
            out[count++] = hot->order[i];
    return count;
}

static const struct policy_param static_hot_params[] = {
    {"count", POLICY_COUNT, 0, UINT32_MAX, 0, "how many blocks; 0, the default: what fits beside the largest step"},
};

const struct policy policy_static_hot = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "static-hot",
    .summary = "keep fetching the blocks that an earlier run used most for their size",
    .needs = POLICY_NEEDS_PROFILE,
    .param_count = 1,
    .params = static_hot_params,
    .state_size = static_hot_state_size,
    .init = static_hot_init,
    .ops.prefetch = {static_hot_reach, static_hot_plan},
};
