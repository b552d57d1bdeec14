/* The page cache: touches, faults and what they map. Linux 6.18, mm/memory.c and mm/filemap.c; docs/models.md section
 * 11. */
#include "sim/page_cache.h"

#include "base/wide.h"
#include "sim/page_state.h"
#include "sim/page_stream.h"

static bool check_spec(const struct page_cache_spec *spec, struct error *err)
{
    const uint64_t page = spec->page_bytes;
    if (spec->pages < 1 || spec->pages > PAGES_MAX)
        return fail(err, STATUS_USAGE, "a mapped file of %u pages; expected 1 to %d", spec->pages, PAGES_MAX);
    if (spec->processes < 1 || spec->processes > PAGE_PROCESSES_MAX)
        return fail(err, STATUS_USAGE, "%u processes map the file; expected 1 to %d", spec->processes,
                    PAGE_PROCESSES_MAX);
    if (page < 4096 || page > READ_BYTES_MAX || (page & (page - 1)) != 0)
        return fail(err, STATUS_USAGE, "pages of %llu bytes; expected 4KiB to 2MiB", (unsigned long long)page);
    if ((spec->base_bytes != 4096 && spec->base_bytes != 16384) || spec->base_bytes > page)
        return fail(err, STATUS_USAGE,
                    "the processor's pages have %llu bytes; expected 4KiB or 16KiB, and no more than %llu",
                    (unsigned long long)spec->base_bytes, (unsigned long long)page);
    if (spec->window_pages < 1 || spec->window_pages > 1u << 15)
        return fail(err, STATUS_USAGE, "a readahead window of %u pages; expected 1 to 32768", spec->window_pages);
    if (spec->around_pages < 1 || spec->around_pages > 1u << 15 || (spec->around_pages & (spec->around_pages - 1)) != 0)
        return fail(err, STATUS_USAGE, "fault-around of %u pages; expected a power of two up to 32768",
                    spec->around_pages);
    return true;
}

/* A page of a page table, and what it maps. An entry of 8 bytes maps a page of the processor; with 4 KiB pages, 2 MiB
 * are one entry of the table above (x86, arm64). */
static void size_tables(struct page_cache *cache)
{
    const uint64_t page = cache->spec.page_bytes, base = cache->spec.base_bytes;
    const uint64_t entry = base == 4096 && page == HUGE_BYTES ? page : base;
    cache->table_bytes = base;
    cache->table_pages = (uint32_t)(base / 8 * entry / page);
}

static uint64_t *bits_for(struct arena *arena, uint64_t count)
{
    return arena_alloc(arena, count / 64 + 1, sizeof(uint64_t));
}

bool page_cache_init(struct page_cache **out, const struct page_cache_spec *spec, struct flash *flash, int64_t *now_ns,
                     struct arena *arena, struct error *err)
{
    if (!check_spec(spec, err))
        return false;
    struct page_cache *cache = arena_alloc(arena, 1, sizeof *cache);
    if (!cache)
        return fail(err, STATUS_IO, "out of memory");
    cache->spec = *spec;
    cache->flash = flash;
    cache->now_ns = now_ns;
    cache->limit_pages = UINT64_MAX >> 1;
    cache->held = PAGE_NONE;
    generations_init(&cache->generations);
    if (is_folio(cache) && cache->spec.window_pages < 2)
        cache->spec.window_pages = 2;
    size_tables(cache);
    cache->nodes = bits_for(arena, spec->pages / NODE_PAGES);
    cache->marks = bits_for(arena, spec->pages);
    cache->reads = arena_alloc(arena, flash->spec.queue_depth, sizeof *cache->reads);
    bool good = cache->nodes && cache->marks && cache->reads && page_runs_init(&cache->runs, spec->pages, arena);
    for (uint32_t q = 0; q < spec->processes && good; q++) {
        cache->processes[q].tables = bits_for(arena, spec->pages / cache->table_pages);
        good = cache->processes[q].tables != NULL;
    }
    if (!good)
        return fail(err, STATUS_IO, "out of memory");
    *out = cache;
    return true;
}

/* ---- Mapping ---- */

/* Maps pages [first, end) of a run that is there for a process; returns how many of them do not carry the workingset
 * flag. */
