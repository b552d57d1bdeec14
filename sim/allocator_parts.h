/* What the kinds of allocators share: the books of live ranges, an ordered set, and a space that is handed out by best
 * fit. */
#ifndef POCKETLOAD_SIM_ALLOCATOR_PARTS_H
#define POCKETLOAD_SIM_ALLOCATOR_PARTS_H

#include "sim/allocator.h"

enum { ALLOC_PAGE_BYTES = 4096 };

/* ---- alloc_order.c: an ordered set ---- */
#define ORDER_NONE UINT32_MAX

/* Keys go by size, then offset; each is in the set at most once. */
struct order_node {
    uint64_t size, offset;
    uint64_t priority;
    uint32_t left, right; /* nodes, or ORDER_NONE; left links those that are free */
    uint32_t tag;         /* the owner's */
};

/* A treap (Seidel and Aragon, "Randomized Search Trees", Algorithmica 16, 1996): a call looks at O(log n) nodes as
 * expected over the priorities, which are drawn once from a fixed seed. */
struct order {
    struct order_node *nodes;
    uint32_t root, free;
};

/* Room for `max` keys. False: out of memory. */
bool order_init(struct order *order, uint64_t max, struct arena *arena);
void order_add(struct order *order, uint64_t size, uint64_t offset, uint32_t tag);
/* False: there is no such key. */
bool order_remove(struct order *order, uint64_t size, uint64_t offset);
/* The first key of at least this size, the last of all; NULL: none. */
const struct order_node *order_first(const struct order *order, uint64_t size);
const struct order_node *order_last(const struct order *order);

/* ---- alloc_space.c: a space that is handed out by best fit ---- */
struct segment {
    uint64_t offset, bytes;
    uint32_t previous, next; /* by address; next also links unused segments */
    uint32_t owner;          /* of a live one; SEGMENT_HOLE */
};
#define SEGMENT_NONE UINT32_MAX
#define SEGMENT_HOLE UINT32_MAX

/* Live segments and holes in order of address; two holes never touch. */
struct space {
    struct order holes; /* tag: the segment */
    struct segment *segments;
    uint32_t first, unused;
};

/* At most live_max segments will be live at once. False: out of memory. */
bool space_init(struct space *space, uint64_t bytes, uint32_t live_max, struct arena *arena);
/* The start of the smallest hole of at least `bytes`, the lowest among equal ones. SEGMENT_NONE: there is none. */
uint32_t space_take(struct space *space, uint64_t bytes, uint32_t owner);
void space_free(struct space *space, uint32_t segment);
uint64_t space_largest_hole(const struct space *space);

/* ---- The books ---- */
struct live_range {
    uint64_t requested_bytes, taken_bytes, offset;
    uint32_t place; /* the kind's */
    bool live;
};

/* One kind. take fills in offset, taken_bytes and place of ranges[id] and adds to state.taken_bytes, or answers false
 * with nothing changed; give_back undoes it. */
struct allocator_ops {
    bool (*init)(struct allocator *allocator, struct arena *arena, struct error *err);
    bool (*take)(struct allocator *allocator, uint64_t bytes, uint32_t id, uint64_t *moved_bytes);
    void (*give_back)(struct allocator *allocator, uint32_t id);
    uint64_t (*largest)(const struct allocator *allocator);
    /* What ranges of `bytes` <= ALLOCATOR_SPACE_MAX are handed out in: *unit_bytes of the space for *unit_ranges of
     * them. False: they never are. */
    bool (*unit)(const struct allocator_spec *spec, uint64_t bytes, uint64_t *unit_bytes, uint64_t *unit_ranges);
};

struct allocator {
    struct allocator_spec spec;
    struct allocator_state state; /* free and largest hole as of the last call */
    struct allocator_counts counts;
    struct live_range *ranges;
    uint32_t *free_ids; /* a stack */
    uint32_t free_id_count;
    const struct allocator_ops *ops;
    void *self; /* the kind's */
};

extern const struct allocator_ops allocator_fixed, allocator_buddy, allocator_slab, allocator_malloc;

#endif
