/* What a run says of its conversation beyond the ranking's columns: turns, restarts, drafts. */
#ifndef POCKETLOAD_RESULTS_TURN_WORDS_H
#define POCKETLOAD_RESULTS_TURN_WORDS_H

#include <stdio.h>

#include "sim/record.h"

enum { TURN_WORDS = 512 };

/* "4 turns: first token after 1.90 s, in later turns after 1.54 s (1.55 s at worst); started anew 3 times; lost 2.69
 * GiB of weights in the background", or "" for a run without turns. */
const char *turn_words(const struct run_record *record, char out[TURN_WORDS]);

/* "151 tokens drafted, 43 of them accepted (28.5 %)", or "". */
const char *draft_words(const struct run_record *record, char out[TURN_WORDS]);

/* A line for each that is not "", after the policy's name where `named`. False without memory. */
bool turn_print_words(FILE *file, const struct run_record *record, bool named);

#endif