static uint32_t map_pages(struct page_cache *cache, uint32_t process, uint32_t run, uint32_t first, uint32_t end)
{
    struct page_runs *all = &cache->runs;
    uint32_t attributes = all->runs[run].attributes, mapped = attributes | 1u << (MAPPED_SHIFT + process);
    if (cache->spec.prefault_young)
        mapped |= 1u << (YOUNG_SHIFT + process);
    uint32_t previous = all->runs[run].previous;
    if (first == all->runs[run].start && end < run_end(all, run) && all->runs[previous].attributes == mapped &&
        (run_place(all, run) == PAGE_LOCKED || all->runs[previous].newer == run)) {
        page_runs_pass(all, run, end - first);
    } else {
        run = page_runs_cut(all, run, first);
        page_runs_cut(all, run, end);
        page_runs_change(all, run, mapped);
    }
    return attributes & PAGE_WORKINGSET ? 0 : end - first;
}

static bool is_mapped(const struct page_cache *cache, uint32_t run, uint32_t process)
{
    return cache->runs.runs[run].attributes >> (MAPPED_SHIFT + process) & 1;
}

/* Pages [page, stop) of one run that is there: maps those that may be, counts those that do not carry the workingset
 * flag. */
static uint32_t map_in_run(struct page_cache *cache, uint32_t process, uint32_t page, uint32_t stop)
{
    uint32_t fresh = 0;
    while (page < stop) {
        uint32_t until, locked = reads_first(cache, page, stop, &until), mark = mark_next(cache, page, stop);
        uint32_t end = locked < mark ? locked : mark;
        if (end > page)
            fresh += map_pages(cache, process, page_runs_find(&cache->runs, page), page, end);
        page = end == stop ? stop : end == locked ? until : end + 1;
    }
    return fresh;
}

/* do_fault_around() and filemap_map_pages(): what is there of the aligned group around a page. */
static void map_around(struct page_cache *cache, uint32_t process, uint32_t page)
{
    struct page_runs *all = &cache->runs;
    uint32_t around = cache->spec.around_pages, first = page & ~(around - 1), fresh = 0;
    uint32_t end = around < all->pages - first ? first + around : all->pages;
    reads_update(cache);
    for (uint32_t at = first; at < end;) {
        uint32_t run = page_runs_find(all, at), stop = run_end(all, run);
        stop = stop < end ? stop : end;
        if (place_is_there(run_place(all, run)) && !is_mapped(cache, run, process))
            fresh += map_in_run(cache, process, at, stop);
        at = stop;
    }
    struct page_process *state = &cache->processes[process];
    state->misses = fresh < state->misses ? state->misses - fresh : 0;
}

/* The processor sets the accessed bit of pages [first, end) of a mapped run. */
static void make_young(struct page_cache *cache, uint32_t process, uint32_t run, uint32_t first, uint32_t end)
{
    struct page_runs *all = &cache->runs;
    uint32_t attributes = all->runs[run].attributes | 1u << (YOUNG_SHIFT + process);
    if (attributes == all->runs[run].attributes)
        return;
    run = page_runs_cut(all, run, first);
    page_runs_cut(all, run, end);
    page_runs_change(all, run, attributes);
}

/* ---- Faults ---- */

static bool table_for(struct page_cache *cache, uint32_t process, uint32_t page)
{
    uint64_t table = page / cache->table_pages;
    uint64_t *word = &cache->processes[process].tables[table >> 6], bit = UINT64_C(1) << (table & 63);
    if (*word & bit)
        return true;
    if (!room_for_kernel(cache, cache->table_bytes))
        return false;
    *word |= bit;
    cache->processes[process].counts.table_bytes += cache->table_bytes;
    cache->kernel_bytes += cache->table_bytes;
    return true;
}

static void wait_for(struct page_cache *cache, uint32_t page)
{
    reads_update(cache);
    int64_t done_ns = read_done_ns(cache, page);
    if (done_ns > *cache->now_ns) {
        *cache->now_ns = done_ns;
        cache->counts.waits++;
    }
    reads_update(cache);
}

