/* Which loop a replay takes. */
#include "sim/replay_kernels.h"

#define BUILT_IN(name)
#define EVICTION(name) extern const struct policy policy_##name;
#include "policies/built_in.inc"
#undef EVICTION

static const struct {
    const struct policy *policy;
    replay_kernel *kernel;
} kernels[] = {
#define EVICTION(name) {&policy_##name, replay_kernel_##name},
#include "policies/built_in.inc"
#undef EVICTION
};
#undef BUILT_IN

static bool any_policy(const struct replay_pass *pass, struct error *err)
{
    const struct evict_ops ops = *pass->host->evict;
    return pass_run(pass, &ops, pass->host->tables[POLICY_EVICT].needs, err);
}

replay_kernel *replay_kernel_of(const struct policy *policy)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i].policy == policy)
            return kernels[i].kernel;
    return any_policy;
}
