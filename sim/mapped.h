/* A run whose weights are a mapped file: pages come by faults and leave by reclaim. docs/models.md section 10 is the
 * rule; the pages themselves are sim/page_cache.h's, section 11. */
#ifndef POCKETLOAD_SIM_MAPPED_H
#define POCKETLOAD_SIM_MAPPED_H

#include "sim/run_state.h"

/* Maps the file: run->mapped. Nothing is resident. A file that is larger than the address space kills the run as
 * "map_failed", without run->mapped. False with run->err: STATUS_USAGE for a device or loader out of range, STATUS_IO
 * without memory. run->pressure is there. */
bool mapped_init(struct run_state *run, struct arena *arena);

/* The load phase: what MADV_WILLNEED and MAP_POPULATE read, and mlock of the pinned blocks, as far as it may. */
void mapped_load(struct run_state *run, const block_id *pins, uint32_t pin_count);

/* A token of every process, one process after the other (a token_steps of sim/books.h). */
void mapped_token(struct run_state *run, const struct segment *segment, uint32_t repeat, uint64_t context);

/* In the background: other apps take that share of the pages that reclaim may take, in its order; how many bytes it
 * was. No time of the app passes. */
uint64_t mapped_reclaim(struct run_state *run, uint32_t share_ppm);

/* The processes end; what they had mapped and locked stays in the page cache. New ones have mapped nothing. */
void mapped_restart(struct run_state *run);

/* Time passes until no read of pages is in flight, as stall or load. */
void mapped_await_reads(struct run_state *run);

/* What each process did. */
void mapped_numbers(const struct run_state *run, struct run_numbers *numbers);

/* Reads that are done by time_ns count as moved. */
void mapped_settle(struct run_state *run, int64_t time_ns);

#endif
