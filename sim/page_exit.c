/* The end of a process that maps the file: what it leaves of its pages. Linux 6.18, mm/memory.c
 * (zap_present_folio_ptes), mm/swap.c (folio_mark_accessed), mm/mlock.c (munlock_folio); docs/models.md section 11. */
#include <string.h>

#include "sim/page_state.h"

/* What a run of pages becomes that the process had mapped. */
static uint32_t left_behind(const struct page_cache *cache, uint32_t process, uint32_t attributes)
{
    const uint32_t own = 1u << (MAPPED_SHIFT + process) | 1u << (YOUNG_SHIFT + process);
    const bool accessed = attributes >> (YOUNG_SHIFT + process) & 1 && cache->spec.advice == PAGES_NORMAL &&
                          cache->spec.lists == LISTS_CLASSIC; /* with generations it is a matter of tiers */
    uint32_t place = attributes & PLACE_MASK, left = attributes & ~own & ~(uint32_t)PLACE_MASK;
    if (accessed && place == PAGE_INACTIVE && left & PAGE_REFERENCED) {
        place = PAGE_ACTIVE;
        left &= ~(uint32_t)PAGE_REFERENCED;
    } else if (accessed) {
        left |= PAGE_REFERENCED;
    }
    /* Locked by the last who had it mapped. A lock has taken it off the active list. */
    if (place == PAGE_LOCKED && (left & MAPPED_MASK) == 0)
        place = cache->spec.lists == LISTS_MGLRU ? generation_place(cache->generations.min_seq) : PAGE_INACTIVE;
    return left | place;
}

static void drop_mappings(struct page_cache *cache, uint32_t process)
{
    struct page_runs *all = &cache->runs;
    uint32_t end;
    for (uint32_t page = 0; page < all->pages; page = end) {
        const uint32_t run = page_runs_find(all, page), attributes = all->runs[run].attributes;
        end = run_end(all, run);
        if (!(attributes >> (MAPPED_SHIFT + process) & 1))
            continue;
        const uint32_t left = left_behind(cache, process, attributes);
        if ((left & PLACE_MASK) == (attributes & PLACE_MASK)) {
            page_runs_change(all, run, left);
            continue;
        }
        if ((left & PLACE_MASK) == PAGE_ACTIVE)
            cache->age += run_pages(all, run);
        page_runs_take(all, run);
        page_runs_put(all, run, left, 0);
    }
}

void page_cache_exit(struct page_cache *cache, uint32_t process)
{
    struct page_process *state = &cache->processes[process];
    must(process < cache->spec.processes);
    reads_update(cache);
    drop_mappings(cache, process);
    cache->kernel_bytes -= state->counts.table_bytes;
    state->counts.table_bytes = 0;
    memset(state->tables, 0, (cache->spec.pages / cache->table_pages / 64 + (size_t)1) * sizeof *state->tables);
    state->start = state->size = state->async = 0;
    state->misses = 0;
}
