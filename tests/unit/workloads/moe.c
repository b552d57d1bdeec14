/* The mixture-of-experts workload: distinct experts, popularity, stickiness, the same by seed on every machine. */
#include <math.h>

#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"
#include "workloads/zipf.h"

static struct workload_spec moe(uint32_t prompt, uint32_t output)
{
    return (struct workload_spec){.kind = WORKLOAD_MOE,
                                  .prompt_tokens = prompt,
                                  .output_tokens = output,
                                  .seed = 1,
                                  .zipf_ppm = 1000000,
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

static void test_zipf_weights(void **state)
{
    (void)state;
    static const double exponents[] = {0, 0.5, 0.8, 1, 1.05, 2, 3.7};
    struct error err = {0};
    struct zipf zipf;
    for (size_t e = 0; e < sizeof exponents / sizeof exponents[0]; e++) {
        assert_true(zipf_init(&zipf, 5000, (uint64_t)(exponents[e] * 1e6 + 0.5), &err));
        for (uint32_t i = 0; i < zipf.count; i++) {
            const double expected = pow(i + 1, -exponents[e]), got = (double)zipf_weight(&zipf, i) / 4294967296.0;
            assert_true(zipf_weight(&zipf, i) >= 1);
            assert_true(fabs(got - expected) <= expected / 1048576 + 1 / 4294967296.0);
            assert_true(i == 0 || zipf_weight(&zipf, i) <= zipf_weight(&zipf, i - 1));
        }
        zipf_free(&zipf);
    }
    assert_true(zipf_init(&zipf, 1 << 20, UINT64_C(1000000000000), &err)); /* the largest that a config can say */
    assert_int_equal(zipf_weight(&zipf, 0), UINT64_C(1) << 32);
    assert_int_equal(zipf_weight(&zipf, 1), 1);
    assert_int_equal(zipf_weight(&zipf, (1 << 20) - 1), 1);
    zipf_free(&zipf);
}

static void test_drawing_spares_what_is_taken(void **state)
{
    (void)state;
    struct error err = {0};
    struct zipf zipf;
    struct rng rng;
    uint32_t counts[6] = {0};
    enum { DRAWS = 60000 };
    rng_seed(&rng, 7, 0);
    assert_true(zipf_init(&zipf, 6, 1000000, &err));
    for (uint32_t rank = 0; rank < 5; rank++)
        zipf_take(&zipf, rank);
    assert_int_equal(zipf_draw(&zipf, &rng), 5); /* the one that is left */
    zipf_put_back(&zipf, 4);
    zipf_put_back(&zipf, 1);
    for (int i = 0; i < DRAWS; i++)
        counts[zipf_draw(&zipf, &rng)]++;
    assert_int_equal(counts[0] + counts[2] + counts[3], 0);
    /* 1/2, 1/5 and 1/6 of a sum of 13/15: 5 standard deviations are below 650 draws. */
    assert_true(abs((int)counts[1] - DRAWS * 15 / 26) < 650);
    assert_true(abs((int)counts[4] - DRAWS * 3 / 13) < 650);
    assert_true(abs((int)counts[5] - DRAWS * 5 / 26) < 650);
    zipf_free(&zipf);
    /* With few points on the line, its ends come up: weights 2^32, 1, 1, 1. */
    assert_true(zipf_init(&zipf, 4, UINT64_C(1000000000000), &err));
    zipf_take(&zipf, 0);
    for (uint32_t rank = 1; rank < 4; rank++)
        assert_int_equal(zipf_at(&zipf, rank - 1), rank);
    zipf_take(&zipf, 2);
    assert_int_equal(zipf.left, 2);
    for (int i = 0; i < 100; i++)
        assert_int_equal(zipf_draw(&zipf, &rng) % 2, 1);
    zipf_free(&zipf);
}

/* Blocks of the small model with 4 experts: embedding 0, layers 1, 6, 11 with experts behind each, norm 16, output 17.
 */
static void test_steps(void **state)
{
    (void)state;
    const struct shape shape = small_shape(4);
    struct model model;
    struct trace trace;
    make_shape(&model, &shape);
    const struct workload_spec spec = moe(3, 5);
    compile(&spec, &model, &trace);
    assert_int_equal(model.block_count, 18);
    assert_int_equal(trace.segment_count, 5);
    for (uint32_t s = 0; s < 5; s++) {
        const struct segment *segment = &trace.segments[s];
        assert_int_equal(segment->token, s);
        assert_int_equal(segment->repeat, 1);
        assert_int_equal(segment->step_count, 5);
        assert_int_equal(segment->phase, s == 0 ? PHASE_PREFILL : PHASE_DECODE);
        assert_int_equal(segment->context_first, s == 0 ? 0 : 2 + s);
        for (uint32_t layer = 0; layer < 3; layer++) {
            const uint32_t step = segment->first_step + 1 + layer;
            const uint32_t *use = &trace.uses[trace_step_begin(&trace, step)];
            const uint32_t count = trace_step_begin(&trace, step + 1) - trace_step_begin(&trace, step);
            assert_int_equal(count, 1 + (s == 0 ? 3 : 1) * 2);
            assert_int_equal(use[0], 1 + layer * 5); /* foreseen; its experts are not */
            for (uint32_t u = 1; u < count; u += 2) {
                const uint32_t a = use[u] & USE_BLOCK, b = use[u + 1] & USE_BLOCK;
                assert_true(a != b && a > use[0] && a <= use[0] + 4 && b > use[0] && b <= use[0] + 4);
                assert_true((use[u] & USE_UNSEEN) && (use[u + 1] & USE_UNSEEN));
                assert_true(s == 0 || !((use[u] | use[u + 1]) & USE_AGAIN));
            }
        }
    }
    trace_free(&trace);
    model_free(&model);
}

static void test_work_of_experts(void **state)
{
    (void)state;
    const struct shape shape = small_shape(4);
    const uint64_t expert = 3 * 64 * 32, shared = 2 * 64 * 64 + 2 * 64 * 32, router = 4 * 64;
    const uint64_t shared_bytes = 2 * shared + 4 * router + 2 * 64 * 4, attention = 4 * 4 * 16;
    struct model model;
    struct trace trace;
    make_shape(&model, &shape);
    const struct workload_spec spec = moe(3, 2);
    compile(&spec, &model, &trace);
    const struct work *decode = work_of(&trace, 6), *prefill = work_of(&trace, 1);
    assert_int_equal(bytes_of_type(&trace, decode, TYPE_F16), 2 * shared + 2 * 2 * expert);
    assert_int_equal(bytes_of_type(&trace, decode, TYPE_F32), 4 * router);
    assert_int_equal(bytes_of(&trace, decode), shared_bytes + 2 * 2 * expert);
    assert_int_equal(flops_of(&trace, decode, TYPE_F16, false), 2 * shared + 2 * 2 * expert + attention);
    assert_int_equal(flops_of(&trace, decode, TYPE_F32, false), 2 * router);
    uint32_t distinct = 0;
    for (uint32_t u = trace_step_begin(&trace, 1) + 1; u < trace_step_begin(&trace, 2); u++)
        distinct += !(trace.uses[u] & USE_AGAIN);
    assert_true(distinct >= 2 && distinct <= 4);
    assert_int_equal(bytes_of(&trace, prefill),
                     shared_bytes + distinct * 2 * expert); /* once for each that some token chose */
    assert_int_equal(flops_of(&trace, prefill, TYPE_F16, false), 3 * 2 * shared + 3 * 2 * 2 * expert + 6 * attention);
    assert_int_equal(trace.segments[1].activation_bytes, 4 * (2 * 64 + 2 * 2 * 32) + 4 * 100);
    const uint64_t cache = trace.kv_bytes_per_token;
    trace_free(&trace);
    struct workload_spec wide = spec;
    wide.kv_type = KV_F32;
    compile(&wide, &model, &trace);
    assert_int_equal(trace.kv_bytes_per_token, 2 * cache);
    trace_free(&trace);
    model_free(&model);
}

/* Share of a layer's choices that its token before made too, in parts per thousand. */
static uint64_t kept_share(const struct trace *trace, uint32_t steps, uint32_t layer_step, uint32_t top_k)
{
    uint64_t kept = 0, all = 0;
    for (uint32_t t = 1; t < trace->segment_count; t++) {
        const uint32_t *now = &trace->uses[trace_step_begin(trace, t * steps + layer_step) + 1];
        const uint32_t *before = &trace->uses[trace_step_begin(trace, (t - 1) * steps + layer_step) + 1];
        for (uint32_t i = 0; i < top_k; i++, all++)
            for (uint32_t j = 0; j < top_k; j++)
                kept += now[i] == before[j];
    }
    return kept * 1000 / all;
}

static void test_stickiness(void **state)
{
    (void)state;
    struct shape shape = small_shape(64);
    struct model model;
    struct trace trace;
    shape.experts_used = 4;
    make_shape(&model, &shape);
    struct workload_spec spec = moe(0, 1000);
    spec.zipf_ppm = 0;
    compile(&spec, &model, &trace);
    const uint64_t loose = kept_share(&trace, 5, 1, 4); /* 4 of 64: 62 */
    assert_true(loose > 45 && loose < 80);
    trace_free(&trace);
    spec.sticky_ppm = 500000;
    compile(&spec, &model, &trace);
    const uint64_t half = kept_share(&trace, 5, 1, 4); /* 500, and a little by chance */
    assert_true(half > 490 && half < 570);
    trace_free(&trace);
    spec.sticky_ppm = 1000000;
    compile(&spec, &model, &trace);
    assert_int_equal(kept_share(&trace, 5, 1, 4), 1000);
    trace_free(&trace);
    model_free(&model);
}

static void test_popularity(void **state)
{
    (void)state;
    struct shape shape = small_shape(16);
    struct model model;
    struct trace trace;
    shape.experts_used = 1;
    make_shape(&model, &shape);
    const struct workload_spec spec = moe(0, 20000);
    compile(&spec, &model, &trace);
    uint64_t *heat = calloc(model.block_count, sizeof *heat);
    assert_non_null(heat);
    trace_heat(&trace, heat);
    uint32_t first[2];
    for (uint32_t layer = 0; layer < 2; layer++) {
        uint64_t most = 0;
        first[layer] = 0;
        for (uint32_t e = 0; e < 16; e++)
            if (heat[2 + layer * 17 + e] > most) {
                most = heat[2 + layer * 17 + e];
                first[layer] = e;
            }
        /* 1 / H(16) = 0.29580 of 20000: 5 standard deviations are below 330. */
        assert_true(most > 5916 - 330 && most < 5916 + 330);
    }
    assert_int_not_equal(first[0], first[1]); /* each layer has an order of its own; so it is for this seed */
    free(heat);
    trace_free(&trace);
    model_free(&model);
}

static uint64_t hash_uses(const struct trace *trace)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t u = 0; u < trace->use_count; u++)
        hash = (hash ^ trace->uses[u]) * UINT64_C(0x100000001b3);
    return hash;
}

