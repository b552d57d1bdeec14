/* Reads a run's rows of the table block. */
#include "results/block_rows.h"

#include <sqlite3.h>

const struct column block_columns[] = {
    {"block", COLUMN_TEXT, offsetof(struct block_row, block), false, "name"},
    {"accesses", COLUMN_INTEGER, offsetof(struct block_row, accesses), false, "uses by steps"},
    {"hits", COLUMN_INTEGER, offsetof(struct block_row, hits), false, "of these, with the block there"},
    {"loads", COLUMN_INTEGER, offsetof(struct block_row, loads), false, "times that it was read"},
    {"evictions", COLUMN_INTEGER, offsetof(struct block_row, evictions), false, "times that it was given up"},
    {"bytes_read", COLUMN_INTEGER, offsetof(struct block_row, bytes_read), false, "by all its reads"},
};
const size_t block_column_count = sizeof block_columns / sizeof *block_columns;

static bool read_failed(struct store *store, struct error *err)
{
    return fail(err, STATUS_IO, "cannot read the blocks: %s", sqlite3_errmsg(store_handle(store)));
}

static bool read_row(sqlite3_stmt *stmt, struct block_row *row)
{
    uint64_t *const numbers[] = {&row->accesses, &row->hits, &row->loads, &row->evictions, &row->bytes_read};
    row->block = (const char *)sqlite3_column_text(stmt, 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = (uint64_t)sqlite3_column_int64(stmt, (int)i + 1);
    return row->block != NULL;
}

bool store_each_block(struct store *store, const char *run_key,
                      bool (*each)(void *context, const struct block_row *row, struct error *err), void *context,
                      struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    static const char sql[] = "SELECT name, accesses, hits, loads, evictions, bytes_read FROM block WHERE run_key = ?1 "
                              "ORDER BY block";
    int code = sqlite3_prepare_v2(store_handle(store), sql, -1, &stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(stmt, 1, run_key, -1, SQLITE_STATIC);
    if (code != SQLITE_OK) {
        sqlite3_finalize(stmt);
        return read_failed(store, err);
    }
    size_t count = 0;
    bool good = true;
    while (good && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct block_row row;
        good = read_row(stmt, &row) ? each(context, &row, err) : read_failed(store, err);
        count++;
    }
    if (good && code != SQLITE_DONE)
        good = read_failed(store, err);
    sqlite3_finalize(stmt);
    if (good && count == 0)
        return fail(err, STATUS_USAGE, "the run %s has no blocks: it never started", run_key);
    return good;
}
