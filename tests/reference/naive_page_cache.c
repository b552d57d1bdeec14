/* The page cache page by page: see naive_page_cache.h. Section 11 of docs/models.md names the kernel source of each
 * rule; the comments here name the rule. */
#include "base/wide.h"
#include "tests/reference/naive_page_state.h"

/* ---- Reading ---- */

static bool relieve(struct naive_page_cache *cache)
{
    if (cache->relief != NULL)
        return cache->relief(cache->host, cache);
    return naive_shrink(cache, cache->spec.batch_pages) > 0;
}

void naive_page_cache_settle(struct naive_page_cache *cache)
{
    for (;;) {
        uint32_t first = cache->command_count;
        for (uint32_t k = 0; k < cache->command_count; k++) {
            const struct command *a = &cache->commands[k], *b = &cache->commands[first];
            if (first == cache->command_count || a->done_ns < b->done_ns ||
                (a->done_ns == b->done_ns && a->number < b->number))
                first = k;
        }
        if (first == cache->command_count || cache->commands[first].done_ns > *cache->now_ns)
            return;
        flash_finish(cache->flash, cache->commands[first].done_ns, cache->commands[first].bytes);
        cache->commands[first] = cache->commands[--cache->command_count];
    }
}

/* Issues the batch, after a wait for a slot where there is none. */
static void issue_batch(struct naive_page_cache *cache)
{
    if (cache->batch_pages == 0)
        return;
    naive_page_cache_settle(cache);
    while (!flash_has_slot(cache->flash)) {
        must(cache->command_count > 0);
        int64_t earliest = INT64_MAX;
        for (uint32_t k = 0; k < cache->command_count; k++)
            if (cache->commands[k].done_ns < earliest)
                earliest = cache->commands[k].done_ns;
        *cache->now_ns = earliest;
        naive_page_cache_settle(cache);
    }
    uint64_t bytes = cache->batch_pages * cache->spec.page_bytes;
    int64_t done_ns = flash_issue(cache->flash, *cache->now_ns, 0, bytes);
    cache->commands[cache->command_count++] = (struct command){done_ns, bytes, cache->commands_issued++};
    for (uint32_t i = cache->batch_first; i < cache->batch_first + cache->batch_pages; i++)
        cache->pages[i].done_ns = done_ns;
    cache->batch_pages = 0;
}

static bool add_page(struct naive_page_cache *cache, uint32_t i, bool marked)
{
    while (naive_usage(cache, 0) + 1 > cache->limit_pages)
        if (!relieve(cache))
            return false;
    if (!cache->nodes[i / NODE_PAGES]) {
        cache->nodes[i / NODE_PAGES] = true;
        cache->kernel_bytes += NODE_BYTES;
    }
    struct page *page = &cache->pages[i];
    enum list list = INACTIVE;
    page->referenced = page->workingset = false;
    page->mapped = page->young = 0;
    page->marked = marked;
    page->done_ns = INT64_MAX; /* until its batch is issued */
    const bool again = page->shadow;
    page->shadow = false;
    cache->counts.refaults += again;
    if (cache->spec.lists == LISTS_MGLRU) {
        list = naive_generation_for(cache, i, again);
    } else if (again) {
        if (cache->age - page->age <= cache->size[ACTIVE]) {
            list = ACTIVE;
            cache->age++;
            cache->counts.activations++;
            page->workingset = page->shadow_workingset;
        }
    }
    naive_push_head(cache, i, list);
    cache->counts.pages_read++;
    if (naive_page_cache_resident(cache) > cache->peak_resident)
        cache->peak_resident = naive_page_cache_resident(cache);
    return true;
}

