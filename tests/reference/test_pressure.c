/* Memory pressure against its naive twin: random phones, and random sequences of growth, time, file pages and tokens.
 *
 * POCKETLOAD_SEED=N reruns the case of one seed and prints each call; POCKETLOAD_CASES=N sets how many are compared. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_pressure.h"

enum { CASES = 4000, CALLS = 60, MIB = 1 << 20 };

/* A file cache that gives back what it has, in batches of 32 pages, now and then only a part of what is asked. */
struct fake_file {
    uint64_t bytes, locked_bytes, refaults, page_bytes, calls;
};

static uint64_t fake_reclaim(void *host, uint64_t bytes)
{
    struct fake_file *file = host;
    uint64_t batch = 32 * file->page_bytes;
    uint64_t ask = (bytes + batch - 1) / batch * batch;
    if (++file->calls % 3 == 0 && ask > batch)
        ask = batch * 2;
    uint64_t there = file->bytes - file->locked_bytes;
    uint64_t got = ask < there ? ask : there;
    file->bytes -= got;
    return got;
}

static uint64_t fake_refaults(void *host)
{
    return ((struct fake_file *)host)->refaults;
}

/* Both models and what they stand on. */
struct world {
    struct rng rng;
    struct pressure_spec spec;
    struct app_spec apps[PRESSURE_APPS_MAX];
    uint64_t ram, os, other;
    bool mapped, log;
    struct ledger ledger;
    struct pressure *fast;
    struct naive_pressure naive;
    struct fake_file files[2]; /* fast, naive */
    int64_t now_ns;
    bool alive;
};

/* What all cases together met: each has to be met, or the test compares little. */
struct tally {
    uint64_t kills[4]; /* of other apps by lmkd, jetsam, oom; of the app */
    uint64_t deaths[6];
    uint64_t swapped, touched, relieved, granted, thrashed, sent_out;
};

