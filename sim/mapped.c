/* The mapped loader: a step touches the pages of its blocks in order while it computes. */
#include "sim/mapped.h"

#include "base/wide.h"
#include "sim/mapped_state.h"
#include "sim/placing.h"

/* ---- The page cache's books and the run's ---- */

void mapped_take_counts(struct run_state *run)
{
    struct mapped *m = run->mapped;
    const uint64_t page = m->layout.page_bytes;
    m->counts = page_cache_counts(m->cache);
    m->epoch = m->counts.scanned + 1;
    run->numbers.major_faults = m->counts.major_faults;
    run->numbers.minor_faults = m->counts.minor_faults;
    run->numbers.refaults = m->counts.refaults;
    run->numbers.bytes_read = run->header_bytes_read + m->counts.pages_read * page;
    run->numbers.bytes_readahead_wasted = m->counts.unused_evicted * page;
    run->host.evictions = m->counts.evicted;
}

static bool set_class(struct run_state *run, enum memory_class class, uint64_t bytes)
{
    return run->ledger.now_bytes[class] == bytes || pressure_set(run->pressure, class, bytes, run_pressure_ns(run));
}

bool mapped_sync(struct run_state *run)
{
    const struct mapped *m = run->mapped;
    const uint64_t page = m->layout.page_bytes, resident = page_cache_resident(m->cache);
    const uint64_t tables = page_cache_charged(m->cache) - resident, peak = page_cache_peak_resident(m->cache);
    mapped_take_counts(run);
    if (run->marks_reached < LOAD_MARKS)
        run->loaded_bytes = page_cache_seen(m->cache, m->first_page) * page;
    /* What is gone first: then growth is not settled against pages that are there no more. */
    if (resident * page < run->ledger.now_bytes[MEMORY_FILE])
        set_class(run, MEMORY_FILE, resident * page);
    bool lives = set_class(run, MEMORY_PAGE_TABLES, tables * page);
    /* Where the cache has reclaimed by itself, it held more in between: up to its limit. */
    const uint64_t most = m->limit_pages > tables ? m->limit_pages - tables : 0, held = peak < most ? peak : most;
    if (held * page > run->ledger.peak_bytes[MEMORY_FILE])
        lives = set_class(run, MEMORY_FILE, held * page) && lives;
    /* Settling may have reclaimed. */
    return set_class(run, MEMORY_FILE, page_cache_resident(m->cache) * page) && lives;
}

void mapped_set_limit(struct run_state *run)
{
    struct mapped *m = run->mapped;
    m->limit_pages = page_cache_charged(m->cache) + pressure_file_room(run->pressure) / m->layout.page_bytes;
    page_cache_set_limit(m->cache, m->limit_pages);
}

bool mapped_relieve(struct run_state *run)
{
    bool lives = mapped_sync(run) && pressure_relieve(run->pressure, run_pressure_ns(run)) && mapped_sync(run);
    mapped_set_limit(run);
    return lives;
}

void mapped_settle(struct run_state *run, int64_t time_ns)
{
    int64_t now_ns = run->now_ns;
    run->now_ns = time_ns; /* the clock that the cache looks at */
    page_cache_settle(run->mapped->cache);
    run->now_ns = now_ns;
}

void mapped_await_reads(struct run_state *run)
{
    const int64_t start_ns = run->now_ns, done_ns = page_cache_reads_done_ns(run->mapped->cache);
    if (done_ns <= start_ns)
        return;
    run_move_to(run, done_ns);
    run_book_stall(run, start_ns);
    mapped_settle(run, run->now_ns);
}

void mapped_numbers(const struct run_state *run, struct run_numbers *numbers)
{
    numbers->process_count = run->processes;
    for (uint32_t process = 0; process < run->processes; process++)
        numbers->processes[process] = page_cache_process_counts(run->mapped->cache, process);
}

/* ---- Touches ---- */

static int64_t walked_ns(const struct page_walk *walk)
{
    return (int64_t)((wide)walk->compute_ns * walk->done / walk->total);
}

static void die(struct run_state *run)
{
    const char *rule = pressure_killed_by(run->pressure);
    run_kill(run, rule ? rule : run->spec->device.pressure.rule == KILL_MEMORY_LIMITER ? "memory_limiter" : "oom");
}

bool mapped_book(struct run_state *run, int64_t start_ns, int64_t computed_ns, bool good)
{
    bool lives = mapped_sync(run) && (good || (run->mapped->below_marks && mapped_relieve(run)));
    run->numbers.compute_ns += computed_ns;
    run_book_stall(run, start_ns + computed_ns);
    if (!lives)
        die(run);
    else
        run_move_to(run, run->now_ns);
    return good;
}

bool mapped_touch(struct run_state *run, uint32_t process, struct page_walk *walk)
{
    while (walk->next < walk->end) {
        int64_t start_ns = run->now_ns, before_ns = walked_ns(walk);
        mapped_set_limit(run);
        bool good = page_cache_touch(run->mapped->cache, process, walk, run->attention_ns + 1);
        mapped_book(run, start_ns, walked_ns(walk) - before_ns, good);
        if (!run_goes_on(run))
            return false;
    }
    return true;
}

