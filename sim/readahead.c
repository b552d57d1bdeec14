/* Readahead: which pages a fault reads, in which commands, and when they are there. Linux 6.18, mm/filemap.c and
 * mm/readahead.c; docs/models.md section 11. */
#include "sim/page_state.h"

/* ---- Marks ---- */

bool mark_is_set(const struct page_cache *cache, uint32_t page)
{
    return cache->marks[page >> 6] >> (page & 63) & 1;
}

void mark_set(struct page_cache *cache, uint32_t page)
{
    cache->marks[page >> 6] |= UINT64_C(1) << (page & 63);
    cache->mark_count++;
}

/* The bits of a word that are pages of [first, end). */
static uint64_t bits_between(uint32_t word, uint32_t first, uint32_t end)
{
    uint32_t base = word << 6;
    uint64_t bits = ~UINT64_C(0);
    if (first > base)
        bits &= ~UINT64_C(0) << (first - base);
    if (end - base < 64)
        bits &= ~(~UINT64_C(0) << (end - base));
    return bits;
}

uint32_t mark_next(const struct page_cache *cache, uint32_t first, uint32_t end)
{
    if (cache->mark_count == 0)
        return end;
    for (uint32_t word = first >> 6; word << 6 < end; word++) {
        uint64_t bits = cache->marks[word] & bits_between(word, first, end);
        if (bits)
            return (word << 6) + (uint32_t)__builtin_ctzll(bits);
    }
    return end;
}

void marks_clear(struct page_cache *cache, uint32_t first, uint32_t end)
{
    if (cache->mark_count == 0)
        return;
    for (uint32_t word = first >> 6; word << 6 < end; word++) {
        uint64_t bits = cache->marks[word] & bits_between(word, first, end);
        cache->marks[word] ^= bits;
        cache->mark_count -= (uint64_t)__builtin_popcountll(bits);
    }
}

/* ---- Commands in flight ---- */

void reads_settle(struct page_cache *cache)
{
    uint32_t done = 0;
    for (; done < cache->read_count && cache->reads[done].done_ns <= *cache->now_ns; done++) {
        const struct page_read *read = &cache->reads[done];
        flash_finish(cache->flash, read->done_ns, (read->end - read->first) * cache->spec.page_bytes);
    }
    cache->read_count -= done;
    for (uint32_t i = 0; done > 0 && i < cache->read_count; i++)
        cache->reads[i] = cache->reads[i + done];
}

uint32_t reads_first(const struct page_cache *cache, uint32_t first, uint32_t end, uint32_t *until)
{
    uint32_t from = end;
    *until = end;
    if (cache->batch_first < end && cache->batch_end > first) {
        from = cache->batch_first > first ? cache->batch_first : first;
        *until = cache->batch_end < end ? cache->batch_end : end;
    }
    for (uint32_t i = 0; i < cache->read_count; i++) {
        const struct page_read *read = &cache->reads[i];
        if (read->first >= end || read->end <= first || (from < end && read->first >= from))
            continue;
        from = read->first > first ? read->first : first;
        *until = read->end < end ? read->end : end;
    }
    return from;
}

int64_t read_done_ns(const struct page_cache *cache, uint32_t page)
{
    for (uint32_t i = 0; i < cache->read_count; i++) {
        if (cache->reads[i].first <= page && page < cache->reads[i].end)
            return cache->reads[i].done_ns;
    }
    return *cache->now_ns;
}

static void issue_batch(struct page_cache *cache)
{
    uint32_t first = cache->batch_first, end = cache->batch_end;
    cache->batch_first = cache->batch_end = 0;
    if (first == end)
        return;
    reads_update(cache);
    if (!flash_has_slot(cache->flash)) {
        must(cache->read_count > 0);
        *cache->now_ns = cache->reads[0].done_ns;
        reads_settle(cache);
    }
    int64_t done_ns = flash_issue(cache->flash, *cache->now_ns, 0, (end - first) * cache->spec.page_bytes);
    uint32_t i = cache->read_count++;
    for (; i > 0 && cache->reads[i - 1].done_ns > done_ns; i--)
        cache->reads[i] = cache->reads[i - 1];
    cache->reads[i] = (struct page_read){done_ns, first, end};
    cache->counts.pages_read += end - first;
}

/* ---- Adding pages ---- */

/* How many of `count` absent or evicted pages from the start of `run` on get the same treatment when they are added one
 * after the other, and the attributes that they get (mm/workingset.c, workingset_refault). */