static uint64_t between(struct rng *rng, uint64_t low, uint64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

static bool chance(struct rng *rng, uint64_t of)
{
    return rng_below(rng, of) == 0;
}

static void random_apps(struct world *w)
{
    static const int32_t adjs[] = {-1000, -900, 0, 0, 100, 200, 201, 900, 900, 905, 1001};
    struct rng *rng = &w->rng;
    w->spec.app_count = chance(rng, 3) ? 0 : (uint32_t)between(rng, 1, chance(rng, 4) ? 12 : 4);
    uint64_t left = w->ram - w->os - w->other;
    for (uint32_t i = 0; i < w->spec.app_count; i++) {
        struct app_spec *app = &w->apps[i];
        app->adj = adjs[rng_below(rng, sizeof adjs / sizeof *adjs)];
        app->bytes = chance(rng, 3) ? rng_below(rng, left / 2 + 1) : between(rng, 0, 4) * MIB;
        app->bytes = app->bytes < left ? app->bytes : left;
        app->start_ns = chance(rng, 2) ? 0 : (int64_t)(between(rng, 1, 6) * 100000000);
        left -= app->start_ns == 0 ? app->bytes : 0;
        app->growth_bps = chance(rng, 2) ? between(rng, MIB, 40 * MIB) : 0;
        app->most_bytes = app->bytes + rng_below(rng, 20 * MIB);
    }
    w->spec.apps = w->apps;
}

static void random_phone(struct world *w)
{
    struct rng *rng = &w->rng;
    struct pressure_spec *spec = &w->spec;
    w->ram = chance(rng, 2) ? between(rng, 16, 64) * MIB : between(rng, 16 * MIB, 64 * MIB);
    w->os = chance(rng, 3) ? 0 : rng_below(rng, w->ram / 4);
    w->other = chance(rng, 3) ? 0 : rng_below(rng, w->ram / 3);
    w->mapped = !chance(rng, 3);
    spec->rule = (enum kill_rule)rng_below(rng, 5);
    if (chance(rng, 3))
        spec->rule = KILL_LMKD;
    spec->threshold_bytes = between(rng, w->ram / 4, w->ram);
    spec->jetsam_limit_bytes = between(rng, w->ram / 4, w->ram);
    spec->max_bytes = chance(rng, 3) ? w->ram : between(rng, w->ram / 4, w->ram);
    spec->high_bytes = chance(rng, 2) ? 0 : rng_below(rng, w->ram);
    spec->swap_free_low_ppm = (uint32_t)rng_below(rng, 500001);
    spec->thrashing_limit_ppm = (uint32_t)rng_below(rng, 1000001);
    spec->thrashing_decay_ppm = chance(rng, 5) ? 1000000 : (uint32_t)rng_below(rng, 600001);
    spec->kill_timeout_ns = chance(rng, 4) ? 0 : (int64_t)rng_below(rng, 300000000);
    spec->min_free_bytes = chance(rng, 3) ? 0 : between(rng, 1, w->ram / 8);
    spec->watermark_scale = (uint32_t)rng_below(rng, 400);
    spec->zram_bytes = chance(rng, 3) ? 0 : rng_below(rng, w->ram);
    spec->zram_ratio_ppm = chance(rng, 8) ? 1000000 : (uint32_t)between(rng, 1000001, 4000000);
    spec->swap_out_ns = (int64_t)rng_below(rng, 10000);
    spec->swap_in_ns = (int64_t)rng_below(rng, 10000);
    spec->swappiness = (uint32_t)rng_below(rng, 201);
    static const int32_t own[] = {0, 0, 0, 100, 200, 500, 900, -1000, 1001};
    spec->own_adj = own[rng_below(rng, sizeof own / sizeof *own)];
    random_apps(w);
    if (chance(rng, 10)) { /* the app alone: a control group */
        w->os = w->other = spec->app_count = 0;
        spec->high_bytes = 0;
        spec->max_bytes = w->ram;
        spec->rule = KILL_MEMORY_LIMITER;
    }
}

static bool start(struct world *w, struct arena *arena)
{
    static const uint64_t pages[] = {4096, 16384, 65536};
    w->ledger.ram_bytes = w->ram;
    struct error err;
    if (!pressure_init(&w->fast, &w->spec, &w->ledger, w->os, w->other, arena, &err))
        return false;
    uint64_t page = pages[rng_below(&w->rng, 3)];
    struct file_memory file[2];
    for (int i = 0; i < 2; i++) {
        w->files[i].page_bytes = page;
        file[i] = (struct file_memory){fake_reclaim, fake_refaults, &w->files[i], page};
    }
    if (w->mapped)
        pressure_attach(w->fast, &file[0]);
    naive_pressure_start(&w->naive, &w->spec, w->ram, w->os, w->other, w->mapped ? &file[1] : NULL);
    w->alive = true;
    return true;
}

/* The first difference between the two, or "". */
static const char *difference(const struct world *w)
{
    static char text[200];
    uint64_t total = 0;
    for (int class = 0; class < MEMORY_CLASSES; class ++) {
        uint64_t fast = w->ledger.now_bytes[class], slow = naive_pressure_class(&w->naive, (enum memory_class) class);
        total += fast;
        if (fast != slow || w->ledger.peak_bytes[class] != w->naive.peak[class]) {
            snprintf(text, sizeof text, "%s: %" PRIu64 " and %" PRIu64 ", peaks %" PRIu64 " and %" PRIu64,
                     memory_class_names[class], fast, slow, w->ledger.peak_bytes[class], w->naive.peak[class]);
            return text;
        }
    }
    if (total != w->ledger.total_bytes)
        return "the classes do not add up to the total";
    bool plain = !w->mapped && w->spec.zram_bytes == 0 && w->spec.app_count == 0 && w->spec.rule <= KILL_THRESHOLD;
    if (w->alive && total > w->ram && !plain)
        return "the app lives and there is more memory than RAM";
    struct pressure_numbers fast = pressure_numbers(w->fast), slow = naive_pressure_numbers(&w->naive);
    if (memcmp(&fast, &slow, sizeof fast) != 0)
        return "numbers";
    if (fast.swap_used_bytes > w->spec.zram_bytes)
        return "there is more in zram than it holds";
    const char *a = pressure_killed_by(w->fast), *b = w->naive.killed_by;
    if ((a == NULL) != (b == NULL) || (a && strcmp(a, b) != 0))
        return "killed by";
    uint32_t count;
    const struct app_kill *kills = pressure_kills(w->fast, &count);
    if (count != w->naive.kill_count)
        return "number of kills";
    for (uint32_t i = 0; i < count; i++)
        if (kills[i].time_ns != w->naive.kills[i].time_ns || kills[i].app != w->naive.kills[i].app ||
            kills[i].bytes != w->naive.kills[i].bytes || strcmp(kills[i].rule, w->naive.kills[i].rule) != 0)
            return "a kill";
    if (w->alive && pressure_file_room(w->fast) != naive_pressure_room(&w->naive))
        return "room";
    return pressure_next_ns(w->fast) != naive_pressure_next(&w->naive) ? "next change" : "";
}

static bool set_both(struct world *w, enum memory_class class, uint64_t bytes)
{
    bool fast = pressure_set(w->fast, class, bytes, w->now_ns);
    bool slow = naive_pressure_set(&w->naive, class, bytes, w->now_ns);
    if (fast != slow)
        return false;
    w->alive = fast;
    return true;
}

static bool sync_file(struct world *w)
{
    if (w->files[0].bytes != w->files[1].bytes)
        return false;
    return set_both(w, MEMORY_FILE, w->files[0].bytes);
}

/* Adds file pages as a page cache does: as far as there is room, then by relief. */
static const char *add_pages(struct world *w, struct tally *tally)
{
    uint64_t page = w->files[0].page_bytes, want = between(&w->rng, 1, 600) * page;
    uint64_t reliefs = 0;
    while (want > 0 && w->alive && reliefs < 40) {
        uint64_t room = pressure_file_room(w->fast) / page * page;
        if (room == 0) {
            bool fast = pressure_relieve(w->fast, w->now_ns), slow = naive_pressure_relieve(&w->naive, w->now_ns);
            w->alive = fast;
            if (fast != slow)
                return "relief";
            if (fast && pressure_file_room(w->fast) < page)
                return "a relief without room";
            reliefs++;
            tally->relieved++;
            tally->granted += fast && pressure_file_room(w->fast) == page;
            if (w->files[0].bytes != w->files[1].bytes)
                return "file pages";
            if (*difference(w))
                return difference(w);
            continue;
        }
        uint64_t added = room < want ? room : want;
        want -= added;
        for (int i = 0; i < 2; i++)
            w->files[i].bytes += added;
        if (!sync_file(w))
            return "file pages";
        if (*difference(w))
            return difference(w);
    }
    uint64_t back = chance(&w->rng, 3) ? rng_below(&w->rng, 2 * w->files[0].bytes + 1) : 0;
    uint64_t lock = chance(&w->rng, 6) ? rng_below(&w->rng, w->files[0].bytes + 1) / page * page : 0;
    for (int i = 0; i < 2; i++) {
        w->files[i].refaults += back;
        w->files[i].locked_bytes += lock < w->files[i].bytes - w->files[i].locked_bytes ? lock : 0;
    }
    return "";
}

static const char *one_call(struct world *w, struct tally *tally)
{
    static const enum memory_class classes[] = {MEMORY_WEIGHTS, MEMORY_KV,       MEMORY_ACTIVATION,
                                                MEMORY_RUNTIME, MEMORY_STREAMED, MEMORY_PAGE_TABLES};
    struct rng *rng = &w->rng;
    int64_t fast_ns = -1, slow_ns = -1;
    switch (rng_below(rng, w->mapped ? 9 : 6)) {
    case 0:
        /* Often whole tenths of a second: where windows, timeouts and apps' changes meet. */
        w->now_ns += chance(rng, 2) ? (int64_t)rng_below(rng, 12) * 100000000
                                    : (int64_t)rng_below(rng, chance(rng, 4) ? 3000000000 : 100000000);
        w->alive = pressure_advance(w->fast, w->now_ns, &fast_ns);
        if (naive_pressure_advance(&w->naive, w->now_ns, &slow_ns) != w->alive || fast_ns != slow_ns)
            return "advance";
        break;
    case 1:
        tally->touched += pressure_numbers(w->fast).own_swapped_bytes > 0;
        w->alive = pressure_touch_own(w->fast, w->now_ns, &fast_ns);
        if (naive_pressure_touch(&w->naive, w->now_ns, &slow_ns) != w->alive || fast_ns != slow_ns)
            return "touch";
        break;
    case 2:
    case 3:
    case 4: {
        enum memory_class class = classes[rng_below(rng, 6)];
        uint64_t had = w->ledger.now_bytes[class];
        uint64_t bytes = chance(rng, 4) ? rng_below(rng, had + 1) : had + rng_below(rng, w->ram / 8);
        if (class == MEMORY_PAGE_TABLES)
            bytes = rng_below(rng, 64) * 4096;
        if (!set_both(w, class, bytes))
            return "set";
        break;
    }
    case 5: {
        const uint64_t bytes = rng_below(rng, w->ledger.now_bytes[MEMORY_WEIGHTS] * 5 / 4 + 8192);
        const uint64_t moved = pressure_swap_out(w->fast, MEMORY_WEIGHTS, bytes);
        if (naive_pressure_swap_out(&w->naive, MEMORY_WEIGHTS, bytes) != moved)
            return "swap out";
        tally->sent_out += moved > 0;
        break;
    }
    default:
        return add_pages(w, tally);
    }
    return "";
}

static void count(const struct world *w, struct tally *tally)
{
    static const char *const rules[] = {"lmkd", "jetsam", "oom", "threshold", "memory_limiter"};
    uint32_t kills;
    const struct app_kill *list = pressure_kills(w->fast, &kills);
    for (uint32_t i = 0; i < kills; i++)
        for (int r = 0; r < 3; r++)
            tally->kills[r] += strcmp(list[i].rule, rules[r]) == 0;
    const char *rule = pressure_killed_by(w->fast);
    for (int r = 0; r < 5 && rule; r++)
        tally->deaths[r] += strcmp(rule, rules[r]) == 0;
    tally->swapped += pressure_numbers(w->fast).swapped_out_bytes > 0;
    tally->thrashed += w->naive.limit > 0 && w->naive.limit < w->spec.thrashing_limit_ppm;
}

static void compare(uint64_t seed, bool log, struct tally *tally)
{
    struct arena arena = {0};
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    rng_seed(&w->rng, seed, 12);
    random_phone(w);
    assert_true(start(w, &arena));
    const char *found = difference(w);
    for (int call = 0; call < CALLS && w->alive && !*found; call++) {
        found = one_call(w, tally);
        if (!*found && w->mapped && w->alive && !sync_file(w))
            found = "file pages";
        if (!*found)
            found = difference(w);
        if (log)
            printf("# call %d at %" PRId64 ": free %" PRIu64 ", file %" PRIu64 ", swap %" PRIu64 ", kills %u, %s %s\n",
                   call, w->now_ns, ledger_free_bytes(&w->ledger), w->files[0].bytes,
                   pressure_numbers(w->fast).swap_used_bytes, w->naive.kill_count,
                   w->alive ? "alive" : w->naive.killed_by, found);
    }
    if (*found)
        fail_because("POCKETLOAD_SEED=%" PRIu64 ": %s", seed, found);
    count(w, tally);
    free(w);
    arena_free(&arena);
}

static void pressure_equals_its_twin(void **state)
{
    (void)state;
    struct tally tally = {0};
    const char *seed = getenv("POCKETLOAD_SEED"), *cases = getenv("POCKETLOAD_CASES");
    if (seed) {
        compare(strtoull(seed, NULL, 10), true, &tally);
        return;
    }
    uint64_t all = cases ? strtoull(cases, NULL, 10) : CASES;
    for (uint64_t i = 1; i <= all; i++)
        compare(i, false, &tally);
    printf(
        "# other apps killed: %" PRIu64 " lmkd, %" PRIu64 " jetsam, %" PRIu64 " oom; deaths: %" PRIu64 " lmkd, %" PRIu64
        " jetsam, %" PRIu64 " oom, %" PRIu64 " threshold, %" PRIu64 " memory_limiter; swapped in %" PRIu64
        " cases, %" PRIu64 " touches, %" PRIu64 " reliefs, %" PRIu64 " to one page, %" PRIu64 " limits cut\n",
        tally.kills[0], tally.kills[1], tally.kills[2], tally.deaths[0], tally.deaths[1], tally.deaths[2],
        tally.deaths[3], tally.deaths[4], tally.swapped, tally.touched, tally.relieved, tally.granted, tally.thrashed);
    if (all >= CASES) {
        for (int r = 0; r < 3; r++)
            assert_true(tally.kills[r] > 20);
        for (int r = 0; r < 5; r++)
            assert_true(tally.deaths[r] > 20);
        assert_true(tally.sent_out > 200 && tally.swapped > 200 && tally.touched > 200 && tally.relieved > 200 &&
                    tally.granted > 20 && tally.thrashed > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pressure_equals_its_twin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
