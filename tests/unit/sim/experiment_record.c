/* Records from configs and results: every field is the run's, and outlives what it was made from. */
#include <math.h>
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
    assert_string_equal(record.admit, "none");
    assert_string_equal(record.note, "");
    assert_true(record.budget_bytes == 3 << 20);
    assert_true(record.seed == 7);
    assert_string_equal(record.outcome, "completed");
    assert_string_equal(record.numbers.killed_by, "");
    assert_true(record.numbers.tokens == 3 && record.numbers.misses == numbers.misses);
    assert_true(record.hit_rate == ratio(numbers.hits, numbers.accesses));
    arena_free(&arena);
}

/* The names are the run's, the counts are 0, and why is the policy's part of the line. */
static void a_failure_tells_its_run_and_why(void **state)
{
    (void)state;
    static const char text[] = "[experiment]\nname = fails\n[device]\nprofile = oneplus-15r\n"
                               "[model]\nname = four\nblocks = 4 x 1MiB\n[workload]\noutput_tokens = 3\n"
                               "[loader]\nbudget = 2MiB\n[policy]\nname = fifo\n";
    struct experiment *experiment;
    struct error err;
    struct prepared prepared = {0};
    struct arena arena = {0};
    struct run_record record;
    char long_line[600];
    if (!experiment_parse("fails.ini", text, strlen(text), NULL, 0, dirs, &experiment, &err) ||
        !experiment_prepare(experiment, 0, &prepared, &err) ||
        !experiment_failure(experiment, 0, &prepared.model,
                            "fails.ini: policy 'mine' answers victim() with block 7: it is pinned", &arena, &record,
                            &err))
        fail_because("%s", err.text);
    assert_string_equal(record.outcome, "failed");
    assert_string_equal(record.numbers.killed_by, "policy 'mine' answers victim() with block 7: it is pinned");
    assert_string_equal(record.policy, "fifo");
    assert_true(record.numbers.accesses == 0 && record.numbers.ttft_ns == -1 && record.numbers.tpot_p99_ns == -1);
    assert_true(isnan(record.hit_rate) && isnan(record.tokens_per_s));
    memset(long_line, 'x', sizeof long_line - 1);
    memcpy(long_line + 198, "\xc3\xa9", 2); /* a character that the end would cut */
    long_line[sizeof long_line - 1] = '\0';
    assert_true(experiment_failure(experiment, 0, &prepared.model, long_line, &arena, &record, &err));
    assert_int_equal(strlen(record.numbers.killed_by), 198);
    arena_free(&arena);
    prepared_free(&prepared);
    experiment_free(experiment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_tells_its_run),
        cmocka_unit_test(a_failure_tells_its_run_and_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
