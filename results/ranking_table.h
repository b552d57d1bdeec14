/* The table below a ranking's titles: a row for each run, with the columns that some run has something for. */
#ifndef POCKETLOAD_RESULTS_RANKING_TABLE_H
#define POCKETLOAD_RESULTS_RANKING_TABLE_H

#include "results/ranking.h"

enum { RANKING_HIT_RATE = 2, RANKING_COLUMNS_MAX = 16 }; /* where the hit rate stands, of every table */

struct ranking_table {
    struct grid grid; /* its first row is the head */
    bool shown[RANKING_COLUMNS_MAX];
    bool right[RANKING_COLUMNS_MAX]; /* of the columns that are shown: their cells end at the same place */
};

struct ranking_row {
    const struct run_record *record;
    uint64_t weights_bytes; /* 0: not known */
    bool first;             /* of its budget */
    const char *name, *verdict;
};

/* Chooses the columns and adds the head. The grid is the caller's to free. False without memory. */
bool ranking_table_start(struct ranking_table *table, const struct run_record *records,
                         const struct ranking_bounds *bounds, size_t count);

bool ranking_table_add(struct ranking_table *table, const struct ranking_row *row);

#endif
