/* Experiments: grids, profiles, overrides, errors with their place, effective configs and keys. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/experiment.h"
#include "tests/cmocka_fixed.h"

/* Tests run in the root of the repository. */
static const char *const dirs[] = {"configs", NULL};

#define BASE                                                                                                           \
    "[device]\nprofile = oneplus-15r\n[model]\nblocks = a:1MiB b:1MiB layer1:2MiB\n[workload]\nkind = trace\n"         \
    "sequence = a b layer1 a b\n[loader]\nbudget = 3MiB\n"

static struct experiment *parse(const char *text, const char *const *sets, size_t set_count)
{
    struct experiment *experiment;
    struct error err;
    if (!experiment_parse("x.ini", text, strlen(text), sets, set_count, dirs, &experiment, &err))
        fail_because("%s", err.text);
    return experiment;
}

static void grid_order(void **state)
{
    (void)state;
    struct experiment *e = parse("[loader]\nbudget = 3MiB, 4MiB\n[policy]\nname = lru, fifo\n[experiment]\nseed = 7,8\n"
                                 "[device]\nprofile=oneplus-15r\n[model]\nblocks = 4 x 1MiB\n",
                                 NULL, 0);
    assert_string_equal(experiment_name(e), "x");
    assert_int_equal(experiment_run_count(e), 8);
    for (size_t i = 0; i < 8; i++) {
        const struct run_config *c = experiment_run(e, i);
        assert_int_equal(c->loader.budget_bytes, (i & 4 ? 4u : 3u) << 20);
        assert_string_equal(c->policy.label, i & 2 ? "fifo" : "lru");
        assert_int_equal(c->seed, i & 1 ? 8 : 7);
        assert_int_equal(c->workload.seed, c->seed);
        assert_ptr_equal(experiment_run(e, i), c);
        for (size_t k = 0; k < i; k++) {
            struct error err;
            assert_string_not_equal(experiment_run_key(e, i, &err), experiment_run_key(e, k, &err));
        }
    }
    experiment_free(e);
}

static void commas_in_parentheses_do_not_split(void **state)
{
    (void)state;
    const char *sets[] = {"policy.name = lru+kinds(embedding,norm), lru+blocks(a,b)+next(depth=2),\tfifo"};
    struct experiment *e = parse(BASE, sets, 1);
    assert_int_equal(experiment_run_count(e), 3);
    assert_string_equal(experiment_run(e, 0)->policy.pin_text, "kinds(embedding,norm)");
    assert_string_equal(experiment_run(e, 1)->policy.prefetch_text, "next(depth=2)");
    experiment_free(e);
}

static void parts_make_a_grid(void **state)
{
    (void)state;
    const char *sets[] = {"policy.evict=lru,fifo", "policy.pin=none,kinds(layer)"};
    struct experiment *e = parse(BASE "[policy]\nname = prefetch-next\n", sets, 2);
    assert_int_equal(experiment_run_count(e), 4); /* --set of parts takes the name's place */
    assert_string_equal(experiment_run(e, 3)->policy.label, "fifo+kinds(layer)");
    experiment_free(e);
}

static void read_mode_needs_no_policy(void **state)
{
    (void)state;
    const char *sets[] = {"loader.mode=read,chunked", "loader.budget=3MiB,4MiB", "policy.name=lru,fifo"};
    struct experiment *e = parse(BASE, sets, 3);
    assert_int_equal(experiment_run_count(e), 5);
    /* budget stands before mode in the file's order: read comes first within the first budget, once. */
    size_t reads = 0;
    for (size_t i = 0; i < 5; i++) {
        const struct run_config *c = experiment_run(e, i);
        if (c->loader.mode != LOADER_READ)
            continue;
        reads++;
        assert_string_equal(c->policy.label, "none");
        assert_null(c->policy.evict.policy);
        assert_int_equal(c->loader.budget_bytes, 0);
    }
    assert_int_equal(reads, 1);
    experiment_free(e);
}

static void equal_items_are_one_run(void **state)
{
    (void)state;
    const char *sets[] = {"loader.budget=3MiB,3072KiB,3MiB"};
    struct experiment *e = parse(BASE, sets, 1);
    assert_int_equal(experiment_run_count(e), 1);
    experiment_free(e);
}

