/* Whole files and decompressing streams, on files made here. */
#include "tests/unit/base/folder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/rng.h"
#include "tests/cmocka_fixed.h"

static void test_write_then_read(void **state)
{
    char path[400];
    in(state, "whole", path);
    struct error err = {0};
    char *data;
    size_t size;
    assert_true(file_write(path, "a\0b", 3, &err));
    assert_true(file_read(path, 3, false, &data, &size, &err));
    assert_int_equal(size, 3);
    assert_memory_equal(data, "a\0b", 4);
    free(data);
    assert_true(file_write(path, "", 0, &err));
    assert_true(file_read(path, 0, false, &data, &size, &err));
    assert_int_equal(size, 0);
    assert_int_equal(data[0], '\0');
    free(data);
    assert_true(file_read("/proc/self/status", 1 << 20, false, &data, &size, &err)); /* says it has 0 bytes */
    assert_true(size > 100);
    free(data);
}

static void test_what_cannot_be_read(void **state)
{
    char path[400], expected[500];
    struct error err = {0};
    char *data = NULL;
    size_t size;
    in(state, "absent", path);
    assert_false(file_read(path, 100, true, &data, &size, &err));
    snprintf(expected, sizeof expected, "cannot read %s: No such file or directory", path);
    assert_string_equal(err.text, expected);
    assert_int_equal(err.code, STATUS_USAGE);
    assert_false(file_read(*state, 100, false, &data, &size, &err));
    snprintf(expected, sizeof expected, "cannot read %s: it is a directory", (char *)*state);
    assert_string_equal(err.text, expected);
    assert_int_equal(err.code, STATUS_IO);
    in(state, "large", path);
    put(path, "12345", 5);
    assert_false(file_read(path, 4, false, &data, &size, &err));
    snprintf(expected, sizeof expected, "%s is too large: expected at most 4 bytes", path);
    assert_string_equal(err.text, expected);
    assert_false(file_read("/dev/zero", 1 << 20, false, &data, &size, &err)); /* endless */
    assert_null(data);
    struct stream *stream = NULL;
    assert_false(stream_open(*state, &stream, &err));
    assert_int_equal(err.code, STATUS_IO);
    assert_false(stream_open(in(state, "absent", path), &stream, &err));
    assert_int_equal(err.code, STATUS_IO);
    assert_null(stream);
}

