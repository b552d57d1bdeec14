/* Random numbers against published outputs; the id map against a linear search. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/rng.h"
#include "tests/cmocka_fixed.h"

static void test_seeding_is_splitmix64(void **state)
{
    (void)state;
    /* The first outputs of splitmix64 from the seed 1234567, as other implementations give them. */
    static const uint64_t expected[4] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                         UINT64_C(9817491932198370423), UINT64_C(4593380528125082431)};
    struct rng rng;
    rng_seed(&rng, 1234567, 0);
    assert_memory_equal(rng.s, expected, sizeof expected);
}

static void test_xoshiro_gives_its_published_outputs(void **state)
{
    (void)state;
    static const uint64_t expected[] = {UINT64_C(11520),
                                        UINT64_C(0),
                                        UINT64_C(1509978240),
                                        UINT64_C(1215971899390074240),
                                        UINT64_C(1216172134540287360),
                                        UINT64_C(607988272756665600),
                                        UINT64_C(16172922978634559625),
                                        UINT64_C(8476171486693032832),
                                        UINT64_C(10595114339597558777),
                                        UINT64_C(2904607092377533576)};
    struct rng rng = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(rng_next(&rng) == expected[i]);
}

static void test_streams_differ(void **state)
{
    (void)state;
    struct idmap seen = {0};
    struct error err;
    for (uint64_t seed = 0; seed < 20; seed++) {
        for (uint64_t stream = 0; stream < 20; stream++) {
            struct rng rng, again;
            rng_seed(&rng, seed, stream);
            rng_seed(&again, seed, stream);
            uint32_t id;
            const uint32_t before = seen.count;
            const uint64_t first = rng_next(&rng);
            assert_true(first == rng_next(&again));
            assert_true(idmap_put(&seen, first, &id, &err));
            assert_int_equal(seen.count, before + 1);
        }
    }
    idmap_free(&seen);
}

static void test_below_is_even(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 42, 1);
    unsigned counts[6] = {0};
    for (int i = 0; i < 60000; i++) {
        const uint64_t x = rng_below(&rng, 6);
        assert_true(x < 6);
        counts[x]++;
    }
    for (int i = 0; i < 6; i++) /* 10000 expected, deviation 91: five of them */
        assert_in_range(counts[i], 9544, 10456);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rng_below(&rng, 1), 0);

    /* With n = 3 * 2^62 a plain product would give the numbers 0 mod 3 twice as often as the others. */
    const uint64_t n = UINT64_C(3) << 62;
    unsigned thirds[3] = {0};
    for (int i = 0; i < 30000; i++) {
        const uint64_t x = rng_below(&rng, n);
        assert_true(x < n);
        thirds[x % 3]++;
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(thirds[i], 9590, 10410);
}

static void test_ids_come_in_order_of_appearance(void **state)
{
    (void)state;
    struct idmap map = {0};
    struct error err;
    static const uint64_t keys[] = {900, 0, UINT64_MAX, 900, 7, 0};
    static const uint32_t expected[] = {0, 1, 2, 0, 3, 1};
    for (size_t i = 0; i < 6; i++) {
        uint32_t id = 99;
        assert_true(idmap_put(&map, keys[i], &id, &err));
        assert_int_equal(id, expected[i]);
    }
    assert_int_equal(map.count, 4);
    assert_int_equal(map.keys[2], UINT64_MAX);
    idmap_free(&map);
    assert_int_equal(map.count, 0);
    uint32_t id = 99;
    assert_true(idmap_put(&map, 5, &id, &err)); /* usable again */
    assert_int_equal(id, 0);
    idmap_free(&map);
}

static void test_many_ids(void **state)
{
    (void)state;
    struct idmap map = {0};
    struct error err;
    const uint32_t n = 200000;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < n; i++) {
            uint32_t id;
            assert_true(idmap_put(&map, (uint64_t)i << 20, &id, &err)); /* low bits all equal */
            assert_int_equal(id, i);
        }
    }
    assert_int_equal(map.count, n);
    idmap_free(&map);
}

/* Small and large keys, alone and in batches of any size, through every size of both tables: the ids of a naive list.
 */
static void test_ids_in_batches(void **state)
{
    (void)state;
    enum { KEYS = 30000 };
    struct idmap map = {0};
    struct error err;
    struct rng rng;
    uint64_t *keys = malloc(KEYS * sizeof *keys);
    uint32_t *ids = malloc(KEYS * sizeof *ids);
    assert_true(keys != NULL && ids != NULL);
    rng_seed(&rng, 7, 0);
    for (uint32_t i = 0; i < KEYS; i++) {
        const uint64_t base = rng_below(&rng, 3000);
        const uint64_t edges[] = {base, base * 1400, (UINT64_C(1) << 22) - 1500 + base, base << 40, UINT64_MAX - base};
        keys[i] = edges[rng_below(&rng, 5)];
    }
    for (uint32_t i = 0; i < KEYS;) {
        uint32_t count = (uint32_t)rng_below(&rng, 700) + 1;
        count = count < KEYS - i ? count : KEYS - i;
        if (count % 3 == 0)
            for (uint32_t k = 0; k < count; k++)
                assert_true(idmap_put(&map, keys[i + k], &ids[i + k], &err));
        else
            assert_true(idmap_put_many(&map, keys + i, count, ids + i, &err));
        i += count;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < KEYS; i++) {
        assert_true(ids[i] <= count && ids[i] < map.count);
        assert_true(map.keys[ids[i]] == keys[i]); /* the key's own id: */
        count += ids[i] == count;                 /* new ones in order */
    }
    assert_int_equal(count, map.count);
    for (uint32_t i = 0; i < count; i++) /* and one each */
        for (uint32_t k = 0; k < i && i < 1000; k++)
            assert_true(map.keys[i] != map.keys[k]);
    free(keys);
    free(ids);
    idmap_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeding_is_splitmix64),
        cmocka_unit_test(test_xoshiro_gives_its_published_outputs),
        cmocka_unit_test(test_streams_differ),
        cmocka_unit_test(test_below_is_even),
        cmocka_unit_test(test_ids_come_in_order_of_appearance),
        cmocka_unit_test(test_many_ids),
        cmocka_unit_test(test_ids_in_batches),
    };
    return cmocka_run_group_tests_name("base/numbers", tests, NULL, NULL);
}
