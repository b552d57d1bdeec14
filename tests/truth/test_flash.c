/* The flash model with the profile of a OnePlus 15R against reads measured on that phone: within 15 % each. */
#include <stddef.h>
#include <stdio.h>

#include "tests/cmocka_fixed.h"
#include "tests/truth/truth_data.h"

enum { LANES, BLOCK_KIB, MIB_PER_S, LATENCY_MS, COLUMNS };

static void rows_within_15_percent(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    struct device device;
    struct truth_table table;
    truth_device("oneplus-15r", &device);
    truth_read(TRUTH_FOLDER "phones/iobench-oneplus-15r.csv", COLUMNS, &table);
    assert_int_equal(table.rows, 12);
    for (size_t i = 0; i < table.rows; i++) {
        struct error err;
        uint64_t rate;
        int64_t latency;
        double lanes = truth_number(&table, i, LANES), kib = truth_number(&table, i, BLOCK_KIB);
        double measured = truth_number(&table, i, MIB_PER_S) * 1048576;
        if (!flash_measure(&device.flash, (uint32_t)lanes, (uint64_t)kib * 1024, &rate, &latency, &err))
            fail_because("%s", err.text);
        double off = (double)rate / measured - 1;
        print_message("# %2.0f lanes, %4.0f KiB: %+.1f %%\n", lanes, kib, 100 * off);
        if (off < -0.15 || off > 0.15)
            fail_because("%.0f lanes of %.0f KiB: %llu B/s, measured %.0f", lanes, kib, (unsigned long long)rate,
                         measured);
    }
    truth_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_within_15_percent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
