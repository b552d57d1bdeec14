/* Sizes, times, rates and shares to numbers: exact values, and what is said about wrong ones. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "tests/cmocka_fixed.h"

static uint64_t bytes_of(const char *text)
{
    uint64_t value = 0;
    struct error err = {0};
    parse_bytes(text, &value, &err);
    assert_string_equal(err.text, "");
    return value;
}

static int64_t time_of(const char *text)
{
    int64_t value = 0;
    struct error err = {0};
    parse_time(text, &value, &err);
    assert_string_equal(err.text, "");
    return value;
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(bytes_of("0B"), 0);
    assert_int_equal(bytes_of("17B"), 17);
    assert_int_equal(bytes_of("512KB"), 512000);
    assert_int_equal(bytes_of("512 KiB"), 524288);
    assert_int_equal(bytes_of("  1.5GiB\t"), 1610612736);
    assert_int_equal(bytes_of("768MB"), 768000000);
    assert_int_equal(bytes_of("2TB"), 2000000000000);
    assert_int_equal(bytes_of("0.5TiB"), 549755813888);
    assert_int_equal(bytes_of("1.000000000000000000000000000000000000000000000000000000000000000000000KB"), 1000);
    assert_int_equal(bytes_of("000000000000000000000000000000000001B"), 1);
    /* 2^-40 TiB, written out */
    assert_int_equal(bytes_of("0.0000000000009094947017729282379150390625TiB"), 1);
    assert_int_equal(bytes_of("9223372036854775807B"), INT64_MAX);
    assert_int_equal(bytes_of("8388607.9999990463256835937500TiB"), 9223372036853727232);
}

static void bytes_fail(const char *text, const char *message)
{
    uint64_t value = 77;
    struct error err = {0};
    assert_false(parse_bytes(text, &value, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.code, STATUS_USAGE);
    assert_int_equal(value, 77);
}

static void test_wrong_sizes(void **state)
{
    (void)state;
    bytes_fail("512", "\"512\" has no unit: write 512B, 512KiB, 512MiB, 512GiB, 512KB, 512MB or 512GB");
    bytes_fail("512mb", "\"512mb\": did you mean 512MB?");
    bytes_fail("1.5 gib", "\"1.5 gib\": did you mean 1.5GiB?");
    bytes_fail("8M", "\"8M\" has an unknown unit \"M\": write 8MiB or 8MB");
    bytes_fail("8 parsecs", "\"8 parsecs\" has an unknown unit \"parsecs\": "
                            "write 8B, 8KiB, 8MiB, 8GiB, 8KB, 8MB or 8GB");
    bytes_fail("", "a size is missing: write one like 512MiB");
    bytes_fail("  ", "a size is missing: write one like 512MiB");
    bytes_fail("-5MB", "\"-5MB\" is negative: write a size like 512MiB");
    bytes_fail("+5MB", "\"+5MB\" does not begin with a number: write a size like 512MiB");
    bytes_fail(".5MB", "\".5MB\" does not begin with a number: write a size like 512MiB");
    bytes_fail("5.MB", "\"5.MB\" does not begin with a number: write a size like 512MiB");
    bytes_fail("MB", "\"MB\" does not begin with a number: write a size like 512MiB");
    bytes_fail("0.3B", "\"0.3B\" is not a whole number of bytes");
    bytes_fail("0.3KiB", "\"0.3KiB\" is not a whole number of bytes");
    bytes_fail("1.0001KB", "\"1.0001KB\" is not a whole number of bytes");
    bytes_fail("9223372036854775808B", "\"9223372036854775808B\" is too large: at most 9223372036854775807 bytes");
    bytes_fail("18446744073709551616B", "\"18446744073709551616B\" is too large: at most 9223372036854775807 bytes");
    bytes_fail("8388608TiB", "\"8388608TiB\" is too large: at most 9223372036854775807 bytes");
    bytes_fail("99999999999999999999999999999999999999999999TB",
               "\"99999999999999999999999999999999999999999999TB\" is too large: at most 9223372036854775807 bytes");
    bytes_fail("1e3MB", "\"1e3MB\" has an unknown unit \"e3MB\": write 1B, 1KiB, 1MiB, 1GiB, 1KB, 1MB or 1GB");
    bytes_fail("5MB\n", "\"5MB?\": did you mean 5MB?");
}

static void test_long_garbage_is_quoted_in_part(void **state)
{
    (void)state;
    char text[5000];
    memset(text, '9', sizeof text);
    text[sizeof text - 1] = '\0';
    uint64_t value;
    struct error err = {0};
    assert_false(parse_bytes(text, &value, &err));
    assert_true(strlen(err.text) < 120);
    text[900] = '\0';
    assert_false(parse_bytes(text, &value, &err));
    assert_true(strlen(err.text) < 400);
}

static void test_times(void **state)
{
    (void)state;
    assert_int_equal(time_of("0ns"), 0);
    assert_int_equal(time_of("215us"), 215000);
    assert_int_equal(time_of("1.5ms"), 1500000);
    assert_int_equal(time_of("0.000000001 s"), 1);
    assert_int_equal(time_of("2min"), INT64_C(120000000000));
    assert_int_equal(time_of("1.5h"), INT64_C(5400000000000));
    assert_int_equal(time_of("4611686018427387904ns"), INT64_C(1) << 62);
    int64_t value;
    struct error err = {0};
    assert_false(parse_time("4611686018427387905ns", &value, &err));
    assert_string_equal(err.text, "\"4611686018427387905ns\" is too large: at most 4611686018427387904 nanoseconds");
    assert_false(parse_time("5", &value, &err));
    assert_string_equal(err.text, "\"5\" has no unit: write 5ns, 5us, 5ms, 5s, 5min or 5h");
    assert_false(parse_time("5m", &value, &err));
    assert_string_equal(err.text, "\"5m\" has an unknown unit \"m\": write 5ms or 5min");
    assert_false(parse_time("0.0000000001s", &value, &err));
    assert_string_equal(err.text, "\"0.0000000001s\" is not a whole number of nanoseconds");
    assert_false(parse_time("-1ms", &value, &err));
}

static void test_rates(void **state)
{
    (void)state;
    uint64_t value;
    struct error err = {0};
    assert_true(parse_rate("2.42GB/s", &value, &err));
    assert_int_equal(value, 2420000000);
    assert_true(parse_rate("1MiB/s", &value, &err));
    assert_int_equal(value, 1048576);
    assert_true(parse_rate("1152921504606846976B/s", &value, &err));
    assert_false(parse_rate("1152921504606846977B/s", &value, &err));
    assert_false(parse_rate("0GB/s", &value, &err));
    assert_string_equal(err.text, "\"0GB/s\" is too small: at least 1 bytes a second");
    assert_false(parse_rate("3GB", &value, &err));
    assert_string_equal(err.text, "\"3GB\" has an unknown unit \"GB\": write 3B/s, 3KB/s, 3MB/s, 3GB/s, 3KiB/s, "
                                  "3MiB/s or 3GiB/s");
    assert_false(parse_rate("3gb/s", &value, &err));
    assert_string_equal(err.text, "\"3gb/s\": did you mean 3GB/s?");
    assert_true(parse_flops("120GFLOPS", &value, &err));
    assert_int_equal(value, 120000000000);
    assert_true(parse_flops("0.5TFLOPS", &value, &err));
    assert_int_equal(value, 500000000000);
    assert_false(parse_flops("120GFlop", &value, &err));
    assert_string_equal(err.text, "\"120GFlop\": did you mean 120GFLOPS?");
}

static void test_shares(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t ppm;
    } good[] = {{"35%", 350000},   {"0.5%", 5000}, {"1", 1000000},       {"0.25", 250000}, {"0", 0},
                {"100%", 1000000}, {"0%", 0},      {"33.3333%", 333333}, {"0.000001", 1},  {" 50 % ", 500000}};
    struct error err = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint32_t ppm = 1;
        assert_true(parse_share(good[i].text, &ppm, &err));
        assert_int_equal(ppm, good[i].ppm);
    }
    static const char *const bad[] = {"",     "%",        "101%", "1.1",  "35",         "-1%",
                                      "35%%", "0.33333%", "x",    "35pc", "0.0000001%", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint32_t ppm = 77;
        err.text[0] = '\0';
        assert_false(parse_share(bad[i], &ppm, &err));
        assert_int_equal(err.code, STATUS_USAGE);
        assert_true(strlen(err.text) > 10);
        assert_int_equal(ppm, 77);
    }
    uint32_t ppm = 77;
    assert_true(parse_share_to("250%", 2500000, &ppm, &err));
    assert_int_equal(ppm, 2500000);
    assert_false(parse_share_to("2.51", 2500000, &ppm, &err));
    assert_string_equal(err.text, "\"2.51\" is too much: expected at most 250%");
    assert_int_equal(ppm, 2500000);
}

