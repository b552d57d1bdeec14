/* A folder of one's own for tests that make files, and ways to fill it. */
#ifndef POCKETLOAD_TESTS_UNIT_BASE_FOLDER_H
#define POCKETLOAD_TESTS_UNIT_BASE_FOLDER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/cmocka_fixed.h"

/* One folder for the group; its name is the group's state. */
static inline int make_folder(void **state)
{
    char *folder = strdup("/tmp/pocketload-unit-XXXXXX");
    *state = folder;
    return folder && mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    char path[600];
    DIR *folder = opendir(*state);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%s", (char *)*state, entry->d_name);
        unlink(path);
    }
    if (folder)
        closedir(folder);
    const int result = rmdir(*state);
    free(*state);
    return result;
}

static inline const char *in(void **state, const char *name, char out[400])
{
    snprintf(out, 400, "%s/%s", (char *)*state, name);
    return out;
}

static inline void put(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void put_gzip(const char *path, const char *mode, const void *data, size_t size)
{
    gzFile file = gzopen(path, mode);
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static inline size_t zstd_of(const void *data, size_t size, void *out, size_t room)
{
    const size_t made = ZSTD_compress(out, room, data, size, 3);
    assert_false(ZSTD_isError(made));
    return made;
}

#endif
