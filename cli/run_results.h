/* The results of `run`: records in grid order, whether they were computed now or found in the database. */
#ifndef POCKETLOAD_CLI_RUN_RESULTS_H
#define POCKETLOAD_CLI_RUN_RESULTS_H

#include <signal.h>

#include "base/arena.h"
#include "results/output.h"
#include "results/ranking.h"
#include "results/store.h"
#include "sim/experiment.h"

enum { TEXTS_SEEN_MAX = 256 };

struct run_results {
    struct experiment *experiment;
    const volatile sig_atomic_t *stop; /* not 0: the user wants an end */
    const char *db;                    /* NULL: nothing is stored */
    struct store *store;               /* opened when the file is there, or with the first result */
    struct arena arena;                /* texts of the records */
    size_t count;                      /* of runs that this process answers for, in grid order */
    size_t *indices;                   /* into the experiment's runs */
    struct run_record *records;
    bool *has_record;
    struct prepared prepared;          /* for notes, and for models that come with a trace */
    bool has_model;                    /* the model of the run before, for records: most runs share it */
    const struct run_config *model_of; /* whose it is */
    struct model model;
    size_t computed, failed; /* now, not those that were stored already */
    int status;              /* exit code of the worst failure so far */
    /* Hashes of the lines printed so far: a fault that all runs share is told once. */
    uint64_t seen[TEXTS_SEEN_MAX];
    size_t seen_count;
};

/* Takes every runs `shard` (1 .. shards) of `shards`, and opens the database when it exists. Once *stop is
 * not zero, what takes long ends early. */
bool results_start(struct run_results *results, struct experiment *experiment, const char *db, uint64_t shard,
                   uint64_t shards, const volatile sig_atomic_t *stop, struct error *err);

/* Reads what is stored already; *todo receives the places (in indices) of the others. With `force` that is all. */
bool results_known(struct run_results *results, bool force, size_t *todo, size_t *todo_count, struct error *err);

/* Makes the record of a run that was computed, and stores it. */
bool results_add(struct run_results *results, size_t place, const struct run_result *result, struct error *err);

/* Makes the record of a run that its policy made fail, and stores it: asked for again, the run is run again. */
bool results_add_failure(struct run_results *results, size_t place, const struct error *why, struct error *err);

/* The bytes of the weights of a run's model. */
bool results_weights(struct run_results *results, size_t place, uint64_t *bytes, struct error *err);

/* True the first time that a text is told. */
bool results_first_time(struct run_results *results, const char *text, size_t length);

/* What Belady's policy and the infinite cache would hit in the runs that are ranked against others: bounds[place],
 * which the caller has zeroed. Replays in at most `jobs` processes. Not known where there are very many runs. */
bool results_bounds(struct run_results *results, unsigned jobs, struct ranking_bounds *bounds, struct error *err);

/* Prints the ranking of all records with its bounds on stdout. */
bool results_print_ranking(struct run_results *results, unsigned jobs, bool color, struct error *err);

/* Prints one record for each policy, over its seeds (results/summary.h). */
bool results_print_summary(struct run_results *results, enum format format, struct error *err);

/* Closes the database: before anything is printed, as a reader of our output that goes away ends this process. */
bool results_close(struct run_results *results, struct error *err);

bool results_finish(struct run_results *results, struct error *err);

#endif
