/* Speculative decoding: rounds by hand, and the tokens of a round against the closed form. */
#include <math.h>

#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"
#include "workloads/model_combine.h"

static struct workload_spec speculative(uint32_t prompt, uint32_t output, uint32_t drafts, uint32_t accept_ppm)
{
    return (struct workload_spec){.kind = WORKLOAD_DENSE,
                                  .prompt_tokens = prompt,
                                  .output_tokens = output,
                                  .seed = 1,
                                  .draft_tokens = drafts,
                                  .accept_ppm = accept_ppm,
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

/* A model of two layers beside one of three. */
static void make_pair(struct model *model)
{
    struct model_member parts[2] = {{.role = MEMBER_FIRST}, {.role = MEMBER_DRAFT}};
    struct shape shape = small_shape(0);
    struct error err;
    make_shape(&parts[0].model, &shape);
    shape.layers = 2;
    make_shape(&parts[1].model, &shape);
    assert_true(model_combine(parts, 2, model, &err));
}

static void test_a_round(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    make_pair(&model);
    const struct workload_spec spec = speculative(6, 9, 3, 1000000);
    compile(&spec, &model, &trace);
    /* All are accepted: 1 token of the prompt, then 4 and 4. Blocks 0 to 5 are the model's, 6 to 10 the draft's. */
    assert_int_equal(trace.segment_count, 3);
    assert_int_equal(trace.token_count, 9);
    steps_are(&trace, "0 1 2 3 4,5 6 7 8 9,10 "
                      "6 7 8 9,10 6 7 8 9,10 6 7 8 9,10 0 1 2 3 4,5 "
                      "6 7 8 9,10 6 7 8 9,10 6 7 8 9,10 0 1 2 3 4,5");
    const struct segment *round = &trace.segments[1];
    assert_int_equal(round->token, 1);
    assert_int_equal(round[1].token, 5);
    assert_int_equal(round->context_first, 6);
    assert_int_equal(round[1].context_first, 10);
    assert_int_equal(round->context_growth, 4);
    assert_int_equal(round->drafted, 3);
    assert_int_equal(round->accepted, 3);
    assert_int_equal(round->phase, PHASE_DECODE);

    /* The check: weights once, 4 tokens' operations, which see 7, 8, 9 and 10 positions; logits of all four. */
    const uint64_t weights = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96, row = 2 * 2 * 16 * 2;
    const struct work *check = work_of(&trace, round->first_step + 12 + 1), *prompt = work_of(&trace, 1);
    assert_int_equal(flops_of(&trace, check, TYPE_F16, false), 2 * weights * 4 + 4 * 4 * 16 * (7 + 8 + 9 + 10));
    assert_int_equal(check->bytes - prompt->bytes, 6 * row);
    assert_int_equal(flops_of(&trace, work_of(&trace, round->first_step + 16), TYPE_F16, false), 4 * 2 * 64 * 100);
    /* The second draft comes behind 7 tokens. */
    const struct work *draft = work_of(&trace, round->first_step + 4 + 1);
    assert_int_equal(flops_of(&trace, draft, TYPE_F16, false), 2 * weights + 4 * 4 * 16 * 8);
    assert_int_equal(draft->bytes_per_context, 0);

    /* At its longest: 6 + 4 positions of three layers, 6 + 3 of two. */
    assert_int_equal(segment_kv_bytes(&trace, round, 10), 10 * 3 * row + 9 * 2 * row);
    assert_int_equal(segment_kv_bytes(&trace, &trace.segments[0], 6), 6 * 3 * row + 6 * 2 * row);
    trace_free(&trace);
    model_free(&model);
}

static void test_what_is_rejected_is_dropped(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    make_pair(&model);
    struct workload_spec spec = speculative(6, 9, 3, 0);
    compile(&spec, &model, &trace);
    /* Nothing is accepted: a token a round, and no more drafts than tokens that are still wanted. */
    assert_int_equal(trace.segment_count, 9);
    static const uint32_t drafts[] = {0, 3, 3, 3, 3, 3, 2, 1, 0};
    const uint64_t row = 2 * 2 * 16 * 2;
    for (uint32_t s = 1; s < 9; s++) {
        const struct segment *round = &trace.segments[s];
        assert_int_equal(round->drafted, drafts[s]);
        assert_int_equal(round->accepted, 0);
        assert_int_equal(round->context_first, 5 + s);
        assert_int_equal(round->token, s);
        assert_int_equal(segment_kv_bytes(&trace, round, 6 + s),
                         (6 + s + drafts[s]) * 3 * row + (5 + s + drafts[s]) * 2 * row);
    }
    trace_free(&trace);
    model_free(&model);
}

/* Leviathan et al., equation 1: (1 - a^(g + 1)) / (1 - a) tokens a round. */
static void test_tokens_of_a_round(void **state)
{
    (void)state;
    static const struct {
        uint32_t drafts, accept_ppm;
    } cases[] = {{1, 500000}, {4, 700000}, {4, 0}, {8, 900000}, {3, 250000}};
    struct model model;
    make_pair(&model);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double a = cases[i].accept_ppm / 1e6;
        double sum = 0, squares = 0, expected = (1 - pow(a, cases[i].drafts + 1)) / (1 - a);
        uint64_t rounds = 0;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct workload_spec spec = speculative(6, 1000, cases[i].drafts, cases[i].accept_ppm);
            struct trace trace;
            spec.seed = seed;
            compile(&spec, &model, &trace);
            for (uint32_t s = 1; s < trace.segment_count; s++) {
                const struct segment *round = &trace.segments[s];
                if (round->drafted < cases[i].drafts)
                    continue; /* the last ones */
                sum += round->accepted + 1;
                squares += (round->accepted + 1.0) * (round->accepted + 1.0);
                rounds++;
            }
            assert_int_equal(trace.token_count, 1000);
            trace_free(&trace);
        }
        const double mean = sum / (double)rounds, deviation = sqrt(fabs(squares / (double)rounds - mean * mean));
        print_message("# %u drafts, %.2f accepted: %.4f tokens a round, closed form %.4f\n", cases[i].drafts, a, mean,
                      expected);
        assert_true(rounds >= 1000);
        assert_true(fabs(mean - expected) <= 5 * deviation / sqrt((double)rounds) + 1e-9);
    }
    model_free(&model);
}

static void test_refusals(void **state)
{
    (void)state;
    struct model model;
    struct trace trace;
    struct error err;
    make_pair(&model);
    struct workload_spec spec = speculative(6, 9, 3, 700000);
    spec.compute_per_token_ns = 5;
    assert_false(workload_generate(&spec, &model, &trace, &err));
    assert_string_equal(err.text, "compute_per_token and prompt_compute are times of one model: expected roofline "
                                  "beside workload.draft");
    model_free(&model);
    struct model_member parts[2] = {{.role = MEMBER_FIRST}, {.role = MEMBER_DRAFT}};
    struct shape shape = small_shape(0);
    make_shape(&parts[0].model, &shape);
    shape = small_shape(4);
    make_shape(&parts[1].model, &shape);
    assert_true(model_combine(parts, 2, &model, &err));
    spec.compute_per_token_ns = -1;
    assert_false(workload_generate(&spec, &model, &trace, &err));
    assert_string_equal(err.text, "workload.draft: the model \"small\" has experts: expected a dense one");
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_round),
        cmocka_unit_test(test_what_is_rejected_is_dropped),
        cmocka_unit_test(test_tokens_of_a_round),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
