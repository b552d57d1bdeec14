/* Most recently used: the block used last goes first. For a cycle that does not fit this is close to the optimum, since
 * the block used last is the one that is needed again last. A fill counts as a block's first use until there is one. */
#include "policies/list.h"

static size_t mru_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return list_size(view->block_count);
}

static void mru_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    list_init(self);
}

static void mru_on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    list_make_newest(self, b);
}

static block_id mru_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    const struct list_node *list = self;
    for (uint32_t entry = list[0].next; entry != 0; entry = list[entry].next)
        if (policy_may_evict(view, entry - 1))
            return entry - 1;
    return BLOCK_NONE;
}

static void mru_on_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    list_add(self, b);
}

static void mru_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    list_unlink(self, b);
}

const struct policy policy_mru = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "mru",
    .summary = "evict the block whose last use is the most recent",
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
