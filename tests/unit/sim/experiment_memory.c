/* Experiments that touch memory as the phone has it: which keys matter when, what is derived, and errors with their
 * place. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/experiment.h"
#include "sim/farm.h"
#include "tests/cmocka_fixed.h"

/* Tests run in the root of the repository. */
static const char *const dirs[] = {"configs", NULL};

/* Lines of [loader] and of [device]. */
#define CONFIG(loader, device)                                                                                         \
    "[model]\nblocks = a:1MiB b:1MiB layer1:2MiB\n[workload]\nkind = trace\nsequence = a b layer1 a "                  \
    "b\n[loader]\n" loader "[device]\nprofile = oneplus-15r\n" device
#define MAPPED CONFIG("mode = mmap\n", "")
#define CHUNKED CONFIG("budget = 3MiB\n", "")
#define MAPPED_ON(device) CONFIG("mode = mmap\n", device)
#define CHUNKED_ON(device) CONFIG("budget = 3MiB\n", device)
#define PLACED(allocator) CONFIG("budget = 3MiB\nallocator = " allocator "\n", "")

enum { SETS_MAX = 4 };

static struct experiment *parse(const char *text, const char *const *sets)
{
    struct experiment *experiment;
    struct error err;
    size_t count = 0;
    while (count < SETS_MAX && sets[count])
        count++;
    if (!experiment_parse("x.ini", text, strlen(text), sets, count, dirs, &experiment, &err))
        fail_because("%s", err.text);
    return experiment;
}

#define PARSE(text, ...) parse(text, (const char *const[SETS_MAX]){__VA_ARGS__})

static void a_mapped_run(void **state)
{
    (void)state;
    struct experiment *e = PARSE(MAPPED, NULL);
    const struct run_config *c = experiment_run(e, 0);
    assert_string_equal(c->loader_label, "mmap");
    assert_string_equal(c->policy.label, "none");
    assert_string_equal(c->policy.evict_text, "none");
    assert_null(c->policy.evict.policy);
    assert_int_equal(c->loader.budget_bytes, 0);
    assert_int_equal(c->loader.page_bytes, 4096);
    assert_int_equal(c->device.willneed_bytes, 1 << 20);
    assert_int_equal(c->device.pressure.max_bytes, c->device.ram_bytes);
    experiment_free(e);
}

static void only_the_pin_rule_of_a_policy(void **state)
{
    (void)state;
    struct experiment *e = PARSE(MAPPED, "policy.pin=blocks(a,b)");
    assert_string_equal(experiment_run(e, 0)->policy.label, "blocks(a,b)");
    assert_string_equal(experiment_run(e, 0)->policy.pin_text, "blocks(a,b)");
    assert_string_equal(experiment_run(e, 0)->policy.evict_text, "none");
    assert_non_null(experiment_run(e, 0)->policy.pin.policy);
    assert_null(experiment_run(e, 0)->policy.evict.policy);
    experiment_free(e);
    e = PARSE(MAPPED, "policy.name=pinned-lru(2MiB), lru");
    assert_int_equal(experiment_run_count(e), 2);
    assert_string_equal(experiment_run(e, 0)->policy.label, "hot(2MiB)");
    assert_string_equal(experiment_run(e, 1)->policy.label, "none");
    experiment_free(e);
    /* A list of policies for the chunked runs of a list of modes: one mapped run for each pin rule. */
    e = PARSE(CHUNKED, "loader.mode=chunked,mmap", "policy.name=lru,fifo,prefetch-next,pinned-lru(1MiB)");
    assert_int_equal(experiment_run_count(e), 6);
    experiment_free(e);
}

