/* What all kinds of allocators do alike: ids of ranges, sums, failures and peaks. */
#include "base/units.h"
#include "sim/allocator_parts.h"

static const struct allocator_ops *ops_of(enum allocator_kind kind)
{
    switch (kind) {
    case ALLOCATOR_FIXED:
        return &allocator_fixed;
    case ALLOCATOR_BUDDY:
        return &allocator_buddy;
    case ALLOCATOR_SLAB:
        return &allocator_slab;
    case ALLOCATOR_MALLOC:
        return &allocator_malloc;
    case ALLOCATOR_NONE:
        break;
    }
    must_failed("an allocator of no kind", __FILE__, __LINE__);
}

/* The state that a call leaves, and its peaks. */
static void settle(struct allocator *allocator)
{
    struct allocator_state *state = &allocator->state;
    struct allocator_counts *counts = &allocator->counts;
    must(state->taken_bytes <= allocator->spec.space_bytes && state->taken_bytes >= state->requested_bytes);
    state->free_bytes = allocator->spec.space_bytes - state->taken_bytes;
    state->largest_hole_bytes = allocator->ops->largest(allocator);
    uint64_t internal = state->taken_bytes - state->requested_bytes;
    if (internal > counts->internal_peak_bytes)
        counts->internal_peak_bytes = internal;
    uint64_t covered = state->largest_hole_bytes < state->free_bytes ? state->largest_hole_bytes : state->free_bytes;
    if (state->ranges > 0 && state->free_bytes - covered > counts->external_peak_bytes)
        counts->external_peak_bytes = state->free_bytes - covered;
    if (state->largest_hole_bytes < counts->largest_hole_min_bytes)
        counts->largest_hole_min_bytes = state->largest_hole_bytes;
}

bool allocator_init(struct allocator **made, const struct allocator_spec *spec, struct arena *arena, struct error *err)
{
    if (spec->space_bytes < 1 || spec->space_bytes > ALLOCATOR_SPACE_MAX)
        return fail(err, STATUS_USAGE, "the allocator's space has %llu bytes: expected 1 to %llu",
                    (unsigned long long)spec->space_bytes, (unsigned long long)ALLOCATOR_SPACE_MAX);
    struct allocator *allocator = arena_alloc(arena, 1, sizeof *allocator);
    if (!allocator)
        return fail(err, STATUS_IO, "out of memory");
    allocator->spec = *spec;
    allocator->ops = ops_of(spec->kind);
    allocator->ranges = arena_alloc(arena, spec->ranges_max, sizeof *allocator->ranges);
    allocator->free_ids = arena_alloc(arena, spec->ranges_max, sizeof *allocator->free_ids);
    if (!allocator->ranges || !allocator->free_ids)
        return fail(err, STATUS_IO, "out of memory");
    for (uint32_t id = spec->ranges_max; id > 0; id--)
        allocator->free_ids[allocator->free_id_count++] = id - 1;
    if (!allocator->ops->init(allocator, arena, err))
        return false;
    allocator->counts.largest_hole_min_bytes = UINT64_MAX;
    settle(allocator);
    *made = allocator;
    return true;
}

bool allocator_space_of(const struct allocator_spec *spec, uint64_t bytes, uint64_t count, uint64_t *space_bytes)
{
    uint64_t unit_bytes, unit_ranges;
    *space_bytes = 0;
    if (count == 0)
        return true;
    return bytes <= ALLOCATOR_SPACE_MAX && ops_of(spec->kind)->unit(spec, bytes, &unit_bytes, &unit_ranges) &&
           multiply((count - 1) / unit_ranges + 1, unit_bytes, space_bytes) && *space_bytes <= ALLOCATOR_SPACE_MAX;
}

bool allocator_take(struct allocator *allocator, uint64_t bytes, uint32_t *range, uint64_t *moved_bytes)
{
    must(bytes > 0 && allocator->free_id_count > 0);
    uint32_t id = allocator->free_ids[allocator->free_id_count - 1];
    *range = RANGE_NONE;
    *moved_bytes = 0;
    allocator->counts.calls++;
    bool taken = bytes <= allocator->spec.space_bytes && allocator->ops->take(allocator, bytes, id, moved_bytes);
    if (taken) {
        allocator->free_id_count--;
        allocator->ranges[id].requested_bytes = bytes;
        allocator->ranges[id].live = true;
        allocator->state.requested_bytes += bytes;
        allocator->state.ranges++;
        allocator->counts.compactions += *moved_bytes > 0;
        allocator->counts.moved_bytes += *moved_bytes;
        *range = id;
    } else {
        allocator->counts.failures++;
        allocator->counts.hole_failures += bytes <= allocator->state.free_bytes;
    }
    settle(allocator);
    return taken;
}

void allocator_free(struct allocator *allocator, uint32_t range)
{
    must(range < allocator->spec.ranges_max && allocator->ranges[range].live);
    allocator->ops->give_back(allocator, range);
    allocator->ranges[range].live = false;
    allocator->state.requested_bytes -= allocator->ranges[range].requested_bytes;
    allocator->state.ranges--;
    allocator->free_ids[allocator->free_id_count++] = range;
    settle(allocator);
}

uint64_t allocator_offset(const struct allocator *allocator, uint32_t range)
{
    must(range < allocator->spec.ranges_max && allocator->ranges[range].live);
    return allocator->ranges[range].offset;
}

uint64_t allocator_taken(const struct allocator *allocator, uint32_t range)
{
    must(range < allocator->spec.ranges_max && allocator->ranges[range].live);
    return allocator->ranges[range].taken_bytes;
}

struct allocator_state allocator_state(const struct allocator *allocator)
{
    return allocator->state;
}

struct allocator_counts allocator_counts(const struct allocator *allocator)
{
    return allocator->counts;
}
