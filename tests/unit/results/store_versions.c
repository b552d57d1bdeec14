/* Databases that older versions made are brought up to this one, whole or not at all. */
#include "made_up.h"
#include "old_schema_3.h"
#include "old_schemas.h"
#include "tests/cmocka_fixed.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct error err;

#define ok(call) good(call, &err)

static const char rows_1[] =
    "PRAGMA application_id = 1349283684; PRAGMA user_version = 1;"
    "INSERT INTO run VALUES (1, 'aaaaaaaa', 'old', 'd', 'm', NULL, 'dense', 'chunked', 'lru+next', 'lru', 'none', "
    "'next', 1048576, 7, 'completed', NULL, NULL, 3, 12, 6, 2, 4, 0.5, 1200, 0.25, 1, 5000, 3000, 1000, 0, 0, 900, "
    "800, "
    "70, 60, 1000, 100, 600, 250, 50, 300, 310, 320, 330, 340, 2.5, 400, 1, "
    "'{\"x\":1,\"experiment\":{\"name\":\"old\"},\"device\":{\"a\":1},\"loader\":{\"budget\":1048576,\"lanes\":4},"
    "\"policy\":{}}');"
    "INSERT INTO run SELECT 5, 'bbbbbbbb', experiment, device, model, quant, workload, loader, 'fifo', 'fifo', pin, "
    "'none', budget_bytes, seed, 'killed', 'threshold', 'decode', tokens, accesses, hits, delayed_hits, misses, "
    "hit_rate, bytes_accessed, byte_hit_rate, evictions, bytes_read, 0, 0, 0, 0, 900, 800, 70, 60, 1000, 100, 600, "
    "250, 50, NULL, NULL, NULL, NULL, NULL, NULL, 400, 1, '{}' FROM run;"
    "INSERT INTO member (experiment, run_key) VALUES ('old', 'aaaaaaaa'), ('old', 'bbbbbbbb'), ('newer', 'aaaaaaaa');"
    "INSERT INTO token (run_key, token, phase, latency_ns, stall_ns, accesses, hits, bytes_accessed, bytes_read) "
    "VALUES ('aaaaaaaa', 0, 'decode', 300, 20, 12, 6, 1200, 5000);"
    "INSERT INTO sample VALUES ('aaaaaaaa', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);"
    "INSERT INTO block VALUES ('aaaaaaaa', 0, 'b0', 12, 6, 4, 1, 5000);";

static const char rows_2[] =
    "PRAGMA application_id = 1349283684; PRAGMA user_version = 2;"
    "INSERT INTO run VALUES (1, 'aaaaaaaa', 'old', 'd', 'm', NULL, 'dense', 'chunked', 'lru+next', 'lru', 'none', "
    "'next', 1048576, 7, 'completed', NULL, NULL, 3, 12, 6, 2, 4, 0.5, 1200, 0.25, 1, 5000, 3000, 1000, 0, 0, 900, "
    "800, 70, 60, 1000, 100, 600, 250, 50, 300, 310, 320, 330, 340, 2.5, 400, 1, 1200, 800, 'always', 'a remark', "
    "'{\"x\":1,\"experiment\":{\"name\":\"old\"},\"device\":{\"a\":1},\"loader\":{\"budget\":1048576,\"lanes\":4},"
    "\"policy\":{}}');"
    "INSERT INTO run SELECT 5, 'bbbbbbbb', experiment, device, model, quant, workload, loader, 'fifo', 'fifo', pin, "
    "'none', budget_bytes, seed, 'failed', 'threshold', NULL, tokens, accesses, hits, delayed_hits, misses, "
    "hit_rate, bytes_accessed, byte_hit_rate, evictions, bytes_read, 0, 0, 0, 0, 900, 800, 70, 60, 1000, 100, 600, "
    "250, 50, NULL, NULL, NULL, NULL, NULL, NULL, 400, 1, 0, 0, 'none', NULL, '{}' FROM run;"
    "INSERT INTO member (experiment, run_key) VALUES ('old', 'aaaaaaaa'), ('old', 'bbbbbbbb'), ('newer', 'aaaaaaaa');"
    "INSERT INTO token (run_key, token, phase, latency_ns, stall_ns, accesses, hits, bytes_accessed, bytes_read) "
    "VALUES ('aaaaaaaa', 0, 'decode', 300, 20, 12, 6, 1200, 5000);"
    "INSERT INTO sample VALUES ('aaaaaaaa', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);"
    "INSERT INTO block VALUES ('aaaaaaaa', 0, 'b0', 12, 6, 4, 1, 5000);";

