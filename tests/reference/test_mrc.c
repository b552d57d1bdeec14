/* The curve of one pass against LRU replayed at each size, and the infinite cache against a count of distinct blocks.
 */
#include "sim/mrc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "sim/measure_replay.h"
#include "tests/cmocka_fixed.h"

enum { CASES = 400, BLOCKS_MAX = 40, POINTS = 50 };

struct random_trace {
    struct model model;
    struct trace trace;
};

/* `sizes`: 1: unit sizes; n: 1 .. n bytes. */
static void make_model(struct random_trace *t, struct rng *rng, uint32_t blocks, uint64_t sizes)
{
    struct error err;
    bool good = true;
    model_start(&t->model, "random", "");
    for (uint32_t b = 0; good && b < blocks; b++) {
        char name[16];
        snprintf(name, sizeof name, "b%u", b);
        const uint64_t bytes = 1 + rng_below(rng, sizes);
        good = model_add_block(&t->model, name, BLOCK_OTHER, -1, -1, &err) &&
               model_add_extent(&t->model, 1000 * b, bytes, &err);
    }
    if (!good || !model_finish(&t->model, &err))
        fail_because("%s", err.text);
}

/* A loop, a scan, or a skewed choice: each segment something else, some of them repeated. */
static block_id next_block(struct rng *rng, uint32_t pattern, uint32_t i, uint32_t blocks)
{
    if (pattern == 0)
        return i % (1 + blocks / 2);
    if (pattern == 1)
        return blocks - 1 - i % blocks;
    return (block_id)(rng_below(rng, 1 + rng_below(rng, blocks)));
}

static void make_trace(struct random_trace *t, uint64_t seed, uint64_t sizes)
{
    struct rng rng;
    struct trace_builder builder;
    struct error err;
    rng_seed(&rng, seed, 77);
    const uint32_t blocks = 1 + (uint32_t)rng_below(&rng, BLOCKS_MAX);
    make_model(t, &rng, blocks, sizes);
    bool good = trace_start(&builder, &t->trace, "random", &err);
    for (uint32_t s = 1 + (uint32_t)rng_below(&rng, 4); good && s > 0; s--) {
        const struct segment segment = {
            .repeat = 1 + (uint32_t)rng_below(&rng, 3), .phase = PHASE_DECODE, .token = s, .context_growth = 1};
        const uint32_t pattern = (uint32_t)rng_below(&rng, 4), length = 1 + (uint32_t)rng_below(&rng, 200);
        good = trace_add_segment(&builder, &segment, &err);
        for (uint32_t i = 0; good && i < length; i++)
            good = trace_add_step(&builder, 0, &err) &&
                   trace_add_use(&builder, next_block(&rng, pattern, i, blocks), 0, &err);
    }
    if (!good || !trace_finish(&builder, &t->model, &err))
        fail_because("seed %" PRIu64 ": %s", seed, err.text);
}

static void free_trace(struct random_trace *t)
{
    trace_free(&t->trace);
    model_free(&t->model);
}

static struct replay_result replay_lru(const struct random_trace *t, uint64_t capacity, bool by_objects)
{
    const struct replay_setting setting = {.model = &t->model, .trace = &t->trace};
    struct capacity at = {.text = "?", .amount = capacity, .by_objects = by_objects};
    struct policy_choice lru;
    struct replay_result result = {0};
    struct error err;
    if (!policy_parse("lru", &lru, &err) || !replay_measure(&setting, &lru, &at, &result, &err))
        fail_because("%s", err.text);
    return result;
}

static void check_point(const struct random_trace *t, uint64_t seed, bool by_objects, const struct mrc_point *point)
{
    const struct replay_result lru = replay_lru(t, point->capacity, by_objects);
    if (lru.hits != point->hits || lru.bytes_hit != point->bytes_hit)
        fail_because("seed %" PRIu64 ", capacity %" PRIu64 ": %" PRIu64 " hits of %" PRIu64 " bytes, LRU has %" PRIu64
                     " of %" PRIu64,
                     seed, point->capacity, point->hits, point->bytes_hit, lru.hits, lru.bytes_hit);
}

/* Sizes from the smallest block to more than all, and tiny ones. */
static size_t choose_points(uint64_t most, struct mrc_point points[POINTS])
{
    size_t count = 0;
    for (uint64_t i = 1; i <= POINTS; i++) {
        const uint64_t capacity = i <= 8 ? i : (most + 3) * i / POINTS;
        if (count == 0 || capacity > points[count - 1].capacity)
            points[count++] = (struct mrc_point){.capacity = capacity};
    }
    return count;
}

static void compare(uint64_t sizes, bool by_objects)
{
    uint64_t hits = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct random_trace t;
        struct mrc_point points[POINTS];
        struct error err;
        make_trace(&t, seed, sizes);
        const uint64_t most = by_objects ? t.model.block_count : t.trace.working_set_bytes;
        const size_t count = choose_points(most, points);
        if (!mrc_lru(&t.model, &t.trace, by_objects, points, count, &err))
            fail_because("%s", err.text);
        for (size_t i = 0; i < count; i++) {
            check_point(&t, seed, by_objects, &points[i]);
            hits += points[i].hits;
        }
        free_trace(&t);
    }
    assert_true(hits > 1000);
}