static uint32_t same_refault(struct page_cache *cache, uint32_t run, uint32_t count, uint32_t *attributes)
{
    const struct page_run *r = &cache->runs.runs[run];
    if (cache->spec.lists == LISTS_MGLRU)
        return generations_refault(cache, run, count, attributes);
    *attributes = PAGE_INACTIVE;
    if ((r->attributes & PLACE_MASK) == PAGE_ABSENT)
        return count;
    uint64_t distance = cache->age - r->age, active = cache->runs.size[PAGE_ACTIVE];
    if (distance <= active) {
        /* An activation adds one to the age and to the active list: the next page's distance stays, and its bound
         * grows. */
        *attributes = PAGE_ACTIVE | (r->attributes & PAGE_WORKINGSET);
        return count;
    }
    /* Each page is one younger than the one before it. */
    return distance - active < count ? (uint32_t)(distance - active) : count;
}

/* Pages [first, first + count) of a run that starts there are in memory from now on. */
static void insert(struct page_cache *cache, uint32_t run, uint32_t count, uint32_t attributes)
{
    struct page_runs *all = &cache->runs;
    const uint32_t place = attributes & PLACE_MASK, list = list_of(place);
    if (run_place(all, run) == PAGE_EVICTED)
        cache->counts.refaults += count;
    /* Only pages that come back soon enough start in the newest generation. */
    if (place == PAGE_ACTIVE || place == generation_place(cache->generations.max_seq)) {
        cache->age += count;
        cache->counts.activations += count;
    }
    uint32_t previous = all->runs[run].previous;
    if (all->runs[list].older == previous && all->runs[previous].attributes == attributes &&
        count < run_pages(all, run)) {
        page_runs_pass(all, run, count);
    } else {
        page_runs_cut(all, run, all->runs[run].start + count);
        page_runs_take(all, run);
        page_runs_put(all, run, attributes, 0);
    }
    uint64_t now = there(cache);
    if (now > cache->peak_pages)
        cache->peak_pages = now;
}

static bool node_is_there(const struct page_cache *cache, uint32_t page)
{
    uint32_t node = page / NODE_PAGES;
    return cache->nodes[node >> 6] >> (node & 63) & 1;
}

/* Adds pages from `first` on to the batch, at most `count`, in one piece; how many, 0: no memory. */
static uint32_t add_piece(struct page_cache *cache, uint32_t first, uint32_t count)
{
    if (!room_for_page(cache))
        return 0;
    uint64_t room = cache->limit_pages - usage_with(cache, cache->kernel_bytes);
    if (room < count)
        count = (uint32_t)room;
    bool has_node = node_is_there(cache, first);
    if (!has_node)
        count = 1;
    else if (count > NODE_PAGES - first % NODE_PAGES)
        count = NODE_PAGES - first % NODE_PAGES;
    uint32_t run = page_runs_find(&cache->runs, first), attributes;
    run = page_runs_cut(&cache->runs, run, first);
    count = same_refault(cache, run, count, &attributes);
    insert(cache, run, count, attributes);
    if (!has_node) {
        cache->nodes[first / NODE_PAGES >> 6] |= UINT64_C(1) << (first / NODE_PAGES & 63);
        cache->kernel_bytes += NODE_BYTES;
    }
    cache->batch_end = first + count;
    return count;
}

uint32_t page_cache_warm(struct page_cache *cache, uint32_t pages)
{
    const uint32_t all = cache->runs.pages;
    must(there(cache) == 0 && pages <= all && !cache->generations.willneed);
    uint32_t count = 0;
    uint64_t nodes = 0;
    while (count < pages) { /* from the end of the file on */
        const uint32_t page = all - 1 - count;
        const uint64_t more = count == 0 || (page + 1) % NODE_PAGES == 0 ? NODE_BYTES : 0;
        if (count + UINT64_C(1) + (cache->kernel_bytes + nodes + more) / cache->spec.page_bytes > cache->limit_pages)
            break;
        nodes += more;
        count++;
    }
    cache->generations.willneed = true; /* no fault asks for them */
    for (uint32_t page = all - count, added; page < all; page += added)
        added = add_piece(cache, page, all - page);
    cache->generations.willneed = false;
    cache->batch_first = cache->batch_end = 0;
    return count;
}

