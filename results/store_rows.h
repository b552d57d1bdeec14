/* What the writing and the reading of rows share. */
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
    STATEMENT_TOKEN,
    STATEMENT_SAMPLE,
    STATEMENT_BLOCK,
    STATEMENT_KILL,
    STATEMENT_PROCESS,
    STATEMENTS
};

struct store {
    char *path; /* as SQLite has it */
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS]; /* prepared on first use, kept */
};

/* Appends "prefix c1, c2, ..." with the run table's columns; the format takes the name twice. */
void store_append_columns(sqlite3_str *sql, const char *prefix, const char *format);

#endif