static void overrides_beat_config_beats_profile(void **state)
{
    (void)state;
    struct experiment *e = parse(BASE, NULL, 0);
    const struct device *device = &experiment_run(e, 0)->device;
    assert_int_equal(device->ram_bytes, 11640000000);
    assert_int_equal(device->pressure.threshold_bytes, 6100000000);
    assert_int_equal(device->flops_rate[TYPE_Q4_0], 330000000000);
    assert_int_equal(device->flops_rate[TYPE_BF16], 200000000000); /* no key of its own: the common rate */
    assert_string_equal(device->name, "oneplus-15r");
    experiment_free(e);
    const char *sets[] = {"device.flash_setup=1us", "device.flops=50GFLOPS", "device.flops_f16=60GFLOPS"};
    e = parse(BASE "[policy]\nname=fifo\n", sets, 3);
    device = &experiment_run(e, 0)->device;
    assert_int_equal(device->flash.setup_ns, 1000);
    assert_int_equal(device->flops_rate[TYPE_Q4_0], 50000000000);
    assert_int_equal(device->flops_rate[TYPE_F16], 60000000000);
    experiment_free(e);
}

static void profiles_are_lists_too(void **state)
{
    (void)state;
    const char *text = "[device]\nprofile = oneplus-15r, generic-6gb\n[model]\nprofile = llama-3.2-1b, llama-3.2-3b\n"
                       "quant = q4_0, q8_0\n[loader]\nbudget = 1GiB\nlanes = 1, 4\n";
    struct experiment *e = parse(text, NULL, 0);
    assert_int_equal(experiment_run_count(e), 16);
    const struct run_config *last = experiment_run(e, 15), *first = experiment_run(e, 0);
    assert_string_equal(first->device.name, "oneplus-15r");
    assert_string_equal(last->device.name, "generic-6gb");
    assert_string_equal(first->model.name, "llama-3.2-1b");
    assert_string_equal(last->model.name, "llama-3.2-3b");
    assert_int_equal(first->model.shape.layers, 16);
    assert_int_equal(last->model.shape.layers, 28);
    assert_int_equal(last->model.quant, QUANT_Q8_0);
    assert_string_equal(first->workload_label, "dense");
    assert_string_equal(last->loader_label, "chunked(lanes=4)");
    experiment_free(e);
}

