/* Rows, verdicts and sums of the table of errors; names of phones and models; orders of regions. */
#include "results/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/validate_kernel.h"
#include "results/validate_parts.h"
#include "results/validate_split.h"
#include "tests/unit/base/folder.h"

static const char *const profiles[] = {"configs", NULL};

static bool validate_file(void **state, const char *name, const char *text, const char *device,
                          struct validation *validation, struct error *err)
{
    char path[400];
    put(in(state, name, path), text, strlen(text));
    const char *const paths[] = {path};
    const struct validate_options options = {
        .paths = paths, .path_count = 1, .device = device, .profile_dirs = profiles};
    return validate(&options, validation, err);
}

static void flash_rows(void **state)
{
    struct validation validation;
    struct error err;
    size_t off, skipped;
    /* 1 MiB by one reader of oneplus-15r: 734,584 ns (tests/cli/commands.t), 1361.3 MiB/s. The second row says twice as
     * much. */
    if (!validate_file(state, "iobench-oneplus-15r.csv",
                       "lanes,block_kib,mib_per_s,latency_ms\n1,1024,1361.3,0.734584\n1,1024,2722.6,\n", NULL,
                       &validation, &err))
        fail_because("%s", err.text);
    assert_int_equal(validation.row_count, 3);
    const struct validation_row *rows = validation.rows;
    assert_string_equal(rows[0].quantity, "bytes_per_s");
    assert_true(fabs(rows[0].error_percent) < 0.01);
    assert_string_equal(rows[1].quantity, "latency_ns");
    assert_true(rows[1].simulated == 734584 && rows[1].measured == 734584 && rows[1].error_percent == 0);
    assert_true(rows[2].error_percent == -50 && isnan(rows[2].limit_percent));
    assert_string_equal(rows[2].verdict, "");
    /* The median of 0 and 50 is 25, and 10 are claimed. */
    assert_int_equal(validation.summary_count, 2);
    assert_int_equal(validation.summaries[0].rows, 2);
    assert_true(fabs(validation.summaries[0].median_percent - 25) < 0.01);
    assert_true(validation.summaries[0].worst_percent == 50);
    assert_string_equal(validation.summaries[0].verdict, "off");
    assert_string_equal(validation.summaries[1].verdict, "");
    assert_false(validation_good(&validation, &off, &skipped));
    assert_int_equal(off, 1);
    assert_int_equal(skipped, 0);
    validation_free(&validation);
}

