/* A replay's hot loop with one eviction policy inlined. The Makefile compiles this file once for each EVICTION(name) of
 * policies/built_in.inc: KERNEL_FILE is the policy's file, KERNEL_POLICY its table (renamed, as the policy itself is
 * linked too), KERNEL_NAME the function made here. */
#include KERNEL_FILE

#include "sim/replay_kernels.h"

static const struct evict_ops *const ops = &KERNEL_POLICY.ops.evict;
enum { GENERAL = 1, EQUAL = 2 };

/* Functions of their own, so that each loop has the registers to itself. */
#define LOOP(name, flags)                                                                                              \
    __attribute__((flatten, noinline)) static bool name(const struct replay_pass *pass, struct error *err)             \
    {                                                                                                                  \
        return pass_steps(pass, ops, KERNEL_POLICY.needs, ((flags)&GENERAL) != 0, ((flags)&EQUAL) != 0, err);          \
    }
LOOP(equal_sizes, EQUAL)
LOOP(own_sizes, 0)
LOOP(general, GENERAL)

bool KERNEL_NAME(const struct replay_pass *pass, struct error *err)
{
    switch (pass_kind(pass)) {
    case PASS_GENERAL:
        return general(pass, err);
    case PASS_EQUAL_SIZES:
        return equal_sizes(pass, err);
    default:
        return own_sizes(pass, err);
    }
}