static void sizes_in_granules(void **state)
{
    (void)state;
    static const struct {
        const char *page, *hugepage, *readahead, *around, *willneed;
        uint64_t granule, readahead_bytes, around_bytes, willneed_bytes;
    } cases[] = {
        {"4KiB", "device", "128KiB", "64KiB", "512KiB", 4096, 131072, 65536, 524288},
        {"16KiB", "device", "100KiB", "60KiB", "1B", 16384, 98304, 32768, 98304},
        {"4KiB", "2MiB", "128KiB", "64KiB", "3MiB", 2097152, 2097152, 2097152, 2097152},
        {"4KiB", "64KiB", "0B", "1GiB", "1GiB", 65536, 65536, 1 << 30, 1 << 30},
        {"16KiB", "16KiB", "128MiB", "0B", "0B", 16384, 128 << 20, 16384, 128 << 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            CONFIG("mode = mmap\nhugepage = %s\n", "page = %s\nreadahead = %s\nfault_around = %s\nwillneed_max = %s\n"),
            cases[i].hugepage, cases[i].page, cases[i].readahead, cases[i].around, cases[i].willneed);
        struct experiment *e = PARSE(text, NULL);
        const struct run_config *c = experiment_run(e, 0);
        assert_int_equal(c->loader.page_bytes, cases[i].granule);
        assert_int_equal(c->device.readahead_bytes, cases[i].readahead_bytes);
        assert_int_equal(c->device.fault_around_bytes, cases[i].around_bytes);
        assert_int_equal(c->device.willneed_bytes, cases[i].willneed_bytes);
        experiment_free(e);
    }
}

