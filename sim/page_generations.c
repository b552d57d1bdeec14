/* Reclaim with generations: aging, promotion and eviction after the multi-gen LRU of Linux 6.18 (mm/vmscan.c,
 * mm/workingset.c, include/linux/mm_inline.h), simplified and not validated; docs/models.md section 11.
 *
 * Whole runs are moved where that is the same as moving them batch by batch; aging looks at each run once. */
#include "sim/page_state.h"

enum { AGINGS_IN_VAIN = 2 }; /* after as many with nothing to evict, all pages have been looked at: young ones twice */

void generations_init(struct page_generations *generations)
{
    /* lru_gen_init_lruvec() */
    *generations = (struct page_generations){.max_seq = GENERATIONS_MIN + 1};
}

/* lru_gen_folio_seq(), lru_gen_refault() */
uint32_t generations_refault(const struct page_cache *cache, uint32_t run, uint32_t count, uint32_t *attributes)
{
    const struct page_generations *g = &cache->generations;
    const struct page_run *r = &cache->runs.runs[run];
    /* lru_gen_enter_fault(), vma_has_recency() */
    if (g->willneed || cache->spec.advice != PAGES_NORMAL) {
        *attributes = generation_place(g->min_seq);
        return count;
    }
    *attributes = generation_place(g->max_seq - 1);
    if ((r->attributes & PLACE_MASK) == PAGE_ABSENT)
        return count;
    /* lru_gen_test_recent(): the oldest generation at its eviction is among the last four. As ages rise from eviction
     * to eviction, that is an age from when the first of these became the oldest. */
    const uint64_t began = g->began[(g->max_seq + 1 - GENERATIONS_MAX) % GENERATIONS_MAX];
    if (r->age >= began) {
        *attributes = generation_place(g->max_seq) | (r->attributes & PAGE_WORKINGSET);
        return count;
    }
    return began - r->age < count ? (uint32_t)(began - r->age) : count;
}

/* What pages become that were accessed: folio_update_gen() */
static uint32_t promoted(const struct page_cache *cache, uint32_t attributes)
{
    return (attributes & ~(uint32_t)(PLACE_MASK | YOUNG_MASK)) | generation_place(cache->generations.max_seq) |
           PAGE_WORKINGSET;
}

/* All accessed pages to the newest generation, in the file's order: walk_mm(). */
static void promote_young(struct page_cache *cache)
{
    struct page_runs *all = &cache->runs;
    uint64_t young = 0;
    for (uint32_t run = all->runs[FILE_ENDS].next; run != FILE_ENDS; run = all->runs[run].next) {
        const uint32_t attributes = all->runs[run].attributes;
        if ((attributes & YOUNG_MASK) == 0 || run_place(all, run) == PAGE_LOCKED)
            continue;
        young += run_pages(all, run);
        page_runs_take(all, run);
        run = page_runs_put(all, run, promoted(cache, attributes), 0);
    }
    pages_scanned(cache, young);
}

/* Aging: try_to_inc_max_seq() */
static void begin_generation(struct page_cache *cache)
{
    if (cache->spec.advice == PAGES_NORMAL)
        promote_young(cache);
    cache->generations.max_seq++;
}

/* The next generation becomes the oldest; what this one has joins it as its newest: try_to_inc_min_seq(),
 * inc_min_seq().
 */
static void end_generation(struct page_cache *cache)
{
    struct page_generations *g = &cache->generations;
    struct page_runs *all = &cache->runs;
    const uint32_t list = list_of(generation_place(g->min_seq));
    g->min_seq++;
    g->began[g->min_seq % GENERATIONS_MAX] = cache->age;
    while (all->runs[list].newer != list) {
        const uint32_t run = all->runs[list].newer, attributes = all->runs[run].attributes;
        page_runs_take(all, run);
        page_runs_put(all, run, (attributes & ~(uint32_t)PLACE_MASK) | generation_place(g->min_seq), 0);
    }
}

/* What evict_folios() has done with pages of the oldest generation. */
struct outcome {
    uint64_t evicted, promoted, kept;
};

