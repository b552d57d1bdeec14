/* Which of two runs is better: the order of the ranking, for tables and figures. */
#ifndef POCKETLOAD_RESULTS_RANKING_H
#define POCKETLOAD_RESULTS_RANKING_H

#include "results/bounds.h"
#include "results/grid.h"
#include "sim/record.h"

/* What is known of a run beside its record: how large its weights are (0: not to be shown), and what replays of its
 * trace tell, without time, at its budget. */
struct ranking_bounds {
    uint64_t weights_bytes;
    bool known; /* of what follows */
    struct trace_context context;
    double belady, infinite; /* hit rates */
};

/* As output_ranking (results/output.h), with two lines of bounds and some words below the policies of each budget.
 * bounds[i] is that of records[i]; NULL: none is known. Runs of several seeds are summed up (results/summary.h). */
bool output_ranking_bounds(FILE *file, const struct run_record *records, const struct ranking_bounds *bounds,
                           size_t count, bool color, struct error *err);

/* The bounds of a group of runs, that of a setting and a budget: the means of those that are known. */
struct ranking_bounds ranking_bounds_mean(const struct run_record *records, const struct ranking_bounds *bounds,
                                          size_t count, const struct run_record *of);

/* Adds the two lines of bounds to a table whose column 1 names the policy and whose column `rate` is the hit rate. */
bool ranking_add_bounds(struct grid *grid, const struct ranking_bounds *bounds, size_t rate);

/* The sentences about a group: what the budget is of the cycle, and whether the hit rates differ. Nothing when bounds
 * are not known. */
void ranking_print_words(FILE *file, const struct ranking_bounds *bounds, uint64_t budget_bytes,
                         const double *hit_rates, size_t count);

/* The sentence below a table with bounds and with runs that may pass them. */
void ranking_print_beyond(FILE *file);

/* True for a run whose prefetcher or pin rule loads blocks before they miss. */
bool ranking_is_beyond(const struct run_record *record);

/* Orders by all that tells settings apart but the budget, the policy and the seed. */
int ranking_compare_settings_only(const struct run_record *a, const struct run_record *b);

/* Orders by all that tells settings apart but the budget and the policy: 0 for two runs that may be compared. */
int ranking_compare_settings(const struct run_record *a, const struct run_record *b);

/* Better first; 0: a tie. A missing time is the worst: no token was finished. Of killed runs the one that came further
 * is better. */
int ranking_compare_merit(const struct run_record *a, const struct run_record *b);

#endif
