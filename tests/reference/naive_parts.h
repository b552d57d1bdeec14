/* Parts of a policy that the built-in ones do not replace in a test of the engine: each small enough to be seen right,
 * each using a call of the contract that few policies use. Their twins are in naive_policy.c. */
#ifndef POCKETLOAD_TESTS_NAIVE_PARTS_H
#define POCKETLOAD_TESTS_NAIVE_PARTS_H

#include "policies/policy.h"

/* Least recently used, but of at most values[0] bytes of its own: it refuses larger blocks and releases the oldest. */
extern const struct policy part_capped;
/* Evicts the block whose next use lies furthest ahead, of equals the one of the lowest id. */
extern const struct policy part_farthest;
/* Lets a block in, or not, by its id and the number of the access. */
extern const struct policy part_most;
/* Fetches all that the next values[0] steps use, also what no runtime foresees. */
extern const struct policy part_seer;
/* Fetches the block of the next id after each that the step uses. */
extern const struct policy part_follower;

#endif
