/* Names of policies and presets: finding them, and the lines for those that are not there. Inside this folder only. */
#ifndef POCKETLOAD_POLICIES_NAMES_H
#define POCKETLOAD_POLICIES_NAMES_H

#include "policies/registry.h"

/* "eviction policy", "pin rule", "prefetcher": by enum policy_kind. */
extern const char *const policy_kind_titles[];

/* NULL when there is none of that name. */
const struct policy *policy_find(const char *name);
const struct policy_preset *policy_preset_find(const char *name);

/* STATUS_USAGE: no policy and no preset is called that. Returns false. */
bool policy_unknown(const char *name, struct error *err);

/* STATUS_USAGE: `name` is no part of that kind; says what it is, or which are. Returns false. */
bool policy_wrong_kind(const char *name, enum policy_kind kind, struct error *err);

#endif
