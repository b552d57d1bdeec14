/* The readers of traces: what each takes, how a format is found, and the line that is said about everything else. */
#include <zstd.h>

#include "reader_helpers.h"

static void test_ids(void **state)
{
    (void)state;
    struct read r;
    char name[MODEL_NUMBER_TEXT];
    reads(NULL, "5\n7\n5\n", "0 1 0");
    reads(NULL,
          "\xEF\xBB\xBF"
          "5\r\n*\r\n\r\n 7 \r\n5",
          "0 1 0");
    reads(NULL, "*\n\n18446744073709551615\n0", "0 1");
    assert_true(alone(&r, NULL, "70\n7\n70\n", 8));
    assert_string_equal(model_write_name(&r.own, 0, name), "70");
    assert_int_equal(r.own.policy_blocks[1].bytes, 1);
    assert_int_equal(r.own.block_count, 2);
    assert_false(r.has_bytes);
    assert_false(r.trace.counts_tokens);
    assert_int_equal(r.trace.work_count, 0);
    assert_int_equal(r.trace.kv_bytes_per_token, 0);
    drop(&r);

    refuses(NULL, "", "F: the trace is empty: it names no block");
    refuses(NULL, "*\n\n", "F: the trace is empty: it names no block");
    refuses("ids", "*\n", "F: the trace is empty: it names no block");
    refuses(NULL, "1\n2\nabc\n", "F:3: found \"abc\", expected one block id a line, a decimal number");
    refuses(NULL, "1\n*\n-2\n", "F:3: found \"-2\", expected one block id a line, a decimal number");
    refuses(NULL, "1\n2,3\n", "F:2: found \"2,3\", expected one block id a line, a decimal number");
    refuses("ids", "1\n2 3\n", "F:2: found \"2 3\", expected one block id a line, a decimal number");
    refuses(NULL, "1\n2.5\n", "F:2: found \"2.5\", expected one block id a line, a decimal number");
    refuses(NULL, "1\n  2x \r\n3\n", "F:2: found \"2x\", expected one block id a line, a decimal number");
    refuses("ids", "*\n* 4\n", "F:2: found \"* 4\", expected one block id a line, a decimal number");
    reads(NULL, "18446744073709551615\n00000000000000000001\n12345678\n123456789012345678\n1\n", "0 1 2 3 1");
    refuses(NULL, "1\n99999999999999999999\n", "F:2: found \"99999999999999999999\", expected a block id below 2^64");
    refuses(NULL, "29999999999999999999\n", "F:1: found \"29999999999999999999\", expected a block id below 2^64");
    refuses(NULL, "100000000000000000000\n", "F:1: found \"100000000000000000000\", expected a block id below 2^64");
    refuses(NULL, "1\n18446744073709551616\n", "F:2: found \"18446744073709551616\", expected a block id below 2^64");
}

static void test_ids_across_chunks(void **state)
{
    (void)state;
    enum { LINES = 700000 }; /* over 4 MiB, and a chunk has at most 1 MiB: numbers are cut somewhere */
    char *text = malloc((size_t)LINES * 8 + 1);
    assert_non_null(text);
    for (uint32_t i = 0; i < LINES; i++)
        snprintf(text + (size_t)i * 7, 8, "%06u\n", i % 3001 * 7);
    struct read r;
    assert_true(alone(&r, NULL, text, (size_t)LINES * 7));
    assert_int_equal(r.trace.use_count, LINES);
    for (uint32_t i = 0; i < LINES; i++)
        assert_true(r.trace.uses[i] == i % 3001);
    drop(&r);

    /* A line that is cut behind its 2 is quoted whole all the same. */
    const size_t before = ((size_t)1 << 20) - 1;
    for (size_t i = 0; i < before; i++)
        text[i] = i % 2 == 0 && i + 1 < before ? '1' : '\n';
    memcpy(text + before, "2.5\n", 5);
    refuses("ids", text, "F:524289: found \"2.5\", expected one block id a line, a decimal number");
    free(text);
}

