/* The option table: consistent with itself, and values of every type in and out. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/options.h"
#include "tests/cmocka_fixed.h"

static struct arena arena;
static const struct option *options;
static size_t option_count;

static int load_table(void **state)
{
    (void)state;
    options = options_all(&arena, &option_count);
    return options ? 0 : -1;
}

static int free_table(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static void table_is_consistent(void **state)
{
    (void)state;
    assert_true(option_count > 60);
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &options[i];
        assert_non_null(option->help);
        assert_ptr_equal(option_find(options, option_count, option->section, option->key), option);
        assert_true(option->offset + option->width <= sizeof(struct run_config));
        assert_true(option->min <= option->max);
        assert_true(option->type != OPTION_CHOICE || option->name_count > 0);
        for (size_t k = 0; k < i; k++) /* no two options write the same field */
            assert_true(!option->width || !options[k].width || option->offset >= options[k].offset + options[k].width ||
                        options[k].offset >= option->offset + option->width);
    }
}

static void every_default_parses_and_survives_its_field(void **state)
{
    (void)state;
    struct run_config config;
    memset(&config, 0, sizeof config);
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &options[i];
        if (!option->fallback)
            continue;
        union option_value value;
        struct error err;
        if (!option_parse(option, option->fallback, &arena, &value, &err))
            fail_because("%s.%s: %s", option->section, option->key, err.text);
        if (!option->width)
            continue;
        option_store(option, value, &config);
        union option_value back = option_load(option, &config);
        if (option_is_text(option) && (value.text || back.text)) /* apps: none */
            assert_string_equal(back.text, value.text);
        else
            assert_int_equal(back.number, value.number);
    }
    assert_int_equal(config.workload.compute_per_token_ns, -1);
    assert_int_equal(config.device.flash.queue_depth, 32);
    assert_true(config.model.shape.gated);
    assert_int_equal(config.loader.overlap, OVERLAP_PREFETCH);
    assert_int_equal(config.device.page_bytes, 4096);
    assert_int_equal(config.device.readahead_bytes, 131072);
    assert_int_equal(config.device.fault_around_bytes, 65536);
    assert_false(config.device.prefault_young);
    assert_true(config.device.memlock_bytes == UINT64_MAX && config.device.address_space_bytes == UINT64_MAX);
    assert_int_equal(config.device.pressure.zram_ratio_ppm, 2800000);
    assert_int_equal(config.device.pressure.swappiness, 60);
    assert_int_equal(config.workload.batch, 512);
    assert_true(config.workload.flash_attention);
    assert_int_equal(config.workload.kv_type, KV_F16);
    assert_int_equal(config.loader.processes, 1);
    assert_false(config.loader.keep_activations);
    assert_null(config.apps);
}

static void every_tensor_type_has_a_rate(void **state)
{
    (void)state;
    struct run_config config;
    memset(&config, 0, sizeof config);
    for (uint32_t t = 0; t < tensor_type_count; t++) {
        char key[64] = "flops_";
        strcat(key, tensor_types[t].name);
        const struct option *option = option_find(options, option_count, "device", key);
        assert_non_null(option);
        option_store(option, (union option_value){.number = t + 1000}, &config);
        assert_int_equal(config.device.flops_rate[t], t + 1000);
        snprintf(key, sizeof key, "memory_%s", tensor_types[t].name);
        option = option_find(options, option_count, "device", key);
        assert_non_null(option);
        option_store(option, (union option_value){.number = t + 2000}, &config);
        assert_int_equal(config.device.memory_rate[t], t + 2000);
    }
}

struct value_case {
    const char *section, *key, *text;
    int64_t number;    /* where the error is NULL */
    const char *error; /* a part of it */
};

static void check_values(const struct value_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct option *option = option_find(options, option_count, cases[i].section, cases[i].key);
        assert_non_null(option);
        union option_value value;
        struct error err;
        bool good = option_parse(option, cases[i].text, &arena, &value, &err);
        if (good != !cases[i].error)
            fail_because("%s = %s: %s", cases[i].key, cases[i].text, good ? "accepted" : err.text);
        if (good) {
            assert_int_equal((int64_t)value.number, cases[i].number);
            continue;
        }
        assert_int_equal(err.code, STATUS_USAGE);
        if (!strstr(err.text, cases[i].error))
            fail_because("%s = %s: \"%s\" lacks \"%s\"", cases[i].key, cases[i].text, err.text, cases[i].error);
    }
}

