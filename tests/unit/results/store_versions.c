/* Databases that older versions made are brought up to this one, whole or not at all. */
#include "made_up.h"
#include "tests/cmocka_fixed.h"

#include <sys/stat.h>
#include <sys/wait.h>

static struct error err;

#define ok(call) good(call, &err)

/* The schema of version 1, as it was. */
/* clang-format off */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
static const char schema_1[] =
    "-- The database of runs, schema version 1. Sizes are bytes, times are nanoseconds of virtual time.\n"
    "-- The columns of run are those of sim/record.c; docs and outputs use the same names.\n"
    "\n"
    "CREATE TABLE run (\n"
    "    id INTEGER PRIMARY KEY, -- in the order of first storing\n"
    "    run_key TEXT NOT NULL UNIQUE,\n"
    "    experiment TEXT NOT NULL, -- that it was first run for; see member\n"
    "    device TEXT NOT NULL,\n"
    "    model TEXT NOT NULL,\n"
    "    quant TEXT,\n"
    "    workload TEXT NOT NULL,\n"
    "    loader TEXT NOT NULL,\n"
    "    policy TEXT NOT NULL,\n"
    "    evict TEXT NOT NULL,\n"
    "    pin TEXT NOT NULL,\n"
    "    prefetch TEXT NOT NULL,\n"
    "    budget_bytes INTEGER NOT NULL,\n"
    "    seed INTEGER NOT NULL,\n"
    "    outcome TEXT NOT NULL CHECK (outcome IN ('completed', 'killed', 'rejected')),\n"
    "    killed_by TEXT,\n"
    "    killed_phase TEXT,\n"
    "    tokens INTEGER NOT NULL,\n"
    "    accesses INTEGER NOT NULL,\n"
    "    hits INTEGER NOT NULL,\n"
    "    delayed_hits INTEGER NOT NULL,\n"
    "    misses INTEGER NOT NULL,\n"
    "    hit_rate REAL,\n"
    "    bytes_accessed INTEGER NOT NULL,\n"
    "    byte_hit_rate REAL,\n"
    "    evictions INTEGER NOT NULL,\n"
    "    bytes_read INTEGER NOT NULL,\n"
    "    bytes_prefetched INTEGER NOT NULL,\n"
    "    bytes_prefetch_wasted INTEGER NOT NULL,\n"
    "    major_faults INTEGER NOT NULL,\n"
    "    minor_faults INTEGER NOT NULL,\n"
    "    peak_memory_bytes INTEGER NOT NULL,\n"
    "    peak_weights_bytes INTEGER NOT NULL,\n"
    "    peak_kv_bytes INTEGER NOT NULL,\n"
    "    peak_activation_bytes INTEGER NOT NULL,\n"
    "    virtual_time_ns INTEGER NOT NULL,\n"
    "    load_ns INTEGER NOT NULL,\n"
    "    compute_ns INTEGER NOT NULL,\n"
    "    stall_ns INTEGER NOT NULL,\n"
    "    idle_ns INTEGER NOT NULL,\n"
    "    ttft_ns INTEGER,\n"
    "    tpot_mean_ns INTEGER,\n"
    "    tpot_p50_ns INTEGER,\n"
    "    tpot_p95_ns INTEGER,\n"
    "    tpot_p99_ns INTEGER,\n"
    "    tokens_per_s REAL,\n"
    "    flash_busy_ns INTEGER NOT NULL,\n"
    "    uncacheable INTEGER NOT NULL,\n"
    "    config TEXT NOT NULL,\n"
    "    -- Runs with equal settings differ in experiment, seed, policy and budget only: the config's parts from device up to\n"
    "    -- the policy, without loader.budget. Cut out as text, for SQLite trusts no JSON function in a schema.\n"
    "    setting TEXT NOT NULL AS (\n"
    "        substr(config, 1, instr(config, ',\"experiment\":')) || replace(\n"
    "            substr(config, instr(config, '\"device\":'), instr(config, ',\"policy\":') - instr(config, '\"device\":')),\n"
    "            '\"budget\":' || budget_bytes || ',', '')\n"
    "    ) VIRTUAL,\n"
    "    CHECK (accesses = hits + delayed_hits + misses),\n"
    "    CHECK (virtual_time_ns = load_ns + compute_ns + stall_ns + idle_ns)\n"
    ") STRICT;\n"
    "\n"
    "-- Which experiments asked for a run: a run is computed and stored once, however many they are.\n"
    "CREATE TABLE member (\n"
    "    id INTEGER PRIMARY KEY, -- rises with each asking\n"
    "    experiment TEXT NOT NULL,\n"
    "    run_key TEXT NOT NULL,\n"
    "    UNIQUE (experiment, run_key)\n"
    ") STRICT;\n"
    "\n"
    "CREATE TABLE token (\n"
    "    run_key TEXT NOT NULL,\n"
    "    token INTEGER NOT NULL,\n"
    "    phase TEXT NOT NULL,\n"
    "    latency_ns INTEGER NOT NULL,\n"
    "    stall_ns INTEGER NOT NULL,\n"
    "    accesses INTEGER NOT NULL,\n"
    "    hits INTEGER NOT NULL,\n"
    "    bytes_accessed INTEGER NOT NULL,\n"
    "    bytes_read INTEGER NOT NULL,\n"
    "    major_faults INTEGER NOT NULL DEFAULT 0, -- the chunked and read loaders take no faults\n"
    "    minor_faults INTEGER NOT NULL DEFAULT 0,\n"
    "    PRIMARY KEY (run_key, token, phase)\n"
    ") STRICT, WITHOUT ROWID;\n"
    "\n"
    "CREATE TABLE sample (\n"
    "    run_key TEXT NOT NULL,\n"
    "    time_ns INTEGER NOT NULL,\n"
    "    weights_bytes INTEGER NOT NULL,\n"
    "    kv_bytes INTEGER NOT NULL,\n"
    "    activation_bytes INTEGER NOT NULL,\n"
    "    runtime_bytes INTEGER NOT NULL,\n"
    "    streamed_bytes INTEGER NOT NULL, -- blocks read for the running step without being kept\n"
    "    os_bytes INTEGER NOT NULL,\n"
    "    other_apps_bytes INTEGER NOT NULL,\n"
    "    in_flight_bytes INTEGER NOT NULL, -- of weights_bytes, what is reserved and not yet there\n"
    "    free_bytes INTEGER NOT NULL,\n"
    "    flash_bytes INTEGER NOT NULL,       -- moved since the start\n"
    "    flash_bytes_per_s INTEGER NOT NULL, -- since the sample before\n"
    "    PRIMARY KEY (run_key, time_ns)\n"
    ") STRICT, WITHOUT ROWID;\n"
    "\n"
    "CREATE TABLE block (\n"
    "    run_key TEXT NOT NULL,\n"
    "    block INTEGER NOT NULL,\n"
    "    name TEXT NOT NULL,\n"
    "    accesses INTEGER NOT NULL,\n"
    "    hits INTEGER NOT NULL,\n"
    "    loads INTEGER NOT NULL,\n"
    "    evictions INTEGER NOT NULL,\n"
    "    bytes_read INTEGER NOT NULL,\n"
    "    PRIMARY KEY (run_key, block)\n"
    ") STRICT, WITHOUT ROWID;\n"
    "\n"
    "-- In the views a run appears once for each experiment that asked for it.\n"
    "CREATE VIEW runs AS\n"
    "SELECT run_key, member.experiment, device, model, quant, workload, loader, policy, budget_bytes / 1048576.0 AS budget_mib, seed,\n"
    "    outcome, killed_by, killed_phase, tokens, hit_rate, ttft_ns / 1e9 AS ttft_s, tpot_mean_ns / 1e6 AS tpot_ms, tokens_per_s,\n"
    "    CASE WHEN virtual_time_ns > 0 THEN 1.0 * (load_ns + stall_ns) / virtual_time_ns END AS waiting_share,\n"
    "    CASE WHEN tokens > 0 THEN bytes_read / 1048576.0 / tokens END AS read_mib_per_token,\n"
    "    peak_memory_bytes / 1048576.0 AS peak_memory_mib, virtual_time_ns / 1e9 AS virtual_time_s\n"
    "FROM run JOIN member USING (run_key) ORDER BY member.experiment, run.id;\n"
    "\n"
    "-- Best first: completed before killed, then the least time per token, then the least time to the first token.\n"
    "-- Places are among runs of one setting.\n"
    "CREATE VIEW ranking AS\n"
    "SELECT rank() OVER (\n"
    "        PARTITION BY member.experiment, device, model, quant, workload, loader, setting, budget_bytes, seed\n"
    "        ORDER BY outcome <> 'completed', tpot_mean_ns IS NULL, tpot_mean_ns, ttft_ns IS NULL, ttft_ns\n"
    "    ) AS place, policy, budget_bytes / 1048576.0 AS budget_mib, hit_rate, ttft_ns / 1e9 AS ttft_s,\n"
    "    tpot_mean_ns / 1e6 AS tpot_ms, tokens_per_s, outcome, member.experiment, device, model, quant, workload, loader, seed, run_key\n"
    "FROM run JOIN member USING (run_key)\n"
    "ORDER BY member.experiment, device, model, quant, workload, loader, setting, budget_bytes, seed, place, run.id;\n"
    "\n"
    "CREATE VIEW tokens AS\n"
    "SELECT member.experiment, run.device, run.model, run.quant, run.policy, run.budget_bytes, run.seed, token.*\n"
    "FROM token JOIN run USING (run_key) JOIN member USING (run_key);\n"
    "\n"
    "CREATE VIEW samples AS\n"
    "SELECT member.experiment, run.device, run.model, run.quant, run.policy, run.budget_bytes, run.seed, sample.*\n"
    "FROM sample JOIN run USING (run_key) JOIN member USING (run_key);\n"
    "\n"
    "CREATE VIEW blocks AS\n"
    "SELECT member.experiment, run.device, run.model, run.quant, run.policy, run.budget_bytes, run.seed, block.*\n"
    "FROM block JOIN run USING (run_key) JOIN member USING (run_key);\n";
