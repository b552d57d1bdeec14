/* The blocks that are held, ordered by their next use, farthest first: what policies that know the future are made of.
 *
 * Two parts: a list of the held blocks that are never used again, the one used last the newest; and for all others a
 * 4-ary max-heap of entries (next use, block). The heap keeps no positions: each use adds an entry and leaves the old
 * one, which is stale from then on. A stale entry's next use has passed, so it lies below all valid ones and costs
 * nothing until the heap has grown to a few times what is held; then the stale ones are dropped, at O(1) a use in the
 * mean. Finite next uses are distinct, so there are no ties.
 *
 * Invariant: a held block with a next use has at least one entry with just that next use. An entry of a block that is
 * not held is stale too. */
#ifndef POCKETLOAD_POLICIES_FARTHEST_H
#define POCKETLOAD_POLICIES_FARTHEST_H

#include "policies/list.h"

/* Stale entries are dropped when there are so many for each held block, and `slack` more. More of them is rarer work
 * and more memory: 4 was about a tenth faster than 2 on experts of equal size, in rounds that differed by as much. */
enum { FARTHEST_GROWTH = 4 };

struct farthest_heap {
    uint64_t *entries; /* next use << 32 | block; the children of i are 4i + 1 .. 4i + 4 */
    uint64_t gone;     /* the top's entry when its block was removed: the next one takes its place; 0: none */
    uint32_t count, held;
    uint32_t slack; /* at least 1 */
};

/* Entries that a heap of `blocks` blocks takes at most. */
static inline size_t farthest_entries(uint32_t blocks, uint32_t slack)
{
    return FARTHEST_GROWTH * (size_t)blocks + slack;
}

static inline bool farthest_valid(const struct policy_view *view, uint64_t entry)
{
    block_id b = (block_id)entry;
    return view->next_use[b] == entry >> 32 && view->state[b] & (POLICY_RESIDENT | POLICY_LOADING);
}

static inline void farthest_up(uint64_t *entries, uint32_t at, uint64_t entry)
{
    while (at != 0) {
        uint32_t parent = (at - 1) / 4;
        if (entries[parent] >= entry)
            break;
        entries[at] = entries[parent];
        at = parent;
    }
    entries[at] = entry;
}

static inline void farthest_down(uint64_t *entries, uint32_t count, uint32_t at, uint64_t entry)
{
    for (;;) {
        uint64_t first = 4 * (uint64_t)at + 1;
        if (first >= count)
            break;
        const uint64_t *child = entries + first;
        uint32_t best = 0;
        if (first + 4 <= count) {
            uint32_t left = child[1] > child[0], right = 2 + (child[3] > child[2]);
            best = child[right] > child[left] ? right : left;
        } else {
            for (uint32_t i = 1; first + i < count; i++)
                best = child[i] > child[best] ? i : best;
        }
        if (child[best] <= entry)
            break;
        entries[at] = child[best];
        at = (uint32_t)first + best;
    }
    entries[at] = entry;
}

static inline void farthest_pop(struct farthest_heap *heap)
{
    uint64_t last = heap->entries[--heap->count];
    if (heap->count != 0)
        farthest_down(heap->entries, heap->count, 0, last);
}

/* Several valid entries of one block come from blocks that left and came back with the same next use. Sorted with the
 * farthest first, a heap is still a heap. */
static inline void farthest_drop_twins(struct farthest_heap *heap)
{
    uint64_t *entries = heap->entries;
    uint32_t all = heap->count, kept = 0;
    while (heap->count > 1) {
        uint64_t top = entries[0];
        farthest_pop(heap);
        entries[heap->count] = top;
    }
    for (uint32_t i = 0; i < all / 2; i++) {
        uint64_t other = entries[all - 1 - i];
        entries[all - 1 - i] = entries[i];
        entries[i] = other;
    }
    for (uint32_t i = 0; i < all; i++)
        if (kept == 0 || entries[i] != entries[kept - 1])
            entries[kept++] = entries[i];
    heap->count = kept;
}

__attribute__((noinline)) static void farthest_compact(struct farthest_heap *heap, const struct policy_view *view)
{
    uint64_t *entries = heap->entries;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < heap->count; i++) {
        entries[kept] = entries[i];
        kept += farthest_valid(view, entries[i]);
    }
    heap->count = kept;
    for (uint32_t at = kept / 4 + 1; at-- > 0;)
        if (at < kept)
            farthest_down(entries, kept, at, entries[at]);
    if (kept > heap->held)
        farthest_drop_twins(heap);
}

/* A held block has got a next use. */
static inline void farthest_add(struct farthest_heap *heap, const struct policy_view *view, block_id b)
{
    uint64_t entry = (uint64_t)view->next_use[b] << 32 | b, gone = heap->gone;
    heap->gone = 0;
    if (gone != 0 && heap->count != 0 && heap->entries[0] == gone) {
        farthest_down(heap->entries, heap->count, 0, entry);
        return;
    }
    if (heap->count >= FARTHEST_GROWTH * heap->held + heap->slack)
        farthest_compact(heap, view);
    farthest_up(heap->entries, heap->count++, entry);
}

/* Says that a held block is gone. */
static inline void farthest_remove(struct farthest_heap *heap, block_id b)
{
    heap->held--;
    if (heap->count != 0 && (block_id)heap->entries[0] == b)
        heap->gone = heap->entries[0];
}

/* The block with the farthest next use among those that may be evicted now, or BLOCK_NONE. Valid entries of others are
 * kept behind the shrinking heap until one is found, and put back. */
static inline block_id farthest_top(struct farthest_heap *heap, const struct policy_view *view)
{
    uint64_t *entries = heap->entries;
    const uint32_t all = heap->count;
    uint32_t aside = 0;
    block_id found = BLOCK_NONE;
    heap->gone = 0;
    while (heap->count != 0) {
        uint64_t top = entries[0];
        bool valid = farthest_valid(view, top);
        if (valid && policy_may_evict(view, (block_id)top)) {
            found = (block_id)top;
            break;
        }
        farthest_pop(heap);
        if (valid)
            entries[all - 1 - aside++] = top;
    }
    for (; aside != 0; aside--)
        farthest_up(entries, heap->count++, entries[all - aside]);
    return found;
}

/* The held blocks that are never used again. */
struct farthest_dead {
    struct list_node *list;
    uint8_t *listed; /* by block */
};

static inline void farthest_bury(struct farthest_dead *dead, block_id b)
{
    if (dead->listed[b]) {
        list_make_newest(dead->list, b);
    } else {
        dead->listed[b] = 1;
        list_add(dead->list, b);
    }
}

/* False when b is not among them. */
static inline bool farthest_unbury(struct farthest_dead *dead, block_id b)
{
    if (!dead->listed[b])
        return false;
    dead->listed[b] = 0;
    list_remove(dead->list, b);
    return true;
}

#endif
