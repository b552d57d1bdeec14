/* What the clock of a run shows: the end of virtual time, and the TLB misses of a mapped step. */
#include <string.h>

#include "mapped_world.h"

/* A token whose memory comes back from zram, a second a page: over 73 years of it, with no sample due in between. */
static void past_the_end_is_an_error(void **state)
{
    (void)state;
    for (int mode = LOADER_CHUNKED; mode <= LOADER_MMAP; mode++) {
        for (int slow = 0; slow < 2; slow++) {
            struct mapped_world world;
            mapped_world_make(&world, "2 x 1MiB", 1, 64);
            mapped_world_policy(&world, "lru");
            struct device *device = &world.spec.device;
            world.spec.loader.mode = (enum loader_mode)mode;
            world.spec.loader.budget_bytes = 8 << 20;
            device->ram_bytes = UINT64_C(1) << 49;
            device->runtime_bytes = UINT64_C(1) << 50;
            device->pressure = (struct pressure_spec){.zram_bytes = UINT64_C(1) << 50,
                                                      .zram_ratio_ppm = 2800000,
                                                      .swap_in_ns = slow ? 1000000000 : 1000,
                                                      .swap_out_ns = slow ? 1000000000 : 1000};
            const bool good = engine_run(&world.spec, &world.arena, &world.result, &world.err);
            assert_int_equal(good, !slow);
            if (slow) {
                assert_int_equal(world.err.code, STATUS_USAGE);
                assert_string_equal(world.err.text, "the run takes over 73 years of virtual time");
            } else {
                assert_int_equal(world.result.numbers.outcome, OUTCOME_COMPLETED);
                assert_true(world.result.numbers.virtual_time_ns <= INT64_C(1) << 61);
            }
            mapped_world_free(&world);
        }
    }
}

/* Each page that a step touches misses the TLB once: 512 times fewer with pages of 2 MiB. */
static void tlb_misses_fall_with_huge_pages(void **state)
{
    (void)state;
    enum { TLB_NS = 10, TOKENS = 3, FILE_BYTES = 8 << 20 };
    static const uint64_t pages[] = {4096, 65536, 2 << 20};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct mapped_world world;
        mapped_world_make(&world, "4 x 2MiB", TOKENS, 64);
        world.spec.loader.page_bytes = pages[i];
        world.spec.device.tlb_miss_ns = TLB_NS;
        const struct run_numbers *numbers = mapped_world_run(&world);
        assert_int_equal(numbers->outcome, OUTCOME_COMPLETED);
        assert_int_equal(numbers->compute_ns, TOKENS * (4 * WORLD_STEP_NS + (int64_t)(FILE_BYTES / pages[i]) * TLB_NS));
        mapped_world_free(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(past_the_end_is_an_error),
        cmocka_unit_test(tlb_misses_fall_with_huge_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
