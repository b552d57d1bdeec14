/* Whose a database is, and its schema: made, checked, and brought up from older versions. The file is store_file.c's,
 * rows are store.c's. */
#ifndef POCKETLOAD_RESULTS_STORE_SCHEMA_H
#define POCKETLOAD_RESULTS_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "results/store.h"

struct store_identity {
    int64_t application, version, objects;
};

/* Reads it in a transaction: another process may be making the schema just now. The objects of a file that is ours are
 * not counted, so that the first page decides alone. False with the connection's error. */
bool store_identify(sqlite3 *db, struct store_identity *id);

/* True for a file that nobody has put anything into. */
bool store_is_empty(const struct store_identity *id);

/* False with STATUS_IO when the file is not ours, or of a version that this program can neither use nor bring up. */
bool store_check(const char *path, const struct store_identity *id, struct error *err);

/* Gives an empty database the schema; one that another process filled meanwhile stays as it is. STATUS_IO. */
bool store_create(const char *path, sqlite3 *db, const char *schema, struct error *err);

/* Brings a database of an older version up to STORE_SCHEMA_VERSION, in one transaction: whatever dies, it is of the one
 * version or of the other. Nothing happens to one that is up to date. STATUS_IO. */
bool store_migrate(const char *path, sqlite3 *db, const struct store_identity *id, const char *schema,
                   struct error *err);

/* The first column of the first row of a statement without parameters; false when there is none. */
bool store_query_integer(sqlite3 *db, const char *sql, int64_t *value);

#endif
