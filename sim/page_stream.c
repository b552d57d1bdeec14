/* Steady streaming. Each round is one window: the fault on its marked first page, readahead of the next
 * window with the reclaim that this takes, the wait for the window's own read, the faults on its further groups, and
 * the computing between its touches. Only numbers change from round to round; the runs are moved once, at the end. */
#include "sim/page_stream.h"

#include "base/wide.h"

/* The first of the bits first .. end - 1 that is not set, or `end`. */
static uint32_t first_unset(const uint64_t *bits, uint32_t first, uint32_t end)
{
    for (uint32_t word = first >> 6; word << 6 < end; word++) {
        uint64_t unset = ~bits[word];
        if (word == first >> 6)
            unset &= ~UINT64_C(0) << (first & 63);
        if (unset) {
            uint32_t at = (word << 6) + (uint32_t)__builtin_ctzll(unset);
            return at < end ? at : end;
        }
    }
    return end;
}

uint64_t stream_rounds(const struct stream *s, uint32_t further)
{
    const struct page_cache *cache = s->cache;
    const uint32_t w = s->window, page = s->walk->next, pages = cache->runs.pages;
    uint32_t table = first_unset(cache->processes[s->process].tables, page / cache->table_pages,
                                 (s->walk->end - 1) / cache->table_pages + 1);
    const uint64_t behind = s->walk->end + (uint64_t)further * w; /* no page beyond is read */
    uint32_t last = behind < pages ? (uint32_t)behind : pages;
    uint32_t node = first_unset(cache->nodes, page / NODE_PAGES, (last - 1) / NODE_PAGES + 1);
    uint64_t mapped = (uint64_t)table * cache->table_pages, known = (uint64_t)node * NODE_PAGES;
    mapped = mapped < s->walk->end ? mapped : s->walk->end;
    known = known < pages ? known : pages;
    uint64_t rounds = mapped > page ? (mapped - page) / w : 0, there = known > page ? (known - page) / w : 0;
    return there <= further ? 0 : rounds < there - further ? rounds : there - further;
}

/* Is the walk at the marked first page of a window that was read ahead, with touched pages before it and absent ones
 * behind it? */
static bool runs_fit(struct stream *s)
{
    struct page_runs *all = &s->cache->runs;
    const struct page_process *state = &s->cache->processes[s->process];
    const uint32_t page = s->walk->next, w = s->window, align = (w & -w) < 4 ? w & -w : 4;
    if (state->misses > 0 || state->start != page || state->size != w || state->async != w || page % align != 0)
        return false;
    s->ours = page_runs_find(all, page);
    const struct page_run *ours = &all->runs[s->ours];
    s->before = ours->previous;
    s->ahead = ours->next;
    uint32_t touched = PAGE_INACTIVE | 1u << (MAPPED_SHIFT + s->process) | 1u << (YOUNG_SHIFT + s->process);
    s->refaults = run_place(all, s->ahead) == PAGE_EVICTED;
    return ours->start == page && run_pages(all, s->ours) == w && ours->attributes == PAGE_INACTIVE &&
           all->runs[LIST_INACTIVE].older == s->ours && all->runs[s->before].attributes == touched &&
           ours->older == s->before && (s->refaults || run_place(all, s->ahead) == PAGE_ABSENT);
}

uint64_t stream_to_evict(struct stream *s)
{
    const struct page_cache *cache = s->cache;
    const struct page_runs *all = &cache->runs;
    s->oldest = all->runs[LIST_INACTIVE].newer;
    s->gone = all->runs[s->oldest].previous;
    const struct page_run *oldest = &all->runs[s->oldest], *gone = &all->runs[s->gone];
    if (cache->spec.relief || s->oldest == s->ours ||
        (cache->spec.advice == PAGES_NORMAL && oldest->attributes & YOUNG_MASK) ||
        gone->attributes != (PAGE_EVICTED | (oldest->attributes & PAGE_WORKINGSET)) ||
        gone->age + (oldest->start - gone->start) != cache->age || cache->counts.activations != cache->snapshot)
        return 0;
    /* Nor may it look at the active list: the inactive one is never shorter than this during the rounds. */
    const uint64_t inactive = all->size[PAGE_INACTIVE], active = all->size[PAGE_ACTIVE];
    if (active > 0 &&
        (inactive < s->worst_pages || inactive_is_low(inactive - s->worst_pages, active, cache->spec.page_bytes)))
        return 0;
    return run_pages(all, s->oldest);
}