static bool is_young(const struct page_cache *cache, uint32_t run)
{
    return cache->spec.advice == PAGES_NORMAL && (cache->runs.runs[run].attributes & YOUNG_MASK) != 0;
}

/* The first pages of a run, which may leave it. */
static void remove_pages(struct page_cache *cache, uint32_t run, uint32_t count, struct outcome *outcome)
{
    if (is_young(cache, run)) {
        pages_requeue(cache, run, count, promoted(cache, cache->runs.runs[run].attributes));
        outcome->promoted += count;
    } else {
        pages_evict(cache, run, count);
        outcome->evicted += count;
    }
}

/* A batch of pages of the oldest generation, oldest first: evict_folios(). What stays goes back when all of them have
 * been looked at. */
static struct outcome batch(struct page_cache *cache)
{
    struct page_runs *all = &cache->runs;
    const uint32_t place = generation_place(cache->generations.min_seq);
    struct {
        uint32_t run, attributes;
    } stay[GENERATION_BATCH];
    uint32_t stays = 0, left = all->size[place] < GENERATION_BATCH ? (uint32_t)all->size[place] : GENERATION_BATCH;
    struct outcome outcome = {0};
    pages_scanned(cache, left);
    while (left > 0) {
        const uint32_t run = all->runs[list_of(place)].newer, first = all->runs[run].start;
        uint32_t pages = run_pages(all, run), until;
        pages = pages < left ? pages : left;
        const uint32_t kept = kept_first(cache, first, first + pages, &until);
        if (kept > first) {
            left -= kept - first;
            remove_pages(cache, run, kept - first, &outcome);
            continue;
        }
        left -= until - first;
        outcome.kept += until - first;
        page_runs_cut(all, run, until);
        stay[stays].run = run;
        stay[stays++].attributes = all->runs[run].attributes;
        page_runs_take(all, run);
    }
    for (uint32_t i = 0; i < stays; i++)
        page_runs_put(all, stay[i].run, stay[i].attributes, 0);
    return outcome;
}

/* As many whole batches of the oldest run at once as evict or promote all of their pages, and evict no more than
 * batches are needed for `want`; nothing where the next batch is not of that kind. */
static struct outcome batches(struct page_cache *cache, uint64_t want)
{
    struct page_runs *all = &cache->runs;
    const uint32_t run = all->runs[list_of(generation_place(cache->generations.min_seq))].newer;
    const uint32_t first = all->runs[run].start;
    uint32_t until, pages = run_pages(all, run);
    struct outcome outcome = {0};
    if (pages >= GENERATION_BATCH)
        pages = kept_first(cache, first, first + pages, &until) - first;
    if (!is_young(cache, run) && pages > want + GENERATION_BATCH - 1)
        pages = (uint32_t)(want + GENERATION_BATCH - 1);
    pages -= pages % GENERATION_BATCH;
    if (pages > 0) {
        pages_scanned(cache, pages);
        remove_pages(cache, run, pages, &outcome);
    }
    return outcome;
}

/* try_to_shrink_lruvec(), get_nr_to_scan() */
uint64_t generations_shrink(struct page_cache *cache, uint64_t want)
{
    const struct page_generations *g = &cache->generations;
    uint64_t gone = 0, kept = 0; /* kept: in a row */
    uint32_t agings = 0;
    while (gone < want) {
        if (g->min_seq + GENERATIONS_MIN > g->max_seq) {
            if (agings == AGINGS_IN_VAIN)
                break;
            begin_generation(cache);
            agings++;
        }
        const uint64_t *size = &cache->runs.size[generation_place(g->min_seq)];
        if (*size > kept) {
            struct outcome outcome = batches(cache, want - gone);
            if (outcome.evicted + outcome.promoted == 0)
                outcome = batch(cache);
            gone += outcome.evicted;
            agings = outcome.evicted > 0 ? 0 : agings;
            kept = outcome.evicted + outcome.promoted > 0 ? 0 : kept + outcome.kept;
        } else {
            /* It is empty, or nothing of it can go. */
            end_generation(cache);
            kept = 0;
        }
    }
    return gone;
}
