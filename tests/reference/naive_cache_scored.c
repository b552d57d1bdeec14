/* Twins of the policies that give each block a score, or a lot: lru-k, gdsf, lfu-decay, random. */
#include "base/wide.h"
#include "tests/reference/naive_cache_parts.h"

static bool scored_find(struct naive_cache *cache, uint32_t id)
{
    return cache->resident[id];
}

/* ---- LRU-K: parameters k, history. `times` has the numbers of the last accesses, from 1, the newest first, 0: none.
 * An access is numbered by the trace, which orders as a clock of hits and inserts does. ---- */
static uint64_t *reference(const struct naive_cache *cache, uint32_t id, int64_t k)
{
    return &cache->times[(size_t)id * NAIVE_TIMES + (size_t)k];
}

static void refer(struct naive_cache *cache, uint32_t id)
{
    for (int64_t k = NAIVE_TIMES - 1; k > 0; k--)
        *reference(cache, id, k) = *reference(cache, id, k - 1);
    *reference(cache, id, 0) = (uint64_t)cache->now + 1;
}

static bool lru_k_find(struct naive_cache *cache, uint32_t id)
{
    if (cache->resident[id])
        refer(cache, id);
    return cache->resident[id];
}

static bool goes_before(const struct naive_cache *cache, uint32_t a, uint32_t b)
{
    int64_t k = cache->request->params[0] - 1;
    uint64_t a_time = *reference(cache, a, k), b_time = *reference(cache, b, k);
    return a_time != b_time ? a_time < b_time : *reference(cache, a, 0) < *reference(cache, b, 0);
}

static void lru_k_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    uint32_t victim = NAIVE_NONE;
    for (uint32_t i = 0; i < cache->request->id_count; i++)
        if (cache->resident[i] && (victim == NAIVE_NONE || goes_before(cache, i, victim)))
            victim = i;
    naive_drop(cache, victim);
    naive_push(cache, &cache->ghost[0], victim);
    while (cache->ghost[0].count > cache->request->params[1]) {
        uint32_t forgotten = naive_pop(cache, &cache->ghost[0]);
        for (int64_t k = 0; k < NAIVE_TIMES; k++)
            *reference(cache, forgotten, k) = 0;
    }
}

static void lru_k_insert(struct naive_cache *cache, uint32_t id)
{
    naive_remove(cache, &cache->ghost[0], id);
    naive_keep(cache, id);
    refer(cache, id);
}

/* ---- Policies whose victim is the block with the lowest `number`, of equals the one whose last access lies furthest
 * back. `counter` is the age. ---- */
static uint32_t lowest(const struct naive_cache *cache)
{
    uint32_t best = NAIVE_NONE;
    for (uint32_t id = 0; id < cache->request->id_count; id++)
        if (cache->resident[id] && (best == NAIVE_NONE || cache->number[id] < cache->number[best] ||
                                    (cache->number[id] == cache->number[best] && cache->last[id] < cache->last[best])))
            best = id;
    return best;
}

static void lowest_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    uint32_t victim = lowest(cache);
    if (cache->number[victim] > cache->counter)
        cache->counter = cache->number[victim];
    naive_drop(cache, victim);
}

static void gdsf_score(struct naive_cache *cache, uint32_t id)
{
    uint64_t smallest = UINT64_MAX;
    for (uint32_t i = 0; i < cache->request->id_count; i++)
        if (naive_size(cache, i) < smallest)
            smallest = naive_size(cache, i);
    uint64_t weight = (uint64_t)(((wide)smallest << 30) / naive_size(cache, id));
    cache->number[id] = cache->counter + cache->uses[id] * (weight > 1 ? weight : 1);
}

static bool gdsf_find(struct naive_cache *cache, uint32_t id)
{
    if (!cache->resident[id])
        return false;
    cache->uses[id]++;
    gdsf_score(cache, id);
    return true;
}

static void gdsf_insert(struct naive_cache *cache, uint32_t id)
{
    naive_keep(cache, id);
    cache->uses[id] = 1;
    gdsf_score(cache, id);
}

/* LFU-decay: parameter max. */
static void decay_score(struct naive_cache *cache, uint32_t id)
{
    uint64_t most = (uint64_t)cache->request->params[0];
    cache->number[id] = cache->counter + (cache->uses[id] < most ? cache->uses[id] : most);
}

static bool decay_find(struct naive_cache *cache, uint32_t id)
{
    if (!cache->resident[id])
        return false;
    cache->uses[id]++;
    decay_score(cache, id);
    return true;
}

static void decay_insert(struct naive_cache *cache, uint32_t id)
{
    naive_keep(cache, id);
    cache->uses[id] = 1;
    decay_score(cache, id);
}

/* ---- random: parameter seed. The line is an array in no order. ---- */
static uint64_t draw(struct naive_cache *cache)
{
    cache->counter += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = cache->counter;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void random_start(struct naive_cache *cache)
{
    cache->counter = cache->request->seed;
    cache->counter = draw(cache) + (uint64_t)cache->request->params[0];
}

static void random_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    struct naive_line *line = &cache->line[0];
    uint32_t i = (uint32_t)((wide)draw(cache) * line->count >> 64);
    naive_drop(cache, line->ids[i]);
    line->ids[i] = line->ids[--line->count];
}

static void random_insert(struct naive_cache *cache, uint32_t id)
{
    naive_keep(cache, id);
    naive_push(cache, &cache->line[0], id);
}

const struct naive_policy naive_scored[] = {
    {.name = "lru-k", .find = lru_k_find, .evict = lru_k_evict, .insert = lru_k_insert},
    {.name = "gdsf", .find = gdsf_find, .evict = lowest_evict, .insert = gdsf_insert},
    {.name = "lfu-decay", .find = decay_find, .evict = lowest_evict, .insert = decay_insert},
    {.name = "random", .start = random_start, .find = scored_find, .evict = random_evict, .insert = random_insert},
    {0},
};
