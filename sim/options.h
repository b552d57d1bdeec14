/* The option table: every key that a config may hold, with its type, range, default and help.
 *
 * It drives parsing, checks, help, and the dump of the effective config. An option's value goes into the field of
 * struct run_config at `offset`; options without a field (profiles, policies, `flops`, limits by system version) are
 * put in place by sim/experiment_select.c and sim/experiment_device.c. */
#ifndef POCKETLOAD_SIM_OPTIONS_H
#define POCKETLOAD_SIM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "sim/experiment.h"

enum option_type {
    OPTION_BYTES,
    OPTION_TIME,
    OPTION_RATE,
    OPTION_FLOPS,
    OPTION_COUNT,
    OPTION_SHARE,   /* parts per million */
    OPTION_DECIMAL, /* parts per million */
    OPTION_CHOICE,  /* one of `names` */
    OPTION_ADJ,     /* an oom_score_adj: one of adj_names, or -1000 .. 1000 */
    OPTION_TEXT,
    OPTION_PATH,    /* a file, relative to the config's folder or as given */
    OPTION_PROFILE, /* the name of a profile, or a path */
    OPTION_MODEL,   /* a model in one value: sim/model_choice.h */
    OPTION_FORMAT,  /* a trace format */
    OPTION_POLICY,  /* a composition */
    OPTION_PART,    /* one part of a composition */
    OPTION_APPS,    /* other apps: sim/apps.h */
    OPTION_QUALITY, /* a number for each quantisation: sim/perplexity.h */
    OPTION_CHUNK,   /* how blocks are cut: workloads/chunks.h; stored as chunk_code */
    OPTION_TYPES
};

/* What a value of each type looks like, for help: "a size: 512MiB". */
extern const char *const option_type_texts[OPTION_TYPES];

/* When an option matters to a run. Where it does not, its value is the default and the effective config omits it. */
enum option_scope {
    SCOPE_ALWAYS,
    SCOPE_TOKENS, /* workload.kind = dense, moe or chat */
    SCOPE_MOE,    /* moe or chat */
    SCOPE_CHAT,
    SCOPE_DRAFT,    /* with workload.draft */
    SCOPE_ADAPTERS, /* workload.adapters is not 0 */
    SCOPE_TRACE,
    SCOPE_CHUNKED,  /* loader.mode = chunked */
    SCOPE_READS,    /* loader.mode = chunked or read: the app reads the file itself */
    SCOPE_MMAP,     /* loader.mode = mmap */
    SCOPE_POLICY,   /* loader.mode = chunked, or mmap, whose pin rule it is */
    SCOPE_SHAPE,    /* the model is given by its numbers: keys of a profile or a config */
    SCOPE_QUANT,    /* the same, or by a file that has numbers alone */
    SCOPE_PRESSURE, /* the system does more than kill at a threshold: mmap, zram, apps, or another rule */
    SCOPE_ZRAM,     /* device.zram is not 0 */
    SCOPE_LMKD,     /* device.kill, each of the rules */
    SCOPE_JETSAM,
    SCOPE_LIMITER,
    SCOPE_ALLOCATOR, /* loader.allocator is not none */
    SCOPE_MALLOC,
    SCOPE_STAGES, /* loader.stages is not none, or loader.warm not 0 */
};

struct option {
    const char *section, *key;
    enum option_type type;
    enum option_scope scope;
    size_t offset, width;     /* of the field in struct run_config; width 0: none */
    uint64_t min, max;        /* in base units (bytes, ns, ppm); of a text: its length */
    const char *fallback;     /* default, as a user would write it; NULL: none */
    const char *const *names; /* OPTION_CHOICE: value i is names[i]; OPTION_BYTES: the only sizes there are, or NULL */
    size_t name_count;
    const char *word; /* a word that is a value too ("roofline", "whole"), stored as word_value */
    int64_t word_value;
    const char *other_word; /* a second one, or NULL */
    int64_t other_value;
    bool list;     /* may hold a comma list */
    bool required; /* must be set by profile or config */
    /* The default is an estimate; of a key without a default, what stands in its place is. */
    bool estimated;
    bool (*check)(const char *text, struct error *err); /* of a text: what it has to be beside that; NULL: nothing */
    const char *help;
};

/* The table, in the order of help and of the effective config: a copy in the arena, as some options come from other
 * tables (a rate for each tensor type). NULL without memory. */
const struct option *options_all(struct arena *arena, size_t *count);

/* The option, or NULL. */
const struct option *option_find(const struct option *options, size_t count, const char *section, const char *key);

union option_value {
    uint64_t number; /* choices and signed values too */
    const char *text;
    const struct policy_choice *policy;
    const struct app_list *apps;
    const struct model_choice *model;
};

/* Parses one value (not a list). Texts and policies go to the arena; profiles, paths and models stay texts, which
 * the caller resolves. STATUS_USAGE, without the place. */
bool option_parse(const struct option *option, const char *text, struct arena *arena, union option_value *value,
                  struct error *err);

/* Puts a value into its field; does nothing for an option without one. */
void option_store(const struct option *option, union option_value value, struct run_config *config);

/* Takes it out again (of a number or text; of apps and models their text). */
union option_value option_load(const struct option *option, const struct run_config *config);

/* True for options whose value is a text in the field, or has one. */
bool option_is_text(const struct option *option);

#endif
