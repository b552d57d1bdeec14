/* See naive_replay.h. The rules are those of docs/models.md, section 5, where every load is done at once. */
#include "tests/reference/naive_replay.h"

#include <stdlib.h>

#include "base/error.h"

struct cache {
    const struct replay_spec *spec;
    struct replay_result *result;
    struct naive_order order;
    bool *resident, *in_use, *streamed, *pinned;
    uint64_t held_bytes, pinned_bytes;
};

static bool may_evict(const void *context, block_id b)
{
    return !((const struct cache *)context)->in_use[b];
}

static bool take_out(struct cache *cache, block_id b)
{
    if (b == BLOCK_NONE)
        return false;
    naive_order_remove(&cache->order, b);
    cache->resident[b] = false;
    cache->held_bytes -= cache->spec->model->blocks[b].bytes;
    cache->result->evictions++;
    return true;
}

static bool evict(struct cache *cache)
{
    return take_out(cache, naive_order_victim(&cache->order, may_evict, cache));
}

static void release(struct cache *cache)
{
    while (take_out(cache, naive_order_release(&cache->order, may_evict, cache)))
        ;
}

static bool room(struct cache *cache, block_id b)
{
    uint64_t bytes = cache->spec->model->blocks[b].bytes;
    if (bytes > cache->spec->capacity_bytes - cache->pinned_bytes || !naive_order_admits(&cache->order, b))
        return false;
    if (cache->spec->evict_when == EVICT_BEFORE_INSERT)
        while (cache->held_bytes + bytes > cache->spec->capacity_bytes)
            if (!evict(cache))
                return false;
    return true;
}

static void tell_hit(struct cache *cache, block_id b)
{
    if (cache->pinned[b])
        return;
    naive_order_hit(&cache->order, b);
    release(cache);
}

static void access_block(struct cache *cache, block_id b)
{
    uint64_t bytes = cache->spec->model->blocks[b].bytes;
    cache->result->accesses++;
    cache->result->bytes_accessed += bytes;
    naive_order_access(&cache->order);
    if (cache->resident[b]) {
        cache->result->hits++;
        cache->result->bytes_hit += bytes;
        tell_hit(cache, b);
        return;
    }
    cache->result->misses++;
    cache->result->bytes_read += bytes;
    release(cache);
    if (room(cache, b)) {
        cache->resident[b] = true;
        cache->held_bytes += bytes;
        naive_order_insert(&cache->order, b);
        release(cache);
    } else {
        cache->result->uncacheable++;
        cache->streamed[b] = true;
    }
}

static void run_step(struct cache *cache, uint32_t step, block_id *distinct)
{
    const struct trace *trace = cache->spec->trace;
    uint32_t count = naive_step_blocks(trace, step, false, distinct);
    for (uint32_t i = 0; i < count; i++)
        cache->in_use[distinct[i]] = true;
    uint32_t begin = trace->step_first ? trace->step_first[step] : step;
    uint32_t end = trace->step_first ? trace->step_first[step + 1] : step + 1;
    for (uint32_t u = begin; u < end; u++) {
        block_id b = trace->uses[u] & USE_BLOCK;
        bool again = false;
        for (uint32_t v = begin; v < u; v++)
            again |= (trace->uses[v] & USE_BLOCK) == b;
        if (!again)
            access_block(cache, b);
        else if (!cache->streamed[b])
            tell_hit(cache, b);
    }
    if (cache->spec->evict_when == EVICT_AFTER_STEP)
        while (cache->held_bytes > cache->spec->capacity_bytes && evict(cache))
            ;
    for (uint32_t i = 0; i < count; i++)
        cache->in_use[distinct[i]] = cache->streamed[distinct[i]] = false;
}

void naive_replay(const struct replay_spec *spec, const struct naive_choice *choice, struct replay_result *result)
{
    uint32_t n = spec->model->block_count;
    struct cache cache = {.spec = spec, .result = result};
    *result = (struct replay_result){0};
    bool *flags = calloc(4 * (size_t)n, sizeof *flags);
    block_id *blocks = calloc(n, sizeof *blocks);
    must(flags != NULL && blocks != NULL);
    cache.resident = flags;
    cache.in_use = flags + n;
    cache.streamed = flags + 2 * (size_t)n;
    cache.pinned = flags + 3 * (size_t)n;
    naive_order_start(&cache.order, choice, spec->model, spec->trace);
    uint32_t pins = naive_pins(choice, spec->model, spec->trace, spec->capacity_bytes, blocks);
    for (uint32_t i = 0; i < pins; i++) {
        uint64_t bytes = spec->model->blocks[blocks[i]].bytes;
        if (cache.held_bytes + bytes > spec->capacity_bytes)
            continue;
        cache.resident[blocks[i]] = cache.pinned[blocks[i]] = true;
        cache.held_bytes += bytes;
        cache.pinned_bytes += bytes;
        result->bytes_read += bytes;
    }
    uint64_t steps;
    uint32_t *flat = naive_flatten(spec->trace, &steps);
    for (uint64_t i = 0; i < steps; i++)
        run_step(&cache, flat[i], blocks);
    free(flat);
    free(flags);
    free(blocks);
    naive_order_free(&cache.order);
}
