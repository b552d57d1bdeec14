/* Where profiles of devices and models are found on this machine. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common.h"

enum { LEVELS_UP = 3 }; /* build/pocketload, build/gcc/pocketload */

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Adds a folder that exists and that is not there yet. */
static void add_dir(struct profile_dirs *dirs, size_t *count, const char *folder, const char *sub)
{
    char path[PROFILE_DIR_BYTES], real[PATH_MAX];
    if (*count == PROFILE_DIRS_MAX)
        return;
    int length = snprintf(path, sizeof path, "%s%s", folder, sub);
    if (length < 0 || (size_t)length >= sizeof path || !is_folder(path) || realpath(path, real) == NULL)
        return;
    for (size_t i = 0; i < *count; i++) {
        char other[PATH_MAX];
        if (realpath(dirs->texts[i], other) != NULL && strcmp(real, other) == 0)
            return;
    }
    memcpy(dirs->texts[*count], path, (size_t)length + 1);
    dirs->list[*count] = dirs->texts[*count];
    ++*count;
}

/* Cuts the last part of a path; false when there is none left. */
static bool cut(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return false;
    *slash = '\0';
    return true;
}

void profile_dirs_find(struct profile_dirs *dirs)
{
    size_t count = 0;
    add_dir(dirs, &count, "configs", "");
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = '\0';
        bool more = cut(program) && cut(program);
        if (more)
            add_dir(dirs, &count, program, "/share/pocketload");
        for (int i = 0; more && i < LEVELS_UP; i++) {
            char devices[PATH_MAX + 32];
            snprintf(devices, sizeof devices, "%s/configs/devices", program);
            if (is_folder(devices))
                add_dir(dirs, &count, program, "/configs");
            more = cut(program);
        }
    }
    add_dir(dirs, &count, POCKETLOAD_DATA_DIR, "");
    dirs->list[count] = NULL;
}
