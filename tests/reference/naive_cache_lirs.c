/* The twin of lirs, as libCacheSim has it (cache/eviction/LIRS.c, learned from it and from its published misses): where
 * Q is as small as the block that hits in it, that block makes itself leave Q, and still counts as resident in S,
 * though neither limit counts it. Where may_exceed is false these blocks give way when the capacity is full. */
#include "base/error.h"
#include "tests/reference/naive_cache_parts.h"

/* S is line 0, Q line 1, N ghost 0, each with its top at the end. In S `mark` tells a LIR, `mark2` a block that counts
 * as resident there. */
enum { S, Q };

static uint64_t lir_bytes(const struct naive_cache *cache)
{
    return cache->counter;
}

static void lirs_start(struct naive_cache *cache)
{
    uint64_t share = naive_share(cache->capacity, cache->request->params[0]);
    cache->limit[Q] = share > 1 ? share : 1;
    cache->limit[S] = cache->capacity - cache->limit[Q];
}

static void to_top(struct naive_cache *cache, struct naive_line *line, uint32_t id)
{
    naive_remove(cache, line, id);
    naive_push(cache, line, id);
}

static void prune(struct naive_cache *cache)
{
    while (cache->line[S].count > 1 && !cache->mark[naive_oldest(&cache->line[S])]) {
        uint32_t id = naive_pop(cache, &cache->line[S]);
        naive_remove(cache, &cache->ghost[0], id);
    }
}

static void evict_hir(struct naive_cache *cache)
{
    uint32_t id = naive_pop(cache, &cache->line[Q]);
    naive_drop(cache, id);
    if (naive_has(&cache->line[S], id)) {
        cache->mark2[id] = false;
        naive_push(cache, &cache->ghost[0], id);
    }
}

/* A HIR can be at the bottom only where it was the last entry before. */
static void evict_lir(struct naive_cache *cache)
{
    prune(cache);
    uint32_t id = naive_pop(cache, &cache->line[S]);
    must(cache->mark[id]);
    cache->counter -= naive_size(cache, id);
    naive_drop(cache, id);
    cache->mark[id] = false;
    while (cache->line[Q].bytes + naive_size(cache, id) > cache->limit[Q])
        evict_hir(cache);
    naive_push(cache, &cache->line[Q], id);
    naive_keep(cache, id);
    prune(cache);
}

static void room_for_lir(struct naive_cache *cache, uint32_t id)
{
    while (lir_bytes(cache) + naive_size(cache, id) > cache->limit[S])
        evict_lir(cache);
}

static void hit_hir_in_s(struct naive_cache *cache, uint32_t id)
{
    if (naive_remove(cache, &cache->line[Q], id))
        naive_drop(cache, id);
    room_for_lir(cache, id);
    cache->mark[id] = true;
    cache->counter += naive_size(cache, id);
    naive_keep(cache, id);
}

static void hit_in_q(struct naive_cache *cache, uint32_t id)
{
    to_top(cache, &cache->line[Q], id);
    room_for_lir(cache, id);
    naive_push(cache, &cache->line[S], id);
    cache->mark[id] = false;
    cache->mark2[id] = true;
}

static bool lirs_find(struct naive_cache *cache, uint32_t id)
{
    if (naive_has(&cache->line[S], id)) {
        to_top(cache, &cache->line[S], id);
        if (cache->mark[id]) {
            prune(cache);
            return true;
        }
        if (naive_has(&cache->line[Q], id))
            to_top(cache, &cache->line[Q], id);
        if (!cache->mark2[id])
            return false;
        hit_hir_in_s(cache, id);
        return true;
    }
    if (!naive_has(&cache->line[Q], id))
        return false;
    hit_in_q(cache, id);
    return true;
}

static bool lirs_can_insert(struct naive_cache *cache, uint32_t id)
{
    uint64_t bytes = naive_size(cache, id);
    if (naive_has(&cache->line[S], id)) {
        room_for_lir(cache, id);
        naive_remove(cache, &cache->ghost[0], id);
        return true;
    }
    if (bytes > cache->limit[S] || bytes > cache->limit[Q])
        return false;
    if (lir_bytes(cache) + bytes > cache->limit[S])
        while (cache->line[Q].bytes + bytes > cache->limit[Q])
            evict_hir(cache);
    return true;
}

/* can_insert has made all the room: LIRs stay within l, Q within h, and l + h is the capacity. */
static void lirs_evict(struct naive_cache *cache, uint32_t id)
{
    (void)cache, (void)id;
    must(false);
}

/* Blocks in S that count as resident without being among the LIRs or in Q: the limits do not know them. */
static bool uncounted(const struct naive_cache *cache, uint32_t id)
{
    return !cache->mark[id] && cache->mark2[id] && !cache->resident[id];
}

static uint64_t uncounted_bytes(const struct naive_cache *cache)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < cache->line[S].count; i++)
        if (uncounted(cache, cache->line[S].ids[i]))
            bytes += naive_size(cache, cache->line[S].ids[i]);
    return bytes;
}

/* The lowest of them in S becomes a HIR that is not resident. */
static void forget_uncounted(struct naive_cache *cache)
{
    uint32_t i = 0;
    while (!uncounted(cache, cache->line[S].ids[i]))
        i++;
    cache->mark2[cache->line[S].ids[i]] = false;
    naive_push(cache, &cache->ghost[0], cache->line[S].ids[i]);
}

static void lirs_insert(struct naive_cache *cache, uint32_t id)
{
    while (!cache->request->may_exceed &&
           cache->held + uncounted_bytes(cache) + naive_size(cache, id) > cache->capacity)
        forget_uncounted(cache);
    bool known = naive_has(&cache->line[S], id);
    bool lir = known || lir_bytes(cache) + naive_size(cache, id) <= cache->limit[S];
    if (!known)
        naive_push(cache, &cache->line[S], id);
    if (!lir)
        naive_push(cache, &cache->line[Q], id);
    if (lir)
        cache->counter += naive_size(cache, id);
    cache->mark[id] = lir;
    cache->mark2[id] = true;
    naive_keep(cache, id);
}

static void lirs_end(struct naive_cache *cache)
{
    while (cache->line[S].bytes > 2 * cache->capacity && cache->ghost[0].count > 0)
        naive_remove(cache, &cache->line[S], naive_pop(cache, &cache->ghost[0]));
}

const struct naive_policy naive_lirs[] = {
    {"lirs", lirs_start, lirs_find, lirs_can_insert, lirs_evict, lirs_insert, lirs_end},
    {0},
};
