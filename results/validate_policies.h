/* How others name policies and their parameters, and how we do. */
#ifndef POCKETLOAD_RESULTS_VALIDATE_POLICIES_H
#define POCKETLOAD_RESULTS_VALIDATE_POLICIES_H

/* Our text for a policy of libCacheSim with its parameters ("n-bit-counter=2"), or NULL where there is none: S3-FIFO of
 * 2025 is not the published one. */
const char *policy_of_libcachesim(const char *policy, const char *params);

#endif
