/* The schema of the database: identity, making, and the step from version to version. */
#include "results/store_schema.h"

#include <stdio.h>

#include "results/store_file.h"

/* Checks and the order of columns cannot be altered, so the tables that changed are made anew and filled from the old
 * ones; the views are made with them. */
static const char set_aside[] =
    "DROP VIEW runs; DROP VIEW ranking; DROP VIEW tokens; DROP VIEW samples; DROP VIEW blocks; "
    "DROP VIEW IF EXISTS app_kills; DROP VIEW IF EXISTS processes; ALTER TABLE run RENAME TO old_run; "
    "ALTER TABLE token RENAME TO old_token; ALTER TABLE sample RENAME TO old_sample";

#define COLUMNS_1                                                                                                      \
    "id, run_key, experiment, device, model, quant, workload, loader, policy, evict, pin, prefetch, budget_bytes, "    \
    "seed, outcome, killed_by, killed_phase, tokens, accesses, hits, delayed_hits, misses, hit_rate, bytes_accessed, " \
    "byte_hit_rate, evictions, bytes_read, bytes_prefetched, bytes_prefetch_wasted, major_faults, minor_faults, "      \
    "peak_memory_bytes, peak_weights_bytes, peak_kv_bytes, peak_activation_bytes, virtual_time_ns, load_ns, "          \
    "compute_ns, stall_ns, idle_ns, ttft_ns, tpot_mean_ns, tpot_p50_ns, tpot_p95_ns, tpot_p99_ns, tokens_per_s, "      \
    "flash_busy_ns, uncacheable, config"
#define COLUMNS_2 "bytes_prefetch_useful, bytes_prefetch_late, admit, note"
/* Of version 3. The runs before it were chunked or read: nothing was mapped, swapped or placed, and all of the app's
 * memory was resident and anonymous. */
#define COLUMNS_3                                                                                                      \
    "peak_resident_bytes, peak_footprint_bytes, refaults, bytes_readahead_wasted, peak_file_bytes, "                   \
    "peak_page_tables_bytes, peak_zram_bytes, bytes_swapped_out, bytes_swapped_in, apps_killed, alloc_failures, "      \
    "alloc_calls, alloc_hole_failures, alloc_ns, alloc_compactions, alloc_moved_bytes, "                               \
    "peak_internal_fragmentation_bytes, peak_external_fragmentation_bytes, kills, least_hole_bytes"
#define VALUES_3 "peak_memory_bytes, peak_memory_bytes, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL"
/* Of version 4. The runs before it loaded in one stage, from a cold start, on a device that got hot by its flash alone
 * and did not tell when. */
#define COLUMNS_4                                                                                                      \
    "parse_ns, stage_alloc_ns, stage_init_ns, bytes_warm, turns, restarts, bytes_reclaimed, drafted_tokens, "          \
    "accepted_tokens, hot_ns"
#define VALUES_4 "0, 0, 0, 0, 0, 0, 0, 0, 0, 0"
#define FILL_RUNS(values_2, values_3)                                                                                  \
    "INSERT INTO run (" COLUMNS_1 ", " COLUMNS_2 ", " COLUMNS_3 ", " COLUMNS_4 ") SELECT " COLUMNS_1 ", " values_2     \
    ", " values_3 ", " VALUES_4 " FROM old_run; "

#define TOKEN_2                                                                                                        \
    "run_key, token, phase, latency_ns, stall_ns, accesses, hits, bytes_accessed, bytes_read, major_faults, "          \
    "minor_faults"
#define TOKEN_3 "refaults, bytes_readahead_wasted"
#define SAMPLE_2                                                                                                       \
    "run_key, time_ns, weights_bytes, kv_bytes, activation_bytes, runtime_bytes, streamed_bytes, os_bytes, "           \
    "other_apps_bytes, in_flight_bytes, free_bytes, flash_bytes, flash_bytes_per_s"
#define SAMPLE_3                                                                                                       \
    "file_bytes, page_tables_bytes, zram_bytes, swap_used_bytes, internal_fragmentation_bytes, "                       \
    "external_fragmentation_bytes, largest_hole_bytes"
/* What had been loaded was not told: what was held is the least that it can have been. */
#define FILL_ROWS(token_3, sample_3)                                                                                   \
    "INSERT INTO token (" TOKEN_2 ", " TOKEN_3 ", turn, hot) SELECT " TOKEN_2 ", " token_3 ", 0, 0 FROM old_token; "   \
    "INSERT INTO sample (" SAMPLE_2 ", " SAMPLE_3 ", loaded_bytes, heat) SELECT " SAMPLE_2 ", " sample_3               \
    ", weights_bytes, 0 FROM old_sample; DROP TABLE old_run; DROP TABLE old_token; DROP TABLE old_sample"

