/* The database of runs: SQLite, schema in schema.sql.
 *
 * A run is in the file whole or not at all, whatever dies; many processes may write one file; when the program ends the
 * database is a single file (no -wal, no -shm). Every return code is checked: a result that could not be stored is an
 * error. */
#ifndef POCKETLOAD_RESULTS_STORE_H
#define POCKETLOAD_RESULTS_STORE_H

#include "sim/record.h"

struct store;

enum { STORE_APPLICATION_ID = 0x506c6f64 }; /* "Plod" */
enum { STORE_SCHEMA_VERSION = 4 };

/* Opens for writing, and makes the file and its folder when absent. A file of an older schema version is brought up to
 * this one. A file that is not ours (application_id), of a newer version, or unreadable is STATUS_IO. */
bool store_open(const char *path, struct store **store, struct error *err);
/* Opens for reading only; a missing file is STATUS_IO. One of an older version is brought up all the same. */
bool store_open_read(const char *path, struct store **store, struct error *err);
/* Leaves WAL and closes. STATUS_IO when that fails; the store is gone in any case. NULL is fine. */
bool store_close(struct store *store, struct error *err);

/* True in *known when a run with that key is stored; one that failed is to be run again, and does not count. */
bool store_has(struct store *store, const char *run_key, bool *known, struct error *err);

/* The name of block i for the block table; NULL when there are only i blocks, which tells how many a result has. */
typedef const char *store_block_name(const void *model, uint32_t block);

/* The one to pass with a `const struct model *`. */
store_block_name store_model_block_name;

/* Names that a result's numbers stand for. */
struct store_names {
    store_block_name *block_name;
    const void *model;           /* handed to block_name */
    const struct app_spec *apps; /* that kills of other apps count in */
    uint32_t app_count;
};

/* Writes run, tokens, samples, blocks, kills and processes in one transaction; a run with the same key is replaced.
 * config_json is the effective config. result NULL: a run that failed and has a record alone. */
bool store_put(struct store *store, const struct run_record *record, const struct run_result *result,
               const char *config_json, const struct store_names *names, struct error *err);

/* Tells that an experiment asks for runs that are stored already: from now on store_each finds them under its name too
 * (store_put does that for the record's own experiment). One transaction. */
bool store_claim(struct store *store, const char *experiment, const char *const *run_keys, size_t count,
                 struct error *err);

/* The experiment that asked last; NULL in *name when there is none. The text lives in arena. */
bool store_last_experiment(struct store *store, struct arena *arena, const char **name, struct error *err);

/* Calls back for each stored run that an experiment asked for (its records then bear that name; NULL: all runs), in the
 * order of first storing; texts are valid during the call. What is not a column of the record (numbers.bytes_hit,
 * tpot_total_ns, tpot_count, process_count) reads as 0. */
bool store_each(struct store *store, const char *experiment,
                bool (*each)(void *context, const struct run_record *record, struct error *err), void *context,
                struct error *err);

/* Reads one run by its key, or by the first hex digits of it when no other key begins so (STATUS_USAGE when there is
 * none, or several), with what its processes did; texts live in arena. */
enum { RUN_KEY_PREFIX_MIN = 6 };
bool store_get(struct store *store, const char *run_key, struct arena *arena, struct run_record *record,
               struct error *err);

/* The SQLite handle, for the plots' queries. */
struct sqlite3;
struct sqlite3 *store_handle(struct store *store);

#endif
