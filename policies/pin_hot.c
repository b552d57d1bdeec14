/* Pins the blocks that are worth most for their size: heat (how many steps of the trace name a block) per byte.
 *
 * A use saved is worth a load's bytes, and a pinned block costs its bytes for the whole run; greedy by heat per byte is
 * the usual answer to this knapsack. The order comes from a heap, so that a small SIZE does not pay for sorting all. */
#include "policies/policy.h"

__extension__ typedef unsigned __int128 uint128;

struct hot {
    int64_t size_bytes; /* 0: what the budget leaves beside the largest step */
    block_id heap[];    /* best on top */
};

/* True when a goes before b. Products instead of quotients: exact. */
static bool hotter(const struct policy_view *view, block_id a, block_id b)
{
    uint128 left = (uint128)view->heat[a] * view->blocks[b].bytes;
    uint128 right = (uint128)view->heat[b] * view->blocks[a].bytes;
    return left != right ? left > right : a < b;
}

static void sift_down(const struct policy_view *view, block_id *heap, uint32_t count, uint32_t at)
{
    block_id moving = heap[at];
    while (at < count / 2) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < count && hotter(view, heap[child + 1], heap[child]))
            child++;
        if (!hotter(view, heap[child], moving))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

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

    uint32_t count = 0, planned = 0;
    for (block_id b = 0; b < view->block_count; b++)
        if (view->heat[b] != 0)
            hot->heap[count++] = b;
    for (uint32_t at = count / 2; at-- > 0;)
        sift_down(view, hot->heap, count, at);
    while (count > 0 && planned < max && room > 0) {
        block_id best = hot->heap[0];
        hot->heap[0] = hot->heap[--count];
        if (count > 0)
            sift_down(view, hot->heap, count, 0);
        if (view->blocks[best].bytes <= room) {
            room -= view->blocks[best].bytes;
            out[planned++] = best;
        }
    }
    return planned;
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
