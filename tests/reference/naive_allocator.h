/* The allocators over again, from docs/models.md section 13 alone: a list of live ranges, searched from end to end. */
#ifndef POCKETLOAD_TESTS_REFERENCE_NAIVE_ALLOCATOR_H
#define POCKETLOAD_TESTS_REFERENCE_NAIVE_ALLOCATOR_H

#include "sim/allocator.h"

enum { NAIVE_RANGES_MAX = 128 };

struct naive_range {
    bool live;
    uint64_t offset, requested, taken;
};

/* A slab; object i lies at offset + i * object. */
struct naive_slab {
    uint64_t offset, object, count;
};

struct naive_allocator {
    struct allocator_spec spec;
    struct naive_range ranges[NAIVE_RANGES_MAX];
    struct naive_slab slabs[NAIVE_RANGES_MAX];
    uint32_t slab_count;
    struct allocator_state state; /* after the last call */
    struct allocator_counts counts;
};

/* spec->ranges_max is at most NAIVE_RANGES_MAX. */
void naive_allocator_start(struct naive_allocator *twin, const struct allocator_spec *spec);
bool naive_allocator_take(struct naive_allocator *twin, uint64_t bytes, uint32_t *range, uint64_t *moved_bytes);
void naive_allocator_free(struct naive_allocator *twin, uint32_t range);

#endif
