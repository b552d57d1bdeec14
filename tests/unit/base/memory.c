/* Memory: the arena and growing arrays. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "tests/cmocka_fixed.h"

static void test_allocations_are_aligned_zeroed_and_apart(void **state)
{
    (void)state;
    struct arena arena = {0};
    unsigned char *kept[2000];
    size_t sizes[2000];
    for (size_t i = 0; i < 2000; i++) {
        sizes[i] = i % 37 == 0 ? 70000 + i : i % 300;
        kept[i] = arena_alloc(&arena, sizes[i], 1);
        assert_non_null(kept[i]);
        assert_int_equal((uintptr_t)kept[i] % 64, 0);
        for (size_t j = 0; j < sizes[i]; j++)
            assert_true(kept[i][j] == 0);
        memset(kept[i], (int)(i % 251 + 1), sizes[i]);
    }
    uint64_t least = 0;
    for (size_t i = 0; i < 2000; i++) { /* nobody wrote into another's bytes, nothing moved */
        least += sizes[i];
        for (size_t j = 0; j < sizes[i]; j++)
            assert_true(kept[i][j] == i % 251 + 1);
    }
    assert_true(arena.used_bytes >= least && arena.used_bytes <= least + UINT64_C(2000) * 64);
    arena_free(&arena);
    assert_null(arena.head);
    assert_int_equal(arena.used_bytes, 0);
}

static void test_nothing_is_still_a_place(void **state)
{
    (void)state;
    struct arena arena = {0};
    void *a = arena_alloc(&arena, 0, 8);
    void *b = arena_alloc(&arena, 8, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    arena_free(&arena);
    arena_free(&arena);
}

static void test_overflow_gives_null(void **state)
{
    (void)state;
    struct arena arena = {0};
    assert_null(arena_alloc(&arena, SIZE_MAX, 2));
    assert_null(arena_alloc(&arena, SIZE_MAX / 2 + 1, 2));
    assert_null(arena_alloc(&arena, SIZE_MAX, 1));
    assert_null(arena_alloc(&arena, SIZE_MAX - 63, 1));
    assert_int_equal(arena.used_bytes, 0);
    arena_free(&arena);
}

static void test_strings_are_copied(void **state)
{
    (void)state;
    struct arena arena = {0};
    char text[] = "layer1";
    char *copy = arena_strdup(&arena, text);
    text[0] = 'L';
    assert_string_equal(copy, "layer1");
    assert_string_equal(arena_strdup(&arena, ""), "");
    arena_free(&arena);
}

static void test_array_grows_and_is_trimmed(void **state)
{
    (void)state;
    struct error err = {0};
    void *data = NULL;
    size_t capacity = 0;
    unsigned moves = 0;
    for (size_t i = 0; i < 100000; i++) {
        const size_t before = capacity;
        assert_true(array_reserve(&data, &capacity, i + 1, sizeof(uint32_t), &err));
        moves += capacity != before;
        assert_true(capacity > i);
        ((uint32_t *)data)[i] = (uint32_t)(i * 3);
    }
    assert_true(moves < 40); /* amortised: log1.5(100000) */
    array_trim(&data, &capacity, 100000, sizeof(uint32_t));
    assert_int_equal(capacity, 100000);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(((uint32_t *)data)[i], (uint32_t)(i * 3));
    array_trim(&data, &capacity, 0, sizeof(uint32_t));
    assert_int_equal(capacity, 1);
    free(data);
}

static void test_array_refuses_what_cannot_be(void **state)
{
    (void)state;
    struct error err = {0};
    void *data = NULL;
    size_t capacity = 0;
    assert_true(array_reserve(&data, &capacity, 3, 8, &err));
    void *const old = data;
    const size_t old_capacity = capacity;
    assert_false(array_reserve(&data, &capacity, SIZE_MAX / 4, 8, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    err.code = STATUS_OK;
    assert_false(array_reserve(&data, &capacity, SIZE_MAX / 8, 8, &err)); /* fits size_t, but no object is so large */
    assert_int_equal(err.code, STATUS_INPUT);
    assert_ptr_equal(data, old);
    assert_int_equal(capacity, old_capacity);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_are_aligned_zeroed_and_apart),
        cmocka_unit_test(test_nothing_is_still_a_place),
        cmocka_unit_test(test_overflow_gives_null),
        cmocka_unit_test(test_strings_are_copied),
        cmocka_unit_test(test_array_grows_and_is_trimmed),
        cmocka_unit_test(test_array_refuses_what_cannot_be),
    };
    return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
