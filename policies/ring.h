/* A queue of blocks in one array: what policies keep that only look at the oldest block and move it to the head. A
 * whole round over such a queue reads and writes memory in order, where a list jumps.
 *
 * Positions count on for ever, modulo 2^32; the array has a power of two of slots, at least one for each block, so that
 * no queue is ever too long for it. */
#ifndef POCKETLOAD_POLICIES_RING_H
#define POCKETLOAD_POLICIES_RING_H

#include "policies/policy.h"

struct ring {
    uint32_t oldest, end; /* positions of the oldest block, and behind the newest one */
    uint32_t mask;        /* slots - 1 */
};

/* Slots for a queue that may hold every block. */
static inline uint32_t ring_slots(uint32_t block_count)
{
    uint32_t slots = 1;
    while (slots < block_count && slots <= UINT32_MAX / 2)
        slots *= 2;
    return slots;
}

static inline void ring_init(struct ring *ring, uint32_t block_count)
{
    *ring = (struct ring){0, 0, ring_slots(block_count) - 1};
}

static inline block_id *ring_at(const struct ring *ring, block_id *slots, uint32_t position)
{
    return &slots[position & ring->mask];
}

static inline void ring_push(struct ring *ring, block_id *slots, block_id b)
{
    *ring_at(ring, slots, ring->end++) = b;
}

/* Takes out what stands at `position`; what is older moves up, so that position + 1 stays the next newer block. */
static inline void ring_take(struct ring *ring, block_id *slots, uint32_t position)
{
    for (; position != ring->oldest; position--)
        *ring_at(ring, slots, position) = *ring_at(ring, slots, position - 1);
    ring->oldest++;
}

/* ring_remove for a block that is not the oldest. Apart, so that it does not weigh on the usual case. */
__attribute__((noinline, cold)) static void ring_search_out(struct ring *ring, block_id *slots, block_id b)
{
    for (uint32_t i = 0; i < ring->end - ring->oldest; i++) {
        if (*ring_at(ring, slots, ring->oldest + i) == b) {
            ring_take(ring, slots, ring->oldest + i);
            return;
        }
        uint32_t position = ring->end - 1 - i;
        if (*ring_at(ring, slots, position) == b) {
            for (; position != ring->end - 1; position++)
                *ring_at(ring, slots, position) = *ring_at(ring, slots, position + 1);
            ring->end--;
            return;
        }
    }
}

/* Takes b out, wherever it stands: the search begins at both ends. */
static inline void ring_remove(struct ring *ring, block_id *slots, block_id b)
{
    if (*ring_at(ring, slots, ring->oldest) == b)
        ring->oldest++;
    else
        ring_search_out(ring, slots, b);
}

#endif
