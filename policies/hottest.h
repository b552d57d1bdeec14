/* Blocks by count per byte, the best on top of a heap: a use saved is worth a load's bytes, and a block that is kept
 * costs its bytes all the time, so greedy by count per byte is the usual answer to this knapsack. The heap is not
 * sorted in full, so that a small choice does not pay for all. */
#ifndef POCKETLOAD_POLICIES_HOTTEST_H
#define POCKETLOAD_POLICIES_HOTTEST_H

#include "policies/policy.h"

__extension__ typedef unsigned __int128 hottest_wide;

struct hottest {
    const struct policy_view *view;
    const uint64_t *counts; /* by block */
    block_id *heap;         /* room for one a block */
    uint32_t left;
};

/* True when a goes before b. Products instead of quotients: exact. */
static inline bool hottest_before(const struct hottest *hottest, block_id a, block_id b)
{
    hottest_wide left = (hottest_wide)hottest->counts[a] * hottest->view->blocks[b].bytes;
    hottest_wide right = (hottest_wide)hottest->counts[b] * hottest->view->blocks[a].bytes;
    return left != right ? left > right : a < b;
}

static inline void hottest_sift(const struct hottest *hottest, uint32_t at)
{
    block_id *heap = hottest->heap, moving = heap[at];
    while (at < hottest->left / 2) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < hottest->left && hottest_before(hottest, heap[child + 1], heap[child]))
            child++;
        if (!hottest_before(hottest, heap[child], moving))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

/* All blocks with a count that are not pinned. */
static inline struct hottest hottest_start(const struct policy_view *view, const uint64_t *counts, block_id *heap)
{
    struct hottest hottest = {.view = view, .counts = counts, .heap = heap};
    for (block_id b = 0; b < view->block_count; b++)
        if (counts[b] != 0 && !(view->state[b] & POLICY_PINNED))
            heap[hottest.left++] = b;
    for (uint32_t at = hottest.left / 2; at-- > 0;)
        hottest_sift(&hottest, at);
    return hottest;
}

/* Takes the best of those left that fit `room`, up to `max`, into out[], best first; returns how many. */
static inline uint32_t hottest_choose(struct hottest *hottest, uint64_t room, block_id *out, uint32_t max)
{
    uint32_t count = 0;
    while (hottest->left > 0 && count < max && room > 0) {
        block_id best = hottest->heap[0];
        uint64_t bytes = hottest->view->blocks[best].bytes;
        hottest->heap[0] = hottest->heap[--hottest->left];
        if (hottest->left > 0)
            hottest_sift(hottest, 0);
        if (bytes > room)
            continue;
        room -= bytes;
        out[count++] = best;
    }
    return count;
}

#endif
