/* Names of policies and presets: finding them, and the lines for those that are not there. Inside this folder only. */
#ifndef POCKETLOAD_POLICIES_NAMES_H
#define POCKETLOAD_POLICIES_NAMES_H

#include "policies/registry.h"

/* As policy_choice_text(), to write to. */
char *policy_text_of(struct policy_choice *choice, enum policy_kind kind);

/* How a part's text names it: a built-in by its name, a plug-in by its file. */
const char *policy_part_name(const struct policy_part *part);

/* NULL when there is none of that name. */
const struct policy *policy_find(const char *name);
const struct policy_preset *policy_preset_find(const char *name);

/* STATUS_USAGE: no policy and no preset is called that. Returns false. */
bool policy_unknown(const char *name, struct error *err);

/* STATUS_USAGE: `name` is no part of that kind; says what it is, or which are. `other` is what it is, or NULL. Returns
 * false. */
bool policy_wrong_kind(const char *name, const struct policy *other, enum policy_kind kind, struct error *err);

/* "an" or "a". */
const char *policy_kind_article(enum policy_kind kind);

#endif
