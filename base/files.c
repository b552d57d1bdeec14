/* Whole files in and out. */
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

enum { FIRST_READ = 1 << 16 };

/* Reads on until the end or one byte over the limit. */
static bool read_all(int fd, const char *path, uint64_t limit, enum status code, char **data, size_t *size,
                     struct error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail(err, code, "cannot read %s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return fail(err, code, "cannot read %s: it is a directory", path);

    void *buffer = NULL;
    size_t capacity = 0, used = 0;
    /* The size is only a hint: the file may grow or be a pipe. One byte more shows the end without growing. */
    size_t want = S_ISREG(status.st_mode) && status.st_size > 0 && (uint64_t)status.st_size <= limit
                      ? (size_t)status.st_size + 2
                      : FIRST_READ;
    for (;;) {
        if (!array_reserve(&buffer, &capacity, want, 1, err)) {
            free(buffer);
            return fail_in(err, "%s", path);
        }
        const ssize_t got = read(fd, (char *)buffer + used, capacity - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            const int reason = errno;
            free(buffer);
            return fail(err, code, "cannot read %s: %s", path, strerror(reason));
        }
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > limit) {
            free(buffer);
            return fail(err, code, "%s is too large: expected at most %llu bytes", path, (unsigned long long)limit);
        }
        if (capacity - used < 2)
            want = capacity + FIRST_READ;
    }
    ((char *)buffer)[used] = '\0';
    *data = buffer;
    *size = used;
    return true;
}

bool file_read(const char *path, uint64_t limit_bytes, bool usage, char **data, size_t *size, struct error *err)
{
    const enum status code = usage ? STATUS_USAGE : STATUS_IO;
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "standard input", limit_bytes, code, data, size, err);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(err, code, "cannot read %s: %s", path, strerror(errno));
    const bool good = read_all(fd, path, limit_bytes, code, data, size, err);
    close(fd);
    return good;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t put = write(fd, data, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        data += put;
        size -= (size_t)put;
    }
    return true;
}

/* A pipe or device cannot be replaced by renaming, and must not be. */
static bool write_in_place(const char *path, const void *data, size_t size, struct error *err)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write_all(fd, data, size);
    const int reason = errno;
    if (fd >= 0)
        close(fd);
    return good ? true : fail(err, STATUS_IO, "cannot write %s: %s", path, strerror(reason));
}

/* Creates a new file beside `path`; its name goes to `temporary`. O_EXCL and not mkstemp, so that the umask decides
 * who may read the result. */
static int create_beside(const char *path, char *temporary, size_t size)
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        snprintf(temporary, size, "%s.tmp-%ld-%u", path, (long)getpid(), attempt);
        const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bool replace(const char *path, const void *data, size_t size, struct error *err)
{
    const size_t room = strlen(path) + 64;
    char *temporary = malloc(room);
    if (!temporary)
        return fail(err, STATUS_IO, "cannot write %s: out of memory", path);
    const int fd = create_beside(path, temporary, room);
    bool good = fd >= 0 && write_all(fd, data, size) && fsync(fd) == 0;
    int reason = errno;
    if (fd >= 0 && close(fd) != 0 && good) {
        good = false;
        reason = errno;
    }
    if (good && rename(temporary, path) != 0) {
        good = false;
        reason = errno;
    }
    if (!good && fd >= 0)
        unlink(temporary);
    free(temporary);
    return good ? true : fail(err, STATUS_IO, "cannot write %s: %s", path, strerror(reason));
}

bool file_write(const char *path, const void *data, size_t size, struct error *err)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return replace(path, data, size, err);
    if (S_ISDIR(status.st_mode))
        return fail(err, STATUS_IO, "cannot write %s: it is a directory", path);
    if (!S_ISREG(status.st_mode))
        return write_in_place(path, data, size, err);
    char *target = realpath(path, NULL); /* the file behind a symbolic link is replaced, not the link */
    if (!target)
        return fail(err, STATUS_IO, "cannot write %s: %s", path, strerror(errno));
    const bool good = replace(target, data, size, err);
    free(target);
    return good;
}