#pragma GCC diagnostic pop
/* clang-format on */

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

static void make_old(const char *path, const char *more)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    const char *const texts[] = {schema_1, rows_1, more};
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

static void check_rows(struct store *store)
{
    struct arena arena = {0};
    struct run_record record;
    ok(store_get(store, "aaaaaaaa", &arena, &record, &err));
    const struct run_numbers *n = &record.numbers;
    assert_string_equal(record.policy, "lru+next");
    assert_string_equal(record.admit, "none");
    assert_string_equal(record.note, "");
    assert_true(n->bytes_prefetch_useful == 2000 && n->bytes_prefetch_late == 0 && n->bytes_prefetch_wasted == 1000);
    assert_true(n->tpot_p99_ns == 340 && n->uncacheable == 1 && record.tokens_per_s == 2.5);
    ok(store_get(store, "bbbbbbbb", &arena, &record, &err));
    assert_int_equal(n->outcome, OUTCOME_KILLED);
    assert_string_equal(n->killed_by, "threshold");
    assert_int_equal(n->ttft_ns, -1);
    arena_free(&arena);
    assert_int_equal(query(store, "SELECT count(*) FROM runs"), 3);
    assert_int_equal(query(store, "SELECT sum(id) FROM run"), 6);
    assert_int_equal(query(store, "SELECT count(*) FROM tokens JOIN samples USING (run_key) JOIN blocks USING (run_key)"
                                  " WHERE tokens.experiment = samples.experiment"
                                  " AND blocks.experiment = samples.experiment"),
                     2);
    assert_int_equal(query(store, "SELECT count(*) FROM run WHERE setting LIKE '%\"lanes\":4%'"), 1);
    assert_int_equal(query(store, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    assert_int_equal(query(store, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

/* By a writer, or by a reader, and from either journal mode: the rows are there, the schema is that of a new file. */
static void an_old_database_is_brought_up(void **state)
{
    char path[256], new_path[256];
    struct store *store;
    for (int way = 0; way < 4; way++) {
        test_path(*state, "runs.db", path);
        make_old(path, way < 2 ? "" : "PRAGMA journal_mode = WAL");
        ok((way % 2 ? store_open : store_open_read)(path, &store, &err));
        check_rows(store);
        ok(store_close(store, &err));
        ok(store_open_read(path, &store, &err));
        check_rows(store);
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
    make_old(test_path(*state, "runs.db", path), "");
    ok(store_open(path, &store, &err));
    ok(put_made_up(store, &run, &err));
    assert_int_equal(query(store, "SELECT max(id) FROM run"), 6);
    ok(store_close(store, &err));
}

/* What cannot be brought up whole stays as it was. */
static void a_failed_step_changes_nothing(void **state)
{
    char path[256];
    struct store *store;
    /* A row that no check would let in again. */
    make_old(test_path(*state, "runs.db", path), "PRAGMA ignore_check_constraints = ON;"
                                                 "UPDATE run SET virtual_time_ns = 1 WHERE id = 5");
    char *before = schema_of(path);
    for (int write = 0; write < 2; write++) {
        assert_false((write ? store_open : store_open_read)(path, &store, &err));
        assert_int_equal(err.code, STATUS_IO);
        assert_non_null(strstr(err.text, "cannot bring up to this version"));
        char *after = schema_of(path);
        assert_string_equal(before, after);
        sqlite3_free(after);
    }
    sqlite3_free(before);
}

/* In a child without root's right to write everything. */
static void one_that_may_not_be_written_says_so(void **state)
{
    char path[256];
    struct store *store;
    make_old(test_path(*state, "runs.db", path), "");
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
    make_old(test_path(*state, "runs.db", path), "");
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
    check_rows(store);
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
