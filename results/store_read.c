/* Rows out of the database: runs as records. */
#include <math.h>
#include <string.h>

#include "results/store_rows.h"

void store_append_columns(sqlite3_str *sql, const char *prefix, const char *format)
{
    for (size_t i = 0; i < run_column_count; i++) {
        sqlite3_str_appendall(sql, i == 0 ? prefix : ", ");
        sqlite3_str_appendf(sql, format, run_columns[i].name, run_columns[i].name);
    }
}

/* Texts point into the statement. */
static bool read_record(sqlite3_stmt *stmt, struct run_record *record)
{
    *record = (struct run_record){0};
    for (size_t i = 0; i < run_column_count; i++) {
        const struct column *column = &run_columns[i];
        char *field = (char *)record + column->offset;
        const bool null = sqlite3_column_type(stmt, (int)i) == SQLITE_NULL;
        if (column->type == COLUMN_TEXT) {
            const char *text = null ? "" : (const char *)sqlite3_column_text(stmt, (int)i);
            if (!text)
                return false;
            memcpy(field, &text, sizeof text);
        } else if (column->type == COLUMN_INTEGER) {
            const int64_t integer = null ? -1 : sqlite3_column_int64(stmt, (int)i);
            memcpy(field, &integer, sizeof integer);
        } else {
            const double real = null ? (double)NAN : sqlite3_column_double(stmt, (int)i);
            memcpy(field, &real, sizeof real);
        }
    }
    for (int i = 0; i < OUTCOMES; i++)
        if (strcmp(record->outcome, outcome_names[i]) == 0)
            record->numbers.outcome = (enum outcome)i;
    return true;
}

static sqlite3_stmt *select_runs(struct store *store, const char *condition, const char *value)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_str *sql = sqlite3_str_new(NULL);
    store_append_columns(sql, "SELECT ", "%s");
    sqlite3_str_appendf(sql, " FROM run WHERE %s ORDER BY id", condition);
    char *text = sqlite3_str_finish(sql);
    if (text && sqlite3_prepare_v2(store->db, text, -1, &stmt, NULL) == SQLITE_OK && value &&
        sqlite3_bind_text(stmt, 1, value, -1, SQLITE_STATIC) != SQLITE_OK) {
        sqlite3_finalize(stmt);
        stmt = NULL;
    }
    sqlite3_free(text);
    return stmt;
}

bool store_each(struct store *store, const char *experiment,
                bool (*each)(void *context, const struct run_record *record, struct error *err), void *context,
                struct error *err)
{
    sqlite3_stmt *stmt = select_runs(
        store, experiment ? "run_key IN (SELECT run_key FROM member WHERE experiment = ?1)" : "1", experiment);
    int code = stmt ? SQLITE_ROW : SQLITE_ERROR;
    bool ok = true;
    while (ok && code == SQLITE_ROW && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct run_record record;
        if (!read_record(stmt, &record)) {
            ok = fail(err, STATUS_IO, "%s: out of memory", store->path);
            break;
        }
        if (experiment)
            record.experiment = experiment;
        ok = each(context, &record, err);
    }
    if (ok && code != SQLITE_DONE)
        ok = store_file_fail(store->path, store->db, "cannot read", err);
    sqlite3_finalize(stmt);
    return ok;
}

bool store_last_experiment(struct store *store, struct arena *arena, const char **name, struct error *err)
{
    sqlite3_stmt *stmt;
    *name = NULL;
    int code = sqlite3_prepare_v2(store->db, "SELECT experiment FROM member ORDER BY id DESC LIMIT 1", -1, &stmt, NULL);
    bool ok = true;
    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        *name = arena_strdup(arena, (const char *)sqlite3_column_text(stmt, 0));
        ok = *name || fail(err, STATUS_IO, "%s: out of memory", store->path);
    } else if (code != SQLITE_DONE) {
        ok = store_file_fail(store->path, store->db, "cannot read", err);
    }
    sqlite3_finalize(stmt);
    return ok;
}

/* The first row of a statement; *found false when there is none. */
static bool first_record(struct store *store, sqlite3_stmt *stmt, struct arena *arena, struct run_record *record,
                         bool *found, struct error *err)
{
    const int code = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
    *found = code == SQLITE_ROW;
    if (!*found && code != SQLITE_DONE)
        return store_file_fail(store->path, store->db, "cannot read", err);
    return !*found || (read_record(stmt, record) && record_keep(record, arena)) ||
           fail(err, STATUS_IO, "%s: out of memory", store->path);
}

/* The only run whose key begins so. */
static bool get_by_prefix(struct store *store, const char *prefix, struct arena *arena, struct run_record *record,
                          bool *found, struct error *err)
{
    /* Hex digits alone: nothing that GLOB takes for a pattern. */
    sqlite3_stmt *stmt = select_runs(store, "run_key GLOB ?1 || '*'", prefix);
    bool ok = first_record(store, stmt, arena, record, found, err);
    if (ok && *found) {
        const int code = sqlite3_step(stmt);
        if (code == SQLITE_ROW)
            ok = fail(err, STATUS_USAGE, "%s: the keys of several runs begin with %s; expected more digits",
                      store->path, prefix);
        else if (code != SQLITE_DONE)
            ok = store_file_fail(store->path, store->db, "cannot read", err);
    }
    sqlite3_finalize(stmt);
    return ok;
}

/* What each process of a run did. */
static bool read_processes(struct store *store, struct run_record *record, struct error *err)
{
    static const char sql[] = "SELECT major_faults, minor_faults, page_tables_bytes FROM process WHERE run_key = ?1 "
                              "ORDER BY process";
    struct run_numbers *numbers = &record->numbers;
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK && (code = sqlite3_bind_text(stmt, 1, record->run_key, -1, SQLITE_STATIC)) == SQLITE_OK)
        code = sqlite3_step(stmt);
    for (; code == SQLITE_ROW && numbers->process_count < PAGE_PROCESSES_MAX; code = sqlite3_step(stmt))
        numbers->processes[numbers->process_count++] =
            (struct page_process_counts){.major_faults = (uint64_t)sqlite3_column_int64(stmt, 0),
                                         .minor_faults = (uint64_t)sqlite3_column_int64(stmt, 1),
                                         .table_bytes = (uint64_t)sqlite3_column_int64(stmt, 2)};
    const bool ok =
        code == SQLITE_ROW || code == SQLITE_DONE || store_file_fail(store->path, store->db, "cannot read", err);
    sqlite3_finalize(stmt);
    return ok;
}

bool store_get(struct store *store, const char *run_key, struct arena *arena, struct run_record *record,
               struct error *err)
{
    sqlite3_stmt *stmt = select_runs(store, "run_key = ?1", run_key);
    bool found;
    bool ok = first_record(store, stmt, arena, record, &found, err);
    sqlite3_finalize(stmt);
    if (ok && !found && run_key[strspn(run_key, "0123456789abcdef")] == '\0') {
        if (strlen(run_key) < RUN_KEY_PREFIX_MIN)
            return fail(err, STATUS_USAGE, "%s: no run with the key %s; expected at least its first %d digits",
                        store->path, run_key, RUN_KEY_PREFIX_MIN);
        ok = get_by_prefix(store, run_key, arena, record, &found, err);
    }
    return ok && (found || fail(err, STATUS_USAGE, "%s: no run with the key %s", store->path, run_key)) &&
           read_processes(store, record, err);
}
