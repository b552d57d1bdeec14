/* Miss-ratio curves as records for machines, as a short table for people, and as a figure. */
#ifndef POCKETLOAD_RESULTS_MRC_H
#define POCKETLOAD_RESULTS_MRC_H

#include "results/output.h"

/* What all curves share: the capacities, in the order of the output. */
struct curve_capacity {
    uint64_t amount; /* bytes; with by_objects: blocks */
    bool by_objects; /* blocks of several sizes: they have no bytes */
    double share;    /* of the trace's distinct bytes, or blocks */
};

struct curve_value {
    bool known; /* false: the replay failed, or was not asked for */
    uint64_t misses, bytes_missed;
    const char *note; /* what the policy says of itself, or why it failed; NULL: nothing */
};

struct curves {
    const char *trace;
    bool has_bytes; /* false: the trace has no sizes, and bytes are blocks */
    uint64_t accesses, bytes_accessed;
    const struct curve_capacity *capacities;
    size_t count; /* of capacities */
    const char *const *labels;
    size_t label_count;
    const struct curve_value *values; /* values[label * count + capacity] */
};

/* The columns of a record of `mrc`: trace policy capacity_bytes capacity_share accesses misses miss_ratio
 * byte_miss_ratio note. */
extern const struct column mrc_columns[];
extern const size_t mrc_column_count;

/* All points, policy by policy; those that failed with the reason in place of numbers. */
bool mrc_print_records(FILE *file, enum format format, const struct curves *curves, struct error *err);

/* Miss ratios with a column for each policy, in FORMAT_TABLE or FORMAT_MARKDOWN, of at most MRC_ROWS capacities evenly
 * chosen, the last among them. Returns the rows in *rows. */
enum { MRC_ROWS = 20 };
bool mrc_print_table(FILE *file, enum format format, const struct curves *curves, size_t *rows, struct error *err);

/* Draws the curves with gnuplot: for PATH "folder/name.svg" or "folder/name.png" both folder/name.svg and
 * folder/name.png, and beside them name.gp and name.csv, so that a user can restyle them. `made` is called with the
 * path of each picture. STATUS_USAGE for a name that is not letters, digits, '_', '-' and '.' with one of the endings,
 * for more than MRC_SERIES curves, and where capacities in bytes and in blocks share no axis; STATUS_IO. */
enum { MRC_SERIES = 16 };
bool mrc_plot(const char *path, const struct curves *curves, void (*made)(void *context, const char *path),
              void *context, struct error *err);

/* The checks of mrc_plot that need no curves, so that a user hears of a bad name before all is computed. */
bool mrc_plot_check(const char *path, struct error *err);

#endif
