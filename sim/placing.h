/* Ranges in the allocator's address space for what a run holds: blocks, activations, KV cache. docs/models.md
 * section 13.
 *
 * With loader.allocator = none run->placing is NULL and every function here does nothing and answers true, but for
 * activations with reuse = no (below). Otherwise the parts of the engine ask here before they hold memory and tell here
 * when they give it up:
 *
 *   run_init      placing_init, after loads_init
 *   a token       placing_kv, before the ledger's KV class grows; time may pass in it: the token has begun
 *   a step        placing_step_begin before its first look-up, placing_step_end after its compute; of each step
 *   a token       placing_token_end
 *   a block       placing_block where room is made for it, placing_block_gone when it leaves (room.c, loads.c)
 *   its step      placing_pay, after all look-ups
 *   the end       placing_numbers, and placing_sample for each sample
 *
 * The ledger's classes are set by the engine from what is asked for, as without an allocator; only with reuse = no,
 * with an allocator or without, does placing_step_begin raise MEMORY_ACTIVATION to the sum of the token's steps so far,
 * where that is more than the segment's, and placing_token_end set it back. Where a function answers false the run has
 * ended, but for placing_block.
 */
#ifndef POCKETLOAD_SIM_PLACING_H
#define POCKETLOAD_SIM_PLACING_H

#include "sim/run_state.h"

struct placing;

/* Lays out the address space of spec->loader. False with run->err: out of memory, a space or a range that cannot be, or
 * activations that are kept and sum up to more than the ledger can hold. */
bool placing_init(struct run_state *run, struct arena *arena);

/* ---- With an allocator only, those of steps and tokens also with reuse = no; use the functions without `_in` below
 * ----
 */
bool placing_block_in(struct run_state *run, block_id b, bool prefetch);
void placing_block_gone_in(struct run_state *run, block_id b);
void placing_block_dropped_in(struct run_state *run, block_id b, uint16_t drop);
void placing_drop_done_in(struct run_state *run, uint16_t drop);
bool placing_step_begin_in(struct run_state *run, uint64_t activation_bytes);
void placing_step_end_in(struct run_state *run);
void placing_token_end_in(struct run_state *run);
bool placing_kv_in(struct run_state *run, uint64_t kv_bytes);
bool placing_pay_in(struct run_state *run);
bool placing_holds_lanes_in(const struct run_state *run);

/* A range for a block that is about to be reserved, for a demand or a prefetch. False: no hole is large enough; nothing
 * is taken. True also when the block has its range already. */
static inline bool placing_block(struct run_state *run, block_id b, bool prefetch)
{
    return !run->placing || placing_block_in(run, b, prefetch);
}

/* The block has left: its range is free. */
static inline void placing_block_gone(struct run_state *run, block_id b)
{
    if (run->placing)
        placing_block_gone_in(run, b);
}

/* The block's prefetch was dropped while commands of it are in flight: its range belongs to that drop from now on, and
 * is free when the drop is done. */
static inline void placing_block_dropped(struct run_state *run, block_id b, uint16_t drop)
{
    if (run->placing)
        placing_block_dropped_in(run, b, drop);
}

static inline void placing_drop_done(struct run_state *run, uint16_t drop)
{
    if (run->placing)
        placing_drop_done_in(run, drop);
}

/* The range of a step's activations; takes its time. Blocks are evicted and prefetches dropped until there is a hole;
 * without one the run is killed by "allocator". False: the run has ended. */
static inline bool placing_step_begin(struct run_state *run, uint64_t activation_bytes)
{
    return !run->follows_steps || placing_step_begin_in(run, activation_bytes);
}

static inline void placing_step_end(struct run_state *run)
{
    if (run->placing)
        placing_step_end_in(run);
}

static inline void placing_token_end(struct run_state *run)
{
    if (run->follows_steps)
        placing_token_end_in(run);
}

/* The KV cache (of all processes together) has kv_bytes from now on: ranges are taken or freed until they hold that
 * much. As placing_step_begin where there is no hole. False: the run has ended. */
static inline bool placing_kv(struct run_state *run, uint64_t kv_bytes)
{
    return !run->placing || placing_kv_in(run, kv_bytes);
}

/* The app is started anew: its address space is empty. */
void placing_restart(struct run_state *run);

/* Spends the time of allocations and copies that the compute thread owes: load time in the load phase, else stall. To
 * be called when a step's look-ups are done, before lanes are given to what they demand. False: the run has ended. */
static inline bool placing_pay(struct run_state *run)
{
    return !run->placing || placing_pay_in(run);
}

/* True while the compute thread pays for demands that may not be read yet: no lane is given out. */
static inline bool placing_holds_lanes(const struct run_state *run)
{
    return run->placing && placing_holds_lanes_in(run);
}

/* The allocator's fields of a run's numbers, and of a sample. */
void placing_numbers(const struct run_state *run, struct run_numbers *numbers);
void placing_sample(const struct run_state *run, struct sample_numbers *row);

#endif
