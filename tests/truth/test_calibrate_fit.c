/* The fit of the flash law to reads measured on a OnePlus 15R: the constants of its profile. */
#include <math.h>
#include <stdio.h>

#include "sim/calibrate_table.h"
#include "tests/cmocka_fixed.h"
#include "tests/truth/truth_data.h"

static void near(const char *what, double found, double expected, double share)
{
    print_message("# %s %.4g\n", what, found);
    if (fabs(found / expected - 1.0) > share)
        fail_because("%s is %.6g, expected %.6g within %g", what, found, expected, share);
}

static void gives_the_profile(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    struct flash_table table;
    struct flash_fit fit;
    struct device device;
    struct error err;
    truth_device("oneplus-15r", &device);
    if (!flash_table_read(TRUTH_FOLDER "phones/iobench-oneplus-15r.csv", &table, &err) ||
        !flash_fit(table.points, table.count, &fit, &err))
        fail_because("%s", err.text);
    assert_int_equal(table.count, 12);
    near("setup", fit.setup_ns, (double)device.flash.setup_ns, 0.01);
    near("stream", fit.stream_bps, (double)device.flash.stream_bps, 0.01);
    near("max", fit.max_bps, (double)device.flash.max_bps, 0.01);
    near("rms", fit.rms, 0.074, 0.02);
    near("worst", fit.worst, 0.131, 0.02);
    assert_true(fit.reaches_max);
    flash_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gives_the_profile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