/* By version. The first could not tell late bytes from useful ones (all that was not wasted counts as useful), knew no
 * admission rules, and refused runs that failed. */
static const char *const fill[] = {
    [1] = FILL_RUNS("bytes_prefetched - bytes_prefetch_wasted, 0, 'none', NULL", VALUES_3)
        FILL_ROWS("0, 0", "0, 0, 0, 0, 0, 0, 0"),
    [2] = FILL_RUNS(COLUMNS_2, VALUES_3) FILL_ROWS("0, 0", "0, 0, 0, 0, 0, 0, 0"),
    [3] = FILL_RUNS(COLUMNS_2, COLUMNS_3) FILL_ROWS(TOKEN_3, SAMPLE_3),
};

enum { OLDEST_VERSION = 1 };

static bool execute(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool store_query_integer(sqlite3 *db, const char *sql, int64_t *value)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return false;
    const bool ok = sqlite3_step(stmt) == SQLITE_ROW;
    if (ok)
        *value = sqlite3_column_int64(stmt, 0);
    return sqlite3_finalize(stmt) == SQLITE_OK && ok;
}

static bool read_identity(sqlite3 *db, struct store_identity *id)
{
    id->objects = 0;
    return store_query_integer(db, "PRAGMA application_id", &id->application) &&
           store_query_integer(db, "PRAGMA user_version", &id->version) &&
           (id->application == STORE_APPLICATION_ID ||
            store_query_integer(db, "SELECT count(*) FROM sqlite_schema", &id->objects));
}

bool store_identify(sqlite3 *db, struct store_identity *id)
{
    return execute(db, "BEGIN") && read_identity(db, id) && execute(db, "COMMIT");
}

bool store_is_empty(const struct store_identity *id)
{
    return id->application == 0 && id->version == 0 && id->objects == 0;
}

bool store_check(const char *path, const struct store_identity *id, struct error *err)
{
    if (store_is_empty(id))
        return fail(err, STATUS_IO, "%s: an empty database, no run was ever stored in it", path);
    if (id->application != STORE_APPLICATION_ID)
        return fail(err, STATUS_IO, "%s: a database of another program (application_id %lld, expected %d)", path,
                    (long long)id->application, STORE_APPLICATION_ID);
    if (id->version > STORE_SCHEMA_VERSION)
        return fail(err, STATUS_IO, "%s: written by a newer pocketload (schema version %lld, this one knows %d)", path,
                    (long long)id->version, STORE_SCHEMA_VERSION);
    if (id->version < OLDEST_VERSION)
        return fail(err, STATUS_IO, "%s: unknown schema version %lld, expected %d to %d", path, (long long)id->version,
                    OLDEST_VERSION, STORE_SCHEMA_VERSION);
    return true;
}

/* Ends the transaction that a change of the schema is in. */
static bool end_change(const char *path, sqlite3 *db, bool ok, const char *doing, struct error *err)
{
    if (ok && execute(db, "COMMIT"))
        return true;
    store_file_fail(path, db, doing, err);
    if (!sqlite3_get_autocommit(db))
        execute(db, "ROLLBACK");
    return false;
}

static bool set_version(sqlite3 *db)
{
    char pragmas[96];
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d", STORE_APPLICATION_ID,
             STORE_SCHEMA_VERSION);
    return execute(db, pragmas);
}

/* Under the write lock, so that of two processes that find an empty file one makes the schema. In rollback mode: the
 * header of the main file then always tells whose it is. */
bool store_create(const char *path, sqlite3 *db, const char *schema, struct error *err)
{
    struct store_identity id;
    /* Pages of 8 KiB hold a run's rows in half as many writes. */
    bool ok = execute(db, "PRAGMA page_size = 8192; BEGIN EXCLUSIVE") && read_identity(db, &id);
    if (ok && store_is_empty(&id))
        ok = execute(db, schema) && set_version(db);
    return end_change(path, db, ok, "cannot create", err);
}

bool store_migrate(const char *path, sqlite3 *db, const struct store_identity *id, const char *schema,
                   struct error *err)
{
    if (id->version == STORE_SCHEMA_VERSION)
        return true;
    if (sqlite3_db_readonly(db, "main") == 1)
        return fail(err, STATUS_IO,
                    "%s: written by an older pocketload (schema version %lld), and it is read-only: expected a file "
                    "that can be brought to version %d",
                    path, (long long)id->version, STORE_SCHEMA_VERSION);
    struct store_identity now;
    bool ok = execute(db, "BEGIN IMMEDIATE") && read_identity(db, &now);
    if (ok && now.version < STORE_SCHEMA_VERSION)
        ok = execute(db, set_aside) && execute(db, schema) && execute(db, fill[now.version]) && set_version(db);
    return end_change(path, db, ok, "cannot bring up to this version", err);
}
