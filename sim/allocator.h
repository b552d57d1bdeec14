/* Allocators that place ranges in one address space: what fits by its sum need not fit by its holes.
 *
 * Offsets and sizes are bytes. An allocator is a value: its memory comes from an arena, nothing is allocated by a call.
 * docs/models.md section 13 states the rules; tests/reference/naive_allocator.c is the twin. */
#ifndef POCKETLOAD_SIM_ALLOCATOR_H
#define POCKETLOAD_SIM_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum allocator_kind { ALLOCATOR_NONE, ALLOCATOR_FIXED, ALLOCATOR_BUDDY, ALLOCATOR_SLAB, ALLOCATOR_MALLOC };

#define RANGE_NONE UINT32_MAX

struct allocator_spec {
    enum allocator_kind kind;
    uint64_t space_bytes; /* of the address space */
    uint64_t slot_bytes;  /* fixed: of each slot, the largest request there will be */
    uint32_t ranges_max;  /* live at once */
    bool compact;         /* malloc: a request that fits by its sum but by no hole moves the ranges together */
};

struct allocator_state {
    uint64_t requested_bytes;    /* by live ranges */
    uint64_t taken_bytes;        /* by live ranges, rounding and headers included (slab: whole slabs) */
    uint64_t free_bytes;         /* space less taken */
    uint64_t largest_hole_bytes; /* the largest request that would succeed now, before rounding */
    uint32_t ranges;
};

/* Sums and peaks since the start. */
struct allocator_counts {
    uint64_t calls, failures; /* allocations asked for; refused */
    uint64_t hole_failures;   /* of these, which free_bytes would have covered */
    uint64_t compactions, moved_bytes;
    uint64_t internal_peak_bytes; /* taken - requested */
    uint64_t external_peak_bytes; /* free - largest hole, at a time when something is live */
    uint64_t largest_hole_min_bytes;
};

struct allocator; /* allocator.c; one file for each kind */

bool allocator_init(struct allocator **allocator, const struct allocator_spec *spec, struct arena *arena,
                    struct error *err);

/* A live range of `bytes` >= 1: *range is a small dense id for allocator_free, *moved_bytes what compaction copied for
 * it (0: nothing). False: no room, counted as a failure. */
bool allocator_take(struct allocator *allocator, uint64_t bytes, uint32_t *range, uint64_t *moved_bytes);
void allocator_free(struct allocator *allocator, uint32_t range);

/* Where a live range lies, and what it takes. */
uint64_t allocator_offset(const struct allocator *allocator, uint32_t range);
uint64_t allocator_taken(const struct allocator *allocator, uint32_t range);

struct allocator_state allocator_state(const struct allocator *allocator);
struct allocator_counts allocator_counts(const struct allocator *allocator);

#endif