/* Reads what is absent of n pages; the one with `lookahead` pages from it to the end is marked. */
static bool read_window(struct naive_page_cache *cache, int64_t start, int64_t n, int64_t lookahead)
{
    const int64_t pages = cache->spec.pages;
    if (start >= pages)
        return true;
    if (n > pages - start)
        n = pages - start;
    int64_t mark = lookahead > 0 && lookahead <= n ? start + n - lookahead : -1;
    bool ok = true;
    for (int64_t at = start; ok && at < start + n; at++) {
        uint32_t i = (uint32_t)at;
        if (cache->pages[i].list != NONE) {
            issue_batch(cache);
            continue;
        }
        ok = add_page(cache, i, at == mark);
        if (ok && cache->batch_pages++ == 0)
            cache->batch_first = i;
        if (cache->batch_pages * cache->spec.page_bytes >= BATCH_BYTES)
            issue_batch(cache);
    }
    issue_batch(cache);
    return ok;
}

/* ---- Faults ---- */

static void wait_for(struct naive_page_cache *cache, uint32_t i)
{
    if (cache->pages[i].done_ns > *cache->now_ns) {
        *cache->now_ns = cache->pages[i].done_ns;
        cache->counts.waits++;
    }
}

static void map_around(struct naive_page_cache *cache, uint32_t q, uint32_t i)
{
    uint32_t first = i - i % cache->spec.around_pages, hits = 0;
    for (uint32_t k = first; k < first + cache->spec.around_pages && k < cache->spec.pages; k++) {
        struct page *page = &cache->pages[k];
        if (page->list == NONE || page->marked || page->done_ns > *cache->now_ns || (page->mapped >> q & 1) != 0)
            continue;
        page->mapped |= (uint8_t)(1U << q);
        if (cache->spec.prefault_young || k == i)
            page->young |= (uint8_t)(1U << q);
        hits += !page->workingset;
    }
    struct process *process = &cache->processes[q];
    process->misses = hits < process->misses ? process->misses - hits : 0;
}

static bool ensure_table(struct naive_page_cache *cache, uint32_t q, uint32_t i)
{
    bool *table = &cache->processes[q].tables[i / cache->table_pages];
    if (*table)
        return true;
    while (naive_usage(cache, cache->table_bytes) > cache->limit_pages)
        if (!relieve(cache))
            return false;
    *table = true;
    cache->kernel_bytes += cache->table_bytes;
    return true;
}

static bool fault_absent(struct naive_page_cache *cache, uint32_t q, uint32_t i)
{
    struct process *process = &cache->processes[q];
    const int64_t w = cache->spec.window_pages;
    bool ok = true;
    *cache->now_ns += cache->spec.major_ns;
    cache->counts.major_faults++;
    process->major++;
    if (cache->folios && cache->spec.advice != PAGES_RANDOM) {
        process->start = i;
        process->size = w;
        process->async = w / 2;
        ok = read_window(cache, i, w, w / 2) || cache->relief == NULL;
    } else if (cache->spec.advice == PAGES_NORMAL) {
        if (process->misses < MISSES_MAX)
            process->misses++;
        if (process->misses <= MISSES_NO_WINDOW) {
            process->start = i > w / 2 ? i - w / 2 : 0;
            process->size = w;
            process->async = w / 4;
            ok = read_window(cache, process->start, w, w / 4) || cache->relief == NULL;
        }
    } else if (cache->spec.advice == PAGES_SEQUENTIAL && i == 0) {
        process->start = 0;
        process->size = w;
        process->async = w / 2;
        ok = read_window(cache, 0, w, w / 2) || cache->relief == NULL;
    } else if (cache->spec.advice == PAGES_SEQUENTIAL) {
        ok = read_window(cache, i, w, 0) || cache->relief == NULL;
    }
    if (ok && cache->pages[i].list == NONE)
        ok = read_window(cache, i, 1, 0);
    return ok;
}

static int64_t next_size(int64_t size, int64_t w)
{
    if (size < w / 16)
        return 4 * size;
    return size <= w / 2 ? 2 * size : w;
}

