/* Reclaim: the two lists, second chances, and eviction in batches. Linux 6.18, mm/vmscan.c and mm/workingset.c;
 * docs/models.md section 11.
 *
 * Whole runs are moved where that is the same as moving them batch by batch. */
#include "sim/page_state.h"

enum fate { FATE_EVICT, FATE_KEEP, FATE_ACTIVATE };

bool room_for_page(struct page_cache *cache)
{
    while (usage_with(cache, cache->kernel_bytes) >= cache->limit_pages) {
        if (cache->spec.relief ? !cache->spec.relief(cache->spec.host, cache)
                               : shrink(cache, cache->spec.batch_pages) == 0)
            return false;
    }
    return true;
}

bool room_for_kernel(struct page_cache *cache, uint64_t bytes)
{
    while (usage_with(cache, cache->kernel_bytes + bytes) > cache->limit_pages) {
        if (cache->spec.relief ? !cache->spec.relief(cache->spec.host, cache)
                               : shrink(cache, cache->spec.batch_pages) == 0)
            return false;
    }
    return true;
}

static uint32_t integer_root(uint64_t x)
{
    uint32_t root = 0;
    while ((uint64_t)(root + 1) * (root + 1) <= x)
        root++;
    return root;
}

/* inactive_is_low() */
bool inactive_is_low(uint64_t inactive, uint64_t active, uint64_t page_bytes)
{
    uint64_t gib = (inactive + active) * page_bytes >> 30;
    uint64_t ratio = gib > 0 ? integer_root(10 * gib) : 1;
    return inactive * ratio < active;
}

void pages_scanned(struct page_cache *cache, uint64_t pages)
{
    *cache->now_ns += (int64_t)pages * cache->spec.scan_ns;
    cache->counts.scanned += pages;
    reads_update(cache);
}

uint32_t kept_first(const struct page_cache *cache, uint32_t first, uint32_t end, uint32_t *until)
{
    uint32_t kept = reads_first(cache, first, end, until);
    if (cache->held >= first && cache->held < end && cache->held < kept) {
        kept = cache->held;
        *until = kept + 1;
    }
    return kept;
}

/* What the first pages of the oldest inactive run have before them, how many of at most `most`, and their attributes if
 * they stay (folio_check_references). */
static uint32_t fate_of(const struct page_cache *cache, uint32_t run, uint32_t most, enum fate *fate,
                        uint32_t *attributes)
{
    const struct page_run *r = &cache->runs.runs[run];
    uint32_t first = r->start, end = first + most, until;
    *attributes = r->attributes;
    uint32_t kept = kept_first(cache, first, end, &until);
    if (kept == first) {
        *fate = FATE_KEEP;
        return until - first;
    }
    uint32_t young = 0;
    if (cache->spec.advice == PAGES_NORMAL) {
        young = (r->attributes & YOUNG_MASK) >> YOUNG_SHIFT;
        *attributes &= ~(uint32_t)YOUNG_MASK;
    }
    *attributes &= ~(uint32_t)PAGE_REFERENCED;
    *fate = FATE_EVICT;
    if (young) {
        bool twice = r->attributes & PAGE_REFERENCED || (young & (young - 1)) != 0;
        *attributes |= PAGE_REFERENCED;
        *fate = twice ? FATE_ACTIVATE : FATE_KEEP;
    }
    return kept - first;
}

void pages_evict(struct page_cache *cache, uint32_t run, uint32_t count)
{
    struct page_runs *all = &cache->runs;
    const struct page_run *r = &all->runs[run];
    uint32_t attributes = PAGE_EVICTED | (r->attributes & PAGE_WORKINGSET);
    marks_clear(cache, r->start, r->start + count);
    cache->counts.evicted += count;
    if ((r->attributes & MAPPED_MASK) == 0)
        cache->counts.unused_evicted += count;
    const struct page_run *previous = &all->runs[r->previous];
    if (count < run_pages(all, run) && previous->attributes == attributes &&
        previous->age + (r->start - previous->start) == cache->age) {
        page_runs_pass(all, run, count);
    } else {
        page_runs_cut(all, run, r->start + count);
        page_runs_take(all, run);
        page_runs_put(all, run, attributes, cache->age);
    }
    cache->age += count;
}

void pages_requeue(struct page_cache *cache, uint32_t run, uint32_t count, uint32_t attributes)
{
    struct page_runs *all = &cache->runs;
    page_runs_cut(all, run, all->runs[run].start + count);
    page_runs_take(all, run);
    page_runs_put(all, run, attributes, 0);
}

/* shrink_inactive_list() on up to `count` <= SCAN_BATCH pages: evicts at once, and puts back what stays when all of
 * them have been looked at. */