void stream_start(struct stream *s, uint64_t room)
{
    const struct page_cache *cache = s->cache;
    /* One reclaim stops when it has what is wanted, at most a batch and what other priorities brought later. */
    const uint64_t want = cache->spec.batch_pages;
    s->worst_pages = (s->window / want + 2) * (2 * want + SCAN_BATCH);
    s->around_shift = (uint32_t)__builtin_ctz(cache->spec.around_pages);
    s->now = (struct numbers){
        .inactive = cache->runs.size[PAGE_INACTIVE],
        .room = room,
        .age = cache->age,
        .ahead_pages = run_pages(&cache->runs, s->ahead),
        .ahead_age = cache->runs.runs[s->ahead].age,
        .oldest_pages = stream_to_evict(s),
        .now_ns = *cache->now_ns,
    };
}

static bool begin(struct stream *s)
{
    struct page_cache *cache = s->cache;
    const struct page_walk *walk = s->walk;
    const uint32_t page = walk->next;
    const uint64_t usage = usage_with(cache, cache->kernel_bytes);
    /* After the limit has been lowered, one reclaim may not be enough. */
    if (usage > cache->limit_pages)
        return false;
    /* When the flash gets hot, it matters what is in flight; so where that is asked ahead of time, no stream. */
    if (cache->flash->spec.hot_after_ns > 0 && ((page | s->window) & (cache->spec.around_pages - 1)) != 0)
        return false;
    if (cache->spec.lists != LISTS_CLASSIC || walk->stride != 1 || cache->spec.advice == PAGES_RANDOM ||
        cache->flash->spec.queue_depth < 2 || !mark_is_set(cache, page) ||
        s->window * cache->spec.page_bytes > READ_BYTES_MAX || !runs_fit(s))
        return false;
    reads_update(cache);
    if (cache->read_count > 1 ||
        (cache->read_count == 1 && (cache->reads[0].first != page || cache->reads[0].end != page + s->window)))
        return false;
    s->straddles = (page & (cache->spec.around_pages - 1)) != 0;
    s->in_flight = cache->read_count == 1;
    const wide step = (wide)walk->compute_ns * s->window;
    s->compute_ns = (int64_t)(step / walk->total);
    s->rest_step = (uint64_t)(step % walk->total);
    stream_start(s, cache->limit_pages - usage);
    s->now.arrives_ns = s->in_flight ? cache->reads[0].done_ns : *cache->now_ns;
    s->now.rest = (uint64_t)((wide)walk->compute_ns * walk->done % walk->total);
    s->most_rounds = stream_rounds(s, 1);
    cache->read_count = 0; /* page_stream puts it back */
    return true;
}

/* One reclaim of the cache's own (shrink() in page_reclaim.c), of which all goes well: see stream_to_evict and the
 * room that is left. */
static void reclaim(const struct stream *s, struct numbers *n)
{
    const uint64_t want = s->cache->spec.batch_pages;
    uint64_t total = 0;
    for (unsigned priority = FIRST_PRIORITY + 1; priority-- > 0 && total < want;) {
        /* Whole batches until the share of this priority is used up, or has brought enough. */
        uint64_t share = n->inactive >> priority, enough = (want + SCAN_BATCH - 1) / SCAN_BATCH * SCAN_BATCH;
        uint64_t got = share < enough ? share : enough;
        n->inactive -= got;
        total += got;
    }
    must(total >= want && total < n->oldest_pages);
    n->now_ns += (int64_t)total * s->cache->spec.scan_ns;
    n->room += total;
    n->age += total;
    n->evicted += total;
    n->oldest_pages -= total;
    if (s->gone == s->ahead)
        n->ahead_pages += total;
}

void stream_read(const struct stream *s, struct numbers *n)
{
    for (uint64_t left = s->window; left > 0;) {
        if (n->room == 0)
            reclaim(s, n);
        uint64_t piece = left < n->room ? left : n->room;
        n->room -= piece;
        n->inactive += piece;
        left -= piece;
        if (n->inactive > n->peak_inactive)
            n->peak_inactive = n->inactive;
    }
    n->ahead_pages -= s->window;
    n->ahead_age += s->window;
}

