/* See naive_allocator.h. Every question is answered by looking at every live range. */
#include "tests/reference/naive_allocator.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, MIB = 1 << 20 };

/* What a request would get: where, how much, and for slab whether in a slab yet to be made. */
struct found {
    uint64_t offset, taken;
    bool new_slab;
};

static uint64_t round_up(uint64_t x, uint64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

/* The first byte at or after `from` that a live range, or a slab, begins at; the space's end without one. */
static uint64_t next_begin(const struct naive_allocator *twin, uint64_t from)
{
    uint64_t next = twin->spec.space_bytes;
    for (uint32_t i = 0; i < twin->spec.ranges_max; i++) {
        const struct naive_range *range = &twin->ranges[i];
        if (twin->spec.kind != ALLOCATOR_SLAB && range->live && range->offset >= from && range->offset < next)
            next = range->offset;
    }
    for (uint32_t i = 0; i < twin->slab_count; i++)
        if (twin->slabs[i].offset >= from && twin->slabs[i].offset < next)
            next = twin->slabs[i].offset;
    return next;
}

/* The end of what begins at `at`. */
static uint64_t end_of(const struct naive_allocator *twin, uint64_t at)
{
    for (uint32_t i = 0; i < twin->spec.ranges_max; i++)
        if (twin->spec.kind != ALLOCATOR_SLAB && twin->ranges[i].live && twin->ranges[i].offset == at)
            return at + twin->ranges[i].taken;
    for (uint32_t i = 0; i < twin->slab_count; i++)
        if (twin->slabs[i].offset == at)
            return at + twin->slabs[i].object * twin->slabs[i].count;
    abort();
}

/* The smallest hole of at least `bytes`, from low to high addresses; false without one. */
static bool best_hole(const struct naive_allocator *twin, uint64_t bytes, uint64_t *offset)
{
    uint64_t best = UINT64_MAX;
    for (uint64_t at = 0; at < twin->spec.space_bytes;) {
        uint64_t begin = next_begin(twin, at), hole = begin - at;
        if (hole >= bytes && hole < best && hole > 0) {
            best = hole;
            *offset = at;
        }
        at = begin < twin->spec.space_bytes ? end_of(twin, begin) : begin;
    }
    return best != UINT64_MAX;
}

static bool is_free(const struct naive_allocator *twin, uint64_t offset, uint64_t bytes)
{
    for (uint32_t i = 0; i < twin->spec.ranges_max; i++) {
        const struct naive_range *range = &twin->ranges[i];
        if (range->live && range->offset < offset + bytes && offset < range->offset + range->taken)
            return false;
    }
    return true;
}

static bool find_fixed(const struct naive_allocator *twin, uint64_t bytes, struct found *found)
{
    uint64_t slot = twin->spec.slot_bytes;
    for (uint64_t offset = 0; bytes <= slot && offset + slot <= twin->spec.space_bytes; offset += slot) {
        if (is_free(twin, offset, slot)) {
            *found = (struct found){.offset = offset, .taken = slot};
            return true;
        }
    }
    return false;
}

/* An aligned block that lies whole in the space's pages and is free is a free block, or a part of one, or is made of
 * smaller ones that have been joined. The smallest free block that is not a part of a larger one is what a request
 * gets. */
static bool find_buddy(const struct naive_allocator *twin, uint64_t bytes, struct found *found)
{
    uint64_t end = twin->spec.space_bytes / PAGE * PAGE, taken = PAGE;
    while (taken < bytes)
        taken *= 2;
    for (uint64_t size = taken; size <= end; size *= 2) {
        for (uint64_t offset = 0; offset + size <= end; offset += size) {
            uint64_t whole = offset / (2 * size) * (2 * size);
            bool part = whole + 2 * size <= end && is_free(twin, whole, 2 * size);
            if (!part && is_free(twin, offset, size)) {
                *found = (struct found){.offset = offset, .taken = taken};
                return true;
            }
        }
    }
    return false;
}

/* The classes in order: 4 KiB, then eight steps to each doubling. */
static uint64_t next_class(uint64_t bytes)
{
    uint64_t power = PAGE;
    while (power * 2 <= bytes)
        power *= 2;
    return bytes + power / 8;
}

static bool find_slab(const struct naive_allocator *twin, uint64_t bytes, struct found *found)
{
    uint64_t object = PAGE;
    while (object < bytes)
        object = next_class(object);
    *found = (struct found){.offset = UINT64_MAX, .taken = object};
    for (uint32_t s = 0; s < twin->slab_count; s++) {
        const struct naive_slab *slab = &twin->slabs[s];
        for (uint64_t i = 0; slab->object == object && i < slab->count; i++) {
            uint64_t offset = slab->offset + i * object;
            if (offset < found->offset && is_free(twin, offset, object))
                found->offset = offset;
        }
    }
    if (found->offset != UINT64_MAX)
        return true;
    found->new_slab = true;
    uint64_t count = 1;
    while (count * object < MIB)
        count++;
    return best_hole(twin, count * object, &found->offset);
}

static bool find_malloc(const struct naive_allocator *twin, uint64_t bytes, struct found *found)
{
    *found = (struct found){.taken = round_up(bytes + 16, 16)};
    return best_hole(twin, found->taken, &found->offset);
}

static bool find(const struct naive_allocator *twin, uint64_t bytes, struct found *found)
{
    if (bytes > twin->spec.space_bytes)
        return false;
    switch (twin->spec.kind) {
    case ALLOCATOR_FIXED:
        return find_fixed(twin, bytes, found);
    case ALLOCATOR_BUDDY:
        return find_buddy(twin, bytes, found);
    case ALLOCATOR_SLAB:
        return find_slab(twin, bytes, found);
    default:
        return find_malloc(twin, bytes, found);
    }
}

/* The largest request that find answers: sizes that a rounding ends at are tried from large to small. */
static uint64_t largest(const struct naive_allocator *twin)
{
    struct found found;
    uint64_t space = twin->spec.space_bytes, best = 0;
    switch (twin->spec.kind) {
    case ALLOCATOR_FIXED:
        return find(twin, twin->spec.slot_bytes, &found) ? twin->spec.slot_bytes : 0;
    case ALLOCATOR_BUDDY:
        for (uint64_t size = PAGE; size <= space; size *= 2)
            best = find(twin, size, &found) ? size : best;
        return best;
    case ALLOCATOR_SLAB:
        for (uint64_t size = PAGE; size <= space; size = next_class(size))
            best = find(twin, size, &found) ? size : best;
        return best;
    default:
        for (uint64_t at = 0; at < space;) {
            uint64_t begin = next_begin(twin, at), size = begin - at;
            while (size > best && round_up(size + 16, 16) > begin - at)
                size--;
            best = size > best ? size : best;
            at = begin < space ? end_of(twin, begin) : begin;
        }
        return best;
    }
}

static struct allocator_state look(const struct naive_allocator *twin)
{
    struct allocator_state state = {0};
    for (uint32_t i = 0; i < twin->spec.ranges_max; i++) {
        if (!twin->ranges[i].live)
            continue;
        state.ranges++;
        state.requested_bytes += twin->ranges[i].requested;
        state.taken_bytes += twin->spec.kind == ALLOCATOR_SLAB ? 0 : twin->ranges[i].taken;
    }
    for (uint32_t s = 0; s < twin->slab_count; s++)
        state.taken_bytes += twin->slabs[s].object * twin->slabs[s].count;
    state.free_bytes = twin->spec.space_bytes - state.taken_bytes;
    state.largest_hole_bytes = largest(twin);
    return state;
}

static void count_state(struct naive_allocator *twin)
{
    struct allocator_state state = twin->state = look(twin);
    struct allocator_counts *counts = &twin->counts;
    uint64_t internal = state.taken_bytes - state.requested_bytes;
    if (internal > counts->internal_peak_bytes)
        counts->internal_peak_bytes = internal;
    if (state.ranges > 0 && state.free_bytes > state.largest_hole_bytes &&
        state.free_bytes - state.largest_hole_bytes > counts->external_peak_bytes)
        counts->external_peak_bytes = state.free_bytes - state.largest_hole_bytes;
    if (state.largest_hole_bytes < counts->largest_hole_min_bytes)
        counts->largest_hole_min_bytes = state.largest_hole_bytes;
}

void naive_allocator_start(struct naive_allocator *twin, const struct allocator_spec *spec)
{
    memset(twin, 0, sizeof *twin);
    twin->spec = *spec;
    twin->counts.largest_hole_min_bytes = UINT64_MAX;
    count_state(twin);
}

/* All live ranges one behind the other, in order of address. */
static uint64_t compact(struct naive_allocator *twin)
{
    uint64_t moved = 0, end = 0, begin;
    while ((begin = next_begin(twin, end)) < twin->spec.space_bytes) {
        uint32_t i = 0;
        while (!twin->ranges[i].live || twin->ranges[i].offset != begin)
            i++;
        moved += begin != end ? twin->ranges[i].taken : 0;
        twin->ranges[i].offset = end;
        end += twin->ranges[i].taken;
    }
    return moved;
}

bool naive_allocator_take(struct naive_allocator *twin, uint64_t bytes, uint32_t *range, uint64_t *moved_bytes)
{
    struct found found = {0};
    uint64_t free_bytes = twin->state.free_bytes;
    *moved_bytes = 0;
    twin->counts.calls++;
    bool fits = find(twin, bytes, &found);
    if (!fits && twin->spec.kind == ALLOCATOR_MALLOC && twin->spec.compact && bytes <= twin->spec.space_bytes &&
        found.taken <= free_bytes) {
        *moved_bytes = compact(twin);
        twin->counts.compactions++;
        twin->counts.moved_bytes += *moved_bytes;
        fits = find(twin, bytes, &found);
    }
    if (fits) {
        *range = 0;
        while (twin->ranges[*range].live)
            ++*range;
        twin->ranges[*range] = (struct naive_range){true, found.offset, bytes, found.taken};
        if (found.new_slab)
            twin->slabs[twin->slab_count++] =
                (struct naive_slab){found.offset, found.taken, found.taken < MIB ? (MIB - 1) / found.taken + 1 : 1};
    } else {
        twin->counts.failures++;
        twin->counts.hole_failures += bytes <= free_bytes;
    }
    count_state(twin);
    return fits;
}

void naive_allocator_free(struct naive_allocator *twin, uint32_t range)
{
    twin->ranges[range].live = false;
    for (uint32_t s = 0; s < twin->slab_count; s++) {
        const struct naive_slab *slab = &twin->slabs[s];
        if (is_free(twin, slab->offset, slab->object * slab->count))
            twin->slabs[s--] = twin->slabs[--twin->slab_count];
    }
    count_state(twin);
}
