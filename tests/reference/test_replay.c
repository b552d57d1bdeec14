/* The replay against its naive twin, and against the engine: without a prefetcher both count the same. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_replay.h"
#include "tests/reference/random_case.h"

enum { CASES = 5000, CASES_BY_POLICY = 500 };

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
                                .strict = true,
                                .evict = c->spec.evict,
                                .pin = c->spec.pin,
                                .admit = c->spec.admit,
                                .seed = c->spec.seed};
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

static struct replay_result counts_of(const struct run_numbers *n)
{
    return (struct replay_result){.accesses = n->accesses,
                                  .hits = n->hits,
                                  .misses = n->misses,
                                  .bytes_accessed = n->bytes_accessed,
                                  .bytes_hit = n->bytes_hit,
                                  .bytes_read = n->bytes_read,
                                  .evictions = n->evictions,
                                  .uncacheable = n->uncacheable};
}

/* Without a prefetcher, a kill, padding, and what happens in the background, which a replay knows nothing of. 0: the
 * two agree. */
static int engine_differs(struct random_case *c)
{
    struct arena arena = {0};
    struct replay_result replay;
    struct run_result run;
    struct error err;
    c->spec.prefetch = (struct bound_part){0};
    c->spec.device.pressure.rule = KILL_NONE;
    c->spec.loader.align_bytes = 1;
    c->spec.loader.stages = c->spec.loader.warm_ppm = 0;
    c->spec.loader.preload = PRELOAD_NONE;
    c->spec.loader.first_chunk = FIRST_ALL;
    for (uint32_t i = 0; i < c->trace.segment_count; i++)
        c->trace.segments[i].away = AWAY_NONE;
    struct replay_spec spec = spec_of(c);
    if (!replay_run(&spec, &arena, &replay, &err) || !engine_run(&c->spec, &arena, &run, &err))
        fail_because("seed %llu: %s", (unsigned long long)c->seed, err.text);
    const struct replay_result engine = counts_of(&run.numbers);
    arena_free(&arena);
    return compare(c->seed, &replay, &engine);
}

static void engine_counts_the_same(void **state)
{
    (void)state;
    int found = 0;
    uint64_t compared = 0;
    for (uint64_t seed = 1; compared < CASES && found == 0; seed++) {
        struct random_case c;
        random_case_make(&c, seed);
        if (c.spec.loader.mode == LOADER_CHUNKED) {
            found += engine_differs(&c);
            compared++;
        }
        random_case_free(&c);
    }
    assert_int_equal(found, 0);
}

/* The policies that the twin does not know: with all the calls that they use, and at their defaults. */
static void engine_counts_the_same_by_every_policy(void **state)
{
    (void)state;
    size_t count;
    const struct policy *const *policies = policy_all(&count);
    for (size_t p = 0; p < count; p++) {
        const struct policy *policy = policies[p];
        if (policy->kind != POLICY_EVICT)
            continue;
        int64_t values[POLICY_PARAMS_MAX];
        for (uint32_t i = 0; i < policy->param_count; i++)
            values[i] = policy->params[i].fallback;
        for (uint64_t seed = 1; seed <= CASES_BY_POLICY; seed++) {
            struct random_case c;
            random_case_make(&c, seed);
            c.spec.loader.mode = LOADER_CHUNKED;
            c.spec.evict = (struct bound_part){policy, {.values = values}};
            c.spec.seed = seed;
            if (engine_differs(&c) > 0) {
                random_case_print(&c, stdout);
                fail_because("'%s' with seed %llu", policy->name, (unsigned long long)seed);
            }
            random_case_free(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twin_agrees),
        cmocka_unit_test(engine_counts_the_same),
        cmocka_unit_test(engine_counts_the_same_by_every_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
