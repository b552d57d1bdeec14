/* The blocks of a stored run, as rows: what `policy profile` prints. */
#ifndef POCKETLOAD_RESULTS_BLOCK_ROWS_H
#define POCKETLOAD_RESULTS_BLOCK_ROWS_H

#include "results/store.h"

struct block_row {
    const char *block; /* its name; valid during the call */
    uint64_t accesses, hits, loads, evictions, bytes_read;
};

/* "block", "accesses", ...: the columns of a block_row. */
extern const struct column block_columns[];
extern const size_t block_column_count;

/* Calls back for each block of a run, by its whole key, in the order of their ids. STATUS_IO when they cannot be read,
 * STATUS_USAGE for a run without blocks (rejected, or failed). */
bool store_each_block(struct store *store, const char *run_key,
                      bool (*each)(void *context, const struct block_row *row, struct error *err), void *context,
                      struct error *err);

#endif
