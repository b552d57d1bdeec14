/* Places for experts in each layer: an expert of a full layer takes the place of that layer's expert that was used
 * longest ago.
 *
 * Caches of this kind, with LRU within a layer: A. Eliseev, D. Mazur, Fast inference of mixture-of-experts language
 * models with offloading, arXiv:2312.17238, 2023. */
#include "policies/expert_slots.h"

static block_id layer_lru_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    return slots_victim(self, view, false);
}

static block_id layer_lru_release(void *self, const struct policy_view *view)
{
    return slots_release(self, view, false);
}

const struct policy policy_layer_lru = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "layer-lru",
    .summary = "places for experts in each layer; in a full one the least recently used expert makes room",
    .param_count = 1,
    .params = slots_params,
    .state_size = slots_state_size,
    .init = slots_init,
    .ops.evict =
        {
            .on_hit = slots_on_hit,
            .on_miss = slots_on_miss,
            .victim = layer_lru_victim,
            .on_insert = slots_on_insert,
            .on_remove = slots_on_remove,
            .release = layer_lru_release,
            .remark = slots_remark,
        },
};
