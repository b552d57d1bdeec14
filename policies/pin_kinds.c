/* Pins every block of the given kinds, in the order of ids: by default what every token touches whatever its route. */
#include "policies/policy.h"

struct kinds {
    uint32_t set; /* bit = 1 << enum block_kind */
};

static size_t kinds_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    return sizeof(struct kinds);
}

static void kinds_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct kinds *kinds = self;
    kinds->set = (uint32_t)args->values[0];
}

static uint32_t kinds_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    const struct kinds *kinds = self;
    uint32_t planned = 0;
    for (block_id b = 0; b < view->block_count && planned < max; b++)
        if (kinds->set >> view->blocks[b].kind & 1)
            out[planned++] = b;
    return planned;
}

static const struct policy_param kinds_params[] = {
    {"kinds", POLICY_KINDS, 1, (1 << BLOCK_KINDS) - 1, 1 << BLOCK_EMBEDDING | 1 << BLOCK_NORM | 1 << BLOCK_OUTPUT,
     "which kinds of blocks to pin"},
};

const struct policy policy_kinds = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PIN,
    .name = "kinds",
    .summary = "pin all blocks of the given kinds",
    .param_count = 1,
    .params = kinds_params,
    .state_size = kinds_state_size,
    .init = kinds_init,
    .ops.pin = {kinds_plan},
};