static void test_ids_of_a_model(void **state)
{
    (void)state;
    struct model model;
    struct read r;
    struct workload_spec spec = trace_spec(NULL);
    make_list(&model, "embed:10B expert0.0:20B expert0.1:20B");
    assert_true(with_model(&r, &spec, &model, "2\n0\n2\n"));
    steps_are(&r.trace, "2? 0 2?");
    assert_false(r.has_own);
    assert_int_equal(bytes_of(&r.trace, work_of(&r.trace, 0)), 20);
    assert_int_equal(bytes_of(&r.trace, work_of(&r.trace, 1)), 10);
    assert_int_equal(r.trace.work_count, 2);
    drop(&r);
    spec.foresee = FORESEE_ALL;
    assert_true(with_model(&r, &spec, &model, "2\n0\n"));
    steps_are(&r.trace, "2 0");
    drop(&r);
    spec.foresee = FORESEE_NONE;
    assert_true(with_model(&r, &spec, &model, "2\n0\n"));
    steps_are(&r.trace, "2? 0?");
    drop(&r);

    assert_false(with_model(&r, &spec, &model, "0\n3\n"));
    assert_string_equal(r.err.text, "F:2: block 3: expected a block of the model \"list\", 0 to 2");
    assert_int_equal(r.err.code, STATUS_INPUT);
    assert_false(with_model(&r, &spec, NULL, "0\n3\n"));
    assert_string_equal(r.err.text, "F: a trace of format ids brings no block sizes: expected a [model], for example "
                                    "blocks = 256 x 1MiB");
    assert_int_equal(r.err.code, STATUS_USAGE);
    spec.compute_per_token_ns = 5;
    assert_false(with_model(&r, &spec, &model, "0\n"));
    assert_string_equal(r.err.text, "compute_per_token and prompt_compute need a trace that marks tokens, and F does "
                                    "not: expected roofline");
    assert_int_equal(r.err.code, STATUS_USAGE);
    model_free(&model);
}

static void test_passes(void **state)
{
    (void)state;
    struct read r;
    struct model model;
    static const char text[] = "4 0 1\r\n\r\n4\t1 \n1";
    assert_true(alone(&r, NULL, text, sizeof text - 1));
    steps_are(&r.trace, "0 1 2 0 2 2");
    assert_true(r.trace.counts_tokens);
    assert_int_equal(r.trace.segment_count, 3);
    assert_int_equal(r.trace.segments[1].first_step, 3);
    assert_int_equal(r.trace.segments[1].step_count, 2);
    assert_int_equal(r.trace.segments[1].token, 1);
    assert_int_equal(r.trace.segments[2].context_first, 2);
    assert_int_equal(r.trace.cycle_bytes, 3);
    drop(&r);
    reads("passes", "7\n7\n", "0 0"); /* alone it would be taken for ids, which mark no tokens */

    struct workload_spec spec = trace_spec(NULL);
    spec.compute_per_token_ns = 10;
    make_list(&model, "5 x 1KiB");
    assert_true(with_model(&r, &spec, &model, text));
    int64_t sum = 0;
    for (uint32_t s = 0; s < 3; s++)
        sum += work_of(&r.trace, s)->fixed_ns;
    assert_int_equal(sum, 10);
    assert_int_equal(work_of(&r.trace, 5)->fixed_ns, 10);
    drop(&r);
    model_free(&model);

    refuses(NULL, "1 2\n3 x\n", "F:2: \"x\": expected block ids, decimal numbers below 2^64, with blanks between");
    refuses(NULL, "1 2\n3,4\n", "F:2: \"3,4\": expected block ids, decimal numbers below 2^64, with blanks between");
}

