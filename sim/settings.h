/* Keys as somebody wrote them: which option, where, and the items of its list; and profiles, which are lists of them.
 */
#ifndef POCKETLOAD_SIM_SETTINGS_H
#define POCKETLOAD_SIM_SETTINGS_H

#include "base/config_file.h"
#include "sim/options.h"

/* Later levels override earlier ones. */
enum setting_level { LEVEL_DEFAULT, LEVEL_PROFILE, LEVEL_CONFIG, LEVEL_SET };

struct profile;

struct setting {
    const struct option *option; /* NULL: never set */
    enum setting_level level;
    enum mark mark;   /* at LEVEL_PROFILE: what stands behind the value */
    const char *file; /* NULL at LEVEL_SET and LEVEL_DEFAULT */
    unsigned line;
    uint32_t count; /* of items, at least 1 */
    const char **texts;
    union option_value *values;
    const struct profile **profiles; /* OPTION_PROFILE only */
};

struct profile {
    const char *name; /* its file's name without folder and .ini */
    const char *path;
    struct setting *settings;
    size_t count;
};

/* What reading settings needs. Everything read lives in the arena. */
struct settings_reader {
    struct arena *arena;
    const struct option *options;
    size_t option_count;
    const char *const *profile_dirs;
    const char *folder; /* where relative paths start: "" or "configs/" */
};

/* Sets up a reader with the option table. */
bool settings_reader_init(struct settings_reader *reader, struct arena *arena, const char *const *profile_dirs,
                          const char *path, struct error *err);

/* "file:line" or "--set", followed by ": section.key", for messages. */
enum { PLACE_TEXT = 512 };
const char *setting_place(const struct setting *setting, char out[PLACE_TEXT]);

/* The option of that name. STATUS_USAGE with the nearest section or key, without the place. */
const struct option *setting_find(const struct settings_reader *reader, const char *section, const char *key,
                                  struct error *err);

/* Reads the value of setting->option (level, file and line are filled in): takes a mark off a profile's value, splits a
 * list, parses items, loads profiles, resolves paths. Errors with the place. */
bool setting_read(const struct settings_reader *reader, const char *text, struct setting *setting, struct error *err);

/* The file of a profile named by name or path: into path[PROFILE_PATH]. What contains '/' or ends in ".ini" is a path,
 * from the config's folder or as given; a name is looked for in the folders of profiles. STATUS_USAGE with the nearest
 * name or the paths tried, without the place of the key that names it. */
enum { PROFILE_PATH = 4096 + 64 };
bool profile_find(const struct settings_reader *reader, const char *section, const char *name, char *path,
                  struct error *err);

/* Reads it. Errors with the profile's own file and line. */
bool profile_read(const struct settings_reader *reader, const char *section, const char *path,
                  const struct profile **profile, struct error *err);

/* True for UTF-8 without control characters: what JSON, SQL and plots take. Else the reason, without the place. */
bool text_check(const char *text, struct error *err);

/* True where path names a regular file. */
bool is_file(const char *path);

#endif
