/* Experiments: from a config file and overrides to settings, and the runs that they make. */
#include "sim/experiment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sim/experiment_parts.h"

bool experiment_start(struct experiment *experiment, const char *path, const char *const *profile_dirs,
                      struct error *err)
{
    if (!settings_reader_init(&experiment->reader, experiment->arena, profile_dirs, path, err))
        return false;
    size_t count = experiment->reader.option_count;
    must(count <= OPTIONS_MAX);
    selection_start(experiment);
    experiment->path = arena_strdup(experiment->arena, path);
    experiment->defaults = arena_alloc(experiment->arena, count, sizeof *experiment->defaults);
    experiment->settings = arena_alloc(experiment->arena, count, sizeof *experiment->settings);
    if (!experiment->path || !experiment->defaults || !experiment->settings)
        return fail(err, STATUS_IO, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct option *option = &experiment->reader.options[i];
        if (!option->fallback)
            continue;
        experiment->defaults[i] = (struct setting){.option = option, .level = LEVEL_DEFAULT};
        if (!setting_read(&experiment->reader, option->fallback, &experiment->defaults[i], err))
            return false;
    }
    return true;
}

bool experiment_add(struct experiment *experiment, const char *section, const char *key, const char *text,
                    enum setting_level level, const char *file, unsigned line, struct setting **added,
                    struct error *err)
{
    const struct option *option = setting_find(&experiment->reader, section, key, err);
    if (!option)
        return file ? fail_in(err, "%s:%u", file, line) : fail_in(err, "--set %s.%s", section, key);
    struct setting setting = {.option = option, .level = level, .file = file, .line = line};
    if (!setting_read(&experiment->reader, text, &setting, err))
        return false;
    size_t at = 0;
    while (at < experiment->setting_count && experiment->settings[at].option != option)
        at++;
    experiment->settings[at] = setting;
    if (at == experiment->setting_count)
        experiment->setting_count++;
    *added = &experiment->settings[at];
    return true;
}

/* ---- Overrides ---- */

/* Does model.file name nothing but files that quant applies to? */
static bool is_config_file(const struct setting *setting)
{
    bool all = strcmp(setting->option->key, "file") == 0;
    for (uint32_t i = 0; i < setting->count && all; i++)
        all = model_file_kind(setting->values[i].text) == MODEL_FILE_CONFIG;
    return all;
}

/* Keys that exclude each other: what --set names takes the place of the others in the file. */
static bool excludes(const struct setting *setting, const struct option *old)
{
    const struct option *new = setting->option;
    if (strcmp(new->section, old->section) != 0 || new == old)
        return false;
    bool new_source = strcmp(new->key, "file") == 0 || strcmp(new->key, "blocks") == 0;
    bool old_source = strcmp(old->key, "file") == 0 || strcmp(old->key, "blocks") == 0;
    if (strcmp(new->section, "model") == 0)
        return (new_source &&
                (old_source || old->scope == SCOPE_SHAPE || strcmp(old->key, "profile") == 0 ||
                 strcmp(old->key, "name") == 0 || (old->scope == SCOPE_QUANT && !is_config_file(setting)))) ||
               (strcmp(new->key, "profile") == 0 && old_source);
    if (strcmp(new->section, "policy") == 0)
        return new->type != OPTION_PATH && old->type != OPTION_PATH &&
               (strcmp(new->key, "name") == 0 || strcmp(old->key, "name") == 0);
    return strcmp(new->section, "workload") == 0 &&
           ((strcmp(new->key, "trace") == 0 && strcmp(old->key, "sequence") == 0) ||
            (strcmp(new->key, "sequence") == 0 && strcmp(old->key, "trace") == 0));
}

static void displace(struct experiment *experiment, const struct setting *by)
{
    const struct setting added = *by; /* it moves with the others */
    size_t kept = 0;
    for (size_t i = 0; i < experiment->setting_count; i++) {
        const struct setting *setting = &experiment->settings[i];
        if (setting->level == LEVEL_SET || !excludes(&added, setting->option))
            experiment->settings[kept++] = *setting;
    }
    experiment->setting_count = kept;
}

/* Cuts blanks off both ends, in place. */
static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        text[--length] = '\0';
    return text;
}

static bool add_override(struct experiment *experiment, const char *override, struct error *err)
{
    const char *equals = strchr(override, '=');
    const char *dot = strchr(override, '.');
    if (!equals || !dot || dot > equals)
        return fail(err, STATUS_USAGE, "--set %.200s: expected section.key=value", override);
    char *copy = arena_strdup(experiment->arena, override);
    if (!copy)
        return fail(err, STATUS_IO, "out of memory");
    copy[equals - override] = '\0';
    copy[dot - override] = '\0';
    struct setting *setting;
    if (!experiment_add(experiment, trim(copy), trim(copy + (dot - override) + 1), trim(copy + (equals - override) + 1),
                        LEVEL_SET, NULL, 0, &setting, err))
        return false;
    displace(experiment, setting);
    return true;
}

