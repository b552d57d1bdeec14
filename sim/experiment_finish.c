/* What depends on several keys of a run: derived values, checks, and the labels of its record. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "sim/experiment_parts.h"

/* An error at the line that set a key; at the config where nobody did. */
static bool fail_at(const struct selection *selection, const char *section, const char *key, struct error *err,
                    const char *text)
{
    const struct setting *setting = chosen_of(selection, section, key)->setting;
    char place[PLACE_TEXT];
    if (setting && setting->level > LEVEL_DEFAULT)
        return fail(err, STATUS_USAGE, "%s: %s", setting_place(setting, place), text);
    const char *path = selection->experiment->path;
    return fail(err, STATUS_USAGE, "%s%s%s.%s: %s", path, *path ? ": " : "", section, key, text);
}

static bool is_given(const struct selection *selection, const char *section, const char *key)
{
    const struct chosen *chosen = chosen_of(selection, section, key);
    return chosen->setting && chosen->setting->level > LEVEL_DEFAULT;
}

/* The profile of this combination, or NULL. */
static const struct profile *profile_of(const struct selection *selection, const char *section)
{
    const struct chosen *chosen = chosen_of(selection, section, "profile");
    return chosen->setting ? chosen->setting->profiles[chosen->item] : NULL;
}

/* ---- Device ---- */

static bool check_required(const struct selection *selection, struct error *err)
{
    const struct settings_reader *reader = &selection->experiment->reader;
    for (size_t i = 0; i < reader->option_count; i++) {
        const struct option *option = &reader->options[i];
        if (option->required && !selection->chosen[i].setting) {
            char text[128];
            snprintf(text, sizeof text, "missing; expected a %s.profile, or the key (%s)", option->section,
                     option_type_texts[option->type]);
            return fail_at(selection, option->section, option->key, err, text);
        }
    }
    return true;
}

/* Which of the device's keys whose values do not fit together was set last: the one to blame. */
static const char *latest_of(const struct selection *selection, const char *const *keys, size_t count)
{
    const char *latest = keys[0];
    for (size_t i = 1; i < count; i++)
        if (chosen_of(selection, "device", keys[i])->setting->level >
            chosen_of(selection, "device", latest)->setting->level)
            latest = keys[i];
    return latest;
}

static bool check_memory(const struct selection *selection, struct device *device, struct error *err)
{
    static const char *const keys[] = {"ram", "os_reserve", "other_apps"};
    char text[256], rest_text[UNITS_TEXT], own_text[UNITS_TEXT];
    uint64_t taken = device->os_reserve_bytes + device->other_apps_bytes; /* each at most 2^50 */
    if (taken >= device->ram_bytes) {
        snprintf(text, sizeof text, "os_reserve and other_apps, %s, leave nothing of ram, %s",
                 format_bytes(taken, own_text), format_bytes(device->ram_bytes, rest_text));
        return fail_at(selection, "device", latest_of(selection, keys, sizeof keys / sizeof *keys), err, text);
    }
    uint64_t rest = device->ram_bytes - taken;
    if (device->pressure.threshold_bytes > rest) {
        snprintf(text, sizeof text, "%s is above what ram leaves after os_reserve and other_apps; expected at most %s",
                 print_bytes(device->pressure.threshold_bytes, own_text), print_bytes(rest, rest_text));
        return fail_at(selection, "device", "kill_threshold", err, text);
    }
    if (device->pressure.threshold_bytes == 0)
        device->pressure.threshold_bytes = rest;
    return true;
}

static bool check_flash(const struct selection *selection, const struct device *device, struct error *err)
{
    static const char *const keys[] = {"flash_stream", "flash_max"};
    if (device->flash.stream_bps <= device->flash.max_bps)
        return true;
    const char *blamed = latest_of(selection, keys, sizeof keys / sizeof *keys);
    return fail_at(selection, "device", blamed, err,
                   blamed == keys[0] ? "above device.flash_max; expected a rate of one read that is at most that of all"
                                     : "below device.flash_stream; expected a rate of all reads, at least that of one");
}

bool finish_device(const struct selection *selection, struct run_config *config, struct error *err)
{
    struct device *device = &config->device;
    if (!check_required(selection, err) || !check_memory(selection, device, err))
        return false;
    if (!check_flash(selection, device, err))
        return false;
    const struct profile *profile = profile_of(selection, "device");
    if (!*device->name)
        snprintf(device->name, sizeof device->name, "%s", profile ? profile->name : "device");
    return true;
}