static bool fault_on_absent(struct page_cache *cache, uint32_t process, uint32_t page)
{
    *cache->now_ns += cache->spec.major_ns;
    cache->counts.major_faults++;
    cache->processes[process].counts.major_faults++;
    if (!readahead_sync(cache, &cache->processes[process], page))
        return false;
    if (!page_cache_has(cache, page) && !read_window(cache, page, 1, 0))
        return false;
    wait_for(cache, page);
    return true;
}

static bool fault_on_marked(struct page_cache *cache, uint32_t process, uint32_t page)
{
    struct page_process *state = &cache->processes[process];
    map_around(cache, process, page);
    uint32_t until;
    if (state->misses > 0 && reads_first(cache, page, page + 1, &until) != page)
        state->misses--;
    marks_clear(cache, page, page + 1);
    cache->held = page;
    bool good = cache->spec.advice == PAGES_RANDOM || readahead_async(cache, state, page);
    cache->held = PAGE_NONE;
    if (good)
        wait_for(cache, page);
    return good;
}

/* A page that the process has not mapped. */
static bool fault(struct page_cache *cache, uint32_t process, uint32_t page)
{
    if (!table_for(cache, process, page))
        return false;
    if (!page_cache_has(cache, page)) {
        if (!fault_on_absent(cache, process, page))
            return false;
    } else {
        *cache->now_ns += cache->spec.minor_ns;
        cache->counts.minor_faults++;
        cache->processes[process].counts.minor_faults++;
        reads_update(cache);
        if (!mark_is_set(cache, page))
            wait_for(cache, page);
        else if (!fault_on_marked(cache, process, page))
            return false;
    }
    map_around(cache, process, page);
    uint32_t run = page_runs_find(&cache->runs, page);
    /* One that its own read has marked is passed over there, and mapped alone (finish_fault). */
    if (!is_mapped(cache, run, process))
        map_pages(cache, process, run, page, page + 1);
    make_young(cache, process, page_runs_find(&cache->runs, page), page, page + 1);
    return true;
}

/* ---- Walks ---- */

/* floor(compute * touches / total) */
static int64_t computed_ns(const struct page_walk *walk, uint64_t touches)
{
    return (int64_t)((wide)walk->compute_ns * touches / walk->total);
}

/* How many of the next `count` touches begin before until_ns when nothing but computing takes time; at least 1. */
static uint64_t touches_before(const struct page_cache *cache, const struct page_walk *walk, uint64_t count,
                               int64_t until_ns)
{
    int64_t left = until_ns - *cache->now_ns, begun = computed_ns(walk, walk->done);
    if (computed_ns(walk, walk->done + count - 1) - begun < left)
        return count;
    /* The first k with floor(compute * (done + k) / total) >= begun + left: the touch that is too late. */
    wide target = (wide)(begun + left) * walk->total, compute = (wide)walk->compute_ns;
    uint64_t late = (uint64_t)((target + compute - 1) / compute) - walk->done;
    return late > 1 ? late : 1;
}

static void go_on(struct page_cache *cache, struct page_walk *walk, uint64_t touches)
{
    *cache->now_ns += computed_ns(walk, walk->done + touches) - computed_ns(walk, walk->done);
    walk->done += touches;
    walk->next += (uint32_t)touches * walk->stride;
}

/* Touches that need no fault, from walk->next on, inside one run. */
static void touch_mapped(struct page_cache *cache, uint32_t process, uint32_t run, struct page_walk *walk,
                         int64_t until_ns)
{
    uint32_t end = run_end(&cache->runs, run), first = walk->next;
    end = end < walk->end ? end : walk->end;
    uint64_t count = (end - first + walk->stride - 1) / walk->stride;
    bool young = cache->runs.runs[run].attributes >> (YOUNG_SHIFT + process) & 1;
    if (!young && walk->stride > 1)
        count = 1;
    count = touches_before(cache, walk, count, until_ns);
    if (!young)
        make_young(cache, process, run, first, first + (uint32_t)(count - 1) * walk->stride + 1);
    go_on(cache, walk, count);
}

