/* Mapping a file: its pages, what gives memory to them and takes it back, and the load phase. */
#include <stdio.h>

#include "base/units.h"
#include "base/wide.h"
#include "sim/mapped_state.h"

enum { NS_PER_S = 1000000000, SWAP_CLUSTER_MAX = 32 /* include/linux/swap.h: pages of one reclaim */ };

/* ---- Memory ---- */

/* The cache wants room for one page. */
static bool relieve(void *host, struct page_cache *cache)
{
    (void)cache;
    return mapped_relieve(host);
}

/* Pressure wants pages back. */
static uint64_t reclaim(void *host, uint64_t bytes)
{
    struct run_state *run = host;
    const uint64_t page = run->mapped->layout.page_bytes;
    uint64_t pages = page_cache_reclaim(run->mapped->cache, bytes / page + (bytes % page > 0));
    mapped_take_counts(run);
    return pages * page;
}

static uint64_t refault_bytes(void *host)
{
    const struct mapped *m = ((struct run_state *)host)->mapped;
    return page_cache_counts(m->cache).refaults * m->layout.page_bytes;
}

/* What the cache does itself when its room is used up: nothing but asking pressure, unless file pages are all that
 * there is to take. Then one reclaim asks for what pressure would: in a control group without watermarks for 32 pages,
 * on a phone for what lies between the low and the high mark, and a page. */
static void choose_reclaim(struct run_state *run, struct page_cache_spec *spec)
{
    const struct pressure_spec *rules = &run->spec->device.pressure;
    uint64_t min, low, high;
    pressure_watermarks(run->pressure, &min, &low, &high);
    spec->batch_pages = SWAP_CLUSTER_MAX;
    if (rules->zram_bytes > 0 || rules->app_count > 0 || rules->rule == KILL_LMKD ||
        (rules->rule == KILL_MEMORY_LIMITER && low > 0)) {
        spec->relief = relieve;
        spec->host = run;
    } else if (low > 0) {
        uint64_t pages = (high - low + 2 * spec->page_bytes - 1) / spec->page_bytes;
        if (pages > spec->batch_pages)
            spec->batch_pages = pages < PAGES_MAX ? (uint32_t)pages : PAGES_MAX;
        run->mapped->below_marks = true;
    }
}

/* ---- Mapping ---- */

static bool check_device(const struct run_state *run, uint64_t page_bytes)
{
    const struct device *device = &run->spec->device;
    const int64_t times[] = {device->minor_fault_ns, device->major_fault_ns, device->scan_page_ns, device->tlb_miss_ns,
                             device->fs_fault_ns};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (times[i] < 0 || times[i] > NS_PER_S)
            return fail(run->err, STATUS_USAGE, "a page takes %lld ns: expected at most 1 s", (long long)times[i]);
    }
    if (page_bytes < 4096 || (page_bytes & (page_bytes - 1)) != 0)
        return fail(run->err, STATUS_USAGE, "pages of %llu bytes: expected 4KiB to 2MiB",
                    (unsigned long long)page_bytes);
    return true;
}

/* Neither reading the file nor a step's TLB misses may run past the end of the clock. */
static bool check_times(const struct run_state *run)
{
    const struct mapped *m = run->mapped;
    const struct trace *trace = run->trace;
    uint64_t slowest = flash_slowest_bps(&run->spec->device.flash), most = 0;
    if ((wide)m->layout.pages * m->layout.page_bytes * NS_PER_S / slowest >= (wide)1 << 59)
        return fail(run->err, STATUS_USAGE, "reading the file once takes over 18 years at %llu B/s",
                    (unsigned long long)slowest);
    for (uint32_t s = 0; s < trace->step_count; s++) {
        uint64_t touches = 0;
        for (uint32_t i = trace_step_begin(trace, s); i < trace_step_begin(trace, s + 1); i++)
            touches += m->touches[trace->uses[i] & USE_BLOCK];
        most = touches > most ? touches : most;
    }
    if ((wide)most * (uint64_t)run->spec->device.tlb_miss_ns >= (wide)1 << 59)
        return fail(run->err, STATUS_USAGE, "a step's TLB misses take over 18 years (%llu pages)",
                    (unsigned long long)most);
    return true;
}

