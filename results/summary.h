/* Runs over several seeds, summed up: one record for each policy, with means, intervals, and whether it differs from
 * the best. */
#ifndef POCKETLOAD_RESULTS_SUMMARY_H
#define POCKETLOAD_RESULTS_SUMMARY_H

#include "results/output.h"
#include "results/ranking.h"
#include "results/statistics.h"

/* The runs of one policy in one setting, which differ in the seed. Texts are those of the records. */
struct summary {
    const char *device, *model, *quant, *workload, *loader, *policy;
    uint64_t budget_bytes;
    uint64_t seeds, completed; /* runs, and those of them that came to their end: numbers are of these */
    uint64_t failed;           /* runs that a part of the policy made fail; all others not completed were killed */
    struct interval tokens_per_s, tpot_ns, ttft_ns, hit_rate;
    /* Against the policy with the least mean time per later token (without one: to the first token) of its setting and
     * budget: the mean over common seeds of time / time of the best - 1. NAN for the best itself. */
    struct interval slower;
    const char *verdict; /* one of the texts below */
};

/* SUMMARY_SLOWER and SUMMARY_FASTER: the interval of `slower` excludes 0. SUMMARY_NONE: it does not. */
extern const char SUMMARY_BEST[], SUMMARY_SLOWER[], SUMMARY_FASTER[], SUMMARY_NONE[], SUMMARY_ONE_SEED[],
    SUMMARY_KILLED[], SUMMARY_FAILED[];

/* Summaries by setting, then budget, then from best to worst; *rows from malloc. STATUS_IO without memory. */
bool summary_make(const struct run_record *records, size_t count, struct summary **rows, size_t *row_count,
                  struct error *err);

/* 0 for two rows that were compared with each other. */
int summary_compare_groups(const struct summary *a, const struct summary *b);

/* Columns of a summary: settings, policy, budget_bytes, seeds, completed, then NAME, NAME_low and NAME_high of each
 * interval, and the verdict. */
extern const struct column summary_columns[];
extern const size_t summary_column_count;

/* The summary of runs in any format. */
bool output_summary(FILE *file, enum format format, const struct run_record *records, size_t count, struct error *err);

/* The summary for people: a table for each setting, the policies of each budget from best to worst. bounds as for
 * output_ranking_bounds. */
bool output_seeds(FILE *file, const struct run_record *records, const struct ranking_bounds *bounds, size_t count,
                  struct error *err);

/* "slower by 3.1 % (95 %: 2.0 .. 4.2)", "no difference shown", "best", "killed in 1 of 3", "failed in 1 of 3" */
enum { VERDICT_TEXT = 128 };
const char *summary_verdict_text(const struct summary *row, char out[VERDICT_TEXT]);

#endif
