/* Pins the blocks that are worth most for their size: heat (how many steps of the trace name a block) per byte. */
#include "policies/hottest.h"

struct hot {
    int64_t size_bytes; /* 0: what the budget leaves beside the largest step */
    block_id heap[];    /* best on top */
};

static size_t hot_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct hot) + (size_t)view->block_count * sizeof(block_id);
}

static void hot_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct hot *hot = self;
    hot->size_bytes = args->values[0];
}

static uint32_t hot_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    struct hot *hot = self;
    uint64_t room = (uint64_t)hot->size_bytes;
    if (room == 0)
        room = view->budget_bytes > view->step_bytes_max ? view->budget_bytes - view->step_bytes_max : 0;

    struct hottest hottest = hottest_start(view, view->heat, hot->heap);
    return hottest_choose(&hottest, room, out, max);
}

static const struct policy_param hot_params[] = {
    {"size", POLICY_BYTES, 0, INT64_MAX, 0, "how much to pin; 0B, the default: the budget less the largest step"},
};

const struct policy policy_hot = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PIN,
    .name = "hot",
    .summary = "pin the blocks that are used most often for their size",
    .needs = POLICY_NEEDS_HEAT,
    .param_count = 1,
    .params = hot_params,
    .state_size = hot_state_size,
    .init = hot_init,
    .ops.pin = {hot_plan},
};