static void keys_matter_where_they_act(void **state)
{
    (void)state;
    static const struct {
        const char *text, *first, *second;
        bool same;
    } cases[] = {
        /* Not to a run that maps nothing ... */
        {CHUNKED, "device.readahead=1MiB", NULL, true},
        {CHUNKED, "loader.madvise=random", NULL, true},
        {CHUNKED, "loader.hugepage=2MiB", NULL, true},
        {CHUNKED, "workload.stride=64KiB", NULL, true},
        {CHUNKED, "device.memlock=1MiB", NULL, true},
        /* ... where no pressure acts ... */
        {CHUNKED, "device.min_free=100MB", NULL, true},
        {CHUNKED, "loader.oom_score_adj=cached", NULL, true},
        {CHUNKED, "device.swappiness=100", NULL, true},
        {CHUNKED, "device.jetsam_limit=3GB", NULL, true},
        {CHUNKED, "loader.arena=1GiB", NULL, true},
        {CHUNKED, "device.apps=none", NULL, true},
        /* ... but where they act. */
        {CHUNKED, "device.zram=1GB", NULL, false},
        {CHUNKED, "device.apps=mail:900:200MiB", NULL, false},
        {CHUNKED, "device.kill=lmkd", NULL, false},
        {CHUNKED, "loader.allocator=malloc", NULL, false},
        {CHUNKED, "loader.reuse=no", NULL, false},
        {CHUNKED, "workload.kv_type=q8_0", NULL, false},
        {CHUNKED_ON("zram = 1GB\n"), "device.swappiness=100", NULL, false},
        {CHUNKED_ON("zram = 1GB\n"), "device.min_free=100MB", NULL, false},
        {CHUNKED_ON("kill = lmkd\n"), "device.thrashing_limit=30%", NULL, false},
        {CHUNKED_ON("kill = lmkd\n"), "device.memory_max=3GB", NULL, true},
        {CHUNKED_ON("kill = lmkd\n"), "loader.oom_score_adj=-5", NULL, false},
        {PLACED("slab"), "loader.compact=yes", NULL, true},
        {PLACED("malloc"), "loader.compact=yes", NULL, false},
        {PLACED("slab"), "loader.alloc_time=1us", NULL, false},
        {MAPPED, "device.readahead=1MiB", NULL, false},
        {MAPPED, "device.readahead=130KiB", NULL, true},
        {MAPPED, "loader.hugepage=4KiB", NULL, true},
        {MAPPED, "workload.stride=64KiB", NULL, false},
        {MAPPED, "device.prefault=young", NULL, false},
        {MAPPED, "loader.processes=2", NULL, false},
        {MAPPED, "loader.budget=1GiB", NULL, true},
        {MAPPED, "loader.lanes=2", NULL, true},
        {MAPPED, "device.min_free=100MB", NULL, false},
        {MAPPED, "policy.pin=blocks(a)", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err;
        struct experiment *a = PARSE(cases[i].text, NULL), *b = PARSE(cases[i].text, cases[i].first, cases[i].second);
        bool same = strcmp(experiment_run_key(a, 0, &err), experiment_run_key(b, 0, &err)) == 0;
        if (same != cases[i].same)
            fail_because("%s: the key is %s", cases[i].first, same ? "the same" : "another");
        experiment_free(a);
        experiment_free(b);
    }
}

static void the_effective_config_tells_all(void **state)
{
    (void)state;
    struct error err;
    struct experiment *e =
        PARSE(CONFIG("mode = mmap\noom_score_adj = -17\n", "apps = mail:900:200MiB\nkill = memory_limiter\n"), NULL);
    const char *json = experiment_run_json(e, 0, &err);
    static const char *const parts[] = {
        "\"model_version\":4",          "\"mode\":\"mmap\"",      "\"hugepage\":4096",
        "\"oom_score_adj\":-17",        "\"memlock\":null",       "\"memory_max\":11640000000",
        "\"apps\":\"mail:900:200MiB\"", "\"watermark_scale\":10",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(json, parts[i]))
            fail_because("%s lacks %s", json, parts[i]);
    assert_null(strstr(json, "swappiness")); /* there is no zram */
    assert_null(strstr(json, "budget"));
    assert_int_equal(experiment_run(e, 0)->device.pressure.app_count, 1);
    assert_int_equal(experiment_run(e, 0)->device.pressure.apps[0].bytes, 200 << 20);
    assert_int_equal(experiment_run(e, 0)->device.pressure.own_adj, -17);
    experiment_free(e);
}

#define JETSAM                                                                                                         \
    MAPPED_ON("kill = jetsam\njetsam_limit = 1GB\njetsam_limit_entitled = 2GB\n"                                       \
              "jetsam_by_os = 17.4:3GB:4GB 26.4:5GB:6GB 17.10:7GB:8GB\n")

#define BY_OS MAPPED_ON("kill = jetsam\njetsam_by_os = 17.10:7GB:8GB 17.4:3GB:4GB 26.4:5GB:6GB\n")

#define NO_VERSIONS MAPPED_ON("kill = jetsam\njetsam_limit = 1GB\njetsam_limit_entitled = 2GB\n")

static void jetsam_limits_by_version(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        bool entitled;
        uint64_t gigabytes;
    } cases[] = {{NULL, false, 1},  {NULL, true, 2},       {"17.3", false, 1}, {"17.4", false, 3}, {"17.4.0", true, 4},
                 {"17.9", true, 4}, {"17.10.1", false, 7}, {"18", true, 8},    {"26.4", false, 5}, {"100", true, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char version[64];
        snprintf(version, sizeof version, "device.os_version=%s", cases[i].version ? cases[i].version : "");
        struct experiment *e =
            PARSE(cases[i].version ? JETSAM : NO_VERSIONS,
                  cases[i].entitled ? "device.entitled=yes" : "device.entitled=no", cases[i].version ? version : NULL);
        if (experiment_run(e, 0)->device.pressure.jetsam_limit_bytes != cases[i].gigabytes * 1000000000)
            fail_because("%s, %s: %llu", version, cases[i].entitled ? "entitled" : "not entitled",
                         (unsigned long long)experiment_run(e, 0)->device.pressure.jetsam_limit_bytes);
        experiment_free(e);
    }
}

static void windows_of_a_shape(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        uint32_t window, layers;
    } cases[] = {
        {"", 0, 0}, {"window_layers = 3\n", 0, 0}, {"window = 8\n", 8, 28}, {"window = 8\nwindow_layers = 0\n", 8, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "[device]\nprofile = oneplus-15r\n[loader]\nbudget = 1GiB\n[model]\nprofile = llama-3.2-3b\n%s",
                 cases[i].keys);
        struct experiment *e = PARSE(text, NULL);
        assert_int_equal(experiment_run(e, 0)->model.shape.window, cases[i].window);
        assert_int_equal(experiment_run(e, 0)->model.shape.window_layers, cases[i].layers);
        experiment_free(e);
    }
}

/* ---- Errors ---- */

