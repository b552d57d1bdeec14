/* KV cache and activations as a context grows, against numbers worked out by hand. */
#include "workloads/kv.h"

#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"
#include "workloads/work.h"

static const struct shape llama_3b = {.layers = 28,
                                      .width = 3072,
                                      .vocab = 128256,
                                      .heads = 24,
                                      .kv_heads = 8,
                                      .head_size = 128,
                                      .ffn = 8192,
                                      .tied = true,
                                      .gated = true};
static const struct shape gemma_2b = {.layers = 26,
                                      .width = 2304,
                                      .vocab = 256000,
                                      .heads = 8,
                                      .kv_heads = 4,
                                      .head_size = 256,
                                      .ffn = 9216,
                                      .tied = true,
                                      .gated = true,
                                      .window = 4096,
                                      .window_layers = 13};
static const struct shape llama_2_7b = {.layers = 32,
                                        .width = 4096,
                                        .vocab = 32000,
                                        .heads = 32,
                                        .kv_heads = 32,
                                        .head_size = 128,
                                        .ffn = 11008,
                                        .gated = true};
static const struct shape llama_3_8b = {.layers = 32,
                                        .width = 4096,
                                        .vocab = 128256,
                                        .heads = 32,
                                        .kv_heads = 8,
                                        .head_size = 128,
                                        .ffn = 14336,
                                        .gated = true};

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
}

static uint64_t kv_of(const struct shape *shape, enum kv_type type, uint64_t tokens)
{
    struct model model;
    struct trace trace;
    struct workload_spec spec = dense(1, 2);
    spec.kv_type = type;
    make_shape(&model, shape);
    compile(&spec, &model, &trace);
    uint64_t checked;
    const uint64_t bytes = trace_kv_bytes(&trace, tokens);
    assert_true(trace_kv_checked(&trace, tokens, &checked));
    assert_int_equal(checked, bytes);
    trace_free(&trace);
    model_free(&model);
    return bytes;
}

static void test_cache_of_a_context(void **state)
{
    (void)state;
    /* 28 layers * 8 heads * 128 * 2 (K and V) * 2 bytes. */
    assert_int_equal(kv_of(&llama_3b, KV_F16, 1), 114688);
    assert_int_equal(kv_of(&llama_3b, KV_F16, 10000), 1146880000);
    assert_int_equal(kv_of(&llama_3b, KV_F32, 1), 2 * 114688);
    assert_int_equal(kv_of(&llama_3b, KV_Q8_0, 1), 28 * 2 * (1024 / 32 * 34));
    assert_int_equal(kv_of(&llama_3b, KV_Q4_0, 1), 28 * 2 * (1024 / 32 * 18));
    /* 26 layers * 4 heads * 256 * 2 * 2 bytes; from 4096 tokens on, half of the layers grow. */
    assert_int_equal(kv_of(&gemma_2b, KV_F16, 1), 106496);
    assert_int_equal(kv_of(&gemma_2b, KV_F16, 4095), 4095ull * 106496);
    assert_int_equal(kv_of(&gemma_2b, KV_F16, 4096), 4096ull * 106496);
    assert_int_equal(kv_of(&gemma_2b, KV_F16, 4097), 4096ull * 106496 + 53248);
    assert_int_equal(kv_of(&gemma_2b, KV_F16, 8192), 4096ull * 106496 + 4096ull * 53248);
    assert_int_equal(kv_of(&gemma_2b, KV_Q8_0, 4097), 4097ull * 13 * 2 * 1088 + 4096ull * 13 * 2 * 1088);
    struct shape all = gemma_2b;
    all.window_layers = UINT32_MAX;
    assert_int_equal(kv_of(&all, KV_F16, 5000), 4096ull * 106496);
    all.window_layers = 0;
    assert_int_equal(kv_of(&all, KV_F16, 5000), 5000ull * 106496);
}

