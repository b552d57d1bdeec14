/* The grid: each combination of the lists' items, as a checked run, each distinct run once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/units.h"
#include "sim/experiment_parts.h"

/* ---- Selecting ---- */

static size_t index_of(const struct experiment *experiment, const char *section, const char *key)
{
    const struct option *option =
        option_find(experiment->reader.options, experiment->reader.option_count, section, key);
    must(option);
    return (size_t)(option - experiment->reader.options);
}

const struct chosen *chosen_of(const struct selection *selection, const char *section, const char *key)
{
    return &selection->chosen[index_of(selection->experiment, section, key)];
}

static uint64_t choice_of(const struct selection *selection, const char *section, const char *key)
{
    const struct chosen *chosen = chosen_of(selection, section, key);
    return chosen->setting->values[chosen->item].number;
}

/* The setting of an option that applies to this combination came from somebody, not from the table. */
static bool is_given(const struct chosen *chosen)
{
    return chosen->setting && chosen->setting->level > LEVEL_DEFAULT;
}

static void choose(struct selection *selection, const struct setting *setting, uint32_t item)
{
    size_t option = (size_t)(setting->option - selection->experiment->reader.options);
    selection->chosen[option] = (struct chosen){.setting = setting, .item = item};
}

static bool in_scope(enum option_scope scope, enum workload_kind kind, enum loader_mode mode, bool has_shape)
{
    switch (scope) {
    case SCOPE_TOKENS:
        return kind != WORKLOAD_TRACE;
    case SCOPE_MOE:
        return kind == WORKLOAD_MOE;
    case SCOPE_TRACE:
        return kind == WORKLOAD_TRACE;
    case SCOPE_CHUNKED:
        return mode == LOADER_CHUNKED;
    case SCOPE_SHAPE:
        return has_shape;
    case SCOPE_ALWAYS:
        break;
    }
    return true;
}

/* Marks what matters to the run, and puts the default where an option does not. */
static void mark_used(struct selection *selection)
{
    const struct experiment *experiment = selection->experiment;
    enum workload_kind kind = (enum workload_kind)choice_of(selection, "workload", "kind");
    enum loader_mode mode = (enum loader_mode)choice_of(selection, "loader", "mode");
    for (size_t i = 0; i < experiment->reader.option_count; i++) {
        const struct option *option = &experiment->reader.options[i];
        struct chosen *chosen = &selection->chosen[i];
        if (option->scope == SCOPE_SHAPE && strcmp(option->key, "quant") != 0)
            selection->has_shape = selection->has_shape || is_given(chosen);
        if (option->type == OPTION_PART)
            selection->by_parts = selection->by_parts || is_given(chosen);
    }
    for (size_t i = 0; i < experiment->reader.option_count; i++) {
        const struct option *option = &experiment->reader.options[i];
        const struct setting *fallback = &experiment->defaults[i];
        struct chosen *chosen = &selection->chosen[i];
        chosen->used = in_scope(option->scope, kind, mode, selection->has_shape);
        /* A model's source stays visible to the checks that tell which of them exclude each other. */
        if (!chosen->used && option->scope != SCOPE_SHAPE)
            *chosen = (struct chosen){.setting = fallback->option ? fallback : NULL};
    }
}

void selection_make(const struct experiment *experiment, uint64_t combination, struct selection *selection)
{
    uint32_t items[OPTIONS_MAX];
    memset(selection, 0, sizeof *selection);
    selection->experiment = experiment;
    for (size_t i = 0; i < experiment->reader.option_count; i++)
        if (experiment->defaults[i].option)
            choose(selection, &experiment->defaults[i], 0);
    for (size_t i = experiment->setting_count; i-- > 0;) {
        items[i] = (uint32_t)(combination % experiment->settings[i].count);
        combination /= experiment->settings[i].count;
    }
    for (size_t i = 0; i < experiment->setting_count; i++) {
        const struct setting *setting = &experiment->settings[i];
        const struct profile *profile = setting->profiles[items[i]];
        for (size_t k = 0; profile && k < profile->count; k++)
            choose(selection, &profile->settings[k], 0);
    }
    for (size_t i = 0; i < experiment->setting_count; i++)
        choose(selection, &experiment->settings[i], items[i]);
    mark_used(selection);
}