static void keys_depend_on_what_matters(void **state)
{
    (void)state;
    struct error err;
    struct experiment *a = parse(BASE, NULL, 0);
    char key[RUN_KEY_TEXT];
    snprintf(key, sizeof key, "%s", experiment_run_key(a, 0, &err));
    assert_int_equal(strlen(key), 32);
    static const struct {
        const char *set;
        bool same;
    } cases[] = {
        {"experiment.name=other", true},      {"loader.budget=3072KiB", true},  {"workload.zipf=1.5", true},
        {"workload.output_tokens=9", true},   {"policy.name=lru", true},        {"device.ram=11.64GB", true},
        {"device.ram=11GB", false},           {"loader.lanes=2", false},        {"experiment.seed=2", false},
        {"device.flops_q2_k=1GFLOPS", false}, {"workload.sequence=a b", false}, {"policy.name=lru+next", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct experiment *b = parse(BASE, &cases[i].set, 1);
        bool same = strcmp(experiment_run_key(b, 0, &err), key) == 0;
        if (same != cases[i].same)
            fail_because("%s: the key is %s", cases[i].set, same ? "the same" : "another");
        experiment_free(b);
    }
    const char *json = experiment_run_json(a, 0, &err);
    assert_non_null(strstr(json, "\"budget\":3145728"));
    assert_non_null(strstr(json, "\"flash_setup\":205000"));
    assert_non_null(strstr(json, "\"name\":\"x\""));
    assert_null(strstr(json, "zipf")); /* does not matter to a trace */
    experiment_free(a);
}

/* ---- Errors ---- */

struct bad {
    const char *text, *set, *error;
};

static const struct bad bads[] = {
    {"[devise]\nram = 1GB\n", NULL, "x.ini:2: unknown section [devise]: did you mean device?"},
    {BASE "buget = 1GiB\n", NULL, "x.ini:10: unknown key \"buget\" in section [loader]: did you mean budget?"},
    {BASE, "loader.buget=1", "--set loader.buget: unknown key"},
    {BASE, "loader.budget=512", "--set loader.budget: \"512\" has no unit"},
    {BASE, "budget", "--set budget: expected section.key=value"},
    {BASE, "loader=1MiB", "--set loader=1MiB: expected section.key=value"},
    {BASE, "loader.budget=0B", "--set loader.budget: \"0B\" is out of range"},
    {BASE, "loader.budget=1TB", "--set loader.budget: 1TB is above the device's ram; expected at most 11640MB"},
    {BASE, "loader.budget=1MiB,,2MiB", "--set loader.budget: item 2"},
    {BASE, "loader.prefetch_lanes=5", "--set loader.prefetch_lanes: 5 is above loader.lanes = 4"},
    {BASE, "loader.align=3KiB", "--set loader.align: not a power of two"},
    {BASE, "loader.evict_when=afterstep", "did you mean after_step?"},
    {BASE, "device.kill_threshold=7GB", "--set device.kill_threshold: 7GB is above what ram leaves"},
    {BASE, "device.os_reserve=11GB",
     "--set device.os_reserve: os_reserve and other_apps, 12.6 GiB, leave nothing of ram, 10.8 GiB"},
    {BASE, "device.flash_stream=3GB/s", "--set device.flash_stream: above device.flash_max"},
    {BASE, "device.flash_max=1B/s", "--set device.flash_max: below device.flash_stream; expected"},
    {BASE, "device.profile=oneplus15r",
     "--set device.profile: unknown device \"oneplus15r\": did you mean oneplus-15r?"},
    {BASE, "device.profile=./no.ini", "no profile file"},
    {BASE, "policy.name=lru+fifo", "--set policy.name: "},
    {BASE, "policy.pin=blocks(a,c)", "--set policy.pin: policy blocks: the model has no block \"c\""},
    {BASE, "policy.name=lru+blocks(nowhere)", "--set policy.name: policy blocks: the model has no block \"nowhere\""},
    {BASE "[policy]\nname = lru\npin = none\n", NULL, "x.ini:12: policy.pin: given beside policy.name"},
    {BASE, "workload.kind=dense", "x.ini:7: workload.sequence: nothing reads it"},
    {BASE, "workload.trace=nowhere.csv", "--set workload.trace: cannot find nowhere.csv"},
    {BASE, "workload.trace=.", "not a regular file"},
    {BASE, "model.quant=q4_0", "--set model.quant: applies to the weights of a profile or a config.json"},
    {BASE, "model.layers=3", "x.ini:4: model.blocks: given beside another model"},
    {BASE, "model.blocks=1 x 5", "--set model.blocks: "},
    {BASE, "experiment.name=a\x01z", "control character"},
    {BASE, "experiment.name=a\xff", "not UTF-8"},
    {BASE, "experiment.name=a\xe2\x82", "not UTF-8"},
    {BASE, "loader.mode=", "loader.mode: "},
    {"[loader]\nbudget=1GiB\n", NULL, "x.ini: device.ram: missing"},
    {"[device]\nprofile=oneplus-15r\n[loader]\nbudget=1GiB\n", NULL, "x.ini: model.profile: missing"},
    {"[device]\nprofile=oneplus-15r\n[model]\nblocks=2 x 1MiB\n", NULL, "x.ini: loader.budget: missing"},
    {"[device]\nprofile=oneplus-15r\n[model]\nprofile=llama-3.2-1b\nblocks=2 x 1MiB\n[loader]\nbudget=1GiB\n", NULL,
     "x.ini:5: model.blocks: given beside another model"},
    {"[device]\nprofile=oneplus-15r\n[model]\nprofile=llama-3.2-1b\n[workload]\nkind=moe\n[loader]\nbudget=1GiB\n",
     NULL, "x.ini:6: workload.kind: moe needs a model with experts"},
    {"[device]\nprofile=oneplus-15r\n[workload]\nkind=trace\n[loader]\nbudget=1GiB\n", NULL,
     "x.ini: workload.trace: missing"},
};

static void errors_tell_the_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        struct experiment *experiment = NULL;
        struct error err = {0};
        bool good = experiment_parse("x.ini", bads[i].text, strlen(bads[i].text), &bads[i].set, bads[i].set ? 1 : 0,
                                     dirs, &experiment, &err);
        if (good)
            fail_because("accepted: %s", bads[i].error);
        if (!strstr(err.text, bads[i].error))
            fail_because("\"%s\" lacks \"%s\"", err.text, bads[i].error);
        assert_null(strchr(err.text, '\n'));
        assert_true(err.code == STATUS_USAGE || err.code == STATUS_IO);
    }
}

