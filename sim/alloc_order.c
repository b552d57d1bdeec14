/* The ordered set of the allocators: a treap over a fixed pool of nodes. */
#include "base/rng.h"
#include "sim/allocator_parts.h"

bool order_init(struct order *order, uint64_t max, struct arena *arena)
{
    struct rng rng;
    if (max >= ORDER_NONE || !(order->nodes = arena_alloc(arena, (size_t)max, sizeof *order->nodes)))
        return false;
    order->root = order->free = ORDER_NONE;
    rng_seed(&rng, 1, 0);
    for (uint32_t i = (uint32_t)max; i > 0; i--) {
        order->nodes[i - 1].priority = rng_next(&rng);
        order->nodes[i - 1].left = order->free;
        order->free = i - 1;
    }
    return true;
}

static inline bool before(const struct order_node *node, uint64_t size, uint64_t offset)
{
    return node->size != size ? node->size < size : node->offset < offset;
}

void order_add(struct order *order, uint64_t size, uint64_t offset, uint32_t tag)
{
    struct order_node *nodes = order->nodes;
    uint32_t added = order->free;
    must(added != ORDER_NONE);
    struct order_node *node = &nodes[added];
    order->free = node->left;
    node->size = size;
    node->offset = offset;
    node->tag = tag;
    uint32_t *link = &order->root;
    while (*link != ORDER_NONE && nodes[*link].priority >= node->priority)
        link = before(&nodes[*link], size, offset) ? &nodes[*link].right : &nodes[*link].left;
    /* What stood here is split by the key into the new node's two sides. */
    uint32_t *less = &node->left, *more = &node->right, at = *link;
    *link = added;
    while (at != ORDER_NONE) {
        if (before(&nodes[at], size, offset)) {
            *less = at;
            less = &nodes[at].right;
            at = *less;
        } else {
            *more = at;
            more = &nodes[at].left;
            at = *more;
        }
    }
    *less = *more = ORDER_NONE;
}

bool order_remove(struct order *order, uint64_t size, uint64_t offset)
{
    struct order_node *nodes = order->nodes;
    uint32_t *link = &order->root;
    while (*link != ORDER_NONE && (nodes[*link].size != size || nodes[*link].offset != offset))
        link = before(&nodes[*link], size, offset) ? &nodes[*link].right : &nodes[*link].left;
    uint32_t removed = *link;
    if (removed == ORDER_NONE)
        return false;
    uint32_t less = nodes[removed].left, more = nodes[removed].right;
    while (less != ORDER_NONE && more != ORDER_NONE) {
        if (nodes[less].priority >= nodes[more].priority) {
            *link = less;
            link = &nodes[less].right;
            less = *link;
        } else {
            *link = more;
            link = &nodes[more].left;
            more = *link;
        }
    }
    *link = less != ORDER_NONE ? less : more;
    nodes[removed].left = order->free;
    order->free = removed;
    return true;
}

const struct order_node *order_first(const struct order *order, uint64_t size)
{
    const struct order_node *found = NULL;
    for (uint32_t at = order->root; at != ORDER_NONE;) {
        const struct order_node *node = &order->nodes[at];
        bool small = node->size < size;
        if (!small)
            found = node;
        at = small ? node->right : node->left;
    }
    return found;
}

const struct order_node *order_last(const struct order *order)
{
    const struct order_node *found = NULL;
    for (uint32_t at = order->root; at != ORDER_NONE; at = order->nodes[at].right)
        found = &order->nodes[at];
    return found;
}
