/* Records from configs and results: every field is the run's, and outlives what it was made from. */
#include <string.h>

#include "sim/experiment.h"
#include "sim/record.h"
#include "tests/cmocka_fixed.h"

static const char *const dirs[] = {"configs", NULL};

static void a_record_tells_its_run(void **state)
{
    (void)state;
    static const char text[] = "[experiment]\nname = tells\nseed = 7\n[device]\nprofile = oneplus-15r\n"
                               "[model]\nname = four\nblocks = 4 x 1MiB\n[workload]\noutput_tokens = 3\n"
                               "[loader]\nbudget = 2MiB, 3MiB\n[policy]\nname = fifo, pinned-lru\n";
    struct experiment *experiment;
    struct error err;
    struct prepared prepared = {0};
    struct arena run_arena = {0}, arena = {0};
    struct run_result result;
    struct run_record record;
    char key[RUN_KEY_TEXT];
    if (!experiment_parse("tells.ini", text, strlen(text), NULL, 0, dirs, &experiment, &err))
        fail_because("%s", err.text);
    /* The last list varies fastest: run 3 is pinned-lru at 3 MiB. */
    if (!experiment_execute(experiment, 3, &prepared, &run_arena, &result, &err) ||
        !experiment_record(experiment, 3, &prepared.model, &result, &arena, &record, &err))
        fail_because("%s", err.text);
    const struct run_numbers numbers = result.numbers;
    strcpy(key, experiment_run_key(experiment, 3, &err));
    prepared_free(&prepared);
    arena_free(&run_arena);
    experiment_free(experiment);
    assert_string_equal(record.run_key, key);
    assert_string_equal(record.experiment, "tells");
    assert_string_equal(record.device, "oneplus-15r");
    assert_string_equal(record.model, "four");
    assert_string_equal(record.quant, "");
    assert_string_equal(record.workload, "dense");
    assert_string_equal(record.loader, "chunked");
    assert_string_equal(record.policy, "pinned-lru");
    assert_string_equal(record.evict, "lru");
    assert_non_null(strstr(record.pin, "hot"));
    assert_string_equal(record.prefetch, "none");
    assert_true(record.budget_bytes == 3 << 20);
    assert_true(record.seed == 7);
    assert_string_equal(record.outcome, "completed");
    assert_string_equal(record.numbers.killed_by, "");
    assert_true(record.numbers.tokens == 3 && record.numbers.misses == numbers.misses);
    assert_true(record.hit_rate == ratio(numbers.hits, numbers.accesses));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_tells_its_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