static void a_grid_is_bounded(void **state)
{
    (void)state;
    char seeds[10000] = "experiment.seed=0", lanes[10000] = "loader.lanes=1";
    for (int i = 1; i < 1001; i++) {
        sprintf(seeds + strlen(seeds), ",%d", i);
        sprintf(lanes + strlen(lanes), ",%d", i % 1000 + 1);
    }
    const char *sets[] = {seeds, lanes};
    struct experiment *experiment;
    struct error err;
    assert_false(experiment_parse("x.ini", BASE, strlen(BASE), sets, 2, dirs, &experiment, &err));
    assert_string_equal(err.text, "x.ini: the lists make more than 1000000 runs; expected at most that");
    struct experiment *e = parse(BASE, sets, 1);
    assert_int_equal(experiment_run_count(e), 1001);
    experiment_free(e);
}

/* ---- Files of its own ---- */

static char folder[] = "/tmp/pocketload-experiment-XXXXXX";

static void put_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    char path[256];
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/devices", folder);
    return mkdir(path, 0777);
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"devices/toy.ini", "devices/bad.ini", "devices/list.ini", "devices/same.ini",
                                        "same.ini",        "trace.csv",       "config.ini",       "devices"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    return rmdir(folder);
}

static void a_profile_s_error_has_its_own_line(void **state)
{
    (void)state;
    const char *own_dirs[] = {folder, "configs", NULL};
    struct device device;
    struct error err;
    put_file("devices/toy.ini", "[device]\nram = 1GB\nflash_setup = 1us\nflash_stream = 1GB/s\nflash_max = 1GB/s\n"
                                "memory = 10GB/s\nflops = 1GFLOPS\n");
    put_file("devices/bad.ini", "; nothing\n[device]\nram = 1\n");
    put_file("devices/list.ini", "[device]\nram = 1GB, 2GB\n");
    assert_true(profile_read_device("toy", own_dirs, &device, &err));
    assert_string_equal(device.name, "toy");
    assert_int_equal(device.pressure.threshold_bytes, 1000000000);
    char expected[400];
    assert_false(profile_read_device("bad", own_dirs, &device, &err));
    snprintf(expected, sizeof expected, "%s/devices/bad.ini:3: device.ram: \"1\" has no unit", folder);
    assert_memory_equal(err.text, expected, strlen(expected));
    assert_false(profile_read_device("list", own_dirs, &device, &err));
    assert_false(profile_read_device("nobody-has-this-name", own_dirs, &device, &err));
    assert_non_null(strstr(err.text, "expected bad, "));
    assert_true(profile_read_device("generic-6gb", own_dirs, &device, &err));
    assert_int_equal(device.pressure.threshold_bytes, 2800000000);

    char **names;
    size_t count;
    assert_true(profile_list("device", own_dirs, &names, &count, &err));
    assert_true(count >= 5);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
    free(names);
    struct shape shape;
    char label[128];
    assert_true(profile_read_model("llama-3.2-1b", own_dirs, &shape, label, &err));
    assert_int_equal(shape.layers, 16);
    assert_true(shape.tied);
    assert_string_equal(label, "llama-3.2-1b");
}

/* Profiles of one file name in two folders are told apart by their paths. */
static void like_names_are_told_apart(void **state)
{
    (void)state;
    static const char *const devices[] = {"devices/same.ini", "same.ini"};
    struct error err;
    char text[700];
    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text,
                 "[device]\nram = %zuGB\nflash_setup = 1us\nflash_stream = 1GB/s\nflash_max = 1GB/s\n"
                 "memory = 10GB/s\nflops = 1GFLOPS\n",
                 i + 1);
        put_file(devices[i], text);
    }
    snprintf(text, sizeof text,
             "[device]\nprofile = %s/devices/same.ini,\n  %s/same.ini\n[model]\nblocks = 4 x 1MiB\n"
             "[loader]\nbudget = 2MiB\n",
             folder, folder);
    struct experiment *e;
    assert_true(experiment_parse("a.ini", text, strlen(text), NULL, 0, dirs, &e, &err));
    assert_int_equal(experiment_run_count(e), 2);
    const char *first = experiment_run(e, 0)->device.name, *second = experiment_run(e, 1)->device.name;
    assert_string_not_equal(first, second);
    assert_memory_equal(first, "same(profile=", 13);
    experiment_free(e);
}

