/* Twins of the policies that know the future: belady, belady-bypass, belady-size. */
#include "base/error.h"
#include "tests/reference/naive_cache_parts.h"

typedef bool (*before)(const struct naive_cache *cache, uint32_t a, uint32_t b);

/* The resident block that is to go before all others. */
static uint32_t first_of_all(const struct naive_cache *cache, before goes_before)
{
    uint32_t best = NAIVE_NONE;
    for (uint32_t id = 0; id < cache->request->id_count; id++)
        if (cache->resident[id] && (best == NAIVE_NONE || goes_before(cache, id, best)))
            best = id;
    return best;
}

/* The next access lies further ahead; of two without one, the last access lies further back. */
static bool further(const struct naive_cache *cache, uint32_t a, uint32_t b)
{
    if (cache->next[a] != cache->next[b])
        return cache->next[a] > cache->next[b];
    return cache->last[a] < cache->last[b];
}

static uint64_t cost(const struct naive_cache *cache, uint32_t id, uint32_t next)
{
    uint64_t distance = next - cache->now, product;
    must(!__builtin_mul_overflow(distance, naive_size(cache, id), &product));
    return product;
}

/* A block without a next access first; then the greater product of size and distance. */
static bool dearer(const struct naive_cache *cache, uint32_t a, uint32_t b)
{
    if (cache->next[a] == NAIVE_NEVER || cache->next[b] == NAIVE_NEVER)
        return further(cache, a, b);
    uint64_t a_cost = cost(cache, a, cache->next[a]), b_cost = cost(cache, b, cache->next[b]);
    return a_cost != b_cost ? a_cost > b_cost : naive_size(cache, a) < naive_size(cache, b);
}

static bool future_find(struct naive_cache *cache, uint32_t id)
{
    return cache->resident[id];
}

static void furthest_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    naive_drop(cache, first_of_all(cache, further));
}

static void dearest_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    naive_drop(cache, first_of_all(cache, dearer));
}

static bool fits(const struct naive_cache *cache, uint32_t id)
{
    return cache->held + naive_size(cache, id) <= cache->capacity;
}

static bool bypass_can_insert(struct naive_cache *cache, uint32_t id)
{
    return fits(cache, id) || cache->now_next <= cache->next[first_of_all(cache, further)];
}

static bool size_can_insert(struct naive_cache *cache, uint32_t id)
{
    if (fits(cache, id))
        return true;
    uint32_t victim = first_of_all(cache, dearer);
    if (cache->next[victim] == NAIVE_NEVER)
        return true;
    return cache->now_next != NAIVE_NEVER &&
           cost(cache, id, cache->now_next) <= cost(cache, victim, cache->next[victim]);
}

const struct naive_policy naive_future[] = {
    {.name = "belady", .find = future_find, .evict = furthest_evict, .insert = naive_keep},
    {"belady-bypass", NULL, future_find, bypass_can_insert, furthest_evict, naive_keep, NULL},
    {"belady-size", NULL, future_find, size_can_insert, dearest_evict, naive_keep, NULL},
    {0},
};
