/* Many lists of blocks in one array, a block in at most one of them: a ring for each, whose first entry is the list's
 * own, as in list.h. Ring r is entry r, block b is entry rings + b. A block need not know its ring to leave it. */
#ifndef POCKETLOAD_POLICIES_RINGS_H
#define POCKETLOAD_POLICIES_RINGS_H

#include "policies/list.h"

struct rings {
    struct list_node *node;
    uint32_t count;
};

/* All empty; node has room for count + the number of blocks. */
static inline void rings_init(struct rings *rings, struct list_node *node, uint32_t count)
{
    rings->node = node;
    rings->count = count;
    for (uint32_t r = 0; r < count; r++)
        node[r] = (struct list_node){r, r};
}

static inline bool rings_empty(const struct rings *rings, uint32_t ring)
{
    return rings->node[ring].prev == ring;
}

static inline void rings_add(struct rings *rings, uint32_t ring, block_id b)
{
    struct list_node *node = rings->node;
    uint32_t entry = rings->count + b, newest = node[ring].next;
    node[entry] = (struct list_node){.prev = ring, .next = newest};
    node[newest].prev = entry;
    node[ring].next = entry;
}

static inline void rings_remove(struct rings *rings, block_id b)
{
    struct list_node *node = rings->node, links = node[rings->count + b];
    node[links.prev].next = links.next;
    node[links.next].prev = links.prev;
}

static inline void rings_make_newest(struct rings *rings, uint32_t ring, block_id b)
{
    if (rings->node[ring].next == rings->count + b)
        return;
    rings_remove(rings, b);
    rings_add(rings, ring, b);
}

/* The oldest block of a ring, or BLOCK_NONE. */
static inline block_id rings_oldest(const struct rings *rings, uint32_t ring)
{
    uint32_t entry = rings->node[ring].prev;
    return entry == ring ? BLOCK_NONE : entry - rings->count;
}

/* The next newer block, or BLOCK_NONE. */
static inline block_id rings_newer(const struct rings *rings, uint32_t ring, block_id b)
{
    uint32_t entry = rings->node[rings->count + b].prev;
    return entry == ring ? BLOCK_NONE : entry - rings->count;
}

/* The oldest block of a ring that may be evicted now, or BLOCK_NONE. */
static inline block_id rings_evictable(const struct rings *rings, uint32_t ring, const struct policy_view *view)
{
    block_id b = rings_oldest(rings, ring);
    while (b != BLOCK_NONE && !policy_may_evict(view, b))
        b = rings_newer(rings, ring, b);
    return b;
}

#endif
