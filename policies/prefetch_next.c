/* Fetches what the next steps need and memory lacks, nearest step first. */
#include "policies/ahead.h"

static const struct policy_param next_params[] = {
    {"depth", POLICY_COUNT, 1, POLICY_REACH_MAX, 1, "how many steps ahead to fetch"},
};

const struct policy policy_next = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "next",
    .summary = "fetch the blocks of the next steps while this one computes",
    .param_count = 1,
    .params = next_params,
    .state_size = ahead_state_size,
    .init = ahead_init,
    .ops.prefetch = {ahead_reach, ahead_plan},
};
