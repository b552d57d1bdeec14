/* A doubly linked list over dense block ids, in one array: what queues of blocks are made of.
 *
 * Entry 0 is the list's own (its next is the newest block, its prev the oldest); block b is entry b + 1, so that
 * following a link needs nothing but the array. Invariant: the links of a block that is not in the list mean nothing.
 * All operations are O(1), except list_oldest, which passes over what may not go. */
#ifndef POCKETLOAD_POLICIES_LIST_H
#define POCKETLOAD_POLICIES_LIST_H

#include "policies/policy.h"

/* 8 bytes: eight blocks a cache line. */
struct list_node {
    uint32_t prev, next;
};

static inline size_t list_size(uint32_t block_count)
{
    return ((size_t)block_count + 1) * sizeof(struct list_node);
}

/* An empty list; zeroed memory is one too. */
static inline void list_init(struct list_node *list)
{
    list[0] = (struct list_node){0, 0};
}

static inline void list_add(struct list_node *list, block_id b)
{
    uint32_t entry = b + 1, newest = list[0].next;
    list[entry].prev = 0;
    list[entry].next = newest;
    list[newest].prev = entry;
    list[0].next = entry;
}

static inline void list_unlink(struct list_node *list, block_id b)
{
    uint32_t prev = list[b + 1].prev, next = list[b + 1].next;
    list[prev].next = next;
    list[next].prev = prev;
}

/* The oldest block, the usual victim, has a branch of its own: a processor that foresees it knows where to store
 * without having read the block's `next`. */
static inline void list_remove(struct list_node *list, block_id b)
{
    uint32_t entry = b + 1;
    if (list[0].prev == entry) {
        uint32_t prev = list[entry].prev;
        list[0].prev = prev;
        list[prev].next = 0;
    } else {
        list_unlink(list, b);
    }
}

static inline void list_make_newest(struct list_node *list, block_id b)
{
    if (list[0].next == b + 1)
        return;
    list_unlink(list, b);
    list_add(list, b);
}

/* The oldest block that may be evicted now, or BLOCK_NONE. */
static inline block_id list_oldest(const struct list_node *list, const struct policy_view *view)
{
    for (uint32_t entry = list[0].prev; entry != 0; entry = list[entry].prev)
        if (policy_may_evict(view, entry - 1))
            return entry - 1;
    return BLOCK_NONE;
}

#endif
