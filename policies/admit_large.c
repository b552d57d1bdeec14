/* Admission: a block that is larger than a share of the evictable budget is streamed, so that it does not push out many
 * small ones. */
#include "policies/policy.h"

__extension__ typedef unsigned __int128 uint128;

struct large {
    uint64_t share_ppm;
};

static size_t large_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    return sizeof(struct large);
}

static void large_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct large *large = self;
    large->share_ppm = (uint64_t)args->values[0];
}

static bool large_admit(void *self, const struct policy_view *view, block_id b)
{
    const struct large *large = self;
    uint64_t room = view->budget_bytes > view->pinned_bytes ? view->budget_bytes - view->pinned_bytes : 0;
    return (uint128)view->blocks[b].bytes * 1000000 <= (uint128)room * large->share_ppm;
}

static const struct policy_param large_params[] = {
    {"share", POLICY_PPM, 0, 1000000, 500000, "of the budget less what is pinned: larger blocks are not kept"},
};

const struct policy policy_bypass_large = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_ADMIT,
    .name = "bypass-large",
    .summary = "keep no block that is larger than a share of the budget",
    .param_count = 1,
    .params = large_params,
    .state_size = large_state_size,
    .init = large_init,
    .ops.admit = {large_admit},
};