static unsigned files_in(void **state)
{
    unsigned count = 0;
    DIR *folder = opendir(*state);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void test_a_failed_write_leaves_the_old_file(void **state)
{
    char path[400], link_path[400];
    struct error err = {0};
    in(state, "kept", path);
    put(path, "old", 3);
    const unsigned before = files_in(state);
    assert_false(file_write("/dev/full", "x", 1, &err));
    assert_string_equal(err.text, "cannot write /dev/full: No space left on device");
    assert_int_equal(err.code, STATUS_IO);
    assert_true(file_write("/dev/null", "x", 1, &err)); /* written to, not replaced */
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_false(file_write(*state, "x", 1, &err));
    char deep[500];
    snprintf(deep, sizeof deep, "%s/no/such/folder", path);
    assert_false(file_write(deep, "x", 1, &err));

    in(state, "link", link_path);
    assert_int_equal(symlink("kept", link_path), 0);
    assert_true(file_write(link_path, "new", 3, &err));
    assert_int_equal(lstat(link_path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    char *data;
    size_t size;
    assert_true(file_read(path, 10, false, &data, &size, &err));
    assert_string_equal(data, "new");
    free(data);
    assert_int_equal(files_in(state), before + 1); /* the link, and nothing temporary */

    /* A limit on file sizes stops the write half-way, as a full disk would. */
    char thousand[1000] = "";
    struct rlimit old_limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
    const struct rlimit limit = {600, old_limit.rlim_max};
    void (*const old_action)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const bool written = file_write(path, thousand, sizeof thousand, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    signal(SIGXFSZ, old_action);
    assert_false(written);
    assert_int_equal(err.code, STATUS_IO);
    assert_true(file_read(path, 10, false, &data, &size, &err));
    assert_string_equal(data, "new");
    free(data);
    assert_int_equal(files_in(state), before + 1);
}

/* Reads a stream to its end; compares with the expected bytes. */
static void stream_is(const char *path, const char *expected, size_t expected_size)
{
    struct stream *stream;
    struct error err = {0};
    assert_true(stream_open(path, &stream, &err));
    size_t total = 0;
    for (;;) {
        const char *data;
        size_t size;
        const bool good = stream_next(stream, &data, &size, &err);
        assert_string_equal(err.text, "");
        assert_true(good);
        if (size == 0)
            break;
        assert_true(size <= 1 << 20);
        assert_true(size <= expected_size - total);
        assert_int_equal(memcmp(data, expected + total, size), 0);
        total += size;
    }
    assert_int_equal(total, expected_size);
    stream_close(stream);
}

/* Half noise, half repetition: both compressors have to work over many chunks. */
static char *sample(size_t size)
{
    char *data = malloc(size);
    assert_non_null(data);
    struct rng rng;
    rng_seed(&rng, 9, 0);
    for (size_t i = 0; i < size; i++)
        data[i] = i % 8192 < 4096 ? (char)(rng_next(&rng) & 0xFF) : 'r';
    return data;
}

static void test_streams_decompress(void **state)
{
    char path[400];
    const size_t size = 3000001;
    char *data = sample(size);
    in(state, "plain", path);
    put(path, data, size);
    stream_is(path, data, size);

    in(state, "gz", path);
    put_gzip(path, "wb", data, 2000000);
    put_gzip(path, "ab", data + 2000000, size - 2000000); /* a second member */
    stream_is(path, data, size);

    const size_t room = ZSTD_compressBound(size) * 2;
    char *packed = malloc(room);
    assert_non_null(packed);
    static const char skippable[] = "\x50\x2A\x4D\x18\x04\0\0\0abcd"; /* a frame to skip, in front */
    memcpy(packed, skippable, sizeof skippable - 1);
    size_t used = sizeof skippable - 1;
    used += zstd_of(data, 1000000, packed + used, room - used);
    used += zstd_of(data + 1000000, size - 1000000, packed + used, room - used); /* a second frame */
    in(state, "zst", path);
    put(path, packed, used);
    stream_is(path, data, size);

    memset(data, 'r', size); /* much output from little input */
    put(path, packed, zstd_of(data, size, packed, room));
    stream_is(path, data, size);
    put_gzip(path, "wb", data, size);
    stream_is(path, data, size);
    free(packed);
    free(data);
}

/* Looking takes nothing, also from a pipe that gives little at a time, and through a decompressor. */
static void looked_at(const char *path, const char *expected, size_t expected_size)
{
    static const size_t wanted[] = {1, 5, 70000, 300000, SIZE_MAX};
    struct stream *stream;
    struct error err = {0};
    const char *data;
    size_t size, total = 0;
    assert_true(stream_open(path, &stream, &err));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(stream_peek(stream, wanted[i], &data, &size, &err));
        assert_true(size >= wanted[i] || size == expected_size - total);
        assert_memory_equal(data, expected + total, size);
        if (i == 2) { /* between: what was looked at comes first */
            assert_true(stream_next(stream, &data, &size, &err));
            assert_true(size > 0 && size <= expected_size);
            assert_memory_equal(data, expected, size);
            total = size;
        }
    }
    for (;;) {
        assert_true(stream_next(stream, &data, &size, &err));
        if (size == 0)
            break;
        assert_true(size <= 1 << 20);
        assert_memory_equal(data, expected + total, size);
        total += size;
    }
    assert_int_equal(total, expected_size);
    stream_close(stream);
}

static void test_looking_takes_nothing(void **state)
{
    char path[400];
    const size_t size = 3000001;
    char *data = sample(size);
    in(state, "plain", path);
    put(path, data, size);
    looked_at(path, data, size);
    in(state, "gz", path);
    put_gzip(path, "wb", data, size);
    looked_at(path, data, size);

    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (size_t sent = 0; sent < size;) {
            const size_t rest = size - sent;
            const ssize_t wrote = write(ends[1], data + sent, sent < 10 ? 1 : rest < 5000 ? rest : 5000);
            if (wrote < 0)
                _exit(1);
            sent += (size_t)wrote;
        }
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    looked_at(path, data, size);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    free(data);
}

static void test_short_files_are_plain_or_empty(void **state)
{
    char path[400], packed[100];
    in(state, "short", path);
    put(path, "", 0);
    stream_is(path, "", 0);
    put(path, "7", 1);
    stream_is(path, "7", 1);
    put(path, "\x28\xB5\x2F", 3);
    stream_is(path, "\x28\xB5\x2F", 3);
    put(path, packed, zstd_of("", 0, packed, sizeof packed));
    stream_is(path, "", 0);
    put_gzip(path, "wb", "", 0);
    stream_is(path, "", 0);
}

/* The archive must fail with STATUS_INPUT and name the file, an offset and what is wrong. */
static void damaged(const char *path, const char *what)
{
    struct stream *stream;
    struct error err = {0};
    assert_true(stream_open(path, &stream, &err));
    const char *data;
    size_t size = 1;
    while (size > 0 && stream_next(stream, &data, &size, &err))
        ;
    stream_close(stream);
    assert_int_equal(err.code, STATUS_INPUT);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, what));
}

static void test_damaged_archives_are_refused(void **state)
{
    char path[400];
    const size_t size = 500000;
    char *data = sample(size);
    char *packed = malloc(ZSTD_compressBound(size));
    assert_non_null(packed);
    const size_t used = zstd_of(data, size, packed, ZSTD_compressBound(size));
    in(state, "cut", path);
    put(path, packed, used - 1);
    damaged(path, "it ends too early");
    put(path, packed, 5);
    damaged(path, "before byte 5 of the compressed file: it ends too early");
    packed[used / 2] = (char)(packed[used / 2] ^ 0x55);
    packed[4] = (char)(packed[4] ^ 0x08); /* a reserved bit of the frame header */
    put(path, packed, used);
    damaged(path, "damaged zstd data");
    free(packed);

    put_gzip(path, "wb", data, size);
    struct error err = {0};
    char *archive;
    size_t archive_size;
    assert_true(file_read(path, 1 << 20, false, &archive, &archive_size, &err));
    put(path, archive, archive_size - 1);
    damaged(path, "it ends too early");
    put(path, archive, 2);
    damaged(path, "it ends too early");
    archive[archive_size - 8] ^= 1; /* the checksum */
    put(path, archive, archive_size);
    damaged(path, "damaged gzip data");
    archive[archive_size - 8] ^= 1;
    archive[archive_size - 1] ^= 1; /* the length */
    put(path, archive, archive_size);
    damaged(path, "damaged gzip data");
    archive[archive_size - 1] ^= 1;
    char *longer = malloc(archive_size + 4);
    assert_non_null(longer);
    memcpy(longer, archive, archive_size);
    memcpy(longer + archive_size, "junk", 4);
    put(path, longer, archive_size + 4);
    damaged(path, "damaged gzip data");
    free(longer);
    free(archive);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_then_read),
        cmocka_unit_test(test_what_cannot_be_read),
        cmocka_unit_test(test_a_failed_write_leaves_the_old_file),
        cmocka_unit_test(test_streams_decompress),
        cmocka_unit_test(test_looking_takes_nothing),
        cmocka_unit_test(test_short_files_are_plain_or_empty),
        cmocka_unit_test(test_damaged_archives_are_refused),
    };
    return cmocka_run_group_tests_name("base/files", tests, make_folder, remove_folder);
}