static void values(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {"loader", "budget", "1.5GiB", INT64_C(1610612736), NULL},
        {"loader", "budget", "512", 0, "no unit"},
        {"loader", "budget", "0B", 0, "out of range; expected 1B"},
        {"loader", "budget", "99999999999999999999GiB", 0, "99999999999999999999GiB"},
        {"loader", "read_size", "whole", 0, NULL},
        {"loader", "read_size", "hole", 0, "unknown value \"hole\": did you mean whole?"},
        {"loader", "read_size", "all", 0, "or the word whole"},
        {"loader", "arena", "aut", 0, "did you mean auto?"},
        {"device", "memlock", "unlimitd", 0, "did you mean unlimited?"},
        {"device", "page", "64KiB", 0, "\"64KiB\" is none of the sizes there are; expected 4KiB or 16KiB"},
        {"device", "page", "8KiB", 0, "expected 4KiB or 16KiB"},
        {"loader", "mode", "read", LOADER_READ, NULL},
        {"loader", "mode", "chunkd", 0, "did you mean chunked?"},
        {"loader", "lanes", "1024", 1024, NULL},
        {"loader", "lanes", "0", 0, "0"},
        {"loader", "lanes", "-1", 0, "-1"},
        {"device", "flash_setup", "215us", 215000, NULL},
        {"device", "flash_setup", "215", 0, "no unit"},
        {"device", "flash_max", "2.42GB/s", INT64_C(2420000000), NULL},
        {"device", "flops", "120GFLOPS", INT64_C(120000000000), NULL},
        {"device", "hot_factor", "35%", 350000, NULL},
        {"device", "hot_factor", "0.5%", 0, "out of range"},
        {"loader", "mode", "mmap", LOADER_MMAP, NULL},
        {"loader", "madvise", "populate", MADVISE_POPULATE, NULL},
        {"loader", "madvise", "sequentiel", 0, "did you mean sequential?"},
        {"loader", "lists", "mglru", LISTS_MGLRU, NULL},
        {"loader", "layout", "hot-first", LAYOUT_HOT_FIRST, NULL},
        {"loader", "hugepage", "device", 0, NULL},
        {"loader", "hugepage", "2MiB", 2097152, NULL},
        {"loader", "hugepage", "2048KiB", 2097152, NULL},
        {"loader", "hugepage", "32KiB", 0,
         "\"32KiB\" is none of the sizes there are; expected 4KiB, 16KiB, 64KiB or 2MiB"},
        {"loader", "hugepage", "devise", 0, "did you mean device?"},
        {"loader", "processes", "8", 8, NULL},
        {"loader", "processes", "9", 0, "9"},
        {"loader", "oom_score_adj", "foreground", 0, NULL},
        {"loader", "oom_score_adj", "cached", 900, NULL},
        {"loader", "oom_score_adj", "-1000", (int64_t)(uint32_t)-1000, NULL},
        {"loader", "oom_score_adj", "1001", 0, "\"1001\" is neither a number from -1000 to 1000"},
        {"loader", "oom_score_adj", "--1", 0, "neither a number"},
        {"loader", "oom_score_adj", "cashed", 0, "did you mean cached?"},
        {"loader", "allocator", "buddy", ALLOCATOR_BUDDY, NULL},
        {"loader", "arena", "auto", 0, NULL},
        {"loader", "alloc_time", "200ns", 200, NULL},
        {"device", "page", "16KiB", 16384, NULL},
        {"device", "page", "8KiB", 0, "expected 4KiB or 16KiB"},
        {"device", "kill", "memory_limiter", KILL_MEMORY_LIMITER, NULL},
        {"device", "kill", "lmk", 0, "did you mean lmkd?"},
        {"device", "memlock", "unlimited", -1, NULL},
        {"device", "memlock", "64KiB", 65536, NULL},
        {"device", "address_space", "3GiB", INT64_C(3221225472), NULL},
        {"device", "zram_ratio", "0.9", 0, "out of range; expected 1 to 100"},
        {"device", "swappiness", "201", 0, "201"},
        {"device", "watermark_scale", "1001", 0, "1001"},
        {"device", "prefault", "young", 1, NULL},
        {"device", "apps", "mail:900", 0, "app 1 \"mail:900\""},
        {"device", "apps", "", 0, "no value"},
        {"workload", "kv_type", "q8_0", KV_Q8_0, NULL},
        {"workload", "stride", "page", 0, NULL},
        {"workload", "stride", "64KiB", 65536, NULL},
        {"model", "window", "none", 0, NULL},
        {"model", "window", "4096", 4096, NULL},
        {"workload", "zipf", "1.05", 1050000, NULL},
        {"workload", "zipf", "11", 0, "out of range"},
        {"workload", "compute_per_token", "roofline", -1, NULL},
        {"workload", "compute_per_token", "122.8ms", 122800000, NULL},
        {"workload", "output_tokens", "0", 0, "0"},
        {"workload", "trace_format", "rout", 0, "did you mean route?"},
        {"device", "thrashing_limit", "250%", 2500000, NULL},
        {"device", "thrashing_limit", "10", 10000000, NULL},
        {"device", "thrashing_limit", "1001%", 0, "\"1001%\" is too much: expected at most 1000%"},
        {"device", "thrashing_decay", "101%", 0, "\"101%\" is more than all"},
        {"model", "quant", "q4_k", 0, "did you mean q4_"},
        {"policy", "name", "lr", 0, "lru"},
        {"policy", "evict", "next", 0, "next"},
        {"policy", "pin", "", 0, "no value"},
        {"experiment", "seed", "9223372036854775808", 0, "9223372036854775808"},
    };
    check_values(cases, sizeof cases / sizeof *cases);
}

