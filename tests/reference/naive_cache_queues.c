/* Twins of the policies with several lines and ghosts: s3-fifo, 2q, arc, slru. */
#include "base/error.h"
#include "tests/reference/naive_cache_parts.h"

/* ---- S3-FIFO: parameters small, ghost (shares), threshold; `mark` says that the look-up found a ghost. ---- */
enum { SMALL, MAIN };

static void s3_start(struct naive_cache *cache)
{
    cache->limit[SMALL] = naive_share(cache->capacity, cache->request->params[0]);
    cache->limit[MAIN] = cache->capacity - cache->limit[SMALL];
    cache->limit[2] = naive_share(cache->capacity, cache->request->params[1]);
}

static bool s3_find(struct naive_cache *cache, uint32_t id)
{
    cache->mark[id] = !naive_has(&cache->line[SMALL], id) && naive_remove(cache, &cache->ghost[0], id);
    if (cache->resident[id])
        cache->uses[id]++;
    return cache->resident[id];
}

static bool s3_can_insert(struct naive_cache *cache, uint32_t id)
{
    return naive_size(cache, id) <= cache->limit[SMALL];
}

static void s3_insert(struct naive_cache *cache, uint32_t id)
{
    if (!cache->mark[id] && naive_size(cache, id) >= cache->limit[SMALL])
        return;
    naive_push(cache, &cache->line[cache->mark[id] ? MAIN : SMALL], id);
    naive_keep(cache, id);
    cache->uses[id] = 0;
}

static void s3_evict_small(struct naive_cache *cache)
{
    while (cache->line[SMALL].count > 0) {
        uint32_t id = naive_pop(cache, &cache->line[SMALL]);
        if (cache->uses[id] < (uint64_t)cache->request->params[2]) {
            naive_remember(cache, &cache->ghost[0], cache->limit[2], id);
            naive_drop(cache, id);
            return;
        }
        cache->uses[id] = 0;
        naive_push(cache, &cache->line[MAIN], id);
    }
}

static void s3_evict_main(struct naive_cache *cache)
{
    for (;;) {
        uint32_t id = naive_pop(cache, &cache->line[MAIN]);
        if (cache->uses[id] == 0) {
            naive_drop(cache, id);
            return;
        }
        cache->uses[id] = (cache->uses[id] < 3 ? cache->uses[id] : 3) - 1;
        naive_push(cache, &cache->line[MAIN], id);
    }
}

static void s3_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    if (cache->line[MAIN].bytes > cache->limit[MAIN] || cache->line[SMALL].count == 0)
        s3_evict_main(cache);
    else
        s3_evict_small(cache);
}

/* ---- 2Q: parameters in, out (shares); `mark` as above. ---- */
enum { IN, FREQUENT };

static void two_start(struct naive_cache *cache)
{
    cache->limit[IN] = naive_share(cache->capacity, cache->request->params[0]);
    cache->limit[FREQUENT] = cache->capacity - cache->limit[IN];
    cache->limit[2] = naive_share(cache->capacity, cache->request->params[1]);
}

static bool two_find(struct naive_cache *cache, uint32_t id)
{
    cache->mark[id] = false;
    if (naive_has(&cache->line[IN], id))
        return true;
    cache->mark[id] = naive_remove(cache, &cache->ghost[0], id);
    if (!naive_remove(cache, &cache->line[FREQUENT], id))
        return false;
    naive_push(cache, &cache->line[FREQUENT], id);
    return true;
}

/* A block larger than the second line's limit can pass the first only where `in` is more than a half: it is refused
 * when it returns. */
static bool two_can_insert(struct naive_cache *cache, uint32_t id)
{
    uint64_t bytes = naive_size(cache, id);
    return bytes <= cache->limit[IN] && (!cache->mark[id] || bytes <= cache->limit[FREQUENT]);
}

static void two_insert(struct naive_cache *cache, uint32_t id)
{
    uint64_t bytes = naive_size(cache, id);
    while (cache->mark[id] && cache->line[FREQUENT].bytes + bytes > cache->limit[FREQUENT])
        naive_drop(cache, naive_pop(cache, &cache->line[FREQUENT]));
    naive_push(cache, &cache->line[cache->mark[id] ? FREQUENT : IN], id);
    naive_keep(cache, id);
}

/* The second line may be empty only with a share `in` of more than a half: then the first gives up a block. */
static void two_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    bool from_in = cache->line[IN].bytes > cache->limit[IN] || cache->line[FREQUENT].count == 0;
    uint32_t victim = naive_pop(cache, &cache->line[from_in ? IN : FREQUENT]);
    if (from_in)
        naive_remember(cache, &cache->ghost[0], cache->limit[2], victim);
    naive_drop(cache, victim);
}

/* ---- ARC: lines T1, T2, ghosts B1, B2; `number` is 1 or 2 when the look-up found a ghost in B1 or B2. ---- */
static double at_least_one(uint64_t a, uint64_t b)
{
    double ratio = (double)a / (double)b;
    return ratio > 1 ? ratio : 1;
}