static void what_is_not_known_is_skipped(void **state)
{
    static const char text[] = "lanes,block_kib,mib_per_s,latency_ms\n1,1024,1,\n";
    struct validation validation;
    struct error err;
    size_t off, skipped;
    assert_true(validate_file(state, "iobench-nokia-3310.csv", text, NULL, &validation, &err));
    assert_int_equal(validation.row_count, 1);
    assert_string_equal(validation.rows[0].verdict, "skipped");
    assert_string_equal(validation.rows[0].note, "no profile of the phone \"nokia-3310\"");
    assert_true(validation_good(&validation, &off, &skipped));
    assert_int_equal(skipped, 1);
    validation_free(&validation);

    assert_true(validate_file(state, "mine.csv", text, NULL, &validation, &err));
    assert_string_equal(validation.rows[0].note,
                        "no phone is named: no column device, no file name iobench-PHONE.csv, no --device");
    validation_free(&validation);
    assert_true(validate_file(state, "mine.csv", text, "OnePlus 15R", &validation, &err));
    assert_string_equal(validation.rows[0].verdict, "");
    assert_true(validation.rows[0].simulated > 0);
    validation_free(&validation);
    assert_false(validate_file(state, "mine.csv", text, "oneplus-15", &validation, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_string_equal(err.text, "unknown device \"oneplus-15\": did you mean oneplus-15r?");
    validation_free(&validation);
    /* A column goes before the file's name. */
    assert_true(validate_file(state, "iobench-oneplus-15r.csv",
                              "lanes,block_kib,mib_per_s,latency_ms,device\n1,1024,1,,nokia-3310\n0,1024,1,,\n", NULL,
                              &validation, &err));
    assert_string_equal(validation.rows[0].note, "no profile of the phone \"nokia-3310\"");
    assert_string_equal(validation.rows[1].note, "0 lanes: expected 1 to 4096");
    validation_free(&validation);
}

/* Its own first quantity may be one that was not measured. */
static void what_fails_is_off(void **state)
{
    struct validation validation;
    struct error err;
    size_t off, skipped;
    if (!validate_file(state, "moe-streaming-oneplus-15r.csv",
                       "model,top_k,cache_mib,lanes,overlap,tok_per_s,mb_per_token,io_ms_per_token,"
                       "compute_ms_per_token,hit_percent\n"
                       "Qwen3-30B-A3B-Q4_K_M,8,11000,4,no,,500,,100,50\n"
                       "Qwen3-30B-A3B-Q4_K_M,8,1,4,no,1,,,100,50\n",
                       NULL, &validation, &err))
        fail_because("%s", err.text);
    assert_int_equal(validation.row_count, 3);
    assert_string_equal(validation.rows[0].verdict, "off");
    assert_true(isnan(validation.rows[0].measured));
    assert_non_null(strstr(validation.rows[0].note, "above the device's ram"));
    /* A cache of half an expert has no hits. */
    assert_string_equal(validation.rows[1].note,
                        "no choice of experts has the measured hit rate; the nearest: sticky = 0");
    assert_false(validation_good(&validation, &off, &skipped));
    assert_int_equal(off, 2);
    validation_free(&validation);
}

static void models_with_experts_in_ram(void **state)
{
    struct validation validation;
    struct error err;
    if (!validate_file(state, "in-ram.csv",
                       "device,soc,model,quant,backend,threads,pp_tok_s,tg_tok_s,weights_mib,kv_mib,compute_mib,"
                       "peak_device_mb,wall_ms\n"
                       "samsung-s23,,olmoe-1b-7b,q4_0,cpu,6,,10,3700,256,,,\n"
                       "samsung-s23,,deepseek-v2-lite,q4_0,cpu,6,,,,,100,,\n",
                       NULL, &validation, &err))
        fail_because("%s", err.text);
    assert_int_equal(validation.row_count, 4);
    const struct validation_row *rows = validation.rows;
    assert_string_equal(rows[0].quantity, "weights_bytes");
    assert_true(fabs(rows[0].error_percent) < 5);
    assert_true(rows[1].error_percent == 0); /* 16 layers of 2 * 2048 numbers a token */
    assert_string_equal(rows[2].quantity, "decode_tokens_per_s");
    assert_true(rows[2].simulated > 0);
    assert_true(isnan(rows[3].simulated));
    assert_string_equal(rows[3].note, "the compute buffer of such a model is not known");
    validation_free(&validation);
}

static void sizes_have_limits(void **state)
{
    struct validation validation;
    struct error err;
    size_t off, skipped;
    if (!validate_file(state, "s.csv",
                       "model,kv_type,context_tokens,kv_bytes,source\n"
                       "Llama-2-7B-chat,F16,512,268435456,\n"
                       "llama2-7b,f16,512,268435457,\n"
                       "llama-2-7b,q3_k,512,1,\n"
                       "no-such-model,f16,512,1,\n",
                       NULL, &validation, &err))
        fail_because("%s", err.text);
    assert_int_equal(validation.row_count, 4);
    assert_string_equal(validation.rows[0].verdict, "ok");
    assert_string_equal(validation.rows[1].verdict, "off");
    assert_string_equal(validation.rows[2].note, "no type of KV cache \"q3_k\"");
    assert_string_equal(validation.rows[3].note, "no profile of the model \"no-such-model\"");
    assert_false(validation_good(&validation, &off, &skipped));
    assert_int_equal(off, 1);
    assert_int_equal(skipped, 2);
    validation_free(&validation);
}

static void a_whole_folder_is_read(void **state)
{
    char path[400], inner[400];
    struct validation validation;
    struct error err;
    static const char good[] = "model,kv_type,context_tokens,kv_bytes,source\nllama-2-7b,f16,512,268435456,\n";
    assert_int_equal(mkdir(in(state, "deep", path), 0700), 0);
    in(state, "deep/a.csv", inner);
    put(inner, good, sizeof good - 1);
    char notes[400];
    put(in(state, "deep/notes.txt", notes), "no csv", 6);
    char back[400];
    assert_int_equal(symlink(".", in(state, "deep/back", back)), 0); /* shows no file twice */
    const char *const paths[] = {path};
    struct validate_options options = {.paths = paths, .path_count = 1, .profile_dirs = profiles};
    if (!validate(&options, &validation, &err))
        fail_because("%s", err.text);
    assert_int_equal(validation.row_count, 1);
    assert_non_null(strstr(validation.rows[0].source, "/deep/a.csv:2"));
    validation_free(&validation);

    const char *const families[] = {"flash"};
    options.families = families;
    options.family_count = 1;
    assert_true(validate(&options, &validation, &err));
    assert_int_equal(validation.row_count, 0);
    validation_free(&validation);
    const char *const unknown[] = {"flesh"};
    options.families = unknown;
    assert_false(validate(&options, &validation, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_string_equal(err.text, "unknown family \"flesh\": did you mean flash?");
    validation_free(&validation);

    unlink(inner);
    options.family_count = 0;
    assert_false(validate(&options, &validation, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    assert_non_null(strstr(err.text, "no file *.csv in it"));
    validation_free(&validation);
    unlink(notes);
    unlink(back);
    rmdir(path);
}

static void intervals(void **state)
{
    (void)state;
    struct validation validation = {0};
    struct validating validating = {.validation = &validation};
    const struct truth_file file = {.name = "k.csv", .family = &truth_kernel};
    const struct truth_row row = {.line = 7};
    const struct truth_place place = {&validating, &file, &row, "x"};
    struct error err;
    assert_true(truth_add_interval(&place, "major_faults", 10, 20, 15, 0, NULL, &err));
    assert_true(truth_add_interval(&place, "major_faults", 10, 20, 22, 10, NULL, &err));
    assert_true(truth_add_interval(&place, "major_faults", 10, 20, 8, 10, NULL, &err));
    assert_true(truth_add_interval(&place, "major_faults", 0, 0, 1, 0, NULL, &err));
    assert_true(truth_add_interval(&place, "major_faults", (double)NAN, (double)NAN, 1, 0, NULL, &err));
    assert_true(truth_add(&place, "major_faults", 5, (double)NAN, (double)NAN, "why", &err));
    assert_int_equal(validation.row_count, 5);
    const struct validation_row *rows = validation.rows;
    assert_true(rows[0].error_percent == 0 && strcmp(rows[0].verdict, "ok") == 0);
    assert_true(fabs(rows[1].error_percent - 10) < 1e-9 && rows[1].measured == 10 && rows[1].measured_high == 20);
    assert_true(rows[2].error_percent == -20 && strcmp(rows[2].verdict, "off") == 0);
    assert_true(rows[3].error_percent == 100 && strcmp(rows[3].verdict, "off") == 0);
    /* What could not be simulated is off, also where nothing is claimed. */
    assert_true(isnan(rows[4].error_percent) && strcmp(rows[4].verdict, "off") == 0);
    assert_string_equal(rows[4].note, "why");
    assert_string_equal(rows[4].source, "k.csv:7");
    validation_free(&validation);
}

static void names_of_models(void **state)
{
    (void)state;
    char *models[] = {"llama-2-7b", "qwen3-30b-a3b", "gemma-2-2b"};
    const struct validating validating = {.models = models, .model_count = 3};
    char why[200];
    enum quant quant = QUANTS;
    assert_string_equal(truth_model_named(&validating, "Qwen3-30B-A3B-Q4_K_M", &quant, why, sizeof why),
                        "qwen3-30b-a3b");
    assert_int_equal(quant, QUANT_Q4_K_M);
    assert_string_equal(truth_model_named(&validating, "gemma 2 2b it.Q8_0.gguf", &quant, why, sizeof why),
                        "gemma-2-2b");
    assert_int_equal(quant, QUANT_Q8_0);
    assert_string_equal(truth_model_named(&validating, "llama2-7b", NULL, why, sizeof why), "llama-2-7b");
    assert_null(truth_model_named(&validating, "Qwen3-30B-A3B", &quant, why, sizeof why));
    assert_string_equal(why, "\"Qwen3-30B-A3B\" does not end in a known quantisation");
    assert_null(truth_model_named(&validating, "llama-2-70b", NULL, why, sizeof why));
    assert_string_equal(why, "no profile of the model \"llama-2-70b\"");
    assert_null(truth_model_named(&validating, "", NULL, why, sizeof why));
    char *devices[] = {"galaxy-s23"};
    const struct validating phones = {.devices = devices, .device_count = 1};
    assert_string_equal(truth_device_named(&phones, "Samsung S23"), "galaxy-s23");
    assert_null(truth_device_named(&phones, "galaxy-s2"));
    assert_true(truth_quant_named("Q4_K_M", &quant, why, sizeof why) && quant == QUANT_Q4_K_M);
    assert_false(truth_quant_named("q4_k_x", &quant, why, sizeof why));
}

static bool count_pages(void *host, struct page_walk *walk)
{
    *(uint64_t *)host += walk->total;
    return walk->end <= KERNEL_PAGES;
}

static void orders(void **state)
{
    struct kernel_order order;
    struct error err;
    char path[400];
    uint64_t touched = 0, pages;
    assert_true(kernel_order_read("stride 64 KiB (one page touched each)", "", &order, &err));
    for (int pass = 0; pass < KERNEL_CYCLES; pass++) {
        assert_true(kernel_next_pass(&order, count_pages, &touched, &pages, &err));
        assert_int_equal(pages, KERNEL_PAGES);
    }
    assert_int_equal(touched, KERNEL_CYCLES * KERNEL_PAGES / 16);
    assert_true(kernel_next_pass(&order, count_pages, &touched, &pages, &err));
    assert_int_equal(pages, 0);
    kernel_order_free(&order);

    put(in(state, "moe_x.txt", path), "0 255 3\n256\n", 12);
    assert_true(kernel_order_read("moe_x.txt", *state, &order, &err));
    assert_true(kernel_next_pass(&order, count_pages, &touched, &pages, &err));
    assert_int_equal(pages, 3 * KERNEL_MIB_PAGES);
    assert_false(kernel_next_pass(&order, count_pages, &touched, &pages, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    kernel_order_free(&order);

    static const char *const bad[] = {
        "../x.txt",      ".x.txt", "cyclic2", "stride 0 KiB",    "stride 3 KiB",
        "stride 24 MiB", "stride", "a/b.txt", "stride 64 KiBit", "stride 99999999999999999999 KiB"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(kernel_order_read(bad[i], *state, &order, &err));
        assert_int_equal(err.code, STATUS_INPUT);
    }
    assert_false(kernel_order_read("none.txt", *state, &order, &err));
    assert_int_equal(err.code, STATUS_IO);
}

/* Two tokens of two layers with experts: embedding, (layer, expert), (layer, two experts), head. */
static void experts_become_steps_of_their_own(void **state)
{
    (void)state;
    struct model model;
    struct trace trace, split;
    struct trace_builder builder;
    struct error err;
    static const struct {
        block_id blocks[3];
        uint32_t count;
    } steps[] = {{{0}, 1}, {{1, 2}, 2}, {{4, 6, 5}, 3}, {{7}, 1}};
    assert_true(model_from_blocks("m",
                                  "embed:1KiB layer0:1KiB expert0.0:1KiB expert0.1:1KiB layer1:1KiB expert1.0:1KiB "
                                  "expert1.1:1KiB output:1KiB",
                                  &model, &err) &&
                trace_start(&builder, &trace, "t", &err));
    trace.counts_tokens = true;
    for (uint32_t t = 0; t < 2; t++) {
        const struct segment segment = {
            .repeat = 1, .phase = t == 0 ? PHASE_PREFILL : PHASE_DECODE, .token = t, .context_growth = 1};
        assert_true(trace_add_segment(&builder, &segment, &err));
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            assert_true(trace_add_step(&builder, 0, &err));
            for (uint32_t u = 0; u < steps[s].count; u++)
                assert_true(trace_add_use(&builder, steps[s].blocks[u], 0, &err));
        }
    }
    assert_true(trace_finish(&builder, &model, &err));
    assert_true(trace_split_experts(&model, &trace, 101, 1000, &split, &err));
    static const uint32_t uses[] = {0, 1, 2, 4, 6, 5, 7}, first[] = {0, 1, 2, 3, 4, 6, 7};
    static const int64_t decode_ns[] = {250, 250, 50, 250, 51, 250};
    assert_int_equal(split.segment_count, 2);
    assert_int_equal(split.step_count, 12);
    assert_int_equal(split.token_count, 2);
    assert_int_equal(split.accessed_bytes, trace.accessed_bytes);
    for (uint32_t s = 0; s < 12; s++) {
        assert_int_equal(trace_step_begin(&split, s), first[s % 6] + 7 * (s / 6));
        assert_int_equal(split.works[split.step_work[s]].fixed_ns, s < 6 ? 0 : decode_ns[s - 6]);
    }
    for (uint32_t u = 0; u < 14; u++)
        assert_int_equal(split.uses[u] & USE_BLOCK, uses[u % 7]);
    trace_free(&split);
    trace_free(&trace);
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flash_rows),
        cmocka_unit_test(what_is_not_known_is_skipped),
        cmocka_unit_test(what_fails_is_off),
        cmocka_unit_test(models_with_experts_in_ram),
        cmocka_unit_test(sizes_have_limits),
        cmocka_unit_test(a_whole_folder_is_read),
        cmocka_unit_test(intervals),
        cmocka_unit_test(names_of_models),
        cmocka_unit_test(orders),
        cmocka_unit_test(experts_become_steps_of_their_own),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