static void yes_and_no_are_suggested_by_sense(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {"model", "tied", "maybe", 0, "expected no or yes"},
        {"model", "tied", "ys", 0, "did you mean yes?"},
        {"workload", "flash_attention", "on", 0, "unknown value \"on\": did you mean yes?"},
        {"workload", "flash_attention", "True", 0, "did you mean yes?"},
        {"loader", "compact", "1", 0, "did you mean yes?"},
        {"loader", "compact", "0", 0, "did you mean no?"},
        {"device", "entitled", "off", 0, "did you mean no?"},
        {"device", "prefault", "off", 0, "expected old or young"},
        {"loader", "reuse", "yes", 0, NULL},
        {"loader", "reuse", "no", 1, NULL},
        {"loader", "reuse", "on", 0, "did you mean yes?"},
        {"loader", "reuse", "false", 0, "did you mean no?"},
    };
    check_values(cases, sizeof cases / sizeof *cases);
}

static void apps_are_read_once(void **state)
{
    (void)state;
    const struct option *option = option_find(options, option_count, "device", "apps");
    union option_value value;
    struct error err;
    struct run_config config;
    memset(&config, 0, sizeof config);
    assert_true(option_parse(option, "mail:900:200MiB sync:905:50MiB@1s+10MiB/s..400MiB", &arena, &value, &err));
    option_store(option, value, &config);
    assert_int_equal(config.apps->count, 2);
    assert_string_equal(config.apps->apps[1].name, "sync");
    assert_int_equal(config.apps->apps[1].start_ns, 1000000000);
    assert_string_equal(option_load(option, &config).text, "mail:900:200MiB sync:905:50MiB@1s+10MiB/s..400MiB");
    assert_true(option_parse(option, "none", &arena, &value, &err));
    option_store(option, value, &config);
    assert_null(config.apps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_consistent),          cmocka_unit_test(every_default_parses_and_survives_its_field),
        cmocka_unit_test(every_tensor_type_has_a_rate), cmocka_unit_test(values),
        cmocka_unit_test(apps_are_read_once),           cmocka_unit_test(yes_and_no_are_suggested_by_sense),
    };
    return cmocka_run_group_tests(tests, load_table, free_table);
}
