/* The built-in policies and presets, and the text by which a user names a composition.
 *
 *     lru                      an eviction policy alone
 *     pinned-lru               a preset: lru + hot
 *     prefetch-next(depth=2)   a preset with a parameter of one of its parts
 *     lru+hot(64MiB)+next      parts joined by '+', at most one of each kind, an eviction policy among them
 *     lru+oracle:2             another spelling of lru+oracle(2)
 *     ./mine.so(bits=2)+hot    a part of a shared object (plugin.h): its name holds a '/' or ends in ".so"
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

/* One part with its parameters. The table of a plug-in is the shared object's own: checked, but perhaps shorter than
 * ours, so that its functions are called through a copy that policy_table_complete() made. */
struct policy_part {
    const struct policy *policy; /* NULL: none */
    int64_t values[POLICY_PARAMS_MAX];
    /* Names for a POLICY_BLOCKS parameter, each NUL-terminated, one after the other. */
    uint32_t name_count;
    char names[POLICY_TEXT_MAX];
    char file[POLICY_TEXT_MAX]; /* of a plug-in, as the user wrote it; "" for a built-in */
};

/* A value: no pointers into the text that it was parsed from. */
struct policy_choice {
    struct policy_part evict, pin, prefetch, admit;
    char label[POLICY_TEXT_MAX]; /* canonical text of the whole; parameters at their defaults are left out */
    char evict_text[POLICY_TEXT_MAX], pin_text[POLICY_TEXT_MAX], prefetch_text[POLICY_TEXT_MAX],
        admit_text[POLICY_TEXT_MAX]; /* each part, or "none" */
};

/* The part of a kind, and its text. */
struct policy_part *policy_choice_part(struct policy_choice *choice, enum policy_kind kind);
const char *policy_choice_text(const struct policy_choice *choice, enum policy_kind kind);

/* Parses a composition; plug-ins are loaded. STATUS_USAGE: unknown name (with the nearest), parameter out of range, two
 * parts of one kind, a plug-in that cannot be used, ... */
bool policy_parse(const char *text, struct policy_choice *choice, struct error *err);

/* Parses one part of the given kind, or "none" (not for eviction), into a choice that is zeroed or parsed before; the
 * label becomes the parts joined by '+' ("none" without any). */
bool policy_parse_part(enum policy_kind kind, const char *text, struct policy_choice *choice, struct error *err);

/* Parses one part of any kind into a part; not a preset. STATUS_USAGE. */
bool policy_parse_alone(const char *text, struct policy_part *part, struct error *err);

/* True with the file of a part that is a plug-in, false for built-ins and for no part: what a run depends on beside its
 * config. */
bool policy_plugin_file(const struct policy_part *part, const char **path);

/* One value of a parameter from its text ("512MiB", "2", "10%", "norm"), checked against the parameter's range. For a
 * POLICY_KINDS parameter one name, as a bit. Not for POLICY_BLOCKS. STATUS_USAGE. */
bool policy_value_parse(const struct policy_param *param, const char *text, int64_t *value, struct error *err);

/* The text that gives a value again ("" for POLICY_BLOCKS), for help and canonical texts. Returns out. */
const char *policy_value_text(const struct policy_param *param, int64_t value, char out[POLICY_VALUE_TEXT]);

/* Turns a part's block names into ids: out has room for POLICY_BLOCK_NAMES_MAX; ids ascending and distinct. `find`
 * answers BLOCK_NONE for a name that the model lacks (then STATUS_USAGE). */
bool policy_bind(const struct policy_part *part, block_id (*find)(const void *model, const char *name),
                 const void *model, block_id *out, uint32_t *count, struct error *err);

/* "evict", "pin", "prefetch", "admit"; and for sentences "eviction policy", "pin rule", ... */
extern const char *const policy_kind_names[POLICY_KINDS_COUNT];
extern const char *const policy_kind_titles[POLICY_KINDS_COUNT];

/* "embedding", "norm", "layer", "expert", "output", "other". */
extern const char *const block_kind_names[BLOCK_KINDS];

#endif
