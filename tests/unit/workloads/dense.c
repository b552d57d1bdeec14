/* The dense workload: its steps, and its work against numbers worked out by hand. */
#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"

static struct workload_spec dense(uint32_t prompt, uint32_t output)
{
    return (struct workload_spec){.kind = WORKLOAD_DENSE,
                                  .prompt_tokens = prompt,
                                  .output_tokens = output,
                                  .compute_per_token_ns = -1,
                                  .prompt_compute_ns = -1,
                                  .flash_attention = true};
}

static void compile(const struct workload_spec *spec, const struct model *model, struct trace *trace)
{
    struct error err = {0};
    struct model own;
    bool has_own;
    const bool good = workload_compile(spec, model, trace, &own, &has_own, &err);
    assert_string_equal(err.text, "");
    assert_true(good);
    assert_false(has_own);
}

static void refused(const struct workload_spec *spec, const struct model *model, const char *text)
{
    struct error err = {0};
    struct model own;
    struct trace trace;
    bool has_own;
    assert_false(workload_compile(spec, model, &trace, &own, &has_own, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_string_equal(err.text, text);
}

static void test_a_list_is_walked_block_by_block(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    make_list(&model, "embed:5B layer0:7B layer1:7B lm_head:3B");
    const struct workload_spec spec = dense(10, 4);
    compile(&spec, &model, &trace);
    steps_are(&trace, "0 1 2 3 0 1 2 3");
    assert_int_equal(trace.segment_count, 2);
    assert_int_equal(trace.segments[0].phase, PHASE_PREFILL);
    assert_int_equal(trace.segments[0].context_growth, 10);
    assert_int_equal(trace.segments[1].phase, PHASE_DECODE);
    assert_int_equal(trace.segments[1].repeat, 3);
    assert_int_equal(trace.segments[1].token, 1);
    assert_int_equal(trace.segments[1].context_first, 10);
    assert_int_equal(trace.segments[1].context_growth, 1);
    assert_int_equal(trace.segments[1].activation_bytes, 0);
    assert_true(trace.counts_tokens);
    assert_int_equal(trace.token_count, 4);
    assert_int_equal(trace.access_count, 16);
    assert_int_equal(trace.cycle_bytes, 22);
    assert_int_equal(bytes_of(&trace, work_of(&trace, 1)), 7);
    assert_int_equal(bytes_of(&trace, work_of(&trace, 5)), 7);
    assert_int_equal(work_of(&trace, 1)->term_count, 0);
    assert_int_equal(trace.work_count, 3); /* 5, 7 and 3 bytes */
    trace_free(&trace);
    model_free(&model);
}

static void test_work_of_a_transformer(void **state)
{
    (void)state;
    const struct shape shape = small_shape(0);
    const uint64_t prompt = 6;
    struct model model;
    struct trace trace;
    make_shape(&model, &shape);
    const struct workload_spec spec = dense((uint32_t)prompt, 3);
    compile(&spec, &model, &trace);
    steps_are(&trace, "0 1 2 3 4,5 0 1 2 3 4,5"); /* embedding, layers, norm and output */

    /* Weights of a layer: Q and output 64*64 each, K and V 64*32 each, three FFN matrices of 64*96. */
    const uint64_t weights = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96;
    const uint64_t norms = 2 * 64 * 4; /* bytes of two f32 vectors */
    const struct work *layer = work_of(&trace, 6);
    assert_int_equal(layer->fixed_ns, -1);
    assert_int_equal(bytes_of(&trace, layer), 2 * weights + norms);
    assert_int_equal(layer->bytes_per_context, 2 * 2 * 16 * 2);
    assert_int_equal(flops_of(&trace, layer, TYPE_F16, false), 2 * weights + 4 * 4 * 16);
    assert_int_equal(flops_of(&trace, layer, TYPE_F16, true), 4 * 4 * 16);
    const struct work *prefill = work_of(&trace, 1);
    assert_int_equal(bytes_of(&trace, prefill), 2 * weights + norms);
    assert_int_equal(prefill->bytes_per_context, 0);
    assert_int_equal(flops_of(&trace, prefill, TYPE_F16, false), 2 * weights * prompt + 4 * 4 * 16 * (6 * 7 / 2));
    assert_int_equal(flops_of(&trace, prefill, TYPE_F16, true), 0);

    assert_int_equal(bytes_of(&trace, work_of(&trace, 5)), 64 * 2); /* a row a token */
    assert_int_equal(work_of(&trace, 5)->term_count, 0);
    assert_int_equal(bytes_of(&trace, work_of(&trace, 0)), 64 * 2 * prompt);
    /* The head computes for one token, in the prompt too. */
    assert_int_equal(bytes_of(&trace, work_of(&trace, 9)), 64 * 100 * 2 + 64 * 4);
    assert_int_equal(flops_of(&trace, work_of(&trace, 9), TYPE_F16, false), 2 * 64 * 100);
    assert_ptr_equal(work_of(&trace, 4), work_of(&trace, 9));

    assert_int_equal(trace.kv_bytes_per_token, 3 * 2 * 16 * 2 * 2);
    assert_int_equal(trace.segments[0].activation_bytes, 4 * 6 * (2 * 64 + 2 * 96) + 4 * 100);
    assert_int_equal(trace.segments[1].activation_bytes, 4 * 1 * (2 * 64 + 2 * 96) + 4 * 100);
    trace_free(&trace);

    const struct workload_spec longer = dense(2000, 1);
    compile(&longer, &model, &trace);
    assert_int_equal(trace.segment_count, 1);
    assert_int_equal(trace.segments[0].activation_bytes, 4 * 512 * (2 * 64 + 2 * 96) + 4 * 100);
    trace_free(&trace);
    model_free(&model);
}

static void test_a_tied_model_ends_with_its_embedding(void **state)
{
    (void)state;
    struct shape shape = small_shape(0);
    struct model model;
    struct trace trace;
    shape.tied = true;
    make_shape(&model, &shape);
    const struct workload_spec spec = dense(2, 2);
    compile(&spec, &model, &trace);
    steps_are(&trace, "0 1 2 3 4,0 0 1 2 3 4,0");
    assert_int_equal(bytes_of(&trace, work_of(&trace, 5)), 64 * 2);
    assert_int_equal(bytes_of_type(&trace, work_of(&trace, 5), TYPE_F16), 64 * 2);
    assert_int_equal(flops_of(&trace, work_of(&trace, 5), TYPE_F16, false), 0);
    assert_int_equal(bytes_of_type(&trace, work_of(&trace, 9), TYPE_F16), 64 * 100 * 2);
    assert_int_equal(work_of(&trace, 9)->bytes, 64 * 4); /* the last norm */
    assert_int_equal(bytes_of(&trace, work_of(&trace, 9)), 64 * 100 * 2 + 64 * 4);
    assert_int_equal(flops_of(&trace, work_of(&trace, 9), TYPE_F16, false), 2 * 64 * 100);
    assert_int_equal(trace.access_count, 12);
    trace_free(&trace);
    model_free(&model);
}

/* In its file or in memory alone: then the embedding is only looked up. */
static void test_a_tied_model_with_an_output_matrix_ends_with_that(void **state)
{
    (void)state;
    const enum output_copy copies[] = {OUTPUT_COPY_FILE, OUTPUT_COPY_MEMORY};
    for (size_t i = 0; i < 2; i++) {
        struct shape shape = small_shape(0);
        struct model model;
        struct trace trace;
        shape.tied = true;
        shape.output_copy = copies[i];
        make_shape(&model, &shape);
        const struct workload_spec spec = dense(2, 2);
        compile(&spec, &model, &trace);
        steps_are(&trace, "0 1 2 3 4,5 0 1 2 3 4,5");
        assert_int_equal(bytes_of(&trace, work_of(&trace, 5)), 64 * 2);
        assert_int_equal(bytes_of(&trace, work_of(&trace, 9)), 64 * 100 * 2 + 64 * 4);
        trace_free(&trace);
        model_free(&model);
    }
}

static void test_without_a_prompt_all_is_decode(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    make_list(&model, "2 x 1B");
    const struct workload_spec spec = dense(0, 4);
    compile(&spec, &model, &trace);
    assert_int_equal(trace.segment_count, 1);
    assert_int_equal(trace.segments[0].phase, PHASE_DECODE);
    assert_int_equal(trace.segments[0].repeat, 4);
    assert_int_equal(trace.segments[0].token, 0);
    assert_int_equal(trace.segments[0].context_first, 0);
    trace_free(&trace);
    model_free(&model);
}

static int64_t sum_fixed(const struct trace *trace, const struct segment *segment)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < segment->step_count; i++)
        sum += work_of(trace, segment->first_step + i)->fixed_ns;
    return sum;
}