/* ---- Model ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool finish_model(const struct selection *selection, struct run_config *config, struct error *err)
{
    struct model_spec *model = &config->model;
    const struct profile *profile = profile_of(selection, "model");
    if (model->blocks && (profile || model->file || model->has_shape))
        return fail_at(selection, "model", "blocks", err,
                       "given beside another model; expected one of profile, file, blocks and the keys of a shape");
    if (model->file && (profile || model->has_shape))
        return fail_at(selection, "model", "file", err,
                       "given beside another model; expected one of profile, file, blocks and the keys of a shape");
    if (!model->has_shape && is_given(selection, "model", "quant"))
        return fail_at(selection, "model", "quant", err,
                       "applies to a profile's weights; files and lists of blocks bring their own sizes");
    if (!model->name)
        model->name = profile                  ? profile->name
                      : model->file            ? base_name(model->file)
                      : model->blocks          ? "blocks"
                      : model->has_shape       ? "shape"
                      : config->workload.trace ? base_name(config->workload.trace)
                                               : "none";
    return true;
}

/* ---- Workload, loader, policy ---- */

static bool check_workload(const struct selection *selection, const struct run_config *config, struct error *err)
{
    const struct workload_spec *workload = &config->workload;
    const struct model_spec *model = &config->model;
    bool has_model = model->blocks || model->file || model->has_shape;
    if (workload->kind == WORKLOAD_TRACE) {
        if (workload->trace && workload->sequence)
            return fail_at(selection, "workload", "sequence", err, "given beside workload.trace; expected one of them");
        if (!workload->trace && !workload->sequence)
            return fail_at(selection, "workload", "trace", err, "missing; expected a file, or workload.sequence");
        if (workload->sequence && !has_model)
            return fail_at(selection, "workload", "sequence", err, "needs a [model] with the blocks that it names");
        return true;
    }
    if (!has_model)
        return fail_at(selection, "model", "profile", err, "missing; expected one of profile, file, blocks");
    if (workload->kind == WORKLOAD_MOE && model->has_shape && model->shape.experts == 0)
        return fail_at(selection, "workload", "kind", err,
                       "moe needs a model with experts; expected dense, or such a model");
    if (model->has_shape && workload->top_k > model->shape.experts)
        return fail_at(selection, "workload", "top_k", err, "more experts than a layer of the model has");
    return true;
}

static bool check_loader(const struct selection *selection, struct run_config *config, struct error *err)
{
    struct loader *loader = &config->loader;
    char text[256], budget[UNITS_TEXT], ram[UNITS_TEXT];
    if (loader->align_bytes & (loader->align_bytes - 1))
        return fail_at(selection, "loader", "align", err, "not a power of two; expected 1B, 512B, 4KiB or the like");
    if (loader->prefetch_lanes > loader->lanes) {
        snprintf(text, sizeof text, "%u is above loader.lanes = %u; expected at most that", loader->prefetch_lanes,
                 loader->lanes);
        return fail_at(selection, "loader", "prefetch_lanes", err, text);
    }
    if (loader->prefetch_lanes == 0)
        loader->prefetch_lanes = loader->lanes;
    if (loader->mode != LOADER_CHUNKED)
        return true;
    if (loader->budget_bytes == 0)
        return fail_at(selection, "loader", "budget", err, "missing; expected a size for mode = chunked: 1GiB");
    if (loader->budget_bytes > config->device.ram_bytes) {
        snprintf(text, sizeof text, "%s is above the device's ram; expected at most %s",
                 print_bytes(loader->budget_bytes, budget), print_bytes(config->device.ram_bytes, ram));
        return fail_at(selection, "loader", "budget", err, text);
    }
    return true;
}

static bool read_policy(const struct selection *selection, struct run_config *config, struct error *err)
{
    static const struct {
        const char *key;
        enum policy_kind kind;
    } parts[] = {{"evict", POLICY_EVICT}, {"pin", POLICY_PIN}, {"prefetch", POLICY_PREFETCH}, {"admit", POLICY_ADMIT}};
    struct policy_choice *choice = &config->policy;
    if (config->loader.mode != LOADER_CHUNKED) {
        /* Everything is resident: no policy is asked anything. */
        char *texts[] = {choice->label, choice->evict_text, choice->pin_text, choice->prefetch_text,
                         choice->admit_text};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            snprintf(texts[i], POLICY_TEXT_MAX, "none");
        return true;
    }
    const struct chosen *name = chosen_of(selection, "policy", "name");
    if (!selection->by_parts) {
        *choice = *name->setting->values[name->item].policy;
        return true;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct chosen *chosen = chosen_of(selection, "policy", parts[i].key);
        if (is_given(selection, "policy", "name") && is_given(selection, "policy", parts[i].key))
            return fail_at(selection, "policy", parts[i].key, err,
                           "given beside policy.name; expected the name, or its parts");
        if (!policy_parse_part(parts[i].kind, chosen->setting->values[chosen->item].text, choice, err))
            return fail_in(err, "%s: policy.%s", selection->experiment->path, parts[i].key);
    }
    return true;
}