/* A row of 80 elements is two and a half blocks of 32: three. */
static void test_rows_of_whole_blocks(void **state)
{
    (void)state;
    struct shape odd = llama_3b;
    odd.heads = odd.kv_heads = 1;
    odd.head_size = 80;
    assert_int_equal(kv_layer_bytes(&odd, KV_F16), 2 * 160);
    assert_int_equal(kv_layer_bytes(&odd, KV_Q8_0), 2 * 3 * 34);
    assert_int_equal(kv_layer_bytes(&odd, KV_Q4_0), 2 * 3 * 18);
}

/* What a file says of its cache beyond the shape is kept, and shared among its layers. */
static void test_cache_of_a_file(void **state)
{
    (void)state;
    struct model model = {.shape = llama_3b, .kv_bytes_per_token = 1000 * 64};
    struct kv_growth growth;
    struct error err = {0};
    assert_true(kv_growth(&model, KV_F16, &growth, &err));
    assert_int_equal(growth.bytes, 64000);
    assert_int_equal(growth.window_bytes + growth.window, 0);
    assert_true(kv_growth(&model, KV_Q8_0, &growth, &err));
    assert_int_equal(growth.bytes, 34000);
    model.shape.window = 100;
    model.shape.window_layers = 7;
    assert_true(kv_growth(&model, KV_F16, &growth, &err));
    assert_int_equal(growth.window, 100);
    assert_int_equal(growth.window_bytes, 16000);
    assert_int_equal(growth.bytes, 48000);
    model.kv_bytes_per_token = UINT64_MAX;
    assert_false(kv_growth(&model, KV_F32, &growth, &err));
    assert_int_equal(err.code, STATUS_INPUT);
}

static void test_no_cache_without_bounds(void **state)
{
    (void)state;
    struct trace trace = {
        .kv_bytes_per_token = 1, .kv_window_bytes_per_token = UINT64_C(1) << 40, .kv_window = 1 << 22};
    uint64_t bytes;
    assert_true(trace_kv_checked(&trace, (1 << 22) - 1, &bytes));
    assert_int_equal(bytes, (UINT64_C(1) << 40) * ((1 << 22) - 1) + (1 << 22) - 1);
    trace.kv_window = 1 << 23;
    assert_false(trace_kv_checked(&trace, 1 << 23, &bytes));
    trace.kv_window = 0;
    assert_true(trace_kv_checked(&trace, UINT32_MAX, &bytes));
    assert_int_equal(bytes, UINT32_MAX);
    trace.kv_bytes_per_token = UINT64_MAX / 2;
    assert_false(trace_kv_checked(&trace, 3, &bytes));
}

static void windowed_layers_are(uint32_t layers, uint32_t windowed, const char *expected)
{
    const struct shape shape = {.layers = layers, .window = 10, .window_layers = windowed};
    char text[64] = {0};
    for (uint32_t i = 0; i < layers; i++)
        text[i] = kv_layer_is_windowed(&shape, i) ? 'w' : '.';
    assert_string_equal(text, expected);
    assert_false(kv_layer_is_windowed(&shape, layers));
}

static void test_which_layers(void **state)
{
    (void)state;
    windowed_layers_are(6, 3, "w.w.w.");
    windowed_layers_are(5, 2, "w.w..");
    windowed_layers_are(4, 0, "....");
    windowed_layers_are(3, UINT32_MAX, "www");
    windowed_layers_are(26, 13, "w.w.w.w.w.w.w.w.w.w.w.w.w.");
    assert_false(kv_layer_is_windowed(&(struct shape){.layers = 3, .window_layers = 3}, 0)); /* no window */
}

