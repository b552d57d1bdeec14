/* How fast the page cache is on tokens that walk through a whole file, beside its page-by-page twin, which does the
 * same page by page. Both must come to the same counts. */
#include <string.h>

#include "bench/measure.h"
/* Benchmarks link no test helpers. */
#include "tests/reference/naive_page_cache.c"
#include "tests/reference/naive_page_generations.c"
#include "tests/reference/naive_page_lists.c"

enum {
    FILE_PAGES = 917504,  /* 3.5 GiB of 4 KiB */
    LIMIT_PAGES = 524288, /* 2 GiB */
    TWIN_PASSES = 4,
    BLOCKS = 28, /* a pass is this many walks, as layers are touched */
    PASS_NS = 100000000,
};

struct bench {
    const char *name;
    enum page_advice advice;
    uint64_t limit_pages;
    uint32_t passes; /* of the fast one; each page is a fault under RANDOM */
};

/* A phone's flash in round figures, as in bench/run.h. */
static const struct flash_spec flash_spec = {.setup_ns = 100000,
                                             .stream_bps = 2000000000,
                                             .max_bps = 3000000000,
                                             .queue_depth = 32,
                                             .command_bytes = UINT64_C(1) << 20,
                                             .hot_factor_ppm = 1000000};

/* Each pass's counts of the first TWIN_PASSES, and the seconds of all and of those after the first. */
struct outcome {
    struct page_counts counts[TWIN_PASSES];
    int64_t now_ns[TWIN_PASSES];
    double seconds, first_seconds;
};

static struct page_cache_spec spec_of(const struct bench *bench)
{
    return (struct page_cache_spec){.pages = FILE_PAGES,
                                    .processes = 1,
                                    .page_bytes = 4096,
                                    .base_bytes = 4096,
                                    .window_pages = 32,
                                    .around_pages = 16,
                                    .willneed_pages = 32,
                                    .advice = bench->advice,
                                    .prefault_young = true,
                                    .minor_ns = 500,
                                    .major_ns = 2000,
                                    .scan_ns = 30,
                                    .batch_pages = 32};
}

static void run(const struct bench *bench, bool twin, uint32_t passes, struct outcome *outcome)
{
    struct arena arena = {0};
    struct error err;
    struct flash flash;
    struct page_cache *fast = NULL;
    struct naive_page_cache *naive = NULL;
    const struct page_cache_spec spec = spec_of(bench);
    int64_t now_ns = 0;
    flash_init(&flash, &flash_spec);
    bool good = twin ? naive_page_cache_init(&naive, &spec, NULL, NULL, &flash, &now_ns, &arena, &err)
                     : page_cache_init(&fast, &spec, &flash, &now_ns, &arena, &err);
    if (!good)
        give_up(bench->name, err.text);
    if (twin)
        naive_page_cache_set_limit(naive, bench->limit_pages);
    else
        page_cache_set_limit(fast, bench->limit_pages);
    const double start = now_seconds();
    for (uint32_t pass = 0; pass < passes && good; pass++) {
        for (uint32_t b = 0; b < BLOCKS && good; b++) {
            struct page_walk walk = {.next = FILE_PAGES / BLOCKS * b,
                                     .end = FILE_PAGES / BLOCKS * (b + 1),
                                     .stride = 1,
                                     .compute_ns = PASS_NS / BLOCKS,
                                     .total = FILE_PAGES / BLOCKS};
            good =
                twin ? naive_page_cache_touch(naive, 0, &walk, INT64_MAX) : page_cache_touch(fast, 0, &walk, INT64_MAX);
        }
        if (pass < TWIN_PASSES) {
            outcome->counts[pass] = twin ? naive_page_cache_counts(naive) : page_cache_counts(fast);
            outcome->now_ns[pass] = now_ns;
        }
        if (pass == 0)
            outcome->first_seconds = now_seconds() - start;
    }
    outcome->seconds = now_seconds() - start;
    if (!good)
        give_up(bench->name, "no memory for a page");
    arena_free(&arena);
}

static void measure(const struct bench *bench)
{
    struct outcome fast, twin;
    struct rounds rounds, steady, twin_steady;
    for (int round = 0; round < ROUNDS; round++) {
        run(bench, false, bench->passes, &fast);
        run(bench, true, TWIN_PASSES, &twin);
        if (memcmp(fast.counts, twin.counts, sizeof fast.counts) != 0 ||
            memcmp(fast.now_ns, twin.now_ns, sizeof fast.now_ns) != 0)
            give_up(bench->name, "the page cache and its twin do not count the same");
        rounds.seconds[round] = fast.seconds;
        steady.seconds[round] = (fast.seconds - fast.first_seconds) / (bench->passes - 1);
        twin_steady.seconds[round] = (twin.seconds - twin.first_seconds) / (TWIN_PASSES - 1);
    }
    sort_rounds(&rounds);
    sort_rounds(&steady);
    sort_rounds(&twin_steady);
    printf("%-22s %6u %8.1f %8.1f %8.1f | %10.4f | %10.2f | %.0f\n", bench->name, bench->passes,
           1e3 * rounds.seconds[0], 1e3 * median_seconds(&rounds), 1e3 * rounds.seconds[ROUNDS - 1],
           1e3 * median_seconds(&steady), 1e3 * median_seconds(&twin_steady),
           median_seconds(&twin_steady) / median_seconds(&steady));
    fflush(stdout);
}

int main(void)
{
    static const struct bench benches[] = {
        {"normal, in 2 GiB", PAGES_NORMAL, LIMIT_PAGES, 100},
        {"sequential, in 2 GiB", PAGES_SEQUENTIAL, LIMIT_PAGES, 100},
        {"random, in 2 GiB", PAGES_RANDOM, LIMIT_PAGES, TWIN_PASSES},
        {"normal, all fits", PAGES_NORMAL, UINT64_C(2) * FILE_PAGES, 100},
    };
    printf("\npage cache: passes over 3.5 GiB; wanted for 100 in 2 GiB, normal: under 100 ms, and the twin 50 times "
           "slower (%d rounds)\n",
           ROUNDS);
    printf("%-22s %6s %8s %8s %8s | %10s | %10s | %s\n", "case", "passes", "ms min", "median", "max", "ms a pass",
           "twin", "ratio");
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        measure(&benches[i]);
    return 0;
}
