/* What is built in: the policies of built_in.inc, and the presets. */
#include "policies/registry.h"

#define BUILT_IN(name) extern const struct policy policy_##name;
#define EVICTION(name) BUILT_IN(name)
#include "policies/built_in.inc"
#undef BUILT_IN

#define BUILT_IN(name) &policy_##name,
static const struct policy *const built_ins[] = {
#include "policies/built_in.inc"
};
#undef EVICTION
#undef BUILT_IN

static const struct policy_preset presets[] = {
    {"pinned-lru", "pin the hottest blocks, LRU for the rest", "lru+hot"},
    {"prefetch-next", "LRU, and fetch the next step's blocks while this one computes", "lru+next"},
};

const char *const block_kind_names[BLOCK_KINDS] = {"embedding", "norm", "layer", "expert", "output", "other"};

const struct policy *const *policy_all(size_t *count)
{
    *count = sizeof built_ins / sizeof *built_ins;
    return built_ins;
}

const struct policy_preset *policy_presets(size_t *count)
{
    *count = sizeof presets / sizeof *presets;
    return presets;
}