uint64_t page_cache_seen(struct page_cache *cache, uint32_t first)
{
    const struct page_runs *all = &cache->runs;
    uint64_t before = 0;
    for (uint32_t at = 0; at < first;) {
        const uint32_t run = page_runs_find(&cache->runs, at),
                       end = run_end(all, run) < first ? run_end(all, run) : first;
        before += run_place(all, run) == PAGE_ABSENT ? 0 : end - at;
        at = end;
    }
    return all->pages - all->size[PAGE_ABSENT] - before;
}

bool read_window(struct page_cache *cache, int64_t start, int64_t count, int64_t ahead)
{
    uint32_t pages = cache->runs.pages;
    if (start >= pages)
        return true;
    uint32_t first = (uint32_t)start, end = count < pages - first ? first + (uint32_t)count : pages;
    int64_t mark = ahead > 0 && ahead <= end - first ? (int64_t)end - ahead : -1;
    const uint32_t batch_pages = (uint32_t)(READ_BYTES_MAX / cache->spec.page_bytes);
    bool good = true;
    for (uint32_t page = first; page < end && good;) {
        uint32_t run = page_runs_find(&cache->runs, page), stop = run_end(&cache->runs, run);
        stop = stop < end ? stop : end;
        if (place_is_there(run_place(&cache->runs, run))) {
            issue_batch(cache);
            page = stop;
            continue;
        }
        if (cache->batch_first == cache->batch_end)
            cache->batch_first = cache->batch_end = page;
        uint32_t left = batch_pages - (cache->batch_end - cache->batch_first);
        uint32_t added = add_piece(cache, page, stop - page < left ? stop - page : left);
        good = added > 0;
        if (good && mark >= page && mark < page + added)
            mark_set(cache, (uint32_t)mark);
        page += added;
        if (cache->batch_end - cache->batch_first == batch_pages)
            issue_batch(cache);
    }
    issue_batch(cache);
    return good;
}

/* ---- Windows ---- */

static int64_t next_size(int64_t size, int64_t most)
{
    return size < most / 16 ? 4 * size : size <= most / 2 ? 2 * size : most;
}

static bool read_ahead(struct page_cache *cache, int64_t first, int64_t count, int64_t ahead)
{
    return read_window(cache, first, count, ahead) || !cache->spec.relief;
}

bool readahead_sync(struct page_cache *cache, struct page_process *process, uint32_t page)
{
    const int64_t window = cache->spec.window_pages;
    if (is_folio(cache) && cache->spec.advice != PAGES_RANDOM) {
        process->start = page;
        process->size = window;
        process->async = window / 2;
        return read_ahead(cache, process->start, process->size, process->async);
    }
    switch (cache->spec.advice) {
    case PAGES_RANDOM:
        return true;
    case PAGES_SEQUENTIAL:
        if (page > 0)
            return read_ahead(cache, page, window, 0);
        process->start = 0;
        process->size = window;
        process->async = window / 2;
        break;
    case PAGES_NORMAL:
        if (process->misses < MISSES_MAX)
            process->misses++;
        if (process->misses > LOTS_OF_MISSES)
            return true;
        process->start = (int64_t)page > window / 2 ? (int64_t)page - window / 2 : 0;
        process->size = window;
        process->async = window / 4;
        break;
    }
    return read_ahead(cache, process->start, process->size, process->async);
}

/* The first absent page after `page`, looking at no more than `most`. */
static int64_t next_absent(struct page_cache *cache, uint32_t page, int64_t most)
{
    int64_t at = (int64_t)page + 1, limit = at + most;
    while (at < limit && at < cache->runs.pages) {
        uint32_t run = page_runs_find(&cache->runs, (uint32_t)at);
        if (!place_is_there(run_place(&cache->runs, run)))
            return at;
        at = run_end(&cache->runs, run);
    }
    return at < limit ? at : limit;
}

bool readahead_async(struct page_cache *cache, struct page_process *process, uint32_t page)
{
    const int64_t window = cache->spec.window_pages;
    if (page == process->start + process->size - process->async) {
        process->start += process->size;
        process->size = next_size(process->size, window);
    } else {
        int64_t absent = next_absent(cache, page, window);
        if (absent - page > window)
            return true;
        process->start = absent;
        process->size = next_size(absent - page + window, window);
    }
    /* The order of folios rises by 2 with each window, and is put back to 0 where folios are single pages; the end was
     * aligned to it meanwhile (page_cache_async_ra). */
    int64_t align = window & -window;
    align = align < 4 ? align : 4;
    int64_t end = (process->start + process->size) / align * align;
    if (end > process->start)
        process->size = end - process->start;
    process->async = process->size;
    return read_ahead(cache, process->start, process->size, process->async);
}
