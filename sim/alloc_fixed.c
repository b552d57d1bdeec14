/* The fixed pool: equal slots, the lowest free one first. */
#include "sim/allocator_parts.h"

/* Free slots in a binary heap, the lowest on top. No more slots are ever used than ranges can be live. */
struct fixed {
    uint64_t slots; /* that the space holds */
    uint32_t *heap;
    uint32_t free;
};

static bool fixed_init(struct allocator *allocator, struct arena *arena, struct error *err)
{
    const struct allocator_spec *spec = &allocator->spec;
    if (spec->slot_bytes < 1)
        return fail(err, STATUS_USAGE, "the fixed allocator's slots have 0 bytes: expected at least 1");
    struct fixed *fixed = arena_alloc(arena, 1, sizeof *fixed);
    if (!fixed)
        return fail(err, STATUS_IO, "out of memory");
    allocator->self = fixed;
    fixed->slots = spec->space_bytes / spec->slot_bytes;
    fixed->free = fixed->slots < spec->ranges_max ? (uint32_t)fixed->slots : spec->ranges_max;
    fixed->heap = arena_alloc(arena, fixed->free, sizeof *fixed->heap);
    if (!fixed->heap)
        return fail(err, STATUS_IO, "out of memory");
    for (uint32_t i = 0; i < fixed->free; i++)
        fixed->heap[i] = i;
    return true;
}

static uint32_t pop(struct fixed *fixed)
{
    uint32_t *heap = fixed->heap, lowest = heap[0], last = heap[--fixed->free];
    uint64_t at = 0;
    for (uint64_t child; (child = 2 * at + 1) < fixed->free; at = child) {
        child += child + 1 < fixed->free && heap[child + 1] < heap[child];
        if (heap[child] >= last)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return lowest;
}

static void push(struct fixed *fixed, uint32_t slot)
{
    uint32_t at = fixed->free++;
    for (uint32_t parent; at > 0 && fixed->heap[parent = (at - 1) / 2] > slot; at = parent)
        fixed->heap[at] = fixed->heap[parent];
    fixed->heap[at] = slot;
}

static bool fixed_take(struct allocator *allocator, uint64_t bytes, uint32_t id, uint64_t *moved_bytes)
{
    (void)moved_bytes;
    struct fixed *fixed = allocator->self;
    uint64_t slot_bytes = allocator->spec.slot_bytes;
    if (bytes > slot_bytes || fixed->free == 0)
        return false;
    uint32_t slot = pop(fixed);
    allocator->ranges[id] = (struct live_range){.taken_bytes = slot_bytes, .offset = slot * slot_bytes, .place = slot};
    allocator->state.taken_bytes += slot_bytes;
    return true;
}

static void fixed_give_back(struct allocator *allocator, uint32_t id)
{
    push(allocator->self, allocator->ranges[id].place);
    allocator->state.taken_bytes -= allocator->spec.slot_bytes;
}

static uint64_t fixed_largest(const struct allocator *allocator)
{
    const struct fixed *fixed = allocator->self;
    return allocator->state.ranges < fixed->slots ? allocator->spec.slot_bytes : 0;
}

static bool fixed_unit(const struct allocator_spec *spec, uint64_t bytes, uint64_t *unit_bytes, uint64_t *unit_ranges)
{
    *unit_bytes = spec->slot_bytes;
    *unit_ranges = 1;
    return bytes <= spec->slot_bytes;
}

const struct allocator_ops allocator_fixed = {fixed_init, fixed_take, fixed_give_back, fixed_largest, fixed_unit};
