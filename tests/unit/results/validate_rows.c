/* What each family makes of its rows: nothing is left out, and what did not run says why. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/validate.h"
#include "tests/unit/base/folder.h"

static const char *const profiles[] = {"configs", NULL};

static void check(void **state, const char *name, const char *text, struct validation *validation)
{
    char path[400];
    struct error err;
    put(in(state, name, path), text, strlen(text));
    const char *const paths[] = {path};
    const struct validate_options options = {.paths = paths, .path_count = 1, .profile_dirs = profiles};
    if (!validate(&options, validation, &err))
        fail_because("%s", err.text);
}

#define IN_RAM                                                                                                         \
    "device,soc,model,quant,backend,threads,pp_tok_s,tg_tok_s,weights_mib,kv_mib,compute_mib,peak_device_mb,wall_ms\n"
#define PAGE_CACHE                                                                                                     \
    "order,limit_mib,madvise,scope,majflt_min,majflt_max,read_over_touched_min,read_over_touched_max,tolerance\n"

/* Empty in all that is compared, before and behind a row that is not. */
static void an_empty_row_is_a_skipped_one(void **state)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"iobench-oneplus-15r.csv", "lanes,block_kib,mib_per_s,latency_ms\n1,4096,,\n1,1024,1361,\n1,4096,,\n"},
        {"k.csv", PAGE_CACHE "cyclic,0,normal,cold,,,,,0.02\ncyclic,0,random,cold,,,1,1,exact\n"
                             "cyclic,0,normal,cold,,,,,\n"},
        {"ram.csv", IN_RAM "x,,no-such-model,q8_0,,,,,,,,,\ngalaxy-s23,,qwen3-1.7b,q8_0,,,,,,224,,,\n"
                           "galaxy-s23,,qwen3-1.7b,q8_0,,,,,,,,1,1\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct validation validation;
        size_t off, skipped;
        check(state, files[i].name, files[i].text, &validation);
        assert_int_equal(validation.row_count, 3);
        assert_true(validation_good(&validation, &off, &skipped));
        assert_int_equal(skipped, 2);
        const struct validation_row *last = &validation.rows[2];
        assert_string_equal(last->verdict, "skipped");
        assert_string_equal(last->note, "nothing in it to compare");
        assert_int_equal(last->line, 4);
        validation_free(&validation);
    }
}

/* A model of 8.5 GB does not start on a phone of 4 GB. */
static void what_did_not_run_says_why(void **state)
{
    struct validation validation;
    check(state, "ram.csv", IN_RAM "galaxy-a15,,llama-3-8b,q8_0,,,5.5,4.1,,,,,\n", &validation);
    assert_int_equal(validation.row_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(validation.rows[i].verdict, "off");
        assert_non_null(strstr(validation.rows[i].note, "the simulated run was "));
    }
    validation_free(&validation);
}

/* A cache of 20 GiB on a phone of 11. */
static void a_cache_above_the_ram_is_off(void **state)
{
    struct validation validation;
    size_t off, skipped;
    check(state, "moe-streaming-oneplus-15r.csv",
          "model,top_k,cache_mib,lanes,overlap,tok_per_s,mb_per_token,io_ms_per_token,compute_ms_per_token,"
          "hit_percent\nQwen3-30B-A3B-Q4_K_M,8,20000,4,no,1.7,,,123,\n",
          &validation);
    assert_int_equal(validation.row_count, 1);
    assert_false(validation_good(&validation, &off, &skipped));
    assert_int_equal(off, 1);
    assert_non_null(strstr(validation.rows[0].note, "is above the device's ram"));
    validation_free(&validation);
}

static const struct validation_row *from_others(const struct validation *validation, unsigned line)
{
    for (size_t i = 0; i < validation->row_count; i++)
        if (validation->rows[i].line == line &&
            strcmp(validation->rows[i].quantity, "decode_tokens_per_s_from_others") == 0)
            return &validation->rows[i];
    return NULL;
}

/* A row's own speed is not among those that its rate is taken from, and two others are the least. */
static void a_rate_from_others_leaves_the_row_out(void **state)
{
    static const char pattern[] =
        IN_RAM "galaxy-s23,,phi-3.5-mini,q4_0,cpu,6,,9.94,,,,,\ngalaxy-s23,,qwen3-1.7b,q4_0,cpu,6,,17.21,,,,,\n"
               "galaxy-s23,,smollm2-1.7b,q4_0,cpu,6,,%s,,,,,\ngalaxy-s23,,qwen3-1.7b,q8_0,cpu,6,,13,,,,,\n"
               "galaxy-s23,,phi-3.5-mini,q4_0,cpu,%s,,9.94,,,,,\n";
    double simulated[2][2];
    for (int slow = 0; slow < 2; slow++) {
        struct validation validation;
        char text[sizeof pattern + 16];
        snprintf(text, sizeof text, pattern, slow ? "1.781" : "17.81", "4");
        check(state, "ram.csv", text, &validation);
        for (unsigned line = 2; line <= 3; line++)
            assert_non_null(from_others(&validation, line));
        simulated[slow][0] = from_others(&validation, 2)->simulated;
        simulated[slow][1] = from_others(&validation, 4)->simulated;
        assert_null(from_others(&validation, 5)); /* another quantisation */
        assert_null(from_others(&validation, 6)); /* other threads */
        validation_free(&validation);
    }
    assert_true(simulated[0][1] == simulated[1][1]);
    assert_true(simulated[0][0] > 1.5 * simulated[1][0]);
    assert_true(fabs(simulated[0][1] / 17.81 - 1) < 0.2);
}

/* Of several passes the one furthest outside counts, be it the last or not. */
static void the_furthest_pass_counts(void **state)
{
    static const char *const orders[] = {"0\n0\n1\n0\n", "0\n0\n0\n1\n", "0\n1\n0\n0\n"};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char path[400];
        struct validation validation;
        put(in(state, "passes.txt", path), orders[i], strlen(orders[i]));
        check(state, "k.csv", PAGE_CACHE "passes.txt,0,random,steady,0,0,0,0,exact\n", &validation);
        assert_int_equal(validation.row_count, 2);
        assert_true(validation.rows[0].simulated == 2048 && strcmp(validation.rows[0].verdict, "off") == 0);
        assert_true(validation.rows[1].simulated == 1 && strcmp(validation.rows[1].verdict, "off") == 0);
        validation_free(&validation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_row_is_a_skipped_one), cmocka_unit_test(what_did_not_run_says_why),
        cmocka_unit_test(a_cache_above_the_ram_is_off),  cmocka_unit_test(a_rate_from_others_leaves_the_row_out),
        cmocka_unit_test(the_furthest_pass_counts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
