/* The replay against its naive twin, and against the engine: without a prefetcher both count the same. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_replay.h"
#include "tests/reference/random_case.h"

enum { CASES = 5000 };

static int differ(uint64_t seed, const char *field, uint64_t a, uint64_t b)
{
    if (a == b)
        return 0;
    print_message("# seed %llu, %s: %llu, expected %llu\n", (unsigned long long)seed, field, (unsigned long long)a,
                  (unsigned long long)b);
    return 1;
}

static int compare(uint64_t seed, const struct replay_result *a, const struct replay_result *b)
{
    return differ(seed, "accesses", a->accesses, b->accesses) + differ(seed, "hits", a->hits, b->hits) +
           differ(seed, "misses", a->misses, b->misses) +
           differ(seed, "bytes_accessed", a->bytes_accessed, b->bytes_accessed) +
           differ(seed, "bytes_hit", a->bytes_hit, b->bytes_hit) +
           differ(seed, "bytes_read", a->bytes_read, b->bytes_read) +
           differ(seed, "evictions", a->evictions, b->evictions) +
           differ(seed, "uncacheable", a->uncacheable, b->uncacheable);
}

static struct replay_spec spec_of(const struct random_case *c)
{
    return (struct replay_spec){.model = &c->model,
                                .trace = &c->trace,
                                .capacity_bytes = c->spec.loader.budget_bytes,
                                .evict_when = c->spec.loader.evict_when,
                                .evict = c->spec.evict,
                                .pin = c->spec.pin};
}

static void twin_agrees(void **state)
{
    (void)state;
    int found = 0;
    uint64_t compared = 0;
    for (uint64_t seed = 1; compared < CASES && found == 0; seed++) {
        struct random_case c;
        struct arena arena = {0};
        struct replay_result replay, twin;
        struct error err;
        random_case_make(&c, seed);
        if (c.spec.loader.mode == LOADER_CHUNKED) {
            struct replay_spec spec = spec_of(&c);
            naive_replay(&spec, &c.choice, &twin);
            if (!replay_run(&spec, &arena, &replay, &err))
                fail_because("seed %llu: %s", (unsigned long long)seed, err.text);
            found += compare(seed, &replay, &twin);
            if (found > 0)
                random_case_print(&c, stdout);
            compared++;
        }
        arena_free(&arena);
        random_case_free(&c);
    }
    assert_int_equal(found, 0);
}

static void engine_counts_the_same(void **state)
{
    (void)state;
    int found = 0;
    uint64_t compared = 0;
    for (uint64_t seed = 1; compared < CASES && found == 0; seed++) {
        struct random_case c;
        struct arena arena = {0};
        struct replay_result replay;
        struct run_result run;
        struct error err;
        random_case_make(&c, seed);
        if (c.spec.loader.mode == LOADER_CHUNKED) {
            c.spec.prefetch = (struct bound_part){0};
            c.spec.device.kill_rule = KILL_NONE;
            c.spec.loader.align_bytes = 1; /* a replay knows no padding */
            struct replay_spec spec = spec_of(&c);
            if (!replay_run(&spec, &arena, &replay, &err) || !engine_run(&c.spec, &arena, &run, &err))
                fail_because("seed %llu: %s", (unsigned long long)seed, err.text);
            const struct run_numbers *n = &run.numbers;
            struct replay_result engine = {.accesses = n->accesses,
                                           .hits = n->hits,
                                           .misses = n->misses,
                                           .bytes_accessed = n->bytes_accessed,
                                           .bytes_hit = n->bytes_hit,
                                           .bytes_read = n->bytes_read,
                                           .evictions = n->evictions,
                                           .uncacheable = n->uncacheable};
            found += compare(seed, &replay, &engine);
            compared++;
        }
        arena_free(&arena);
        random_case_free(&c);
    }
    assert_int_equal(found, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twin_agrees),
        cmocka_unit_test(engine_counts_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
