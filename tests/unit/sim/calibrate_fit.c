/* The fit of the flash law: points made by the law give its constants back, others the least squares. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "sim/calibrate_fit.h"
#include "tests/cmocka_fixed.h"

enum { LANES = 6, SIZES = 8, POINTS = LANES * SIZES };
static const uint64_t sizes[SIZES] = {4096, 16384, 65536, 131072, 262144, 1048576, 4194304, 8388608};

/* The rates of a device with these constants, each off by up to `noise` of itself. */
static size_t make_points(const struct flash_fit *device, size_t lanes, size_t first_size, double noise, uint64_t seed,
                          struct flash_point *points)
{
    struct rng rng;
    size_t count = 0;
    rng_seed(&rng, seed, 0);
    for (size_t i = 0; i < lanes; i++)
        for (size_t j = first_size; j < SIZES; j++) {
            double off = noise * ((double)rng_below(&rng, 2001) / 1000.0 - 1.0);
            points[count] = (struct flash_point){UINT64_C(1) << i, sizes[j], 0.0};
            points[count].bps = flash_law(device, points[count].lanes, sizes[j]) * (1.0 + off);
            count++;
        }
    return count;
}

static void check_near(const char *what, double found, double expected, double share)
{
    if (fabs(found / expected - 1.0) > share)
        fail_because("%s is %.9g, expected %.9g within %g", what, found, expected, share);
}

static void gives_the_constants_back(void **state)
{
    (void)state;
    static const struct flash_fit devices[] = {
        {.setup_ns = 205e3, .stream_bps = 1.98e9, .max_bps = 2.42e9}, /* UFS 4 */
        {.setup_ns = 120e3, .stream_bps = 180e6, .max_bps = 250e6},   /* eMMC */
        {.setup_ns = 9e3, .stream_bps = 3e9, .max_bps = 7e9},         /* NVMe */
        {.setup_ns = 8e6, .stream_bps = 150e6, .max_bps = 150e6},     /* a disk: one read alone reaches max */
        {.setup_ns = 1.5e3, .stream_bps = 2.5e10, .max_bps = 2.6e10}, /* memory */
        {.setup_ns = 700e3, .stream_bps = 90e6, .max_bps = 1.5e9},    /* far away, many in flight */
    };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        struct flash_point points[POINTS];
        struct flash_fit fit;
        struct error err;
        size_t count = make_points(&devices[i], LANES, 0, 0.0, 7, points);
        if (!flash_fit(points, count, &fit, &err))
            fail_because("%s", err.text);
        check_near("setup", fit.setup_ns, devices[i].setup_ns, 1e-6);
        check_near("stream", fit.stream_bps, devices[i].stream_bps, 1e-6);
        check_near("max", fit.max_bps, devices[i].max_bps, 1e-6);
        assert_true(fit.reaches_max);
        assert_true(fit.rms < 1e-7 && fit.median < 1e-7 && fabs(fit.worst) < 1e-6);
    }
}

static double squares(const struct flash_point *points, size_t count, const struct flash_fit *fit)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        double off = log(flash_law(fit, points[i].lanes, points[i].block_bytes) / points[i].bps);
        sum += off * off;
    }
    return sum;
}

/* No constants nearby, or anywhere that chance finds, have squares smaller by more than a share of them. */
static void check_least(const struct flash_point *points, size_t count, const struct flash_fit *fit, double share,
                        uint64_t seed)
{
    struct rng rng;
    const double least = squares(points, count, fit);
    assert_true(fabs(sqrt(least / (double)count) - fit->rms) < 1e-12);
    rng_seed(&rng, seed, 0);
    for (int i = 0; i < 20000; i++) {
        double reach = i % 2 == 0 ? 0.02 : 3.0, factors[3];
        for (int j = 0; j < 3; j++)
            factors[j] = exp(reach * ((double)rng_below(&rng, 2001) / 1000.0 - 1.0));
        struct flash_fit other = {.setup_ns = fit->setup_ns * factors[0],
                                  .stream_bps = fit->stream_bps * factors[1],
                                  .max_bps = fit->max_bps * factors[2]};
        if (other.stream_bps <= other.max_bps && squares(points, count, &other) < least * (1.0 - share))
            fail_because("seed %d: setup %g stream %g max %g is better", (int)seed, other.setup_ns, other.stream_bps,
                         other.max_bps);
    }
}

static void is_the_least(void **state)
{
    (void)state;
    const struct flash_fit device = {.setup_ns = 90e3, .stream_bps = 0.9e9, .max_bps = 2e9};
    struct flash_point points[POINTS];
    struct flash_fit fit;
    struct error err;
    size_t count = make_points(&device, LANES, 0, 0.2, 7, points);
    assert_true(flash_fit(points, count, &fit, &err));
    assert_true(fit.rms > 0.05 && fit.rms < 0.2);
    check_least(points, count, &fit, 1e-9, 3);
    /* Few points far from the law, where which of them max holds is in doubt: the least lies in a corner there, which
     * the search nearly reaches. */
    for (uint64_t seed = 0; seed < 12; seed++) {
        count = make_points(&device, 3, 4, 0.9, seed, points);
        assert_true(flash_fit(points, count, &fit, &err));
        check_least(points, count, &fit, 1e-3, seed);
    }
}

/* One lane never sees the shared rate: max is the most that the law gives there, and no less than stream. */
static void says_when_max_is_not_reached(void **state)
{
    (void)state;
    const struct flash_fit device = {.setup_ns = 100e3, .stream_bps = 1e9, .max_bps = 9e9};
    struct flash_point points[POINTS];
    struct flash_fit fit;
    struct error err;
    size_t count = make_points(&device, 1, 0, 0.0, 7, points);
    assert_true(flash_fit(points, count, &fit, &err));
    check_near("setup", fit.setup_ns, device.setup_ns, 1e-6);
    check_near("stream", fit.stream_bps, device.stream_bps, 1e-6);
    check_near("max", fit.max_bps, device.stream_bps, 1e-6);
}

static void refuses_what_cannot_be_fitted(void **state)
{
    (void)state;
    struct flash_point points[4] = {{1, 4096, 1e6}, {2, 4096, 2e6}, {4, 4096, 3e6}, {8, 4096, 3e6}};
    struct flash_fit fit;
    struct error err;
    assert_false(flash_fit(points, 2, &fit, &err));
    assert_string_equal(err.text, "2 measured rates: a fit of setup, stream and max needs 3 to 4096");
    assert_int_equal(err.code, STATUS_INPUT);
    assert_false(flash_fit(points, 4, &fit, &err));
    assert_non_null(strstr(err.text, "all 4 reads have 4096 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_constants_back),
        cmocka_unit_test(is_the_least),
        cmocka_unit_test(says_when_max_is_not_reached),
        cmocka_unit_test(refuses_what_cannot_be_fitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
