/* Marks behind the values of profiles, the estimates that a run's record tells, and perplexities. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/experiment.h"
#include "sim/perplexity.h"
#include "sim/record.h"
#include "tests/cmocka_fixed.h"

static const char *const dirs[] = {"configs", NULL};
static char device_path[64], model_path[64];

#define MODEL "[model]\nlayers = 2\nwidth = 256 [published]\nvocab = 512\nheads = 4\nkv_heads = 4\nhead_size = 64\n"
#define DEVICE                                                                                                         \
    "[device]\nram = 5GB   [measured]\nos_reserve = 1GB [published]\nother_apps = 1GB [estimated]\nruntime = 1MB\n"    \
    "kill = threshold [estimated]\nkill_threshold = 2GB [estimated]\nflash_setup = 1us [measured]\n"                   \
    "flash_stream = 1GB/s\nflash_max = 1GB/s\t[estimated]\ncommand = 512KiB [estimated]\nmemory = 10GB/s "             \
    "[published]\nmemory_q4_0 = 9GB/s [measured]\nmemory_q6_k = 9GB/s\n"

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static int make_paths(void **state)
{
    (void)state;
    snprintf(device_path, sizeof device_path, "/tmp/pocketload-marks-%ld.ini", (long)getpid());
    snprintf(model_path, sizeof model_path, "/tmp/pocketload-shape-%ld.ini", (long)getpid());
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(device_path);
    unlink(model_path);
    return 0;
}

static struct experiment *parse(const char *device, const char *model, const char *rest, const char *const *sets,
                                size_t set_count, struct error *err)
{
    char text[2048];
    struct experiment *experiment;
    write_file(device_path, device);
    write_file(model_path, model);
    snprintf(text, sizeof text,
             "[device]\nprofile = %s\n[model]\nprofile = %s\n[workload]\noutput_tokens = 2\n[loader]\nbudget = 1GB\n%s",
             device_path, model_path, rest);
    return experiment_parse("x.ini", text, strlen(text), sets, set_count, dirs, &experiment, err) ? experiment : NULL;
}

/* The estimates of run 0. */
static void tells_with(const char *device, const char *model, const char *rest, const char *const *sets,
                       size_t set_count, const char *expected)
{
    struct error err;
    struct experiment *experiment = parse(device, model, rest, sets, set_count, &err);
    struct prepared prepared = {0};
    struct arena arena = {0};
    struct run_result result;
    struct run_record record;
    if (!experiment || !experiment_execute(experiment, 0, &prepared, &arena, &result, &err) ||
        !experiment_record(experiment, 0, &prepared.model, &result, &arena, &record, &err))
        fail_because("%s", err.text);
    assert_string_equal(record.estimates, expected);
    prepared_free(&prepared);
    arena_free(&arena);
    experiment_free(experiment);
}

static void tells(const char *device, const char *model, const char *rest, const char *expected)
{
    tells_with(device, model, rest, NULL, 0, expected);
}

#define OWN_FLOPS DEVICE "flops = 9GFLOPS [measured]\nflops_q4_0 = 8GFLOPS\nflops_f16 = 8GFLOPS\nflops_q6_k = 8GFLOPS\n"

static void estimates_are_those_that_matter(void **state)
{
    (void)state;
    /* No prefetcher: its command does not matter. The rule in force is a threshold. */
    tells(OWN_FLOPS, MODEL "ffn = 512\n", "", "device.other_apps device.kill device.kill_threshold device.flash_max");
    tells(OWN_FLOPS, MODEL "ffn = 512 [estimated]\n", "[policy]\nname = prefetch-next\n",
          "device.other_apps device.kill device.kill_threshold device.flash_max device.command model.ffn");
}

/* Nor are the rates of types that follow from it. */
static void what_a_config_sets_is_no_estimate(void **state)
{
    (void)state;
    const char *const sets[] = {"device.kill=none", "device.other_apps=1GB", "device.flops=10GFLOPS"};
    tells_with(OWN_FLOPS, MODEL "ffn = 512\n", "", sets, 2, "device.flash_max");
    tells_with(DEVICE "flops = 9GFLOPS [measured]\n", MODEL "ffn = 512\n", "", sets, 3, "device.flash_max");
}

