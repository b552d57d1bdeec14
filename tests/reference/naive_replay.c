/* See naive_replay.h. The rules are those of docs/models.md, section 5, where every load is done at once. */
#include "tests/reference/naive_replay.h"

#include <stdlib.h>

#include "base/error.h"

struct cache {
    const struct replay_spec *spec;
    struct replay_result *result;
    struct naive_order order;
    bool *resident, *in_use, *streamed;
    uint64_t held_bytes, pinned_bytes;
};

static bool evict(struct cache *cache)
{
    for (uint32_t i = 0; i < cache->order.count; i++) {
        block_id b = cache->order.blocks[i];
        if (cache->in_use[b])
            continue;
        naive_order_remove(&cache->order, b);
        cache->resident[b] = false;
        cache->held_bytes -= cache->spec->model->blocks[b].bytes;
        cache->result->evictions++;
        return true;
    }
    return false;
}

static bool room(struct cache *cache, uint64_t bytes)
{
    if (bytes > cache->spec->capacity_bytes - cache->pinned_bytes)
        return false;
    if (cache->spec->evict_when == EVICT_BEFORE_INSERT)
        while (cache->held_bytes + bytes > cache->spec->capacity_bytes)
            if (!evict(cache))
                return false;
    return true;
}

static void access_block(struct cache *cache, block_id b)
{
    uint64_t bytes = cache->spec->model->blocks[b].bytes;
    cache->result->accesses++;
    cache->result->bytes_accessed += bytes;
    if (cache->resident[b]) {
        cache->result->hits++;
        cache->result->bytes_hit += bytes;
        naive_order_hit(&cache->order, b);
        return;
    }
    cache->result->misses++;
    cache->result->bytes_read += bytes;
    if (room(cache, bytes)) {
        cache->resident[b] = true;
        cache->held_bytes += bytes;
        naive_order_insert(&cache->order, b);
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
            naive_order_hit(&cache->order, b);
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
    bool *flags = calloc(3 * (size_t)n, sizeof *flags);
    block_id *blocks = calloc(n, sizeof *blocks);
    must(flags != NULL && blocks != NULL);
    cache.resident = flags;
    cache.in_use = flags + n;
    cache.streamed = flags + 2 * (size_t)n;
    naive_order_start(&cache.order, choice->evict, n);
    uint32_t pins = naive_pins(choice, spec->model, spec->trace, spec->capacity_bytes, blocks);
    for (uint32_t i = 0; i < pins; i++) {
        uint64_t bytes = spec->model->blocks[blocks[i]].bytes;
        if (cache.held_bytes + bytes > spec->capacity_bytes)
            continue;
        cache.resident[blocks[i]] = true;
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
