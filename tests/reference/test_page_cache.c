/* The page cache against its page-by-page twin: random files, limits, advices and walks; after each step both must have
 * the same counts, clock, lists, charges, flash, and the same pages in memory.
 *
 * POCKETLOAD_SEED=N runs the case of one seed (with its lists, and with generations) and prints its steps;
 * POCKETLOAD_CASES=N sets how many cases are run. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_page_state.h"
#include "tests/reference/page_case.h"

enum {
    CASES = 2000,
    MGLRU_CASES = 1000,
    PASSES = 24,
    STEPS_MAX = 40,
    PAGES_EACH_PIECE = 200, /* up to these the pages in memory are compared after each piece of a walk too */
};

struct coverage {
    uint64_t evicted, refaults, activations, unused, waits, failed, cut, locked, relieved, gib, large, no_window,
        generations, exits, warm, warm_cut;
};

/* ---- Comparison ---- */

static bool same(const struct page_case *c, const char *what, uint64_t fast, uint64_t twin)
{
    if (fast != twin)
        print_message("# seed %llu, step %u: %s: %llu, the twin has %llu\n", (unsigned long long)c->seed, c->steps,
                      what, (unsigned long long)fast, (unsigned long long)twin);
    return fast == twin;
}

static bool same_counts(const struct page_case *c, const struct either *a, const struct either *b)
{
    struct page_counts x = either_counts(a), y = either_counts(b);
    uint64_t xs[3], ys[3];
    either_sizes(a, &xs[0], &xs[1], &xs[2]);
    either_sizes(b, &ys[0], &ys[1], &ys[2]);
    return (int)same(c, "major_faults", x.major_faults, y.major_faults) &
           (int)same(c, "minor_faults", x.minor_faults, y.minor_faults) &
           (int)same(c, "pages_read", x.pages_read, y.pages_read) & (int)same(c, "refaults", x.refaults, y.refaults) &
           (int)same(c, "activations", x.activations, y.activations) & (int)same(c, "evicted", x.evicted, y.evicted) &
           (int)same(c, "unused_evicted", x.unused_evicted, y.unused_evicted) &
           (int)same(c, "scanned", x.scanned, y.scanned) & (int)same(c, "waits", x.waits, y.waits) &
           (int)same(c, "inactive", xs[0], ys[0]) & (int)same(c, "active", xs[1], ys[1]) &
           (int)same(c, "locked", xs[2], ys[2]);
}

static bool same_by_process(const struct page_case *c, const struct either *a, const struct either *b)
{
    bool good = true;
    for (uint32_t q = 0; q < c->spec.processes; q++) {
        struct page_process_counts x = either_process_counts(a, q), y = either_process_counts(b, q);
        good = (int)same(c, "major faults of a process", x.major_faults, y.major_faults) &
               (int)same(c, "minor faults of a process", x.minor_faults, y.minor_faults) &
               (int)same(c, "its tables", x.table_bytes, y.table_bytes) & (int)good;
    }
    return good;
}

static bool same_state(const struct page_case *c, const struct either *a, const struct either *b)
{
    int64_t a_done = either_reads_done_ns(a), b_done = either_reads_done_ns(b);
    a_done = a_done > a->now_ns ? a_done : a->now_ns;
    b_done = b_done > b->now_ns ? b_done : b->now_ns;
    return (int)same(c, "clock", (uint64_t)a->now_ns, (uint64_t)b->now_ns) &
           (int)same(c, "reads done", (uint64_t)a_done, (uint64_t)b_done) &
           (int)same(c, "charged", either_charged(a), either_charged(b)) &
           (int)same(c, "resident", either_resident(a), either_resident(b)) &
           (int)same(c, "locked", either_locked(a), either_locked(b)) &
           (int)same(c, "peak", either_peak_resident(a), either_peak_resident(b)) &
           (int)same(c, "tables", either_table_bytes(a), either_table_bytes(b)) &
           (int)same(c, "link_free_ns", (uint64_t)a->flash.link_free_ns, (uint64_t)b->flash.link_free_ns) &
           (int)same(c, "in_flight", a->flash.in_flight, b->flash.in_flight) &
           (int)same(c, "busy_ns", (uint64_t)a->flash.busy_ns, (uint64_t)b->flash.busy_ns) &
           (int)same(c, "moved_bytes", a->flash.moved_bytes, b->flash.moved_bytes) &
           (int)same(c, "relief calls", c->hosts[0].calls, c->hosts[1].calls) &
           (int)same(c, "seen", either_seen(a, 0), either_seen(b, 0)) &
           (int)same(c, "seen from a third on", either_seen(a, c->spec.pages / 3), either_seen(b, c->spec.pages / 3)) &
           (int)same(c, "limit", c->hosts[0].limit_pages, c->hosts[1].limit_pages);
}

