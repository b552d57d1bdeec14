/* The chat workload: its turns, contexts and KV caches, and its work against numbers worked out by hand. */
#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"
#include "workloads/model_combine.h"

static struct workload_spec chat(uint32_t turns, uint32_t prompt, uint32_t output)
{
    return (struct workload_spec){.kind = WORKLOAD_CHAT,
                                  .turns = turns,
                                  .prompt_tokens = prompt,
                                  .output_tokens = output,
                                  .seed = 1,
                                  .think_ns = 100,
                                  .keep_kv = true,
                                  .background_every = 1,
                                  .compute_per_token_ns = -1,
                                  .prompt_compute_ns = -1,
                                  .flash_attention = true};
}

static void compile(const struct workload_spec *spec, const struct model *model, struct trace *trace)
{
    struct error err = {0};
    const bool good = workload_generate(spec, model, trace, &err);
    assert_string_equal(err.text, "");
    assert_true(good);
}

static void refused(const struct workload_spec *spec, const struct model *model, const char *text)
{
    struct error err = {0};
    struct trace trace;
    assert_false(workload_generate(spec, model, &trace, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_string_equal(err.text, text);
}

struct expected {
    uint32_t turn, token, context, growth, repeat;
    int64_t idle_ns;
};

static void segments_are(const struct trace *trace, const struct expected *expected, uint32_t count)
{
    assert_int_equal(trace->segment_count, count);
    for (uint32_t s = 0; s < count; s++) {
        const struct segment *segment = &trace->segments[s];
        assert_int_equal(segment->turn, expected[s].turn);
        assert_int_equal(segment->token, expected[s].token);
        assert_int_equal(segment->context_first, expected[s].context);
        assert_int_equal(segment->context_growth, expected[s].growth);
        assert_int_equal(segment->repeat, expected[s].repeat);
        assert_int_equal(segment->idle_ns, expected[s].idle_ns);
        assert_int_equal(segment->phase, s % 2 == 0 ? PHASE_PREFILL : PHASE_DECODE);
    }
}

/* A prompt's pass computes what was said and has no keys and values: the last token of the answer before, too. */
static void test_the_context_grows(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    make_list(&model, "embed:5B layer0:7B lm_head:3B");
    struct workload_spec spec = chat(3, 10, 4);
    spec.system_tokens = 5;
    compile(&spec, &model, &trace);
    const struct expected kept[] = {{1, 0, 0, 15, 1, 0}, {1, 1, 15, 1, 3, 0},    {2, 4, 18, 11, 1, 100},
                                    {2, 5, 29, 1, 3, 0}, {3, 8, 32, 11, 1, 100}, {3, 9, 43, 1, 3, 0}};
    segments_are(&trace, kept, 6);
    assert_int_equal(trace.token_count, 12);
    assert_int_equal(trace.turn_count, 3);
    assert_string_equal(trace.name, "chat");
    trace_free(&trace);
    spec.keep_kv = false;
    compile(&spec, &model, &trace);
    const struct expected again[] = {{1, 0, 0, 15, 1, 0}, {1, 1, 15, 1, 3, 0},   {2, 4, 0, 29, 1, 100},
                                     {2, 5, 29, 1, 3, 0}, {3, 8, 0, 43, 1, 100}, {3, 9, 43, 1, 3, 0}};
    segments_are(&trace, again, 6);
    trace_free(&trace);
    model_free(&model);
}

static void test_pauses_in_the_background(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    make_list(&model, "embed:5B layer0:7B");
    struct workload_spec spec = chat(5, 10, 1);
    spec.background = 250000;
    spec.background_every = 2;
    compile(&spec, &model, &trace);
    assert_int_equal(trace.segment_count, 5);
    for (uint32_t s = 0; s < 5; s++) {
        assert_int_equal(trace.segments[s].away, s == 2 || s == 4 ? AWAY_RECLAIM : AWAY_NONE);
        assert_int_equal(trace.segments[s].away_ppm, s == 2 || s == 4 ? 250000 : 0);
        assert_int_equal(trace.segments[s].context_first, s == 0 ? 0 : 11 * s - 1);
    }
    trace_free(&trace);
    spec.background = BACKGROUND_RESTART;
    compile(&spec, &model, &trace);
    /* Three prompts and two answers at once, then one turn as usual, then all five and four. */
    static const uint32_t contexts[] = {0, 10, 0, 32, 0}, prompts[] = {10, 11, 32, 11, 54};
    for (uint32_t s = 0; s < 5; s++) {
        assert_int_equal(trace.segments[s].away, s == 2 || s == 4 ? AWAY_RESTART : AWAY_NONE);
        assert_int_equal(trace.segments[s].context_first, contexts[s]);
        assert_int_equal(trace.segments[s].context_growth, prompts[s]);
    }
    trace_free(&trace);
    model_free(&model);
}

/* A later prompt of n tokens behind c: every weight once, n times its operations; token i sees c + i positions. */
static void test_work_of_a_later_prompt(void **state)
{
    (void)state;
    const struct shape shape = small_shape(0);
    struct model model;
    struct trace trace;
    make_shape(&model, &shape);
    const struct workload_spec spec = chat(2, 6, 3);
    compile(&spec, &model, &trace);
    /* embedding, three layers, head: prompt, answer; then the second turn's */
    const struct segment *later = &trace.segments[2];
    const uint64_t c = 8, n = 7, weights = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96;
    assert_int_equal(later->context_first, c);
    assert_int_equal(later->context_growth, n);
    const struct work *layer = work_of(&trace, later->first_step + 1);
    assert_int_equal(flops_of(&trace, layer, TYPE_F16, false),
                     2 * weights * n + 4 * 4 * 16 * (n * c + n * (n + 1) / 2));
    assert_int_equal(flops_of(&trace, layer, TYPE_F16, true), 0);
    assert_int_equal(layer->bytes_per_context, 0);
    const struct work *first = work_of(&trace, 1);
    assert_int_equal(layer->bytes - first->bytes, c * 2 * 2 * 16 * 2); /* keys and values of the context */
    trace_free(&trace);
    model_free(&model);
}

static void test_a_window_bounds_what_a_later_prompt_sees(void **state)
{
    (void)state;
    struct shape shape = small_shape(0);
    struct model model;
    struct trace trace;
    uint64_t seen = 0;
    shape.window = 10;
    shape.window_layers = UINT32_MAX;
    make_shape(&model, &shape);
    const struct workload_spec spec = chat(2, 6, 3);
    compile(&spec, &model, &trace);
    const struct work *layer = work_of(&trace, trace.segments[2].first_step + 1), *first = work_of(&trace, 1);
    for (uint64_t i = 1; i <= 7; i++)
        seen += 8 + i < 10 ? 8 + i : 10;
    const uint64_t weights = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96;
    assert_int_equal(flops_of(&trace, layer, TYPE_F16, false), 2 * weights * 7 + 4 * 4 * 16 * seen);
    assert_int_equal(layer->bytes - first->bytes, 8 * 2 * 2 * 16 * 2);
    trace_free(&trace);
    const struct workload_spec longer = chat(2, 20, 3);
    compile(&longer, &model, &trace);
    layer = work_of(&trace, trace.segments[2].first_step + 1);
    first = work_of(&trace, 1);
    assert_int_equal(layer->bytes - first->bytes, 9 * 2 * 2 * 16 * 2); /* the window less the token itself */
    assert_int_equal(flops_of(&trace, layer, TYPE_F16, false), 2 * weights * 21 + 4 * 4 * 16 * 21 * 10);
    trace_free(&trace);
    model_free(&model);
}

/* Without a kept cache a turn is the prompt of the whole conversation. */
static void test_without_a_cache_prompts_grow(void **state)
{
    (void)state;
    const struct shape shape = small_shape(0);
    struct model model;
    struct trace turns, dense;
    make_shape(&model, &shape);
    struct workload_spec spec = chat(3, 6, 3);
    spec.keep_kv = false;
    compile(&spec, &model, &turns);
    for (uint32_t t = 0; t < 3; t++) {
        struct workload_spec alone = spec;
        alone.kind = WORKLOAD_DENSE;
        alone.prompt_tokens = 6 + t * 9;
        compile(&alone, &model, &dense);
        for (uint32_t s = 0; s < 2; s++) {
            const struct segment *a = &turns.segments[2 * t + s], *b = &dense.segments[s];
            assert_int_equal(a->context_first, b->context_first);
            assert_int_equal(a->activation_bytes, b->activation_bytes);
            for (uint32_t i = 0; i < a->step_count; i++) {
                const struct work *x = work_of(&turns, a->first_step + i), *y = work_of(&dense, b->first_step + i);
                assert_int_equal(x->bytes, y->bytes);
                assert_int_equal(x->bytes_per_context, y->bytes_per_context);
                assert_int_equal(flops_of(&turns, x, TYPE_F16, false), flops_of(&dense, y, TYPE_F16, false));
            }
        }
        trace_free(&dense);
    }
    trace_free(&turns);
    model_free(&model);
}

static void test_experts_go_on_choosing(void **state)
{
    (void)state;
    const struct shape shape = small_shape(4);
    struct model model;
    struct trace trace, moe;
    make_shape(&model, &shape);
    const struct workload_spec spec = chat(2, 3, 3);
    compile(&spec, &model, &trace);
    const struct expected expected[] = {{1, 0, 0, 3, 1, 0}, {1, 1, 3, 1, 1, 0}, {1, 2, 4, 1, 1, 0}};
    for (uint32_t s = 0; s < 3; s++)
        assert_int_equal(trace.segments[s].context_first, expected[s].context);
    assert_int_equal(trace.segment_count, 6);
    struct workload_spec once = spec;
    once.kind = WORKLOAD_MOE;
    compile(&once, &model, &moe);
    for (uint32_t u = 0; u < moe.use_count; u++)
        assert_int_equal(trace.uses[u], moe.uses[u]); /* the first turn is that of moe */
    trace_free(&trace);
    trace_free(&moe);
    model_free(&model);
}

static void test_measured_times(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    make_list(&model, "embed:5B layer0:7B");
    struct workload_spec spec = chat(2, 10, 2);
    spec.prompt_compute_ns = 1000;
    spec.compute_per_token_ns = 50;
    compile(&spec, &model, &trace);
    int64_t sums[4] = {0};
    for (uint32_t s = 0; s < 4; s++)
        for (uint32_t i = 0; i < trace.segments[s].step_count; i++)
            sums[s] += work_of(&trace, trace.segments[s].first_step + i)->fixed_ns;
    assert_int_equal(sums[0], 1000);
    assert_int_equal(sums[1], 50);
    assert_int_equal(sums[2], 1100); /* 11 tokens of 10 */
    assert_int_equal(sums[3], 50);
    trace_free(&trace);
    model_free(&model);
}

static void test_two_models_take_turns(void **state)
{
    (void)state;
    const struct shape shape = small_shape(0);
    struct model_member parts[2] = {{.role = MEMBER_FIRST}, {.role = MEMBER_SECOND}};
    struct model model;
    struct trace trace;
    struct error err;
    make_shape(&parts[0].model, &shape);
    make_shape(&parts[1].model, &shape);
    const uint32_t blocks = parts[0].model.block_count;
    assert_true(model_combine(parts, 2, &model, &err));
    const struct workload_spec spec = chat(3, 10, 4);
    compile(&spec, &model, &trace);
    const struct expected expected[] = {{1, 0, 0, 10, 1, 0}, {1, 1, 10, 1, 3, 0},    {2, 4, 0, 10, 1, 100},
                                        {2, 5, 10, 1, 3, 0}, {3, 8, 13, 11, 1, 100}, {3, 9, 24, 1, 3, 0}};
    segments_are(&trace, expected, 6);
    const uint64_t kv = trace.kv_bytes_per_token;
    assert_true(kv > 0 && trace.second_kv.bytes == kv);
    static const uint64_t beside[] = {0, 0, 13, 13, 13, 13};
    for (uint32_t s = 0; s < 6; s++) {
        const bool second = s == 2 || s == 3;
        assert_int_equal(trace.segments[s].second, second);
        assert_int_equal(trace.segments[s].kv_beside_bytes, beside[s] * kv);
        const uint32_t begin = trace_step_begin(&trace, trace.segments[s].first_step);
        assert_int_equal(trace.uses[begin], second ? blocks : 0);
    }
    trace_free(&trace);
    model_free(&model);
}

static void test_adapters(void **state)
{
    (void)state;
    const struct shape shape = small_shape(0);
    struct model_member parts[2] = {{.role = MEMBER_FIRST}, {.role = MEMBER_ADAPTERS}};
    struct model model;
    struct trace trace, plain;
    struct error err;
    make_shape(&parts[0].model, &shape);
    const uint32_t first = parts[0].model.block_count;
    assert_true(model_adapters(&parts[0].model, 2, 8, &parts[1].model, &err));
    assert_true(model_combine(parts, 2, &model, &err));
    struct workload_spec spec = chat(3, 6, 3);
    compile(&spec, model_member(&model, MEMBER_FIRST, &(block_id){0}), &plain);
    spec.adapters = 2;
    spec.adapter_rank = 8;
    compile(&spec, &model, &trace);
    /* q and o 64 x 64, k and v 64 x 32, three of 64 x 96. */
    const uint64_t elements = 8 * (2 * 128 + 2 * 96 + 3 * 160);
    for (uint32_t s = 0; s < 6; s++) {
        const struct segment *segment = &trace.segments[s];
        for (uint32_t layer = 0; layer < 3; layer++) {
            const uint32_t step = segment->first_step + 1 + layer, begin = trace_step_begin(&trace, step);
            assert_int_equal(trace_step_begin(&trace, step + 1) - begin, 2);
            assert_int_equal(trace.uses[begin + 1], first + (s / 2 % 2) * 3 + layer); /* 0, 1, 0 */
            const struct work *with = work_of(&trace, step), *without = work_of(&plain, step);
            assert_int_equal(flops_of(&trace, with, TYPE_F16, false) - flops_of(&plain, without, TYPE_F16, false),
                             2 * elements * (segment->phase == PHASE_PREFILL ? segment->context_growth : 1));
        }
    }
    trace_free(&trace);
    spec.adapter_switch = ADAPTER_NEVER;
    compile(&spec, &model, &trace);
    assert_int_equal(trace.uses[trace_step_begin(&trace, trace.segments[2].first_step + 1) + 1], first);
    trace_free(&trace);
    spec.adapter_switch = ADAPTER_TOKEN;
    spec.output_tokens = 200;
    compile(&spec, &model, &trace);
    uint32_t ones = 0, passes = trace.segment_count;
    assert_int_equal(passes, 600);
    for (uint32_t s = 0; s < passes; s++) {
        const uint32_t use = trace.uses[trace_step_begin(&trace, trace.segments[s].first_step + 1) + 1];
        assert_true(use & USE_UNSEEN);
        assert_true((use & USE_BLOCK) == first || (use & USE_BLOCK) == first + 3);
        ones += (use & USE_BLOCK) == first + 3;
    }
    assert_in_range(ones, 240, 360); /* 300 of 600, five standard deviations */
    trace_free(&trace);
    trace_free(&plain);
    model_free(&model);
}

static void test_refusals(void **state)
{
    (void)state;
    struct model model;
    make_list(&model, "embed:5B layer0:7B");
    struct workload_spec spec = chat(3, 10, 4);
    refused(&spec, NULL, "workload kind = chat needs a model: expected [model] profile, file or blocks");
    spec.turns = 0;
    refused(&spec, &model, "kind = chat: expected at least 1 for turns, prompt_tokens and background_every");
    spec.turns = 2000;
    spec.prompt_tokens = 1000;
    refused(&spec, &model,
            "kind = chat: system_tokens and the prompts and answers of 2000 turns make a context of over 1048576 "
            "tokens");
    model_free(&model);
}

/* 65,535 turns of 8 tokens that all say the whole conversation again: 17 * 10^9 tokens, none of which is made. */
static void test_more_choices_than_a_trace_has_room_for(void **state)
{
    (void)state;
    const struct shape shape = small_shape(4);
    struct model model;
    make_shape(&model, &shape);
    struct workload_spec spec = chat(65535, 4, 4);
    spec.keep_kv = false;
    refused(&spec, &model,
            "kind = chat: the tokens of all prompts choose more than 4294967295 experts: expected fewer turns or "
            "tokens");
    spec.keep_kv = true;
    spec.background = BACKGROUND_RESTART;
    refused(&spec, &model,
            "kind = chat: the tokens of all prompts choose more than 4294967295 experts: expected fewer turns or "
            "tokens");
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_context_grows),
        cmocka_unit_test(test_pauses_in_the_background),
        cmocka_unit_test(test_work_of_a_later_prompt),
        cmocka_unit_test(test_a_window_bounds_what_a_later_prompt_sees),
        cmocka_unit_test(test_without_a_cache_prompts_grow),
        cmocka_unit_test(test_experts_go_on_choosing),
        cmocka_unit_test(test_measured_times),
        cmocka_unit_test(test_two_models_take_turns),
        cmocka_unit_test(test_adapters),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_more_choices_than_a_trace_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