static void plain_labels(struct run_config *config)
{
    static const char *const kinds[] = {"dense", "moe"};
    const struct workload_spec *workload = &config->workload;
    config->workload_label = workload->kind != WORKLOAD_TRACE ? kinds[workload->kind]
                             : workload->trace                ? base_name(workload->trace)
                                                              : "sequence";
    config->loader_label = config->loader.mode == LOADER_CHUNKED ? "chunked" : "read";
}

/* The profile matters where a part of the policy reads it. */
static bool check_profile(const struct selection *selection, struct run_config *config, struct error *err)
{
    const struct policy_part *parts[POLICY_KINDS_COUNT] = {&config->policy.evict, &config->policy.pin,
                                                           &config->policy.prefetch, &config->policy.admit};
    bool needed = false;
    for (size_t i = 0; i < POLICY_KINDS_COUNT; i++)
        needed = needed || (parts[i]->policy && parts[i]->policy->needs & POLICY_NEEDS_PROFILE);
    if (!needed)
        config->profile = NULL;
    return !needed || config->profile ||
           fail(err, STATUS_USAGE,
                "%s: policy %s needs to know how often an earlier run used each block; expected policy.profile = FILE, "
                "as `pocketload policy profile` writes it",
                selection->experiment->path, config->policy.label);
}

bool finish_run(const struct selection *selection, struct run_config *config, struct error *err)
{
    plain_labels(config);
    return check_workload(selection, config, err) && check_loader(selection, config, err) &&
           read_policy(selection, config, err) && check_profile(selection, config, err);
}

/* ---- Labels ---- */

/* Keys whose value a record shows in a column of its own. */
static bool has_column(const struct option *option)
{
    static const char *const keys[] = {"profile", "name", "file", "quant", "kind", "trace", "mode", "budget"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(option->key, keys[i]) == 0)
            return true;
    return false;
}

/* Do two files of a list have one name in records, being in different folders? */
static bool is_ambiguous(const struct setting *setting)
{
    if (setting->option->type != OPTION_PROFILE && setting->option->type != OPTION_PATH)
        return false;
    for (size_t i = 0; i < setting->count; i++)
        for (size_t j = i + 1; j < setting->count; j++)
            if (strcmp(base_name(setting->texts[i]), base_name(setting->texts[j])) == 0)
                return true;
    return false;
}

enum { LABEL_MAX = 2048 };

/* How much of a name fits into `room` bytes, in whole characters. */
static size_t fitting(const char *name, size_t room)
{
    size_t length = strlen(name);
    if (length > room)
        for (length = room; length > 0 && ((unsigned char)name[length] & 0xC0) == 0x80; length--)
            ;
    return length;
}

/* "dense(prompt_tokens=64, output_tokens=8)": the keys of the section that vary within the experiment. In `size` bytes,
 * at most LABEL_MAX; where that is too little the name is cut, as the keys tell runs apart. */
static const char *label(const struct experiment *experiment, const struct selection *selection, const char *section,
                         const char *plain, size_t size, struct error *err)
{
    char keys[LABEL_MAX], text[LABEL_MAX];
    size_t length = 0;
    for (size_t i = 0; i < experiment->setting_count && length < size; i++) {
        const struct setting *setting = &experiment->settings[i];
        const struct option *option = setting->option;
        const struct chosen *chosen = &selection->chosen[option - experiment->reader.options];
        if (setting->count < 2 || strcmp(option->section, section) != 0 || !chosen->used ||
            (has_column(option) && !is_ambiguous(setting)))
            continue;
        length += (size_t)snprintf(keys + length, size - length, "%s%s=%s", length > 0 ? ", " : "(", option->key,
                                   setting->texts[chosen->item]);
    }
    if (length == 0)
        return plain;
    const bool fits = length + 1 < size;
    length = fits ? length : fitting(keys, size - sizeof "...");
    memcpy(keys + length, fits ? ")" : "...", fits ? sizeof ")" : sizeof "...");
    const size_t kept = fitting(plain, size - 1 - strlen(keys));
    memcpy(text, plain, kept);
    memcpy(text + kept, keys, strlen(keys) + 1);
    const char *copy = arena_strdup(experiment->arena, text);
    if (!copy)
        fail(err, STATUS_IO, "out of memory");
    return copy;
}

bool label_run(const struct experiment *experiment, const struct selection *selection, struct run_config *config,
               struct error *err)
{
    const size_t model_size = sizeof((struct model *)NULL)->name, device_size = sizeof config->device.name;
    config->workload_label = label(experiment, selection, "workload", config->workload_label, LABEL_MAX, err);
    config->loader_label = label(experiment, selection, "loader", config->loader_label, LABEL_MAX, err);
    config->model.name = label(experiment, selection, "model", config->model.name, model_size, err);
    const char *device = label(experiment, selection, "device", config->device.name, device_size, err);
    if (!config->workload_label || !config->loader_label || !config->model.name || !device)
        return false;
    if (device != config->device.name)
        snprintf(config->device.name, sizeof config->device.name, "%s", device);
    return true;
}
