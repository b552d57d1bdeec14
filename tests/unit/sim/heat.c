/* Heat: of the processor by active time, of the flash by busy time; pauses cool both; a hot device computes slower. */
#include "sim/heat.h"

#include <stdio.h>
#include <string.h>

#include "sim/experiment.h"
#include "sim/flash.h"
#include "tests/cmocka_fixed.h"

static const char *const dirs[] = {"configs", NULL};

static void activity_warms_and_pauses_cool(void **state)
{
    (void)state;
    const struct heat_spec spec = {
        .mode = HEAT_FROM_COLD, .hot_after_ns = 1000, .factor_ppm = 300000, .cool_ppm = 500000};
    struct heat heat;
    int64_t at, total;
    heat_init(&heat, &spec);
    assert_true(!heat_is_hot(&heat, 999) && heat_is_hot(&heat, 1000));
    assert_int_equal(heat_ppm(&heat, 250), 250000);
    assert_int_equal(heat_compute_ns(&heat, 999, 100), 100);
    assert_int_equal(heat_compute_ns(&heat, 1000, 100), 334); /* ceil(100 / 0.3) */
    assert_int_equal(heat_compute_ns(&heat, 1000, 0), 0);
    heat_pause(&heat, 600);
    assert_int_equal(heat_ppm(&heat, 800), 500000);
    assert_false(heat_is_hot(&heat, 5000)); /* not in a pause */
    heat_resume(&heat, 801);                /* 100.5 lost, rounded down: 500 are left */
    assert_true(!heat_is_hot(&heat, 1300) && heat_is_hot(&heat, 1301));
    heat_pause(&heat, 9000); /* no hotter than hot */
    assert_int_equal(heat_ppm(&heat, 9000), 1000000);
    heat_resume(&heat, 9001); /* half a nanosecond is lost: none */
    assert_true(heat_is_hot(&heat, 9001));
    heat_pause(&heat, 9010);
    heat_resume(&heat, 9012);
    assert_true(!heat_is_hot(&heat, 9012) && heat_is_hot(&heat, 9013));
    heat_numbers(&heat, 9100, &at, &total);
    assert_int_equal(at, 1301);
    assert_int_equal(total, (9000 - 1301) + 9 + (9100 - 9013));
    heat_pause(&heat, 9100);
    heat_resume(&heat, 1000000);
    assert_int_equal(heat_ppm(&heat, 1000000), 0);
    heat_numbers(&heat, 1000001, &at, &total);
    assert_true(at == 1301 && total == (9000 - 1301) + 9 + (9100 - 9013));
}

static void modes(void **state)
{
    (void)state;
    struct heat heat;
    int64_t at, total;
    struct heat_spec spec = {.mode = HEAT_HOT, .hot_after_ns = 1000, .factor_ppm = 500000, .cool_ppm = 1000000};
    heat_init(&heat, &spec);
    assert_true(heat_is_hot(&heat, 0));
    heat_pause(&heat, 10);
    heat_resume(&heat, 100000); /* it stays hot */
    assert_int_equal(heat_compute_ns(&heat, 100000, 7), 14);
    heat_numbers(&heat, 100010, &at, &total);
    assert_true(at == 0 && total == 20);
    spec.mode = HEAT_OFF;
    heat_init(&heat, &spec);
    assert_true(!heat_matters(&spec) && !heat_is_hot(&heat, INT64_C(1) << 60) && heat_ppm(&heat, 5000) == 0);
    spec = (struct heat_spec){.mode = HEAT_HOT}; /* what never gets hot is not hot */
    heat_init(&heat, &spec);
    heat_numbers(&heat, 100, &at, &total);
    assert_true(!heat_is_hot(&heat, 0) && at == -1 && total == 0);
}

