/* Policies once more, as plain lists: what the naive engine and the naive replay decide by. Written from the contract
 * in policies/policy.h, without policies/'s code. */
#ifndef POCKETLOAD_TESTS_NAIVE_POLICY_H
#define POCKETLOAD_TESTS_NAIVE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "policies/policy.h"
#include "workloads/trace.h"

/* CAPPED: least recently used, which besides gives up blocks beyond cap_bytes of its own. FARTHEST: the block whose
 * next use lies furthest ahead. Both are in naive_parts.h, as what follows. */
enum naive_evict { NAIVE_LRU, NAIVE_FIFO, NAIVE_CAPPED, NAIVE_FARTHEST };
enum naive_admit { NAIVE_ADMIT_ALL, NAIVE_ADMIT_MOST };
/* SEER knows the uses too that a runtime could not foresee. FOLLOWER: after each block, the one of the next id. */
enum naive_prefetch { NAIVE_FETCH_NONE, NAIVE_FETCH_NEXT, NAIVE_FETCH_SEER, NAIVE_FETCH_FOLLOWER };
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
    enum naive_prefetch prefetch;
    uint32_t depth; /* of NEXT and SEER */
    enum naive_admit admit;
    uint64_t cap_bytes; /* of CAPPED */
};

/* The blocks that the policy holds, the next victim first (FARTHEST: in any order). */
struct naive_order {
    const struct naive_choice *choice;
    const struct model *model;
    block_id *blocks;
    uint32_t count;
    block_id *accesses;          /* the blocks of all accesses of the run, in order */
    uint64_t access_count, told; /* all of them, and those told so far */
};
void naive_order_start(struct naive_order *order, const struct naive_choice *choice, const struct model *model,
                       const struct trace *trace);
void naive_order_free(struct naive_order *order);
/* An access is told: the first use of a block by a step. */
void naive_order_access(struct naive_order *order);
/* What the policy answers, of the blocks that may be evicted now: a victim, and a block to release. BLOCK_NONE: none.
 */
typedef bool naive_may_evict(const void *context, block_id b);
block_id naive_order_victim(const struct naive_order *order, naive_may_evict *may, const void *context);
block_id naive_order_release(const struct naive_order *order, naive_may_evict *may, const void *context);
/* True when the admission rule and the policy let the block in. */
bool naive_order_admits(const struct naive_order *order, block_id b);
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
