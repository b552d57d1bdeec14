/* Stack distances: for each access, the sum of the sizes of the blocks used since the last use of its block. */
#ifndef POCKETLOAD_SIM_MRC_STACK_H
#define POCKETLOAD_SIM_MRC_STACK_H

#include "base/arena.h"
#include "policies/policy.h"

/* Every access takes the next position of a line; a block's size stands at the position of its last access, and 0
 * elsewhere. The sum behind a position is a walk over a Fenwick tree (Fenwick, "A new data structure for cumulative
 * frequency tables", Software: Practice and Experience 24(3), 1994) of groups of positions, and over one group. When
 * the line is full, the positions in use are moved together: it has twice as many as there are blocks, so that this
 * costs O(1) an access. */
struct mrc_stack {
    const struct policy_block *sizes; /* NULL: every block is of size 1 */
    uint32_t block_count, group_count, line_length;
    uint32_t next;   /* position of the next access */
    uint32_t *place; /* by block: the position of its last access, from 1; 0: none */
    uint32_t *owner; /* by position: its block, as far as place[owner] is that position */
    uint64_t *line;  /* by position: the size there */
    uint64_t *tree;  /* by group, from 1: Fenwick sums */
    uint64_t total;  /* of the line */
};

enum { MRC_FIRST_USE = 0 };

/* False without memory. Everything lives in the arena. */
bool mrc_stack_init(struct mrc_stack *stack, const struct policy_block *sizes, uint32_t block_count,
                    struct arena *arena);

/* Forgets all accesses. */
void mrc_stack_clear(struct mrc_stack *stack);

/* Counts an access to b and returns its distance, b included; MRC_FIRST_USE when b was never accessed before. */
uint64_t mrc_stack_access(struct mrc_stack *stack, block_id b);

#endif
