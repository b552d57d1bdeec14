/* One combination of the lists' items: which setting applies to each option, and what matters to the run. */
#include <string.h>

#include "sim/experiment_parts.h"

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

static uint64_t choice_at(const struct selection *selection, size_t index)
{
    const struct chosen *chosen = &selection->chosen[index];
    return chosen->setting->values[chosen->item].number;
}

void selection_start(struct experiment *experiment)
{
    experiment->at.kind = index_of(experiment, "workload", "kind");
    experiment->at.mode = index_of(experiment, "loader", "mode");
    experiment->at.allocator = index_of(experiment, "loader", "allocator");
    experiment->at.kill = index_of(experiment, "device", "kill");
    experiment->at.zram = index_of(experiment, "device", "zram");
    experiment->at.apps = index_of(experiment, "device", "apps");
    experiment->at.flops_types = index_of(experiment, "device", "flops_f32");
    experiment->at.memory_types = index_of(experiment, "device", "memory_f32");
    experiment->at.file = index_of(experiment, "model", "file");
    experiment->at.draft = index_of(experiment, "workload", "draft");
    experiment->at.adapters = index_of(experiment, "workload", "adapters");
    experiment->at.stages = index_of(experiment, "loader", "stages");
    experiment->at.warm = index_of(experiment, "loader", "warm");
}

bool option_shapes_model(const struct option *option)
{
    static const char *const keys[] = {"draft", "second", "adapters", "adapter_rank"};
    bool shapes = strcmp(option->section, "model") == 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && strcmp(option->section, "workload") == 0; i++)
        shapes = shapes || strcmp(option->key, keys[i]) == 0;
    return shapes;
}

static bool given(const struct chosen *chosen)
{
    return chosen->setting && chosen->setting->level > LEVEL_DEFAULT;
}

bool is_given(const struct selection *selection, const char *section, const char *key)
{
    return given(chosen_of(selection, section, key));
}

static void choose(struct selection *selection, const struct setting *setting, uint32_t item)
{
    size_t option = (size_t)(setting->option - selection->experiment->reader.options);
    selection->chosen[option] = (struct chosen){.setting = setting, .item = item};
}

/* What decides whether an option matters. */
struct scope {
    enum workload_kind kind;
    enum loader_mode mode;
    enum kill_rule rule;
    enum allocator_kind allocator;
    bool has_shape, has_config_file, has_zram, has_apps, has_draft, has_adapters, has_stages;
};

static bool in_scope(enum option_scope wanted, const struct scope *scope)
{
    switch (wanted) {
    case SCOPE_TOKENS:
        return scope->kind != WORKLOAD_TRACE;
    case SCOPE_MOE:
        return scope->kind == WORKLOAD_MOE || scope->kind == WORKLOAD_CHAT;
    case SCOPE_CHAT:
        return scope->kind == WORKLOAD_CHAT;
    case SCOPE_DRAFT:
        return scope->kind != WORKLOAD_TRACE && scope->has_draft;
    case SCOPE_ADAPTERS:
        return scope->kind != WORKLOAD_TRACE && scope->has_adapters;
    case SCOPE_TRACE:
        return scope->kind == WORKLOAD_TRACE;
    case SCOPE_CHUNKED:
        return scope->mode == LOADER_CHUNKED;
    case SCOPE_READS:
        return scope->mode != LOADER_MMAP;
    case SCOPE_MMAP:
        return scope->mode == LOADER_MMAP;
    case SCOPE_POLICY:
        return scope->mode != LOADER_READ;
    case SCOPE_SHAPE:
        return scope->has_shape;
    case SCOPE_QUANT:
        return scope->has_shape || scope->has_config_file;
    case SCOPE_PRESSURE:
        return scope->mode == LOADER_MMAP || scope->has_zram || scope->has_apps || scope->rule > KILL_THRESHOLD;
    case SCOPE_ZRAM:
        return scope->has_zram;
    case SCOPE_LMKD:
        return scope->rule == KILL_LMKD;
    case SCOPE_JETSAM:
        return scope->rule == KILL_JETSAM;
    case SCOPE_LIMITER:
        return scope->rule == KILL_MEMORY_LIMITER;
    case SCOPE_ALLOCATOR:
        return scope->allocator != ALLOCATOR_NONE;
    case SCOPE_MALLOC:
        return scope->allocator == ALLOCATOR_MALLOC;
    case SCOPE_STAGES:
        return scope->has_stages;
    case SCOPE_ALWAYS:
        break;
    }
    return true;
}

