/* Where blocks stand in the loop over the layers, which every token walks once.
 *
 * With layers: the embedding, and whatever else has no layer, at 0; then each layer that occurs, ascending; norms and
 * the output head without a layer last. When no block has a layer, a block's id is its position. */
#ifndef POCKETLOAD_POLICIES_POSITIONS_H
#define POCKETLOAD_POLICIES_POSITIONS_H

#include "policies/ranks.h"

/* At most so many for a view of n blocks. */
static inline uint32_t positions_max(uint32_t block_count)
{
    return block_count + 2;
}

/* Fills of[] (one a block) and returns how many positions there are. `keys` has room for one a block. */
static inline uint32_t positions_make(const struct policy_view *view, uint32_t *of, uint64_t *keys)
{
    uint32_t known = 0;
    for (block_id b = 0; b < view->block_count; b++)
        if (view->blocks[b].layer >= 0)
            keys[known++] = (uint64_t)view->blocks[b].layer;
    uint32_t layers = ranks_make(keys, known);
    for (block_id b = 0; b < view->block_count; b++) {
        const struct policy_block *block = &view->blocks[b];
        if (layers == 0)
            of[b] = b;
        else if (block->layer >= 0)
            of[b] = 1 + ranks_find(keys, layers, (uint64_t)block->layer);
        else
            of[b] = block->kind == BLOCK_NORM || block->kind == BLOCK_OUTPUT ? layers + 1 : 0;
    }
    return layers == 0 ? view->block_count : layers + 2;
}

/* True when some block has a layer. */
static inline bool positions_by_layer(const struct policy_view *view)
{
    for (block_id b = 0; b < view->block_count; b++)
        if (view->blocks[b].layer >= 0)
            return true;
    return false;
}

#endif
