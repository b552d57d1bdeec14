/* Runs that fail: whose fault it is, and where the key stands; and labels that tell runs apart. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/experiment.h"
#include "tests/cmocka_fixed.h"

static const char *const dirs[] = {"configs", NULL};

#define DEVICE "[device]\nprofile = oneplus-15r\n"

static struct experiment *parse(const char *text, const char *set)
{
    struct experiment *experiment;
    struct error err;
    if (!experiment_parse("x.ini", text, strlen(text), &set, set != NULL, dirs, &experiment, &err))
        fail_because("%s", err.text);
    return experiment;
}

/* What a run of the config fails for, and that it is the config's fault. */
static void fails(const char *text, const char *set, size_t index, const char *expected)
{
    struct experiment *e = parse(text, set);
    struct prepared cache = {0};
    struct arena arena = {0};
    struct run_result result;
    struct error err = {0};
    assert_false(experiment_execute(e, index, &cache, &arena, &result, &err));
    assert_string_equal(err.text, expected);
    assert_int_equal(err.code, STATUS_USAGE);
    arena_free(&arena);
    prepared_free(&cache);
    experiment_free(e);
}

static void faults_of_the_config_name_its_key(void **state)
{
    (void)state;
    static const char text[] =
        DEVICE "[model]\nblocks = a:4294967296GiB b:1MiB\n[workload]\nkind = trace\nsequence = a b\n"
               "[loader]\nmode = read\n";
    fails(text, "workload.sequence=a b9", 0,
          "--set workload.sequence: block \"b9\": the model \"blocks\" has no such block: did you mean b?");
    fails(text, "workload.compute_per_token=1ms", 0,
          "x.ini:7: workload.sequence: compute_per_token and prompt_compute need a trace that marks tokens, and the "
          "sequence does not: expected roofline");
    fails(text, "workload.sequence=a a", 0,
          "--set workload.sequence: the sequence: the trace accesses more than 2^63 bytes");
    fails(DEVICE "[model]\nblocks = layer1:4294967296GiB\n[workload]\noutput_tokens = 3\n[loader]\nmode = read\n", NULL,
          0, "x.ini: workload.kind: the trace accesses more than 2^63 bytes");
    fails(DEVICE "[model]\nblocks = layer1:1B\n[workload]\nkind = moe\n[loader]\nmode = read\n", NULL, 0,
          "x.ini:6: workload.kind: kind = moe: the model \"blocks\" has no experts: did you mean kind = dense?");
}

/* Many runs that fail for one reason say one line, so it does not name the run. */
static void one_reason_is_one_line(void **state)
{
    (void)state;
    static const char text[] = DEVICE "flash_stream = 1B/s\n[model]\nblocks = 4 x 1GiB\n[loader]\n"
                                      "budget = 2GiB, 3GiB\n[policy]\nname = lru, fifo\n";
    for (size_t i = 0; i < 4; i++)
        fails(text, NULL, i, "x.ini: reading all weights once takes over 18 years at 1 B/s");
}

/* A name that fills its column makes room for the keys that vary, between characters. */
static void labels_keep_the_keys(void **state)
{
    (void)state;
    char set[200] = "device.name=", text[600];
    for (size_t i = 0; i < 63; i++)
        strcat(set, "\xC3\xA9");
    strcat(set, "x"); /* 127 bytes */
    snprintf(text, sizeof text,
             DEVICE "os_reserve = 1GiB, 2GiB\n[model]\nname = %s\nprofile = llama-3.2-1b\nvocab = 1000, 2000\n"
                    "[loader]\nbudget = 1GiB\n",
             set + strlen("device.name="));
    struct experiment *e = parse(text, set);
    assert_int_equal(experiment_run_count(e), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct run_config *config = experiment_run(e, i);
        const char *device = config->device.name, *model = config->model.name;
        const char *reserve = i < 2 ? "\xC3\xA9(os_reserve=1GiB)" : "\xC3\xA9(os_reserve=2GiB)";
        const char *vocab = i % 2 == 0 ? "\xC3\xA9(vocab=1000)" : "\xC3\xA9(vocab=2000)";
        assert_true(strlen(device) <= 127 && strlen(device) >= 126);
        assert_true(strlen(model) <= 127 && strlen(model) >= 126);
        assert_string_equal(device + strlen(device) - strlen(reserve), reserve);
        assert_string_equal(model + strlen(model) - strlen(vocab), vocab);
        assert_memory_equal(device, "\xC3\xA9\xC3\xA9", 4);
    }
    experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_the_config_name_its_key),
        cmocka_unit_test(one_reason_is_one_line),
        cmocka_unit_test(labels_keep_the_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
