/* Several queues over one array of links, for policies that move blocks between them.
 *
 * As list.h, but with the heads of all queues in front: queue q is entry q (its next is the newest block, its prev the
 * oldest), block b is entry b + QUEUE_HEADS. A block is in at most one queue; which one, the policy knows. Beside the
 * links stands a byte for each block, a tag, in an array of its own: a hit that only marks its block touches nothing
 * else. */
#ifndef POCKETLOAD_POLICIES_QUEUES_H
#define POCKETLOAD_POLICIES_QUEUES_H

#include "policies/list.h"

/* How many queues: a file that needs more defines it first. */
#ifndef QUEUE_HEADS
#define QUEUE_HEADS 8u
#endif

static inline uint32_t queue_entry(block_id b)
{
    return b + QUEUE_HEADS;
}

static inline block_id queue_block(uint32_t entry)
{
    return entry - QUEUE_HEADS;
}

/* Bytes of the tags of all blocks, rounded up so that links may follow. */
static inline size_t queue_tags_size(uint32_t block_count)
{
    return ((size_t)block_count + 7) / 8 * 8;
}

static inline size_t queue_links_size(uint32_t block_count)
{
    return ((size_t)block_count + QUEUE_HEADS) * sizeof(struct list_node);
}

/* The links behind `tags`. */
static inline struct list_node *queue_links(uint8_t *tags, uint32_t block_count)
{
    return (void *)(tags + queue_tags_size(block_count));
}

/* All queues empty. */
static inline void queue_init(struct list_node *links)
{
    for (uint32_t q = 0; q < QUEUE_HEADS; q++)
        links[q] = (struct list_node){q, q};
}

static inline void queue_add(struct list_node *links, uint32_t queue, block_id b)
{
    uint32_t entry = queue_entry(b), newest = links[queue].next;
    links[entry] = (struct list_node){queue, newest};
    links[newest].prev = entry;
    links[queue].next = entry;
}

/* Takes b out of the queue that it is in. */
static inline void queue_remove(struct list_node *links, block_id b)
{
    struct list_node node = links[queue_entry(b)];
    links[node.prev].next = node.next;
    links[node.next].prev = node.prev;
}

/* To the head of `queue`, from that queue or another one. */
static inline void queue_move(struct list_node *links, uint32_t queue, block_id b)
{
    if (links[queue].next == queue_entry(b))
        return;
    queue_remove(links, b);
    queue_add(links, queue, b);
}

/* The oldest block of a queue, or BLOCK_NONE. */
static inline block_id queue_tail(const struct list_node *links, uint32_t queue)
{
    uint32_t entry = links[queue].prev;
    return entry == queue ? BLOCK_NONE : queue_block(entry);
}

/* The oldest block of a queue that may be evicted now, or BLOCK_NONE. */
static inline block_id queue_oldest(const struct list_node *links, uint32_t queue, const struct policy_view *view)
{
    for (uint32_t entry = links[queue].prev; entry != queue; entry = links[entry].prev)
        if (policy_may_evict(view, queue_block(entry)))
            return queue_block(entry);
    return BLOCK_NONE;
}

#endif
