/* The lists of the page cache's twin and their reclaim: mm/vmscan.c, page by page. */
#include "tests/reference/naive_page_state.h"

uint32_t naive_head_of(const struct naive_page_cache *cache, enum list list)
{
    return cache->spec.pages + (uint32_t)list;
}

void naive_take_off(struct naive_page_cache *cache, uint32_t i)
{
    struct page *page = &cache->pages[i];
    cache->pages[page->newer].older = page->older;
    cache->pages[page->older].newer = page->newer;
    cache->size[page->list]--;
    page->list = NONE;
}

void naive_push_head(struct naive_page_cache *cache, uint32_t i, enum list list)
{
    uint32_t head = naive_head_of(cache, list);
    struct page *page = &cache->pages[i];
    page->newer = head;
    page->older = cache->pages[head].older;
    cache->pages[page->older].newer = i;
    cache->pages[head].older = i;
    cache->size[list]++;
    page->list = list;
}

/* Takes up to `most` pages from the tail into `taken`, oldest first; they cost time. */
static uint32_t take_tail(struct naive_page_cache *cache, enum list list, uint64_t most, uint32_t taken[SCAN_PAGES])
{
    uint32_t count = 0;
    while (count < most && cache->size[list] > 0) {
        taken[count] = cache->pages[naive_head_of(cache, list)].newer;
        naive_take_off(cache, taken[count++]);
    }
    cache->counts.scanned += count;
    *cache->now_ns += cache->spec.scan_ns * count;
    return count;
}

/* ---- Reclaim ---- */

uint64_t naive_usage(const struct naive_page_cache *cache, uint64_t more_bytes)
{
    return naive_page_cache_resident(cache) + (cache->kernel_bytes + more_bytes) / cache->spec.page_bytes;
}

void naive_evict_page(struct naive_page_cache *cache, uint32_t i)
{
    struct page *page = &cache->pages[i];
    cache->counts.evicted++;
    if (page->mapped == 0)
        cache->counts.unused_evicted++;
    page->mapped = page->young = 0;
    page->marked = false;
    page->shadow = true;
    page->shadow_workingset = page->workingset;
    page->age = cache->age++;
}

/* Where a page taken from the inactive tail goes. */
static enum list judge(struct naive_page_cache *cache, uint32_t i)
{
    struct page *page = &cache->pages[i];
    if (page->done_ns > *cache->now_ns || i == cache->held)
        return INACTIVE;
    int references = 0;
    if (cache->spec.advice == PAGES_NORMAL) {
        references = __builtin_popcount(page->young);
        page->young = 0;
    }
    bool was = page->referenced;
    page->referenced = references > 0;
    if (references == 0)
        return NONE;
    return was || references > 1 ? ACTIVE : INACTIVE;
}

static uint64_t scan_inactive(struct naive_page_cache *cache, uint64_t most)
{
    uint32_t taken[SCAN_PAGES];
    enum list to[SCAN_PAGES];
    uint32_t count = take_tail(cache, INACTIVE, most, taken);
    uint64_t got = 0;
    for (uint32_t k = 0; k < count; k++)
        to[k] = judge(cache, taken[k]);
    for (uint32_t k = 0; k < count; k++)
        if (to[k] == NONE) {
            naive_evict_page(cache, taken[k]);
            got++;
        }
    for (uint32_t k = 0; k < count; k++)
        if (to[k] != NONE) {
            naive_push_head(cache, taken[k], to[k]);
            cache->age += to[k] == ACTIVE;
        }
    return got;
}

static void scan_active(struct naive_page_cache *cache, uint64_t most)
{
    uint32_t taken[SCAN_PAGES];
    uint32_t count = take_tail(cache, ACTIVE, most, taken);
    for (uint32_t k = 0; k < count; k++) {
        struct page *page = &cache->pages[taken[k]];
        if (cache->spec.advice == PAGES_NORMAL)
            page->young = 0;
        page->workingset = true;
        naive_push_head(cache, taken[k], INACTIVE);
    }
}

static bool inactive_is_low(const struct naive_page_cache *cache)
{
    uint64_t gib = (cache->size[INACTIVE] + cache->size[ACTIVE]) * cache->spec.page_bytes >> 30;
    uint64_t ratio = 1;
    while (gib > 0 && (ratio + 1) * (ratio + 1) <= 10 * gib)
        ratio++;
    return cache->size[INACTIVE] * ratio < cache->size[ACTIVE];
}

/* One priority: a share of each list. */
static uint64_t scan_lists(struct naive_page_cache *cache, int priority, uint64_t want, bool deactivate, bool *skipped)
{
    uint64_t inactive = cache->size[INACTIVE] >> priority, active = cache->size[ACTIVE] >> priority, got = 0;
    while ((inactive > 0 || active > 0) && got < want) {
        uint64_t now = least(inactive, SCAN_PAGES);
        inactive -= now;
        got += scan_inactive(cache, now);
        now = least(active, SCAN_PAGES);
        active -= now;
        if (deactivate)
            scan_active(cache, now);
        else if (now > 0)
            *skipped = true;
    }
    return got;
}

uint64_t naive_shrink(struct naive_page_cache *cache, uint64_t want)
{
    if (cache->spec.lists == LISTS_MGLRU)
        return naive_generations_shrink(cache, want);
    uint64_t got = 0;
    bool skipped = true;
    for (int forced = 0; forced < 2 && got == 0 && skipped; forced++) {
        skipped = false;
        for (int priority = PRIORITIES; priority >= 0 && got < want; priority--) {
            bool deactivate = forced || cache->counts.activations != cache->snapshot || inactive_is_low(cache);
            got += scan_lists(cache, priority, want, deactivate, &skipped);
        }
        cache->snapshot = cache->counts.activations;
    }
    return got;
}