bool page_cache_touch(struct page_cache *cache, uint32_t process, struct page_walk *walk, int64_t until_ns)
{
    must(process < cache->spec.processes && walk->end <= cache->runs.pages && walk->stride > 0);
    while (walk->next < walk->end && *cache->now_ns < until_ns) {
        uint32_t run = page_runs_find(&cache->runs, walk->next);
        if (is_mapped(cache, run, process)) {
            touch_mapped(cache, process, run, walk, until_ns);
            continue;
        }
        if (page_stream(cache, process, walk, until_ns) || page_stream_misses(cache, process, walk, until_ns))
            continue;
        if (!fault(cache, process, walk->next))
            return false;
        go_on(cache, walk, 1);
    }
    return true;
}

bool page_cache_willneed(struct page_cache *cache, uint32_t process, uint32_t first, uint32_t end)
{
    must(process < cache->spec.processes);
    uint32_t chunk = (uint32_t)(READ_BYTES_MAX / cache->spec.page_bytes), left = cache->spec.willneed_pages;
    bool good = true;
    cache->generations.willneed = true;
    while (first < end && left > 0 && good) {
        uint32_t count = end - first < chunk ? end - first : chunk;
        count = count < left ? count : left;
        good = read_window(cache, first, count, 0);
        first += count;
        left -= count;
    }
    cache->generations.willneed = false;
    return good || !cache->spec.relief;
}

bool page_cache_lock(struct page_cache *cache, uint32_t process, uint32_t first, uint32_t end)
{
    struct page_runs *all = &cache->runs;
    for (uint32_t page = first; page < end; page++) {
        uint32_t run = page_runs_find(all, page);
        if (!is_mapped(cache, run, process) && !fault(cache, process, page))
            return false;
        make_young(cache, process, page_runs_find(all, page), page, page + 1);
        run = page_runs_find(all, page);
        if (run_place(all, run) == PAGE_LOCKED)
            continue;
        run = page_runs_cut(all, run, page);
        page_runs_cut(all, run, page + 1);
        uint32_t attributes = all->runs[run].attributes;
        page_runs_take(all, run);
        page_runs_put(all, run, (attributes & ~(uint32_t)PLACE_MASK) | PAGE_LOCKED, 0);
    }
    return true;
}

/* ---- Numbers ---- */

void page_cache_set_limit(struct page_cache *cache, uint64_t limit_pages)
{
    cache->limit_pages = limit_pages;
}

uint64_t page_cache_reclaim(struct page_cache *cache, uint64_t pages)
{
    return shrink(cache, pages > SCAN_BATCH ? pages : SCAN_BATCH);
}

uint64_t page_cache_charged(const struct page_cache *cache)
{
    return usage_with(cache, cache->kernel_bytes);
}

uint64_t page_cache_resident(const struct page_cache *cache)
{
    return there(cache);
}

uint64_t page_cache_locked(const struct page_cache *cache)
{
    return cache->runs.size[PAGE_LOCKED];
}

uint64_t page_cache_peak_resident(const struct page_cache *cache)
{
    return cache->peak_pages;
}

uint64_t page_cache_table_bytes(const struct page_cache *cache)
{
    return cache->kernel_bytes;
}

struct page_counts page_cache_counts(const struct page_cache *cache)
{
    return cache->counts;
}

struct page_process_counts page_cache_process_counts(const struct page_cache *cache, uint32_t process)
{
    return cache->processes[process].counts;
}

void page_cache_sizes(const struct page_cache *cache, uint64_t *inactive, uint64_t *active, uint64_t *locked)
{
    const uint32_t oldest = generation_place(cache->generations.min_seq);
    *inactive = cache->runs.size[cache->spec.lists == LISTS_MGLRU ? oldest : PAGE_INACTIVE];
    *locked = cache->runs.size[PAGE_LOCKED];
    *active = there(cache) - *inactive - *locked;
}

bool page_cache_has(struct page_cache *cache, uint32_t page)
{
    return place_is_there(run_place(&cache->runs, page_runs_find(&cache->runs, page)));
}

int64_t page_cache_reads_done_ns(const struct page_cache *cache)
{
    return cache->read_count > 0 ? cache->reads[cache->read_count - 1].done_ns : *cache->now_ns;
}

void page_cache_settle(struct page_cache *cache)
{
    reads_update(cache);
}
