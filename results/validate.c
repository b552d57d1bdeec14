/* Finds truth files, reads them all, and lets each family compare its own. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/suggest.h"
#include "results/validate_parts.h"

enum { DEPTH_MAX = 8, FILES_MAX = 2000, ENTRIES_MAX = 10000, NAMED_TEXT = 512 };

/* Files found, in order: `path` to open, `name` to show. */
struct found {
    struct arena *arena;
    struct truth_file *files;
    size_t count;
};

static bool no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory for truth files");
}

static bool is_csv(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".csv") == 0;
}

static bool add_file(struct found *found, const char *path, const char *name, struct error *err)
{
    if (found->count == FILES_MAX)
        return fail(err, STATUS_INPUT, "%s: more than %d truth files", path, FILES_MAX);
    struct truth_file *file = &found->files[found->count++];
    file->path = arena_strdup(found->arena, path);
    file->name = arena_strdup(found->arena, name);
    return (file->path != NULL && file->name != NULL) || no_memory(err);
}

static int by_name(const void *a, const void *b)
{
    const char *left, *right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return strcmp(left, right);
}

/* The names in a folder, sorted by their bytes, without those that begin with a point. From malloc, each and all. */
static bool list_folder(const char *path, char ***names, size_t *count, struct error *err)
{
    DIR *folder = opendir(path);
    *count = 0;
    *names = calloc(ENTRIES_MAX, sizeof **names);
    bool good =
        (folder != NULL || fail(err, STATUS_IO, "%s: %s", path, strerror(errno))) && (*names != NULL || no_memory(err));
    for (struct dirent *entry; good && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        if (*count == ENTRIES_MAX)
            good = fail(err, STATUS_INPUT, "%s: more than %d files and folders in it", path, ENTRIES_MAX);
        else if (((*names)[*count] = strdup(entry->d_name)) == NULL)
            good = no_memory(err);
        else
            ++*count;
    }
    if (folder != NULL)
        closedir(folder);
    if (*count > 0)
        qsort(*names, *count, sizeof **names, by_name);
    return good;
}

/* A folder, and those that it lies in, as far as they are searched. */
struct folder {
    const struct folder *outer;
    dev_t device;
    ino_t number;
};

/* A link back to one of them would show the same files again. */
static bool is_within_itself(const struct folder *outer, const struct stat *status)
{
    for (; outer != NULL; outer = outer->outer)
        if (outer->device == status->st_dev && outer->number == status->st_ino)
            return true;
    return false;
}

/* *.csv of a folder and of those in it. shown: what stands before its names in the table, "" or "data/". */
static bool add_folder(struct found *found, const char *path, const char *shown, const struct folder *folder,
                       unsigned depth, struct error *err)
{
    char **names;
    size_t count;
    bool good = list_folder(path, &names, &count, err);
    for (size_t i = 0; good && i < count; i++) {
        char inner[PATH_MAX], inner_shown[PATH_MAX];
        struct stat status;
        if (snprintf(inner, sizeof inner, "%s/%s", path, names[i]) >= (int)sizeof inner ||
            snprintf(inner_shown, sizeof inner_shown - 1, "%s%s", shown, names[i]) >= (int)sizeof inner_shown - 1)
            good = fail(err, STATUS_INPUT, "%s: a path in it is too long", path);
        else if (stat(inner, &status) != 0)
            continue; /* a link to nothing, or gone */
        else if (S_ISREG(status.st_mode) && is_csv(names[i]))
            good = add_file(found, inner, inner_shown, err);
        else if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX && !is_within_itself(folder, &status)) {
            const struct folder next = {folder, status.st_dev, status.st_ino};
            good = add_folder(found, inner, strcat(inner_shown, "/"), &next, depth + 1, err);
        }
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return good;
}

/* What the project ships: the folder "truth" beside the first profiles that have one. */
static bool add_own(struct found *found, const struct validate_options *options, struct error *err)
{
    char path[PATH_MAX];
    struct stat status;
    for (size_t i = 0; options->profile_dirs[i] != NULL; i++)
        if (snprintf(path, sizeof path, "%s/truth", options->profile_dirs[i]) < (int)sizeof path &&
            stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
            const struct folder folder = {NULL, status.st_dev, status.st_ino};
            return add_folder(found, path, "", &folder, 0, err);
        }
    return fail(err, STATUS_IO, "no folder \"truth\" beside the profiles; name files or folders of measurements");
}

