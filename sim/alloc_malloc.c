/* A general allocator: best fit, headers, holes joined when they touch; and, where a runtime can move what it holds,
 * compaction. glibc's malloc serves large requests by best fit from bins sorted by size, with a 16-byte header and
 * alignment on 64-bit machines (malloc/malloc.c, its opening comment: best fit from 512 bytes on, ties by age, which
 * here go by address); its small bins and mapped chunks are not followed. */
#include "sim/allocator_parts.h"

enum { HEADER_BYTES = 16, ALIGN_BYTES = 16 };

static bool malloc_init(struct allocator *allocator, struct arena *arena, struct error *err)
{
    struct space *space = arena_alloc(arena, 1, sizeof *space);
    if (!space || !space_init(space, allocator->spec.space_bytes, allocator->spec.ranges_max, arena))
        return fail(err, STATUS_IO, "out of memory");
    allocator->self = space;
    return true;
}

/* Moves all live ranges towards 0, in their order, and leaves one hole behind them; returns the bytes moved. */
static uint64_t compact(struct allocator *allocator, struct space *space)
{
    uint64_t moved = 0, end = 0;
    uint32_t last = SEGMENT_NONE, next;
    for (uint32_t at = space->first; at != SEGMENT_NONE; at = next) {
        struct segment *segment = &space->segments[at];
        next = segment->next;
        if (segment->owner == SEGMENT_HOLE) {
            order_remove(&space->holes, segment->bytes, segment->offset);
            segment->next = space->unused;
            space->unused = at;
            continue;
        }
        if (segment->offset != end) {
            moved += segment->bytes;
            segment->offset = end;
            allocator->ranges[segment->owner].offset = end;
        }
        segment->previous = last;
        *(last == SEGMENT_NONE ? &space->first : &space->segments[last].next) = at;
        end += segment->bytes;
        last = at;
    }
    uint32_t hole = space->unused;
    space->unused = space->segments[hole].next;
    space->segments[hole] = (struct segment){.offset = end,
                                             .bytes = allocator->spec.space_bytes - end,
                                             .previous = last,
                                             .next = SEGMENT_NONE,
                                             .owner = SEGMENT_HOLE};
    *(last == SEGMENT_NONE ? &space->first : &space->segments[last].next) = hole;
    order_add(&space->holes, space->segments[hole].bytes, end, hole);
    return moved;
}

static uint64_t chunk_of(uint64_t bytes)
{
    return (bytes + HEADER_BYTES + ALIGN_BYTES - 1) & ~(uint64_t)(ALIGN_BYTES - 1);
}

static bool malloc_take(struct allocator *allocator, uint64_t bytes, uint32_t id, uint64_t *moved_bytes)
{
    struct space *space = allocator->self;
    uint64_t taken = chunk_of(bytes);
    uint32_t segment = space_take(space, taken, id);
    if (segment == SEGMENT_NONE) {
        if (!allocator->spec.compact || taken > allocator->state.free_bytes)
            return false;
        *moved_bytes = compact(allocator, space);
        segment = space_take(space, taken, id);
        must(segment != SEGMENT_NONE);
    }
    allocator->ranges[id] =
        (struct live_range){.taken_bytes = taken, .offset = space->segments[segment].offset, .place = segment};
    allocator->state.taken_bytes += taken;
    return true;
}

static void malloc_give_back(struct allocator *allocator, uint32_t id)
{
    space_free(allocator->self, allocator->ranges[id].place);
    allocator->state.taken_bytes -= allocator->ranges[id].taken_bytes;
}

static uint64_t malloc_largest(const struct allocator *allocator)
{
    uint64_t hole = space_largest_hole(allocator->self) & ~(uint64_t)(ALIGN_BYTES - 1);
    return hole > HEADER_BYTES ? hole - HEADER_BYTES : 0;
}

static bool malloc_unit(const struct allocator_spec *spec, uint64_t bytes, uint64_t *unit_bytes, uint64_t *unit_ranges)
{
    (void)spec;
    *unit_bytes = chunk_of(bytes);
    *unit_ranges = 1;
    return true;
}

const struct allocator_ops allocator_malloc = {malloc_init, malloc_take, malloc_give_back, malloc_largest, malloc_unit};
