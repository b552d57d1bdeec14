/* A heap of blocks, least key on top, for keys that only grow while a block is in it.
 *
 * Growth is noticed late: a hit changes the policy's own numbers and leaves the heap alone, so an entry may bear an
 * older, smaller key than its block has by now. An entry whose key is up to date and that stands on top is the least
 * all the same, as every other's true key is at least the one it bears. So a hit costs nothing here, and an eviction
 * pays for those hits only that came to the top. */
#ifndef POCKETLOAD_POLICIES_HEAP_H
#define POCKETLOAD_POLICIES_HEAP_H

#include "policies/policy.h"

/* Ordered by `key`, then `tie`. */
struct heap_key {
    uint64_t key;
    uint32_t tie;
};

/* Four children: half the levels of two, and their entries fill a cache line. */
enum { HEAP_ARITY = 4 };

/* 16 bytes a block, and 4 for its place. */
struct heap_entry {
    uint64_t key;
    uint32_t tie;
    block_id block;
};

struct heap {
    struct heap_entry *entries;
    uint32_t *places; /* of a block in the heap: the index of its entry */
    uint32_t count;
};

static inline bool heap_before(struct heap_entry a, struct heap_entry b)
{
    return a.key != b.key ? a.key < b.key : a.tie < b.tie;
}

static inline void heap_put(struct heap *heap, uint32_t at, struct heap_entry entry)
{
    heap->entries[at] = entry;
    heap->places[entry.block] = at;
}

/* Puts `entry` at `at` or above. */
static inline void heap_rise(struct heap *heap, uint32_t at, struct heap_entry entry)
{
    while (at > 0 && heap_before(entry, heap->entries[(at - 1) / HEAP_ARITY])) {
        heap_put(heap, at, heap->entries[(at - 1) / HEAP_ARITY]);
        at = (at - 1) / HEAP_ARITY;
    }
    heap_put(heap, at, entry);
}

/* Puts `entry` at `at` or below, in a heap of the first `count` entries. */
static inline void heap_sink(struct heap *heap, uint32_t count, uint32_t at, struct heap_entry entry)
{
    for (;;) {
        uint64_t first = (uint64_t)HEAP_ARITY * at + 1, end = first + HEAP_ARITY < count ? first + HEAP_ARITY : count;
        if (first >= end)
            break;
        uint32_t least = (uint32_t)first;
        for (uint32_t child = least + 1; child < end; child++)
            least = heap_before(heap->entries[child], heap->entries[least]) ? child : least;
        if (!heap_before(heap->entries[least], entry))
            break;
        heap_put(heap, at, heap->entries[least]);
        at = least;
    }
    heap_put(heap, at, entry);
}

static inline void heap_add(struct heap *heap, block_id b, struct heap_key key)
{
    heap_rise(heap, heap->count++, (struct heap_entry){key.key, key.tie, b});
}

static inline void heap_remove(struct heap *heap, block_id b)
{
    uint32_t at = heap->places[b];
    struct heap_entry last = heap->entries[--heap->count];
    if (at == heap->count)
        return;
    if (at > 0 && heap_before(last, heap->entries[(at - 1) / HEAP_ARITY]))
        heap_rise(heap, at, last);
    else
        heap_sink(heap, heap->count, at, last);
}

/* The block with the least key among those that may be evicted, or BLOCK_NONE. `key_of` tells a block's true key.
 * Blocks on top that may not go stand behind the heap meanwhile, each at the cost of two walks through it. */
static inline block_id heap_least(struct heap *heap, const struct policy_view *view, const void *self,
                                  struct heap_key (*key_of)(const void *self, block_id b))
{
    uint32_t left = heap->count;
    block_id found = BLOCK_NONE;
    while (left > 0 && found == BLOCK_NONE) {
        struct heap_entry top = heap->entries[0];
        struct heap_key key = key_of(self, top.block);
        if (key.key != top.key || key.tie != top.tie) {
            heap_sink(heap, left, 0, (struct heap_entry){key.key, key.tie, top.block});
        } else if (policy_may_evict(view, top.block)) {
            found = top.block;
        } else {
            left--;
            if (left > 0)
                heap_sink(heap, left, 0, heap->entries[left]);
            heap_put(heap, left, top);
        }
    }
    for (; left < heap->count; left++)
        heap_rise(heap, left, heap->entries[left]);
    return found;
}

#endif
