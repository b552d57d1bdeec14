/* What the files of experiment_*.c share: the experiment itself, and how one combination of its lists becomes a run. */
#ifndef POCKETLOAD_SIM_EXPERIMENT_PARTS_H
#define POCKETLOAD_SIM_EXPERIMENT_PARTS_H

#include "sim/settings.h"

enum { OPTIONS_MAX = 384, RUNS_MAX = 1000000 };

/* A file that a run depends on, by its content. */
struct file_hash {
    const char *path;
    char hex[RUN_KEY_TEXT];
};

struct experiment {
    struct arena *arena; /* by pointer: what is made on first use goes there too */
    struct settings_reader reader;
    const char *path;
    const char *name;
    bool alone; /* it describes one profile and no run: every option matters */
    struct {
        size_t kind, mode, allocator, kill, zram, apps, file, draft, adapters, stages, warm;
        size_t flops_types, memory_types; /* the first of the rates by tensor type, in the order of tensor_types */
    } at;                                 /* places in the option table of the keys that decide which others matter */
    struct setting *defaults;             /* by option; option == NULL where there is none */
    struct setting *settings; /* of the config and --set: the axes of the grid, at most one for each option */
    size_t setting_count;
    uint64_t *combinations; /* by run: the mixed-radix number of its items, the last setting lowest */
    size_t run_count, combination_capacity;
    struct run_config **runs; /* made on first use, as the two that follow */
    const char **jsons, **keys;
    struct file_hash **hashes;
    size_t hash_count, hash_capacity;
};

/* An empty experiment with its option table and defaults. `arena` is filled in. */
bool experiment_start(struct experiment *experiment, const char *path, const char *const *profile_dirs,
                      struct error *err);

/* Adds a setting, or replaces the one of that option. */
bool experiment_add(struct experiment *experiment, const char *section, const char *key, const char *text,
                    enum setting_level level, const char *file, unsigned line, struct setting **setting,
                    struct error *err);

/* ---- One combination ---- */

struct chosen {
    const struct setting *setting; /* NULL: not set */
    uint32_t item;
    bool used; /* the option matters to this run */
};

struct selection {
    const struct experiment *experiment;
    bool has_shape, by_parts; /* the policy is given by parts */
    struct chosen chosen[OPTIONS_MAX];
};

/* Finds the keys that decide which others matter: once, before the first selection. */
void selection_start(struct experiment *experiment);

/* Which setting and item applies to each option. */
void selection_make(const struct experiment *experiment, uint64_t combination, struct selection *selection);

/* Fills the fields of a run from it, without what depends on several keys. */
void selection_store(const struct selection *selection, struct run_config *config);

/* The choice for an option; must exist in the table. */
const struct chosen *chosen_of(const struct selection *selection, const char *section, const char *key);

/* Somebody set the option of this combination: it is not the table's default. */
bool is_given(const struct selection *selection, const char *section, const char *key);

/* Where the value of an option comes from, by its place in the table: the mark of a profile's value; MARK_ESTIMATED for
 * a default that is an estimate; MARK_NONE for what a config sets, and where nobody says. */
enum mark mark_of(const struct selection *selection, size_t option);

/* The rate that device.flops or device.memory gives a tensor type: NULL where the type has a key of its own that
 * counts. */
const struct chosen *common_rate(const struct selection *selection, const char *key, uint32_t type);

/* The keys of a run whose values are estimates and matter to it, with blanks between: at most ESTIMATES_TEXT bytes, a
 * longer list ends in " ...". In the arena. */
enum { ESTIMATES_TEXT = 1024 };
bool run_estimates(const struct selection *selection, const struct run_config *config, const struct model *model,
                   struct arena *arena, const char **text, struct error *err);

/* The profile of this combination, or NULL. */
const struct profile *profile_of(const struct selection *selection, const char *section);

/* STATUS_USAGE at the line that set a key; at the config where nobody did. */
bool fail_at(const struct selection *selection, const char *section, const char *key, struct error *err,
             const char *text);

/* A path's last part. */
const char *base_name(const char *path);

/* Derived values and checks across keys, each for its section. The granule of a mapped file comes with finish_run. */
bool finish_device(const struct selection *selection, struct run_config *config, struct error *err);
bool finish_model(const struct selection *selection, struct run_config *config, struct error *err);
bool finish_run(const struct selection *selection, struct run_config *config, struct error *err);

/* Parts of finish_run. */
bool finish_loader(const struct selection *selection, struct run_config *config, struct error *err);
bool finish_loading(const struct selection *selection, struct run_config *config, struct error *err);
bool finish_policy(const struct selection *selection, struct run_config *config, struct error *err);

/* Part of finish_device: what depends on device.fs. */
void finish_file_system(struct device *device);

/* Puts the blocks that loader.preload names into `loader`, once the model is known. STATUS_USAGE for a name that is
 * none, with the nearest. */
bool preload_bind(const struct run_config *config, const struct model *model, struct arena *arena,
                  struct loader *loader, struct error *err);

/* A line about keys that do nothing in this run, or nothing; returns its length. */
size_t note_loading(const struct run_config *config, char *out, size_t size);

/* All of the above. */
bool combination_read(const struct experiment *experiment, uint64_t combination, struct selection *selection,
                      struct run_config *config, struct error *err);

/* Names the varied keys in the labels and names of a run; texts in the arena. */
bool label_run(const struct experiment *experiment, const struct selection *selection, struct run_config *config,
               struct error *err);

/* Enumerates the grid into `combinations`, checked, each run once. */
bool grid_enumerate(struct experiment *experiment, struct error *err);

/* ---- Chunks ---- */

/* Cuts a model into the chunks of the config, blaming its key: *model becomes that of chunks, *whole what it was, *map
 * says which are whose. With loader.chunk = layer nothing is done and *is_cut is false. On failure the model is as it
 * was. In experiment_chunks.c. */
bool cut_model(const struct selection *selection, const struct run_config *config, struct model *model,
               struct model *whole, struct chunk_map *map, bool *is_cut, struct error *err);

/* An error that comes from values of the config, with the key's place where somebody set it, else with its name. */
bool fail_by_key(const struct selection *selection, const char *section, const char *key, struct error *err);

/* The option says what the run's model is: of [model], or a model or adapters beside it. */
bool option_shapes_model(const struct option *option);

/* ---- Hashes ---- */

/* Of a run's model, and of its workload with model and seed where they matter: what model_build and workload_compile
 * make is the same where these are. In experiment_json.c. */
bool part_keys(struct experiment *experiment, const struct selection *selection, const struct run_config *config,
               char model_key[RUN_KEY_TEXT], char trace_key[RUN_KEY_TEXT], struct error *err);

#endif
