/* The grid: each combination of the lists' items, as a checked run, each distinct run once. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/units.h"
#include "sim/experiment_parts.h"

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

/* Of all that can differ between two runs of one experiment, or between their models, and how these are cut. */
static XXH128_hash_t run_hash(XXH3_state_t *state, const struct selection *selection, const struct run_config *config,
                              bool model_alone)
{
    must(XXH3_128bits_reset(state) == XXH_OK);
    const struct settings_reader *reader = &selection->experiment->reader;
    for (size_t i = 0; i < reader->option_count; i++) {
        const struct option *option = &reader->options[i];
        if (!option->width || !selection->chosen[i].used || (model_alone && !option_shapes_model(option)))
            continue;
        union option_value value = option_load(option, config);
        if (option_is_text(option))
            feed_text(state, value.text);
        else
            must(XXH3_128bits_update(state, &value.number, sizeof value.number) == XXH_OK);
    }
    must(XXH3_128bits_update(state, &config->chunk, sizeof config->chunk) == XXH_OK);
    if (!model_alone) {
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
    struct model model; /* of its chunks */
};

/* Cuts the model at hand; what it was is not needed here. */
static bool check_chunks(struct model_check *check, const struct selection *selection, const struct run_config *config,
                         struct error *err)
{
    struct model whole;
    struct chunk_map map;
    bool is_cut;
    if (!cut_model(selection, config, &check->model, &whole, &map, &is_cut, err))
        return false;
    if (is_cut) {
        model_free(&whole);
        chunk_map_free(&map);
    }
    return true;
}

static bool build_model(struct model_check *check, const struct selection *selection, const struct run_config *config,
                        XXH128_hash_t hash, struct error *err)
{
    if (check->has_model && XXH128_isEqual(check->hash, hash))
        return true;
    if (check->has_model)
        model_free(&check->model);
    const char *section, *key;
    check->has_model = run_model_build(config, &check->model, &section, &key, err);
    check->hash = hash;
    if (check->has_model)
        return check_chunks(check, selection, config, err);
    const struct setting *setting = chosen_of(selection, section, key)->setting;
    char place[PLACE_TEXT];
    return setting ? fail_in(err, "%s", setting_place(setting, place))
                   : fail_in(err, "%s: [%s]", selection->experiment->path, section);
}

static bool check_model(struct model_check *check, XXH3_state_t *state, const struct selection *selection,
                        const struct run_config *config, struct error *err)
{
    const struct model_spec *spec = &config->model;
    if (!spec->blocks && !spec->file && !spec->has_shape)
        return true;
    XXH128_hash_t hash = run_hash(state, selection, config, true);
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
        if (!set_put(runs, run_hash(state, &selection, &config, false), &is_new, err))
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