static bool same_pages(const struct page_case *c)
{
    for (uint32_t i = 0; i < c->spec.pages; i++)
        if (either_has(&c->sides[0], i) != either_has(&c->sides[1], i)) {
            print_message("# seed %llu, step %u: page %u is in memory for one only: %d, the twin has %d\n",
                          (unsigned long long)c->seed, c->steps, i, either_has(&c->sides[0], i),
                          either_has(&c->sides[1], i));
            return false;
        }
    return true;
}

/* After a step; results of its calls have been compared. A step that found no memory ends the case. */
static bool compare_all(struct page_case *c, bool results_agree, bool pages_too)
{
    c->steps++;
    bool good = results_agree;
    if (!results_agree)
        print_message("# seed %llu, step %u: one failed or answered otherwise\n", (unsigned long long)c->seed,
                      c->steps);
    if (c->failed && good)
        return true;
    for (int i = 0; i < 2; i++)
        either_settle(&c->sides[i]);
    good = (int)same_counts(c, &c->sides[0], &c->sides[1]) & (int)same_state(c, &c->sides[0], &c->sides[1]) &
           (int)same_by_process(c, &c->sides[0], &c->sides[1]) & (int)good;
    return (int)good & (int)(!pages_too || same_pages(c));
}

static bool compare(struct page_case *c, bool results_agree)
{
    return compare_all(c, results_agree, true);
}

/* ---- Steps ---- */

/* A walk to its end, or in pieces that the clock cuts. */
static bool step_walk(struct page_case *c, uint32_t first, uint32_t end, uint32_t stride, struct coverage *coverage)
{
    struct rng *rng = &c->rng;
    const uint32_t process = (uint32_t)rng_below(rng, c->spec.processes);
    struct page_walk walks[2];
    walks[0] = (struct page_walk){.next = first,
                                  .end = end,
                                  .stride = stride,
                                  .compute_ns = chance(rng, 50) ? 0 : (int64_t)scaled(rng, 1, UINT64_C(1) << 40),
                                  .total = (end - first + stride - 1) / stride};
    walks[1] = walks[0];
    const bool in_pieces = chance(rng, 25);
    if (c->log)
        print_message("# step %u: process %u touches %u to %u by %u, compute %lld ns%s\n", c->steps + 1, process, first,
                      end, stride, (long long)walks[0].compute_ns, in_pieces ? ", in pieces" : "");
    for (uint32_t pieces = 0; walks[1].done < walks[1].total && !c->failed; pieces++) {
        int64_t until_ns = INT64_MAX;
        bool done[2];
        if (in_pieces && pieces < 12)
            until_ns = c->sides[1].now_ns + 1 + (int64_t)scaled(rng, 1, UINT64_C(1) << 34);
        for (int i = 0; i < 2; i++)
            done[i] = either_touch(&c->sides[i], process, &walks[i], until_ns);
        c->failed = !done[1];
        coverage->cut += walks[1].done < walks[1].total;
        bool agree = done[0] == done[1] && (c->failed || walks[0].done == walks[1].done);
        if (!compare_all(c, agree, walks[1].done == walks[1].total || c->spec.pages <= PAGES_EACH_PIECE))
            return false;
    }
    return true;
}

static bool step_range(struct page_case *c, struct coverage *coverage)
{
    struct rng *rng = &c->rng;
    const uint32_t pages = c->spec.pages, first = (uint32_t)rng_below(rng, pages);
    const uint32_t most = pages - first,
                   count = (uint32_t)(chance(rng, 50) ? between(rng, 1, most) : scaled(rng, 1, most));
    uint32_t stride = chance(rng, 60) ? 1 : (uint32_t)scaled(rng, 1, 300);
    return step_walk(c, first, first + count, stride, coverage);
}

