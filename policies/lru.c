/* Least recently used: the block whose last use lies furthest back goes first. A fill counts as a block's first use
 * until there is one, so a prefetched block enters as the newest. */
#include "policies/list.h"

static size_t lru_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return list_size(view->block_count);
}

static void lru_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    list_init(self);
}

static void lru_on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    list_make_newest(self, b);
}

static block_id lru_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    return list_oldest(self, view);
}

static void lru_on_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    list_add(self, b);
}

static void lru_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    list_remove(self, b);
}

const struct policy policy_lru = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "lru",
    .summary = "evict the block whose last use lies furthest back",
    .state_size = lru_state_size,
    .init = lru_init,
    .ops.evict =
        {
            .on_hit = lru_on_hit,
            .victim = lru_victim,
            .on_insert = lru_on_insert,
            .on_remove = lru_on_remove,
        },
};
