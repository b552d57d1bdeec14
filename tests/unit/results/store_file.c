/* Files that are not a database of ours, or cannot be written: one clear line each, and nothing left beside them. */
#include "made_up.h"
#include "tests/cmocka_fixed.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static struct error err;

static long clock_speed = 1;

/* In place of the C library's: half a minute of waiting is over in less. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    if (syscall(SYS_clock_gettime, id, now) != 0)
        return -1;
    if (id == CLOCK_MONOTONIC) {
        const long ns = now->tv_nsec * clock_speed;
        now->tv_sec = now->tv_sec * clock_speed + ns / 1000000000;
        now->tv_nsec = ns % 1000000000;
    }
    return 0;
}

static int set_up(void **state)
{
    *state = test_folder();
    return chmod(*state, 0777);
}

static unsigned entries(const char *folder, bool remove_them)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        count++;
        if (remove_them)
            remove(path);
    }
    closedir(dir);
    return count;
}

static int tear_down(void **state)
{
    entries(*state, true);
    rmdir(*state);
    free(*state);
    return 0;
}

static void write_text(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        flunk("%s: %s", text, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Both ways of opening fail with a line that holds `expected`, once the path, and no line end; the folder is as it
 * was. */
static void refused(const char *folder, const char *path, const char *expected)
{
    const unsigned before = entries(folder, false);
    for (int write = 0; write < 2; write++) {
        struct store *store;
        if (write ? store_open(path, &store, &err) : store_open_read(path, &store, &err))
            flunk("%s was opened", path);
        assert_null(store);
        assert_int_equal(err.code, STATUS_IO);
        if (!strstr(err.text, expected) || !strstr(err.text, path) || strchr(err.text, '\n'))
            flunk("expected \"%s\" in \"%s\"", expected, err.text);
        assert_int_equal(entries(folder, false), before);
    }
}

