/* The file that a calibration reads: made, filled with bytes that no device compresses, and without a name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"
#include "sim/calibrate_parts.h"

enum { CHUNK = 1 << 20, STEP_CHUNKS = 16, PATH_BYTES = 4096, ALIGN = 4096 };

size_t test_file_steps(uint64_t bytes)
{
    const uint64_t chunks = bytes / CHUNK + (bytes % CHUNK > 0);
    return (size_t)((chunks + STEP_CHUNKS - 1) / STEP_CHUNKS);
}

/* At most half of what is free: a phone without room for its own files is a phone in trouble. */
static bool check_room(const struct calibrate_options *options, struct error *err)
{
    struct statvfs system;
    char asked[UNITS_TEXT], room[UNITS_TEXT];
    if (statvfs(options->folder, &system) != 0)
        return fail(err, STATUS_IO, "cannot look at the folder %s: %s", options->folder, strerror(errno));
    uint64_t half = (uint64_t)system.f_bavail * (uint64_t)system.f_frsize / 2;
    if (options->file_bytes <= half)
        return true;
    return fail(err, STATUS_USAGE, "a file of %s in %s: at most half of the free space, %s, may be used",
                format_bytes(options->file_bytes, asked), options->folder, format_bytes(half, room));
}

/* Opens a file without a name for writing and once more for reading: O_TMPFILE where the file system has it, else a
 * name that is gone at once. */
static bool open_both(const char *folder, struct test_file *file, struct error *err)
{
    char path[PATH_BYTES];
    file->file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file->file >= 0) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file->file);
        file->reader = open(path, O_RDONLY | O_CLOEXEC);
        if (file->reader >= 0)
            return true;
        close(file->file);
    }
    int length = snprintf(path, sizeof path, "%s/pocketload-calibrate-XXXXXX", folder);
    if (length < 0 || length >= (int)sizeof path)
        return fail(err, STATUS_USAGE, "the folder's path is too long: %.80s...", folder);
    file->file = mkostemp(path, O_CLOEXEC);
    if (file->file < 0)
        return fail(err, STATUS_IO, "cannot make a file in %s: %s", folder, strerror(errno));
    file->reader = open(path, O_RDONLY | O_CLOEXEC);
    int reason = errno;
    if (unlink(path) != 0)
        return fail(err, STATUS_IO, "cannot remove %s: %s", path, strerror(errno));
    return file->reader >= 0 || fail(err, STATUS_IO, "cannot read %s: %s", path, strerror(reason));
}

static bool write_all(int file, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

static bool fill(struct calibrate_progress *progress, struct test_file *file, struct error *err)
{
    struct rng rng;
    rng_seed(&rng, 1, 0);
    uint64_t *chunk = malloc(CHUNK);
    if (chunk == NULL)
        return fail(err, STATUS_IO, "out of memory");
    bool good = true;
    for (uint64_t at = 0; good && at < file->bytes; at += CHUNK) {
        for (size_t i = 0; i < CHUNK / sizeof *chunk; i++)
            chunk[i] = rng_next(&rng);
        uint64_t left = file->bytes - at;
        if (!write_all(file->file, (const char *)chunk, left < CHUNK ? (size_t)left : CHUNK))
            good = fail(err, STATUS_IO, "cannot write the test file: %s", strerror(errno));
        if (good && at / CHUNK % STEP_CHUNKS == 0)
            good = calibrate_step(progress, err);
    }
    free(chunk);
    if (good && fsync(file->file) != 0)
        good = fail(err, STATUS_IO, "cannot write the test file: %s", strerror(errno));
    return good;
}

/* Is the first page of the file in the page cache? */
static bool first_page_cached(const struct test_file *file)
{
    unsigned char resident = 1;
    void *map = mmap(NULL, ALIGN, PROT_READ, MAP_SHARED, file->file, 0);
    if (map == MAP_FAILED)
        return true;
    bool known = mincore(map, ALIGN, &resident) == 0;
    munmap(map, ALIGN);
    return !known || (resident & 1U) != 0;
}

/* Past the page cache where the system can. Some file systems refuse the flag, others the read; others take both and
 * read through the page cache all the same (tmpfs, ext4 that journals data): there the page is cached afterwards. */
static bool set_direct(const struct test_file *file)
{
    void *buffer;
    int flags = fcntl(file->reader, F_GETFL);
    if (flags < 0 || fcntl(file->reader, F_SETFL, flags | O_DIRECT) != 0)
        return false;
    if (posix_memalign(&buffer, ALIGN, ALIGN) != 0)
        return false;
    bool good = pread(file->reader, buffer, ALIGN, 0) == ALIGN && !first_page_cached(file);
    free(buffer);
    if (!good)
        fcntl(file->reader, F_SETFL, flags);
    return good;
}

bool test_file_make(struct calibrate_progress *progress, struct test_file *file, struct error *err)
{
    const struct calibrate_options *options = progress->options;
    *file = (struct test_file){.file = -1, .reader = -1, .bytes = options->file_bytes};
    if (!check_room(options, err) || !open_both(options->folder, file, err) || !fill(progress, file, err))
        return false;
    test_file_drop(file, file->bytes);
    file->direct = set_direct(file);
    /* Without O_DIRECT each read drops what it is about to read; readahead would read more than was asked for. */
    if (!file->direct)
        posix_fadvise(file->reader, 0, 0, POSIX_FADV_RANDOM);
    return true;
}

void test_file_drop(const struct test_file *file, uint64_t bytes)
{
    posix_fadvise(file->file, 0, (off_t)bytes, POSIX_FADV_DONTNEED);
}

void test_file_close(struct test_file *file)
{
    if (file->reader >= 0)
        close(file->reader);
    if (file->file >= 0)
        close(file->file);
}
