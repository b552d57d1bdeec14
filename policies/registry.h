/* The built-in policies and presets, and the text by which a user names a composition.
 *
 *     lru                      an eviction policy alone
 *     pinned-lru               a preset: lru + hot
 *     prefetch-next(depth=2)   a preset with a parameter of one of its parts
 *     lru+hot(64MiB)+next      parts joined by '+', at most one of each kind, an eviction policy among them
 *
 * A parameter without a name is the part's first one; a preset hands its parameters to the part that declares them. A
 * list parameter takes the values up to the closing parenthesis: kinds(embedding,norm), blocks(embed,layer1); a policy
 * has at most one. Presets may stand among parts: pinned-lru+next. Adding a policy: one file, and one line in
 * built_in.inc. */
#ifndef POCKETLOAD_POLICIES_REGISTRY_H
#define POCKETLOAD_POLICIES_REGISTRY_H

#include "base/error.h"
#include "policies/policy.h"

enum { POLICY_TEXT_MAX = 512, POLICY_BLOCK_NAMES_MAX = 64, POLICY_VALUE_TEXT = 64 };

/* All built-ins, in the order of their listing; *count receives how many. */
const struct policy *const *policy_all(size_t *count);

struct policy_preset {
    const char *name, *summary;
    const char *parts; /* the composition that it stands for, e.g. "lru+hot" */
};
const struct policy_preset *policy_presets(size_t *count);

/* One part with its parameters. */
struct policy_part {
    const struct policy *policy; /* NULL: none */
    int64_t values[POLICY_PARAMS_MAX];
    /* Names for a POLICY_BLOCKS parameter, each NUL-terminated, one after the other. */
    uint32_t name_count;
    char names[POLICY_TEXT_MAX];
};

/* A value: no pointers into the text that it was parsed from. */
struct policy_choice {
    struct policy_part evict, pin, prefetch;
    char label[POLICY_TEXT_MAX]; /* canonical text of the whole; parameters at their defaults are left out */
    char evict_text[POLICY_TEXT_MAX], pin_text[POLICY_TEXT_MAX],
        prefetch_text[POLICY_TEXT_MAX]; /* each part, or "none" */
};

/* Parses a composition. STATUS_USAGE: unknown name (with the nearest), parameter out of range, two parts of one kind,
 * ... */
bool policy_parse(const char *text, struct policy_choice *choice, struct error *err);

/* Parses one part of the given kind, or "none" (not for eviction), into a choice that is zeroed or parsed before; the
 * label becomes the parts joined by '+' ("none" without any). */
bool policy_parse_part(enum policy_kind kind, const char *text, struct policy_choice *choice, struct error *err);

/* One value of a parameter from its text ("512MiB", "2", "10%", "norm"), checked against the parameter's range. For a
 * POLICY_KINDS parameter one name, as a bit. Not for POLICY_BLOCKS. STATUS_USAGE. */
bool policy_value_parse(const struct policy_param *param, const char *text, int64_t *value, struct error *err);

/* The text that gives a value again ("" for POLICY_BLOCKS), for help and canonical texts. Returns out. */
const char *policy_value_text(const struct policy_param *param, int64_t value, char out[POLICY_VALUE_TEXT]);

/* Turns a part's block names into ids: out has room for POLICY_BLOCK_NAMES_MAX; ids ascending and distinct. `find`
 * answers BLOCK_NONE for a name that the model lacks (then STATUS_USAGE). */
bool policy_bind(const struct policy_part *part, block_id (*find)(const void *model, const char *name),
                 const void *model, block_id *out, uint32_t *count, struct error *err);

/* "embedding", "norm", "layer", "expert", "output", "other". */
extern const char *const block_kind_names[BLOCK_KINDS];

#endif
