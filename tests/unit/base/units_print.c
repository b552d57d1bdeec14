/* Numbers to text, for people and for configs; exact integer arithmetic. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "tests/cmocka_fixed.h"

static void bytes_read(uint64_t bytes, const char *expected)
{
    char out[UNITS_TEXT];
    assert_string_equal(format_bytes(bytes, out), expected);
}

static void test_sizes_for_people(void **state)
{
    (void)state;
    bytes_read(0, "0 B");
    bytes_read(17, "17 B");
    bytes_read(1023, "1023 B");
    bytes_read(1024, "1.00 KiB");
    bytes_read(1610612736, "1.50 GiB");
    bytes_read(536870912, "512 MiB");
    bytes_read(UINT64_C(1023) << 20, "1023 MiB");
    bytes_read((UINT64_C(1) << 30) - 1, "1.00 GiB"); /* never "1024 MiB" */
    bytes_read(10235, "10.0 KiB");                   /* never "9.100 KiB" */
    bytes_read(102348, "99.9 KiB");
    bytes_read(102360, "100 KiB");
    bytes_read(UINT64_MAX, "16.0 EiB");
}

static void time_read(int64_t ns, const char *expected)
{
    char out[UNITS_TEXT];
    assert_string_equal(format_time(ns, out), expected);
}

static void test_times_for_people(void **state)
{
    (void)state;
    time_read(0, "0 ns");
    time_read(999, "999 ns");
    time_read(215000, "215 us");
    time_read(1500000, "1.50 ms");
    time_read(999600, "1.00 ms");
    time_read(1730000000, "1.73 s");
    time_read(59940000000, "59.9 s");
    time_read(59960000000, "1 min 0 s");
    time_read(INT64_C(252000000000), "4 min 12 s");
    time_read(INT64_C(3599600000000), "1 h 0 min");
    time_read(INT64_C(5400000000000), "1 h 30 min");
    time_read(-1500, "-1.50 us");
    time_read(INT64_MAX, "2562047 h 47 min");
    time_read(INT64_MIN, "-2562047 h 47 min");
}

static void test_exact_texts_are_short(void **state)
{
    (void)state;
    char out[UNITS_TEXT];
    assert_string_equal(print_bytes(0, out), "0B");
    assert_string_equal(print_bytes(17, out), "17B");
    assert_string_equal(print_bytes(UINT64_C(1536) << 20, out), "1536MiB");
    assert_string_equal(print_bytes(512000000, out), "512MB");
    assert_string_equal(print_bytes(1048576, out), "1MiB");
    assert_string_equal(print_time(0, out), "0s");
    assert_string_equal(print_time(215000, out), "215us");
    assert_string_equal(print_time(1000000000, out), "1s");
    assert_string_equal(print_time(INT64_C(7200000000000), out), "2h");
    assert_string_equal(print_decimal(1050000, out), "1.05");
    assert_string_equal(print_decimal(0, out), "0");
    assert_string_equal(print_decimal(20000000, out), "20");
    assert_string_equal(print_decimal(1, out), "0.000001");
}

static void test_exact_texts_read_back(void **state)
{
    (void)state;
    struct rng rng;
    struct error err = {0};
    rng_seed(&rng, 1, 0);
    for (int i = 0; i < 20000; i++) {
        const unsigned shift = (unsigned)rng_below(&rng, 62) + 2;
        uint64_t x = rng_next(&rng) >> shift;
        x *= i % 3 == 0 ? 1 : i % 3 == 1 ? 1000 : 1024;
        x &= (UINT64_C(1) << 62) - 1;
        char out[UNITS_TEXT];
        uint64_t bytes;
        int64_t ns;
        assert_true(parse_bytes(print_bytes(x, out), &bytes, &err));
        assert_true(bytes == x);
        assert_true(parse_time(print_time((int64_t)x, out), &ns, &err));
        assert_true(ns == (int64_t)x);
        const uint64_t ppm = x % UINT64_C(1000000000001);
        assert_true(parse_decimal(print_decimal(ppm, out), &bytes, &err));
        assert_true(bytes == ppm);
    }
}

static void test_scaling_rounds_up_exactly(void **state)
{
    (void)state;
    assert_int_equal(scale_up(0, 5, 7), 0);
    assert_int_equal(scale_up(7, 1, 7), 1);
    assert_int_equal(scale_up(8, 1, 7), 2);
    assert_int_equal(scale_up(UINT64_MAX, 1000000000, UINT64_MAX), 1000000000);
    assert_int_equal(scale_up(UINT64_C(1) << 62, 4, 8), INT64_C(1) << 61);
    assert_int_equal(scale_up(UINT64_MAX, INT64_MAX, UINT64_MAX), INT64_MAX);
    /* 4 GB at 2.42 GB/s: 1652892561.98 ns */
    assert_int_equal(scale_up(4000000000, 1000000000, 2420000000), 1652892562);
}

static void test_overflow_is_seen(void **state)
{
    (void)state;
    uint64_t x;
    assert_true(multiply(UINT64_C(1) << 32, UINT64_C(1) << 31, &x));
    assert_true(x == UINT64_C(1) << 63);
    assert_false(multiply(UINT64_C(1) << 32, UINT64_C(1) << 32, &x));
    assert_true(add(UINT64_MAX - 1, 1, &x));
    assert_true(x == UINT64_MAX);
    assert_false(add(UINT64_MAX, 1, &x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_for_people),          cmocka_unit_test(test_times_for_people),
        cmocka_unit_test(test_exact_texts_are_short),     cmocka_unit_test(test_exact_texts_read_back),
        cmocka_unit_test(test_scaling_rounds_up_exactly), cmocka_unit_test(test_overflow_is_seen),
    };
    return cmocka_run_group_tests_name("base/units_print", tests, NULL, NULL);
}
