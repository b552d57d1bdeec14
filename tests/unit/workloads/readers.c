/* The readers of traces: what each takes, how a format is found, and the line that is said about everything else. */
#include <zstd.h>

#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"

struct read {
    struct trace trace;
    struct model own;
    bool has_own, has_bytes;
    struct error err;
};

/* As `replay` reads: without a model, any ids. */
static bool alone(struct read *r, const char *format, const void *data, size_t size)
{
    char *path = write_file(data, size);
    *r = (struct read){0};
    const bool good = trace_read_alone(path, format, &r->trace, &r->own, &r->has_bytes, &r->err);
    r->has_own = good;
    char *name = strstr(r->err.text, path);
    if (name != NULL) /* the same in every run */
        memmove(name, name + strlen(path) - 1, strlen(name) - strlen(path) + 2), name[0] = 'F';
    remove_file(path);
    return good;
}

/* As `run` reads. */
static bool with_model(struct read *r, const struct workload_spec *spec, const struct model *model, const char *text)
{
    char *path = write_file(text, strlen(text));
    struct workload_spec own = *spec;
    own.trace = path;
    *r = (struct read){0};
    const bool good = workload_compile(&own, model, &r->trace, &r->own, &r->has_own, &r->err);
    char *name = strstr(r->err.text, path);
    if (name != NULL)
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

static void reads(const char *format, const char *text, const char *steps)
{
    struct read r;
    const bool good = alone(&r, format, text, strlen(text));
    assert_string_equal(r.err.text, "");
    assert_true(good);
    steps_are(&r.trace, steps);
    drop(&r);
}

static void refuses(const char *format, const char *text, const char *expected)
{
    struct read r;
    assert_false(alone(&r, format, text, strlen(text)));
    assert_string_equal(r.err.text, expected);
    assert_true(r.err.code == STATUS_INPUT || r.err.code == STATUS_USAGE);
}

static void test_ids(void **state)
{
    (void)state;
    struct read r;
    reads(NULL, "5\n7\n5\n", "0 1 0");
    reads(NULL,
          "\xEF\xBB\xBF"
          "5\r\n*\r\n\r\n 7 \r\n5",
          "0 1 0");
    reads(NULL, "*\n\n18446744073709551615\n0", "0 1");
    assert_true(alone(&r, NULL, "70\n7\n70\n", 8));
    assert_string_equal(model_block_name(&r.own, 0), "70");
    assert_int_equal(r.own.blocks[1].bytes, 1);
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
    refuses(NULL, "1\n2,3\n", "F:2: found \",3\", expected one block id a line, a decimal number");
    refuses("ids", "1\n2 3\n", "F:2: found \"3\", expected one block id a line, a decimal number");
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
    assert_int_equal(work_of(&r.trace, 0)->bytes, 20);
    assert_int_equal(work_of(&r.trace, 1)->bytes, 10);
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
                                    "not: expected auto");
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

static void test_csv(void **state)
{
    (void)state;
    struct read r;
    static const char text[] = "kind,bytes,block,token,step,phase,layer,compute_ns\n"
                               "embedding,100,\"a \"\"b\"\", c\",5,0,prefill,-1,7\n"
                               "layer,50,l0,5,1,prefill,0,\n"
                               "expert,30,x,5,1,prefill,0,4\n"
                               "layer,,l0,5,1,prefill,,5\n"
                               ",,,,,idle,,1000\n"
                               ",,,6,,idle,,234\n"
                               ",50,l0,6,1,,,\n"
                               "\n"
                               ",, x ,9,1,decode,,0\n";
    assert_true(alone(&r, NULL, text, sizeof text - 1));
    assert_string_equal(r.err.text, "");
    steps_are(&r.trace, "0 1,2?,1= 1 2?");
    assert_string_equal(model_block_name(&r.own, 0), "a \"b\", c");
    assert_int_equal(r.own.blocks[2].bytes, 30);
    assert_int_equal(r.own.blocks[2].kind, BLOCK_EXPERT);
    assert_int_equal(r.own.blocks[2].layer, 0);
    assert_int_equal(r.own.blocks[0].layer, -1);
    assert_true(r.has_bytes);
    assert_int_equal(r.trace.segment_count, 3);
    assert_int_equal(r.trace.segments[0].phase, PHASE_PREFILL);
    assert_int_equal(r.trace.segments[0].token, 5);
    assert_int_equal(r.trace.segments[0].idle_ns, 0);
    assert_int_equal(r.trace.segments[1].token, 6);
    assert_int_equal(r.trace.segments[1].idle_ns, 1234);
    assert_int_equal(r.trace.segments[1].context_first, 1);
    assert_int_equal(r.trace.segments[2].token, 9);
    assert_int_equal(r.trace.segments[2].phase, PHASE_DECODE);
    assert_int_equal(work_of(&r.trace, 0)->fixed_ns, 7);
    assert_int_equal(work_of(&r.trace, 1)->fixed_ns, 9);
    assert_int_equal(work_of(&r.trace, 2)->fixed_ns, -1); /* no time of its own: the roofline */
    assert_int_equal(work_of(&r.trace, 2)->bytes, 50);
    assert_int_equal(work_of(&r.trace, 3)->fixed_ns, 0);
    drop(&r);

    assert_true(alone(&r, NULL, "block\n7\nx\n7\n", 12));
    steps_are(&r.trace, "0 1 0");
    assert_false(r.has_bytes);
    assert_false(r.trace.counts_tokens);
    drop(&r);
    reads(NULL, "step,block\n1,a\n1,b\n2,a\n1,a\n", "0,1 0 0"); /* only neighbours are one step */
    reads(NULL, "step,token,block\n1,1,a\n1,2,a\n", "0 0");     /* a step ends with its token */
}

static void test_csv_refusals(void **state)
{
    (void)state;
    refuses(NULL, "blok,bytes\n", "F:1: unknown column \"blok\": did you mean block?");
    refuses(NULL, "block,block\n", "F:1: two columns \"block\"");
    refuses(NULL, "bytes,step\n", "F:1: no column \"block\": expected it among the names of the columns");
    refuses(NULL, "block,phase\n", "F:1: a column \"phase\" needs a column \"token\"");
    refuses(NULL, "51,32768\n49,22528\n",
            "F:1: found numbers, expected the names of the columns: put a line \"block,bytes\" above it");
    refuses(NULL, "block,bytes\na,1\nb\n", "F:3: found 1 fields, expected 2 as in the line of column names");
    refuses(NULL, "block,bytes\na,1\na,2\n", "F:3: block \"a\" has 2 bytes: expected 1 as where it appears first");
    refuses(NULL, "block,bytes\na,\n", "F:2: block \"a\" has no bytes: expected its size where it appears first");
    refuses(NULL, "block,bytes\na,0\n", "F:2: bytes 0: expected at least 1");
    refuses(NULL, "block,bytes\na,1KB\n", "F:2: bytes \"1KB\": expected a whole number from 0 to 9223372036854775807");
    refuses(NULL, "block,bytes\n,1\n", "F:2: no block: expected its name");
    refuses(NULL, "block,bytes\n\"a,1\n", "F:2: a field in quotes does not end on its line: expected a closing \"");
    refuses(NULL, "block,bytes\n\"a\"x,1\n", "F:2: found \"x,1\" behind a field in quotes: expected a comma");
    refuses(NULL, "block,kind\na,layr\n", "F:2: kind \"layr\": did you mean layer?");
    refuses(NULL, "block,token\na,2\na,1\n", "F:3: token 1 behind token 2: expected numbers that do not decrease");
    refuses(NULL, "block,token,phase\na,2,prefil\n", "F:2: phase \"prefil\": did you mean prefill?");
    refuses(NULL, "block,token,phase\na,2,prefill\na,2,decode\n",
            "F:3: token 2 is prefill and decode: expected one phase");
    refuses(NULL, "block,token,phase,compute_ns\na,1,,\n,,idle,5\na,1,,\n",
            "F:4: a pause inside token 1: expected it between tokens");
    refuses(NULL, "block,token,phase,compute_ns\na,1,,\n,,idle,5\n",
            "F: the last line is a pause: expected a token behind it");
    refuses(NULL, "block,token,phase,compute_ns\na,1,idle,5\n",
            "F:2: phase idle: found the block \"a\", expected none");
    refuses(NULL, "block,compute_ns\na,4611686018427387905\n",
            "F:2: compute_ns \"4611686018427387905\": expected a whole number from 0 to 4611686018427387904");
}

static void test_csv_of_a_model(void **state)
{
    (void)state;
    struct model model;
    struct read r;
    const struct workload_spec spec = trace_spec(NULL);
    make_list(&model, "embed:10B layer0:20B");
    assert_true(with_model(&r, &spec, &model, "block,bytes\nlayer0,20\n0,\n"));
    steps_are(&r.trace, "1 0");
    assert_false(r.has_own);
    drop(&r);
    assert_false(with_model(&r, &spec, &model, "block\nlayr0\n"));
    assert_string_equal(r.err.text, "F:2: block \"layr0\": the model \"list\" has no such block: did you mean layer0?");
    assert_false(with_model(&r, &spec, &model, "block,bytes\nlayer0,21\n"));
    assert_string_equal(r.err.text, "F:2: block \"layer0\" has 21 bytes: expected 20 as in the model");
    model_free(&model);

    assert_true(with_model(&r, &spec, NULL, "block,bytes\nb,7\na,8\n"));
    assert_true(r.has_own);
    assert_int_equal(r.own.weights_bytes, 15);
    drop(&r);
    assert_false(with_model(&r, &spec, NULL, "block\nb\n"));
    assert_string_equal(r.err.text, "F:1: no column \"bytes\": expected it, or a [model] that has these blocks");
    assert_int_equal(r.err.code, STATUS_USAGE);
}

static void test_csv_that_was_written(void **state)
{
    (void)state;
    struct read first, second;
    struct error err = {0};
    static const char text[] = "block,bytes,step,token,phase,compute_ns,layer,kind\n"
                               "\"a,\"\"1\",10,0,0,prefill,3,,embedding\n"
                               "b,20,1,0,prefill,,4,expert\n"
                               "b,20,1,0,prefill,,4,expert\n"
                               ",,,,idle,77,,\n"
                               "b,20,2,3,decode,1,4,expert\n";
    assert_true(alone(&first, NULL, text, sizeof text - 1));
    char *path = write_file("", 0);
    assert_true(trace_write_csv(&first.trace, &first.own, path, &err));
    second = (struct read){0};
    assert_true(trace_read_alone(path, NULL, &second.trace, &second.own, &second.has_bytes, &second.err));
    second.has_own = true;
    remove_file(path);
    steps_are(&first.trace, "0 1?,1=? 1?");
    steps_are(&second.trace, "0 1?,1=? 1?");
    assert_string_equal(model_block_name(&second.own, 0), "a,\"1");
    assert_int_equal(second.trace.segment_count, 2);
    assert_int_equal(second.trace.segments[1].idle_ns, 77);
    assert_int_equal(second.trace.segments[1].token, 3);
    assert_int_equal(second.trace.segments[0].phase, PHASE_PREFILL);
    for (uint32_t s = 0; s < 3; s++) {
        assert_int_equal(work_of(&first.trace, s)->fixed_ns, work_of(&second.trace, s)->fixed_ns);
        assert_int_equal(work_of(&first.trace, s)->bytes, work_of(&second.trace, s)->bytes);
    }
    assert_int_equal(second.own.blocks[1].layer, 4);
    assert_int_equal(second.own.blocks[1].kind, BLOCK_EXPERT);
    assert_false(trace_write_csv(&first.trace, &first.own, "/nonexistent/t.csv", &err));
    assert_int_equal(err.code, STATUS_IO);
    assert_string_equal(err.text, "cannot write /nonexistent/t.csv: No such file or directory");
    drop(&first);
    drop(&second);
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
    assert_int_equal(work_of(&r.trace, 0)->bytes, 64 * 2);
    assert_int_equal(work_of(&r.trace, 0)->term_count, 0);
    assert_int_equal(work_of(&r.trace, 1)->bytes, 100 * 64 * 2 + 64 * 4);
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
    assert_int_equal(work_of(&trace, 2)->bytes, 30);
    trace_free(&trace);
    spec.sequence = "embed layer3";
    assert_false(workload_compile(&spec, &model, &trace, &own, &has_own, &err));
    assert_string_equal(err.text,
                        "sequence: block \"layer3\": the model \"list\" has no such block: did you mean layer1?");
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
        "F:2: \"# tracer: nop\" begins no known format: expected a block id (ids), ids with blanks between (passes), "
        "names of columns with \"block\" (csv) or \"# route_trace v1\" (route)");
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
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_refusals),
        cmocka_unit_test(test_csv_of_a_model),
        cmocka_unit_test(test_csv_that_was_written),
        cmocka_unit_test(test_an_embedding_alone_is_a_look_up),
        cmocka_unit_test(test_sequence),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_lirs_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