static uint32_t pages_of(uint64_t bytes, uint64_t page_bytes, uint64_t most)
{
    uint64_t pages = bytes / page_bytes;
    return (uint32_t)(pages < 1 ? 1 : pages < most ? pages : most);
}

static bool make_cache(struct run_state *run, struct arena *arena)
{
    const struct device *device = &run->spec->device;
    const struct loader *loader = &run->spec->loader;
    struct mapped *m = run->mapped;
    const uint64_t page = m->layout.page_bytes;
    uint32_t around = pages_of(device->fault_around_bytes, page, 1u << 15);
    while (around & (around - 1)) /* down to a power of two, as mm/memory.c does (fault_around_bytes_set) */
        around &= around - 1;
    struct page_cache_spec spec = {
        .pages = m->layout.pages,
        .processes = run->processes,
        .page_bytes = page,
        .base_bytes = device->page_bytes == 16384 && page >= 16384 ? 16384 : 4096,
        .window_pages = pages_of(device->readahead_bytes, page, 1u << 15),
        .around_pages = around,
        .willneed_pages = pages_of(device->willneed_bytes, page, PAGES_MAX),
        .advice = loader->madvise == MADVISE_SEQUENTIAL ? PAGES_SEQUENTIAL
                  : loader->madvise == MADVISE_RANDOM   ? PAGES_RANDOM
                                                        : PAGES_NORMAL,
        .lists = loader->lists,
        .prefault_young = device->prefault_young,
        .minor_ns = device->minor_fault_ns,
        .major_ns = device->major_fault_ns + device->fs_fault_ns,
        .scan_ns = device->scan_page_ns,
    };
    choose_reclaim(run, &spec);
    if (!page_cache_init(&m->cache, &spec, &run->flash, &run->now_ns, arena, run->err))
        return false;
    const struct file_memory file = {reclaim, refault_bytes, run, page};
    pressure_attach(run->pressure, &file);
    return true;
}

bool mapped_init(struct run_state *run, struct arena *arena)
{
    const struct run_spec *spec = run->spec;
    const uint32_t n = spec->model->block_count;
    const uint64_t page = spec->loader.page_bytes > 0 ? spec->loader.page_bytes : spec->device.page_bytes;
    struct mapped *m = arena_alloc(arena, 1, sizeof *m);
    if (!m)
        return fail(run->err, STATUS_IO, "out of memory");
    if (!check_device(run, page) ||
        !mapped_layout_make(&m->layout, spec->model, spec->trace, spec->loader.layout, page, arena, run->err))
        return false;
    if ((uint64_t)m->layout.pages * page > spec->device.address_space_bytes) {
        run_kill(run, "map_failed");
        return true;
    }
    m->touches = arena_alloc(arena, n, sizeof *m->touches);
    m->known = arena_alloc(arena, (uint64_t)n * run->processes, sizeof *m->known);
    if (run->host.pin_count > 0)
        m->locked = arena_alloc(arena, m->layout.pages / 64 + UINT64_C(1), sizeof *m->locked);
    if (!m->touches || !m->known || (run->host.pin_count > 0 && !m->locked))
        return fail(run->err, STATUS_IO, "out of memory");
    uint64_t stride = spec->loader.stride_bytes / page + (spec->loader.stride_bytes % page > 0);
    m->stride = (uint32_t)(stride < 1 ? 1 : stride < PAGES_MAX ? stride : PAGES_MAX);
    for (block_id b = 0; b < n; b++)
        m->touches[b] = mapped_layout_touches(&m->layout, b, m->stride);
    m->first_page = m->layout.pages;
    for (uint32_t r = 0; r < m->layout.first[n]; r++)
        m->first_page = m->layout.ranges[r].first < m->first_page ? m->layout.ranges[r].first : m->first_page;
    run_set_load_marks(run, (m->layout.pages - m->first_page) * page);
    m->epoch = 1;
    run->mapped = m;
    return check_times(run) && make_cache(run, arena);
}