/* The window after a marked page. */
static bool read_ahead(struct naive_page_cache *cache, uint32_t q, uint32_t i)
{
    struct process *process = &cache->processes[q];
    const int64_t w = cache->spec.window_pages;
    if (i == process->start + process->size - process->async) {
        process->start += process->size;
        process->size = next_size(process->size, w);
    } else {
        int64_t s = (int64_t)i + 1;
        while (s < (int64_t)i + 1 + w && s < cache->spec.pages && cache->pages[s].list != NONE)
            s++;
        if (s - i > w)
            return true;
        process->start = s;
        process->size = next_size(s - i + w, w);
    }
    int64_t align = w & -w;
    if (align > 4)
        align = 4;
    int64_t end = process->start + process->size;
    end -= end % align;
    if (end > process->start)
        process->size = end - process->start;
    process->async = process->size;
    return read_window(cache, process->start, process->size, process->async) || cache->relief == NULL;
}

static bool fault_marked(struct naive_page_cache *cache, uint32_t q, uint32_t i)
{
    struct page *page = &cache->pages[i];
    struct process *process = &cache->processes[q];
    map_around(cache, q, i);
    if (page->done_ns <= *cache->now_ns && process->misses > 0)
        process->misses--;
    page->marked = false;
    if (cache->spec.advice == PAGES_RANDOM)
        return true;
    cache->held = i;
    bool ok = read_ahead(cache, q, i);
    cache->held = PAGE_NONE;
    return ok;
}

static bool touch_page(struct naive_page_cache *cache, uint32_t q, uint32_t i)
{
    struct page *page = &cache->pages[i];
    const uint8_t bit = (uint8_t)(1U << q);
    if ((page->mapped & bit) != 0) {
        page->young |= bit;
        return true;
    }
    if (!ensure_table(cache, q, i))
        return false;
    if (page->list == NONE) {
        if (!fault_absent(cache, q, i))
            return false;
    } else {
        *cache->now_ns += cache->spec.minor_ns;
        cache->counts.minor_faults++;
        cache->processes[q].minor++;
        if (page->marked && !fault_marked(cache, q, i))
            return false;
    }
    wait_for(cache, i);
    map_around(cache, q, i);
    /* Fault-around leaves out a marked page, the fault itself does not. */
    page->mapped |= bit;
    page->young |= bit;
    return true;
}

/* ---- What sim/page_cache.h says ---- */

bool naive_page_cache_init(struct naive_page_cache **made, const struct page_cache_spec *spec, naive_relief *relief,
                           void *host, struct flash *flash, int64_t *now_ns, struct arena *arena, struct error *err)
{
    struct naive_page_cache *cache = arena_alloc(arena, 1, sizeof *cache);
    if (cache == NULL)
        return fail(err, STATUS_IO, "no memory for a page cache");
    *cache = (struct naive_page_cache){.spec = *spec,
                                       .relief = relief,
                                       .host = host,
                                       .flash = flash,
                                       .now_ns = now_ns,
                                       .limit_pages = UINT64_MAX,
                                       .max_seq = 3,
                                       .held = PAGE_NONE};
    cache->folios = spec->page_bytes > spec->base_bytes;
    if (cache->folios && spec->window_pages < 2)
        cache->spec.window_pages = 2;
    cache->table_bytes = spec->base_bytes;
    cache->table_pages = (uint32_t)(spec->base_bytes / 8 / (spec->page_bytes / spec->base_bytes));
    if (spec->page_bytes == 2 * 1024 * 1024 && spec->base_bytes == 4096)
        cache->table_pages = 512;
    cache->pages = arena_alloc(arena, spec->pages + LISTS, sizeof *cache->pages);
    cache->nodes = arena_alloc(arena, spec->pages / NODE_PAGES + 1, sizeof *cache->nodes);
    bool ok = cache->pages != NULL && cache->nodes != NULL;
    for (uint32_t q = 0; q < spec->processes; q++) {
        cache->processes[q].tables = arena_alloc(arena, spec->pages / cache->table_pages + 1, sizeof(bool));
        ok = ok && cache->processes[q].tables != NULL;
    }
    if (!ok)
        return fail(err, STATUS_IO, "no memory for a page cache of %u pages", spec->pages);
    for (enum list list = INACTIVE; list < LISTS; list++) {
        uint32_t head = naive_head_of(cache, list);
        cache->pages[head].newer = cache->pages[head].older = head;
    }
    *made = cache;
    return true;
}

