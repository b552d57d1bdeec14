/* The database as a file: opening, identity, journal mode. Rows are store.c's. */
#ifndef POCKETLOAD_RESULTS_STORE_FILE_H
#define POCKETLOAD_RESULTS_STORE_FILE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/error.h"

/* The path as SQLite gets it: never one of its special names (":memory:", "file:..."). malloc; NULL without memory. */
char *store_file_path(const char *path);

/* Opens, checks that the file is ours and of our version, and sets the connection up. With `write` it is made when
 * absent, given the schema (`sql`) when empty, and put into WAL. On failure *db is NULL and what was made is gone. */
bool store_file_open(const char *path, bool write, const char *sql, sqlite3 **db, struct error *err);

/* Leaves WAL and closes, so that one file remains once no other process has it open. */
bool store_file_close(const char *path, sqlite3 *db, struct error *err);

/* Sets err to one line: the path, what could not be done, and why, by the connection's last error. Returns false. */
bool store_file_fail(const char *path, sqlite3 *db, const char *doing, struct error *err);

#endif
