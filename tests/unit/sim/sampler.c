/* The bounded time series: every row at its moment, at most SAMPLES_MAX of them, whatever the length of the run. */

#include "sim/sampler.h"
#include "base/rng.h"
#include "tests/cmocka_fixed.h"

/* The state at time t is t / 7 ms, so that each row can be checked. */
static void rows_hold_the_state_of_their_moment(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 3, 0);
    for (uint32_t length = 1; length < 2000000; length = length * 3 + 1) {
        struct arena arena = {0};
        struct sampler sampler;
        assert_true(sampler_init(&sampler, &arena));
        int64_t now = 0;
        uint64_t value = 0;
        int64_t changed[64];
        uint32_t changes = 0;
        while (changes < 64) {
            int64_t next = now + (int64_t)rng_below(&rng, length * UINT64_C(10000)) + 1;
            struct sample_numbers row = {.flash_bytes = value};
            while (sampler.next_ns < next)
                sampler_put(&sampler, &row);
            now = next;
            changed[changes++] = now;
            value++;
        }
        struct sample_numbers last = {.flash_bytes = value};
        sampler_end(&sampler, &last, now);
        assert_true(sampler.count <= SAMPLES_MAX);
        for (uint32_t i = 0; i < sampler.count; i++) {
            uint64_t expected = 0;
            for (uint32_t c = 0; c < changes; c++)
                expected += changed[c] <= sampler.rows[i].time_ns;
            assert_true(sampler.rows[i].flash_bytes == expected);
            if (i + 1 < sampler.count)
                assert_true(sampler.rows[i].time_ns == (int64_t)i * sampler.interval_ns);
        }
        assert_true(sampler.rows[sampler.count - 1].time_ns == now);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_hold_the_state_of_their_moment)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
