/* The built-in policies once more, as plain lists: what the naive engine and the naive replay decide by. Written from
 * the contract in policies/policy.h, without policies/'s code. */
#ifndef POCKETLOAD_TESTS_NAIVE_POLICY_H
#define POCKETLOAD_TESTS_NAIVE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "policies/policy.h"
#include "workloads/trace.h"

enum naive_evict { NAIVE_LRU, NAIVE_FIFO };
enum naive_pin { NAIVE_PIN_NONE, NAIVE_PIN_KINDS, NAIVE_PIN_HOT, NAIVE_PIN_BLOCKS };

enum { NAIVE_BLOCKS_MAX = 16 }; /* that a blocks(...) rule names */

struct naive_choice {
    enum naive_evict evict;
    enum naive_pin pin;
    uint32_t kinds;      /* NAIVE_PIN_KINDS: bit = 1 << kind */
    bool hot_by_default; /* NAIVE_PIN_HOT: size = budget less the largest step */
    uint64_t hot_bytes;
    block_id blocks[NAIVE_BLOCKS_MAX]; /* NAIVE_PIN_BLOCKS, ascending */
    uint32_t blocks_count;
    uint32_t depth; /* of prefetch next; 0: none */
};

/* The blocks that may be evicted, the next victim first. */
struct naive_order {
    enum naive_evict evict;
    block_id *blocks;
    uint32_t count;
};
void naive_order_start(struct naive_order *order, enum naive_evict evict, uint32_t block_count);
void naive_order_free(struct naive_order *order);
void naive_order_insert(struct naive_order *order, block_id b);
void naive_order_hit(struct naive_order *order, block_id b);
void naive_order_remove(struct naive_order *order, block_id b);

/* The pin rule's answer, in order, into out[block_count]; returns how many. */
uint32_t naive_pins(const struct naive_choice *choice, const struct model *model, const struct trace *trace,
                    uint64_t budget_bytes, block_id *out);

/* The whole trace as the list of step numbers that run, repetitions and all. Malloc; the caller frees. */
uint32_t *naive_flatten(const struct trace *trace, uint64_t *count);

/* Distinct blocks of a step in the order of their first use, into out[]; only those that a runtime foresees, or all.
 * Returns how many. */
uint32_t naive_step_blocks(const struct trace *trace, uint32_t step, bool foreseen, block_id *out);

#endif