/* A token of a windowed layer sees `window` positions, its own included. */
static void test_attention_of_a_window(void **state)
{
    (void)state;
    struct shape shape = small_shape(0);
    const uint64_t head = 4 * 4 * 16; /* 4 * heads * head_size */
    struct model model;
    struct trace trace;
    shape.window = 5;
    shape.window_layers = 1;
    make_shape(&model, &shape);
    struct workload_spec spec = dense(7, 2);
    compile(&spec, &model, &trace);
    const struct work *windowed = work_of(&trace, 6), *whole = work_of(&trace, 7);
    assert_int_equal(windowed->context_max, 4);
    assert_int_equal(whole->context_max, UINT32_MAX);
    assert_int_equal(windowed->bytes, whole->bytes);
    assert_int_equal(windowed->bytes_per_context, whole->bytes_per_context);
    assert_int_equal(flops_of(&trace, windowed, TYPE_F16, true), head);
    assert_ptr_equal(whole, work_of(&trace, 8)); /* equal layers have one work */
    /* Prefill: 1 + 2 + 3 + 4 + 5 + 5 + 5 positions against 1 + ... + 7. */
    const uint64_t pass = flops_of(&trace, work_of(&trace, 2), TYPE_F16, false) - 28 * head;
    assert_int_equal(flops_of(&trace, work_of(&trace, 1), TYPE_F16, false), pass + 25 * head);
    assert_int_equal(trace.kv_window, 5);
    assert_int_equal(trace.kv_bytes_per_token, 2 * 2 * 16 * 2 * 2);
    assert_int_equal(trace.kv_window_bytes_per_token, 2 * 16 * 2 * 2);
    trace_free(&trace);
    spec.prompt_tokens = 5; /* none beyond the window */
    compile(&spec, &model, &trace);
    assert_ptr_equal(work_of(&trace, 1), work_of(&trace, 2));
    trace_free(&trace);
    model_free(&model);
}

static void test_work_by_type_of_cache(void **state)
{
    (void)state;
    const struct shape shape = small_shape(0);
    const uint64_t head = 4 * 4 * 16;
    struct model model;
    struct trace trace;
    make_shape(&model, &shape);
    struct workload_spec spec = dense(3, 2);
    spec.kv_type = KV_Q8_0;
    compile(&spec, &model, &trace);
    const struct work *layer = work_of(&trace, 6);
    assert_int_equal(layer->bytes_per_context, 2 * 34); /* 2 heads * 16 elements: one block */
    assert_int_equal(flops_of(&trace, layer, TYPE_Q8_0, true), head);
    assert_int_equal(flops_of(&trace, layer, TYPE_F16, true), 0);
    assert_int_equal(flops_of(&trace, work_of(&trace, 1), TYPE_Q8_0, false), 6 * head);
    assert_int_equal(trace.kv_bytes_per_token, 3 * 2 * 34);
    trace_free(&trace);
    model_free(&model);
}

static uint64_t activations(const struct shape *shape, uint32_t batch, bool flash_attention, uint32_t tokens,
                            uint64_t context)
{
    const struct workload_spec spec = {.batch = batch, .flash_attention = flash_attention};
    const struct model model = {.shape = *shape};
    struct error err = {0};
    uint64_t bytes;
    assert_true(work_activation_bytes(&model, &spec, tokens, context, &bytes, &err));
    return bytes;
}

