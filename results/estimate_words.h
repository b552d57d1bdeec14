/* Which values behind a table of runs nobody measured or published. */
#ifndef POCKETLOAD_RESULTS_ESTIMATE_WORDS_H
#define POCKETLOAD_RESULTS_ESTIMATE_WORDS_H

#include <stdio.h>

#include "sim/record.h"

/* A line "estimates: device.runtime device.memory (nobody measured or published these)" with the estimates of all
 * records, each key once, in the order in which they come; wrapped, and after some lines cut short with the number of
 * those left out. Nothing where there are none. False without memory. */
bool estimates_print(FILE *file, const struct run_record *records, size_t count);

#endif
