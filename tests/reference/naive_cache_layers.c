/* Twins of the policies that know layers: cyclic, least-stale, layer-lru, layer-lfu. */
#include "policies/policy.h"
#include "tests/reference/naive_cache_parts.h"

static int32_t layer_of(const struct naive_cache *cache, uint32_t id)
{
    return cache->request->layers[id];
}

/* Whether id is the first block of its layer. */
static bool begins_layer(const struct naive_cache *cache, uint32_t id)
{
    for (uint32_t i = 0; i < id; i++)
        if (layer_of(cache, i) == layer_of(cache, id))
            return false;
    return layer_of(cache, id) >= 0;
}

/* ---- Positions in the loop over the layers. ---- */
static uint64_t position(const struct naive_cache *cache, uint32_t id)
{
    uint64_t layers = 0, lower = 0;
    for (uint32_t i = 0; i < cache->request->id_count; i++)
        if (begins_layer(cache, i)) {
            layers++;
            lower += layer_of(cache, i) < layer_of(cache, id);
        }
    if (layers == 0)
        return id;
    if (layer_of(cache, id) >= 0)
        return 1 + lower;
    return cache->request->kinds[id] == BLOCK_NORM || cache->request->kinds[id] == BLOCK_OUTPUT ? 1 + layers : 0;
}

/* How far ahead of now the loop comes to the block: 1 .. positions. */
static uint64_t distance(const struct naive_cache *cache, uint32_t id)
{
    uint64_t positions = (uint64_t)cache->request->id_count + 2;
    uint64_t ahead = (cache->number[id] + positions - cache->counter) % positions;
    return ahead == 0 ? positions : ahead;
}

/* `number` has the positions, `counter` is now. */
static void walk_start(struct naive_cache *cache)
{
    for (uint32_t id = 0; id < cache->request->id_count; id++)
        cache->number[id] = position(cache, id);
}

static bool walk_find(struct naive_cache *cache, uint32_t id)
{
    cache->counter = cache->number[id];
    return cache->resident[id];
}

/* `counter2` is the pass, `uses` that of a block's last use. */
static bool pass_find(struct naive_cache *cache, uint32_t id)
{
    if (cache->number[id] < cache->counter)
        cache->counter2++;
    cache->uses[id] = cache->counter2;
    return walk_find(cache, id);
}

static bool latest(const struct naive_cache *cache, uint32_t a, uint32_t b)
{
    if (distance(cache, a) != distance(cache, b))
        return distance(cache, a) > distance(cache, b);
    return cache->last[a] < cache->last[b];
}

static bool stale(const struct naive_cache *cache, uint32_t id)
{
    return cache->uses[id] != cache->counter2;
}

static void cyclic_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    uint32_t victim = NAIVE_NONE;
    for (uint32_t i = 0; i < cache->request->id_count; i++)
        if (cache->resident[i] && (victim == NAIVE_NONE || latest(cache, i, victim)))
            victim = i;
    naive_drop(cache, victim);
}

static void stale_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    uint32_t victim = NAIVE_NONE;
    for (uint32_t i = 0; i < cache->request->id_count; i++)
        if (cache->resident[i] && (victim == NAIVE_NONE || stale(cache, i) > stale(cache, victim) ||
                                   (stale(cache, i) == stale(cache, victim) && latest(cache, i, victim))))
            victim = i;
    naive_drop(cache, victim);
}

/* ---- Places for experts: parameter slots. ---- */
static bool is_expert(const struct naive_cache *cache, uint32_t id)
{
    return cache->request->kinds[id] == BLOCK_EXPERT && layer_of(cache, id) >= 0;
}

static uint64_t experts_held(const struct naive_cache *cache, int32_t layer)
{
    uint64_t held = 0;
    for (uint32_t i = 0; i < cache->request->id_count; i++)
        held += cache->resident[i] && is_expert(cache, i) && layer_of(cache, i) == layer;
    return held;
}

static uint64_t share(const struct naive_cache *cache, int32_t layer)
{
    uint64_t layers = 0, largest = 1;
    for (uint32_t i = 0; i < cache->request->id_count; i++) {
        if (!is_expert(cache, i))
            continue;
        bool first = true;
        for (uint32_t j = 0; j < i; j++)
            first &= !is_expert(cache, j) || layer_of(cache, j) != layer_of(cache, i);
        layers += first;
        if (layer_of(cache, i) == layer && naive_size(cache, i) > largest)
            largest = naive_size(cache, i);
    }
    uint64_t places = cache->capacity / layers / largest;
    return places > 1 ? places : 1;
}

static bool by_use(const struct naive_cache *cache)
{
    return cache->counter2 != 0;
}

/* The layer's victim; layer -1 stands for all blocks that are no experts. */
static uint32_t layer_victim(const struct naive_cache *cache, int32_t layer)
{
    uint32_t victim = NAIVE_NONE;
    for (uint32_t i = 0; i < cache->request->id_count; i++) {
        if (!cache->resident[i] || (is_expert(cache, i) ? layer_of(cache, i) : -1) != layer)
            continue;
        if (victim == NAIVE_NONE) {
            victim = i;
            continue;
        }
        bool count = by_use(cache) && layer >= 0 && cache->uses[i] != cache->uses[victim];
        if (count ? cache->uses[i] < cache->uses[victim] : cache->last[i] < cache->last[victim])
            victim = i;
    }
    return victim;
}

/* `number` has the shares of experts' layers. */
static void places_start(struct naive_cache *cache)
{
    for (uint32_t id = 0; id < cache->request->id_count; id++)
        if (is_expert(cache, id))
            cache->number[id] = share(cache, layer_of(cache, id));
}

static void by_use_start(struct naive_cache *cache)
{
    places_start(cache);
    cache->counter2 = 1;
}

static bool places_find(struct naive_cache *cache, uint32_t id)
{
    if (cache->resident[id]) {
        cache->uses[id]++;
        return true;
    }
    if (is_expert(cache, id) && naive_size(cache, id) <= cache->capacity) {
        int32_t layer = layer_of(cache, id);
        uint64_t slots = (uint64_t)cache->request->params[0];
        while (experts_held(cache, layer) >= (slots > 0 ? slots : cache->number[id]))
            naive_drop(cache, layer_victim(cache, layer));
    }
    return false;
}

static void places_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    int32_t layer = -1;
    int64_t most = 0;
    for (uint32_t i = 0; i < cache->request->id_count; i++) {
        int32_t l = layer_of(cache, i);
        if (!cache->resident[i] || !is_expert(cache, i))
            continue;
        int64_t over = (int64_t)experts_held(cache, l) - (int64_t)cache->number[i];
        if (layer < 0 || over > most || (over == most && l < layer)) {
            layer = l;
            most = over;
        }
    }
    naive_drop(cache, layer_victim(cache, layer));
}

static void places_insert(struct naive_cache *cache, uint32_t id)
{
    naive_keep(cache, id);
    cache->uses[id] = 1;
}

const struct naive_policy naive_layers[] = {
    {"cyclic", walk_start, walk_find, NULL, cyclic_evict, naive_keep, NULL},
    {"least-stale", walk_start, pass_find, NULL, stale_evict, naive_keep, NULL},
    {"layer-lru", places_start, places_find, NULL, places_evict, places_insert, NULL},
    {"layer-lfu", by_use_start, places_find, NULL, places_evict, places_insert, NULL},
    {0},
};
