/* Admission: everything may come in. Says explicitly what no admission rule means. */
#include "policies/policy.h"

static size_t always_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    return 0;
}

static void always_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)self, (void)view, (void)args;
}

static bool always_admit(void *self, const struct policy_view *view, block_id b)
{
    (void)self, (void)view, (void)b;
    return true;
}

const struct policy policy_always = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_ADMIT,
    .name = "always",
    .summary = "keep every block that comes",
    .state_size = always_state_size,
    .init = always_init,
    .ops.admit = {always_admit},
};