static void finish_read(struct stream *s, int64_t done_ns)
{
    flash_finish(s->cache->flash, done_ns, s->window * s->cache->spec.page_bytes);
    s->in_flight = false;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How many more windows reclaim treats like the one before them, of which it took `taken` pages, a window or none. */
static uint64_t rounds_alike(const struct stream *s, const struct numbers *n, uint64_t taken)
{
    const uint64_t w = s->window;
    uint64_t rounds = s->most_rounds - s->rounds - 1;
    if (taken == 0)
        rounds = least(rounds, n->room / w);
    else
        rounds = least(rounds, n->oldest_pages > s->worst_pages ? (n->oldest_pages - s->worst_pages) / w : 0);
    if (taken == 0 || s->gone != s->ahead)
        rounds = least(rounds, (n->ahead_pages - 1) / w);
    if (taken == 0 && s->refaults) { /* what lies ahead is younger with each page, and the age stays */
        const uint64_t bound = n->ahead_age + w - 1 + s->cache->runs.size[PAGE_ACTIVE];
        rounds = least(rounds, n->age > bound ? (n->age - bound - 1) / w + 1 : 0);
    }
    return rounds;
}

/* Many windows after one that took `taken` pages from the oldest run: of each only the clock and the flash (flash.h)
 * are gone through, the rest follows from their number. */
static void repeat(struct stream *s, struct numbers *n, uint64_t taken, int64_t walk_ns, int64_t until_ns)
{
    const struct page_cache_spec *spec = &s->cache->spec;
    struct flash *flash = s->cache->flash;
    const uint64_t w = s->window, total = s->walk->total, step = s->rest_step;
    if (flash->spec.hot_after_ns > 0 || w % spec->around_pages != 0 || flash->in_flight != 1)
        return;
    const uint64_t most = rounds_alike(s, n, taken);
    const int64_t issue_after_ns = spec->minor_ns + (int64_t)taken * spec->scan_ns, setup_ns = flash->spec.setup_ns;
    const int64_t max_ns = flash->last.max_ns, stream_ns = flash->last.stream_ns;
    int64_t now_ns = n->now_ns, arrives_ns = n->arrives_ns, link_ns = flash->link_free_ns;
    uint64_t rest = n->rest, rounds = 0;
    for (; rounds < most; rounds++) {
        const int64_t issue_ns = now_ns + issue_after_ns, ready_ns = issue_ns + setup_ns;
        const int64_t end_ns = (arrives_ns > issue_ns ? arrives_ns : issue_ns) + walk_ns;
        const int64_t moves_ns = (ready_ns > link_ns ? ready_ns : link_ns) + max_ns;
        const int64_t next_ns = ready_ns + stream_ns > moves_ns ? ready_ns + stream_ns : moves_ns;
        if (end_ns + 1 >= until_ns || (s->straddles && next_ns <= end_ns + 1))
            break;
        if (arrives_ns > issue_ns) {
            n->waits++;
        } else { /* the flash was idle for a while */
            flash->busy_ns += arrives_ns - flash->busy_since_ns;
            flash->busy_since_ns = issue_ns;
        }
        link_ns = moves_ns;
        arrives_ns = next_ns;
        rest += step;
        now_ns = end_ns + (rest >= total);
        rest -= rest >= total ? total : 0;
    }
    n->now_ns = now_ns;
    n->arrives_ns = arrives_ns;
    n->rest = rest;
    if (rounds > 0) {
        flash->link_free_ns = link_ns;
        flash->link_start_ns = link_ns - max_ns;
    }
    flash->moved_bytes += rounds * w * spec->page_bytes;
    n->faults += rounds * ((w >> s->around_shift) + s->straddles);
    n->ahead_age += rounds * w;
    n->ahead_pages -= taken == 0 || s->gone != s->ahead ? rounds * w : 0;
    n->age += rounds * taken;
    n->evicted += rounds * taken;
    n->oldest_pages -= rounds * taken;
    n->room -= taken == 0 ? rounds * w : 0;
    n->inactive += taken == 0 ? rounds * w : 0;
    n->peak_inactive = n->inactive > n->peak_inactive ? n->inactive : n->peak_inactive;
    s->rounds += rounds;
}

/* The windows, as many as are of the steady kind. Whether the next one is, is decided before anything of it changes,
 * and with a margin for what reclaim may do; a window that is refused is walked page by page. */
static void go_through(struct stream *s, int64_t until_ns)
{
    const struct page_cache_spec *spec = &s->cache->spec;
    struct flash *flash = s->cache->flash;
    const uint64_t w = s->window, bytes = w * spec->page_bytes, active = s->cache->runs.size[PAGE_ACTIVE];
    const int64_t worst_ns = (int64_t)s->worst_pages * spec->scan_ns;
    struct numbers n = s->now;
    for (; s->rounds < s->most_rounds; s->rounds++) {
        const uint32_t page = s->walk->next + (uint32_t)s->rounds * s->window, next = page + s->window;
        const uint64_t room = n.room, evicted = n.evicted;
        /* The last page of the window is the youngest of what was evicted; the age does not fall. */
        if (n.ahead_pages <= w || (s->refaults && n.age - (n.ahead_age + w - 1) <= active) ||
            (n.room < w && n.oldest_pages <= s->worst_pages))
            break;
        /* A fault on the first page, and one on each further group. */
        const uint32_t groups = ((next - 1) >> s->around_shift) - (page >> s->around_shift);
        const int64_t walk_ns = (int64_t)groups * spec->minor_ns + s->compute_ns;
        const int64_t begin_ns = n.now_ns + spec->minor_ns, arrives_ns = n.arrives_ns;
        const int64_t latest_ns = n.room < w ? begin_ns + worst_ns : begin_ns;
        const int64_t end_ns = (latest_ns > arrives_ns ? latest_ns : arrives_ns) + walk_ns + 1;
        /* Where the last group reaches into the next window, that has to be on its way still, or it would be mapped. */
        if (end_ns >= until_ns || (next & (spec->around_pages - 1) && flash_peek(flash, begin_ns, bytes) <= end_ns))
            break;
        n.now_ns = begin_ns;
        stream_read(s, &n);
        if (s->in_flight && arrives_ns <= n.now_ns)
            finish_read(s, arrives_ns);
        n.arrives_ns = flash_issue(flash, n.now_ns, 0, bytes);
        if (s->in_flight)
            finish_read(s, arrives_ns);
        s->in_flight = true;
        if (arrives_ns > n.now_ns) {
            n.now_ns = arrives_ns;
            n.waits++;
        }
        n.faults += groups + 1;
        n.now_ns += walk_ns;
        n.rest += s->rest_step;
        if (n.rest >= s->walk->total) {
            n.rest -= s->walk->total;
            n.now_ns++;
        }
        if (n.room == room || (n.evicted == evicted && n.room >= w))
            repeat(s, &n, n.evicted - evicted, walk_ns, until_ns);
    }
    s->now = n;
}

void stream_commit(struct stream *s, struct page_walk *walk)
{
    struct page_cache *cache = s->cache;
    struct page_runs *all = &cache->runs;
    const struct numbers *n = &s->now;
    const uint32_t moved = (uint32_t)s->rounds * s->window;
    if (n->evicted > 0) {
        const struct page_run *oldest = &all->runs[s->oldest];
        if ((oldest->attributes & MAPPED_MASK) == 0)
            cache->counts.unused_evicted += n->evicted;
        if (cache->mark_count > 0)
            marks_clear(cache, oldest->start, oldest->start + (uint32_t)n->evicted);
        page_runs_pass(all, s->oldest, (uint32_t)n->evicted);
        cache->counts.evicted += n->evicted;
        cache->counts.scanned += n->evicted;
        cache->age = n->age;
    }
    if (s->refaults)
        cache->counts.refaults += moved;
    page_runs_pass(all, s->ahead, moved);
    if (s->ours != FILE_ENDS)
        page_runs_pass(all, s->ours, moved);
    *cache->now_ns = n->now_ns;
    walk->next += moved;
    walk->done += moved;
    cache->counts.minor_faults += n->faults;
    cache->processes[s->process].counts.minor_faults += n->faults;
    cache->counts.pages_read += moved;
    cache->counts.waits += n->waits;
    uint64_t peak = n->peak_inactive + all->size[PAGE_ACTIVE] + all->size[PAGE_LOCKED];
    if (peak > cache->peak_pages)
        cache->peak_pages = peak;
}

static void end(struct stream *s, struct page_walk *walk)
{
    struct page_cache *cache = s->cache;
    marks_clear(cache, walk->next, walk->next + 1);
    stream_commit(s, walk);
    reads_update(cache);
    mark_set(cache, walk->next);
    cache->processes[s->process].start = walk->next;
}

bool page_stream(struct page_cache *cache, uint32_t process, struct page_walk *walk, int64_t until_ns)
{
    struct stream s = {.cache = cache, .walk = walk, .process = process, .window = cache->spec.window_pages};
    if (!begin(&s))
        return false;
    go_through(&s, until_ns);
    if (s.in_flight) {
        uint32_t first = walk->next + (uint32_t)s.rounds * s.window;
        cache->reads[cache->read_count++] = (struct page_read){s.now.arrives_ns, first, first + s.window};
    }
    if (s.rounds > 0)
        end(&s, walk);
    return s.rounds > 0;
}
