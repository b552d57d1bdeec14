/* What `next` and `oracle` share: the blocks of the coming steps that memory lacks, nearest step first. They differ in
 * how much of the future the view shows them. */
#ifndef POCKETLOAD_POLICIES_AHEAD_H
#define POCKETLOAD_POLICIES_AHEAD_H

#include "policies/policy.h"

struct ahead {
    uint32_t depth;
    uint64_t plans;     /* made so far, this one included */
    uint64_t planned[]; /* by block: the last plan that held it, against duplicates */
};

static size_t ahead_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct ahead) + (size_t)view->block_count * sizeof(uint64_t);
}

static void ahead_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct ahead *ahead = self;
    ahead->depth = (uint32_t)args->values[0];
}

static uint32_t ahead_reach(const void *self, const struct policy_view *view)
{
    (void)view;
    const struct ahead *ahead = self;
    return ahead->depth;
}

static uint32_t ahead_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    struct ahead *ahead = self;
    uint32_t steps = ahead->depth < view->ahead_steps ? ahead->depth : view->ahead_steps;
    uint32_t uses = steps != 0 ? view->ahead_end[steps - 1] : 0, count = 0;
    ahead->plans++;
    for (uint32_t i = 0; i < uses && count < max; i++) {
        block_id b = view->ahead[i];
        if (view->state[b] & (POLICY_RESIDENT | POLICY_LOADING) || ahead->planned[b] == ahead->plans)
            continue;
        ahead->planned[b] = ahead->plans;
        out[count++] = b;
    }
    return count;
}

#endif
