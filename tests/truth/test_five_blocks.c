/* configs/five-blocks.ini, the smallest teaching case, under LRU: counts that a person can follow on paper. */
#include <stddef.h>
#include <stdio.h>

#include "sim/experiment.h"
#include "tests/cmocka_fixed.h"

static void counts(const char *budget, uint64_t misses, uint64_t hits, uint64_t peak_bytes)
{
    struct error err;
    struct experiment *experiment;
    struct prepared cache = {0};
    struct arena arena = {0};
    struct run_result result;
    char set_budget[64];
    snprintf(set_budget, sizeof set_budget, "loader.budget=%s", budget);
    const char *const overrides[] = {set_budget, "policy.name=lru"};
    const char *const folders[] = {"configs", NULL};
    if (!experiment_read("configs/five-blocks.ini", overrides, 2, folders, &experiment, &err))
        fail_because("%s", err.text);
    assert_int_equal(experiment_run_count(experiment), 1);
    if (!experiment_execute(experiment, 0, &cache, &arena, &result, &err))
        fail_because("%s", err.text);
    assert_int_equal(result.numbers.outcome, OUTCOME_COMPLETED);
    assert_int_equal(result.numbers.accesses, 11);
    assert_int_equal(result.numbers.misses, misses);
    assert_int_equal(result.numbers.hits, hits);
    assert_int_equal(result.numbers.peak_weights_bytes, peak_bytes);
    arena_free(&arena);
    prepared_free(&cache);
    experiment_free(experiment);
}

static void two_layers_fit(void **state)
{
    (void)state;
    counts("1536MB", 11, 0, 1536000000);
}

static void all_that_is_used_fits(void **state)
{
    (void)state;
    counts("2816MB", 4, 7, 2816000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_layers_fit), cmocka_unit_test(all_that_is_used_fits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