static void test_an_embedding_alone_is_a_look_up(void **state)
{
    (void)state;
    struct shape shape = small_shape(0);
    struct model model;
    struct read r;
    const struct workload_spec spec = trace_spec(NULL);
    shape.tied = true;
    make_shape(&model, &shape);
    assert_true(with_model(&r, &spec, &model, "step,block\n0,token_embd\n1,output_norm\n1,token_embd\n"));
    assert_int_equal(bytes_of(&r.trace, work_of(&r.trace, 0)), 64 * 2);
    assert_int_equal(flops_of(&r.trace, work_of(&r.trace, 0), TYPE_F16, false), 0);
    assert_int_equal(bytes_of(&r.trace, work_of(&r.trace, 1)), 100 * 64 * 2 + 64 * 4);
    assert_int_equal(flops_of(&r.trace, work_of(&r.trace, 1), TYPE_F16, false), 2 * 100 * 64);
    drop(&r);
    model_free(&model);
}

static void test_sequence(void **state)
{
    (void)state;
    struct model model, own;
    struct trace trace;
    struct error err = {0};
    bool has_own;
    struct workload_spec spec = trace_spec(NULL);
    make_list(&model, "embed:10B layer1:20B layer2:30B");
    spec.sequence = " embed layer1  2\tembed ";
    assert_true(workload_compile(&spec, &model, &trace, &own, &has_own, &err));
    steps_are(&trace, "0 1 2 0");
    assert_false(trace.counts_tokens);
    assert_int_equal(trace.token_count, 1);
    assert_int_equal(bytes_of(&trace, work_of(&trace, 2)), 30);
    trace_free(&trace);
    spec.sequence = "embed layer3";
    assert_false(workload_compile(&spec, &model, &trace, &own, &has_own, &err));
    assert_string_equal(err.text, "block \"layer3\": the model \"list\" has no such block: did you mean layer1?");
    assert_int_equal(err.code, STATUS_USAGE);
    spec.sequence = " ";
    assert_false(workload_compile(&spec, &model, &trace, &own, &has_own, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    spec.trace = "x";
    assert_false(workload_compile(&spec, &model, &trace, &own, &has_own, &err));
    assert_string_equal(err.text, "kind = trace: expected either trace (a file) or sequence (block names), not both");
    model_free(&model);
}

static void test_formats(void **state)
{
    (void)state;
    refuses("idz", "1\n", "unknown trace format \"idz\": did you mean ids?");
    refuses(
        NULL, "\n# tracer: nop\n",
        "F:2: \"# tracer: nop\" begins no known format: expected a block id (ids), ids with blanks between (passes, "
        "arc), names of columns with \"block\" (csv) or \"# route_trace v1\" (route)");
    reads("auto", "1\n2 3\n", "0 1 2"); /* passes, though its first line has one id */

    static const char text[] = "3\n4\n3\n";
    char packed[256];
    struct read r;
    const size_t size = ZSTD_compress(packed, sizeof packed, text, sizeof text - 1, 3);
    assert_false(ZSTD_isError(size));
    assert_true(alone(&r, NULL, packed, size));
    steps_are(&r.trace, "0 1 0");
    drop(&r);
    assert_false(alone(&r, NULL, packed, size - 2));
    assert_int_equal(r.err.code, STATUS_INPUT);
}

/* A trace that is found out from a pipe is read whole: its first bytes do not come twice. */
static void test_pipes(void **state)
{
    (void)state;
    static const char *const texts[][2] = {{"5\n7\n5\n", "0 1 0"},
                                           {"1 2\n3\n", "0 1 2"},
                                           {"block,bytes\na,5\nb,6\na,5\n", "0 1 0"},
                                           {"\xEF\xBB\xBF*\n7\n", "0"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int ends[2];
        char path[40];
        struct read r = {0};
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], texts[i][0], strlen(texts[i][0])), (ssize_t)strlen(texts[i][0]));
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        const bool good = trace_read_alone(path, NULL, &r.trace, &r.own, &r.has_bytes, &r.err);
        close(ends[0]);
        assert_string_equal(r.err.text, "");
        assert_true(good);
        steps_are(&r.trace, texts[i][1]);
        r.has_own = true;
        drop(&r);
    }
}

