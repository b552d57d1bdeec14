/* Belady's MIN with bypass: as belady, but a block that is used again later than all that is held is not kept at all.
 * The optimum for loaders that may read a block without keeping it. */
#include "policies/belady_parts.h"

static bool bypass_admit(void *self, const struct policy_view *view, block_id b)
{
    if (view->held_bytes <= view->budget_bytes && view->blocks[b].bytes <= view->budget_bytes - view->held_bytes)
        return true;
    block_id farthest = belady_victim(self, view, b);
    return farthest != BLOCK_NONE && view->next_use[b] <= view->next_use[farthest];
}

const struct policy policy_belady_bypass = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "belady-bypass",
    .summary = "as belady, and a block that is used again later than all others is not kept",
    .needs = POLICY_NEEDS_FUTURE,
    .state_size = belady_state_size,
    .init = belady_init,
    .ops.evict =
        {
            .on_hit = belady_on_hit,
            .victim = belady_victim,
            .on_insert = belady_on_insert,
            .on_remove = belady_on_remove,
            .admit = bypass_admit,
        },
};
