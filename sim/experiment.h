/* A config file as a list of runs.
 *
 * Every key that takes one value may hold a comma list; the experiment is the product of all lists. One table of
 * options (options.h) drives parsing, checks, help, the effective config and docs. A profile (device, model) is an INI
 * file of its own with one section [device] or [model]; keys of the config override the profile's. */
#ifndef POCKETLOAD_SIM_EXPERIMENT_H
#define POCKETLOAD_SIM_EXPERIMENT_H

#include "policies/registry.h"
#include "sim/engine.h"
#include "workloads/chunks.h"
#include "workloads/workload.h"

enum { RUN_KEY_TEXT = 33 }; /* 128 bits in hex, and a NUL */

/* Raised whenever the same config may give other numbers than before; part of the run key. */
enum { MODEL_VERSION = 4 };

/* In the order of enum kill_rule: "none", "threshold", ... */
enum { KILL_RULES = KILL_MEMORY_LIMITER + 1 };
extern const char *const kill_rule_names[KILL_RULES];

/* The value of device.apps: the apps, and the text that they were read from. */
struct app_list {
    const struct app_spec *apps;
    uint32_t count;
    const char *text;
};

struct model_choice; /* sim/model_choice.h */

/* The effective config of one run: plain values, and strings that the experiment owns. */
struct run_config {
    const char *experiment; /* its name */
    uint64_t seed;
    struct device device;
    struct model_spec model; /* without blocks, file and shape: the trace brings its own blocks */
    struct workload_spec workload;
    const struct model_choice *draft, *second; /* models beside the first; NULL: none */
    struct loader loader;
    uint64_t chunk; /* chunk_code of workloads/chunks.h: model and trace of a run are of such chunks */
    struct policy_choice policy;
    const char *profile;                        /* a file, for parts of the policy that need one; else NULL */
    const struct app_list *apps;                /* other apps by name, as written; NULL: none */
    const char *perplexity;                     /* of the model, by quantisation, as written; NULL: not known */
    const char *os_version;                     /* jetsam: NULL where none is given */
    bool entitled;                              /* jetsam */
    bool limit_by_version;                      /* jetsam: its limit is from jetsam_by_os */
    const char *stages, *first_chunk, *preload; /* of the loader, as they are told */
    const char *workload_label, *loader_label;  /* e.g. "dense", "chunked": the record's columns */
};

/* Where a value of a profile comes from, as ` [measured]` behind it says. */
enum mark { MARK_NONE, MARK_MEASURED, MARK_PUBLISHED, MARK_ESTIMATED, MARKS };
extern const char *const mark_names[MARKS]; /* "", "measured", "published", "estimated" */

struct experiment; /* opaque; owns everything that its run_configs point to */

/* Reads a config with `--set` overrides ("section.key=value", which replace the file's values). profile_dirs:
 * NULL-terminated list of folders that hold devices/NAME.ini and models/NAME.ini, the first hit wins; a profile may
 * also be a path (it contains '/' or ends in ".ini"). Everything is checked here: unknown section, key or value with
 * file:line and the nearest valid one. STATUS_USAGE. */
bool experiment_read(const char *path, const char *const *overrides, size_t override_count,
                     const char *const *profile_dirs, struct experiment **experiment, struct error *err);
/* The same from text in memory; `path` names it in messages, and relative paths start from its folder. */
bool experiment_parse(const char *path, const char *text, size_t size, const char *const *overrides,
                      size_t override_count, const char *const *profile_dirs, struct experiment **experiment,
                      struct error *err);
void experiment_free(struct experiment *experiment);

const char *experiment_name(const struct experiment *experiment);

/* Distinct runs, in a fixed order: the last list in the file's key order varies fastest; combinations that are the same
 * run (LRU and FIFO under loader.mode = read) appear once. */
size_t experiment_run_count(const struct experiment *experiment);
/* Made on first use, valid as long as the experiment; not for two threads at once. */
const struct run_config *experiment_run(const struct experiment *experiment, size_t index);

/* The effective config as JSON, with sizes in bytes and times in nanoseconds, keys in the order of the option table,
 * trace and model files by name and content hash. Owned by the experiment, made on first use. NULL with err when a file
 * cannot be read. */
