/* A bump allocator whose memory is given back all at once: one arena per run.
 *
 * Invariants: every returned pointer is aligned to 64 bytes and zeroed, and stays where it is until
 * arena_free. Not for use by two threads. */
#ifndef POCKETLOAD_BASE_ARENA_H
#define POCKETLOAD_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *head;
    uint64_t used_bytes; /* sum of all allocations, for tests of memory growth */
};

/* An empty arena is all zeros: `struct arena arena = {0};` */

/* count * size zeroed bytes. Returns NULL when the product overflows or the system has no memory.
 * count * size == 0 gives a unique non-NULL pointer. */
void *arena_alloc(struct arena *arena, size_t count, size_t size) __attribute__((warn_unused_result));

/* A copy of a string, or NULL when out of memory. */
char *arena_strdup(struct arena *arena, const char *text) __attribute__((warn_unused_result));

/* Frees everything; the arena is empty and usable again. */
void arena_free(struct arena *arena);

#endif
