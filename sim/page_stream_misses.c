/* Walks in which every window is a fault that waits for its own read: windows of one page under RANDOM, of the
 * readahead size under SEQUENTIAL. Nothing overlaps, so windows for which there is room take the same time, but for
 * what computing leaves over, and go in one step. */
#include "base/wide.h"
#include "sim/page_stream.h"

static bool begin(struct stream *s)
{
    struct page_cache *cache = s->cache;
    struct page_runs *all = &cache->runs;
    const struct page_cache_spec *spec = &cache->spec;
    const uint32_t page = s->walk->next;
    const uint64_t usage = usage_with(cache, cache->kernel_bytes);
    if (spec->lists != LISTS_CLASSIC || s->walk->stride != 1 || spec->advice == PAGES_NORMAL || page == 0 ||
        (spec->advice == PAGES_SEQUENTIAL && is_folio(cache)) || cache->flash->spec.hot_after_ns > 0 ||
        usage > cache->limit_pages || cache->processes[s->process].misses > 0 ||
        s->window * spec->page_bytes > READ_BYTES_MAX)
        return false;
    reads_update(cache);
    s->ahead = page_runs_find(all, page);
    s->before = all->runs[s->ahead].previous;
    s->ours = FILE_ENDS;
    s->refaults = run_place(all, s->ahead) == PAGE_EVICTED;
    uint32_t touched = PAGE_INACTIVE | 1u << (MAPPED_SHIFT + s->process) | 1u << (YOUNG_SHIFT + s->process);
    /* What fault-around finds before the page has to be mapped. */
    if (cache->read_count > 0 || all->runs[s->ahead].start != page || all->runs[s->before].attributes != touched ||
        all->runs[LIST_INACTIVE].older != s->before ||
        all->runs[s->before].start > (page & ~(spec->around_pages - 1)) ||
        !(s->refaults || run_place(all, s->ahead) == PAGE_ABSENT))
        return false;
    stream_start(s, cache->limit_pages - usage);
    s->most_rounds = stream_rounds(s, 0);
    return true;
}

/* How many windows go in one step: those for which there is room; else one; 0: none of the steady kind. */
static uint64_t windows_now(const struct stream *s, const struct numbers *n)
{
    const struct page_cache_spec *spec = &s->cache->spec;
    const uint64_t w = s->window, active = s->cache->runs.size[PAGE_ACTIVE], left = s->most_rounds - s->rounds;
    const uint64_t bound = n->ahead_age + w - 1 + active, beyond = w + spec->around_pages;
    if (left == 0 || n->ahead_pages <= beyond || (s->refaults && n->age <= bound))
        return 0;
    if (n->room < w)
        return n->oldest_pages > s->worst_pages ? 1 : 0;
    uint64_t count = n->room / w < left ? n->room / w : left;
    if (w > 1 && w % spec->around_pages != 0)
        return 1;
    if (count > (n->ahead_pages - beyond - 1) / w + 1)
        count = (n->ahead_pages - beyond - 1) / w + 1;
    if (s->refaults && count > (n->age - bound - 1) / w + 1)
        count = (n->age - bound - 1) / w + 1;
    return count;
}

static int64_t computed_ns(const struct stream *s, uint64_t rounds)
{
    return (int64_t)((wide)s->walk->compute_ns * (s->walk->done + rounds * s->window) / s->walk->total);
}

/* `count` windows from the present one on; false: they would not end before until_ns, and nothing has changed. */
static bool step(struct stream *s, uint64_t count, int64_t until_ns)
{
    const struct page_cache_spec *spec = &s->cache->spec;
    struct flash *flash = s->cache->flash;
    const uint64_t w = s->window;
    const uint32_t page = s->walk->next + (uint32_t)s->rounds * s->window;
    const uint32_t groups = ((page + s->window - 1) >> s->around_shift) - (page >> s->around_shift);
    const int64_t read_ns = flash->spec.setup_ns +
                            (flash->last.max_ns > flash->last.stream_ns ? flash->last.max_ns : flash->last.stream_ns);
    const int64_t window_ns = spec->major_ns + read_ns + (int64_t)groups * spec->minor_ns;
    struct numbers n = s->now;
    const int64_t before_ns = n.now_ns;
    if (count == 1)
        stream_read(s, &n);
    const int64_t scan_ns = n.now_ns - before_ns; /* of a single window that had no room */
    const int64_t end_ns = before_ns + scan_ns + (int64_t)count * window_ns +
                           (computed_ns(s, s->rounds + count) - computed_ns(s, s->rounds));
    if (end_ns >= until_ns)
        return false;
    if (count > 1) {
        n.room -= count * w;
        n.inactive += count * w;
        n.peak_inactive = n.inactive > n.peak_inactive ? n.inactive : n.peak_inactive;
        n.ahead_pages -= count * w;
        n.ahead_age += count * w;
    }
    const int64_t issue_ns = before_ns + scan_ns + (int64_t)(count - 1) * window_ns +
                             (computed_ns(s, s->rounds + count - 1) - computed_ns(s, s->rounds)) + spec->major_ns;
    flash->busy_ns += (int64_t)count * read_ns;
    flash->busy_since_ns = issue_ns;
    flash->moved_bytes += count * w * spec->page_bytes;
    flash->link_start_ns = issue_ns + flash->spec.setup_ns;
    flash->link_free_ns = flash->link_start_ns + flash->last.max_ns;
    n.now_ns = end_ns;
    n.waits += read_ns > 0 ? count : 0;
    n.faults += count * groups;
    s->now = n;
    s->rounds += count;
    return true;
}

bool page_stream_misses(struct page_cache *cache, uint32_t process, struct page_walk *walk, int64_t until_ns)
{
    struct stream s = {.cache = cache, .walk = walk, .process = process};
    s.window = cache->spec.advice == PAGES_RANDOM ? 1 : cache->spec.window_pages;
    if (!begin(&s))
        return false;
    /* Fills in the times of such a read; the shared rate has to be free when the first one could move. */
    flash_peek(cache->flash, *cache->now_ns, s.window * cache->spec.page_bytes);
    if (cache->flash->link_free_ns > *cache->now_ns + cache->spec.major_ns + cache->flash->spec.setup_ns)
        return false;
    for (uint64_t count; (count = windows_now(&s, &s.now)) > 0;) {
        while (count > 0 && !step(&s, count, until_ns))
            count /= 2;
        if (count == 0)
            break;
    }
    if (s.rounds == 0)
        return false;
    stream_commit(&s, walk);
    cache->counts.major_faults += s.rounds;
    cache->processes[process].counts.major_faults += s.rounds;
    return true;
}
