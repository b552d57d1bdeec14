/* The generations of the page cache's twin, and their reclaim: the multi-gen LRU of mm/vmscan.c as docs/models.md
 * section 11 simplifies it, page by page. */
#include "tests/reference/naive_page_state.h"

enum {
    FEWEST_GENERATIONS = 2,
    PAGES_AT_ONCE = 64,
    AGINGS_MOST = 2, /* in a row that bring nothing to evict */
};

enum list naive_generation(uint64_t seq)
{
    return (enum list)(GENERATION + seq % GENERATIONS);
}

enum list naive_generation_for(struct naive_page_cache *cache, uint32_t i, bool again)
{
    struct page *page = &cache->pages[i];
    if (cache->spec.advice != PAGES_NORMAL || cache->willneed)
        return naive_generation(cache->min_seq);
    if (again && page->age + GENERATIONS > cache->max_seq) {
        cache->counts.activations++;
        page->workingset = page->shadow_workingset;
        return naive_generation(cache->max_seq);
    }
    return naive_generation(cache->max_seq - 1);
}

static bool is_young(const struct naive_page_cache *cache, uint32_t i)
{
    return cache->spec.advice == PAGES_NORMAL && cache->pages[i].young != 0;
}

static void promote(struct naive_page_cache *cache, uint32_t i)
{
    cache->pages[i].young = 0;
    cache->pages[i].workingset = true;
    naive_push_head(cache, i, naive_generation(cache->max_seq));
}

static void look_at(struct naive_page_cache *cache)
{
    cache->counts.scanned++;
    *cache->now_ns += cache->spec.scan_ns;
}

static void age(struct naive_page_cache *cache)
{
    for (uint32_t i = 0; i < cache->spec.pages; i++)
        if (cache->pages[i].list >= GENERATION && is_young(cache, i)) {
            look_at(cache);
            naive_take_off(cache, i);
            promote(cache, i);
        }
    cache->max_seq++;
}

/* Up to PAGES_AT_ONCE of the oldest generation; how many were evicted, how many left it, how many stayed. */
static uint64_t evict_oldest(struct naive_page_cache *cache, uint64_t *left, uint64_t *stayed)
{
    const enum list oldest = naive_generation(cache->min_seq);
    uint32_t taken[PAGES_AT_ONCE], count = 0;
    uint64_t evicted = 0;
    while (count < PAGES_AT_ONCE && cache->size[oldest] > 0) {
        taken[count] = cache->pages[naive_head_of(cache, oldest)].newer;
        naive_take_off(cache, taken[count++]);
        look_at(cache);
    }
    *left = *stayed = 0;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = taken[k];
        if (cache->pages[i].done_ns > *cache->now_ns || i == cache->held) {
            naive_push_head(cache, i, oldest);
            ++*stayed;
            continue;
        }
        ++*left;
        if (is_young(cache, i)) {
            promote(cache, i);
            continue;
        }
        naive_evict_page(cache, i);
        cache->pages[i].age = cache->min_seq;
        evicted++;
    }
    return evicted;
}

/* The oldest generation is no more; what it still has goes on to the next one. */
static void drop_oldest(struct naive_page_cache *cache)
{
    const enum list oldest = naive_generation(cache->min_seq);
    while (cache->size[oldest] > 0) {
        uint32_t i = cache->pages[naive_head_of(cache, oldest)].newer;
        naive_take_off(cache, i);
        naive_push_head(cache, i, naive_generation(cache->min_seq + 1));
    }
    cache->min_seq++;
}

uint64_t naive_generations_shrink(struct naive_page_cache *cache, uint64_t want)
{
    uint64_t got = 0, stayed_in_a_row = 0;
    int agings = 0;
    while (got < want) {
        if (cache->min_seq + FEWEST_GENERATIONS > cache->max_seq) {
            if (agings++ == AGINGS_MOST)
                return got;
            age(cache);
        }
        if (cache->size[naive_generation(cache->min_seq)] <= stayed_in_a_row) {
            drop_oldest(cache);
            stayed_in_a_row = 0;
            continue;
        }
        uint64_t left, stayed, evicted = evict_oldest(cache, &left, &stayed);
        got += evicted;
        if (evicted > 0)
            agings = 0;
        stayed_in_a_row = left > 0 ? 0 : stayed_in_a_row + stayed;
    }
    return got;
}
