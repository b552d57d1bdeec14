/* csv with columns by place: how they are said, and what the lines hold. */
#include "reader_helpers.h"
#include "workloads/text_ids.h"

static void parses(const char *text, struct csv_columns expected)
{
    struct trace_format format;
    struct error err = {0};
    const bool good = trace_format_parse(text, &format, &err);
    assert_string_equal(err.text, "");
    assert_true(good && format.has_columns);
    assert_string_equal(format.reader->name, "csv");
    assert_int_equal(format.columns.time, expected.time);
    assert_int_equal(format.columns.id, expected.id);
    assert_int_equal(format.columns.size, expected.size);
    assert_int_equal(format.columns.delimiter, expected.delimiter);
    assert_int_equal(format.columns.has_header, expected.has_header);
    assert_int_equal(format.columns.id_kind, expected.id_kind);
}

static void says(const char *text, const char *expected)
{
    struct trace_format format;
    struct error err = {0};
    assert_false(trace_format_parse(text, &format, &err));
    assert_string_equal(err.text, expected);
    assert_int_equal(err.code, STATUS_USAGE);
}

static void test_columns_said(void **state)
{
    (void)state;
    parses("csv(id=1)", (struct csv_columns){.id = 1, .delimiter = ','});
    parses("csv(time=1,id=2,size=3,delimiter=;,header)", (struct csv_columns){1, 2, 3, ';', true, ID_AUTO});
    parses("csv (time-col=1, obj-id-col=2, obj-size-col=3, delimiter=,, has-header=true)",
           (struct csv_columns){1, 2, 3, ',', true, ID_AUTO});
    parses("csv(delimiter=,,id=64,obj-id-is-num=0)", (struct csv_columns){0, 64, 0, ',', false, ID_TEXT});
    parses("csv(id=1,number,has-header=0,delimiter=tab)", (struct csv_columns){0, 1, 0, '\t', false, ID_NUMBER});
    parses("csv( id=1 , delimiter=\\t , header=false )", (struct csv_columns){0, 1, 0, '\t', false, ID_AUTO});
    parses("csv(id=1,delimiter=|)", (struct csv_columns){0, 1, 0, '|', false, ID_AUTO});

    says("csv()", "csv(...): no column of the ids: expected for example csv(id=1,size=2)");
    says("csv(id=1,siez=2)", "csv(...): unknown option \"siez\": did you mean size?");
    says("csv(id=1,obj-size-cl=2)", "csv(...): unknown option \"obj-size-cl\": did you mean obj-size-col?");
    says("csv(id=0)", "csv(...): id=0: expected the number of a column, 1 to 64");
    says("csv(id=65)", "csv(...): id=65: expected the number of a column, 1 to 64");
    says("csv(id=x)", "csv(...): id=x: expected the number of a column, 1 to 64");
    says("csv(id)", "csv(...): id=: expected the number of a column, 1 to 64");
    says("csv(id=1,obj-id-col=2)", "csv(...): obj-id-col is given twice");
    says("csv(id=2,size=2)", "csv(...): id and size are both column 2");
    says("csv(id=1,header=maybe)", "csv(...): header=maybe: expected true or false");
    says("csv(id=1,header=)", "csv(...): header=: expected true or false");
    says("csv(id=1 size=2)", "csv(...): found \"size=2)\": expected a comma or \")\"");
    says("csv(id=1", "csv(...): found \"\": expected a comma or \")\"");
    says("csv(id=1,)x", "csv(...): found \"x\" behind it: expected nothing");
    says("csv(id=1,delimiter=)", "csv(...): delimiter: expected one character that is no digit, quote or parenthesis, "
                                 "or comma, semicolon, tab, space, pipe");
    says("ids(id=1)", "trace format ids takes no columns: expected only csv to have them");
    says("cvs(id=1)", "unknown trace format \"cvs\": did you mean csv?");
}

static void test_columns_read(void **state)
{
    (void)state;
    struct read r;
    reads("csv(id=1)", "5\n\n 7 \r\n5", "0 1 0");
    reads("csv(time=1,id=2,size=3,delimiter=;,header)", "\nt;id;size\n\n0;9;10\n1;9;10;more\n", "0 0");
    reads("csv(id=2,delimiter=tab)", "a\t1\t\nb\t2\t\n", "0 1");
    reads("csv(id=2,delimiter=space)", "a 1\nb 2\nc 1\n", "0 1 0");
    reads("csv(id=1,size=2)", "\"a,b\",1\n\"a,c\",1\n", "0 1");
    reads("csv(id=1)", "key one\nk\xC3\xA9y\n\"key one\"\n", "0 1 0");
    reads("csv(id=1,obj-id-is-num=false)", "7\n07\n7\n", "0 1 0"); /* other texts, equal numbers */
    reads("csv(id=1)", "7\n07\n7\n", "0 0 0");

    static const char text[] = "0,x1,10\n0,x2,20\n0,x1,11\n0,x3,1\n";
    assert_true(alone(&r, "csv(id=2,size=3)", text, sizeof text - 1));
    steps_are(&r.trace, "0 1 0 2");
    assert_true(r.has_bytes);
    assert_int_equal(r.trace.resized_count, 1);
    assert_int_equal(r.trace.accessed_bytes, 41);
    assert_int_equal(r.own.policy_blocks[1].bytes, 20);
    assert_string_equal(model_block_name(&r.own, 2), "x3");
    assert_int_equal(model_find(&r.own, "x2"), 1);
    assert_int_equal(model_find(&r.own, "2"), 2); /* no block of that name: the id */
    assert_int_equal(model_find(&r.own, "x4"), BLOCK_NONE);
    drop(&r);

    assert_true(alone(&r, NULL, "9,100\n 8,50\r\n9,100\n", 19)); /* id,size without names */
    steps_are(&r.trace, "0 1 0");
    assert_true(r.has_bytes);
    assert_int_equal(r.trace.accessed_bytes, 250);
    drop(&r);
    reads("csv", "9,100\n", "0");
}

