/* One record per run: the numbers of a run with the names that tell which run it was.
 *
 * The one table of columns serves SQL, JSON and CSV, so names are the same everywhere. */
#ifndef POCKETLOAD_SIM_RECORD_H
#define POCKETLOAD_SIM_RECORD_H

#include <stddef.h>

#include "sim/engine.h"

struct run_record {
    /* Texts belong to whoever made the record. */
    const char *run_key, *experiment, *device, *model, *quant, *workload, *loader, *policy, *evict, *pin, *prefetch;
    const char *admit, *note, *kills;
    const char *estimates; /* keys of the run whose values are estimates, with blanks between */
    double perplexity;     /* of the model in this quantisation, where its profile knows it; NAN: not known */
    uint64_t budget_bytes; /* 0 where the loader has none */
    uint64_t seed;
    const char *outcome; /* "completed", "killed", "rejected", "failed" */
    struct run_numbers numbers;
    double hit_rate, byte_hit_rate;             /* NAN: nothing was accessed */
    double tokens_per_s;                        /* of the later tokens; NAN: fewer than two */
    double tokens_per_s_cold, tokens_per_s_hot; /* of those begun while the device was not hot, and was */
};

enum column_type { COLUMN_TEXT, COLUMN_INTEGER, COLUMN_REAL };

struct column {
    const char *name;
    enum column_type type;
    size_t offset; /* in the record structure: const char *, int64_t/uint64_t (below 2^63), double */
    bool nullable; /* "" for a text, -1 for an integer, NAN for a real are NULL */
    const char *help;
};

/* The columns of `struct run_record`, in the order of design and of every output. */
extern const struct column run_columns[];
extern const size_t run_column_count;

struct replay_record {
    const char *trace, *policy, *capacity;
    uint64_t capacity_bytes, accesses, hits, misses;
    double hit_rate;
    uint64_t bytes_read;
    double byte_hit_rate;
    uint64_t evictions;
};
extern const struct column replay_columns[];
extern const size_t replay_column_count;

/* Fills the computed fields (outcome, rates) from numbers. */
void record_finish(struct run_record *record);

/* Gives the record copies of its texts in arena ("" for NULL), so that it outlives what they came from. False without
 * memory. */
bool record_keep(struct run_record *record, struct arena *arena);

/* a / b as the nearest double, NAN for b == 0. */
double ratio(uint64_t a, uint64_t b);

#endif