/* ---- The load phase ---- */

static void willneed(struct run_state *run)
{
    int64_t start_ns = run->now_ns;
    mapped_set_limit(run);
    page_cache_willneed(run->mapped->cache, 0, 0, run->mapped->layout.pages); /* without memory it reads less */
    mapped_book(run, start_ns, 0, pressure_killed_by(run->pressure) == NULL);
}

static void populate(struct run_state *run)
{
    const uint32_t pages = run->mapped->layout.pages;
    struct page_walk walk = {.end = pages, .stride = 1, .total = pages};
    mapped_touch(run, 0, &walk);
}

static bool is_locked(const struct mapped *m, uint32_t page)
{
    return m->locked[page / 64] >> (page % 64) & 1;
}

static void mark_locked(struct mapped *m, uint32_t page)
{
    m->locked[page / 64] |= UINT64_C(1) << (page % 64);
}

/* Locks pages of a range, as many as memlock lets it, in pieces as mapped_touch does. What is locked already counts
 * once (mm/mlock.c, count_mm_mlocked_page_nr). False: no more of them. */
static bool lock_range(struct run_state *run, struct page_range range, uint64_t limit_pages)
{
    struct mapped *m = run->mapped;
    while (range.first < range.end) {
        uint64_t left = limit_pages - page_cache_locked(m->cache);
        uint32_t piece = range.end - range.first < SWAP_CLUSTER_MAX ? range.end - range.first : SWAP_CLUSTER_MAX;
        if (left == 0)
            return false;
        piece = piece < left ? piece : (uint32_t)left;
        int64_t start_ns = run->now_ns;
        mapped_set_limit(run);
        if (mapped_book(run, start_ns, 0, page_cache_lock(m->cache, 0, range.first, range.first + piece))) {
            for (uint32_t end = range.first + piece; range.first < end; range.first++)
                mark_locked(m, range.first);
        }
        if (!run_goes_on(run))
            return false;
    }
    return true;
}

/* How many pages of the blocks are not locked; marks them. */
static uint64_t mark_missing(struct run_state *run, const block_id *blocks, uint32_t count)
{
    struct mapped *m = run->mapped;
    uint64_t missing = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t r = m->layout.first[blocks[i]]; r < m->layout.first[blocks[i] + 1]; r++) {
            for (uint32_t page = m->layout.ranges[r].first; page < m->layout.ranges[r].end; page++) {
                missing += !is_locked(m, page);
                mark_locked(m, page);
            }
        }
    }
    return missing;
}

static void lock_blocks(struct run_state *run, const block_id *blocks, uint32_t count)
{
    const struct mapped_layout *layout = &run->mapped->layout;
    const uint64_t limit_pages = run->spec->device.memlock_bytes / layout->page_bytes;
    bool all = true;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t r = layout->first[blocks[i]]; r < layout->first[blocks[i] + 1] && all; r++)
            all = lock_range(run, layout->ranges[r], limit_pages);
    }
    uint64_t missing;
    if (all || !run_goes_on(run) || (missing = mark_missing(run, blocks, count)) == 0)
        return;
    const uint64_t got = page_cache_locked(run->mapped->cache);
    char got_text[UNITS_TEXT], wanted_text[UNITS_TEXT];
    snprintf(run->numbers.note, sizeof run->numbers.note, "mlock: %s of %s: device.memlock",
             format_bytes(got * layout->page_bytes, got_text),
             format_bytes((got + missing) * layout->page_bytes, wanted_text));
}

void mapped_load(struct run_state *run, const block_id *pins, uint32_t pin_count)
{
    enum madvise advice = run->spec->loader.madvise;
    if (advice == MADVISE_WILLNEED)
        willneed(run);
    else if (advice == MADVISE_POPULATE)
        populate(run);
    if (run_goes_on(run))
        lock_blocks(run, pins, pin_count);
}
