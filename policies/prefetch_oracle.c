/* Fetches all that the next steps will use, also what no runtime could know yet: the bound of what foresight gives. */
#include "policies/ahead.h"

static const struct policy_param oracle_params[] = {
    {"k", POLICY_COUNT, 1, POLICY_REACH_MAX, 1, "how many steps ahead to fetch"},
};

const struct policy policy_oracle = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "oracle",
    .summary = "fetch all blocks of the next steps, experts that are not chosen yet among them",
    .needs = POLICY_NEEDS_FUTURE,
    .param_count = 1,
    .params = oracle_params,
    .state_size = ahead_state_size,
    .init = ahead_init,
    .ops.prefetch = {ahead_reach, ahead_plan},
};