const char *experiment_run_json(struct experiment *experiment, size_t index, struct error *err);
/* Hash (XXH3, 128 bits) of that JSON without experiment.name, and MODEL_VERSION. */
const char *experiment_run_key(struct experiment *experiment, size_t index, struct error *err);

/* Builds the model of a run, with its draft model, second model and adapters where it has them. *section and *key:
 * which key of the config is at fault when it fails. As model_build and model_combine. Not for a config whose trace
 * brings its own blocks. */
bool run_model_build(const struct run_config *config, struct model *model, const char **section, const char **key,
                     struct error *err);

/* Two runs have one model, name and chunks and all. */
bool run_models_alike(const struct run_config *a, const struct run_config *b);

/* Builds model and trace, cuts them into chunks, binds the policy, and runs. `cache` keeps the last model and trace and
 * may be shared by successive calls of one thread; zero it first, free it at the end. result lives in arena. Input
 * errors as in the parts; nothing is printed. */
struct prepared {
    bool has_model, has_trace, has_future;
    char model_key[RUN_KEY_TEXT], trace_key[RUN_KEY_TEXT];
    struct model model;
    struct trace trace;
    bool is_cut;             /* into chunks; then: */
    struct model whole;      /* as it was before */
    struct chunk_map chunks; /* of its blocks */
    struct future future;    /* of the trace, made for the first policy that needs it */
};
bool experiment_execute(struct experiment *experiment, size_t index, struct prepared *cache, struct arena *arena,
                        struct run_result *result, struct error *err);
void prepared_free(struct prepared *cache);

/* The model that a config describes (not one that a trace brings), cut into its chunks. */
bool experiment_model(const struct run_config *config, struct model *model, struct error *err);

/* Builds model and trace of one run into the cache, without running. */
bool experiment_prepare(struct experiment *experiment, size_t index, struct prepared *cache, struct error *err);

/* The record of a run, from its config and its result. `model` is that of the run: its name and quantisation are in the
 * record. All texts live in arena. */
struct run_record;
bool experiment_record(struct experiment *experiment, size_t index, const struct model *model,
                       const struct run_result *result, struct arena *arena, struct run_record *record,
                       struct error *err);

/* The record of a run that a part of its policy made fail: outcome "failed", killed_by why, all counts 0. `why` is the
 * line that a user was shown; what comes before the policy's name in it, and what is too long, is left out. */
bool experiment_failure(struct experiment *experiment, size_t index, const struct model *model, const char *why,
                        struct arena *arena, struct run_record *record, struct error *err);

/* Notes for the user about a prepared run, one line each, ended with '\n', or "": the budget, or the memory for a
 * mapped file's pages, is under the cycle; a prefetcher that overlap = none silences. */
bool experiment_notes(struct experiment *experiment, size_t index, struct prepared *cache, char *out, size_t size,
                      struct error *err);

/* One device or model profile, for `device show` and `model show`: as a config of that one section. The device comes
 * without its apps. */
bool profile_read_device(const char *name, const char *const *profile_dirs, struct device *device, struct error *err);
/* label: the model's name. */
bool profile_read_model(const char *name, const char *const *profile_dirs, struct shape *shape, char label[128],
                        struct error *err);
/* The perplexities that a model profile knows; NAN where it says nothing. */
bool profile_read_perplexity(const char *name, const char *const *profile_dirs, double perplexity[QUANTS],
                             struct error *err);

/* What a profile says of a key's source: of a key that its file has not, the default's. */
struct profile_mark {
    char key[64];
    bool given; /* it stands in the file */
    enum mark mark;
};

/* The marks of all keys of the profile's section, in the order of the option table: *marks (malloc; free it) and
 * *count. */
bool profile_read_marks(const char *section, const char *name, const char *const *profile_dirs,
                        struct profile_mark **marks, size_t *count, struct error *err);

/* The names of all profiles of a section ("device" or "model"), sorted, each once: *names (malloc, one block; free it)
 * and *count. Folders that do not exist are passed over. */
bool profile_list(const char *section, const char *const *profile_dirs, char ***names, size_t *count,
                  struct error *err);

#endif
