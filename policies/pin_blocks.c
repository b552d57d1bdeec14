/* Pins the blocks that the user names, in the order of ids. */
#include "policies/policy.h"

#include <string.h>

struct named {
    uint32_t count;
    block_id blocks[];
};

static size_t named_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    return sizeof(struct named) + (size_t)args->block_count * sizeof(block_id);
}

static void named_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct named *named = self;
    named->count = args->block_count;
    if (named->count != 0)
        memcpy(named->blocks, args->blocks, (size_t)named->count * sizeof(block_id));
}

static uint32_t named_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)view;
    const struct named *named = self;
    uint32_t planned = named->count < max ? named->count : max;
    if (planned != 0)
        memcpy(out, named->blocks, (size_t)planned * sizeof(block_id));
    return planned;
}

static const struct policy_param named_params[] = {
    {"blocks", POLICY_BLOCKS, 0, 0, 0, "names or numbers of the blocks to pin"},
};

const struct policy policy_blocks = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PIN,
    .name = "blocks",
    .summary = "pin the blocks of the given names",
    .param_count = 1,
    .params = named_params,
    .state_size = named_state_size,
    .init = named_init,
    .ops.pin = {named_plan},
};