/* `flops` applies to each tensor type that has no rate of its own from the same level or a later one. */
static void store_flops(const struct selection *selection, struct run_config *config)
{
    const struct chosen *common = chosen_of(selection, "device", "flops");
    if (!common->setting)
        return;
    const struct option *first = common->setting->option + 1;
    for (uint32_t t = 0; t < tensor_type_count; t++) {
        const struct chosen *own = &selection->chosen[(size_t)(first - selection->experiment->reader.options) + t];
        if (!own->setting || own->setting->level < common->setting->level)
            config->device.flops_rate[t] = common->setting->values[common->item].number;
    }
}

void selection_store(const struct selection *selection, struct run_config *config)
{
    const struct experiment *experiment = selection->experiment;
    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < experiment->reader.option_count; i++) {
        const struct chosen *chosen = &selection->chosen[i];
        if (chosen->setting)
            option_store(chosen->setting->option, chosen->setting->values[chosen->item], config);
    }
    store_flops(selection, config);
    config->experiment = experiment->name;
    config->workload.seed = config->seed;
    config->model.has_shape = selection->has_shape;
}

bool combination_read(const struct experiment *experiment, uint64_t combination, struct selection *selection,
                      struct run_config *config, struct error *err)
{
    selection_make(experiment, combination, selection);
    selection_store(selection, config);
    return finish_device(selection, config, err) && finish_model(selection, config, err) &&
           finish_run(selection, config, err);
}

/* ---- Distinct runs ---- */

struct hash_set {
    XXH128_hash_t *slots; /* 0,0: empty; a hash of zeros does not happen to anybody */
    size_t slot_count, count;
};

/* True in *is_new when the hash was not there yet. */
static bool set_put(struct hash_set *set, XXH128_hash_t hash, bool *is_new, struct error *err)
{
    if (set->count * 2 >= set->slot_count) {
        struct hash_set larger = {.slot_count = set->slot_count ? set->slot_count * 2 : 64};
        larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
        if (!larger.slots)
            return fail(err, STATUS_IO, "out of memory");
        for (size_t i = 0; i < set->slot_count; i++) {
            bool ignored;
            if ((set->slots[i].low64 | set->slots[i].high64) && !set_put(&larger, set->slots[i], &ignored, err))
                return false;
        }
        free(set->slots);
        *set = larger;
    }
    size_t at = hash.low64 & (set->slot_count - 1);
    while (set->slots[at].low64 | set->slots[at].high64) {
        if (XXH128_isEqual(set->slots[at], hash)) {
            *is_new = false;
            return true;
        }
        at = (at + 1) & (set->slot_count - 1);
    }
    set->slots[at] = hash;
    set->count++;
    *is_new = true;
    return true;
}

static void feed_text(XXH3_state_t *state, const char *text)
{
    must(XXH3_128bits_update(state, text ? text : "", text ? strlen(text) + 1 : 1) == XXH_OK);
}

/* Of all that can differ between two runs of one experiment; section limits it to one section. */
static XXH128_hash_t run_hash(XXH3_state_t *state, const struct selection *selection, const struct run_config *config,
                              const char *section)
{
    must(XXH3_128bits_reset(state) == XXH_OK);
    const struct settings_reader *reader = &selection->experiment->reader;
    for (size_t i = 0; i < reader->option_count; i++) {
        const struct option *option = &reader->options[i];
        if (!option->width || !selection->chosen[i].used || (section && strcmp(section, option->section) != 0))
            continue;
        union option_value value = option_load(option, config);
        if (option_is_text(option))
            feed_text(state, value.text);
        else
            must(XXH3_128bits_update(state, &value.number, sizeof value.number) == XXH_OK);
    }
    if (!section) {
        feed_text(state, config->policy.label);
        feed_text(state, config->policy.evict_text);
        feed_text(state, config->policy.pin_text);
        feed_text(state, config->policy.prefetch_text);
        feed_text(state, config->policy.admit_text);
    }
    return XXH3_128bits_digest(state);
}

/* ---- Models: each distinct one is built once, so that its errors come with the config's ---- */

struct model_check {
    struct hash_set seen;
    bool has_model;
    XXH128_hash_t hash; /* of the model at hand */
    struct model model;
};

static bool build_model(struct model_check *check, const struct selection *selection, const struct run_config *config,
                        XXH128_hash_t hash, struct error *err)
{
    if (check->has_model && XXH128_isEqual(check->hash, hash))
        return true;
    if (check->has_model)
        model_free(&check->model);
    check->has_model = model_build(&config->model, &check->model, err);
    check->hash = hash;
    if (check->has_model)
        return true;
    const char *key = config->model.blocks ? "blocks" : config->model.file ? "file" : "profile";
    const struct setting *setting = chosen_of(selection, "model", key)->setting;
    char place[PLACE_TEXT];
    return setting ? fail_in(err, "%s", setting_place(setting, place))
                   : fail_in(err, "%s: [model]", selection->experiment->path);
}

