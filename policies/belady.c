/* Belady's MIN with forced admission: every block comes in, and the one whose next use lies farthest ahead makes room.
 * No policy that must take in every block misses less often when all blocks are equally large.
 *
 * Source: L. A. Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5(2),
 * 1966. Among blocks that are never used again, the one whose last use lies furthest back goes first. */
#include "policies/belady_parts.h"

const struct policy policy_belady = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "belady",
    .summary = "evict the block that is used again last (the optimum, from the future)",
    .needs = POLICY_NEEDS_FUTURE,
    .state_size = belady_state_size,
    .init = belady_init,
    .ops.evict =
        {
            .on_hit = belady_on_hit,
            .victim = belady_victim,
            .on_insert = belady_on_insert,
            .on_remove = belady_on_remove,
        },
};
