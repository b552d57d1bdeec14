/* What a run says of its loading beyond the ranking's columns: when how much of the weights was there. */
#ifndef POCKETLOAD_RESULTS_LOAD_WORDS_H
#define POCKETLOAD_RESULTS_LOAD_WORDS_H

#include <stdio.h>

#include "sim/record.h"

enum { LOAD_WORDS = 256 };

/* "loaded: 10 % after 134 ms, 50 % after 415 ms, all after 789 ms; first layer after 789 ms". "" where the loader
 * leaves nothing to tell: it neither reads the whole file, nor has stages, a warm page cache or something to bring at
 * launch but pinned blocks, nor do keys of that kind vary. */
const char *load_words(const struct run_record *record, char out[LOAD_WORDS]);

/* A line for it where it is not "", after the policy's name where `named`. False without memory. */
bool load_print_words(FILE *file, const struct run_record *record, bool named);

#endif