/* Marks what matters to the run, and puts the default where an option does not. */
static void mark_used(struct selection *selection)
{
    const struct experiment *experiment = selection->experiment;
    for (size_t i = 0; i < experiment->reader.option_count; i++) {
        const struct option *option = &experiment->reader.options[i];
        struct chosen *chosen = &selection->chosen[i];
        if (option->scope == SCOPE_SHAPE)
            selection->has_shape = selection->has_shape || given(chosen);
        if (option->type == OPTION_PART)
            selection->by_parts = selection->by_parts || given(chosen);
    }
    const struct chosen *apps = &selection->chosen[experiment->at.apps];
    const struct chosen *file = &selection->chosen[experiment->at.file];
    const struct chosen *stages = &selection->chosen[experiment->at.stages];
    const struct scope scope = {
        .kind = (enum workload_kind)choice_at(selection, experiment->at.kind),
        .mode = (enum loader_mode)choice_at(selection, experiment->at.mode),
        .rule = (enum kill_rule)choice_at(selection, experiment->at.kill),
        .allocator = (enum allocator_kind)choice_at(selection, experiment->at.allocator),
        .has_shape = selection->has_shape,
        .has_config_file =
            file->setting && model_file_kind(file->setting->values[file->item].text) == MODEL_FILE_CONFIG,
        .has_zram = choice_at(selection, experiment->at.zram) > 0,
        .has_apps = apps->setting->values[apps->item].apps != NULL,
        .has_draft = given(&selection->chosen[experiment->at.draft]),
        .has_adapters = choice_at(selection, experiment->at.adapters) > 0,
        .has_stages = strcmp(stages->setting->values[stages->item].text, "none") != 0 ||
                      choice_at(selection, experiment->at.warm) > 0,
    };
    for (size_t i = 0; i < experiment->reader.option_count; i++) {
        const struct option *option = &experiment->reader.options[i];
        const struct setting *fallback = &experiment->defaults[i];
        struct chosen *chosen = &selection->chosen[i];
        chosen->used = experiment->alone || in_scope(option->scope, &scope);
        /* A model's source stays visible to the checks that tell which of them exclude each other. */
        if (!chosen->used && option->scope != SCOPE_SHAPE && option->scope != SCOPE_QUANT)
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

/* A common rate applies to each tensor type that has no rate of its own from the same level or a later one. */
const struct chosen *common_rate(const struct selection *selection, const char *key, uint32_t type)
{
    const bool flops = strcmp(key, "flops") == 0;
    const size_t first = flops ? selection->experiment->at.flops_types : selection->experiment->at.memory_types;
    const struct chosen *common = chosen_of(selection, "device", key), *own = &selection->chosen[first + type];
    const bool counts = common->setting && (!own->setting || own->setting->level < common->setting->level);
    return counts ? common : NULL;
}

static void store_rates(const struct selection *selection, struct run_config *config)
{
    for (uint32_t type = 0; type < tensor_type_count; type++) {
        const struct chosen *common = common_rate(selection, "flops", type);
        if (common)
            config->device.flops_rate[type] = common->setting->values[common->item].number;
        if (common_rate(selection, "memory", type))
            config->device.memory_rate[type] = 0;
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
    store_rates(selection, config);
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

/* ---- Places ---- */

const struct profile *profile_of(const struct selection *selection, const char *section)
{
    const struct chosen *chosen = chosen_of(selection, section, "profile");
    return chosen->setting ? chosen->setting->profiles[chosen->item] : NULL;
}

bool fail_at(const struct selection *selection, const char *section, const char *key, struct error *err,
             const char *text)
{
    const struct setting *setting = chosen_of(selection, section, key)->setting;
    char place[PLACE_TEXT];
    if (setting && setting->level > LEVEL_DEFAULT)
        return fail(err, STATUS_USAGE, "%s: %s", setting_place(setting, place), text);
    const char *path = selection->experiment->path;
    return fail(err, STATUS_USAGE, "%s%s%s.%s: %s", path, *path ? ": " : "", section, key, text);
}
