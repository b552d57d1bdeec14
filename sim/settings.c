/* Settings: from text to checked items. */
#include "sim/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "sim/model_choice.h"

bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool settings_reader_init(struct settings_reader *reader, struct arena *arena, const char *const *profile_dirs,
                          const char *path, struct error *err)
{
    *reader = (struct settings_reader){.arena = arena, .profile_dirs = profile_dirs};
    reader->options = options_all(arena, &reader->option_count);
    char *folder = arena_strdup(arena, path);
    if (!reader->options || !folder)
        return fail(err, STATUS_IO, "out of memory");
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    else
        *folder = '\0';
    reader->folder = folder;
    return true;
}

const char *setting_place(const struct setting *setting, char out[PLACE_TEXT])
{
    const struct option *option = setting->option;
    if (setting->file)
        snprintf(out, PLACE_TEXT, "%.300s:%u: %s.%s", setting->file, setting->line, option->section, option->key);
    else
        snprintf(out, PLACE_TEXT, "%s%s.%s", setting->level == LEVEL_SET ? "--set " : "default of ", option->section,
                 option->key);
    return out;
}

enum { NAMES_MAX = 256 };

const struct option *setting_find(const struct settings_reader *reader, const char *section, const char *key,
                                  struct error *err)
{
    const struct option *option = option_find(reader->options, reader->option_count, section, key);
    if (option)
        return option;
    const char *names[NAMES_MAX];
    size_t count = 0;
    bool known = false;
    for (size_t i = 0; i < reader->option_count; i++)
        known = known || strcmp(reader->options[i].section, section) == 0;
    for (size_t i = 0; i < reader->option_count && count < NAMES_MAX; i++) {
        const struct option *o = &reader->options[i];
        if (known && strcmp(o->section, section) == 0)
            names[count++] = o->key;
        else if (!known && (count == 0 || strcmp(names[count - 1], o->section) != 0))
            names[count++] = o->section;
    }
    char near[512];
    if (known)
        fail(err, STATUS_USAGE, "unknown key \"%s\" in section [%s]%s", key, section,
             suggest_text(key, names, count, near, sizeof near));
    else
        fail(err, STATUS_USAGE, "unknown section [%s]%s", section,
             suggest_text(section, names, count, near, sizeof near));
    return NULL;
}

/* ---- Items ---- */

struct items {
    const struct settings_reader *reader;
    const struct setting *setting;
    const char **texts;
    union option_value *values;
    const struct profile **profiles;
    size_t count, texts_capacity, values_capacity, profiles_capacity;
    bool placed; /* the error at hand says where already */
};

/* Where a path's file is: beside the config, or as given; a path of the command line the other way round. */
static bool resolve_path(const struct items *items, const char *path, const char **resolved, struct error *err)
{
    const struct settings_reader *reader = items->reader;
    size_t size = strlen(reader->folder) + strlen(path) + 1;
    char *beside = arena_alloc(reader->arena, size, 1);
    if (!beside)
        return fail(err, STATUS_IO, "out of memory");
    snprintf(beside, size, "%s%s", *path == '/' ? "" : reader->folder, path);
    bool from_config = items->setting->level != LEVEL_SET;
    const char *tries[2] = {from_config ? beside : path, from_config ? path : beside};
    struct stat status;
    for (size_t i = 0; i < 2; i++) {
        if (stat(tries[i], &status) != 0)
            continue;
        if (!S_ISREG(status.st_mode))
            return fail(err, STATUS_IO, "%s is not a regular file", tries[i]);
        *resolved = tries[i];
        return true;
    }
    return fail(err, STATUS_IO, "cannot find %s: %s", tries[0], strerror(errno));
}

static bool read_model(struct items *items, const char *text, const struct model_choice **model, struct error *err)
{
    const size_t length = model_choice_file_length(text);
    const char *path, *quant = text[length] == ':' ? text + length + 1 : NULL;
    if (length == 0)
        return model_choice_of_profile(items->reader, text, model, &items->placed, err);
    char *name = arena_strdup(items->reader->arena, text);
    if (!name)
        return fail(err, STATUS_IO, "out of memory");
    name[length] = '\0';
    return resolve_path(items, name, &path, err) && model_choice_of_file(items->reader, path, quant, model, err);
}

