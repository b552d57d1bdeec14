/* The bump allocator: a list of chunks from calloc, the newest at the head. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ALIGNMENT = 64, FIRST_CHUNK = 1 << 16, LARGEST_CHUNK = 1 << 24 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t size, used; /* of the bytes from `bytes` on */
    unsigned char *bytes;
};

/* calloc and not aligned_alloc with memset: large chunks then come as untouched zero pages, which cost nothing until
 * they are used. */
static struct arena_chunk *new_chunk(size_t size)
{
    const size_t overhead = sizeof(struct arena_chunk) + ALIGNMENT;
    if (size > SIZE_MAX - overhead)
        return NULL;
    struct arena_chunk *chunk = calloc(1, size + overhead);
    if (!chunk)
        return NULL;
    unsigned char *after = (unsigned char *)(chunk + 1);
    chunk->bytes = after + (ALIGNMENT - (uintptr_t)after % ALIGNMENT) % ALIGNMENT;
    chunk->size = size;
    return chunk;
}

static void *take(struct arena *arena, struct arena_chunk *chunk, size_t size)
{
    must(size <= chunk->size - chunk->used);
    void *result = chunk->bytes + chunk->used;
    chunk->used += size;
    arena->used_bytes += size;
    return result;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    bytes = bytes == 0 ? ALIGNMENT : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    struct arena_chunk *head = arena->head;
    if (head && bytes <= head->size - head->used)
        return take(arena, head, bytes);

    size_t next_size = head ? head->size : FIRST_CHUNK / 2;
    next_size = next_size < LARGEST_CHUNK / 2 ? next_size * 2 : LARGEST_CHUNK;
    const bool alone = bytes > next_size / 4;
    struct arena_chunk *chunk = new_chunk(alone ? bytes : next_size);
    if (!chunk)
        return NULL;
    if (alone && head) { /* behind the head, whose rest stays in use */
        chunk->next = head->next;
        head->next = chunk;
    } else {
        chunk->next = head;
        arena->head = chunk;
    }
    return take(arena, chunk, bytes);
}

char *arena_strdup(struct arena *arena, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = arena_alloc(arena, size, 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

void arena_free(struct arena *arena)
{
    struct arena_chunk *chunk = arena->head;
    while (chunk) {
        struct arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    *arena = (struct arena){0};
}
