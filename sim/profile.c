/* Profiles of devices and models: INI files with one section, found by name in a list of folders. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/suggest.h"
#include "sim/experiment_parts.h"
#include "sim/perplexity.h"

/* ---- Names ---- */

struct name_list {
    char **names;
    size_t count, capacity;
};

static void names_free(struct name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_ini(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".ini") == 0;
}

static bool add_folder(struct name_list *list, const char *folder, struct error *err)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return true;
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(dir));) {
        if (!is_ini(entry->d_name) || entry->d_name[0] == '.')
            continue;
        good = array_reserve((void **)&list->names, &list->capacity, list->count + 1, sizeof *list->names, err);
        char *name = good ? strndup(entry->d_name, strlen(entry->d_name) - 4) : NULL;
        if (name)
            list->names[list->count++] = name;
        else if (good)
            good = fail(err, STATUS_IO, "out of memory");
    }
    closedir(dir);
    return good;
}

static bool gather(const char *section, const char *const *dirs, struct name_list *list, struct error *err)
{
    char folder[4096 + 16];
    for (size_t i = 0; dirs && dirs[i]; i++) {
        int length = snprintf(folder, sizeof folder, "%s/%ss", dirs[i], section);
        if (length > 0 && (size_t)length < sizeof folder && !add_folder(list, folder, err))
            return false;
    }
    if (list->count == 0)
        return true;
    qsort(list->names, list->count, sizeof *list->names, compare_names);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++) {
        if (strcmp(list->names[i], list->names[kept - 1]) == 0)
            free(list->names[i]);
        else
            list->names[kept++] = list->names[i];
    }
    list->count = kept;
    return true;
}

bool profile_list(const char *section, const char *const *profile_dirs, char ***names, size_t *count, struct error *err)
{
    struct name_list list = {0};
    bool good = gather(section, profile_dirs, &list, err);
    size_t bytes = (list.count + 1) * sizeof(char *);
    for (size_t i = 0; i < list.count; i++)
        bytes += strlen(list.names[i]) + 1;
    char **block = good ? malloc(bytes) : NULL;
    if (block) {
        char *text = (char *)(block + list.count + 1);
        for (size_t i = 0; i < list.count; i++) {
            block[i] = text;
            size_t size = strlen(list.names[i]) + 1;
            memcpy(text, list.names[i], size);
            text += size;
        }
        block[list.count] = NULL;
        *names = block;
        *count = list.count;
    } else if (good) {
        good = fail(err, STATUS_IO, "out of memory");
    }
    names_free(&list);
    return good;
}

/* ---- Files ---- */

static bool unknown_profile(const struct settings_reader *reader, const char *section, const char *name,
                            struct error *err)
{
    struct name_list list = {0};
    if (gather(section, reader->profile_dirs, &list, err)) {
        char near[512] = "";
        if (list.count)
            suggest_text(name, (const char *const *)list.names, list.count, near, sizeof near);
        fail(err, STATUS_USAGE, "unknown %s \"%s\"%s%s", section, name, near,
             list.count ? "" : ": no folder of profiles was found");
    }
    names_free(&list);
    return false;
}

/* A path beside the config, or as given. */
static bool find_path(const struct settings_reader *reader, const char *name, char *path, struct error *err)
{
    const char *folder = *name == '/' ? "" : reader->folder;
    int length = snprintf(path, PROFILE_PATH, "%s%s", folder, name);
    if (length > 0 && length < PROFILE_PATH && is_file(path))
        return true;
    if (!*folder)
        return fail(err, STATUS_USAGE, "no profile file \"%s\"", name);
    length = snprintf(path, PROFILE_PATH, "%s", name);
    return (length > 0 && length < PROFILE_PATH && is_file(path)) ||
           fail(err, STATUS_USAGE, "no profile file \"%s\": tried %s%s and %s", name, folder, name, name);
}

bool profile_find(const struct settings_reader *reader, const char *section, const char *name, char *path,
                  struct error *err)
{
    if (strchr(name, '/') || is_ini(name))
        return find_path(reader, name, path, err);
    for (size_t i = 0; reader->profile_dirs && reader->profile_dirs[i]; i++) {
        int length = snprintf(path, PROFILE_PATH, "%s/%ss/%s.ini", reader->profile_dirs[i], section, name);
        if (length > 0 && length < PROFILE_PATH && is_file(path))
            return true;
    }
    return unknown_profile(reader, section, name, err);
}

/* A profile holds numbers and a name; what selects a profile or another source stays with the config. */
static bool may_hold(const struct option *option)
{
    static const char *const never[] = {"profile", "file", "blocks", "quant"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strcmp(option->key, never[i]) == 0)
            return false;
    return true;
}

static bool read_entries(const struct settings_reader *reader, const char *section, const struct config_file *file,
                         struct profile *profile, struct error *err)
{
    profile->settings = arena_alloc(reader->arena, file->count, sizeof *profile->settings);
    if (!profile->settings)
        return fail(err, STATUS_IO, "out of memory");
    for (size_t i = 0; i < file->count; i++) {
        const struct config_entry *entry = &file->entries[i];
        struct setting *setting = &profile->settings[profile->count];
        if (strcmp(entry->section, section) != 0)
            return fail(err, STATUS_USAGE, "%s:%u: section [%s] in a profile; expected [%s] alone", profile->path,
                        entry->line, entry->section, section);
        setting->option = setting_find(reader, section, entry->key, err);
        if (!setting->option)
            return fail_in(err, "%s:%u", profile->path, entry->line);
        if (!may_hold(setting->option))
            return fail(err, STATUS_USAGE, "%s:%u: %s.%s belongs into a config, not into a profile", profile->path,
                        entry->line, section, entry->key);
        setting->level = LEVEL_PROFILE;
        setting->file = profile->path;
        setting->line = entry->line;
        if (!setting_read(reader, entry->value, setting, err))
            return false;
        profile->count++;
    }
    return true;
}