static const char rows_3[] =
    "PRAGMA application_id = 1349283684; PRAGMA user_version = 3;"
    "INSERT INTO run VALUES (1, 'aaaaaaaa', 'old', 'd', 'm', NULL, 'dense', 'chunked', 'lru+next', 'lru', 'none', "
    "'next', 1048576, 7, 'completed', NULL, NULL, 3, 12, 6, 2, 4, 0.5, 1200, 0.25, 1, 5000, 3000, 1000, 0, 0, 900, "
    "800, 70, 60, 1000, 100, 600, 250, 50, 300, 310, 320, 330, 340, 2.5, 400, 1, 1200, 800, 'always', 'a remark', "
    "21, 22, 900, 901, 23, 24, 25, 26, 27, 2, 'mail(900)', 28, 29, 30, 31, 32, 33, 34, 35, NULL, "
    "'{\"x\":1,\"experiment\":{\"name\":\"old\"},\"device\":{\"a\":1},\"loader\":{\"budget\":1048576,\"lanes\":4},"
    "\"policy\":{}}');"
    "INSERT INTO run SELECT 5, 'bbbbbbbb', experiment, device, model, quant, workload, loader, 'fifo', 'fifo', pin, "
    "'none', budget_bytes, seed, 'failed', 'threshold', NULL, tokens, accesses, hits, delayed_hits, misses, "
    "hit_rate, bytes_accessed, byte_hit_rate, evictions, bytes_read, 0, 0, 0, 0, 900, 800, 70, 60, 1000, 100, 600, "
    "250, 50, NULL, NULL, NULL, NULL, NULL, NULL, 400, 1, 0, 0, 'none', NULL, "
    "0, 0, 900, 900, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 36, '{}' FROM run;"
    "INSERT INTO member (experiment, run_key) VALUES ('old', 'aaaaaaaa'), ('old', 'bbbbbbbb'), ('newer', 'aaaaaaaa');"
    "INSERT INTO token (run_key, token, phase, latency_ns, stall_ns, accesses, hits, bytes_accessed, bytes_read, "
    "major_faults, minor_faults, refaults, bytes_readahead_wasted) "
    "VALUES ('aaaaaaaa', 0, 'decode', 300, 20, 12, 6, 1200, 5000, 1, 2, 3, 4);"
    "INSERT INTO sample VALUES ('aaaaaaaa', 0, 1, 2, 3, 4, 5, 12, 13, 6, 7, 14, 8, 9, 10, 11, 15, 16, 17, 18);"
    "INSERT INTO block VALUES ('aaaaaaaa', 0, 'b0', 12, 6, 4, 1, 5000);";

enum { OLD_VERSIONS = 3 };

