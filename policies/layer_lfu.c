/* Places for experts in each layer: an expert of a full layer takes the place of that layer's expert that was used
 * least often since it came; of equals, the one used longest ago. */
#include "policies/expert_slots.h"

static block_id layer_lfu_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    return slots_victim(self, view, true);
}

static block_id layer_lfu_release(void *self, const struct policy_view *view)
{
    return slots_release(self, view, true);
}

const struct policy policy_layer_lfu = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "layer-lfu",
    .summary = "places for experts in each layer; in a full one the least often used expert makes room",
    .param_count = 1,
    .params = slots_params,
    .state_size = slots_state_size,
    .init = slots_init,
    .ops.evict =
        {
            .on_hit = slots_on_hit,
            .on_miss = slots_on_miss,
            .victim = layer_lfu_victim,
            .on_insert = slots_on_insert,
            .on_remove = slots_on_remove,
            .release = layer_lfu_release,
            .remark = slots_remark,
        },
};