static bool check_model(struct model_check *check, XXH3_state_t *state, const struct selection *selection,
                        const struct run_config *config, struct error *err)
{
    const struct model_spec *spec = &config->model;
    if (!spec->blocks && !spec->file && !spec->has_shape)
        return true;
    XXH128_hash_t hash = run_hash(state, selection, config, "model");
    bool is_new;
    if (!set_put(&check->seen, hash, &is_new, err) || (is_new && !build_model(check, selection, config, hash, err)))
        return false;
    const struct policy_part *parts[] = {&config->policy.evict, &config->policy.pin, &config->policy.prefetch,
                                         &config->policy.admit};
    for (size_t i = 0; i < POLICY_KINDS_COUNT; i++) {
        if (!parts[i]->policy || parts[i]->name_count == 0)
            continue;
        char place[PLACE_TEXT];
        block_id blocks[POLICY_BLOCK_NAMES_MAX];
        uint32_t count;
        must(XXH3_128bits_reset(state) == XXH_OK && XXH3_128bits_update(state, &hash, sizeof hash) == XXH_OK);
        feed_text(state, policy_kind_names[i]);
        feed_text(state, config->policy.label);
        if (!set_put(&check->seen, XXH3_128bits_digest(state), &is_new, err))
            return false;
        if (!is_new)
            continue;
        if (!build_model(check, selection, config, hash, err))
            return false;
        const char *key = selection->by_parts ? policy_kind_names[i] : "name";
        if (!policy_bind(parts[i], model_find, &check->model, blocks, &count, err))
            return fail_in(err, "%s", setting_place(chosen_of(selection, "policy", key)->setting, place));
    }
    return true;
}

/* ---- Enumeration ---- */

static bool grid_size(const struct experiment *experiment, uint64_t *size, struct error *err)
{
    *size = 1;
    for (size_t i = 0; i < experiment->setting_count; i++)
        if (!multiply(*size, experiment->settings[i].count, size) || *size > RUNS_MAX)
            return fail(err, STATUS_USAGE, "%s: the lists make more than %d runs; expected at most that",
                        experiment->path, RUNS_MAX);
    return true;
}

/* A trace that no run reads is a mistake: most likely the kind is missing. */
static bool check_unused(const struct experiment *experiment, const bool *used, struct error *err)
{
    for (size_t i = 0; i < experiment->setting_count; i++) {
        const struct setting *setting = &experiment->settings[i];
        char place[PLACE_TEXT];
        if ((setting->option->type == OPTION_PATH || setting->option->type == OPTION_TEXT) &&
            setting->option->scope == SCOPE_TRACE && !used[setting->option - experiment->reader.options])
            return fail(err, STATUS_USAGE, "%s: nothing reads it; expected workload.kind = trace",
                        setting_place(setting, place));
    }
    return true;
}

static bool enumerate(struct experiment *experiment, uint64_t size, struct hash_set *runs, struct model_check *check,
                      XXH3_state_t *state, struct error *err)
{
    bool used[OPTIONS_MAX] = {false};
    for (uint64_t combination = 0; combination < size; combination++) {
        struct selection selection;
        struct run_config config;
        if (!combination_read(experiment, combination, &selection, &config, err))
            return false;
        for (size_t i = 0; i < experiment->reader.option_count; i++)
            used[i] = used[i] || selection.chosen[i].used;
        bool is_new;
        if (!set_put(runs, run_hash(state, &selection, &config, NULL), &is_new, err))
            return false;
        if (!is_new)
            continue;
        if (!check_model(check, state, &selection, &config, err) ||
            !array_reserve((void **)&experiment->combinations, &experiment->combination_capacity,
                           experiment->run_count + 1, sizeof *experiment->combinations, err))
            return false;
        experiment->combinations[experiment->run_count++] = combination;
    }
    return check_unused(experiment, used, err);
}

bool grid_enumerate(struct experiment *experiment, struct error *err)
{
    uint64_t size;
    if (!grid_size(experiment, &size, err))
        return false;
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return fail(err, STATUS_IO, "out of memory");
    struct hash_set runs = {0};
    struct model_check check = {0};
    bool good = enumerate(experiment, size, &runs, &check, state, err);
    if (check.has_model)
        model_free(&check.model);
    free(check.seen.slots);
    free(runs.slots);
    XXH3_freeState(state);
    return good;
}