static void test_seeds(void **state)
{
    (void)state;
    const struct shape shape = small_shape(32);
    struct model model;
    struct trace trace;
    make_shape(&model, &shape);
    struct workload_spec spec = moe(20, 50);
    spec.sticky_ppm = 300000;
    spec.zipf_ppm = 900000;
    uint64_t hashes[2];
    for (int i = 0; i < 2; i++) {
        compile(&spec, &model, &trace);
        hashes[i] = hash_uses(&trace);
        trace_free(&trace);
    }
    assert_true(hashes[0] == hashes[1]);
    /* Every machine and compiler gets this trace. */
    assert_int_equal(hashes[0], UINT64_C(0xd730edba3986592c));
    spec.seed = 2;
    compile(&spec, &model, &trace);
    assert_true(hash_uses(&trace) != hashes[0]);
    trace_free(&trace);
    model_free(&model);
}

/* Work that grew with the square of the experts a token, times their number, would not end here. */
static void test_all_of_many_experts(void **state)
{
    (void)state;
    enum { EXPERTS = 4096 };
    struct shape shape = small_shape(EXPERTS);
    struct model model;
    struct trace trace;
    shape.experts_used = EXPERTS;
    make_shape(&model, &shape);
    struct workload_spec spec = moe(0, 20);
    for (int sticky = 0; sticky < 2; sticky++) {
        spec.sticky_ppm = sticky ? 900000 : 0;
        compile(&spec, &model, &trace);
        assert_int_equal(trace.uses[0] & USE_BLOCK, 0);
        assert_int_equal(trace_step_begin(&trace, 2) - trace_step_begin(&trace, 1), EXPERTS + 1);
        for (uint32_t u = trace_step_begin(&trace, 1); u < trace_step_begin(&trace, 2); u++)
            assert_false(trace.uses[u] & USE_AGAIN); /* distinct, so all */
        trace_free(&trace);
    }
    model_free(&model);
}

static void test_refusals(void **state)
{
    (void)state;
    const struct shape shape = small_shape(4);
    struct model model;
    struct workload_spec spec = moe(1, 1);
    make_list(&model, "2 x 1B");
    refused(&spec, &model, "kind = moe: the model \"list\" has no experts: did you mean kind = dense?");
    refused(&spec, NULL, "workload kind = moe needs a model: expected [model] profile, file or blocks");
    model_free(&model);
    make_list(&model, "layer0:1B expert0.0:1B expert0.1:1B");
    refused(&spec, &model, "top_k: the model \"list\" does not say how many experts a token uses: give top_k");
    struct trace trace;
    spec.top_k = 2;
    compile(&spec, &model, &trace);
    assert_int_equal(trace.step_count, 1);
    assert_int_equal(trace.access_count, 3);
    trace_free(&trace);
    model_free(&model);
    make_shape(&model, &shape);
    spec.top_k = 5;
    refused(&spec, &model, "top_k = 5: layer 0 of \"small\" has 4 experts");
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zipf_weights),
        cmocka_unit_test(test_drawing_spares_what_is_taken),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_work_of_experts),
        cmocka_unit_test(test_stickiness),
        cmocka_unit_test(test_popularity),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_all_of_many_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