void naive_page_cache_set_limit(struct naive_page_cache *cache, uint64_t limit_pages)
{
    cache->limit_pages = limit_pages;
}

uint64_t naive_page_cache_charged(const struct naive_page_cache *cache)
{
    return naive_usage(cache, 0);
}

struct page_process_counts naive_page_cache_process_counts(const struct naive_page_cache *cache, uint32_t process)
{
    struct page_process_counts counts = {cache->processes[process].major, cache->processes[process].minor, 0};
    for (uint64_t table = 0; table <= cache->spec.pages / cache->table_pages; table++)
        counts.table_bytes += cache->processes[process].tables[table] ? cache->table_bytes : 0;
    return counts;
}

uint64_t naive_page_cache_resident(const struct naive_page_cache *cache)
{
    uint64_t pages = 0;
    for (enum list list = INACTIVE; list < LISTS; list++)
        pages += cache->size[list];
    return pages;
}

uint64_t naive_page_cache_locked(const struct naive_page_cache *cache)
{
    return cache->size[LOCKED];
}

uint64_t naive_page_cache_peak_resident(const struct naive_page_cache *cache)
{
    return cache->peak_resident;
}

uint64_t naive_page_cache_table_bytes(const struct naive_page_cache *cache)
{
    return cache->kernel_bytes;
}

struct page_counts naive_page_cache_counts(const struct naive_page_cache *cache)
{
    return cache->counts;
}

void naive_page_cache_sizes(const struct naive_page_cache *cache, uint64_t *inactive, uint64_t *active,
                            uint64_t *locked)
{
    *inactive = cache->size[INACTIVE];
    *active = cache->size[ACTIVE];
    *locked = cache->size[LOCKED];
    if (cache->spec.lists != LISTS_MGLRU)
        return;
    for (uint64_t seq = cache->min_seq; seq <= cache->max_seq; seq++)
        *(seq == cache->min_seq ? inactive : active) += cache->size[naive_generation(seq)];
}

bool naive_page_cache_touch(struct naive_page_cache *cache, uint32_t process, struct page_walk *walk, int64_t until_ns)
{
    while (walk->next < walk->end && *cache->now_ns < until_ns) {
        if (!touch_page(cache, process, walk->next))
            return false;
        wide compute_ns = (wide)walk->compute_ns;
        *cache->now_ns +=
            (int64_t)(compute_ns * (walk->done + 1) / walk->total) - (int64_t)(compute_ns * walk->done / walk->total);
        walk->done++;
        walk->next = (uint32_t)least((uint64_t)walk->next + walk->stride, walk->end);
    }
    return true;
}

bool naive_page_cache_willneed(struct naive_page_cache *cache, uint32_t process, uint32_t first, uint32_t end)
{
    must(process < cache->spec.processes);
    uint64_t left = least(end > first ? end - first : 0, cache->spec.willneed_pages);
    const uint64_t chunk = BATCH_BYTES / cache->spec.page_bytes;
    bool ok = true;
    cache->willneed = true;
    while (left > 0 && ok) {
        uint64_t n = least(left, chunk);
        ok = read_window(cache, first, (int64_t)n, 0);
        first += (uint32_t)n;
        left -= n;
    }
    cache->willneed = false;
    return ok || cache->relief == NULL;
}

bool naive_page_cache_lock(struct naive_page_cache *cache, uint32_t process, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        if (!touch_page(cache, process, i))
            return false;
        if (cache->pages[i].list != LOCKED) {
            naive_take_off(cache, i);
            naive_push_head(cache, i, LOCKED);
        }
    }
    return true;
}

