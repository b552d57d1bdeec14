/* The database as a whole, and records in. The rows of a run are store_rows.c's. */
#include "results/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "results/store_rows.h"
#include "workloads/model.h"

/* C asks compilers for literals of 4095 bytes only; the schema is longer, and both compilers take it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
static const char schema[] =
#include "schema.inc"
    ;
#pragma GCC diagnostic pop

/* NULL: made from the column table. */
static const char *const statement_texts[STATEMENTS] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_MEMBER] = "INSERT OR REPLACE INTO member (experiment, run_key) VALUES (?1, ?2)",
    [STATEMENT_HAS] = "SELECT 1 FROM run WHERE run_key = ?1 AND outcome <> 'failed'",
    [STATEMENT_DROP_TOKENS] = "DELETE FROM token WHERE run_key = ?1",
    [STATEMENT_DROP_SAMPLES] = "DELETE FROM sample WHERE run_key = ?1",
    [STATEMENT_DROP_BLOCKS] = "DELETE FROM block WHERE run_key = ?1",
    [STATEMENT_DROP_KILLS] = "DELETE FROM app_kill WHERE run_key = ?1",
    [STATEMENT_DROP_PROCESSES] = "DELETE FROM process WHERE run_key = ?1",
    [STATEMENT_DROP_TURNS] = "DELETE FROM turn WHERE run_key = ?1",
    [STATEMENT_TOKEN] = "INSERT INTO token (run_key, token, phase, latency_ns, stall_ns, accesses, hits, "
                        "bytes_accessed, bytes_read, major_faults, minor_faults, refaults, bytes_readahead_wasted, "
                        "turn, hot) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    /* The last sample may fall on the moment of the one before: it shows the later state. */
    [STATEMENT_SAMPLE] = "INSERT OR REPLACE INTO sample (run_key, time_ns, weights_bytes, kv_bytes, activation_bytes, "
                         "runtime_bytes, streamed_bytes, file_bytes, page_tables_bytes, os_bytes, other_apps_bytes, "
                         "zram_bytes, in_flight_bytes, free_bytes, flash_bytes, flash_bytes_per_s, swap_used_bytes, "
                         "internal_fragmentation_bytes, external_fragmentation_bytes, largest_hole_bytes, "
                         "loaded_bytes, heat) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
                         "?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
    [STATEMENT_BLOCK] = "INSERT INTO block (run_key, block, name, accesses, hits, loads, evictions, bytes_read) "
                        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [STATEMENT_KILL] = "INSERT INTO app_kill (run_key, n, time_ns, app, adj, bytes, rule) "
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [STATEMENT_PROCESS] = "INSERT INTO process (run_key, process, major_faults, minor_faults, page_tables_bytes) "
                          "VALUES (?1, ?2, ?3, ?4, ?5)",
    [STATEMENT_TURN] = "INSERT INTO turn (run_key, turn, restarted, start_ns, idle_ns, ttft_ns, latency_ns, stall_ns, "
                       "tokens, bytes_read, bytes_reclaimed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
};

static bool open_store(const char *path, bool write, struct store **out, struct error *err)
{
    *out = NULL;
    if (path[0] == '\0')
        return fail(err, STATUS_IO, "the path of the database is empty");
    struct store *store = calloc(1, sizeof *store);
    char *name = store_file_path(path);
    if (!store || !name) {
        free(store);
        free(name);
        return fail(err, STATUS_IO, "%s: out of memory", path);
    }
    store->path = name;
    if (!store_file_open(name, write, schema, &store->db, err)) {
        free(name);
        free(store);
        return false;
    }
    *out = store;
    return true;
}

bool store_open(const char *path, struct store **store, struct error *err)
{
    return open_store(path, true, store, err);
}

bool store_open_read(const char *path, struct store **store, struct error *err)
{
    return open_store(path, false, store, err);
}

bool store_close(struct store *store, struct error *err)
{
    if (!store)
        return true;
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(store->statements[i]); /* its error was reported when it happened */
    const bool ok = store_file_close(store->path, store->db, err);
    free(store->path);
    free(store);
    return ok;
}

struct sqlite3 *store_handle(struct store *store)
{
    return store->db;
}

const char *store_model_block_name(const void *model, uint32_t block)
{
    const struct model *m = model;
    return block < m->block_count ? model_block_name(m, block) : NULL;
}

/* ---- Statements ---- */

/* A run that is stored again keeps its place in the order. */
static char *run_insert_text(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    store_append_columns(sql, "INSERT INTO run (", "%s");
    sqlite3_str_appendall(sql, ", config) VALUES (");
    for (size_t i = 0; i < run_column_count; i++)
        sqlite3_str_appendall(sql, "?, ");
    sqlite3_str_appendall(sql, "json(?)"); /* refuses what is not JSON */
    store_append_columns(sql, ") ON CONFLICT (run_key) DO UPDATE SET ", "%s = excluded.%s");
    /* The last assignment counts: the experiment stays the one that it was first run for. */
    sqlite3_str_appendall(sql, ", config = excluded.config, experiment = run.experiment");
    return sqlite3_str_finish(sql);
}

