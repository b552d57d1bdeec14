/* Names of policies and presets: finding them, and the lines for those that are not there. */
#include "policies/names.h"

#include <string.h>

#include "base/suggest.h"

enum { CANDIDATES_MAX = 64 };

const char *const policy_kind_titles[] = {
    [POLICY_EVICT] = "eviction policy",
    [POLICY_PIN] = "pin rule",
    [POLICY_PREFETCH] = "prefetcher",
};

static const char *article(enum policy_kind kind)
{
    return kind == POLICY_EVICT ? "an" : "a";
}

const struct policy *policy_find(const char *name)
{
    size_t count = 0;
    const struct policy *const *all = policy_all(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

const struct policy_preset *policy_preset_find(const char *name)
{
    size_t count = 0;
    const struct policy_preset *all = policy_presets(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}

bool policy_unknown(const char *name, struct error *err)
{
    const char *names[CANDIDATES_MAX];
    size_t policies = 0, presets = 0, count = 0;
    const struct policy *const *all = policy_all(&policies);
    const struct policy_preset *preset = policy_presets(&presets);
    for (size_t i = 0; i < policies && count < CANDIDATES_MAX; i++)
        names[count++] = all[i]->name;
    for (size_t i = 0; i < presets && count < CANDIDATES_MAX; i++)
        names[count++] = preset[i].name;
    char near[512];
    return fail(err, STATUS_USAGE, "unknown policy \"%s\"%s", name,
                suggest_text(name, names, count, near, sizeof near));
}

bool policy_wrong_kind(const char *name, enum policy_kind kind, struct error *err)
{
    const char *names[CANDIDATES_MAX];
    size_t policies = 0, count = 0;
    const struct policy *const *all = policy_all(&policies);
    for (size_t i = 0; i < policies && count < CANDIDATES_MAX - 1; i++)
        if (all[i]->kind == kind)
            names[count++] = all[i]->name;
    if (kind != POLICY_EVICT)
        names[count++] = "none";
    const struct policy *other = policy_find(name);
    const struct policy_preset *preset = policy_preset_find(name);
    char near[512];
    /* A word that is known elsewhere is not misspelt: no word is near the empty one, so this lists them. */
    suggest_text(other != NULL || preset != NULL ? "" : name, names, count, near, sizeof near);
    if (other != NULL)
        return fail(err, STATUS_USAGE, "\"%s\" is %s %s, not %s %s%s", name, article(other->kind),
                    policy_kind_titles[other->kind], article(kind), policy_kind_titles[kind], near);
    if (preset != NULL)
        return fail(err, STATUS_USAGE, "\"%s\" is a preset (%s), not %s %s%s", name, preset->parts, article(kind),
                    policy_kind_titles[kind], near);
    return fail(err, STATUS_USAGE, "unknown %s \"%s\"%s", policy_kind_titles[kind], name, near);
}
