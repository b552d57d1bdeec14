/* The list of what is built in. A new policy is one line here. */
#include "policies/registry.h"

/* X(the variable policy_NAME of a policy's file), in the order of listing. */
#define BUILT_INS(X)                                                                                                   \
    X(lru)                                                                                                             \
    X(fifo)                                                                                                            \
    X(hot)                                                                                                             \
    X(kinds)                                                                                                           \
    X(blocks)                                                                                                          \
    X(next)

#define DECLARE(name) extern const struct policy policy_##name;
#define ADDRESS(name) &policy_##name,
BUILT_INS(DECLARE)

static const struct policy *const built_ins[] = {BUILT_INS(ADDRESS)};

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