static void a_pause_cools_the_flash(void **state)
{
    (void)state;
    const struct flash_spec spec = {.stream_bps = 1000000000,
                                    .max_bps = 1000000000,
                                    .queue_depth = 8,
                                    .command_bytes = 1 << 20,
                                    .hot_after_ns = 1000,
                                    .hot_factor_ppm = 500000};
    struct flash flash;
    flash_init(&flash, &spec);
    flash_set_heat(&flash, HEAT_FROM_COLD, 200000);
    assert_int_equal(flash_issue(&flash, 0, 0, 1500), 1500);
    flash_finish(&flash, 1500, 1500);
    assert_int_equal(flash_peek(&flash, 1500, 100), 1500 + 200); /* hot */
    flash_pause(&flash, 1500);
    assert_int_equal(flash_peek(&flash, 1600, 100), 1600 + 200); /* a pause cools at its end */
    flash_resume(&flash, 2500);                                  /* 200 of 1000 are lost: it was no hotter than hot */
    assert_int_equal(flash_issue(&flash, 2500, 0, 200), 2700);
    flash_finish(&flash, 2700, 200);
    assert_int_equal(flash_peek(&flash, 2700, 100), 2700 + 200);
    flash_pause(&flash, 2700);
    assert_int_equal(flash_issue(&flash, 2700, 0, 500), 3700); /* busy within the pause: that does not cool */
    flash_finish(&flash, 3700, 500);
    flash_resume(&flash, 3704);
    assert_int_equal(flash_peek(&flash, 3704, 100), 3704 + 200); /* 4 ns at 20 %: 0 */
    flash_pause(&flash, 3704);
    flash_resume(&flash, 3709);
    assert_int_equal(flash_peek(&flash, 3709, 100), 3709 + 100);
    flash_init(&flash, &spec);
    flash_set_heat(&flash, HEAT_HOT, 1000000);
    assert_int_equal(flash_peek(&flash, 0, 100), 200);
    flash_init(&flash, &spec);
    flash_set_heat(&flash, HEAT_OFF, 1000000);
    assert_int_equal(flash_issue(&flash, 0, 0, 1500), 1500);
    flash_finish(&flash, 1500, 1500);
    assert_int_equal(flash_peek(&flash, 1500, 100), 1600);
}

/* Six blocks of 1 MiB at 1 GiB/s: each token computes for 6 * 2^20 / 10^9 s and waits for nothing. */
static struct run_numbers run(const char *mode, const char *heat)
{
    char text[1024];
    struct experiment *experiment;
    struct error err;
    struct prepared prepared = {0};
    struct arena arena = {0};
    struct run_result result;
    snprintf(text, sizeof text,
             "[device]\nprofile = oneplus-15r\nmemory = 1GB/s\nkill = none\n%s[model]\nblocks = 6 x 1MiB\n"
             "[workload]\nprompt_tokens = 0\noutput_tokens = 9\n[loader]\nmode = %s\n",
             heat, mode);
    if (!experiment_parse("heat.ini", text, strlen(text), NULL, 0, dirs, &experiment, &err) ||
        !experiment_execute(experiment, 0, &prepared, &arena, &result, &err))
        fail_because("%s", err.text);
    const struct run_numbers numbers = result.numbers;
    for (uint64_t i = 1; i < result.token_count; i++)
        assert_int_equal(result.tokens[i].hot,
                         numbers.hot_at_ns >= 0 && i > result.token_count - 1 - numbers.tpot_hot_count);
    prepared_free(&prepared);
    arena_free(&arena);
    experiment_free(experiment);
    return numbers;
}

static void a_hot_phone_is_slower_in_every_mode(void **state)
{
    (void)state;
    static const char *const modes_of[] = {"read", "mmap", "chunked\nbudget = 8MiB"};
    for (size_t m = 0; m < sizeof modes_of / sizeof *modes_of; m++) {
        const struct run_numbers cold = run(modes_of[m], "soc_hot_after = never\nsoc_hot_factor = 25%\n");
        const struct run_numbers hot = run(modes_of[m], "soc_hot_after = 1s\nsoc_hot_factor = 25%\nheat = hot\n");
        const struct run_numbers both = run(modes_of[m], "soc_hot_after = 40ms\nsoc_hot_factor = 25%\n");
        const struct run_numbers off = run(modes_of[m], "soc_hot_after = 40ms\nsoc_hot_factor = 25%\nheat = off\n");
        assert_int_equal(hot.compute_ns, 4 * cold.compute_ns);
        assert_true(hot.hot_at_ns == 0 && hot.hot_ns == hot.virtual_time_ns);
        assert_true(hot.tpot_hot_count == 8 && hot.tpot_cold_count == 0);
        assert_true(cold.hot_at_ns == -1 && cold.hot_ns == 0);
        assert_true(cold.tpot_cold_count == 0); /* it never gets hot: there is nothing to tell apart */
        assert_int_equal(both.hot_at_ns, 40000000);
        assert_true(both.tpot_cold_count > 0 && both.tpot_hot_count > 1);
        assert_int_equal(both.tpot_cold_count + both.tpot_hot_count, both.tpot_count);
        assert_int_equal(both.tpot_cold_total_ns + both.tpot_hot_total_ns, both.tpot_total_ns);
        assert_int_equal(both.hot_ns, both.virtual_time_ns - 40000000);
        assert_true(both.tpot_hot_total_ns / (int64_t)both.tpot_hot_count == hot.tpot_mean_ns);
        assert_int_equal(off.virtual_time_ns, cold.virtual_time_ns);
        assert_true(off.hot_at_ns == -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activity_warms_and_pauses_cool),
        cmocka_unit_test(modes),
        cmocka_unit_test(a_pause_cools_the_flash),
        cmocka_unit_test(a_hot_phone_is_slower_in_every_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