static const struct {
    const char *text, *set, *error;
} bads[] = {
    {MAPPED, "policy.name=fifo",
     "--set policy.name: loader.mode = mmap asks no eviction policy, the kernel decides; expected a pin rule alone "
     "(mlock), without fifo"},
    {MAPPED, "policy.name=prefetch-next", "asks no prefetcher"},
    {MAPPED, "policy.evict=fifo", "--set policy.evict: loader.mode = mmap asks no eviction policy"},
    {MAPPED, "policy.prefetch=next", "--set policy.prefetch: "},
    {MAPPED, "policy.admit=always", "--set policy.admit: loader.mode = mmap asks no admission rule"},
    {MAPPED, "policy.pin=blocks(nobody)", "the model has no block \"nobody\""},
    {CONFIG("mode = mmap\nhugepage = 4KiB\n", "page = 16KiB\n"), NULL,
     "x.ini:8: loader.hugepage: 4KiB is below device.page; expected at least 16KiB"},
    {CHUNKED, "device.kill=jetsam", "x.ini: device.jetsam_limit: missing; expected a size for kill = jetsam"},
    {JETSAM, "device.jetsam_by_os=17:3GB",
     "--set device.jetsam_by_os: item 1: \"17:3GB\" is not VERSION:LIMIT:ENTITLED"},
    {JETSAM, "device.jetsam_by_os=17:3GB:4GB iOS:3GB:4GB", "item 2: \"iOS\" is no version; expected numbers"},
    {JETSAM, "device.jetsam_by_os=17:3:4GB", "item 1: version 17: \"3\" has no unit"},
    {JETSAM, "device.jetsam_by_os=17:0B:4GB", "item 1: version 17: a limit is out of range"},
    {JETSAM, "device.os_version=17.",
     "--set device.os_version: \"17.\" is no version; expected numbers joined by dots: 17.4"},
    {JETSAM, "device.os_version=v17", "--set device.os_version: \"v17\" is no version"},
    {BY_OS, "device.os_version=16.9",
     "--set device.os_version: 16.9 is below all versions of device.jetsam_by_os; expected at least 17.4"},
    {BY_OS, NULL, "device.jetsam_by_os: device.os_version, which chooses among its versions, is missing"},
    {JETSAM, NULL, "device.jetsam_by_os: device.os_version, which chooses among its versions, is missing"},
    {JETSAM, "device.jetsam_by_os=17:3GB:4GB 26:3GB:4GB 17.0:5GB:6GB",
     "item 3: version 17.0 is that of item 1 already; expected each once"},
    {CHUNKED_ON("kill = jetsam\njetsam_limit = 1GB\n"), "device.entitled=yes",
     "--set device.entitled: the limit of an entitled app is not known"},
    {CHUNKED_ON("kill = memory_limiter\n"), "device.memory_max=12GB",
     "--set device.memory_max: 12GB is above device.ram; expected at most 11640MB"},
    {CHUNKED_ON("kill = memory_limiter\nmemory_high = 2GB\n"), "device.memory_max=1GB",
     "x.ini:11: device.memory_high: 2GB is above device.memory_max; expected at most 1GB"},
    {MAPPED, "device.min_free=5GB",
     "--set device.min_free: the high watermark, 6.98 GiB, is not below what ram leaves after os_reserve and "
     "other_apps, 5.68 GiB"},
    {CHUNKED_ON("zram = 1GB\nother_apps = 7GB\n"), "device.watermark_scale=1000",
     "--set device.watermark_scale: the high"},
    {CHUNKED, "device.apps=a:900:4GB b:900:3GB",
     "--set device.apps: those that run at the start take 6.52 GiB; expected less than what os_reserve and other_apps "
     "leave of ram, 5.68 GiB"},
    {CHUNKED, "device.apps=a:900:4GB b", "--set device.apps: app 2"},
    {"[device]\nprofile = oneplus-15r\n[loader]\nbudget = 1GiB\n[model]\nprofile = llama-3.2-3b\nwindow = 8\n",
     "model.window_layers=29", "--set model.window_layers: more than the model has layers"},
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
        assert_int_equal(err.code, STATUS_USAGE);
    }
}