static void make_old(const char *path, int version, const char *more)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    static const char *const schemas[] = {schema_1, schema_2, schema_3}, *const rows[] = {rows_1, rows_2, rows_3};
    const char *const texts[] = {schemas[version - 1], rows[version - 1], more};
    for (size_t i = 0; i < 3; i++)
        if (sqlite3_exec(db, texts[i], NULL, NULL, NULL) != SQLITE_OK)
            flunk("%s", sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int set_up(void **state)
{
    *state = test_folder();
    return 0;
}

static int tear_down(void **state)
{
    char path[256];
    unlink(test_path(*state, "runs.db", path));
    unlink(test_path(*state, "new.db", path));
    assert_int_equal(rmdir(*state), 0); /* nothing else was left there */
    free(*state);
    return 0;
}

/* All names and texts of a database's schema, one a line, as a checksum would compare them. */
static char *schema_of(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *stmt;
    sqlite3_str *text = sqlite3_str_new(NULL);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT name, sql FROM sqlite_schema ORDER BY type, name", -1, &stmt, NULL),
                     SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        sqlite3_str_appendf(text, "%s: %s\n", sqlite3_column_text(stmt, 0), sqlite3_column_text(stmt, 1));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return sqlite3_str_finish(text);
}

/* What the records of all versions became. */
static void check_records(struct store *store, int version)
{
    struct arena arena = {0};
    struct run_record record;
    ok(store_get(store, "aaaaaaaa", &arena, &record, &err));
    const struct run_numbers *n = &record.numbers;
    const bool third = version == 3;
    assert_string_equal(record.policy, "lru+next");
    assert_string_equal(record.admit, version == 1 ? "none" : "always");
    assert_string_equal(record.note, version == 1 ? "" : "a remark");
    assert_true(n->bytes_prefetch_useful == (version == 1 ? 2000 : 1200) &&
                n->bytes_prefetch_late == (version == 1 ? 0 : 800) && n->bytes_prefetch_wasted == 1000);
    assert_string_equal(record.kills, third ? "mail(900)" : "");
    assert_true(n->peak_resident_bytes == 900 && n->peak_footprint_bytes == (third ? 901 : 900) &&
                n->peak_file_bytes == (third ? 23 : 0) && n->refaults == (third ? 21 : 0) &&
                n->apps_killed == (third ? 2 : 0) && n->alloc_ns == (third ? 31 : 0) && n->least_hole_bytes == -1);
    assert_true(n->tpot_p99_ns == 340 && n->uncacheable == 1 && record.tokens_per_s == 2.5);
    assert_true(n->load_10_ns == -1 && n->first_layer_ns == -1 && n->parse_ns == 0 && n->turns == 0 &&
                n->hot_at_ns == -1 && isnan(record.tokens_per_s_hot) && isnan(record.perplexity));
    assert_string_equal(record.estimates, "");
    ok(store_get(store, "bbbbbbbb", &arena, &record, &err));
    assert_int_equal(n->outcome, version == 1 ? OUTCOME_KILLED : OUTCOME_FAILED);
    assert_string_equal(n->killed_by, "threshold");
    assert_int_equal(n->ttft_ns, -1);
    assert_int_equal(n->least_hole_bytes, third ? 36 : -1);
    arena_free(&arena);
}

static void check_rows(struct store *store, int version)
{
    check_records(store, version);
    assert_int_equal(query(store, "SELECT count(*) FROM runs"), 3);
    assert_int_equal(query(store, "SELECT sum(id) FROM run"), 6);
    assert_int_equal(query(store, "SELECT count(*) FROM tokens JOIN samples USING (run_key) JOIN blocks USING (run_key)"
                                  " WHERE tokens.experiment = samples.experiment"
                                  " AND blocks.experiment = samples.experiment"),
                     2);
    assert_int_equal(query(store, "SELECT refaults + 10 * major_faults + 100 * bytes_readahead_wasted FROM token WHERE "
                                  "latency_ns = 300 AND bytes_read = 5000 AND turn = 0 AND hot = 0"),
                     version == 3 ? 413 : 0);
    assert_int_equal(query(store, "SELECT count(*) FROM sample WHERE streamed_bytes = 5 AND os_bytes = 6 AND "
                                  "other_apps_bytes = 7 AND flash_bytes_per_s = 11 AND loaded_bytes = 1 AND heat = 0"),
                     1);
    assert_int_equal(
        query(store, "SELECT file_bytes + 100 * zram_bytes + 10000 * external_fragmentation_bytes FROM sample"),
        version == 3 ? 171412 : 0);
    assert_int_equal(query(store, "SELECT (SELECT count(*) FROM app_kill) + (SELECT count(*) FROM turns)"), 0);
    assert_int_equal(query(store, "SELECT count(*) FROM run WHERE setting LIKE '%\"lanes\":4%'"), 1);
    assert_int_equal(query(store, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    assert_int_equal(query(store, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

/* By a writer, or by a reader, and from either journal mode: the rows are there, the schema is that of a new file. */
static void an_old_database_is_brought_up(void **state)
{
    char path[256], new_path[256];
    struct store *store;
    for (int way = 0; way < 4 * OLD_VERSIONS; way++) {
        const int version = 1 + way / 4;
        test_path(*state, "runs.db", path);
        make_old(path, version, way % 4 < 2 ? "" : "PRAGMA journal_mode = WAL");
        ok((way % 2 ? store_open : store_open_read)(path, &store, &err));
        check_rows(store, version);
        ok(store_close(store, &err));
        ok(store_open_read(path, &store, &err));
        check_rows(store, version);
        ok(store_close(store, &err));
        ok(store_open(test_path(*state, "new.db", new_path), &store, &err));
        ok(store_close(store, &err));
        char *brought_up = schema_of(path), *made = schema_of(new_path);
        assert_string_equal(brought_up, made);
        sqlite3_free(brought_up);
        sqlite3_free(made);
        unlink(path);
        unlink(new_path);
    }
}

/* A run of this version can be stored beside the old ones. */
static void new_runs_go_beside_old_ones(void **state)
{
    char path[256];
    struct store *store;
    struct made_up run;
    make_up(&run, 1, "lru", 512 * MADE_MIB, 30);
    for (int version = 1; version <= OLD_VERSIONS; version++) {
        make_old(test_path(*state, "runs.db", path), version, "");
        ok(store_open(path, &store, &err));
        ok(put_made_up(store, &run, &err));
        assert_int_equal(query(store, "SELECT max(id) FROM run"), 6);
        ok(store_close(store, &err));
        unlink(path);
    }
}

/* What cannot be brought up whole stays as it was. */
static void a_failed_step_changes_nothing(void **state)
{
    char path[256];
    struct store *store;
    for (int way = 0; way < 2 * OLD_VERSIONS; way++) {
        /* A row that no check would let in again. */
        make_old(test_path(*state, "runs.db", path), 1 + way / 2,
                 "PRAGMA ignore_check_constraints = ON;"
                 "UPDATE run SET virtual_time_ns = 1 WHERE id = 5");
        char *before = schema_of(path);
        assert_false((way % 2 ? store_open : store_open_read)(path, &store, &err));
        assert_int_equal(err.code, STATUS_IO);
        assert_non_null(strstr(err.text, "cannot bring up to this version"));
        char *after = schema_of(path);
        assert_string_equal(before, after);
        sqlite3_free(after);
        sqlite3_free(before);
        unlink(path);
    }
}

/* In a child without root's right to write everything. */
static void one_that_may_not_be_written_says_so(void **state)
{
    char path[256];
    struct store *store;
    make_old(test_path(*state, "runs.db", path), 2, "");
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(*state, 0777), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(10);
        if (store_open_read(path, &store, &err) || err.code != STATUS_IO || !strstr(err.text, "it is read-only"))
            _exit(11);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Of many that open it at once, one takes the step, and all find it taken. */
static void many_open_an_old_one_at_once(void **state)
{
    char path[256];
    struct store *store;
    make_old(test_path(*state, "runs.db", path), 2, "");
    pid_t children[4];
    for (unsigned i = 0; i < 4; i++)
        if ((children[i] = fork()) == 0)
            _exit((i % 2 ? store_open : store_open_read)(path, &store, &err) && store_close(store, &err) ? 0 : 1);
    for (unsigned i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    ok(store_open_read(path, &store, &err));
    check_rows(store, 2);
    ok(store_close(store, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_old_database_is_brought_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_runs_go_beside_old_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_step_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_may_not_be_written_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_open_an_old_one_at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
