/* Which of two runs is better: the order of the ranking, for tables and figures. */
#ifndef POCKETLOAD_RESULTS_RANKING_H
#define POCKETLOAD_RESULTS_RANKING_H

#include "sim/record.h"

/* Orders by all that tells settings apart but the budget and the policy: 0 for two runs that may be compared. */
int ranking_compare_settings(const struct run_record *a, const struct run_record *b);

/* Better first; 0: a tie. A missing time is the worst: no token was finished. Of killed runs the one that came further
 * is better. */
int ranking_compare_merit(const struct run_record *a, const struct run_record *b);

#endif