/* Of the types of the model (q4_0, its output head in q6_k, attention in f16) those without a key follow from flops. */
static void a_derived_rate_is_an_estimate(void **state)
{
    (void)state;
    static const char rest[] = "device.other_apps device.kill device.kill_threshold device.flash_max";
    char expected[256];
    snprintf(expected, sizeof expected, "%s device.flops_f16 device.flops_q4_0 device.flops_q6_k", rest);
    tells(DEVICE "flops = 9GFLOPS [measured]\n", MODEL "ffn = 512\n", "", expected);
    snprintf(expected, sizeof expected, "%s device.flops_q6_k", rest);
    tells(DEVICE "flops = 9GFLOPS\nflops_f16 = 1GFLOPS\nflops_q4_0 = 1GFLOPS [measured]\n"
                 "flops_q6_k = 1GFLOPS [estimated]\n",
          MODEL "ffn = 512\n", "", expected);
    snprintf(expected, sizeof expected, "%s device.flops", rest);
    tells(DEVICE "flops = 9GFLOPS [estimated]\nflops_q6_k = 1GFLOPS [published]\n", MODEL "ffn = 512\n", "", expected);
    /* A speed of reading that only follows from memory is one too: rows of 320 make the output head q8_0. */
    snprintf(expected, sizeof expected, "%s device.flops device.memory_q8_0", rest);
    tells(DEVICE "flops = 9GFLOPS [estimated]\n",
          "[model]\nlayers = 2\nwidth = 320\nvocab = 512\nheads = 5\nkv_heads = 5\nhead_size = 64\nffn = 512\n", "",
          expected);
}

/* Defaults that are estimates, where they matter: a mapped file's faults. */
static void estimated_defaults_are_told(void **state)
{
    (void)state;
    tells(OWN_FLOPS "major_fault = 3us [measured]\n", MODEL "ffn = 512\n", "mode = mmap\n",
          "device.other_apps device.kill device.kill_threshold device.minor_fault device.scan_page device.tlb_miss "
          "device.flash_max");
}

/* Each limit of jetsam is told where it is the one in force. */
static void the_limit_in_force_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *rest, *expected;
    } cases[] = {
        {"", "device.jetsam_limit"},
        {"entitled = yes\n", "device.jetsam_limit_entitled"},
        {"os_version = 18\n", "device.jetsam_by_os"},
        {"entitled = yes\nos_version = 18\n", "device.jetsam_by_os"},
        {"os_version = 16\n", "device.jetsam_limit"},
        {"entitled = yes\nos_version = 16\n", "device.jetsam_limit_entitled"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char device[2048];
        snprintf(device, sizeof device,
                 "[device]\nram = 5GB\nos_reserve = 1GB\nother_apps = 1GB\nruntime = 1MB\nkill = jetsam\n"
                 "jetsam_limit = 2GB [estimated]\njetsam_limit_entitled = 3GB [estimated]\n"
                 "jetsam_by_os = 17:2GB:3GB [estimated]\nflash_setup = 1us\nflash_stream = 1GB/s\nflash_max = 1GB/s\n"
                 "memory = 10GB/s\nmemory_q4_0 = 9GB/s\nmemory_q6_k = 9GB/s\nflops = 9GFLOPS [measured]\n"
                 "flops_q4_0 = 8GFLOPS\nflops_f16 = 8GFLOPS\nflops_q6_k = 8GFLOPS\n%s",
                 cases[i].rest);
        tells(device, MODEL "ffn = 512\n", "", cases[i].expected);
    }
}

/* How long it takes to get hot does not matter to a phone that is. */
static void heat_is_told_where_it_matters(void **state)
{
    (void)state;
#define HEAT "soc_hot_after = 1min [estimated]\nsoc_hot_factor = 70% [estimated]\n"
    static const char rest[] = "device.other_apps device.kill device.kill_threshold device.flash_max";
    char expected[256];
    snprintf(expected, sizeof expected, "%s device.soc_hot_after device.soc_hot_factor", rest);
    tells(OWN_FLOPS HEAT, MODEL "ffn = 512\n", "", expected);
    snprintf(expected, sizeof expected, "%s device.soc_hot_factor", rest);
    tells(OWN_FLOPS HEAT "heat = hot\n", MODEL "ffn = 512\n", "", expected);
    tells(OWN_FLOPS HEAT "heat = off\n", MODEL "ffn = 512\n", "", rest);
#undef HEAT
}

static void a_mark_changes_no_key(void **state)
{
    (void)state;
    struct error err;
    struct experiment *marked = parse(OWN_FLOPS, MODEL "ffn = 512 [estimated]\n", "", NULL, 0, &err);
    assert_non_null(marked);
    char key[RUN_KEY_TEXT], plain[sizeof OWN_FLOPS];
    strcpy(key, experiment_run_key(marked, 0, &err));
    strcpy(plain, OWN_FLOPS);
    for (char *open; (open = strchr(plain + 8, '['));) { /* behind the section's name */
        char *close = strchr(open, ']');
        memset(open, ' ', (size_t)(close - open) + 1);
    }
    struct experiment *bare = parse(plain, MODEL "ffn = 512\n", "", NULL, 0, &err);
    assert_non_null(bare);
    assert_string_equal(experiment_run_key(bare, 0, &err), key);
    assert_string_equal(experiment_run_json(bare, 0, &err), experiment_run_json(marked, 0, &err));
    experiment_free(marked);
    experiment_free(bare);
}