static void test_decimals_and_counts(void **state)
{
    (void)state;
    uint64_t value;
    struct error err = {0};
    assert_true(parse_decimal("1.05", &value, &err));
    assert_int_equal(value, 1050000);
    assert_true(parse_decimal("1000000", &value, &err));
    assert_int_equal(value, 1000000000000);
    assert_false(parse_decimal("1000000.000001", &value, &err));
    assert_string_equal(err.text, "\"1000000.000001\" is too large: at most 1000000");
    assert_false(parse_decimal("1.0000001", &value, &err));
    assert_string_equal(err.text, "\"1.0000001\" has too many digits: at most 6 after the point");
    assert_false(parse_decimal("1.05x", &value, &err));
    assert_false(parse_decimal("99999999999999999999", &value, &err));

    assert_true(parse_count("5", 1, 5, &value, &err));
    assert_int_equal(value, 5);
    assert_true(parse_count(" 18446744073709551615 ", 0, UINT64_MAX, &value, &err));
    assert_true(value == UINT64_MAX);
    assert_false(parse_count("18446744073709551616", 0, UINT64_MAX, &value, &err));
    assert_false(parse_count("7", 1, 5, &value, &err));
    assert_string_equal(err.text, "\"7\" is out of range: expected 1 to 5");
    assert_false(parse_count("0", 1, 5, &value, &err));
    assert_false(parse_count("2.0", 1, 5, &value, &err));
    assert_string_equal(err.text, "\"2.0\" is not a whole number");
    assert_false(parse_count("2k", 1, 5, &value, &err));
    assert_false(parse_count("0x2", 1, 5, &value, &err));
    assert_false(parse_count("-2", 1, 5, &value, &err));
    assert_false(parse_count("", 1, 5, &value, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_wrong_sizes),
        cmocka_unit_test(test_long_garbage_is_quoted_in_part),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_decimals_and_counts),
    };
    return cmocka_run_group_tests_name("base/units", tests, NULL, NULL);
}