bool profile_read(const struct settings_reader *reader, const char *section, const char *path,
                  const struct profile **profile, struct error *err)
{
    struct profile *made = arena_alloc(reader->arena, 1, sizeof *made);
    char *copy = arena_strdup(reader->arena, path);
    const char *slash = strrchr(path, '/');
    char *stem = arena_strdup(reader->arena, slash ? slash + 1 : path);
    if (!made || !copy || !stem)
        return fail(err, STATUS_IO, "out of memory");
    size_t length = strlen(stem);
    if (is_ini(stem))
        stem[length - 4] = '\0';
    if (length >= sizeof((struct device *)0)->name)
        return fail(err, STATUS_USAGE, "%s: the file's name is too long for the name of a %s", path, section);
    made->path = copy;
    made->name = stem;
    struct config_file file;
    if (!config_file_read(path, &file, err))
        return false;
    bool good = read_entries(reader, section, &file, made, err);
    config_file_free(&file);
    if (good)
        *profile = made;
    return good;
}

/* ---- One profile alone ---- */

struct alone {
    struct arena arena;
    struct experiment experiment;
    struct selection selection;
    struct run_config config;
    const struct profile *profile;
    union option_value value;
};

/* A run of that profile and no more, without the checks across keys. The setting is made here and not read like one of
 * a config: a path with a comma is no list, and errors name no key that nobody typed. */
static bool read_alone(struct alone *alone, const char *section, const char *name, const char *const *dirs,
                       struct error *err)
{
    struct experiment *experiment = &alone->experiment;
    char path[PROFILE_PATH];
    *alone = (struct alone){.experiment = {.arena = &alone->arena, .alone = true}};
    if (!text_check(name, err))
        return fail_in(err, "name of a %s", section);
    if (!experiment_start(experiment, "", dirs, err) || !profile_find(&experiment->reader, section, name, path, err) ||
        !profile_read(&experiment->reader, section, path, &alone->profile, err))
        return false;
    const struct option *option = setting_find(&experiment->reader, section, "profile", err);
    must(option);
    experiment->settings[experiment->setting_count++] = (struct setting){
        .option = option, .level = LEVEL_SET, .count = 1, .values = &alone->value, .profiles = &alone->profile};
    selection_make(experiment, 0, &alone->selection);
    selection_store(&alone->selection, &alone->config);
    return true;
}

bool profile_read_device(const char *name, const char *const *profile_dirs, struct device *device, struct error *err)
{
    struct alone alone;
    bool good =
        read_alone(&alone, "device", name, profile_dirs, err) && finish_device(&alone.selection, &alone.config, err);
    if (good) {
        *device = alone.config.device;
        device->pressure.apps = NULL; /* they go with the arena */
        device->pressure.app_count = 0;
    }
    arena_free(&alone.arena);
    return good;
}

bool profile_read_model(const char *name, const char *const *profile_dirs, struct shape *shape, char label[128],
                        struct error *err)
{
    struct alone alone;
    bool good =
        read_alone(&alone, "model", name, profile_dirs, err) && finish_model(&alone.selection, &alone.config, err);
    if (good) {
        *shape = alone.config.model.shape;
        snprintf(label, 128, "%s", alone.config.model.name);
    }
    arena_free(&alone.arena);
    return good;
}

bool profile_read_perplexity(const char *name, const char *const *profile_dirs, double perplexity[QUANTS],
                             struct error *err)
{
    struct alone alone;
    bool good = read_alone(&alone, "model", name, profile_dirs, err);
    for (size_t q = 0; good && q < QUANTS; q++)
        perplexity[q] = perplexity_of(alone.config.perplexity, quant_names[q]);
    arena_free(&alone.arena);
    return good;
}

bool profile_read_marks(const char *section, const char *name, const char *const *profile_dirs,
                        struct profile_mark **marks, size_t *count, struct error *err)
{
    struct alone alone;
    const struct settings_reader *reader = &alone.experiment.reader;
    bool good = read_alone(&alone, section, name, profile_dirs, err);
    *count = 0;
    *marks = good ? calloc(reader->option_count, sizeof **marks) : NULL;
    if (good && !*marks)
        good = fail(err, STATUS_IO, "out of memory");
    for (size_t i = 0; good && i < reader->option_count; i++) {
        if (strcmp(reader->options[i].section, section) != 0)
            continue;
        struct profile_mark *mark = &(*marks)[(*count)++];
        const struct setting *setting = alone.selection.chosen[i].setting;
        must(strlen(reader->options[i].key) < sizeof mark->key);
        strcpy(mark->key, reader->options[i].key);
        mark->given = setting && setting->level == LEVEL_PROFILE;
        mark->mark = mark_of(&alone.selection, i);
    }
    arena_free(&alone.arena);
    return good;
}