static void traces_count_by_content(void **state)
{
    (void)state;
    char config[256];
    struct error err;
    snprintf(config, sizeof config, "%s/config.ini", folder);
    put_file("config.ini", "[device]\nprofile = oneplus-15r\n[workload]\nkind = trace\ntrace = trace.csv\n[loader]\n"
                           "budget = 300B\n");
    char keys[2][RUN_KEY_TEXT];
    for (int i = 0; i < 2; i++) {
        put_file("trace.csv", i ? "block,bytes\n1,100\n2,100\n2,100\n" : "block,bytes\n1,100\n2,100\n1,100\n");
        struct experiment *e;
        if (!experiment_read(config, NULL, 0, dirs, &e, &err))
            fail_because("%s", err.text);
        assert_string_equal(experiment_run(e, 0)->workload_label, "trace.csv");
        const char *key = experiment_run_key(e, 0, &err);
        assert_non_null(key);
        memcpy(keys[i], key, RUN_KEY_TEXT);
        struct prepared cache = {0};
        struct arena arena = {0};
        struct run_result result;
        if (!experiment_execute(e, 0, &cache, &arena, &result, &err))
            fail_because("%s", err.text);
        assert_int_equal(result.numbers.misses, 2);
        assert_int_equal(result.numbers.hits, 1);
        assert_int_equal(cache.model.block_count, 2);
        arena_free(&arena);
        prepared_free(&cache);
        experiment_free(e);
    }
    assert_string_not_equal(keys[0], keys[1]);
}

/* ---- Running ---- */

static void models_and_traces_are_made_once(void **state)
{
    (void)state;
    const char *sets[] = {"policy.name=lru,fifo", "workload.sequence=a b a"};
    struct experiment *e = parse(BASE, sets, 2);
    struct prepared cache = {0};
    struct error err;
    assert_true(experiment_prepare(e, 0, &cache, &err));
    const void *blocks = cache.model.blocks, *uses = cache.trace.uses;
    assert_true(experiment_prepare(e, 1, &cache, &err));
    assert_ptr_equal(cache.model.blocks, blocks);
    assert_ptr_equal(cache.trace.uses, uses);
    prepared_free(&cache);
    experiment_free(e);
}

static void notes_name_what_matters(void **state)
{
    (void)state;
    const char *text =
        "[device]\nprofile = oneplus-15r\n[model]\nprofile = llama-3.2-1b\n[workload]\nprompt_tokens = 4\n"
        "output_tokens = 2\n[loader]\nbudget = 512MiB, 2GiB\noverlap = none\n[policy]\n"
        "name = lru, prefetch-next\n";
    struct experiment *e = parse(text, NULL, 0);
    struct prepared cache = {0};
    struct error err;
    char notes[4][512];
    for (size_t i = 0; i < 4; i++)
        assert_true(experiment_notes(e, i, &cache, notes[i], sizeof notes[i], &err));
    assert_non_null(strstr(notes[0], "budget 512 MiB is below the cycle of "));
    assert_null(strstr(notes[0], "prefetcher"));
    assert_non_null(strstr(notes[1], "prefetcher next never runs"));
    assert_string_equal(notes[2], "");
    assert_string_equal(notes[3], "prefetcher next never runs: loader.overlap = none\n");
    prepared_free(&cache);
    experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_order),
        cmocka_unit_test(commas_in_parentheses_do_not_split),
        cmocka_unit_test(parts_make_a_grid),
        cmocka_unit_test(read_mode_needs_no_policy),
        cmocka_unit_test(equal_items_are_one_run),
        cmocka_unit_test(overrides_beat_config_beats_profile),
        cmocka_unit_test(profiles_are_lists_too),
        cmocka_unit_test(keys_depend_on_what_matters),
        cmocka_unit_test(errors_tell_the_place),
        cmocka_unit_test(a_grid_is_bounded),
        cmocka_unit_test(a_profile_s_error_has_its_own_line),
        cmocka_unit_test(like_names_are_told_apart),
        cmocka_unit_test(traces_count_by_content),
        cmocka_unit_test(models_and_traces_are_made_once),
        cmocka_unit_test(notes_name_what_matters),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
