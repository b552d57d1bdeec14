/* Allocators that place ranges in one address space: what fits by its sum need not fit by its holes.
 *
 * Offsets and sizes are bytes. An allocator is a value: its memory comes from an arena, nothing is allocated by a call,
 * and the same calls give the same answers. docs/models.md section 13 states the rules, with their sources;
 * tests/reference/naive_allocator.c is the twin. */
#ifndef POCKETLOAD_SIM_ALLOCATOR_H
#define POCKETLOAD_SIM_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum allocator_kind { ALLOCATOR_NONE, ALLOCATOR_FIXED, ALLOCATOR_BUDDY, ALLOCATOR_SLAB, ALLOCATOR_MALLOC };

#define RANGE_NONE UINT32_MAX

/* The largest address space: sums of sizes stay below 2^64. */
#define ALLOCATOR_SPACE_MAX (UINT64_C(1) << 62)

struct allocator_spec {
    enum allocator_kind kind; /* not NONE */
    uint64_t space_bytes;     /* of the address space, 1 .. ALLOCATOR_SPACE_MAX */
    uint64_t slot_bytes;      /* fixed: of each slot, at least 1; a larger request is refused */
    uint32_t ranges_max;      /* live at once; more are the caller's mistake */
    bool compact;             /* malloc: a request that fits by its sum but by no hole moves the ranges together */
};

struct allocator_state {
    uint64_t requested_bytes; /* by live ranges */
    uint64_t taken_bytes;     /* by live ranges, rounding and headers included (slab: whole slabs) */
    uint64_t free_bytes;      /* space less taken */
    /* The largest request that would succeed now without moving anything, before rounding. A smaller one need not
     * succeed with slab, where a free object serves its own class alone. */
    uint64_t largest_hole_bytes;
    uint32_t ranges;
};

/* Sums and peaks since the start, of the states after each call. */
struct allocator_counts {
    uint64_t calls, failures; /* allocations asked for; refused */
    uint64_t hole_failures;   /* of these, for no more bytes than were free */
    uint64_t compactions, moved_bytes;
    uint64_t internal_peak_bytes;    /* taken - requested */
    uint64_t external_peak_bytes;    /* free - largest hole, at least 0, at a time when something is live */
    uint64_t largest_hole_min_bytes; /* the empty space counts too */
};

struct allocator; /* allocator.c; one file for each kind */

/* *allocator lives in the arena. False: STATUS_USAGE for a space or slots that cannot be, STATUS_IO without memory. */
bool allocator_init(struct allocator **allocator, const struct allocator_spec *spec, struct arena *arena,
                    struct error *err);

/* How much of an empty space `count` >= 0 ranges of `bytes` >= 1 take when nothing else is in it, rounding and headers
 * included. spec->space_bytes and ranges_max are not used. False: more than ALLOCATOR_SPACE_MAX, or a request that is
 * larger than a slot. */
bool allocator_space_of(const struct allocator_spec *spec, uint64_t bytes, uint64_t count, uint64_t *space_bytes);

/* A live range of `bytes` >= 1: *range is an id below ranges_max for allocator_free, *moved_bytes what compaction
 * copied for it, headers and rounding included (0: nothing). False: no room, counted as a failure; *range is RANGE_NONE
 * and *moved_bytes 0. Compaction moves other live ranges: ask for offsets again. */
bool allocator_take(struct allocator *allocator, uint64_t bytes, uint32_t *range, uint64_t *moved_bytes);
void allocator_free(struct allocator *allocator, uint32_t range);

/* Where a live range lies, its header included, and what it takes. */
uint64_t allocator_offset(const struct allocator *allocator, uint32_t range);
uint64_t allocator_taken(const struct allocator *allocator, uint32_t range);

struct allocator_state allocator_state(const struct allocator *allocator);
struct allocator_counts allocator_counts(const struct allocator *allocator);

#endif
