/* The buddy system: blocks of 4 KiB x 2^k, halved on demand, joined with their other half as soon as both are free
 * (Knuth, The Art of Computer Programming, vol. 1, section 2.5, algorithms R and S). */
#include "sim/allocator_parts.h"

/* Free blocks: `size` of their keys is k, `offset` counts pages. */
struct buddy {
    struct order free;
    uint64_t pages;
};

static unsigned log2_down(uint64_t x)
{
    return 63u - (unsigned)__builtin_clzll(x);
}

static bool buddy_init(struct allocator *allocator, struct arena *arena, struct error *err)
{
    struct buddy *buddy = arena_alloc(arena, 1, sizeof *buddy);
    if (!buddy)
        return fail(err, STATUS_IO, "out of memory");
    allocator->self = buddy;
    buddy->pages = allocator->spec.space_bytes / ALLOC_PAGE_BYTES;
    /* A free block is one of the first cut, or the other half of one that holds a live range: of these each live range
     * has at most one of each size. */
    uint64_t sizes = buddy->pages > 0 ? log2_down(buddy->pages) + 1 : 1;
    uint64_t most = (allocator->spec.ranges_max + UINT64_C(1)) * sizes;
    if (!order_init(&buddy->free, most < buddy->pages ? most : buddy->pages, arena))
        return fail(err, STATUS_IO, "out of memory");
    for (uint64_t page = 0; page < buddy->pages;) {
        unsigned k = log2_down(buddy->pages - page);
        order_add(&buddy->free, k, page, 0);
        page += UINT64_C(1) << k;
    }
    return true;
}

/* The power of two of pages that a request gets. */
static unsigned size_of(uint64_t bytes)
{
    uint64_t pages = (bytes + ALLOC_PAGE_BYTES - 1) / ALLOC_PAGE_BYTES;
    return pages > 1 ? log2_down(pages - 1) + 1 : 0;
}

static bool buddy_take(struct allocator *allocator, uint64_t bytes, uint32_t id, uint64_t *moved_bytes)
{
    (void)moved_bytes;
    struct buddy *buddy = allocator->self;
    unsigned k = size_of(bytes);
    const struct order_node *fit = order_first(&buddy->free, k);
    if (!fit)
        return false;
    uint64_t size = fit->size, page = fit->offset;
    order_remove(&buddy->free, size, page);
    while (size > k) {
        size--;
        order_add(&buddy->free, size, page + (UINT64_C(1) << size), 0);
    }
    uint64_t taken = (UINT64_C(1) << k) * ALLOC_PAGE_BYTES;
    allocator->ranges[id] = (struct live_range){.taken_bytes = taken, .offset = page * ALLOC_PAGE_BYTES, .place = k};
    allocator->state.taken_bytes += taken;
    return true;
}

static void buddy_give_back(struct allocator *allocator, uint32_t id)
{
    struct buddy *buddy = allocator->self;
    const struct live_range *range = &allocator->ranges[id];
    uint64_t page = range->offset / ALLOC_PAGE_BYTES;
    unsigned k = range->place;
    while (order_remove(&buddy->free, k, page ^ (UINT64_C(1) << k))) {
        page &= ~(UINT64_C(1) << k);
        k++;
    }
    order_add(&buddy->free, k, page, 0);
    allocator->state.taken_bytes -= range->taken_bytes;
}

static uint64_t buddy_largest(const struct allocator *allocator)
{
    const struct buddy *buddy = allocator->self;
    const struct order_node *last = order_last(&buddy->free);
    return last ? (UINT64_C(1) << last->size) * ALLOC_PAGE_BYTES : 0;
}

static bool buddy_unit(const struct allocator_spec *spec, uint64_t bytes, uint64_t *unit_bytes, uint64_t *unit_ranges)
{
    (void)spec;
    *unit_bytes = (UINT64_C(1) << size_of(bytes)) * ALLOC_PAGE_BYTES;
    *unit_ranges = 1;
    return true;
}

const struct allocator_ops allocator_buddy = {buddy_init, buddy_take, buddy_give_back, buddy_largest, buddy_unit};
