/* First in, first out: blocks go in the order in which they came, however often they are used. */
#include "policies/list.h"

static size_t fifo_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return list_size(view->block_count);
}

static void fifo_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    list_init(self);
}

static block_id fifo_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    return list_oldest(self, view);
}

static void fifo_on_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    list_add(self, b);
}

static void fifo_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    list_remove(self, b);
}

const struct policy policy_fifo = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "fifo",
    .summary = "evict the block that came first, however often it is used",
    .state_size = fifo_state_size,
    .init = fifo_init,
    .ops.evict =
        {
            .victim = fifo_victim,
            .on_insert = fifo_on_insert,
            .on_remove = fifo_on_remove,
        },
};