static void refuses(const char *device, const char *set, const char *expected)
{
    struct error err;
    assert_null(parse(device, MODEL "ffn = 512\n", "", &set, set ? 1 : 0, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_string_equal(strstr(err.text, ".ini:") ? strchr(err.text, ':') + 1 : err.text, expected);
}

static void bad_marks_are_refused(void **state)
{
    (void)state;
    refuses(OWN_FLOPS "queue_depth = 8 [mesured]\n", NULL,
            "19: device.queue_depth: unknown mark \"[mesured]\": did you mean measured?");
    refuses(OWN_FLOPS "queue_depth = 8 []\n", NULL,
            "19: device.queue_depth: unknown mark \"[]\"; expected measured, published or estimated");
    refuses(OWN_FLOPS, "device.ram=6GB [measured]",
            "--set device.ram: a mark, \"[measured]\": marks belong in profiles");
    struct error err;
    assert_null(parse(OWN_FLOPS "queue_depth = 8[measured]\n", MODEL, "", NULL, 0, &err)); /* no blank: no mark */
    assert_null(strstr(err.text, "unknown mark"));
}

static void marks_of_a_profile(void **state)
{
    (void)state;
    struct error err;
    struct profile_mark *marks;
    size_t count, given = 0;
    write_file(device_path, OWN_FLOPS);
    if (!profile_read_marks("device", device_path, dirs, &marks, &count, &err))
        fail_because("%s", err.text);
    for (size_t i = 0; i < count; i++) {
        given += marks[i].given;
        if (strcmp(marks[i].key, "ram") == 0)
            assert_true(marks[i].given && marks[i].mark == MARK_MEASURED);
        if (strcmp(marks[i].key, "runtime") == 0)
            assert_true(marks[i].given && marks[i].mark == MARK_NONE);
        if (strcmp(marks[i].key, "major_fault") == 0 || strcmp(marks[i].key, "flops_q5_k") == 0)
            assert_true(!marks[i].given && marks[i].mark == MARK_ESTIMATED);
        if (strcmp(marks[i].key, "queue_depth") == 0)
            assert_true(!marks[i].given && marks[i].mark == MARK_NONE);
    }
    assert_int_equal(given, 17);
    free(marks);
    assert_false(profile_read_marks("device", "no-such-phone", dirs, &marks, &count, &err));
}

static void perplexities(void **state)
{
    (void)state;
    struct error err;
    static const char list[] = "f16:6.2332  q8_0:6.2343 q4_k_m:6.4071";
    assert_true(perplexity_check(list, &err));
    assert_true(perplexity_of(list, "q4_k_m") == 6.4071 && perplexity_of(list, "f16") == 6.2332);
    assert_true(isnan(perplexity_of(list, "q4_0")) && isnan(perplexity_of(list, "q4_k")) &&
                isnan(perplexity_of(NULL, "f16")));
    static const char *const bad[][2] = {
        {" ", "no value; expected QUANT:NUMBER: q4_0:6.41"},
        {"f16:6.2 q4_0", "item 2: \"q4_0\" is not QUANT:NUMBER: q4_0:6.41"},
        {"q4_km:7", "item 1: unknown quantisation \"q4_km\": did you mean q4_k_m?"},
        {"f16:6 f16:6", "item 2: f16 stands here a second time; expected each quantisation once"},
        {"f16:0.99", "item 1: f16: \"0.99\" is out of range; expected 1 to 1000000"},
        {"f16:1000000000", "item 1: f16: \"1000000000\" is too large: at most 1000000"},
        {"f16:666666666666666666666666666666666666666666666666666666666666666666",
         "item 1 is longer than 63 bytes; expected QUANT:NUMBER: q4_0:6.41"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(perplexity_check(bad[i][0], &err));
        assert_string_equal(err.text, bad[i][1]);
    }
    assert_false(perplexity_check("f16:", &err));
    assert_false(perplexity_check("f16:x", &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_those_that_matter),
        cmocka_unit_test(what_a_config_sets_is_no_estimate),
        cmocka_unit_test(a_derived_rate_is_an_estimate),
        cmocka_unit_test(estimated_defaults_are_told),
        cmocka_unit_test(the_limit_in_force_is_told),
        cmocka_unit_test(heat_is_told_where_it_matters),
        cmocka_unit_test(a_mark_changes_no_key),
        cmocka_unit_test(bad_marks_are_refused),
        cmocka_unit_test(marks_of_a_profile),
        cmocka_unit_test(perplexities),
    };
    return cmocka_run_group_tests_name("marks", tests, make_paths, remove_files);
}