/* What the profiles give, whatever a run would use of it. */
static void phones(void **state)
{
    (void)state;
    struct device device;
    struct error err;
    assert_true(profile_read_device("redmi-note-12", dirs, &device, &err));
    assert_int_equal(device.pressure.rule, KILL_LMKD);
    assert_int_equal(device.pressure.swappiness, 100);
    assert_true(profile_read_device("iphone-13-pro", dirs, &device, &err));
    assert_int_equal(device.pressure.jetsam_limit_bytes, 3120000000);
    assert_int_equal(device.jetsam_entitled_bytes, 4200000000);
    assert_int_equal(device.page_bytes, 16384);
    /* Its versions: what a run with one gets. */
    struct experiment *new =
        PARSE(MAPPED, "device.profile=iphone-13-pro", "device.os_version=26.4", "device.entitled=yes");
    assert_int_equal(experiment_run(new, 0)->device.pressure.jetsam_limit_bytes, 3120000000);
    experiment_free(new);
    assert_true(profile_read_device("linux-cgroup", dirs, &device, &err));
    assert_int_equal(device.pressure.rule, KILL_MEMORY_LIMITER);
    assert_true(device.pressure.max_bytes == UINT64_C(64) << 30); /* none, until ram is set */
    assert_true(device.prefault_young);
    /* The limit is given as ram. */
    struct experiment *e = PARSE(MAPPED, "device.profile=linux-cgroup", "device.ram=128MiB");
    assert_int_equal(experiment_run(e, 0)->device.pressure.max_bytes, 128 << 20);
    assert_string_equal(experiment_run(e, 0)->device.name, "linux-cgroup");
    experiment_free(e);
}

static void a_note_on_too_little_memory(void **state)
{
    (void)state;
    struct experiment *e = PARSE(MAPPED, "device.profile=linux-cgroup", "device.runtime=1MiB", "device.ram=4MiB,5MiB");
    struct prepared cache = {0};
    struct error err;
    char notes[512];
    assert_true(experiment_notes(e, 0, &cache, notes, sizeof notes, &err));
    assert_string_equal(notes, "the cycle of 4.00 MiB is above the 3.00 MiB that can hold its pages: each token reads "
                               "from flash\n");
    assert_true(experiment_notes(e, 1, &cache, notes, sizeof notes, &err));
    assert_string_equal(notes, "");
    prepared_free(&cache);
    experiment_free(e);
}

static bool check_kills(void *context, size_t index, const struct run_result *result, const struct error *error,
                        struct error *err)
{
    (void)index, (void)err;
    if (error)
        fail_because("%s", error->text);
    assert_int_equal(result->kill_count, 2);
    assert_int_equal(result->kills[0].app, 1); /* the higher adj first */
    assert_int_equal(result->kills[1].app, 0);
    assert_int_equal(result->kills[1].bytes, 300000000);
    assert_string_equal(result->kills[1].rule, "oom");
    ++*(unsigned *)context;
    return true;
}

/* From the worker process to the parent. */
static void kills_come_with_the_result(void **state)
{
    (void)state;
    struct experiment *e =
        PARSE(CONFIG("mode = read\n", "apps = mail:900:300MB sync:905:305MB\nruntime = 5.9GB\n"), NULL);
    const struct farm_options options = {.jobs = 1};
    struct error err;
    unsigned calls = 0;
    bool stopped;
    const size_t index = 0;
    if (!farm_run(e, &index, 1, &options, check_kills, &calls, &stopped, &err))
        fail_because("%s", err.text);
    assert_int_equal(calls, 1);
    experiment_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapped_run),
        cmocka_unit_test(only_the_pin_rule_of_a_policy),
        cmocka_unit_test(sizes_in_granules),
        cmocka_unit_test(keys_matter_where_they_act),
        cmocka_unit_test(the_effective_config_tells_all),
        cmocka_unit_test(jetsam_limits_by_version),
        cmocka_unit_test(windows_of_a_shape),
        cmocka_unit_test(errors_tell_the_place),
        cmocka_unit_test(phones),
        cmocka_unit_test(a_note_on_too_little_memory),
        cmocka_unit_test(kills_come_with_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
