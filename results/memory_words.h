/* What a run says of memory beyond the ranking's columns: a mapped file's faults and peaks, swap, killed apps. */
#ifndef POCKETLOAD_RESULTS_MEMORY_WORDS_H
#define POCKETLOAD_RESULTS_MEMORY_WORDS_H

#include <stdio.h>

#include "sim/record.h"

enum { MEMORY_WORDS = 512 };

/* "2 major and 30 minor faults; ...", or "" for a run that mapped nothing. */
const char *memory_words(const struct run_record *record, char out[MEMORY_WORDS]);

/* "process 1: 2 major and 30 minor faults, 16.0 KiB of page tables; process 2: ...", or "" for a run of fewer than two.
 */
enum { PROCESS_WORDS = PAGE_PROCESSES_MAX * 128 };
const char *process_words(const struct run_record *record, char out[PROCESS_WORDS]);

/* "swap, of all apps: 4.20 GiB compressed, 1.10 GiB of it brought back; it took 1.50 GiB at most", or "". */
enum { SWAP_WORDS = 256 };
const char *swap_words(const struct run_record *record, char out[SWAP_WORDS]);

/* "2 apps were killed: mail(900) at 1.200 s by lmkd; ...", or "". */
enum { KILL_WORDS = RUN_KILLS_TEXT + 64 };
const char *kill_words(const struct run_record *record, char out[KILL_WORDS]);

/* A line for each that is not "", after the policy's name where `named`. False without memory. */
bool memory_print_words(FILE *file, const struct run_record *record, bool named);

#endif
