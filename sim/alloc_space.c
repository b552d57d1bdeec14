/* A space that is handed out by best fit, for malloc's chunks and the slabs: holes by size in an ordered set,
 * neighbours by address in a list. */
#include "sim/allocator_parts.h"

static uint32_t segment_new(struct space *space)
{
    uint32_t segment = space->unused;
    must(segment != SEGMENT_NONE);
    space->unused = space->segments[segment].next;
    return segment;
}

static void segment_end(struct space *space, uint32_t segment)
{
    space->segments[segment].next = space->unused;
    space->unused = segment;
}

bool space_init(struct space *space, uint64_t bytes, uint32_t live_max, struct arena *arena)
{
    uint64_t holes = live_max + UINT64_C(1), all = holes + live_max;
    if (all >= SEGMENT_NONE || !(space->segments = arena_alloc(arena, (size_t)all, sizeof *space->segments)) ||
        !order_init(&space->holes, holes, arena))
        return false;
    space->unused = SEGMENT_NONE;
    for (uint32_t i = (uint32_t)all; i > 0; i--)
        segment_end(space, i - 1);
    space->first = segment_new(space);
    space->segments[space->first] =
        (struct segment){.bytes = bytes, .previous = SEGMENT_NONE, .next = SEGMENT_NONE, .owner = SEGMENT_HOLE};
    order_add(&space->holes, bytes, 0, space->first);
    return true;
}

uint32_t space_take(struct space *space, uint64_t bytes, uint32_t owner)
{
    const struct order_node *fit = order_first(&space->holes, bytes);
    if (!fit)
        return SEGMENT_NONE;
    uint32_t taken = fit->tag;
    struct segment *segment = &space->segments[taken];
    order_remove(&space->holes, segment->bytes, segment->offset);
    segment->owner = owner;
    if (segment->bytes == bytes)
        return taken;
    uint32_t rest = segment_new(space);
    space->segments[rest] = (struct segment){.offset = segment->offset + bytes,
                                             .bytes = segment->bytes - bytes,
                                             .previous = taken,
                                             .next = segment->next,
                                             .owner = SEGMENT_HOLE};
    if (segment->next != SEGMENT_NONE)
        space->segments[segment->next].previous = rest;
    segment->next = rest;
    segment->bytes = bytes;
    order_add(&space->holes, space->segments[rest].bytes, space->segments[rest].offset, rest);
    return taken;
}

/* Joins a hole that is in the ordered set with the segment before it, which becomes the hole. */
static void join(struct space *space, uint32_t left, uint32_t right)
{
    struct segment *a = &space->segments[left], *b = &space->segments[right];
    a->bytes += b->bytes;
    a->next = b->next;
    if (b->next != SEGMENT_NONE)
        space->segments[b->next].previous = left;
    segment_end(space, right);
}

void space_free(struct space *space, uint32_t freed)
{
    struct segment *segment = &space->segments[freed];
    uint32_t previous = segment->previous, next = segment->next;
    segment->owner = SEGMENT_HOLE;
    if (next != SEGMENT_NONE && space->segments[next].owner == SEGMENT_HOLE) {
        order_remove(&space->holes, space->segments[next].bytes, space->segments[next].offset);
        join(space, freed, next);
    }
    if (previous != SEGMENT_NONE && space->segments[previous].owner == SEGMENT_HOLE) {
        order_remove(&space->holes, space->segments[previous].bytes, space->segments[previous].offset);
        join(space, previous, freed);
        freed = previous;
    }
    order_add(&space->holes, space->segments[freed].bytes, space->segments[freed].offset, freed);
}

uint64_t space_largest_hole(const struct space *space)
{
    const struct order_node *last = order_last(&space->holes);
    return last ? last->size : 0;
}