/* Passes over the file or a range of it, in blocks as a runtime touches it. */
static bool step_passes(struct page_case *c, uint32_t passes, struct coverage *coverage)
{
    struct rng *rng = &c->rng;
    uint32_t first = 0, end = c->spec.pages, stride = chance(rng, 85) ? 1 : (uint32_t)between(rng, 2, 40);
    if (chance(rng, 30)) {
        first = (uint32_t)rng_below(rng, end);
        end = (uint32_t)between(rng, first + 1, end);
    }
    const uint32_t blocks = chance(rng, 60) ? 1 : (uint32_t)between(rng, 2, 5),
                   size = (end - first + blocks - 1) / blocks;
    bool good = true;
    for (uint32_t i = 0; i < passes * blocks && good && !c->failed; i++) {
        uint32_t at = first + i % blocks * size;
        if (at < end)
            good = step_walk(c, at, size < end - at ? at + size : end, stride, coverage);
    }
    return good;
}

static bool step_hot(struct page_case *c, struct coverage *coverage)
{
    struct rng *rng = &c->rng;
    const uint32_t pages = c->spec.pages, hot = (uint32_t)rng_below(rng, pages);
    const uint32_t count = (uint32_t)between(rng, 1, pages - hot < 60 ? pages - hot : 60);
    bool good = true;
    for (uint64_t i = between(rng, 2, 6); i > 0 && good && !c->failed; i--)
        good = step_walk(c, hot, hot + count, 1, coverage) && (c->failed || step_range(c, coverage));
    return good;
}

static bool step_willneed(struct page_case *c)
{
    struct rng *rng = &c->rng;
    const uint32_t first = (uint32_t)rng_below(rng, c->spec.pages);
    const uint32_t end = (uint32_t)between(rng, first, c->spec.pages);
    bool done[2];
    if (c->log)
        print_message("# step %u: willneed %u to %u\n", c->steps + 1, first, end);
    for (int i = 0; i < 2; i++)
        done[i] = either_willneed(&c->sides[i], 0, first, end);
    c->failed = !done[1];
    return compare(c, done[0] == done[1]);
}

static bool step_lock(struct page_case *c)
{
    struct rng *rng = &c->rng;
    if (c->lock_pages == 0)
        return true;
    const uint32_t count = (uint32_t)between(rng, 1, c->lock_pages),
                   process = (uint32_t)rng_below(rng, c->spec.processes);
    const uint32_t first = (uint32_t)rng_below(rng, c->spec.pages - count + 1);
    bool done[2];
    if (c->log)
        print_message("# step %u: process %u locks %u to %u\n", c->steps + 1, process, first, first + count);
    for (int i = 0; i < 2; i++)
        done[i] = either_lock(&c->sides[i], process, first, first + count);
    c->failed = !done[1];
    c->lock_pages -= count;
    return compare(c, done[0] == done[1]);
}

static bool step_memory(struct page_case *c)
{
    struct rng *rng = &c->rng;
    if (chance(rng, 50)) {
        uint64_t limit = c->least_pages + scaled(rng, 1, c->spec.pages);
        if (c->log)
            print_message("# step %u: limit %llu\n", c->steps + 1, (unsigned long long)limit);
        page_case_limit(c, limit);
        return compare(c, true);
    }
    uint64_t got[2], wanted = scaled(rng, 1, 300);
    if (c->log)
        print_message("# step %u: reclaim %llu\n", c->steps + 1, (unsigned long long)wanted);
    for (int i = 0; i < 2; i++)
        got[i] = either_reclaim(&c->sides[i], wanted);
    return compare(c, got[0] == got[1]);
}

/* A process ends; another one maps the file in its place. */
static bool step_exit(struct page_case *c, struct coverage *coverage)
{
    const uint32_t process = (uint32_t)rng_below(&c->rng, c->spec.processes);
    if (c->log)
        print_message("# step %u: process %u ends\n", c->steps + 1, process);
    for (int i = 0; i < 2; i++)
        either_exit(&c->sides[i], process);
    coverage->exits++;
    return compare(c, true);
}

static bool step_idle(struct page_case *c)
{
    int64_t ns = (int64_t)scaled(&c->rng, 1, UINT64_C(1) << 32);
    if (c->log)
        print_message("# step %u: idle for %lld ns\n", c->steps + 1, (long long)ns);
    for (int i = 0; i < 2; i++)
        c->sides[i].now_ns += ns;
    return compare(c, true);
}

