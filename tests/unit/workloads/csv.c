/* The csv reader: its columns, what it refuses, and what the writer wrote. */
#include "reader_helpers.h"

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
    assert_int_equal(bytes_of(&r.trace, work_of(&r.trace, 2)), 50);
    assert_int_equal(work_of(&r.trace, 3)->fixed_ns, 0);
    drop(&r);

    assert_true(alone(&r, NULL, "block\n7\nx\n7\n", 12));
    steps_are(&r.trace, "0 1 0");
    assert_false(r.has_bytes);
    assert_false(r.trace.counts_tokens);
    drop(&r);
    reads(NULL, "step,block\n1,a\n1,b\n2,a\n4,a\n", "0,1 0 0");
    reads(NULL, "step,token,block\n1,1,a\n1,2,a\n", "0 0");          /* a step ends with its token */
    reads(NULL, "step,token,block\n7,1,a\n8,1,a\n2,2,a\n", "0 0 0"); /* where numbers may start anew */
}

/* Without token numbers, a stretch of one phase is a token, and a pause ends a stretch. */
static void test_csv_of_phases(void **state)
{
    (void)state;
    static const struct {
        enum phase phase;
        uint32_t steps;
        int64_t idle_ns;
    } expected[] = {{PHASE_PREFILL, 2, 0}, {PHASE_DECODE, 2, 0}, {PHASE_DECODE, 1, 12}, {PHASE_PREFILL, 1, 0}};
    static const char text[] = "block,phase,step,compute_ns\n"
                               "a,prefill,5,1\nb,prefill,6,1\n"
                               "a,decode,1,1\nb,,2,1\n"
                               ",idle,,5\n,idle,,7\n"
                               "a,decode,0,1\n"
                               "a,prefill,0,1\n";
    struct read r;
    assert_true(alone(&r, NULL, text, sizeof text - 1));
    steps_are(&r.trace, "0 1 0 1 0 0");
    assert_true(r.trace.counts_tokens);
    assert_int_equal(r.trace.segment_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct segment *segment = &r.trace.segments[i];
        assert_int_equal(segment->token, i);
        assert_int_equal(segment->context_first, i);
        assert_int_equal(segment->phase, expected[i].phase);
        assert_int_equal(segment->step_count, expected[i].steps);
        assert_int_equal(segment->idle_ns, expected[i].idle_ns);
    }
    drop(&r);
}

static void test_csv_refusals(void **state)
{
    (void)state;
    refuses(NULL, "blok,bytes\n", "F:1: unknown column \"blok\": did you mean block?");
    refuses(NULL, "block,block\n", "F:1: two columns \"block\"");
    refuses(NULL, "bytes,step\n", "F:1: no column \"block\": expected it among the names of the columns");
    refuses(NULL, "block,phase\n", "F: the trace is empty: it names no block");
    refuses(NULL, "step,block\n1,a\n2,a\n1,a\n", "F:4: step 1 behind step 2: expected numbers that do not decrease");
    refuses(NULL, "step,token,block\n5,0,a\n1,1,a\n0,1,a\n",
            "F:4: step 0 behind step 1: expected numbers that do not decrease within a token");
    refuses(NULL, "step,phase,block\n5,prefill,a\n1,decode,a\n0,decode,a\n",
            "F:4: step 0 behind step 1: expected numbers that do not decrease within a token");
    refuses(NULL, "51,32768,7\n49,22528,8\n",
            "F:1: found numbers, expected the names of the columns: put a line \"block,bytes,step,token\" above it, or "
            "say which column is which: --trace-format 'csv(id=1,size=2)'");
    refuses(NULL, "time,object,size\n",
            "F:1: unknown column \"time\"; expected block, bytes, step, token, phase, compute_ns, layer or kind; where "
            "columns have other names, say their places: --trace-format 'csv(time=1,id=2,size=3,header)'");
    refuses(NULL, "block,bytes\na,1\nb\n", "F:3: found 1 fields, expected 2 as in the line of column names");
    refuses(NULL, "block,bytes\na,1\na,2\n", "F:3: block \"a\" has 2 bytes: expected 1 as where it appears first");
    refuses(NULL, "block,bytes\na,\n", "F:2: block \"a\" has no bytes: expected its size where it appears first");
    refuses(NULL, "block,bytes\na,1\nb\xFF,1\n", "F:3: block name \"b?\": byte 2 is not UTF-8");
    refuses(NULL, "block,bytes\nb\xC2\x9B,1\n", "F:2: block name \"b?\" holds a control character");
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
        assert_int_equal(bytes_of(&first.trace, work_of(&first.trace, s)),
                         bytes_of(&second.trace, work_of(&second.trace, s)));
    }
    assert_int_equal(second.own.blocks[1].layer, 4);
    assert_int_equal(second.own.blocks[1].kind, BLOCK_EXPERT);
    assert_false(trace_write_csv(&first.trace, &first.own, "/nonexistent/t.csv", &err));
    assert_int_equal(err.code, STATUS_IO);
    assert_string_equal(err.text, "cannot write /nonexistent/t.csv: No such file or directory");
    drop(&first);
    drop(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_of_phases),
        cmocka_unit_test(test_csv_refusals),
        cmocka_unit_test(test_csv_of_a_model),
        cmocka_unit_test(test_csv_that_was_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