sqlite3_stmt *store_statement(struct store *store, enum statement which)
{
    sqlite3_stmt **stmt = &store->statements[which];
    if (!*stmt) {
        char *made = statement_texts[which] ? NULL : run_insert_text();
        const char *text = statement_texts[which] ? statement_texts[which] : made;
        if (text)
            sqlite3_prepare_v3(store->db, text, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
        sqlite3_free(made);
    }
    return *stmt;
}

bool store_finish(sqlite3_stmt *stmt, bool ok)
{
    const bool done = ok && sqlite3_step(stmt) == SQLITE_DONE;
    return sqlite3_reset(stmt) == SQLITE_OK && done;
}

bool store_bind_text(sqlite3_stmt *stmt, int index, const char *text)
{
    return sqlite3_bind_text(stmt, index, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

bool store_bind_integers(sqlite3_stmt *stmt, int first, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        if (sqlite3_bind_int64(stmt, first + i, values[i]) != SQLITE_OK)
            return false;
    return true;
}

static bool run_simple(struct store *store, enum statement which, const char *run_key)
{
    sqlite3_stmt *stmt = store_statement(store, which);
    return stmt && store_finish(stmt, !run_key || store_bind_text(stmt, 1, run_key));
}

bool store_has(struct store *store, const char *run_key, bool *known, struct error *err)
{
    sqlite3_stmt *stmt = store_statement(store, STATEMENT_HAS);
    int code = SQLITE_ERROR;
    if (stmt && store_bind_text(stmt, 1, run_key))
        code = sqlite3_step(stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        store_file_fail(store->path, store->db, "cannot read", err);
    sqlite3_reset(stmt);
    *known = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

/* ---- In ---- */

static bool bind_column(sqlite3_stmt *stmt, int index, const struct column *column, const void *record)
{
    const char *field = (const char *)record + column->offset;
    const char *text;
    int64_t integer;
    double real;
    switch (column->type) {
    case COLUMN_TEXT:
        memcpy(&text, field, sizeof text);
        if (column->nullable && text[0] == '\0')
            return sqlite3_bind_null(stmt, index) == SQLITE_OK;
        return store_bind_text(stmt, index, text);
    case COLUMN_INTEGER:
        memcpy(&integer, field, sizeof integer);
        if (column->nullable && integer < 0)
            return sqlite3_bind_null(stmt, index) == SQLITE_OK;
        return sqlite3_bind_int64(stmt, index, integer) == SQLITE_OK;
    case COLUMN_REAL:
        break;
    }
    memcpy(&real, field, sizeof real);
    return (isnan(real) ? sqlite3_bind_null(stmt, index) : sqlite3_bind_double(stmt, index, real)) == SQLITE_OK;
}

/* Numbers of 2^63 and more would come back negative. */
static bool check_range(const struct run_record *record, struct error *err)
{
    for (size_t i = 0; i < run_column_count; i++) {
        int64_t integer;
        if (run_columns[i].type != COLUMN_INTEGER || run_columns[i].nullable)
            continue;
        memcpy(&integer, (const char *)record + run_columns[i].offset, sizeof integer);
        if (integer < 0)
            return fail(err, STATUS_USAGE, "run %s: %s = %" PRIu64 " cannot be stored, expected at most %" PRId64,
                        record->run_key, run_columns[i].name, (uint64_t)integer, INT64_MAX);
    }
    return true;
}

static bool put_record(struct store *store, const struct run_record *record, const char *config_json)
{
    sqlite3_stmt *stmt = store_statement(store, STATEMENT_RUN);
    bool ok = stmt != NULL;
    int index = 1;
    for (size_t i = 0; ok && i < run_column_count; i++)
        ok = bind_column(stmt, index++, &run_columns[i], record);
    return stmt && store_finish(stmt, ok && store_bind_text(stmt, index, config_json));
}

static bool put_member(struct store *store, const char *experiment, const char *run_key)
{
    sqlite3_stmt *stmt = store_statement(store, STATEMENT_MEMBER);
    return stmt && store_finish(stmt, store_bind_text(stmt, 1, experiment) && store_bind_text(stmt, 2, run_key));
}

/* Names the fault and ends the transaction that it happened in; returns false. */
static bool give_up(struct store *store, struct error *err)
{
    store_file_fail(store->path, store->db, "cannot store a run", err);
    if (!sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

bool store_put(struct store *store, const struct run_record *record, const struct run_result *result,
               const char *config_json, const struct store_names *names, struct error *err)
{
    const char *key = record->run_key;
    if (!check_range(record, err))
        return false;
    if (run_simple(store, STATEMENT_BEGIN, NULL) && run_simple(store, STATEMENT_DROP_TOKENS, key) &&
        run_simple(store, STATEMENT_DROP_SAMPLES, key) && run_simple(store, STATEMENT_DROP_BLOCKS, key) &&
        run_simple(store, STATEMENT_DROP_KILLS, key) && run_simple(store, STATEMENT_DROP_PROCESSES, key) &&
        run_simple(store, STATEMENT_DROP_TURNS, key) && put_record(store, record, config_json) &&
        put_member(store, record->experiment, key) && (!result || store_put_rows(store, key, result, names)) &&
        run_simple(store, STATEMENT_COMMIT, NULL))
        return true;
    return give_up(store, err);
}

bool store_claim(struct store *store, const char *experiment, const char *const *run_keys, size_t count,
                 struct error *err)
{
    bool ok = run_simple(store, STATEMENT_BEGIN, NULL);
    for (size_t i = 0; ok && i < count; i++)
        ok = put_member(store, experiment, run_keys[i]);
    return (ok && run_simple(store, STATEMENT_COMMIT, NULL)) || give_up(store, err);
}