static void unit_sizes(void **state)
{
    (void)state;
    compare(1, false);
}

static void unequal_sizes(void **state)
{
    (void)state;
    compare(3, false);
    compare(20, false);
    compare(500, false);
}

static void unequal_sizes_by_objects(void **state)
{
    (void)state;
    compare(20, true);
}

static void check_all(const struct random_trace *t, uint64_t seed, bool by_objects)
{
    struct mrc_point *points;
    size_t count;
    struct error err;
    if (!mrc_lru_all(&t->model, &t->trace, by_objects, &points, &count, &err))
        fail_because("%s", err.text);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        check_point(t, seed, by_objects, &points[i]);
        if (i == 0)
            continue;
        /* Nothing happens between two points, and something at each. */
        struct mrc_point below = points[i - 1];
        below.capacity = points[i].capacity - 1;
        assert_true(points[i].capacity > points[i - 1].capacity && points[i].hits > points[i - 1].hits);
        check_point(t, seed, by_objects, &below);
    }
    assert_true(points[count - 1].hits == replay_lru(t, UINT64_C(1) << 40, by_objects).hits);
    free(points);
}

static void every_breakpoint(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 4; seed++)
        for (int kind = 0; kind < 3; kind++) {
            struct random_trace t;
            make_trace(&t, seed, kind == 0 ? 1 : 20);
            check_all(&t, seed, kind == 2);
            free_trace(&t);
        }
}

static void the_infinite_cache_misses_each_block_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct random_trace t;
        struct replay_result infinite;
        struct error err;
        uint32_t distinct;
        make_trace(&t, seed, seed % 2 == 0 ? 1 : 30);
        assert_true(trace_distinct(&t.trace, &distinct, &err));
        replay_infinite(&t.trace, distinct, &infinite);
        bool seen[BLOCKS_MAX] = {false};
        uint64_t count = 0;
        for (uint32_t u = 0; u < t.trace.use_count; u++)
            count += !seen[t.trace.uses[u] & USE_BLOCK], seen[t.trace.uses[u] & USE_BLOCK] = true;
        assert_true(infinite.misses == count);
        const struct replay_result lru = replay_lru(&t, UINT64_C(1) << 40, false);
        assert_true(infinite.misses == lru.misses && infinite.hits == lru.hits && infinite.accesses == lru.accesses);
        assert_true(infinite.bytes_hit == lru.bytes_hit && infinite.bytes_read == lru.bytes_read);
        free_trace(&t);
    }
}

/* So many blocks, and so few positions, that the line is moved together many times. */
static void a_long_trace_over_many_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 3000, USES = 60000 };
    struct random_trace t;
    struct rng rng;
    struct trace_builder builder;
    struct error err;
    rng_seed(&rng, 5, 78);
    make_model(&t, &rng, BLOCKS, 9);
    bool good =
        trace_start(&builder, &t.trace, "long", &err) &&
        trace_add_segment(&builder, &(struct segment){.repeat = 2, .phase = PHASE_DECODE, .context_growth = 1}, &err);
    for (uint32_t i = 0; good && i < USES; i++)
        good = trace_add_step(&builder, 0, &err) &&
               trace_add_use(&builder, (block_id)rng_below(&rng, 1 + rng_below(&rng, BLOCKS)), 0, &err);
    assert_true(good && trace_finish(&builder, &t.model, &err));
    struct mrc_point points[POINTS];
    const size_t count = choose_points(t.trace.working_set_bytes, points);
    assert_true(mrc_lru(&t.model, &t.trace, false, points, count, &err));
    for (size_t i = 0; i < count; i++)
        check_point(&t, 0, false, &points[i]);
    free_trace(&t);
}

static void steps_of_several_blocks_are_refused(void **state)
{
    (void)state;
    struct random_trace t;
    struct trace_builder builder;
    struct error err;
    struct rng rng;
    rng_seed(&rng, 1, 1);
    make_model(&t, &rng, 3, 1);
    assert_true(trace_start(&builder, &t.trace, "wide", &err));
    assert_true(
        trace_add_segment(&builder, &(struct segment){.repeat = 1, .phase = PHASE_DECODE, .context_growth = 1}, &err));
    assert_true(trace_add_step(&builder, 0, &err) && trace_add_use(&builder, 0, 0, &err) &&
                trace_add_use(&builder, 1, 0, &err) && trace_finish(&builder, &t.model, &err));
    struct mrc_point point = {.capacity = 1};
    assert_false(mrc_applies(&t.trace));
    assert_false(mrc_lru(&t.model, &t.trace, false, &point, 1, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    free_trace(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unit_sizes),
        cmocka_unit_test(unequal_sizes),
        cmocka_unit_test(unequal_sizes_by_objects),
        cmocka_unit_test(every_breakpoint),
        cmocka_unit_test(the_infinite_cache_misses_each_block_once),
        cmocka_unit_test(a_long_trace_over_many_blocks),
        cmocka_unit_test(steps_of_several_blocks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
