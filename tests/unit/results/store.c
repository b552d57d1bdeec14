/* The store: rows in and out, one at a time, many at once, and what it does with time and order. */
#include "made_up.h"
#include "tests/cmocka_fixed.h"

#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static int set_up(void **state)
{
    *state = test_folder();
    return 0;
}

static int tear_down(void **state)
{
    nftw(*state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

static struct error err;

#define ok(call) good(call, &err)

static void assert_single_file(const char *path)
{
    assert_true(test_exists(path, ""));
    assert_false(test_exists(path, "-wal"));
    assert_false(test_exists(path, "-shm"));
    assert_false(test_exists(path, "-journal"));
}

static bool same_field(const struct column *column, const void *a, const void *b)
{
    const char *x = (const char *)a + column->offset, *y = (const char *)b + column->offset;
    if (column->type != COLUMN_TEXT)
        return memcmp(x, y, 8) == 0;
    const char *s, *t;
    memcpy(&s, x, sizeof s);
    memcpy(&t, y, sizeof t);
    return strcmp(s, t) == 0;
}

static void what_goes_in_comes_out(void **state)
{
    char path[256];
    struct store *store;
    struct made_up run;
    make_up(&run, 1, "clock(bits=2), it's \"quoted\"\n", 512 * MADE_MIB, 30);
    ok(store_open(test_path(*state, "deep/er/runs.db", path), &store, &err));
    ok(put_made_up(store, &run, &err));
    bool known;
    ok(store_has(store, run.key, &known, &err));
    assert_true(known);
    ok(store_has(store, "nobody", &known, &err));
    assert_false(known);
    ok(store_close(store, &err));
    assert_single_file(path);

    ok(store_open_read(path, &store, &err));
    struct arena arena = {0};
    struct run_record read;
    ok(store_get(store, run.key, &arena, &read, &err));
    for (size_t i = 0; i < run_column_count; i++)
        if (!same_field(&run_columns[i], &run.record, &read))
            flunk("%s differs", run_columns[i].name);
    const struct run_numbers *in = &run.record.numbers, *out = &read.numbers;
    assert_int_equal(out->process_count, 2);
    assert_memory_equal(out->processes, in->processes, sizeof out->processes);
    assert_int_equal(query(store, "SELECT count(*) FROM processes WHERE experiment = 'made-up' AND (process, "
                                  "major_faults, minor_faults, page_tables_bytes >> 20) IN (VALUES (1, 21, 22, 23), "
                                  "(2, 24, 25, 26))"),
                     2);
    assert_int_equal(query(store, "SELECT count(*) FROM token"), MADE_TOKENS);
    assert_int_equal(query(store, "SELECT sum(bytes_read) FROM token"), run.record.numbers.bytes_read);
    assert_int_equal(query(store, "SELECT max(weights_bytes) FROM sample"), run.record.numbers.peak_weights_bytes);
    assert_int_equal(query(store, "SELECT count(*) FROM block WHERE name = 'layer03'"), 4);
    assert_int_equal(query(store, "SELECT sum(refaults) = 3 * sum(major_faults) AND sum(minor_faults) = 2 * "
                                  "sum(major_faults) AND sum(bytes_readahead_wasted) = 4096 * sum(major_faults) AND "
                                  "sum(major_faults) > 0 FROM token"),
                     1);
    assert_int_equal(query(store,
                           "SELECT count(*) FROM sample WHERE file_bytes >> 20 = 11 AND page_tables_bytes >> 20 "
                           "= 12 AND os_bytes >> 20 = 1500 AND zram_bytes >> 20 = 13 AND swap_used_bytes >> 20 = "
                           "14 AND internal_fragmentation_bytes >> 20 = 15 AND external_fragmentation_bytes >> 20 = 17 "
                           "AND largest_hole_bytes >> 20 = 16"),
                     MADE_SAMPLES);
    assert_int_equal(query(store,
                           "SELECT count(*) FROM app_kills WHERE experiment = 'made-up' AND (n, time_ns, app, adj,"
                           " bytes >> 20, rule) IN (VALUES (1, 1200000000, 'mail', 900, 200, 'lmkd'), "
                           "(2, 2500000000, 'camera', 0, 900, 'oom'))"),
                     2);
    assert_int_equal(query(store,
                           "SELECT count(*) FROM turns WHERE (turn, restarted, start_ns, idle_ns, "
                           "coalesce(ttft_ns, 0), latency_ns, stall_ns, tokens, bytes_read, bytes_reclaimed) IN "
                           "(VALUES (1, 0, 31, 32, 33, 34, 35, 36, 37, 38), (2, 1, 41, 42, 0, 44, 45, 46, 47, 48))"),
                     2);
    assert_int_equal(query(store, "SELECT count(*) FROM runs JOIN ranking USING (run_key) WHERE place = 1"), 1);
    assert_int_equal(query(store, "SELECT count(*) FROM tokens JOIN samples USING (run_key)"),
                     MADE_TOKENS * MADE_SAMPLES);
    assert_int_equal(query(store, "SELECT json_extract(config, '$.made') = 'up' FROM run"), 1);
    assert_int_equal(query(store, "PRAGMA application_id"), STORE_APPLICATION_ID);
    assert_int_equal(query(store, "PRAGMA user_version"), STORE_SCHEMA_VERSION);
    assert_false(store_get(store, "nobody", &arena, &read, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    arena_free(&arena);
    ok(store_close(store, &err));
}

static void missing_numbers_are_null(void **state)
{
    char path[256];
    struct store *store;
    struct made_up run;
    make_up(&run, 1, "lru", 512 * MADE_MIB, 30);
    run.record.numbers = (struct run_numbers){.outcome = OUTCOME_REJECTED,
                                              .killed_by = "threshold",
                                              .killed_phase = "load",
                                              .ttft_ns = -1,
                                              .tpot_mean_ns = -1,
                                              .tpot_p50_ns = -1,
                                              .tpot_p95_ns = -1,
                                              .tpot_p99_ns = -1,
                                              .least_hole_bytes = -1};
    run.record.quant = "";
    record_finish(&run.record);
    run.result.token_count = 0;
    run.result.sample_count = 0;
    ok(store_open(test_path(*state, "runs.db", path), &store, &err));
    ok(put_made_up(store, &run, &err));
    assert_int_equal(
        query(store,
              "SELECT quant IS NULL AND hit_rate IS NULL AND byte_hit_rate IS NULL AND "
              "ttft_ns IS NULL AND tpot_mean_ns IS NULL AND tokens_per_s IS NULL AND least_hole_bytes IS NULL AND "
              "killed_by = 'threshold' AND outcome = 'rejected' FROM run"),
        1);
    struct arena arena = {0};
    struct run_record read;
    ok(store_get(store, run.key, &arena, &read, &err));
    assert_int_equal(read.numbers.ttft_ns, -1);
    assert_int_equal(read.numbers.outcome, OUTCOME_REJECTED);
    assert_true(isnan(read.hit_rate));
    assert_string_equal(read.quant, "");
    run.record.note = "the small queue is smaller than any block";
    ok(put_made_up(store, &run, &err));
    ok(store_get(store, run.key, &arena, &read, &err));
    assert_string_equal(read.note, run.record.note);
    arena_free(&arena);
    run.record.seed = UINT64_MAX;
    assert_false(put_made_up(store, &run, &err));
    assert_non_null(strstr(err.text, "seed = 18446744073709551615"));
    ok(store_close(store, &err));
}

/* The names of SQL columns, JSON keys and CSV heads come from one table; the schema is text of its own. */
static void schema_has_the_columns_of_the_table(void **state)
{
    char path[256];
    struct store *store;
    ok(store_open(test_path(*state, "runs.db", path), &store, &err));
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(store_handle(store), "SELECT * FROM run", -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_column_count(stmt), run_column_count + 3); /* id, config, setting */
    for (size_t i = 0; i < run_column_count; i++)
        assert_string_equal(sqlite3_column_name(stmt, (int)i + 1), run_columns[i].name);
    sqlite3_finalize(stmt);
    assert_int_equal(sqlite3_prepare_v2(store_handle(store), "SELECT * FROM sample", -1, &stmt, NULL), SQLITE_OK);
    for (int m = 0; m < MEMORY_CLASSES; m++) {
        char name[64];
        snprintf(name, sizeof name, "%s_bytes", memory_class_names[m]);
        assert_string_equal(sqlite3_column_name(stmt, m + 2), name);
    }
    sqlite3_finalize(stmt);
    for (size_t i = 0; i < run_column_count; i++) {
        char sql[256];
        static const char *const types[] = {"TEXT", "INTEGER", "REAL"};
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM pragma_table_info('run') WHERE name = '%s' AND type = '%s' AND \"notnull\" = %d",
                 run_columns[i].name, types[run_columns[i].type], !run_columns[i].nullable);
        if (query(store, sql) != 1)
            flunk("type or NULL of column %s differs from its table", run_columns[i].name);
    }
    assert_int_equal(query(store, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
                                  "AND name NOT LIKE 'sqlite%' AND strict"),
                     8);
    ok(store_close(store, &err));
}

struct seen {
    char keys[8][33];
    size_t count;
};

static bool note(void *context, const struct run_record *record, struct error *e)
{
    (void)e;
    struct seen *seen = context;
    snprintf(seen->keys[seen->count++], 33, "%s", record->run_key);
    return true;
}

static bool refuse(void *context, const struct run_record *record, struct error *e)
{
    (void)context;
    return fail(e, STATUS_CHECK, "not %s", record->policy);
}

static void a_run_stored_again_is_replaced_in_its_place(void **state)
{
    char path[256];
    struct store *store;
    struct made_up runs[3];
    ok(store_open(test_path(*state, "runs.db", path), &store, &err));
    for (unsigned i = 0; i < 3; i++) {
        make_up(&runs[i], i, "lru", 512 * MADE_MIB, 30);
        runs[i].record.experiment = i == 1 ? "other" : "made-up";
        ok(put_made_up(store, &runs[i], &err));
    }
    runs[0].result.token_count = 10;
    runs[0].record.policy = "fifo";
    runs[0].result.kill_count = 1;
    ok(put_made_up(store, &runs[0], &err));
    assert_int_equal(query(store, "SELECT count(*) FROM run"), 3);
    assert_int_equal(query(store, "SELECT count(*) FROM run WHERE policy = 'fifo'"), 1);
    assert_int_equal(query(store, "SELECT count(*) FROM token"), 2 * MADE_TOKENS + 10);
    assert_int_equal(query(store, "SELECT count(*) FROM sample"), 3 * MADE_SAMPLES);
    assert_int_equal(query(store, "SELECT count(*) FROM app_kill"), 2 * 2 + 1);
    struct seen seen = {.count = 0};
    ok(store_each(store, "made-up", note, &seen, &err));
    assert_int_equal(seen.count, 2);
    assert_string_equal(seen.keys[0], runs[0].key);
    assert_string_equal(seen.keys[1], runs[2].key);
    ok(store_each(store, NULL, note, &seen, &err));
    assert_int_equal(seen.count, 5);
    assert_false(store_each(store, NULL, refuse, NULL, &err));
    assert_string_equal(err.text, "not fifo");
    ok(store_close(store, &err));
}

/* A run is stored once, and belongs to every experiment that asked for it. */
static void runs_belong_to_all_who_asked(void **state)
{
    char path[256];
    struct store *store;
    struct arena arena = {0};
    struct made_up runs[2];
    const char *keys[2], *last;
    ok(store_open(test_path(*state, "runs.db", path), &store, &err));
    ok(store_last_experiment(store, &arena, &last, &err));
    assert_null(last);
    for (unsigned i = 0; i < 2; i++) {
        make_up(&runs[i], i, "lru", 512 * MADE_MIB, 30);
        keys[i] = runs[i].key;
        ok(put_made_up(store, &runs[i], &err));
    }
    ok(store_claim(store, "late", &keys[1], 1, &err));
    ok(store_claim(store, "later", &keys[1], 1, &err));
    ok(store_claim(store, "late", &keys[1], 1, &err)); /* to ask again is to be the last */
    struct seen seen = {.count = 0};
    ok(store_each(store, "late", note, &seen, &err));
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.keys[0], runs[1].key);
    ok(store_last_experiment(store, &arena, &last, &err));
    assert_string_equal(last, "late");
    assert_int_equal(query(store, "SELECT count(*) FROM runs WHERE experiment = 'late'"), 1);
    assert_int_equal(query(store, "SELECT count(*) FROM runs"), 4);
    runs[0].record.experiment = "forced";
    ok(put_made_up(store, &runs[0], &err));
    assert_int_equal(query(store, "SELECT count(*) FROM run WHERE experiment = 'forced'"), 0);
    assert_int_equal(query(store, "SELECT count(*) FROM runs WHERE experiment = 'forced'"), 1);
    assert_int_equal(query(store, "SELECT count(*) FROM run"), 2);
    arena_free(&arena);
    ok(store_close(store, &err));
}

static void a_run_that_contradicts_itself_is_refused_whole(void **state)
{
    char path[256];
    struct store *store;
    struct made_up run;
    make_up(&run, 1, "lru", 512 * MADE_MIB, 30);
    ok(store_open(test_path(*state, "runs.db", path), &store, &err));
    run.record.numbers.hits++;
    assert_false(put_made_up(store, &run, &err));
    assert_int_equal(err.code, STATUS_IO);
    run.record.numbers.hits--;
    run.tokens[7].token = 6; /* a token twice: fails after the run's row */
    assert_false(put_made_up(store, &run, &err));
    assert_int_equal(query(store, "SELECT count(*) FROM run"), 0);
    run.tokens[7].token = 7;
    assert_false(store_put(store, &run.record, &run.result, "{no json", &made_up_names, &err));
    assert_non_null(strstr(err.text, "malformed JSON"));
    run.samples[9].time_ns = run.samples[8].time_ns; /* the later one of two samples of one moment stays */
    ok(put_made_up(store, &run, &err));
    assert_int_equal(query(store, "SELECT count(*) FROM sample"), MADE_SAMPLES - 1);
    ok(store_close(store, &err));
}

/* A run that failed is told of, but is asked for again, and then replaced. */
static void a_failed_run_is_stored_but_not_done(void **state)
{
    char path[256];
    struct store *store;
    struct made_up run;
    struct arena arena = {0};
    struct run_record read;
    bool known;
    make_up(&run, 1, "./mine.so", 512 * MADE_MIB, 30);
    const struct run_numbers numbers = run.record.numbers;
    run.record.numbers = (struct run_numbers){.outcome = OUTCOME_FAILED,
                                              .killed_by = "policy 'mine': signal 11",
                                              .killed_phase = "",
                                              .ttft_ns = -1,
                                              .tpot_mean_ns = -1,
                                              .tpot_p50_ns = -1,
                                              .tpot_p95_ns = -1,
                                              .tpot_p99_ns = -1};
    record_finish(&run.record);
    ok(store_open(test_path(*state, "runs.db", path), &store, &err));
    ok(store_put(store, &run.record, NULL, "{}", &made_up_names, &err));
    ok(store_has(store, run.key, &known, &err));
    assert_false(known);
    ok(store_get(store, run.key, &arena, &read, &err));
    assert_int_equal(read.numbers.outcome, OUTCOME_FAILED);
    assert_string_equal(read.numbers.killed_by, "policy 'mine': signal 11");
    assert_int_equal(query(store, "SELECT count(*) FROM ranking WHERE outcome = 'failed'"), 1);
    assert_int_equal(query(store, "SELECT count(*) FROM token"), 0);
    run.record.numbers = numbers;
    record_finish(&run.record);
    ok(put_made_up(store, &run, &err));
    ok(store_has(store, run.key, &known, &err));
    assert_true(known);
    assert_int_equal(query(store, "SELECT count(*) FROM run WHERE outcome = 'completed' AND killed_by IS NULL"), 1);
    assert_int_equal(query(store, "SELECT count(*) FROM token"), MADE_TOKENS);
    arena_free(&arena);
    ok(store_close(store, &err));
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void a_thousand_runs_are_quick(void **state)
{
    char path[256];
    struct store *store;
    struct made_up run;
    const double start = seconds();
    ok(store_open(test_path(*state, "runs.db", path), &store, &err));
    for (unsigned i = 0; i < 1000; i++) {
        make_up(&run, i, "lru", 512 * MADE_MIB, 30);
        ok(put_made_up(store, &run, &err));
    }
    ok(store_close(store, &err));
    const double took = seconds() - start;
    print_message("# 1000 runs of %d rows stored in %.2f s\n", MADE_TOKENS + MADE_SAMPLES + MADE_BLOCKS + 1, took);
    assert_single_file(path);
    /* 2 s is the goal on a quiet machine without sanitizers; this only catches a change of kind. */
    assert_true(took < 40);
}

/* A child that stores `count` runs, numbered from first on, and tells of each by a byte; never returns. */
static void store_in_child(const char *path, unsigned first, unsigned count, int told)
{
    struct store *store;
    struct made_up run;
    bool well = store_open(path, &store, &err);
    for (unsigned i = 0; well && i < count; i++) {
        make_up(&run, first + i, "lru", 512 * MADE_MIB, 30);
        well = put_made_up(store, &run, &err) && (told < 0 || write(told, "", 1) == 1);
    }
    well = well && store_close(store, &err);
    if (!well)
        fprintf(stderr, "child: %s\n", err.text);
    _exit(well ? 0 : 1);
}

static void many_processes_write_one_file(void **state)
{
    char path[256];
    test_path(*state, "runs.db", path);
    for (int round = 0; round < 5; round++) {
        pid_t children[4];
        for (unsigned i = 0; i < 4; i++)
            if ((children[i] = fork()) == 0)
                store_in_child(path, (unsigned)round * 100 + i * 20, 20, -1);
        int status[4];
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(waitpid(children[i], &status[i], 0), children[i]);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(status[i], 0);
        assert_single_file(path);
    }
    struct store *store;
    ok(store_open_read(path, &store, &err));
    assert_int_equal(query(store, "SELECT count(*) FROM run"), 400);
    assert_int_equal(query(store, "SELECT count(*) FROM token"), 400 * MADE_TOKENS);
    ok(store_close(store, &err));
}

/* While another process writes and checkpoints, the file's header may claim more than is there. */
static void a_file_that_is_written_can_be_opened(void **state)
{
    char path[256];
    struct store *store;
    test_path(*state, "runs.db", path);
    struct made_up run;
    make_up(&run, 1, "lru", 512 * MADE_MIB, 30);
    ok(store_open(path, &store, &err));
    ok(put_made_up(store, &run, &err));
    ok(store_close(store, &err));
    const pid_t child = fork();
    if (child == 0)
        store_in_child(path, 100, 400, -1);
    unsigned opened = 0;
    while (waitpid(child, NULL, WNOHANG) == 0) {
        ok(store_open_read(path, &store, &err));
        ok(store_close(store, &err));
        opened++;
    }
    assert_true(opened > 0);
}

static void a_killed_writer_leaves_no_half_run(void **state)
{
    char path[256];
    test_path(*state, "runs.db", path);
    int64_t runs = 0;
    for (int round = 0; round < 8; round++) {
        int told[2];
        char byte;
        assert_int_equal(pipe(told), 0);
        const pid_t child = fork();
        if (child == 0)
            store_in_child(path, (unsigned)round * 100000, 100000, told[1]);
        close(told[1]);
        for (int i = 0; i < 5; i++)
            assert_int_equal(read(told[0], &byte, 1), 1);
        const struct timespec pause = {.tv_nsec = round * 430000L}; /* to die in different places */
        nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        close(told[0]);
        struct store *store;
        if (round % 2 == 0)
            ok(store_open(path, &store, &err));
        else
            ok(store_open_read(path, &store, &err));
        const int64_t now = query(store, "SELECT count(*) FROM run");
        assert_true(now >= runs + 5); /* those that it told of */
        runs = now;
        assert_int_equal(query(store, "SELECT count(*) FROM token"), runs * MADE_TOKENS);
        assert_int_equal(query(store, "SELECT count(*) FROM sample"), runs * MADE_SAMPLES);
        assert_int_equal(query(store, "SELECT count(*) FROM block"), runs * MADE_BLOCKS);
        ok(store_close(store, &err));
        assert_single_file(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_goes_in_comes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_numbers_are_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(schema_has_the_columns_of_the_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_stored_again_is_replaced_in_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_belong_to_all_who_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_that_contradicts_itself_is_refused_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_run_is_stored_but_not_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thousand_runs_are_quick, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_processes_write_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_written_can_be_opened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_killed_writer_leaves_no_half_run, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
