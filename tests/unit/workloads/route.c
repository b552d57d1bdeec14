/* The reader of expert routes: grouping, order, mapping to a model, and the published trace. */
#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"

#define HEAD                                                                                                           \
    "# route_trace v1\n# model=x n_layer=2 n_expert=3 n_expert_used=2\n# layer=0 expert_bytes=100 dense_bytes=7\n"     \
    "# layer=1 expert_bytes=200\nturn,phase,step,layer,slot,expert,weight,residency,expert_bytes\n"

struct read {
    struct trace trace;
    struct model own;
    bool has_own;
    struct error err;
};

static bool read_text(struct read *r, const struct model *model, const struct workload_spec *given, const char *text)
{
    char *path = write_file(text, strlen(text));
    struct workload_spec spec = given != NULL ? *given : trace_spec(NULL);
    spec.trace = path;
    *r = (struct read){0};
    const bool good = workload_compile(&spec, model, &r->trace, &r->own, &r->has_own, &r->err);
    char *name = strstr(r->err.text, path);
    if (name != NULL) /* the same in every run */
        memmove(name, name + strlen(path) - 1, strlen(name) - strlen(path) + 2), name[0] = 'F';
    remove_file(path);
    return good;
}

static void drop(struct read *r)
{
    trace_free(&r->trace);
    if (r->has_own)
        model_free(&r->own);
}

static void refuses(const char *text, const char *expected)
{
    struct read r;
    assert_false(read_text(&r, NULL, NULL, text));
    assert_string_equal(r.err.text, expected);
    assert_int_equal(r.err.code, STATUS_INPUT);
}

/* Two prompt tokens, layer by layer, then a token whose rows are mixed with the next one's, then a second turn. */
static const char mixed[] = HEAD "0,0,0,0,0,2,0.6,0,100\n"
                                 "0,0,0,0,1,1,0.4,0,100\n"
                                 "0,0,1,0,0,1,0.6,0,100\n"
                                 "0,0,0,1,0,0,0.6,0,200\n"
                                 "0,0,1,1,0,0,0.6,0,200\n"
                                 "0,0,1,0,1,0,0.6,0,100\n"
                                 "0,1,2,0,0,2,0.6,0,100\n"
                                 "0,1,3,0,0,0,0.6,0,100\n"
                                 "0,1,2,1,0,1,0.6,0,200\n"
                                 "0,1,2,1,1,2,0.6,0,200\n"
                                 "1,0,4,1,0,1,0.6,0,200\r\n";

static void test_grouping(void **state)
{
    (void)state;
    struct read r;
    const bool good = read_text(&r, NULL, NULL, mixed);
    assert_string_equal(r.err.text, "");
    assert_true(good);
    steps_are(&r.trace, "2?,1?,1=?,0? 3?,3=? 2? 4?,5? 0? 4?");
    assert_true(r.trace.counts_tokens);
    assert_int_equal(r.trace.segment_count, 4);
    static const struct segment expected[] = {
        {.first_step = 0, .step_count = 2, .token = 0, .phase = PHASE_PREFILL, .context_first = 0, .context_growth = 2},
        {.first_step = 2, .step_count = 2, .token = 1, .phase = PHASE_DECODE, .context_first = 2, .context_growth = 1},
        {.first_step = 4, .step_count = 1, .token = 2, .phase = PHASE_DECODE, .context_first = 3, .context_growth = 1},
        {.first_step = 5, .step_count = 1, .token = 3, .phase = PHASE_PREFILL, .context_first = 4, .context_growth = 1},
    };
    for (uint32_t s = 0; s < 4; s++) {
        const struct segment *segment = &r.trace.segments[s];
        assert_int_equal(segment->first_step, expected[s].first_step);
        assert_int_equal(segment->step_count, expected[s].step_count);
        assert_int_equal(segment->token, expected[s].token);
        assert_int_equal(segment->phase, expected[s].phase);
        assert_int_equal(segment->context_first, expected[s].context_first);
        assert_int_equal(segment->context_growth, expected[s].context_growth);
        assert_int_equal(segment->repeat, 1);
    }
    assert_true(r.has_own);
    assert_int_equal(r.own.block_count, 6);
    assert_int_equal(r.own.blocks[2].bytes, 100);
    assert_int_equal(r.own.blocks[3].bytes, 200);
    assert_int_equal(r.own.blocks[5].kind, BLOCK_EXPERT);
    assert_int_equal(r.own.blocks[5].layer, 1);
    assert_int_equal(r.own.blocks[5].expert, 2);
    assert_string_equal(model_block_name(&r.own, 5), "expert1.2");
    assert_int_equal(bytes_of(&r.trace, work_of(&r.trace, 0)), 300);
    assert_int_equal(bytes_of(&r.trace, work_of(&r.trace, 3)), 400);
    drop(&r);
}

static void test_measured_times(void **state)
{
    (void)state;
    struct read r;
    struct workload_spec spec = trace_spec(NULL);
    spec.compute_per_token_ns = 9;
    spec.prompt_compute_ns = 1000;
    spec.foresee = FORESEE_ALL;
    assert_true(read_text(&r, NULL, &spec, mixed));
    static const int64_t expected[] = {500, 500, 4, 5, 9, 1000};
    for (uint32_t s = 0; s < 6; s++)
        assert_int_equal(work_of(&r.trace, s)->fixed_ns, expected[s]);
    steps_are(&r.trace, "2,1,1=,0 3,3= 2 4,5 0 4");
    drop(&r);
}