static bool step(struct page_case *c, struct coverage *coverage)
{
    uint64_t kind = rng_below(&c->rng, 100);
    if (kind < 40)
        return step_range(c, coverage);
    if (kind < 55)
        return step_passes(c, (uint32_t)between(&c->rng, 1, 4), coverage);
    if (kind < 70)
        return step_hot(c, coverage);
    if (kind < 78)
        return step_willneed(c);
    if (kind < 83)
        return step_lock(c);
    if (kind < 93)
        return step_memory(c);
    return kind < 96 ? step_exit(c, coverage) : step_idle(c);
}

/* Some start with a part of the file in memory. */
static bool step_warm(struct page_case *c, struct coverage *coverage)
{
    struct rng rng;
    rng_seed(&rng, c->seed, 1);
    if (!chance(&rng, 25))
        return true;
    const uint32_t wanted = (uint32_t)between(&rng, 0, c->spec.pages);
    uint32_t got[2];
    for (int i = 0; i < 2; i++)
        got[i] = either_warm(&c->sides[i], wanted);
    if (c->log)
        print_message("# step %u: %u of %u pages warm\n", c->steps + 1, got[1], wanted);
    coverage->warm += got[1] > 0;
    coverage->warm_cut += got[1] < wanted;
    return compare(c, got[0] == got[1]);
}

/* ---- Runs ---- */

/* A file larger than the limit, around and around. */
static bool run_cyclic(struct page_case *c, struct coverage *coverage)
{
    struct rng *rng = &c->rng;
    uint64_t share = between(rng, 10, 99), limit = c->spec.pages * share / 100;
    if (c->large)
        limit = between(rng, LARGE_LIST + 5000, c->spec.pages);
    page_case_limit(c, limit > c->least_pages ? limit : c->least_pages);
    bool good =
        step_warm(c, coverage) && (chance(rng, 80) || step_lock(c)) && step_passes(c, c->large ? 3 : PASSES, coverage);
    for (int i = 0; i < 3 && good && !c->failed && !c->large; i++)
        good = step(c, coverage) && (c->failed || step_passes(c, 2, coverage));
    return good;
}

/* Hot pages, then some cold ones, again and again: what comes back before long becomes active. */
static bool run_hot(struct page_case *c, struct coverage *coverage)
{
    struct rng *rng = &c->rng;
    const uint32_t pages = c->spec.pages, hot = (uint32_t)between(rng, 1, pages / 2 + 1), cold = pages - hot;
    page_case_limit(c, c->least_pages + hot * between(rng, 20, 150) / 100 + rng_below(rng, cold / 2 + 1));
    uint32_t at = 0, stride = chance(rng, 70) ? 1 : (uint32_t)between(rng, 2, 20);
    bool good = step_warm(c, coverage);
    for (uint64_t i = between(rng, 5, PASSES); i > 0 && good && !c->failed; i--) {
        good = step_walk(c, 0, hot, stride, coverage);
        const uint32_t count = cold > 0 ? (uint32_t)between(rng, 1, cold - at) : 0;
        if (good && !c->failed && count > 0)
            good = step_walk(c, hot + at, hot + at + count, 1, coverage);
        at = cold > 0 ? (at + count) % cold : 0;
        if (good && !c->failed && chance(rng, 10))
            good = step(c, coverage);
    }
    return good;
}

static bool run_mixed(struct page_case *c, struct coverage *coverage)
{
    page_case_limit(c, c->least_pages + scaled(&c->rng, 1, c->spec.pages));
    bool good = step_warm(c, coverage);
    while (good && !c->failed && c->steps < STEPS_MAX)
        good = step(c, coverage);
    return good;
}

static bool run_case(struct page_case *c, struct coverage *coverage)
{
    if (c->kind == CASE_CYCLIC)
        return run_cyclic(c, coverage);
    return c->kind == CASE_HOT ? run_hot(c, coverage) : run_mixed(c, coverage);
}

