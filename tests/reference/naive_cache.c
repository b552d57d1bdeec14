/* See naive_cache.h: the loop that all twins share, and their lines. */
#include "tests/reference/naive_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tests/reference/naive_cache_parts.h"

uint64_t naive_size(const struct naive_cache *cache, uint32_t id)
{
    return cache->request->sizes[id];
}

uint64_t naive_share(uint64_t bytes, int64_t ppm)
{
    const double ratio = (double)ppm / 1000000.0;
    return (uint64_t)(ratio * (double)bytes);
}

void naive_keep(struct naive_cache *cache, uint32_t id)
{
    must(!cache->resident[id]);
    cache->resident[id] = true;
    cache->held += naive_size(cache, id);
}

void naive_drop(struct naive_cache *cache, uint32_t id)
{
    must(cache->resident[id]);
    cache->resident[id] = false;
    cache->held -= naive_size(cache, id);
}

bool naive_has(const struct naive_line *line, uint32_t id)
{
    for (uint32_t i = 0; i < line->count; i++)
        if (line->ids[i] == id)
            return true;
    return false;
}

void naive_push(struct naive_cache *cache, struct naive_line *line, uint32_t id)
{
    must(line->count < cache->request->id_count);
    line->ids[line->count++] = id;
    line->bytes += naive_size(cache, id);
}

bool naive_remove(struct naive_cache *cache, struct naive_line *line, uint32_t id)
{
    for (uint32_t i = 0; i < line->count; i++)
        if (line->ids[i] == id) {
            memmove(&line->ids[i], &line->ids[i + 1], (line->count - i - 1) * sizeof line->ids[0]);
            line->count--;
            line->bytes -= naive_size(cache, id);
            return true;
        }
    return false;
}

uint32_t naive_oldest(const struct naive_line *line)
{
    return line->count > 0 ? line->ids[0] : NAIVE_NONE;
}

uint32_t naive_newest(const struct naive_line *line)
{
    return line->count > 0 ? line->ids[line->count - 1] : NAIVE_NONE;
}

uint32_t naive_pop(struct naive_cache *cache, struct naive_line *line)
{
    uint32_t id = naive_oldest(line);
    must(id != NAIVE_NONE);
    naive_remove(cache, line, id);
    return id;
}

void naive_remember(struct naive_cache *cache, struct naive_line *ghosts, uint64_t limit, uint32_t id)
{
    uint64_t bytes = naive_size(cache, id);
    if (bytes > limit || naive_has(ghosts, id))
        return;
    while (ghosts->bytes + bytes > limit)
        naive_pop(cache, ghosts);
    naive_push(cache, ghosts, id);
}

/* For each access the number of the next one to the same block. */
static uint32_t *next_accesses(const struct naive_request *request)
{
    uint32_t *next = malloc(request->count * sizeof *next + 1);
    uint32_t *seen = malloc(request->id_count * sizeof *seen + 1);
    must(next != NULL && seen != NULL);
    for (uint32_t id = 0; id < request->id_count; id++)
        seen[id] = NAIVE_NEVER;
    for (size_t i = request->count; i-- > 0;) {
        next[i] = seen[request->ids[i]];
        seen[request->ids[i]] = (uint32_t)i;
    }
    free(seen);
    return next;
}

static void *zeros(struct naive_cache *cache, size_t size)
{
    void *memory = calloc(cache->request->id_count + 1, size);
    must(memory != NULL);
    return memory;
}

static void start(struct naive_cache *cache, const struct naive_request *request)
{
    *cache = (struct naive_cache){.request = request, .capacity = request->capacity, .hand = NAIVE_NONE};
    cache->resident = zeros(cache, sizeof *cache->resident);
    cache->last = zeros(cache, sizeof *cache->last);
    cache->next = zeros(cache, sizeof *cache->next);
    cache->uses = zeros(cache, sizeof *cache->uses);
    cache->mark = zeros(cache, sizeof *cache->mark);
    cache->mark2 = zeros(cache, sizeof *cache->mark2);
    cache->number = zeros(cache, sizeof *cache->number);
    cache->times = zeros(cache, NAIVE_TIMES * sizeof *cache->times);
    cache->sketch = zeros(cache, 32 * sizeof *cache->sketch);
    for (int i = 0; i < NAIVE_LINES; i++) {
        cache->line[i].ids = zeros(cache, sizeof *cache->line[i].ids);
        cache->ghost[i].ids = zeros(cache, sizeof *cache->ghost[i].ids);
    }
}

static void finish(struct naive_cache *cache)
{
    for (int i = 0; i < NAIVE_LINES; i++) {
        free(cache->line[i].ids);
        free(cache->ghost[i].ids);
    }
    free(cache->resident);
    free(cache->last);
    free(cache->next);
    free(cache->uses);
    free(cache->mark);
    free(cache->mark2);
    free(cache->number);
    free(cache->times);
    free(cache->sketch);
}

/* The block's `last` and `next` are those of this access once the look-up is over. */
static bool look_up(struct naive_cache *cache, const struct naive_policy *policy, uint32_t id)
{
    uint64_t bytes = naive_size(cache, id);
    bool hit = policy->find(cache, id);
    if (!hit && bytes <= cache->capacity && (policy->can_insert == NULL || policy->can_insert(cache, id))) {
        while (cache->held + bytes > cache->capacity)
            policy->evict(cache, id);
        policy->insert(cache, id);
    }
    cache->last[id] = cache->now;
    cache->next[id] = cache->now_next;
    if (policy->end != NULL)
        policy->end(cache);
    must(cache->held <= cache->capacity);
    return hit;
}

static const struct naive_policy *policy_of(const char *name)
{
    const struct naive_policy *const tables[] = {naive_plain,  naive_queues,  naive_lirs,  naive_future,
                                                 naive_scored, naive_tinylfu, naive_layers};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct naive_policy *policy = tables[t]; policy->name != NULL; policy++)
            if (strcmp(policy->name, name) == 0)
                return policy;
    return NULL;
}

bool naive_cache_run(const char *policy_name, const struct naive_request *request, struct naive_counts *counts)
{
    const struct naive_policy *policy = policy_of(policy_name);
    if (policy == NULL)
        return false;
    must(request->count < NAIVE_NEVER);
    struct naive_cache cache;
    start(&cache, request);
    if (policy->start != NULL)
        policy->start(&cache);
    *counts = (struct naive_counts){0};
    uint32_t *next = next_accesses(request);
    for (uint32_t i = 0; i < request->count; i++) {
        cache.now = i;
        cache.now_next = next[i];
        if (!look_up(&cache, policy, request->ids[i])) {
            counts->misses++;
            counts->missed_bytes += request->sizes[request->ids[i]];
        }
    }
    free(next);
    finish(&cache);
    return true;
}
