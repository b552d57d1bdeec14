/* What queue policies are made of: shares of a budget, and the ring. */
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "policies/parts.h"
#include "policies/ring.h"
#include "tests/cmocka_fixed.h"

/* As implementations that multiply with a double and cast. */
static void shares_are_those_of_doubles(void **unused)
{
    (void)unused;
    struct rng rng;
    rng_seed(&rng, 3, 0);
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t whole = i < 100000 ? i : rng_below(&rng, UINT64_C(1) << (20 + i % 30));
        assert_int_equal(part_share(whole, 100000), (uint64_t)(int64_t)((double)whole * 0.10));
        assert_int_equal(part_share(whole, 250000), (uint64_t)(int64_t)((double)whole * 0.25));
        assert_int_equal(part_share(whole, 500000), (uint64_t)(int64_t)((double)whole * 0.5));
        assert_int_equal(part_share(whole, 900000), (uint64_t)(int64_t)((double)whole * 0.90));
        assert_int_equal(part_share(whole, 290000), (uint64_t)(int64_t)((double)whole * 0.29));
        assert_int_equal(part_share(whole, 350000), (uint64_t)(int64_t)((double)whole * 0.35));
    }
    assert_int_equal(part_share(UINT64_MAX, 1000000), UINT64_MAX);
}

static void ring_keeps_its_order_when_blocks_leave_from_within(void **unused)
{
    (void)unused;
    for (uint32_t leaves = 0; leaves < 7; leaves++) {
        struct ring ring;
        block_id slots[8];
        ring_init(&ring, 7);
        ring.oldest = ring.end = UINT32_MAX - 3; /* positions go around */
        for (block_id b = 0; b < 7; b++)
            ring_push(&ring, slots, b);
        ring_remove(&ring, slots, leaves);
        assert_int_equal(ring.end - ring.oldest, 6);
        for (uint32_t i = 0; i < 6; i++)
            assert_int_equal(*ring_at(&ring, slots, ring.oldest + i), i < leaves ? i : i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_of_doubles),
        cmocka_unit_test(ring_keeps_its_order_when_blocks_leave_from_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
