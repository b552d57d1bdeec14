/* The twin of w-tinylfu: parameters window, protected (shares). */
#include "base/wide.h"
#include "tests/reference/naive_cache_parts.h"

enum { WINDOW, PROBATION, PROTECTED };

/* How many blocks the cache holds, by their mean size. */
static uint64_t expected_blocks(const struct naive_cache *cache)
{
    uint64_t total = 0, n = cache->request->id_count;
    for (uint32_t id = 0; id < n; id++)
        total += naive_size(cache, id);
    wide expected = (wide)cache->capacity * n / total;
    return expected < 1 ? 1 : expected < n ? (uint64_t)expected : n;
}

static void tiny_start(struct naive_cache *cache)
{
    cache->limit[WINDOW] = naive_share(cache->capacity, cache->request->params[0]);
    cache->limit[PROTECTED] = naive_share(cache->capacity - cache->limit[WINDOW], cache->request->params[1]);
}

/* The i-th of the four counters of a block. */
static uint8_t *counter(const struct naive_cache *cache, uint32_t id, unsigned i)
{
    uint64_t words = 1, z = ((uint64_t)id + 1) * UINT64_C(0x9E3779B97F4A7C15);
    while (words < expected_blocks(cache))
        words *= 2;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z = z ^ (z >> 31);
    return &cache->sketch[z % words * 16 + 4 * i + (z >> (56 + 2 * i) & 3)];
}

/* `counter` of the cache has the additions. */
static void count_use(struct naive_cache *cache, uint32_t id)
{
    for (unsigned i = 0; i < 4; i++)
        if (*counter(cache, id, i) < 15)
            ++*counter(cache, id, i);
    if (++cache->counter < 10 * expected_blocks(cache))
        return;
    for (uint64_t c = 0; c < 32 * (uint64_t)cache->request->id_count; c++)
        cache->sketch[c] /= 2;
    cache->counter /= 2;
}

static unsigned estimate(const struct naive_cache *cache, uint32_t id)
{
    unsigned least = 15;
    for (unsigned i = 0; i < 4; i++)
        if (*counter(cache, id, i) < least)
            least = *counter(cache, id, i);
    return least;
}

static bool tiny_find(struct naive_cache *cache, uint32_t id)
{
    count_use(cache, id);
    if (!cache->resident[id])
        return false;
    if (naive_remove(cache, &cache->line[WINDOW], id)) {
        naive_push(cache, &cache->line[WINDOW], id);
    } else if (naive_remove(cache, &cache->line[PROTECTED], id)) {
        naive_push(cache, &cache->line[PROTECTED], id);
    } else {
        naive_remove(cache, &cache->line[PROBATION], id);
        bool fits = naive_size(cache, id) <= cache->limit[PROTECTED];
        naive_push(cache, &cache->line[fits ? PROTECTED : PROBATION], id);
        while (cache->line[PROTECTED].bytes > cache->limit[PROTECTED])
            naive_push(cache, &cache->line[PROBATION], naive_pop(cache, &cache->line[PROTECTED]));
    }
    return true;
}

static void tiny_evict(struct naive_cache *cache, uint32_t id)
{
    struct naive_line *window = &cache->line[WINDOW];
    struct naive_line *main = &cache->line[cache->line[PROBATION].count > 0 ? PROBATION : PROTECTED];
    uint32_t candidate = naive_oldest(window), other = naive_oldest(main);
    bool from_window;
    if (candidate == NAIVE_NONE || other == NAIVE_NONE)
        from_window = other == NAIVE_NONE;
    else if (window->bytes + naive_size(cache, id) <= cache->limit[WINDOW])
        from_window = false;
    else
        from_window = estimate(cache, candidate) <= estimate(cache, other);
    naive_drop(cache, naive_pop(cache, from_window ? window : main));
}

static void tiny_insert(struct naive_cache *cache, uint32_t id)
{
    naive_keep(cache, id);
    naive_push(cache, &cache->line[WINDOW], id);
    while (cache->line[WINDOW].bytes > cache->limit[WINDOW] && cache->line[WINDOW].count > 1)
        naive_push(cache, &cache->line[PROBATION], naive_pop(cache, &cache->line[WINDOW]));
}

const struct naive_policy naive_tinylfu[] = {
    {.name = "w-tinylfu", .start = tiny_start, .find = tiny_find, .evict = tiny_evict, .insert = tiny_insert},
    {0},
};