static void test_measured_times(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    make_list(&model, "7 x 1KiB");
    struct workload_spec spec = dense(3, 3);
    spec.compute_per_token_ns = 100;
    compile(&spec, &model, &trace);
    assert_int_equal(work_of(&trace, 0)->fixed_ns, -1); /* the prompt by the roofline */
    assert_int_equal(bytes_of(&trace, work_of(&trace, 0)), 1024);
    assert_int_equal(sum_fixed(&trace, &trace.segments[1]), 100);
    assert_int_equal(work_of(&trace, 7)->fixed_ns, 14);
    assert_int_equal(work_of(&trace, 13)->fixed_ns, 15);
    trace_free(&trace);
    spec.prompt_compute_ns = 0;
    compile(&spec, &model, &trace);
    assert_int_equal(sum_fixed(&trace, &trace.segments[0]), 0);
    assert_int_equal(sum_fixed(&trace, &trace.segments[1]), 100);
    trace_free(&trace);
    model_free(&model);
}

static void test_foresee(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    make_list(&model, "2 x 1B");
    struct workload_spec spec = dense(0, 1);
    compile(&spec, &model, &trace);
    steps_are(&trace, "0 1");
    trace_free(&trace);
    spec.foresee = FORESEE_NONE;
    compile(&spec, &model, &trace);
    steps_are(&trace, "0? 1?");
    trace_free(&trace);
    model_free(&model);
}

static void test_refusals(void **state)
{
    (void)state;
    struct model model;
    struct workload_spec spec = dense(1, 0);
    const struct shape shape = small_shape(4);
    make_list(&model, "2 x 1B");
    refused(&spec, &model, "output_tokens = 0: expected at least 1");
    spec = dense(UINT32_MAX, 1);
    refused(&spec, &model, "prompt_tokens + output_tokens is more than 4294967295");
    spec = dense(1, 1);
    refused(&spec, NULL, "workload kind = dense needs a model: expected [model] profile, file or blocks");
    model_free(&model);
    make_shape(&model, &shape);
    refused(&spec, &model, "kind = dense: the model \"small\" has experts: did you mean kind = moe?");
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_is_walked_block_by_block),
        cmocka_unit_test(test_work_of_a_transformer),
        cmocka_unit_test(test_a_tied_model_ends_with_its_embedding),
        cmocka_unit_test(test_a_tied_model_with_an_output_matrix_ends_with_that),
        cmocka_unit_test(test_without_a_prompt_all_is_decode),
        cmocka_unit_test(test_measured_times),
        cmocka_unit_test(test_foresee),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