static void test_blocks_of_a_model(void **state)
{
    (void)state;
    struct model model;
    struct read r;
    struct shape shape = small_shape(3);
    shape.layers = 2;
    make_shape(&model, &shape); /* embedding, layer0, 3 experts, layer1, 3 experts, ... */
    assert_true(read_text(&r, &model, NULL, mixed));
    steps_are(&r.trace, "4?,3?,3=?,2? 6?,6=? 4? 7?,8? 2? 7?");
    assert_false(r.has_own);
    const uint64_t expert = 3 * 64 * 32;
    assert_int_equal(bytes_of(&r.trace, work_of(&r.trace, 0)), 3 * 2 * expert);
    assert_int_equal(flops_of(&r.trace, work_of(&r.trace, 0), TYPE_F16, false), 4 * 2 * expert);
    assert_int_equal(r.trace.kv_bytes_per_token, model.kv_bytes_per_token);
    assert_true(model.kv_bytes_per_token > 0);
    drop(&r);
    struct workload_spec wide = trace_spec(NULL);
    wide.kv_type = KV_F32;
    assert_true(read_text(&r, &model, &wide, mixed));
    assert_int_equal(r.trace.kv_bytes_per_token, 2 * model.kv_bytes_per_token);
    drop(&r);
    model_free(&model);
    make_list(&model, "layer0:5B expert0.0:6B expert0.1:6B");
    assert_false(read_text(&r, &model, NULL, mixed));
    assert_string_equal(r.err.text, "F:6: the model \"list\" has no expert 2 of layer 0");
    model_free(&model);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("# route_trace v1\n", "F: the trace is empty: it names no expert");
    refuses(HEAD, "F: the trace is empty: it names no expert");
    refuses("# route_trace v1\nturn,phase\n",
            "F:2: expected a line \"# ... n_layer=N n_expert=N\" above the names of the columns");
    refuses("# route_trace v1\n# n_layer=2 n_expert=x\n", "F:2: n_expert=x: expected a whole number from 0 to 1048576");
    refuses("# route_trace v1\n# n_layer=2\n", "F:2: expected n_layer and n_expert together, once");
    refuses("# route_trace v1\n# n_layer=2000 n_expert=2000\n",
            "F:2: n_layer=2000 n_expert=2000: expected a product from 1 to 1048576");
    refuses("# route_trace v1\n# n_layer=2 n_expert=2\n# layer=2 expert_bytes=1\n",
            "F:3: layer=2: expected n_layer in an earlier line, and a layer below it");
    refuses("# route_trace v1\n# n_layer=2 n_expert=2\n# layer=1 expert_bytes=1\nturn,phase,step,layer\n",
            "F:4: no column \"expert\": expected turn,phase,step,layer,slot,expert,...");
    refuses("# route_trace v1\n# n_layer=2 n_expert=2\n# layer=1 expert_bytes=1\nturn,phase,step,layer,expert\n"
            "0,0,0,0,0\n",
            "F:5: layer 0 has no line \"# layer=0 expert_bytes=N\"");
    refuses(HEAD "0,0,0,2,0,0,0,0,0\n", "F:6: layer 2, expert 0: expected a layer below 2 and an expert below 3");
    refuses(HEAD "0,2,0,0,0,0,0,0,0\n", "F:6: phase \"2\": expected a whole number from 0 to 1");
    refuses(HEAD "0,0,0,0\n", "F:6: found 4 fields, expected one for the column \"expert\"");
}

/* Counts that were published with the trace: ../shared/data/routes/truth.csv. */
static void test_the_published_trace(void **state)
{
    (void)state;
    static const char path[] = "../shared/data/routes/qwen3-30b-a3b.route.csv";
    struct trace trace;
    struct model own;
    struct error err = {0};
    bool has_bytes;
    if (access(path, R_OK) != 0) {
        print_message("# no ../shared/data: the published route is not tested\n");
        skip();
    }
    assert_true(trace_read_alone(path, NULL, &trace, &own, &has_bytes, &err));
    assert_true(has_bytes);
    assert_int_equal(trace.access_count, 39526);
    uint64_t decode = 0;
    for (uint32_t s = 0; s < trace.segment_count; s++)
        if (trace.segments[s].phase == PHASE_DECODE)
            decode += trace_step_begin(&trace, trace.segments[s].first_step + trace.segments[s].step_count) -
                      trace_step_begin(&trace, trace.segments[s].first_step);
    assert_int_equal(decode, 36864);
    assert_int_equal((trace.accessed_bytes + 524288) / 1048576, 107715); /* the reads of a cache that hits nothing */
    assert_int_equal(trace.cycle_bytes * 10 / 1048576, 7846);            /* 784.7 MiB, cut */
    assert_int_equal(trace.segments[0].context_growth, 28);
    assert_int_equal(own.block_count, 48 * 128);
    trace_free(&trace);
    model_free(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grouping),
        cmocka_unit_test(test_measured_times),
        cmocka_unit_test(test_blocks_of_a_model),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_the_published_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
