/* The floor: LRU and FIFO in bare arrays, with no view, no checks and no calls. What the
 * simulator costs is measured against this, on the same trace in the same process. */
#ifndef POCKETLOAD_BENCH_FLOOR_H
#define POCKETLOAD_BENCH_FLOOR_H

#include "bench/measure.h"

/* Hits of `capacity` blocks, or with sizes (by block, not NULL where `sized`) of so many bytes. `lru` and `sized` are
 * constants in each caller. */
static inline uint64_t floor_walk(const struct trace *trace, const uint32_t *sizes, uint64_t capacity, bool lru,
                                  bool sized)
{
    const uint32_t entries = trace->block_count + 1; /* entry 0 heads the list */
    uint32_t *prev = malloc(entries * sizeof *prev), *next = malloc(entries * sizeof *next);
    uint8_t *resident = calloc(entries, sizeof *resident);
    uint64_t held = 0, hits = 0;
    if (prev == NULL || next == NULL || resident == NULL)
        give_up("floor", "out of memory");
    prev[0] = next[0] = 0;
    for (uint32_t s = 0; s < trace->segment_count; s++) {
        for (uint32_t repeat = 0; repeat < trace->segments[s].repeat; repeat++) {
            const uint32_t *uses = trace->uses + trace->segments[s].first_step;
            for (uint32_t i = 0; i < trace->segments[s].step_count; i++) {
                uint32_t b = (uses[i] & USE_BLOCK) + 1;
                if (resident[b]) {
                    hits++;
                    if (!lru || next[0] == b)
                        continue;
                    next[prev[b]] = next[b];
                    prev[next[b]] = prev[b];
                } else {
                    const uint64_t size = sized ? sizes[b - 1] : 1;
                    while (held + size > capacity) {
                        uint32_t victim = prev[0];
                        resident[victim] = 0;
                        held -= sized ? sizes[victim - 1] : 1;
                        prev[0] = prev[victim];
                        next[prev[victim]] = 0;
                    }
                    held += size;
                    resident[b] = 1;
                }
                prev[b] = 0;
                next[b] = next[0];
                prev[next[0]] = b;
                next[0] = b;
            }
        }
    }
    free(prev);
    free(next);
    free(resident);
    return hits;
}

__attribute__((noinline, unused)) static uint64_t floor_lru(const struct trace *trace, uint32_t capacity)
{
    return floor_walk(trace, NULL, capacity, true, false);
}

__attribute__((noinline, unused)) static uint64_t floor_fifo(const struct trace *trace, uint32_t capacity)
{
    return floor_walk(trace, NULL, capacity, false, false);
}

__attribute__((noinline, unused)) static uint64_t floor_lru_bytes(const struct trace *trace, const uint32_t *sizes,
                                                                  uint64_t capacity_bytes)
{
    return floor_walk(trace, sizes, capacity_bytes, true, true);
}

#endif