/* One page loses the process. */
static void leave_page(struct naive_page_cache *cache, uint32_t process, uint32_t i)
{
    struct page *page = &cache->pages[i];
    const bool classic = cache->spec.lists == LISTS_CLASSIC;
    const bool accessed = page->young >> process & 1 && cache->spec.advice == PAGES_NORMAL && classic;
    enum list to = page->list;
    page->mapped &= (uint8_t) ~(1u << process);
    page->young &= (uint8_t) ~(1u << process);
    if (accessed && page->referenced && page->list == INACTIVE) {
        page->referenced = false;
        to = ACTIVE;
        cache->age++;
    } else if (accessed) {
        page->referenced = true;
    }
    if (page->list == LOCKED && page->mapped == 0)
        to = classic ? INACTIVE : naive_generation(cache->min_seq);
    if (to == page->list)
        return;
    naive_take_off(cache, i);
    naive_push_head(cache, i, to);
}

void naive_page_cache_exit(struct naive_page_cache *cache, uint32_t process)
{
    struct process *state = &cache->processes[process];
    for (uint32_t i = 0; i < cache->spec.pages; i++)
        if (cache->pages[i].list != NONE && cache->pages[i].mapped >> process & 1)
            leave_page(cache, process, i);
    for (uint64_t t = 0; t * cache->table_pages < cache->spec.pages; t++) {
        cache->kernel_bytes -= state->tables[t] ? cache->table_bytes : 0;
        state->tables[t] = false;
    }
    state->start = state->size = state->async = 0;
    state->misses = 0;
}

/* Whether so many pages from the file's end, and the nodes that they need, fit into the limit. */
static bool fits_warm(const struct naive_page_cache *cache, uint32_t count)
{
    uint64_t nodes = 0;
    for (uint32_t i = cache->spec.pages - count; i < cache->spec.pages; i++)
        nodes += i == cache->spec.pages - count || i % NODE_PAGES == 0;
    return count + nodes * NODE_BYTES / cache->spec.page_bytes <= cache->limit_pages;
}

uint32_t naive_page_cache_warm(struct naive_page_cache *cache, uint32_t pages)
{
    uint32_t count = 0;
    while (count < pages && fits_warm(cache, count + 1))
        count++;
    for (uint32_t i = cache->spec.pages - count; i < cache->spec.pages; i++) {
        if (!cache->nodes[i / NODE_PAGES])
            cache->kernel_bytes += NODE_BYTES;
        cache->nodes[i / NODE_PAGES] = true;
        naive_push_head(cache, i, cache->spec.lists == LISTS_MGLRU ? naive_generation(cache->min_seq) : INACTIVE);
    }
    if (naive_page_cache_resident(cache) > cache->peak_resident)
        cache->peak_resident = naive_page_cache_resident(cache);
    return count;
}

uint64_t naive_page_cache_seen(const struct naive_page_cache *cache, uint32_t first)
{
    uint64_t seen = 0;
    for (uint32_t i = first; i < cache->spec.pages; i++)
        seen += cache->pages[i].list != NONE || cache->pages[i].shadow;
    return seen;
}

uint64_t naive_page_cache_reclaim(struct naive_page_cache *cache, uint64_t pages)
{
    return naive_shrink(cache, pages < SCAN_PAGES ? SCAN_PAGES : pages);
}

bool naive_page_cache_has(const struct naive_page_cache *cache, uint32_t page)
{
    return cache->pages[page].list != NONE;
}

int64_t naive_page_cache_reads_done_ns(const struct naive_page_cache *cache)
{
    int64_t last = 0;
    for (uint32_t k = 0; k < cache->command_count; k++)
        if (cache->commands[k].done_ns > last)
            last = cache->commands[k].done_ns;
    return last;
}