static uint64_t inactive_batch(struct page_cache *cache, uint32_t count)
{
    struct page_runs *all = &cache->runs;
    struct {
        uint32_t run, attributes;
    } stay[SCAN_BATCH];
    uint32_t stays = 0;
    uint64_t gone = 0;
    if (count > all->size[PAGE_INACTIVE])
        count = (uint32_t)all->size[PAGE_INACTIVE];
    pages_scanned(cache, count);
    while (count > 0) {
        uint32_t run = all->runs[LIST_INACTIVE].newer, most = run_pages(all, run), attributes;
        enum fate fate;
        most = fate_of(cache, run, most < count ? most : count, &fate, &attributes);
        count -= most;
        if (fate == FATE_EVICT) {
            pages_evict(cache, run, most);
            gone += most;
            continue;
        }
        page_runs_cut(all, run, all->runs[run].start + most);
        page_runs_take(all, run);
        if (fate == FATE_ACTIVATE)
            attributes = (attributes & ~(uint32_t)PLACE_MASK) | PAGE_ACTIVE;
        stay[stays].run = run;
        stay[stays++].attributes = attributes;
    }
    for (uint32_t i = 0; i < stays; i++) {
        if ((stay[i].attributes & PLACE_MASK) == PAGE_ACTIVE)
            cache->age += run_pages(all, stay[i].run);
        page_runs_put(all, stay[i].run, stay[i].attributes, 0);
    }
    return gone;
}

/* Several whole batches of inactive pages with one fate, at most `count` pages, and no more of them evicted than
 * batches are needed for `want`; 0: the next batch is not of that kind. */
static uint64_t inactive_batches(struct page_cache *cache, uint64_t count, uint64_t want, uint64_t *gone)
{
    struct page_runs *all = &cache->runs;
    uint32_t run = all->runs[LIST_INACTIVE].newer, attributes;
    uint64_t most = count < all->size[PAGE_INACTIVE] ? count : all->size[PAGE_INACTIVE];
    if (most < 2 * SCAN_BATCH)
        return 0;
    uint32_t pages = run_pages(all, run);
    enum fate fate;
    pages = fate_of(cache, run, pages < most ? pages : (uint32_t)most, &fate, &attributes);
    if (fate == FATE_EVICT && pages > want + SCAN_BATCH - 1)
        pages = (uint32_t)(want + SCAN_BATCH - 1);
    pages -= pages % SCAN_BATCH;
    /* Locked pages stay too, but may not be locked any more when their batch comes. */
    if (pages == 0 || (fate != FATE_EVICT && attributes == all->runs[run].attributes))
        return 0;
    pages_scanned(cache, pages);
    if (fate == FATE_EVICT) {
        pages_evict(cache, run, pages);
        *gone += pages;
        return pages;
    }
    if (fate == FATE_ACTIVATE) {
        attributes = (attributes & ~(uint32_t)PLACE_MASK) | PAGE_ACTIVE;
        cache->age += pages;
    }
    pages_requeue(cache, run, pages, attributes);
    return pages;
}

/* shrink_active_list() */
static void active_batch(struct page_cache *cache, uint64_t count)
{
    struct page_runs *all = &cache->runs;
    if (count > all->size[PAGE_ACTIVE])
        count = all->size[PAGE_ACTIVE];
    pages_scanned(cache, count);
    while (count > 0) {
        uint32_t run = all->runs[LIST_ACTIVE].newer, most = run_pages(all, run);
        most = most < count ? most : (uint32_t)count;
        uint32_t attributes = (all->runs[run].attributes & ~(uint32_t)PLACE_MASK) | PAGE_INACTIVE | PAGE_WORKINGSET;
        if (cache->spec.advice == PAGES_NORMAL)
            attributes &= ~(uint32_t)YOUNG_MASK;
        pages_requeue(cache, run, most, attributes);
        count -= most;
    }
}

/* shrink_lruvec() at one priority. */
static uint64_t shrink_lists(struct page_cache *cache, unsigned priority, bool deactivate, uint64_t want, bool *skipped)
{
    uint64_t inactive = cache->runs.size[PAGE_INACTIVE] >> priority;
    uint64_t active = cache->runs.size[PAGE_ACTIVE] >> priority, gone = 0;
    if (active > 0 && !deactivate) {
        *skipped = true;
        active = 0;
    }
    while (inactive > 0 || active > 0) {
        uint64_t whole = active == 0 ? inactive_batches(cache, inactive, want - gone, &gone) : 0;
        inactive -= whole;
        if (whole == 0 && inactive > 0) {
            uint32_t batch = inactive < SCAN_BATCH ? (uint32_t)inactive : SCAN_BATCH;
            inactive -= batch;
            gone += inactive_batch(cache, batch);
        }
        if (active > 0) {
            /* All that is left at once where nothing can come between the batches. */
            uint64_t batch = active < SCAN_BATCH || (inactive == 0 && gone < want) ? active : SCAN_BATCH;
            active -= batch;
            active_batch(cache, batch);
        }
        if (gone >= want)
            break;
    }
    return gone;
}

/* do_try_to_free_pages() */
uint64_t shrink(struct page_cache *cache, uint64_t want)
{
    if (cache->spec.lists == LISTS_MGLRU)
        return generations_shrink(cache, want);
    uint64_t gone = 0;
    bool force = false, skipped;
    do {
        skipped = false;
        for (unsigned priority = FIRST_PRIORITY + 1; priority-- > 0 && gone < want;) {
            bool deactivate =
                force || cache->counts.activations != cache->snapshot ||
                inactive_is_low(cache->runs.size[PAGE_INACTIVE], cache->runs.size[PAGE_ACTIVE], cache->spec.page_bytes);
            gone += shrink_lists(cache, priority, deactivate, want, &skipped);
        }
        cache->snapshot = cache->counts.activations;
        if (gone > 0 || force)
            break;
        force = true;
    } while (skipped);
    return gone;
}