static void test_columns_refused(void **state)
{
    (void)state;
    char text[300];
    refuses("csv(id=1)", "", "F: the trace is empty: it names no block");
    refuses("csv(id=1,header)", "1\n", "F: the trace is empty: it names no block");
    refuses("csv(id=1,size=3)", "1,2,3\n\n4,5\n", "F:3: found 2 fields, expected at least 3");
    refuses("csv(time=4,id=1)", "1,2,3\n", "F:1: found 3 fields, expected at least 4");
    refuses("csv(id=1,size=2)", "id,size\n1,2\n",
            "F:1: size \"size\": expected a whole number from 1 to 2^63-1; where the first line has names, say header "
            "among the columns of csv(...)");
    refuses("csv(id=1,size=2)", "1,1\n1,0\n", "F:2: size \"0\": expected a whole number from 1 to 2^63-1");
    refuses("csv(id=1,size=2)", "1,9223372036854775808\n",
            "F:1: size \"9223372036854775808\": expected a whole number from 1 to 2^63-1; where the first line has "
            "names, say header among the columns of csv(...)");
    refuses(
        "csv(id=1)", "1\nx\n",
        "F:2: id \"x\": expected a number below 2^64 like the first one, or obj-id-is-num=false among the columns of "
        "csv(...)");
    refuses("csv(id=1,number)", "x\n",
            "F:1: id \"x\": expected a number below 2^64, or obj-id-is-num=false among the columns of csv(...)");
    refuses("csv(id=1)", ",2\n", "F:1: block \"\" has a name of 0 bytes: expected 1 to 255");
    refuses("csv(id=1)", "x\nb\xFF\n", "F:2: block \"b?\": byte 2 of its name is not UTF-8");
    refuses("csv(id=1)", "x\nb\x7F\n", "F:2: block \"b?\": its name holds a control character");
    refuses("csv(id=1,size=2)", "1,4611686018427387904\n2,4611686018427387904\n",
            "F: the blocks together have more than 2^63 bytes");
    refuses("csv(id=1,size=2)", "1,9223372036854775807\n1,9223372036854775807\n1,5\n",
            "F:3: the trace accesses more than 2^63 bytes");
    memset(text, 'a', sizeof text);
    text[256] = '\0';
    struct text_ids ids = {0};
    struct error err = {0};
    uint32_t id = 9;
    assert_false(text_ids_put(&ids, text, &id, &err));
    assert_true(text_ids_put(&ids, text + 1, &id, &err));
    assert_int_equal(id, 0);
    text_ids_free(&ids);
}

static void test_many_texts(void **state)
{
    (void)state;
    struct text_ids ids = {0};
    struct error err;
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 50000; i++) {
            char text[24];
            uint32_t id = 0;
            snprintf(text, sizeof text, "object-%u", i * 7);
            assert_true(text_ids_put(&ids, text, &id, &err));
            assert_int_equal(id, i);
        }
    assert_int_equal(ids.count, 50000);
    assert_string_equal(ids.texts + ids.offsets[3], "object-21");
    text_ids_free(&ids);
}

static void test_columns_of_a_model(void **state)
{
    (void)state;
    struct model model;
    struct read r;
    struct workload_spec spec = trace_spec(NULL);
    spec.format = "csv(id=2,size=3)";
    make_list(&model, "embed:10B layer1:20B");
    assert_true(with_model(&r, &spec, &model, "0,layer1,20\n0,embed,10\n0,1,20\n"));
    steps_are(&r.trace, "1 0 1");
    assert_int_equal(r.trace.resized_count, 0);
    drop(&r);
    assert_true(with_model(&r, &spec, &model, "0,1,21\n0,0,10\n"));
    steps_are(&r.trace, "1 0");
    assert_int_equal(r.trace.resized_count, 1);
    drop(&r);
    assert_false(with_model(&r, &spec, &model, "0,layer2,20\n"));
    assert_string_equal(r.err.text,
                        "F:1: block \"layer2\": the model \"list\" has no such block: did you mean layer1?");
    assert_false(with_model(&r, &spec, &model, "0,1,20\n\n0,2,20\n"));
    assert_string_equal(r.err.text, "F:3: block 2: expected a block of the model \"list\", 0 to 1");
    model_free(&model);

    assert_true(with_model(&r, &spec, NULL, "0,a,5\n0,b,6\n0,a,5\n")); /* blocks of its own, which the engine runs */
    assert_true(r.has_own);
    assert_string_equal(model_block_name(&r.own, 1), "b");
    assert_int_equal(r.own.blocks[1].bytes, 6);
    assert_int_equal(work_of(&r.trace, 1)->bytes, 6);
    drop(&r);
    spec.format = "csv(id=2)";
    assert_false(with_model(&r, &spec, NULL, "0,a,5\n"));
    assert_int_equal(r.err.code, STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_said),       cmocka_unit_test(test_columns_read),
        cmocka_unit_test(test_columns_refused),    cmocka_unit_test(test_many_texts),
        cmocka_unit_test(test_columns_of_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