static void foreign_files_are_refused(void **state)
{
    char path[256];
    write_text(test_path(*state, "text", path), "a few words\n", 12);
    refused(*state, path, "not a SQLite database");
    char noise[20000];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * i >> 3);
    write_text(test_path(*state, "noise", path), noise, sizeof noise);
    refused(*state, path, "not a SQLite database");
    sql(test_path(*state, "foreign.db", path), "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    refused(*state, path, "another program (application_id 0, expected");
    sql(test_path(*state, "foreign-wal.db", path), "PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
    refused(*state, path, "another program");
    sql(test_path(*state, "geo.db", path), "PRAGMA application_id = 1196444487; CREATE TABLE t (x)");
    refused(*state, path, "application_id 1196444487");
    assert_int_equal(mkdir(test_path(*state, "folder", path), 0777), 0);
    refused(*state, path, "is a folder");
    refused("/dev", "/dev/full", "not a regular file");
    write_text(test_path(*state, "file", path), "x", 1);
    refused(*state, test_path(*state, "file/below.db", path), "Not a directory");
}

static void an_odd_name_is_a_name(void **state)
{
    struct store *store;
    char path[256];
    assert_int_equal(chdir(*state), 0);
    const char *const names[] = {":memory:", "file:x?mode=memory", "%41 b#c?d", "-db"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int again = 0; again < 2; again++) { /* the second time through the look at an existing file */
            good(store_open(names[i], &store, &err), &err);
            good(store_close(store, &err), &err);
            assert_true(test_exists(test_path(*state, names[i], path), ""));
        }
    assert_int_equal(entries(*state, false), 4);
    assert_int_equal(chdir("/"), 0);
    assert_false(store_open("", &store, &err));
}

static void other_versions_are_refused(void **state)
{
    char path[256];
    struct store *store;
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    good(store_close(store, &err), &err);
    sql(path, "PRAGMA user_version = 5");
    refused(*state, path, "a newer pocketload (schema version 5, this one knows 4)");
    sql(path, "PRAGMA user_version = 0");
    refused(*state, path, "unknown schema version 0, expected 1 to 4");
    sql(path, "PRAGMA user_version = 4");
    good(store_open(path, &store, &err), &err);
    good(store_close(store, &err), &err);
}

static void empty_and_missing_files(void **state)
{
    char path[256];
    struct store *store;
    test_path(*state, "runs.db", path);
    assert_false(store_open_read(path, &store, &err));
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(entries(*state, false), 0);
    write_text(path, "", 0);
    assert_false(store_open_read(path, &store, &err));
    assert_non_null(strstr(err.text, "empty database"));
    good(store_open(path, &store, &err), &err);
    good(store_close(store, &err), &err);
    good(store_open_read(path, &store, &err), &err);
    good(store_close(store, &err), &err);
    assert_int_equal(entries(*state, false), 1);
}

/* In a child without root's right to write everything. */
static void a_file_that_may_not_be_written(void **state)
{
    char path[256];
    struct store *store;
    struct made_up run;
    make_up(&run, 1, "lru", 512 * MADE_MIB, 30);
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    good(put_made_up(store, &run, &err), &err);
    good(store_close(store, &err), &err);
    assert_int_equal(chmod(path, 0444), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(10);
        if (store_open(path, &store, &err) || err.code != STATUS_IO || !strstr(err.text, "it is read-only"))
            _exit(11);
        bool known;
        if (!store_open_read(path, &store, &err) || !store_has(store, run.key, &known, &err) || !known)
            _exit(12);
        _exit(store_close(store, &err) ? 0 : 13);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(entries(*state, false), 1);
}

/* In a child without root's rights: the reason is the folder's, not SQLite's second attempt. */
static void a_folder_that_may_not_be_written(void **state)
{
    char path[256];
    struct store *store;
    assert_int_equal(mkdir(test_path(*state, "locked", path), 0555), 0);
    test_path(*state, "locked/runs.db", path);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(10);
        if (store_open(path, &store, &err) || err.code != STATUS_IO)
            _exit(11);
        _exit(strstr(err.text, "runs.db: cannot create: Permission denied") ? 0 : 12);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(entries(test_path(*state, "locked", path), false), 0);
}

/* Stores runs in a child that may write no file of over `limit` bytes, until that fails. */
static int stored_under_limit(const char *path, rlim_t limit, unsigned first)
{
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit bound = {limit, limit};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &bound);
        struct store *store;
        struct made_up run;
        if (!store_open(path, &store, &err))
            _exit(err.code == STATUS_IO && strstr(err.text, "writing failed") ? 100 : 101);
        int stored = 0;
        for (; stored < 90; stored++) {
            make_up(&run, first + (unsigned)stored, "lru", 512 * MADE_MIB, 30);
            if (!put_made_up(store, &run, &err))
                break;
        }
        if (stored == 90 || err.code != STATUS_IO || !strstr(err.text, "writing failed"))
            _exit(102);
        store_close(store, &err); /* may fail too: then what is stored is in the -wal */
        _exit(stored);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_full_disk_loses_nothing_that_was_stored(void **state)
{
    char path[256];
    struct store *store;
    test_path(*state, "runs.db", path);
    assert_int_equal(stored_under_limit(path, 1000, 0), 100);
    assert_int_equal(entries(*state, false), 0);
    const int stored = stored_under_limit(path, 1000000, 0);
    assert_in_range(stored, 1, 89);
    good(store_open(path, &store, &err), &err);
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(store_handle(store), "SELECT (SELECT count(*) FROM run), count(*) FROM sample",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(stmt, 0), stored);
    assert_int_equal(sqlite3_column_int(stmt, 1), stored * MADE_SAMPLES);
    sqlite3_finalize(stmt);
    good(store_close(store, &err), &err);
    assert_int_equal(entries(*state, false), 1);
}

static sqlite3_int64 pragma(struct store *store, const char *text)
{
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(store_handle(store), text, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    const sqlite3_int64 value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

/* A reader that stays keeps the file out of WAL, not a writer out of the file. */
static void a_reader_delays_for_a_bounded_time(void **state)
{
    char path[256];
    struct store *store;
    sqlite3 *reader;
    struct made_up run;
    make_up(&run, 1, "lru", 512 * MADE_MIB, 30);
    good(store_open(test_path(*state, "runs.db", path), &store, &err), &err);
    good(store_close(store, &err), &err);
    assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM run", NULL, NULL, NULL), SQLITE_OK);
    clock_speed = 100;
    alarm(20); /* real seconds: ends the test where the wait is SQLite's own */
    good(store_open(path, &store, &err), &err);
    alarm(0);
    clock_speed = 1;
    assert_int_equal(pragma(store, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
    assert_int_equal(pragma(store, "PRAGMA synchronous"), 2);
    assert_int_equal(pragma(store, "PRAGMA busy_timeout"), 30000);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    good(put_made_up(store, &run, &err), &err);
    good(store_close(store, &err), &err);
    assert_int_equal(entries(*state, false), 1);
    good(store_open(path, &store, &err), &err);
    assert_int_equal(pragma(store, "SELECT count(*) FROM run"), 1);
    assert_int_equal(pragma(store, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    assert_int_equal(pragma(store, "PRAGMA synchronous"), 1);
    good(store_close(store, &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(foreign_files_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_odd_name_is_a_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_versions_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_and_missing_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_may_not_be_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_may_not_be_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_loses_nothing_that_was_stored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reader_delays_for_a_bounded_time, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
