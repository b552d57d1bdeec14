/* Allocators: small cases by hand, ends of the ranges of sizes, and many ranges at once. */
#include <stddef.h>
#include <string.h>

#include "base/rng.h"
#include "sim/allocator.h"
#include "tests/cmocka_fixed.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

static struct arena arena;

static int end_arena(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static struct allocator *make(struct allocator_spec spec)
{
    struct allocator *allocator;
    struct error err;
    assert_true(allocator_init(&allocator, &spec, &arena, &err));
    return allocator;
}

/* Takes a range that must fit without moving anything. */
static uint32_t take(struct allocator *allocator, uint64_t bytes)
{
    uint32_t range;
    uint64_t moved;
    assert_true(allocator_take(allocator, bytes, &range, &moved));
    assert_int_equal(moved, 0);
    return range;
}

static void refuse(struct allocator *allocator, uint64_t bytes)
{
    uint32_t range;
    uint64_t moved;
    assert_false(allocator_take(allocator, bytes, &range, &moved));
    assert_int_equal(range, RANGE_NONE);
    assert_int_equal(moved, 0);
}

static void fixed_takes_the_lowest_slot(void **state)
{
    (void)state;
    struct allocator *fixed =
        make((struct allocator_spec){ALLOCATOR_FIXED, .space_bytes = 1050, .slot_bytes = 100, .ranges_max = 10});
    uint32_t ranges[10];
    for (uint32_t i = 0; i < 10; i++) {
        ranges[i] = take(fixed, 1 + 11 * i);
        assert_int_equal(allocator_offset(fixed, ranges[i]), 100 * i);
    }
    struct allocator_state full = allocator_state(fixed);
    assert_int_equal(full.requested_bytes, 10 + 11 * 45);
    assert_int_equal(full.taken_bytes, 1000);
    assert_int_equal(full.free_bytes, 50);
    assert_int_equal(full.largest_hole_bytes, 0);
    allocator_free(fixed, ranges[7]);
    allocator_free(fixed, ranges[2]);
    refuse(fixed, 101);
    assert_int_equal(allocator_offset(fixed, take(fixed, 100)), 200);
    assert_int_equal(allocator_counts(fixed).failures, 1);
    assert_int_equal(allocator_counts(fixed).hole_failures, 1); /* 250 bytes were free */
}

/* 13 pages are cut into 8, 4 and 1; a block of 3 pages takes 4. */
static void buddy_cuts_and_joins(void **state)
{
    (void)state;
    struct allocator *buddy =
        make((struct allocator_spec){ALLOCATOR_BUDDY, .space_bytes = 13 * 4096 + 77, .ranges_max = 13});
    assert_int_equal(allocator_state(buddy).largest_hole_bytes, 8 * 4096);
    uint32_t a = take(buddy, 1);
    assert_int_equal(allocator_offset(buddy, a), 12 * 4096); /* the smallest that fits */
    uint32_t b = take(buddy, 3 * 4096);
    assert_int_equal(allocator_offset(buddy, b), 8 * 4096);
    assert_int_equal(allocator_taken(buddy, b), 4 * 4096);
    uint32_t c = take(buddy, 4096); /* 8 is halved thrice */
    assert_int_equal(allocator_offset(buddy, c), 0);
    assert_int_equal(allocator_state(buddy).largest_hole_bytes, 4 * 4096);
    refuse(buddy, 4 * 4096 + 1); /* 7 pages are free */
    assert_int_equal(allocator_counts(buddy).hole_failures, 1);
    uint32_t d = take(buddy, 4097);
    assert_int_equal(allocator_offset(buddy, d), 2 * 4096);
    allocator_free(buddy, c);
    assert_int_equal(allocator_state(buddy).largest_hole_bytes, 4 * 4096);
    allocator_free(buddy, d);
    assert_int_equal(allocator_state(buddy).largest_hole_bytes, 8 * 4096);
    allocator_free(buddy, a);
    allocator_free(buddy, b);
    assert_int_equal(allocator_state(buddy).free_bytes, 13 * 4096 + 77);
}

/* A size just over a power of two takes twice itself; over sizes drawn from a doubling the loss is a quarter of what is
 * taken, as their mean is three quarters of the block. */
static void buddy_rounds_odd_sizes_up(void **state)
{
    (void)state;
    struct allocator *buddy =
        make((struct allocator_spec){ALLOCATOR_BUDDY, .space_bytes = UINT64_C(1) << 32, .ranges_max = 1000});
    allocator_free(buddy, take(buddy, MIB + 1));
    assert_int_equal(allocator_counts(buddy).internal_peak_bytes, MIB - 1);
    struct rng rng;
    rng_seed(&rng, 1, 1);
    for (uint32_t i = 0; i < 1000; i++)
        take(buddy, MIB + 1 + rng_below(&rng, MIB));
    struct allocator_state full = allocator_state(buddy);
    assert_int_equal(full.taken_bytes, UINT64_C(2000) * MIB);
    uint64_t lost = full.taken_bytes - full.requested_bytes;
    assert_true(lost > UINT64_C(480) * MIB && lost < UINT64_C(520) * MIB);
}

static void slab_classes_are_eighths(void **state)
{
    (void)state;
    struct allocator *slab =
        make((struct allocator_spec){ALLOCATOR_SLAB, .space_bytes = UINT64_C(1) << 40, .ranges_max = 64});
    static const uint64_t sizes[][2] = {
        {1, 4096},
        {4096, 4096},
        {4097, 4608},
        {8192, 8192},
        {8193, 9216},
        {100000, 106496},
        {MIB, MIB},
        {MIB + 1, MIB + MIB / 8},
        {3 * MIB, 3 * MIB},
        {3 * MIB + 1, MIB / 4 * 13},
        {15 * MIB, 15 * MIB},
        {15 * MIB + 1, 16 * MIB},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_int_equal(allocator_taken(slab, take(slab, sizes[i][0])), sizes[i][1]);
}

/* Objects of 400 KiB are of the class of 416 KiB: three of them make up 1 MiB. */
static void slabs_fill_from_below_and_go_back(void **state)
{
    (void)state;
    enum { OBJECT = 400 * KIB, ROUNDED = 416 * KIB, SLAB = 3 * ROUNDED };
    struct allocator *slab =
        make((struct allocator_spec){ALLOCATOR_SLAB, .space_bytes = 3 * SLAB + MIB - 1, .ranges_max = 9});
    uint32_t ranges[9];
    for (uint32_t i = 0; i < 9; i++) {
        ranges[i] = take(slab, OBJECT);
        assert_int_equal(allocator_taken(slab, ranges[i]), ROUNDED);
        assert_int_equal(allocator_offset(slab, ranges[i]), i * ROUNDED);
    }
    assert_int_equal(allocator_state(slab).taken_bytes, 3 * SLAB);
    assert_int_equal(allocator_state(slab).largest_hole_bytes, 0);
    allocator_free(slab, ranges[7]);
    allocator_free(slab, ranges[4]);
    assert_int_equal(allocator_state(slab).taken_bytes, 3 * SLAB); /* both slabs hold others */
    assert_int_equal(allocator_state(slab).largest_hole_bytes, ROUNDED);
    refuse(slab, 4096); /* of another class */
    ranges[4] = take(slab, OBJECT);
    assert_int_equal(allocator_offset(slab, ranges[4]), 4 * ROUNDED); /* the lowest slab that has one */
    allocator_free(slab, ranges[3]);
    allocator_free(slab, ranges[4]);
    allocator_free(slab, ranges[5]);
    assert_int_equal(allocator_state(slab).taken_bytes, 2 * SLAB);
    assert_int_equal(allocator_offset(slab, take(slab, 4096)), SLAB);
}

/* Every second range of a full space goes: half of it is free, and nothing larger than one of them fits; until what is
 * left moves together. */
static void malloc_fragments_and_compacts(void **state)
{
    (void)state;
    enum { COUNT = 100, CHUNK = 1024 };
    for (int compacts = 0; compacts < 2; compacts++) {
        struct allocator *heap = make((struct allocator_spec){ALLOCATOR_MALLOC, .space_bytes = COUNT * CHUNK + 15,
                                                              .ranges_max = COUNT + 1, .compact = compacts});
        uint32_t ranges[COUNT], range;
        uint64_t moved;
        for (uint32_t i = 0; i < COUNT; i++) {
            ranges[i] = take(heap, CHUNK - 16 - i % 16); /* rounded up to 16, a header of 16 */
            assert_int_equal(allocator_offset(heap, ranges[i]), i * CHUNK);
        }
        refuse(heap, 1); /* 15 bytes are left */
        for (uint32_t i = 0; i < COUNT; i += 2)
            allocator_free(heap, ranges[i]);
        struct allocator_state holed = allocator_state(heap);
        assert_int_equal(holed.free_bytes, COUNT / 2 * CHUNK + 15);
        assert_int_equal(holed.largest_hole_bytes, CHUNK - 16);
        assert_int_equal(allocator_counts(heap).external_peak_bytes, COUNT / 2 * CHUNK + 15 - (CHUNK - 16));
        bool taken = allocator_take(heap, COUNT / 2 * CHUNK - 16, &range, &moved);
        assert_int_equal(taken, compacts);
        if (!compacts) {
            assert_int_equal(allocator_counts(heap).hole_failures, 2); /* the first for 1 byte of 15 */
            continue;
        }
        assert_int_equal(moved, COUNT / 2 * CHUNK);
        assert_int_equal(allocator_counts(heap).compactions, 1);
        assert_int_equal(allocator_offset(heap, range), COUNT / 2 * CHUNK);
        for (uint32_t i = 1; i < COUNT; i += 2)
            assert_int_equal(allocator_offset(heap, ranges[i]), i / 2 * CHUNK);
    }
}

static void malloc_fits_best(void **state)
{
    (void)state;
    struct allocator *heap = make((struct allocator_spec){ALLOCATOR_MALLOC, .space_bytes = 10000, .ranges_max = 10});
    uint32_t big = take(heap, 2000), gap = take(heap, 16), small = take(heap, 1000), gap2 = take(heap, 16),
             equal = take(heap, 1000), gap3 = take(heap, 16);
    uint64_t where = allocator_offset(heap, small);
    allocator_free(heap, big);
    allocator_free(heap, equal);
    allocator_free(heap, small);
    assert_int_equal(allocator_offset(heap, take(heap, 900)), where); /* of two equal ones the lower */
    assert_true(allocator_offset(heap, gap) < where && where < allocator_offset(heap, gap2));
    allocator_free(heap, gap3);
    assert_int_equal(allocator_state(heap).largest_hole_bytes, 10000 - allocator_offset(heap, gap2) - 32 - 16);
}

static void ends_of_the_range(void **state)
{
    (void)state;
    for (int kind = ALLOCATOR_FIXED; kind <= ALLOCATOR_MALLOC; kind++) {
        struct allocator *tiny = make(
            (struct allocator_spec){(enum allocator_kind)kind, .space_bytes = 1, .slot_bytes = 2, .ranges_max = 1});
        refuse(tiny, 1);
        refuse(tiny, UINT64_MAX);
        assert_int_equal(allocator_counts(tiny).external_peak_bytes, 0); /* nothing was ever live */
        struct allocator *vast =
            make((struct allocator_spec){(enum allocator_kind)kind, .space_bytes = ALLOCATOR_SPACE_MAX,
                                         .slot_bytes = ALLOCATOR_SPACE_MAX, .ranges_max = 2});
        uint64_t largest = allocator_state(vast).largest_hole_bytes;
        refuse(vast, UINT64_MAX);
        refuse(vast, ALLOCATOR_SPACE_MAX + 1);
        refuse(vast, largest + 1);
        assert_int_equal(allocator_offset(vast, take(vast, largest)), 0);
        assert_int_equal(allocator_state(vast).taken_bytes, ALLOCATOR_SPACE_MAX);
        refuse(vast, 1);
    }
}

static void what_cannot_be_is_an_error(void **state)
{
    (void)state;
    struct allocator *allocator;
    struct error err;
    struct allocator_spec spec = {ALLOCATOR_FIXED, .space_bytes = 0, .slot_bytes = 1, .ranges_max = 1};
    assert_false(allocator_init(&allocator, &spec, &arena, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_string_equal(err.text, "the allocator's space has 0 bytes: expected 1 to 4611686018427387904");
    spec.space_bytes = ALLOCATOR_SPACE_MAX + 1;
    assert_false(allocator_init(&allocator, &spec, &arena, &err));
    spec.space_bytes = 1;
    spec.slot_bytes = 0;
    assert_false(allocator_init(&allocator, &spec, &arena, &err));
    assert_string_equal(err.text, "the fixed allocator's slots have 0 bytes: expected at least 1");
}

/* As much space as ranges of one size are said to take holds them all, and a byte less does not. */
static void space_is_foretold(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 4096, 5000, 300 * KIB, MIB - 1, MIB, 5 * MIB + 7};
    for (int kind = ALLOCATOR_FIXED; kind <= ALLOCATOR_MALLOC; kind++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (uint32_t count = 1; count < 9; count++) {
                struct allocator_spec spec = {(enum allocator_kind)kind, .slot_bytes = sizes[i] + 3,
                                              .ranges_max = count};
                assert_true(allocator_space_of(&spec, sizes[i], count, &spec.space_bytes));
                struct allocator *enough = make(spec);
                for (uint32_t range = 0; range < count; range++)
                    take(enough, sizes[i]);
                assert_int_equal(allocator_state(enough).taken_bytes, spec.space_bytes);
                spec.space_bytes--;
                if (spec.space_bytes == 0)
                    continue;
                struct allocator *less = make(spec);
                uint32_t range, taken = 0;
                uint64_t moved;
                while (taken < count && allocator_take(less, sizes[i], &range, &moved))
                    taken++;
                assert_true(taken < count);
            }
        }
    }
    struct allocator_spec spec = {ALLOCATOR_FIXED, .slot_bytes = 10};
    uint64_t space;
    assert_false(allocator_space_of(&spec, 11, 1, &space));
    assert_true(allocator_space_of(&spec, 11, 0, &space) && space == 0);
    spec.kind = ALLOCATOR_BUDDY;
    assert_false(allocator_space_of(&spec, ALLOCATOR_SPACE_MAX / 2 + 1, 2, &space));
    assert_false(allocator_space_of(&spec, UINT64_MAX, 1, &space));
    assert_true(allocator_space_of(&spec, ALLOCATOR_SPACE_MAX, 1, &space) && space == ALLOCATOR_SPACE_MAX);
}

/* Tens of thousands of live ranges, and the books still add up when all are gone. */
static void many_ranges(void **state)
{
    (void)state;
    enum { COUNT = 40000 };
    static uint32_t live[COUNT];
    for (int kind = ALLOCATOR_FIXED; kind <= ALLOCATOR_MALLOC; kind++) {
        struct allocator *allocator = make((struct allocator_spec){
            (enum allocator_kind)kind, .space_bytes = UINT64_C(1) << 33, .slot_bytes = 200 * KIB, .ranges_max = COUNT});
        struct rng rng;
        rng_seed(&rng, 7, (uint64_t)kind);
        uint64_t used = arena.used_bytes;
        for (uint32_t i = 0; i < COUNT; i++)
            live[i] = take(allocator, 1 + rng_below(&rng, 100 * KIB));
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t other = (uint32_t)rng_below(&rng, COUNT);
            allocator_free(allocator, live[other]);
            live[other] = take(allocator, 1 + rng_below(&rng, 100 * KIB));
        }
        assert_int_equal(allocator_state(allocator).ranges, COUNT);
        for (uint32_t i = 0; i < COUNT; i++)
            allocator_free(allocator, live[i]);
        assert_int_equal(arena.used_bytes, used);
        assert_int_equal(allocator_state(allocator).taken_bytes, 0);
        assert_int_equal(allocator_state(allocator).requested_bytes, 0);
        assert_int_equal(allocator_counts(allocator).calls, 2 * COUNT);
        assert_int_equal(allocator_counts(allocator).failures, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(fixed_takes_the_lowest_slot, end_arena),
        cmocka_unit_test_teardown(buddy_cuts_and_joins, end_arena),
        cmocka_unit_test_teardown(buddy_rounds_odd_sizes_up, end_arena),
        cmocka_unit_test_teardown(slab_classes_are_eighths, end_arena),
        cmocka_unit_test_teardown(slabs_fill_from_below_and_go_back, end_arena),
        cmocka_unit_test_teardown(malloc_fragments_and_compacts, end_arena),
        cmocka_unit_test_teardown(malloc_fits_best, end_arena),
        cmocka_unit_test_teardown(ends_of_the_range, end_arena),
        cmocka_unit_test_teardown(what_cannot_be_is_an_error, end_arena),
        cmocka_unit_test_teardown(space_is_foretold, end_arena),
        cmocka_unit_test_teardown(many_ranges, end_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