static void count_hit(struct run_state *run, block_id b)
{
    uint64_t bytes = run->host.blocks[b].bytes;
    run->host.access_count++;
    run->numbers.bytes_accessed += bytes;
    run->numbers.hits++;
    run->numbers.bytes_hit += bytes;
    run->blocks[b].accesses++;
    run->blocks[b].hits++;
}

/* An access that had to wait: for a page in flight, or for pages that were absent. */
static void count_wait(struct run_state *run, block_id b, bool missed)
{
    run->host.access_count++;
    run->numbers.bytes_accessed += run->host.blocks[b].bytes;
    *(missed ? &run->numbers.misses : &run->numbers.delayed_hits) += 1;
    run->blocks[b].accesses++;
    run->blocks[b].loads += missed;
}

/* False: the run is over. */
static bool use(struct run_state *run, uint32_t process, block_id b, struct page_walk *walk)
{
    struct mapped *m = run->mapped;
    const struct page_counts before = m->counts;
    const uint64_t epoch = m->epoch;
    bool good = true;
    for (uint32_t r = m->layout.first[b]; r < m->layout.first[b + 1] && good; r++) {
        uint64_t next = mapped_layout_next(m->layout.ranges[r].first, m->stride);
        walk->end = m->layout.ranges[r].end;
        walk->next = next < walk->end ? (uint32_t)next : walk->end;
        good = mapped_touch(run, process, walk);
    }
    bool missed = m->counts.major_faults > before.major_faults;
    if (missed || m->counts.waits > before.waits)
        count_wait(run, b, missed);
    else
        count_hit(run, b);
    run->blocks[b].bytes_read += (m->counts.pages_read - before.pages_read) * m->layout.page_bytes;
    run_loaded(run, run->loaded_bytes);
    if (good)
        m->known[(uint64_t)process * run->model->block_count + b] = epoch;
    return good;
}

/* A step that changes no page: only its computing takes time. */
static void compute(struct run_state *run, int64_t ns)
{
    int64_t start_ns = run->now_ns;
    run_move_to(run, start_ns + ns);
    run->numbers.compute_ns += run->now_ns - start_ns;
}

/* What a hot processor makes of it, at most 100 times as much, is a time too. */
#define TLB_MAX_NS ((wide)1 << 54)

/* ns: what it computes on a device that is not hot, which it is or was at begin_ns. */
static void step(struct run_state *run, uint32_t process, const uint32_t *uses, uint32_t count, int64_t ns,
                 int64_t begin_ns)
{
    const struct mapped *m = run->mapped;
    const uint64_t *known = m->known + (uint64_t)process * run->model->block_count;
    uint64_t touches = 0;
    bool all_known = true;
    for (uint32_t i = 0; i < count; i++) {
        if (uses[i] & USE_AGAIN)
            continue;
        touches += m->touches[uses[i] & USE_BLOCK];
        all_known = all_known && known[uses[i] & USE_BLOCK] == m->epoch;
    }
    const wide tlb_ns = (wide)touches * (uint64_t)run->spec->device.tlb_miss_ns;
    if (tlb_ns > TLB_MAX_NS) {
        run->failed = !fail(run->err, STATUS_USAGE, "a step computes for over 208 days (device.tlb_miss)");
        return;
    }
    ns = heat_compute_ns(&run->heat, begin_ns, ns + (int64_t)tlb_ns);
    /* Where another app may come between, it matters when each page is touched. */
    if (touches == 0 || (all_known && run->now_ns + ns <= run->attention_ns)) {
        for (uint32_t i = 0; i < count; i++) {
            if (!(uses[i] & USE_AGAIN))
                count_hit(run, uses[i] & USE_BLOCK);
        }
        compute(run, ns);
        return;
    }
    struct page_walk walk = {.stride = m->stride, .compute_ns = ns, .total = touches};
    for (uint32_t i = 0; i < count; i++) {
        if (!(uses[i] & USE_AGAIN) && !use(run, process, uses[i] & USE_BLOCK, &walk))
            return;
    }
}

void mapped_token(struct run_state *run, const struct segment *segment, uint32_t repeat, uint64_t context)
{
    const struct trace *trace = run->trace;
    (void)repeat;
    run->first_token_ns = -1;
    for (uint32_t process = 0; process < run->processes; process++) {
        for (uint32_t i = 0; i < segment->step_count; i++) {
            uint32_t index = segment->first_step + i, begin = trace_step_begin(trace, index);
            const int64_t begin_ns = run->now_ns;
            if (!placing_step_begin(run, segment->activation_bytes))
                return;
            step(run, process, trace->uses + begin, trace_step_begin(trace, index + 1) - begin,
                 run_step_ns(run, index, context), begin_ns);
            if (!run_goes_on(run))
                return;
            if (begin == run->layer_use)
                run_layer_is_there(run);
            placing_step_end(run);
        }
        if (process == 0)
            run->first_token_ns = run->now_ns;
    }
}
