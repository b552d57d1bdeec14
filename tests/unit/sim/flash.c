/* The flash device: single commands, the law of the closed loop, continued reads, heat. */

#include "sim/flash.h"
#include "base/wide.h"
#include "tests/cmocka_fixed.h"

static const struct flash_spec SPEC = {
    .setup_ns = 200000,
    .stream_bps = 1000000000,
    .max_bps = 2000000000,
    .queue_depth = 32,
    .command_bytes = 1 << 20,
    .hot_factor_ppm = 1000000,
};

static void one_command_pays_setup_and_stream(void **state)
{
    (void)state;
    struct flash flash;
    flash_init(&flash, &SPEC);
    assert_true(flash_issue(&flash, 50, 0, 1000000) == 50 + 200000 + 1000000);
    flash_finish(&flash, 1200050, 1000000);
    assert_true(flash.busy_ns == 1200000);
    assert_true(flash.moved_bytes == 1000000);
}

static void parts_of_a_read_take_the_time_of_the_whole(void **state)
{
    (void)state;
    struct flash_spec spec = SPEC;
    spec.stream_bps = 1700000001; /* so that every part has a remainder */
    for (uint64_t part = 332; part < 5000; part += 331) {
        struct flash flash;
        flash_init(&flash, &spec);
        int64_t whole = flash_issue(&flash, 0, 0, 100003);
        flash_init(&flash, &spec);
        int64_t now = 0;
        for (uint64_t before = 0; before < 100003; before += part) {
            uint64_t bytes = before + part < 100003 ? part : 100003 - before;
            now = flash_issue(&flash, now, before, bytes);
            flash_finish(&flash, now, bytes);
        }
        assert_true(now == whole);
    }
}

static void closed_loop_follows_the_law(void **state)
{
    (void)state;
    const uint64_t sizes[] = {4096, 131072, 1048576, 8388608};
    for (uint32_t lanes = 1; lanes <= 32; lanes *= 2) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            uint64_t bps;
            int64_t latency;
            struct error err;
            assert_true(flash_measure(&SPEC, lanes, sizes[i], &bps, &latency, &err));
            double alone = 200e-6 + (double)sizes[i] / 1e9;
            double law = (double)lanes * (double)sizes[i] / alone;
            law = law < 2e9 ? law : 2e9;
            assert_true((double)bps > law * 0.999 && (double)bps < law * 1.001);
            double expected_latency = (double)lanes * (double)sizes[i] / law * 1e9;
            assert_true((double)latency > expected_latency * 0.99 && (double)latency < expected_latency * 1.01);
        }
    }
}

static void readers_beyond_the_queue_wait(void **state)
{
    (void)state;
    struct flash_spec spec = SPEC;
    spec.queue_depth = 2;
    uint64_t two, eight;
    int64_t latency_two, latency_eight;
    struct error err;
    assert_true(flash_measure(&spec, 2, 4096, &two, &latency_two, &err));
    assert_true(flash_measure(&spec, 8, 4096, &eight, &latency_eight, &err));
    assert_true(two == eight);
    assert_true(latency_eight > 3 * latency_two && latency_eight < 5 * latency_two);
}

static void heat_lowers_the_maximum(void **state)
{
    (void)state;
    struct flash_spec spec = SPEC;
    spec.hot_after_ns = 1200000;
    spec.hot_factor_ppm = 250000;
    struct flash flash;
    flash_init(&flash, &spec);
    assert_true(flash_issue(&flash, 0, 0, 1000000) == 1200000);
    flash_finish(&flash, 1200000, 1000000);
    /* 1 MB at 500 MB/s from now on. */
    assert_true(flash_issue(&flash, 1200000, 0, 1000000) == 1200000 + 200000 + 2000000);
}

/* Products near 2^64: fast devices and long reads. */
static void large_reads_are_exact(void **state)
{
    (void)state;
    const uint64_t bytes[] = {UINT64_C(13835058055), UINT64_C(13835058056), UINT64_C(20000000000), UINT64_C(1) << 50};
    const uint64_t rates[] = {1000000000, UINT64_C(25000000000), UINT64_C(1) << 50};
    for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++) {
        for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
            struct flash_spec spec = SPEC;
            spec.stream_bps = spec.max_bps = rates[r];
            struct flash flash;
            flash_init(&flash, &spec);
            wide expected = ((wide)bytes[b] * 1000000000 + rates[r] - 1) / rates[r];
            assert_true((wide)flash_issue(&flash, 0, 0, bytes[b]) == 200000 + expected);
        }
    }
}

static void bad_measurements_are_refused(void **state)
{
    (void)state;
    uint64_t bps;
    int64_t latency;
    struct error err;
    assert_false(flash_measure(&SPEC, 0, 4096, &bps, &latency, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_false(flash_measure(&SPEC, 1, 0, &bps, &latency, &err));
    assert_false(flash_measure(&SPEC, 1, UINT64_MAX, &bps, &latency, &err));
    assert_false(flash_measure(&SPEC, UINT32_MAX, 4096, &bps, &latency, &err));

    /* Slow by the rate of one read, of all, and by heat alone. */
    struct flash_spec slow[] = {SPEC, SPEC, SPEC};
    slow[0].stream_bps = 1;
    slow[1].stream_bps = slow[1].max_bps = 1;
    slow[2].hot_after_ns = 1;
    slow[2].hot_factor_ppm = 0;
    for (size_t i = 0; i < 3; i++) {
        assert_false(flash_measure(&slow[i], 1, UINT64_C(16) << 30, &bps, &latency, &err));
        assert_int_equal(err.code, STATUS_USAGE);
        assert_string_equal(err.text, "a read of 17179869184 bytes takes over 18 minutes on this device");
        assert_true(flash_measure(&slow[i], 4096, 1000, &bps, &latency, &err)); /* the longest: 1000 s a read */
        assert_true(latency > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_command_pays_setup_and_stream),
        cmocka_unit_test(parts_of_a_read_take_the_time_of_the_whole),
        cmocka_unit_test(closed_loop_follows_the_law),
        cmocka_unit_test(readers_beyond_the_queue_wait),
        cmocka_unit_test(heat_lowers_the_maximum),
        cmocka_unit_test(large_reads_are_exact),
        cmocka_unit_test(bad_measurements_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
