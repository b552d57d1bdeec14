/* The replay's hot loop for each policy: one with the policy inlined where it is built in, else one that calls it. */
#ifndef POCKETLOAD_SIM_REPLAY_KERNELS_H
#define POCKETLOAD_SIM_REPLAY_KERNELS_H

#include "sim/replay_pass.h"

#define BUILT_IN(name)
#define EVICTION(name) replay_kernel replay_kernel_##name;
#include "policies/built_in.inc"
#undef EVICTION
#undef BUILT_IN

/* Never NULL. All give the same results. */
replay_kernel *replay_kernel_of(const struct policy *policy);

#endif