static bool agree(uint64_t seed, enum page_lists lists, bool log, struct coverage *coverage)
{
    static struct page_case c;
    page_case_make(&c, seed, lists);
    c.log = log;
    if (log)
        page_case_print(&c);
    bool good = run_case(&c, coverage);
    if (!good) {
        page_case_print(&c);
        print_message("# POCKETLOAD_SEED=%llu shows the steps\n", (unsigned long long)seed);
    }
    struct page_counts counts = either_counts(&c.sides[1]);
    uint64_t inactive, active, locked;
    either_sizes(&c.sides[1], &inactive, &active, &locked);
    for (uint32_t q = 0; q < c.spec.processes; q++)
        coverage->no_window += c.sides[1].twin->processes[q].misses > MISSES_NO_WINDOW;
    coverage->evicted += counts.evicted > 0;
    coverage->refaults += counts.refaults > 0;
    coverage->activations += counts.activations > 0;
    coverage->unused += counts.unused_evicted > 0;
    coverage->waits += counts.waits > 0;
    coverage->failed += c.failed;
    coverage->generations += c.sides[1].twin->max_seq > 8;
    coverage->locked += locked > 0;
    coverage->relieved += c.hosts[1].calls > 0;
    coverage->gib += (inactive + active) * c.spec.page_bytes >> 30 > 0 && counts.evicted > 0;
    coverage->large += inactive > LARGE_LIST && counts.evicted > 0;
    arena_free(&c.arena);
    return good;
}

static void print_coverage(const struct coverage *seen)
{
    print_message(
        "# cases with evictions %llu, refaults %llu, activations %llu, readahead in vain %llu, waits %llu, no "
        "memory %llu, locks %llu, relief %llu, lists over 1 GiB %llu, over %d pages %llu, many misses %llu, over 8 "
        "generations %llu; warm %llu, cut by the limit %llu; walks cut %llu\n",
        (unsigned long long)seen->evicted, (unsigned long long)seen->refaults, (unsigned long long)seen->activations,
        (unsigned long long)seen->unused, (unsigned long long)seen->waits, (unsigned long long)seen->failed,
        (unsigned long long)seen->locked, (unsigned long long)seen->relieved, (unsigned long long)seen->gib, LARGE_LIST,
        (unsigned long long)seen->large, (unsigned long long)seen->no_window, (unsigned long long)seen->generations,
        (unsigned long long)seen->warm, (unsigned long long)seen->warm_cut, (unsigned long long)seen->cut);
}

static uint64_t cases_to_run(uint64_t usual)
{
    const char *count = getenv("POCKETLOAD_CASES");
    return count != NULL ? strtoull(count, NULL, 10) : usual;
}

static void twin_agrees(void **state)
{
    (void)state;
    struct coverage seen = {0};
    const char *one = getenv("POCKETLOAD_SEED");
    if (one != NULL) {
        const uint64_t seed = strtoull(one, NULL, 10);
        assert_true(agree(seed, page_case_lists(seed), true, &seen));
        return;
    }
    uint64_t cases = cases_to_run(CASES), failed = 0;
    for (uint64_t seed = 1; seed <= cases && failed < 10; seed++)
        failed += !agree(seed, page_case_lists(seed), false, &seen);
    print_coverage(&seen);
    assert_int_equal(failed, 0);
    /* The cases must reach the rules that are told apart only rarely. */
    if (cases >= CASES) {
        assert_true(seen.evicted >= 1000 && seen.refaults >= 1000 && seen.activations >= 300);
        assert_true(seen.unused >= 400 && seen.waits >= 1500 && seen.cut >= 10000);
        assert_true(seen.failed >= 3 && seen.failed <= 100);
        assert_true(seen.locked >= 60 && seen.relieved >= 100 && seen.gib >= 20 && seen.large >= 3);
        assert_true(seen.no_window >= 10 && seen.exits >= 500 && seen.warm >= 300 && seen.warm_cut >= 100);
    }
}

/* The same cases, all with generations. */
static void twin_agrees_on_generations(void **state)
{
    (void)state;
    struct coverage seen = {0};
    const char *one = getenv("POCKETLOAD_SEED");
    if (one != NULL) {
        assert_true(agree(strtoull(one, NULL, 10), LISTS_MGLRU, true, &seen));
        return;
    }
    uint64_t cases = cases_to_run(MGLRU_CASES), failed = 0;
    for (uint64_t seed = 1; seed <= cases && failed < 10; seed++)
        failed += !agree(seed, LISTS_MGLRU, false, &seen);
    print_coverage(&seen);
    assert_int_equal(failed, 0);
    if (cases >= MGLRU_CASES) {
        assert_true(seen.evicted >= 500 && seen.refaults >= 500 && seen.activations >= 200);
        assert_true(seen.generations >= 300 && seen.locked >= 30 && seen.relieved >= 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(twin_agrees), cmocka_unit_test(twin_agrees_on_generations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