static bool add_named(struct found *found, const char *path, struct error *err)
{
    char shown[PATH_MAX];
    struct stat status;
    if (stat(path, &status) != 0)
        return fail(err, STATUS_IO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return add_file(found, path, path, err);
    const size_t before = found->count, length = strlen(path);
    if (snprintf(shown, sizeof shown, "%s%s", path, length > 0 && path[length - 1] == '/' ? "" : "/") >=
        (int)sizeof shown)
        return fail(err, STATUS_INPUT, "%.60s...: the path is too long", path);
    const struct folder folder = {NULL, status.st_dev, status.st_ino};
    return add_folder(found, path, shown, &folder, 0, err) &&
           (found->count > before || fail(err, STATUS_INPUT, "%s: no file *.csv in it", path));
}

static bool read_file(struct arena *arena, struct truth_file *file, struct error *err)
{
    char *data;
    size_t size;
    struct truth_file parsed;
    if (!file_read(file->path, TRUTH_FILE_MAX, false, &data, &size, err))
        return false;
    char *text = arena_alloc(arena, size + 1, 1);
    if (text != NULL)
        memcpy(text, data, size + 1);
    free(data);
    if (text == NULL)
        return no_memory(err);
    if (!truth_parse(file->name, text, size, arena, &parsed, err))
        return false;
    parsed.path = file->path;
    *file = parsed;
    return true;
}

static bool check_families(const struct validate_options *options, struct error *err)
{
    const char *names[VALIDATE_FAMILIES_MAX];
    const size_t count = validate_family_names(names);
    for (size_t i = 0; i < options->family_count; i++) {
        bool known = false;
        for (size_t f = 0; f < count; f++)
            known = known || strcmp(names[f], options->families[i]) == 0;
        char near[NAMED_TEXT];
        if (!known)
            return fail(err, STATUS_USAGE, "unknown family \"%.60s\"%s", options->families[i],
                        suggest_text(options->families[i], names, count, near, sizeof near));
    }
    return true;
}

static bool is_wanted(const struct validate_options *options, const struct truth_family *family)
{
    bool wanted = options->family_count == 0;
    for (size_t i = 0; i < options->family_count; i++)
        wanted = wanted || strcmp(options->families[i], family->name) == 0;
    return wanted;
}

/* ---- All of it ---- */

static bool find_files(const struct validate_options *options, struct found *found, struct error *err)
{
    found->files = arena_alloc(found->arena, FILES_MAX, sizeof *found->files);
    if (found->files == NULL)
        return no_memory(err);
    if (options->path_count == 0 && !add_own(found, options, err))
        return false;
    for (size_t i = 0; i < options->path_count; i++)
        if (!add_named(found, options->paths[i], err))
            return false;
    for (size_t i = 0; i < found->count; i++)
        if (!read_file(found->arena, &found->files[i], err))
            return false;
    return true;
}

/* No row is left out: one that gives nothing says so. Of a file that is passed over one row stands for all. */
static bool compare(struct validating *validating, const struct truth_file *file, struct error *err)
{
    const size_t first = validating->validation->row_count;
    return file->family->compare(validating, file, err) &&
           (file->family == &truth_peer_speed || truth_skip_empty(validating, file, first, err));
}

bool validate(const struct validate_options *options, struct validation *validation, struct error *err)
{
    *validation = (struct validation){.own = options->path_count == 0 && options->family_count == 0};
    struct validating validating = {.validation = validation, .options = options};
    struct found found = {.arena = &validation->arena};
    bool good = check_families(options, err) && find_files(options, &found, err) &&
                profile_list("device", options->profile_dirs, &validating.devices, &validating.device_count, err) &&
                profile_list("model", options->profile_dirs, &validating.models, &validating.model_count, err);
    if (good && options->device != NULL && truth_device_named(&validating, options->device) == NULL) {
        char near[NAMED_TEXT];
        good = fail(err, STATUS_USAGE, "unknown device \"%.60s\"%s", options->device,
                    suggest_text(options->device, (const char *const *)validating.devices, validating.device_count,
                                 near, sizeof near));
    }
    for (size_t i = 0; good && i < found.count; i++)
        if (is_wanted(options, found.files[i].family))
            good = compare(&validating, &found.files[i], err);
    free(validating.devices);
    free(validating.models);
    return good && truth_summarise(validation, err);
}

void validation_free(struct validation *validation)
{
    arena_free(&validation->arena);
    *validation = (struct validation){0};
}
