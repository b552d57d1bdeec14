/* The event queue: a 4-ary heap, which halves the depth of a binary one and keeps siblings in one cache line. */
#include "sim/events.h"

#include "base/error.h"

enum { RANK_SLOT_BITS = 16, RANK_SEQUENCE_BITS = 40 };

bool events_init(struct events *events, struct arena *arena, uint32_t capacity)
{
    must(capacity <= EVENTS_MAX);
    events->count = 0;
    events->capacity = capacity;
    events->sequence = 0;
    events->heap = arena_alloc(arena, capacity, sizeof *events->heap);
    return events->heap != NULL;
}

static inline bool before(struct event_key a, struct event_key b)
{
    return a.time_ns < b.time_ns || (a.time_ns == b.time_ns && a.rank < b.rank);
}

void events_push(struct events *events, int64_t time_ns, uint8_t class, uint16_t slot)
{
    must(events->count < events->capacity);
    must(events->sequence < (UINT64_C(1) << RANK_SEQUENCE_BITS));
    struct event_key key = {
        .time_ns = time_ns,
        .rank =
            ((uint64_t) class << (RANK_SLOT_BITS + RANK_SEQUENCE_BITS)) | (events->sequence++ << RANK_SLOT_BITS) | slot,
    };
    struct event_key *heap = events->heap;
    uint32_t i = events->count++;
    while (i > 0) {
        uint32_t parent = (i - 1) / 4;
        if (!before(key, heap[parent]))
            break;
        heap[i] = heap[parent];
        i = parent;
    }
    heap[i] = key;
}

uint16_t events_pop(struct events *events, int64_t *time_ns)
{
    must(events->count > 0);
    struct event_key *heap = events->heap;
    struct event_key first = heap[0];
    uint32_t n = --events->count;
    struct event_key last = heap[n];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 4 * i + 1;
        if (child >= n)
            break;
        uint32_t least = child;
        uint32_t end = child + 4 < n ? child + 4 : n;
        for (uint32_t c = child + 1; c < end; c++) {
            if (before(heap[c], heap[least]))
                least = c;
        }
        if (!before(heap[least], last))
            break;
        heap[i] = heap[least];
        i = least;
    }
    heap[i] = last;
    *time_ns = first.time_ns;
    return (uint16_t)(first.rank & 0xffffu);
}
