/* What the writing and the reading of the database share. */
#ifndef POCKETLOAD_RESULTS_STORE_ROWS_H
#define POCKETLOAD_RESULTS_STORE_ROWS_H

#include "results/store.h"
#include "results/store_file.h"

enum statement {
    STATEMENT_BEGIN,
    STATEMENT_COMMIT,
    STATEMENT_HAS,
    STATEMENT_RUN,
    STATEMENT_MEMBER,
    STATEMENT_DROP_TOKENS,
    STATEMENT_DROP_SAMPLES,
    STATEMENT_DROP_BLOCKS,
    STATEMENT_DROP_KILLS,
    STATEMENT_DROP_PROCESSES,
    STATEMENT_DROP_TURNS,
    STATEMENT_TOKEN,
    STATEMENT_SAMPLE,
    STATEMENT_BLOCK,
    STATEMENT_KILL,
    STATEMENT_PROCESS,
    STATEMENT_TURN,
    STATEMENTS
};

struct store {
    char *path; /* as SQLite has it */
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS]; /* prepared on first use, kept */
};

/* ---- store.c ---- */
/* A statement, prepared; NULL without memory. */
sqlite3_stmt *store_statement(struct store *store, enum statement which);

/* Runs a statement that gives no rows; `ok` tells whether all was bound. Resets it. */
bool store_finish(sqlite3_stmt *stmt, bool ok);

bool store_bind_text(sqlite3_stmt *stmt, int index, const char *text);

/* Binds `count` integers from ?first on. */
bool store_bind_integers(sqlite3_stmt *stmt, int first, const int64_t *values, int count);

/* ---- store_rows.c ---- */
/* All rows of a run, within the transaction that stores it. */
bool store_put_rows(struct store *store, const char *run_key, const struct run_result *result,
                    const struct store_names *names);

/* ---- store_read.c ---- */
/* Appends "prefix c1, c2, ..." with the run table's columns; the format takes the name twice. */
void store_append_columns(sqlite3_str *sql, const char *prefix, const char *format);

#endif
