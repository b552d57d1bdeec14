/* The database as a whole, and rows in: runs with their tokens, samples, blocks, kills and processes. */
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
    [STATEMENT_TOKEN] = "INSERT INTO token (run_key, token, phase, latency_ns, stall_ns, accesses, hits, "
                        "bytes_accessed, bytes_read, major_faults, minor_faults, refaults, bytes_readahead_wasted) "
                        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    /* The last sample may fall on the moment of the one before: it shows the later state. */
    [STATEMENT_SAMPLE] = "INSERT OR REPLACE INTO sample (run_key, time_ns, weights_bytes, kv_bytes, activation_bytes, "
                         "runtime_bytes, streamed_bytes, file_bytes, page_tables_bytes, os_bytes, other_apps_bytes, "
                         "zram_bytes, in_flight_bytes, free_bytes, flash_bytes, flash_bytes_per_s, swap_used_bytes, "
                         "internal_fragmentation_bytes, external_fragmentation_bytes, largest_hole_bytes) VALUES (?1, "
                         "?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    [STATEMENT_BLOCK] = "INSERT INTO block (run_key, block, name, accesses, hits, loads, evictions, bytes_read) "
                        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [STATEMENT_KILL] = "INSERT INTO app_kill (run_key, n, time_ns, app, adj, bytes, rule) "
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [STATEMENT_PROCESS] = "INSERT INTO process (run_key, process, major_faults, minor_faults, page_tables_bytes) "
                          "VALUES (?1, ?2, ?3, ?4, ?5)",
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

static sqlite3_stmt *statement(struct store *store, enum statement which)
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

/* Runs a statement that gives no rows; `ok` tells whether all was bound. Resets it. */
static bool finish(sqlite3_stmt *stmt, bool ok)
{
    const bool done = ok && sqlite3_step(stmt) == SQLITE_DONE;
    return sqlite3_reset(stmt) == SQLITE_OK && done;
}