static bool arc_find(struct naive_cache *cache, uint32_t id)
{
    uint64_t b1 = cache->ghost[0].bytes, b2 = cache->ghost[1].bytes;
    double capacity = (double)cache->capacity;
    cache->number[id] = 0;
    if (naive_remove(cache, &cache->line[0], id) || naive_remove(cache, &cache->line[1], id)) {
        naive_push(cache, &cache->line[1], id);
        return true;
    }
    if (naive_remove(cache, &cache->ghost[0], id)) {
        cache->number[id] = 1;
        cache->target += at_least_one(b2, b1);
        cache->target = cache->target < capacity ? cache->target : capacity;
    } else if (naive_remove(cache, &cache->ghost[1], id)) {
        cache->number[id] = 2;
        cache->target -= at_least_one(b1, b2);
        cache->target = cache->target > 0 ? cache->target : 0;
    }
    return false;
}

static void arc_replace(struct naive_cache *cache, bool hit_b2)
{
    double t1 = (double)cache->line[0].bytes;
    bool first = t1 > 0 && (t1 > cache->target || (t1 == cache->target && hit_b2));
    int from = first || cache->line[1].count == 0 ? 0 : 1;
    uint32_t victim = naive_pop(cache, &cache->line[from]);
    naive_drop(cache, victim);
    naive_push(cache, &cache->ghost[from], victim);
}

static void arc_evict(struct naive_cache *cache, uint32_t id)
{
    uint64_t recent = cache->line[0].bytes + cache->ghost[0].bytes;
    uint64_t all = recent + cache->line[1].bytes + cache->ghost[1].bytes;
    if (cache->number[id] == 0) {
        if (recent + naive_size(cache, id) > cache->capacity) {
            if (cache->ghost[0].count == 0) {
                naive_drop(cache, naive_pop(cache, &cache->line[0]));
                return;
            }
            naive_pop(cache, &cache->ghost[0]);
        } else if (all >= 2 * cache->capacity && cache->ghost[1].count > 0) {
            naive_pop(cache, &cache->ghost[1]);
        }
    }
    arc_replace(cache, cache->number[id] == 2);
}

static void arc_insert(struct naive_cache *cache, uint32_t id)
{
    naive_keep(cache, id);
    naive_push(cache, &cache->line[cache->number[id] == 0 ? 0 : 1], id);
}

/* ---- SLRU: parameter segments, all alike, the highest last. ---- */
static int slru_top(const struct naive_cache *cache)
{
    return (int)cache->request->params[0] - 1;
}

static void slru_start(struct naive_cache *cache)
{
    for (int i = 0; i <= slru_top(cache); i++)
        cache->limit[i] = cache->capacity / (uint64_t)cache->request->params[0];
}

/* Gives up the oldest of a segment to the one below, and there too while it is over its limit. */
static void slru_cool(struct naive_cache *cache, int segment)
{
    uint32_t id = naive_pop(cache, &cache->line[segment]);
    if (segment == 0) {
        naive_drop(cache, id);
        return;
    }
    naive_push(cache, &cache->line[segment - 1], id);
    while (cache->line[segment - 1].bytes > cache->limit[segment - 1])
        slru_cool(cache, segment - 1);
}

static bool slru_find(struct naive_cache *cache, uint32_t id)
{
    for (int i = 0; i <= slru_top(cache); i++)
        if (naive_remove(cache, &cache->line[i], id)) {
            int to = i < slru_top(cache) ? i + 1 : i;
            naive_push(cache, &cache->line[to], id);
            while (cache->line[to].bytes > cache->limit[to])
                slru_cool(cache, to);
            return true;
        }
    return false;
}

static bool slru_can_insert(struct naive_cache *cache, uint32_t id)
{
    return naive_size(cache, id) <= cache->limit[0];
}

static void slru_evict(struct naive_cache *cache, uint32_t id)
{
    (void)id;
    int lowest = 0;
    while (cache->line[lowest].count == 0)
        lowest++;
    naive_drop(cache, naive_pop(cache, &cache->line[lowest]));
}

static void slru_insert(struct naive_cache *cache, uint32_t id)
{
    int to = 0;
    while (to <= slru_top(cache) && cache->line[to].bytes + naive_size(cache, id) > cache->limit[to])
        to++;
    naive_push(cache, &cache->line[to <= slru_top(cache) ? to : 0], id);
    naive_keep(cache, id);
}

const struct naive_policy naive_queues[] = {
    {"s3-fifo", s3_start, s3_find, s3_can_insert, s3_evict, s3_insert, NULL},
    {"2q", two_start, two_find, two_can_insert, two_evict, two_insert, NULL},
    {"arc", NULL, arc_find, NULL, arc_evict, arc_insert, NULL},
    {"slru", slru_start, slru_find, slru_can_insert, slru_evict, slru_insert, NULL},
    {0},
};
