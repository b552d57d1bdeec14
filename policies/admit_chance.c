/* Admission by lot: a block that comes often gets in, one that comes once mostly does not. */
#include "policies/lots.h"
#include "policies/policy.h"

struct chance {
    uint64_t ppm;
    uint64_t asked; /* questions so far: each has a lot of its own */
};

static size_t chance_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    return sizeof(struct chance);
}

static void chance_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct chance *chance = self;
    chance->ppm = (uint64_t)args->values[0];
}

static bool chance_admit(void *self, const struct policy_view *view, block_id b)
{
    (void)b;
    struct chance *chance = self;
    return lots_fall(lots_draw(view->seed, LOTS_ADMISSION, chance->asked++, 0), chance->ppm);
}

static const struct policy_param chance_params[] = {
    {"chance", POLICY_PPM, 0, 1000000, 500000, "of a block to be kept when it comes"},
};

const struct policy policy_probabilistic = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_ADMIT,
    .name = "probabilistic",
    .summary = "keep a block that comes with a given chance",
    .param_count = 1,
    .params = chance_params,
    .state_size = chance_state_size,
    .init = chance_init,
    .ops.admit = {chance_admit},
};
