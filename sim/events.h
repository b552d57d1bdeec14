/* The event queue: a 4-ary heap of 16-byte keys. Events are ordered by (time, class, sequence number); none is
 * cancelled. Capacity is fixed at the start (few events are ever pending); the engine bounds what it pushes. */
#ifndef POCKETLOAD_SIM_EVENTS_H
#define POCKETLOAD_SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct event_key {
    int64_t time_ns;
    uint64_t rank; /* class (8 bits), sequence (40 bits), slot (16 bits): compares as a whole */
};

struct events {
    struct event_key *heap;
    uint32_t count, capacity;
    uint64_t sequence;
};

enum { EVENTS_MAX = 1 << 16 };

/* Room for `capacity` pending events (at most EVENTS_MAX). False without memory. */
bool events_init(struct events *events, struct arena *arena, uint32_t capacity);

/* `slot` (< EVENTS_MAX) comes back from events_pop: an index into a pool of the caller. The queue must not be full. */
void events_push(struct events *events, int64_t time_ns, uint8_t class, uint16_t slot);

static inline bool events_due(const struct events *events, int64_t time_ns)
{
    return events->count != 0 && events->heap[0].time_ns <= time_ns;
}

/* Removes the first event and returns its slot; the queue must not be empty. */
uint16_t events_pop(struct events *events, int64_t *time_ns);

#endif
