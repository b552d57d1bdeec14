/* Names of policies and presets, and the parts of a choice: finding them, and the lines for those that are not there.
 */
#include "policies/names.h"

#include <string.h>

#include "base/suggest.h"

enum { CANDIDATES_MAX = 128 };

const char *const policy_kind_names[POLICY_KINDS_COUNT] = {
    [POLICY_EVICT] = "evict", [POLICY_PIN] = "pin", [POLICY_PREFETCH] = "prefetch", [POLICY_ADMIT] = "admit"};

const char *const policy_kind_titles[POLICY_KINDS_COUNT] = {
    [POLICY_EVICT] = "eviction policy",
    [POLICY_PIN] = "pin rule",
    [POLICY_PREFETCH] = "prefetcher",
    [POLICY_ADMIT] = "admission rule",
};

const char *policy_kind_article(enum policy_kind kind)
{
    return kind == POLICY_EVICT || kind == POLICY_ADMIT ? "an" : "a";
}

struct policy_part *policy_choice_part(struct policy_choice *choice, enum policy_kind kind)
{
    struct policy_part *const parts[POLICY_KINDS_COUNT] = {[POLICY_EVICT] = &choice->evict,
                                                           [POLICY_PIN] = &choice->pin,
                                                           [POLICY_PREFETCH] = &choice->prefetch,
                                                           [POLICY_ADMIT] = &choice->admit};
    must(kind < POLICY_KINDS_COUNT);
    return parts[kind];
}

char *policy_text_of(struct policy_choice *choice, enum policy_kind kind)
{
    char *const texts[POLICY_KINDS_COUNT] = {[POLICY_EVICT] = choice->evict_text,
                                             [POLICY_PIN] = choice->pin_text,
                                             [POLICY_PREFETCH] = choice->prefetch_text,
                                             [POLICY_ADMIT] = choice->admit_text};
    must(kind < POLICY_KINDS_COUNT);
    return texts[kind];
}

const char *policy_choice_text(const struct policy_choice *choice, enum policy_kind kind)
{
    return policy_text_of((struct policy_choice *)(uintptr_t)choice, kind);
}

const char *policy_part_name(const struct policy_part *part)
{
    return part->file[0] != '\0' ? part->file : part->policy->name;
}

bool policy_plugin_file(const struct policy_part *part, const char **path)
{
    *path = part->file;
    return part->policy != NULL && part->file[0] != '\0';
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

bool policy_wrong_kind(const char *name, const struct policy *other, enum policy_kind kind, struct error *err)
{
    const char *names[CANDIDATES_MAX];
    size_t policies = 0, count = 0;
    const struct policy *const *all = policy_all(&policies);
    for (size_t i = 0; i < policies && count < CANDIDATES_MAX - 1; i++)
        if (all[i]->kind == kind)
            names[count++] = all[i]->name;
    if (kind != POLICY_EVICT)
        names[count++] = "none";
    const struct policy_preset *preset = policy_preset_find(name);
    char near[512];
    /* A word that is known elsewhere is not misspelt: no word is near the empty one, so this lists them. */
    suggest_text(other != NULL || preset != NULL ? "" : name, names, count, near, sizeof near);
    if (other != NULL)
        return fail(err, STATUS_USAGE, "\"%s\" is %s %s, not %s %s%s", name, policy_kind_article(other->kind),
                    policy_kind_titles[other->kind], policy_kind_article(kind), policy_kind_titles[kind], near);
    if (preset != NULL)
        return fail(err, STATUS_USAGE, "\"%s\" is a preset (%s), not %s %s%s", name, preset->parts,
                    policy_kind_article(kind), policy_kind_titles[kind], near);
    return fail(err, STATUS_USAGE, "unknown %s \"%s\"%s", policy_kind_titles[kind], name, near);
}