static bool read_item(struct items *items, const char *text, struct error *err)
{
    const struct settings_reader *reader = items->reader;
    const struct option *option = items->setting->option;
    union option_value value;
    const struct profile *profile = NULL;
    if (!text_check(text, err) || !option_parse(option, text, reader->arena, &value, err))
        return false;
    if (option->type == OPTION_PATH && !resolve_path(items, value.text, &value.text, err))
        return false;
    if (option->type == OPTION_MODEL && !read_model(items, value.text, &value.model, err))
        return false;
    if (option->type == OPTION_PROFILE) {
        char path[PROFILE_PATH];
        if (!profile_find(reader, option->section, value.text, path, err))
            return false;
        items->placed = !profile_read(reader, option->section, path, &profile, err);
        if (items->placed)
            return false;
    }
    const char *copy = arena_strdup(reader->arena, text);
    if (!copy)
        return fail(err, STATUS_IO, "out of memory");
    size_t need = items->count + 1;
    if (!array_reserve((void **)&items->texts, &items->texts_capacity, need, sizeof *items->texts, err) ||
        !array_reserve((void **)&items->values, &items->values_capacity, need, sizeof *items->values, err) ||
        !array_reserve((void **)&items->profiles, &items->profiles_capacity, need, sizeof *items->profiles, err))
        return false;
    items->texts[items->count] = copy;
    items->values[items->count] = value;
    items->profiles[items->count++] = profile;
    return true;
}

static bool add_item(void *context, const char *text, struct error *err)
{
    return read_item(context, text, err);
}

bool text_check(const char *text, struct error *err)
{
    uint32_t code;
    for (size_t i = 0; text[i] != '\0';) {
        size_t length = utf8_character(text + i, &code);
        if (length == 0)
            return fail(err, STATUS_USAGE, "byte %zu of the value is not UTF-8", i + 1);
        if (utf8_is_control(code))
            return fail(err, STATUS_USAGE, "a control character (U+%04X) in the value", code);
        i += length;
    }
    return true;
}

/* ---- Marks ---- */

const char *const mark_names[MARKS] = {"", "measured", "published", "estimated"};

/* ` [word]` at the end of a value says where the value comes from: kept and cut off in a profile, refused elsewhere. */
static bool take_mark(struct setting *setting, char *text, struct error *err)
{
    const char *section = setting->option->section;
    size_t length = strlen(text);
    char *open = strrchr(text, '[');
    if (setting->level == LEVEL_DEFAULT || !open || open == text || open[-1] != ' ' || text[length - 1] != ']' ||
        (strcmp(section, "device") != 0 && strcmp(section, "model") != 0))
        return true;
    text[length - 1] = '\0';
    enum mark mark = MARK_MEASURED;
    while (mark < MARKS && strcmp(open + 1, mark_names[mark]) != 0)
        mark++;
    if (setting->level != LEVEL_PROFILE) {
        text[length - 1] = ']';
        return mark == MARKS || fail(err, STATUS_USAGE, "a mark, \"%s\": marks belong in profiles", open);
    }
    if (mark == MARKS) {
        char near[128];
        return text_check(text, err) && fail(err, STATUS_USAGE, "unknown mark \"[%.40s]\"%s", open + 1,
                                             suggest_text(open + 1, mark_names + 1, MARKS - 1, near, sizeof near));
    }
    setting->mark = mark;
    while (open > text && open[-1] == ' ')
        open--;
    *open = '\0';
    return true;
}

/* Moves the gathered items into the arena. */
static bool keep_items(const struct items *items, struct setting *setting, struct error *err)
{
    struct arena *arena = items->reader->arena;
    setting->texts = arena_alloc(arena, items->count, sizeof *setting->texts);
    setting->values = arena_alloc(arena, items->count, sizeof *setting->values);
    setting->profiles = arena_alloc(arena, items->count, sizeof *setting->profiles);
    if (!setting->texts || !setting->values || !setting->profiles)
        return fail(err, STATUS_IO, "out of memory");
    memcpy(setting->texts, items->texts, items->count * sizeof *setting->texts);
    memcpy(setting->values, items->values, items->count * sizeof *setting->values);
    memcpy(setting->profiles, items->profiles, items->count * sizeof *setting->profiles);
    setting->count = (uint32_t)items->count;
    return true;
}

bool setting_read(const struct settings_reader *reader, const char *text, struct setting *setting, struct error *err)
{
    struct items items = {.reader = reader, .setting = setting};
    char *plain = arena_strdup(reader->arena, text);
    bool good = plain || fail(err, STATUS_IO, "out of memory");
    for (char *c = plain; good && *c; c++)
        if (*c == '\t')
            *c = ' ';
    if (good && !take_mark(setting, plain, err))
        good = false;
    /* A profile describes one thing: lists are for configs. */
    if (good && setting->option->list && setting->level != LEVEL_PROFILE)
        good = list_split(plain, add_item, &items, err);
    else if (good)
        good = read_item(&items, plain, err);
    if (good && items.count > UINT32_MAX)
        good = fail(err, STATUS_USAGE, "too many values");
    if (good)
        good = keep_items(&items, setting, err);
    free(items.texts);
    free(items.values);
    free(items.profiles);
    char place[PLACE_TEXT];
    if (good || items.placed)
        return good;
    return fail_in(err, "%s", setting_place(setting, place));
}
