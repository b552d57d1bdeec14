/* The flash model against its naive twin over random commands, and its closed loop against the law. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_flash.h"

enum { CASES = 300, COMMANDS = 300 };

static uint64_t between(struct rng *rng, uint64_t low, uint64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

static struct flash_spec random_spec(struct rng *rng)
{
    struct flash_spec spec = {.command_bytes = 1 << 20};
    spec.setup_ns = (int64_t)rng_below(rng, 500000);
    spec.stream_bps = between(rng, 1000000, 3000000000);
    spec.queue_depth = (uint32_t)between(rng, 1, 8);
    spec.hot_after_ns = rng_below(rng, 2) ? (int64_t)between(rng, 1, 100000000) : 0;
    spec.hot_factor_ppm = (uint32_t)between(rng, 50000, 1000000);
    spec.max_bps = spec.stream_bps + rng_below(rng, 2000000000);
    return spec;
}

/* Commands in flight, so that the model is told of each end at its time. */
struct pending {
    int64_t done_ns;
    uint64_t bytes;
};

static void finish_first(struct flash *flash, struct pending *pending, uint32_t *count, int64_t *now, uint64_t *moved)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < *count; i++)
        if (pending[i].done_ns < pending[first].done_ns)
            first = i;
    *now = pending[first].done_ns;
    *moved += pending[first].bytes;
    flash_finish(flash, *now, pending[first].bytes);
    pending[first] = pending[--*count];
}

static void twin_agrees(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct rng rng;
        rng_seed(&rng, seed, 1);
        struct flash_spec spec = random_spec(&rng);
        struct flash flash;
        struct naive_flash twin;
        struct pending pending[8];
        uint32_t count = 0;
        int64_t now = (int64_t)rng_below(&rng, 1000);
        uint64_t moved = 0;
        flash_init(&flash, &spec);
        naive_flash_start(&twin, &spec);
        for (uint32_t i = 0; i < COMMANDS; i++) {
            assert_int_equal(flash_has_slot(&flash), count < spec.queue_depth);
            if (count > 0 && (count == spec.queue_depth || rng_below(&rng, 3) == 0)) {
                finish_first(&flash, pending, &count, &now, &moved);
                assert_int_equal(flash.moved_bytes, moved);
                if (count == 0) {
                    assert_int_equal(flash.busy_ns, naive_flash_busy(&twin, now));
                    now += rng_below(&rng, 2) ? (int64_t)rng_below(&rng, 5000000) : 0;
                }
            } else {
                uint64_t bytes = between(&rng, 1, 3000000), before = rng_below(&rng, 3) ? 0 : between(&rng, 1, 5000000);
                int64_t expected = naive_flash_issue(&twin, now, before, bytes);
                int64_t done = flash_issue(&flash, now, before, bytes);
                if (done != expected)
                    fail_because("seed %llu, command %u: done %lld, twin %lld", (unsigned long long)seed, i,
                                 (long long)done, (long long)expected);
                pending[count++] = (struct pending){done, bytes};
            }
        }
        naive_flash_free(&twin);
    }
}

/* A read that nothing interrupts takes the time of the whole, however it is cut: but for the rounding of a cut, where
 * stream and maximum rate are nearly the same. */
static void cutting_costs_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct rng rng;
        rng_seed(&rng, seed, 2);
        struct flash_spec spec = random_spec(&rng);
        spec.hot_after_ns = 0;
        struct flash whole, cut;
        flash_init(&whole, &spec);
        flash_init(&cut, &spec);
        uint64_t bytes = between(&rng, 1, 10000000), before = 0;
        int64_t pieces = 0;
        int64_t expected = flash_issue(&whole, 0, 0, bytes), now = 0;
        while (before < bytes) {
            uint64_t piece = between(&rng, 1, bytes - before);
            now = flash_issue(&cut, now, before, piece);
            flash_finish(&cut, now, piece);
            before += piece;
            pieces++;
        }
        assert_true(now >= expected && now <= expected + pieces);
    }
}

/* rate(L, q) = min(max, q * L / (setup + L / stream)), q bounded by the queue; latency by Little's law. */
static void closed_loop_follows_the_law(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct rng rng;
        rng_seed(&rng, seed, 3);
        struct flash_spec spec = random_spec(&rng);
        spec.hot_after_ns = 0;
        uint32_t lanes = (uint32_t)between(&rng, 1, 12), q = lanes < spec.queue_depth ? lanes : spec.queue_depth;
        uint64_t bytes = between(&rng, 4096, 1 << 22), rate;
        int64_t latency;
        struct error err;
        if (!flash_measure(&spec, lanes, bytes, &rate, &latency, &err))
            fail_because("seed %llu: %s", (unsigned long long)seed, err.text);
        double law =
            (double)q * (double)bytes / ((double)spec.setup_ns / 1e9 + (double)bytes / (double)spec.stream_bps);
        if (law > (double)spec.max_bps)
            law = (double)spec.max_bps;
        double little = (double)lanes * (double)bytes / law * 1e9;
        if ((double)rate < 0.99 * law || (double)rate > 1.01 * law)
            fail_because("seed %llu: %llu B/s, the law says %.0f", (unsigned long long)seed, (unsigned long long)rate,
                         law);
        if ((double)latency < 0.98 * little || (double)latency > 1.02 * little)
            fail_because("seed %llu: latency %lld ns, Little's law says %.0f", (unsigned long long)seed,
                         (long long)latency, little);
    }
}

static void nothing_to_measure_is_an_error(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 1, 4);
    struct flash_spec spec = random_spec(&rng);
    struct error err;
    uint64_t rate;
    int64_t latency;
    assert_false(flash_measure(&spec, 0, 4096, &rate, &latency, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_false(flash_measure(&spec, 1, 0, &rate, &latency, &err));
    assert_int_equal(err.code, STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twin_agrees),
        cmocka_unit_test(cutting_costs_nothing),
        cmocka_unit_test(closed_loop_follows_the_law),
        cmocka_unit_test(nothing_to_measure_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
