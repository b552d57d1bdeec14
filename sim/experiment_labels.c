/* The names of a run in its record: those of the config, and with them the keys that vary within the experiment. */
#include <stdio.h>
#include <string.h>

#include "sim/experiment_parts.h"

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