/* ---- Reading ---- */

/* The file's name without folder and .ini, as a text that records can hold. */
static const char *stem_of(struct experiment *experiment, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *stem = arena_strdup(experiment->arena, slash ? slash + 1 : path);
    size_t length = stem ? strlen(stem) : 0;
    if (length > 4 && strcmp(stem + length - 4, ".ini") == 0)
        stem[length - 4] = '\0';
    if (length > 127)
        stem[127] = '\0';
    struct error ignored;
    if (stem && !text_check(stem, &ignored))
        for (char *c = stem; *c; c++)
            *c = *c >= 0x20 && *c < 0x7f ? *c : '?';
    return stem;
}

static bool read_settings(struct experiment *experiment, const struct config_file *file, const char *const *overrides,
                          size_t override_count, struct error *err)
{
    struct setting *setting;
    for (size_t i = 0; i < file->count; i++) {
        const struct config_entry *entry = &file->entries[i];
        if (!experiment_add(experiment, entry->section, entry->key, entry->value, LEVEL_CONFIG, experiment->path,
                            entry->line, &setting, err))
            return false;
    }
    for (size_t i = 0; i < override_count; i++)
        if (!add_override(experiment, overrides[i], err))
            return false;
    experiment->name = stem_of(experiment, experiment->path);
    for (size_t i = 0; i < experiment->setting_count; i++)
        if (experiment->settings[i].option ==
            option_find(experiment->reader.options, experiment->reader.option_count, "experiment", "name"))
            experiment->name = experiment->settings[i].values[0].text;
    return experiment->name || fail(err, STATUS_IO, "out of memory");
}

static bool read_file(struct config_file *file, const char *path, const char *const *overrides, size_t override_count,
                      const char *const *profile_dirs, struct experiment **experiment, struct error *err)
{
    struct experiment *made = calloc(1, sizeof *made);
    if (made)
        made->arena = calloc(1, sizeof *made->arena);
    bool good = ((made && made->arena) || fail(err, STATUS_IO, "out of memory")) &&
                experiment_start(made, path, profile_dirs, err) &&
                read_settings(made, file, overrides, override_count, err) && grid_enumerate(made, err);
    if (good) {
        made->runs = calloc(made->run_count, sizeof *made->runs);
        made->jsons = calloc(made->run_count, sizeof *made->jsons);
        made->keys = calloc(made->run_count, sizeof *made->keys);
        good = (made->runs && made->jsons && made->keys) || fail(err, STATUS_IO, "out of memory");
    }
    config_file_free(file);
    if (good)
        *experiment = made;
    else
        experiment_free(made);
    return good;
}

bool experiment_read(const char *path, const char *const *overrides, size_t override_count,
                     const char *const *profile_dirs, struct experiment **experiment, struct error *err)
{
    struct config_file file;
    return config_file_read(path, &file, err) &&
           read_file(&file, path, overrides, override_count, profile_dirs, experiment, err);
}

bool experiment_parse(const char *path, const char *text, size_t size, const char *const *overrides,
                      size_t override_count, const char *const *profile_dirs, struct experiment **experiment,
                      struct error *err)
{
    struct config_file file;
    return config_file_parse(path, text, size, &file, err) &&
           read_file(&file, path, overrides, override_count, profile_dirs, experiment, err);
}

void experiment_free(struct experiment *experiment)
{
    if (!experiment)
        return;
    if (experiment->arena)
        arena_free(experiment->arena);
    free(experiment->arena);
    free(experiment->combinations);
    free(experiment->runs);
    free(experiment->jsons);
    free(experiment->keys);
    free(experiment->hashes);
    free(experiment);
}

/* ---- Runs ---- */

const char *experiment_name(const struct experiment *experiment)
{
    return experiment->name;
}

size_t experiment_run_count(const struct experiment *experiment)
{
    return experiment->run_count;
}

const struct run_config *experiment_run(const struct experiment *experiment, size_t index)
{
    must(index < experiment->run_count);
    if (experiment->runs[index])
        return experiment->runs[index];
    struct selection selection;
    struct error err;
    struct run_config *config = arena_alloc(experiment->arena, 1, sizeof *config);
    /* Read before, with the same outcome: only memory can be missing now. */
    must(config && combination_read(experiment, experiment->combinations[index], &selection, config, &err));
    must(label_run(experiment, &selection, config, &err));
    experiment->runs[index] = config;
    return config;
}
