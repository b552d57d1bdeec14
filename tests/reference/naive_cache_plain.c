/* Twins of the policies with one line of blocks: lru, fifo, mru, lfu, clock, sieve. */
#include "tests/reference/naive_cache_parts.h"

static bool fifo_find(struct naive_cache *cache, uint32_t id)
{
    return cache->resident[id];
}

static bool lru_find(struct naive_cache *cache, uint32_t id)
{
    if (!cache->resident[id])
        return false;
    naive_remove(cache, &cache->line[0], id);
    naive_push(cache, &cache->line[0], id);
    return true;
}

static void line_insert(struct naive_cache *cache, uint32_t id)
{
    naive_keep(cache, id);
    naive_push(cache, &cache->line[0], id);
    cache->uses[id] = 0;
}

static void evict_block(struct naive_cache *cache, uint32_t victim)
{
    naive_remove(cache, &cache->line[0], victim);
    naive_drop(cache, victim);
}

static void oldest_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    evict_block(cache, naive_oldest(&cache->line[0]));
}

static void newest_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    evict_block(cache, naive_newest(&cache->line[0]));
}

/* The line of LFU is that of LRU, so its first block with the lowest count is the one that has had it longest. */
static bool lfu_find(struct naive_cache *cache, uint32_t id)
{
    if (cache->resident[id])
        cache->uses[id]++;
    return lru_find(cache, id);
}

static void lfu_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    const struct naive_line *line = &cache->line[0];
    uint32_t victim = naive_oldest(line);
    for (uint32_t i = 0; i < line->count; i++)
        if (cache->uses[line->ids[i]] < cache->uses[victim])
            victim = line->ids[i];
    evict_block(cache, victim);
}

static bool clock_find(struct naive_cache *cache, uint32_t id)
{
    uint64_t most = (1u << cache->request->params[0]) - 1;
    if (!cache->resident[id])
        return false;
    if (cache->uses[id] < most)
        cache->uses[id]++;
    return true;
}

static void clock_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    for (;;) {
        uint32_t oldest = naive_oldest(&cache->line[0]);
        if (cache->uses[oldest] == 0) {
            evict_block(cache, oldest);
            return;
        }
        cache->uses[oldest]--;
        naive_remove(cache, &cache->line[0], oldest);
        naive_push(cache, &cache->line[0], oldest);
    }
}

static bool sieve_find(struct naive_cache *cache, uint32_t id)
{
    if (cache->resident[id])
        cache->mark[id] = true;
    return cache->resident[id];
}

/* The block that came next after id, or NAIVE_NONE. */
static uint32_t newer(const struct naive_line *line, uint32_t id)
{
    for (uint32_t i = 0; i + 1 < line->count; i++)
        if (line->ids[i] == id)
            return line->ids[i + 1];
    return NAIVE_NONE;
}

static void sieve_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    const struct naive_line *line = &cache->line[0];
    uint32_t victim = cache->hand != NAIVE_NONE ? cache->hand : naive_oldest(line);
    while (cache->mark[victim]) {
        cache->mark[victim] = false;
        victim = newer(line, victim);
        if (victim == NAIVE_NONE)
            victim = naive_oldest(line);
    }
    cache->hand = newer(line, victim);
    evict_block(cache, victim);
}

static void sieve_insert(struct naive_cache *cache, uint32_t id)
{
    line_insert(cache, id);
    cache->mark[id] = false;
}

const struct naive_policy naive_plain[] = {
    {.name = "lru", .find = lru_find, .evict = oldest_evict, .insert = line_insert},
    {.name = "fifo", .find = fifo_find, .evict = oldest_evict, .insert = line_insert},
    {.name = "mru", .find = lru_find, .evict = newest_evict, .insert = line_insert},
    {.name = "lfu", .find = lfu_find, .evict = lfu_evict, .insert = line_insert},
    {.name = "clock", .find = clock_find, .evict = clock_evict, .insert = line_insert},
    {.name = "sieve", .find = sieve_find, .evict = sieve_evict, .insert = sieve_insert},
    {0},
};