static void test_activations(void **state)
{
    (void)state;
    const uint64_t logits = 4 * 128256;
    /* 2 * width + gate and up, in f32; Q, K and V would be 40 * 128. */
    assert_int_equal(activations(&llama_3b, 512, true, 100, 100), 4 * 100 * (2 * 3072 + 2 * 8192) + logits);
    assert_int_equal(activations(&llama_3b, 64, true, 100, 100), 4 * 64 * (2 * 3072 + 2 * 8192) + logits);
    assert_int_equal(activations(&llama_3b, 0, true, 1000, 1000), 4 * 512 * (2 * 3072 + 2 * 8192) + logits);
    assert_int_equal(activations(&llama_3b, 512, true, 100, 50000), activations(&llama_3b, 512, true, 100, 100));
    /* 24 heads with 128 + c numbers each, and a mask of c: with few positions the FFN is still the widest. */
    assert_int_equal(activations(&llama_3b, 512, false, 100, 100), 4 * 100 * (2 * 3072 + 2 * 8192) + logits);
    assert_int_equal(activations(&llama_3b, 512, false, 512, 4096),
                     4ull * 512 * (2 * 3072 + 24 * (128 + 4096) + 4096) + logits);
    assert_int_equal(activations(&llama_3b, 512, false, 1, 4096), 4 * (2 * 3072 + 24 * (128 + 4096) + 4096) + logits);
    /* Where every layer slides, no token of a batch sees more than the window and the batch before it. */
    struct shape all = gemma_2b;
    all.window_layers = 26;
    const uint64_t seen = 4096 - 1 + 512;
    assert_int_equal(activations(&all, 512, false, 512, 20000),
                     4ull * 512 * (2 * 2304 + 8 * (256 + seen) + seen) + 4 * 256000);
    assert_int_equal(activations(&gemma_2b, 512, false, 512, 20000),
                     4ull * 512 * (2 * 2304 + 8 * (256 + 20000) + 20000) + 4 * 256000);
    assert_int_equal(activations(&all, 512, false, 512, seen + 1), activations(&all, 512, false, 512, seen));
    assert_true(activations(&all, 512, false, 512, seen - 1) < activations(&all, 512, false, 512, seen));
    const struct model none = {0};
    struct error err = {0};
    uint64_t bytes = 1;
    assert_true(work_activation_bytes(&none, &(struct workload_spec){0}, 5, 5, &bytes, &err));
    assert_int_equal(bytes, 0);
}

/* What llama.cpp itself reserves ("compute buffer size" of its log) without flash attention, n_ubatch 512, everything
 * on one device: Llama 2 7B at 4096 tokens 296.00 MiB, Llama 3 8B at 8192 tokens 560.00 MiB. */
static void test_activations_of_llama_cpp(void **state)
{
    (void)state;
    const uint64_t mib = 1 << 20;
    const uint64_t seven = activations(&llama_2_7b, 512, false, 512, 4096);
    const uint64_t eight = activations(&llama_3_8b, 512, false, 512, 8192);
    print_message("# %.1f of 296 MiB, %.1f of 560 MiB\n", (double)seven / (double)mib, (double)eight / (double)mib);
    assert_in_range(seven, 296 * mib * 97 / 100, 296 * mib * 103 / 100);
    assert_in_range(eight, 560 * mib * 97 / 100, 560 * mib * 103 / 100);
}

static void test_segments_hold_them(void **state)
{
    (void)state;
    const struct shape shape = small_shape(0);
    struct model model;
    struct trace trace;
    make_shape(&model, &shape);
    struct workload_spec spec = dense(600, 401);
    spec.batch = 256;
    spec.flash_attention = false;
    compile(&spec, &model, &trace);
    assert_int_equal(trace.segments[0].activation_bytes, 4 * 256 * (2 * 64 + 4 * (16 + 600) + 600) + 4 * 100);
    assert_int_equal(trace.segments[1].activation_bytes, 4 * (2 * 64 + 4 * (16 + 1000) + 1000) + 4 * 100);
    trace_free(&trace);
    model_free(&model);
}

static void test_activations_too_large(void **state)
{
    (void)state;
    const struct workload_spec spec = {.batch = UINT32_MAX};
    const struct model model = {.shape = {.layers = 1, .width = 1, .heads = SHAPE_MAX, .head_size = 1, .kv_heads = 1}};
    struct error err = {0};
    uint64_t bytes;
    assert_false(work_activation_bytes(&model, &spec, UINT32_MAX, UINT32_MAX, &bytes, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    assert_string_equal(err.text, "a step of more than 2^63 operations or bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_of_a_context),
        cmocka_unit_test(test_rows_of_whole_blocks),
        cmocka_unit_test(test_cache_of_a_file),
        cmocka_unit_test(test_no_cache_without_bounds),
        cmocka_unit_test(test_which_layers),
        cmocka_unit_test(test_attention_of_a_window),
        cmocka_unit_test(test_work_by_type_of_cache),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_activations_of_llama_cpp),
        cmocka_unit_test(test_segments_hold_them),
        cmocka_unit_test(test_activations_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
