/* The floor: LRU and FIFO of equal blocks in bare arrays, with no view, no checks, no sizes and no calls. What the
 * simulator costs is measured against this, on the same trace in the same process. */
#ifndef POCKETLOAD_BENCH_FLOOR_H
#define POCKETLOAD_BENCH_FLOOR_H

#include "bench/measure.h"

enum { FLOOR_BLOCKS_MAX = 4096 };

/* Hits of `capacity` blocks. `lru` is a constant in each caller. */
static inline uint64_t floor_walk(const struct trace *trace, uint32_t capacity, bool lru)
{
    static uint32_t prev[FLOOR_BLOCKS_MAX + 1], next[FLOOR_BLOCKS_MAX + 1]; /* entry 0 heads the list */
    static uint8_t resident[FLOOR_BLOCKS_MAX + 1];
    uint32_t count = 0;
    uint64_t hits = 0;
    if (trace->block_count > FLOOR_BLOCKS_MAX)
        give_up("floor", "too many blocks");
    prev[0] = next[0] = 0;
    for (uint32_t i = 0; i <= trace->block_count; i++)
        resident[i] = 0;
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
                } else if (count == capacity) {
                    uint32_t victim = prev[0];
                    resident[victim] = 0;
                    prev[0] = prev[victim];
                    next[prev[victim]] = 0;
                    resident[b] = 1;
                } else {
                    count++;
                    resident[b] = 1;
                }
                prev[b] = 0;
                next[b] = next[0];
                prev[next[0]] = b;
                next[0] = b;
            }
        }
    }
    return hits;
}

__attribute__((noinline, unused)) static uint64_t floor_lru(const struct trace *trace, uint32_t capacity)
{
    return floor_walk(trace, capacity, true);
}

__attribute__((noinline, unused)) static uint64_t floor_fifo(const struct trace *trace, uint32_t capacity)
{
    return floor_walk(trace, capacity, false);
}

#endif