/* What is in front of the first line with content does not hide it, however long it is. */
static void test_separators_first(void **state)
{
    (void)state;
    static const struct {
        const char *first, *then, *steps;
    } cases[] = {{"*\n", "4\n4\n", "0 0"}, {"\n", "4 5\n6\n", "0 1 2"}, {" \t\r\n", "block,bytes\na,5\nb,6\n", "0 1"}};
    static const size_t sizes[] = {4090, 4096, 5000, 300000};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            char *text = calloc(sizes[k] + 64, 1);
            assert_non_null(text);
            size_t used = 0;
            for (const size_t length = strlen(cases[i].first); used < sizes[k]; used += length)
                memcpy(text + used, cases[i].first, length);
            memcpy(text + used, cases[i].then, strlen(cases[i].then));
            reads(NULL, text, cases[i].steps);
            text[used] = '\0';
            refuses(NULL, text, "F: the trace is empty: it names no block");
            free(text);
        }
    enum { MUCH = 3 << 20 }; /* further than anybody looks: ids */
    char *text = malloc(MUCH + 4);
    assert_non_null(text);
    for (size_t i = 0; i < MUCH; i++)
        text[i] = i % 2 == 0 ? '*' : '\n';
    memcpy(text + MUCH, "8\n", 3);
    reads(NULL, text, "0");
    text[MUCH] = '\0';
    refuses(NULL, text, "F: the trace is empty: it names no block");
    free(text);
}

/* Sizes are the config's fault, not the trace's. */
static void test_sums_of_a_model_s_sizes(void **state)
{
    (void)state;
    struct model model, own;
    struct trace trace;
    struct read r;
    struct error err = {0};
    bool has_own;
    static const char sized[] = "block,bytes\na,4611686018427387904\na,\na,\n"; /* these are the trace's own */
    struct workload_spec spec = trace_spec(NULL);
    make_list(&model, "a:4611686018427387904B b:1B");
    assert_false(with_model(&r, &spec, &model, "0\n1\n0\n"));
    assert_string_equal(r.err.text, "F: the trace accesses more than 2^63 bytes");
    assert_int_equal(r.err.code, STATUS_USAGE);
    spec.sequence = "a a";
    assert_false(workload_compile(&spec, &model, &trace, &own, &has_own, &err));
    assert_string_equal(err.text, "the sequence: the trace accesses more than 2^63 bytes");
    assert_int_equal(err.code, STATUS_USAGE);
    spec = (struct workload_spec){
        .kind = WORKLOAD_DENSE, .output_tokens = 3, .compute_per_token_ns = 1, .prompt_compute_ns = 1};
    assert_false(workload_compile(&spec, &model, &trace, &own, &has_own, &err));
    assert_string_equal(err.text, "the trace accesses more than 2^63 bytes");
    assert_int_equal(err.code, STATUS_USAGE);
    model_free(&model);
    refuses(NULL, sized, "F: the trace accesses more than 2^63 bytes");
    assert_false(alone(&r, NULL, sized, sizeof sized - 1));
    assert_int_equal(r.err.code, STATUS_INPUT);
}

static void test_lirs_traces(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        uint32_t uses, blocks;
    } traces[] = {{"../shared/data/lirs/cs.trace", 6781, 1409}, {"../shared/data/lirs/cpp.trace", 9047, 1223}};
    if (access(traces[0].path, R_OK) != 0) {
        print_message("# no ../shared/data: the LIRS traces are not tested\n");
        skip();
    }
    for (size_t i = 0; i < 2; i++) {
        struct read r = {0};
        assert_true(trace_read_alone(traces[i].path, NULL, &r.trace, &r.own, &r.has_bytes, &r.err));
        assert_int_equal(r.trace.access_count, traces[i].uses);
        assert_int_equal(r.own.block_count, traces[i].blocks);
        r.has_own = true;
        drop(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_ids_across_chunks),
        cmocka_unit_test(test_ids_of_a_model),
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_an_embedding_alone_is_a_look_up),
        cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_separators_first),
        cmocka_unit_test(test_sums_of_a_model_s_sizes),
        cmocka_unit_test(test_lirs_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