static bool bind_text(sqlite3_stmt *stmt, int index, const char *text)
{
    return sqlite3_bind_text(stmt, index, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

/* Binds `count` integers from ?first on. */
static bool bind_integers(sqlite3_stmt *stmt, int first, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        if (sqlite3_bind_int64(stmt, first + i, values[i]) != SQLITE_OK)
            return false;
    return true;
}

static bool run_simple(struct store *store, enum statement which, const char *run_key)
{
    sqlite3_stmt *stmt = statement(store, which);
    return stmt && finish(stmt, !run_key || bind_text(stmt, 1, run_key));
}

bool store_has(struct store *store, const char *run_key, bool *known, struct error *err)
{
    sqlite3_stmt *stmt = statement(store, STATEMENT_HAS);
    int code = SQLITE_ERROR;
    if (stmt && bind_text(stmt, 1, run_key))
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
        return bind_text(stmt, index, text);
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
    sqlite3_stmt *stmt = statement(store, STATEMENT_RUN);
    bool ok = stmt != NULL;
    int index = 1;
    for (size_t i = 0; ok && i < run_column_count; i++)
        ok = bind_column(stmt, index++, &run_columns[i], record);
    return stmt && finish(stmt, ok && bind_text(stmt, index, config_json));
}

static bool put_member(struct store *store, const char *experiment, const char *run_key)
{
    sqlite3_stmt *stmt = statement(store, STATEMENT_MEMBER);
    return stmt && finish(stmt, bind_text(stmt, 1, experiment) && bind_text(stmt, 2, run_key));
}

enum { TOKEN_NUMBERS = 10, SAMPLE_NUMBERS = 1 + MEMORY_CLASSES + 8 };

static bool put_tokens(struct store *store, const char *run_key, const struct run_result *result)
{
    sqlite3_stmt *stmt = statement(store, STATEMENT_TOKEN);
    bool ok = stmt && bind_text(stmt, 1, run_key);
    for (uint64_t i = 0; ok && i < result->token_count; i++) {
        const struct token_numbers *t = &result->tokens[i];
        const int64_t values[TOKEN_NUMBERS] = {t->latency_ns,
                                               t->stall_ns,
                                               (int64_t)t->accesses,
                                               (int64_t)t->hits,
                                               (int64_t)t->bytes_accessed,
                                               (int64_t)t->bytes_read,
                                               (int64_t)t->major_faults,
                                               (int64_t)t->minor_faults,
                                               (int64_t)t->refaults,
                                               (int64_t)t->bytes_readahead_wasted};
        ok = finish(stmt, sqlite3_bind_int64(stmt, 2, t->token) == SQLITE_OK &&
                              bind_text(stmt, 3, phase_names[t->phase]) &&
                              bind_integers(stmt, 4, values, TOKEN_NUMBERS));
    }
    return ok;
}

/* Bytes a second over a stretch of time, within what SQLite holds. */
static int64_t rate(uint64_t bytes, int64_t ns)
{
    if (ns <= 0)
        return 0;
    const uint64_t whole = bytes / (uint64_t)ns, rest = bytes % (uint64_t)ns;
    uint64_t high, low;
    if (!multiply(whole, 1000000000u, &high) || !multiply(rest, 1000000000u, &low) ||
        !add(high, low / (uint64_t)ns, &high) || high > INT64_MAX)
        return INT64_MAX;
    return (int64_t)high;
}

static bool put_samples(struct store *store, const char *run_key, const struct run_result *result)
{
    sqlite3_stmt *stmt = statement(store, STATEMENT_SAMPLE);
    bool ok = stmt && bind_text(stmt, 1, run_key);
    const struct sample_numbers *before = NULL;
    for (uint32_t i = 0; ok && i < result->sample_count; i++) {
        const struct sample_numbers *s = &result->samples[i];
        int64_t values[SAMPLE_NUMBERS] = {s->time_ns};
        for (int m = 0; m < MEMORY_CLASSES; m++)
            values[1 + m] = (int64_t)s->class_bytes[m];
        int64_t *rest = values + 1 + MEMORY_CLASSES;
        rest[0] = (int64_t)s->in_flight_bytes;
        rest[1] = (int64_t)s->free_bytes;
        rest[2] = (int64_t)s->flash_bytes;
        rest[3] = before ? rate(s->flash_bytes - before->flash_bytes, s->time_ns - before->time_ns) : 0;
        rest[4] = (int64_t)s->swap_used_bytes;
        rest[5] = (int64_t)s->internal_fragmentation_bytes;
        rest[6] = (int64_t)s->external_fragmentation_bytes;
        rest[7] = (int64_t)s->largest_hole_bytes;
        ok = finish(stmt, bind_integers(stmt, 2, values, SAMPLE_NUMBERS));
        before = s;
    }
    return ok;
}

static bool put_blocks(struct store *store, const char *run_key, const struct run_result *result,
                       const struct store_names *names)
{
    sqlite3_stmt *stmt = statement(store, STATEMENT_BLOCK);
    bool ok = stmt && bind_text(stmt, 1, run_key);
    const char *name;
    for (uint32_t i = 0; ok && (name = names->block_name(names->model, i)) != NULL; i++) {
        const struct block_numbers *b = &result->blocks[i];
        const int64_t values[] = {(int64_t)b->accesses, (int64_t)b->hits, (int64_t)b->loads, (int64_t)b->evictions,
                                  (int64_t)b->bytes_read};
        ok = finish(stmt, sqlite3_bind_int64(stmt, 2, i) == SQLITE_OK && bind_text(stmt, 3, name) &&
                              bind_integers(stmt, 4, values, 5));
    }
    return ok;
}

static bool put_kills(struct store *store, const char *run_key, const struct run_result *result,
                      const struct store_names *names)
{
    if (result->kill_count == 0)
        return true;
    sqlite3_stmt *stmt = statement(store, STATEMENT_KILL);
    bool ok = stmt && bind_text(stmt, 1, run_key);
    for (uint32_t i = 0; ok && i < result->kill_count; i++) {
        const struct app_kill *kill = &result->kills[i];
        must(kill->app < names->app_count);
        const struct app_spec *app = &names->apps[kill->app];
        ok = finish(stmt, sqlite3_bind_int64(stmt, 2, i + 1) == SQLITE_OK &&
                              sqlite3_bind_int64(stmt, 3, kill->time_ns) == SQLITE_OK &&
                              bind_text(stmt, 4, app->name) && sqlite3_bind_int64(stmt, 5, app->adj) == SQLITE_OK &&
                              sqlite3_bind_int64(stmt, 6, (int64_t)kill->bytes) == SQLITE_OK &&
                              bind_text(stmt, 7, kill->rule));
    }
    return ok;
}

static bool put_processes(struct store *store, const char *run_key, const struct run_numbers *numbers)
{
    if (numbers->process_count == 0)
        return true;
    sqlite3_stmt *stmt = statement(store, STATEMENT_PROCESS);
    bool ok = stmt && bind_text(stmt, 1, run_key);
    for (uint32_t i = 0; ok && i < numbers->process_count; i++) {
        const struct page_process_counts *p = &numbers->processes[i];
        const int64_t values[] = {(int64_t)i + 1, (int64_t)p->major_faults, (int64_t)p->minor_faults,
                                  (int64_t)p->table_bytes};
        ok = finish(stmt, bind_integers(stmt, 2, values, 4));
    }
    return ok;
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
        put_record(store, record, config_json) && put_member(store, record->experiment, key) &&
        (!result ||
         (put_tokens(store, key, result) && put_samples(store, key, result) && put_blocks(store, key, result, names) &&
          put_kills(store, key, result, names) && put_processes(store, key, &result->numbers))) &&
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
