/* Truth files: what is read, and what is refused with its place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/validate_parts.h"
#include "tests/cmocka_fixed.h"

/* A copy of exactly the text's size, so that a sanitizer sees what is read behind it. */
static bool parse(const char *text, size_t size, struct arena *arena, struct truth_file *file, struct error *err)
{
    char *copy = arena_alloc(arena, size + 1, 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    return truth_parse("t.csv", copy, size, arena, file, err);
}

static void refused(const char *text, const char *expected)
{
    struct arena arena = {0};
    struct truth_file file;
    struct error err = {0};
    assert_false(parse(text, strlen(text), &arena, &file, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    assert_string_equal(err.text, expected);
    arena_free(&arena);
}

#define FLASH "lanes,block_kib,mib_per_s,latency_ms\n"

static void rows_are_read(void **state)
{
    (void)state;
    static const char text[] = "\xEF\xBB\xBF# a source, with a comma\r\n\r\n# another\r\n"
                               "block_kib,lanes,latency_ms,mib_per_s,source\r\n"
                               "4096, 1 ,2.21,1810,\"a, b\"\r\n"
                               "  \n"
                               "128,2,,1e3,";
    struct arena arena = {0};
    struct truth_file file;
    struct error err;
    assert_true(parse(text, sizeof text - 1, &arena, &file, &err));
    assert_ptr_equal(file.family, &truth_flash);
    assert_int_equal(file.row_count, 2);
    assert_int_equal(file.rows[0].line, 5);
    assert_int_equal(file.rows[1].line, 7);
    /* By the family's columns: lanes, block_kib, mib_per_s, latency_ms, device, source. */
    const struct truth_cell *first = file.rows[0].cells, *second = file.rows[1].cells;
    assert_true(first[0].number == 1 && first[1].number == 4096 && first[2].number == 1810 && first[3].number == 2.21);
    assert_string_equal(first[4].text, "");
    assert_string_equal(first[5].text, "a, b");
    assert_true(second[2].number == 1000 && isnan(second[3].number));
    arena_free(&arena);
}

static void columns_tell_the_family(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        const struct truth_family *family;
    } cases[] = {
        {"source,ram_gb,file_gb,disk_gb_per_s,measured_s_per_token\nx,1,1,1,1", &truth_dense},
        {"model,quant,file_bytes,source\na,b,1,", &truth_gguf_sizes},
        {"source,file_bytes,quant,model\n,1,a,b", &truth_gguf_sizes},
        {"model,kv_type,context_tokens,kv_bytes,source\na,f16,1,1,", &truth_kv_sizes},
        {"trace,policy,params,cache_objs,requests,misses\na,lru,,1,1,1", &truth_cachesim},
        {"trace,capacity_objects,lru,fifo,belady\ncs,1,,,1", &truth_lirs},
        {"# route_trace v1\nanything\n", &truth_route_trace},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct truth_file file;
        struct error err;
        if (!parse(cases[i].header, strlen(cases[i].header), &arena, &file, &err))
            fail_because("%s", err.text);
        assert_ptr_equal(file.family, cases[i].family);
        arena_free(&arena);
    }
}

static void headers_are_refused(void **state)
{
    (void)state;
    refused("", "t.csv:1: no line of column names; expected the columns of a family");
    refused("# only words\n", "t.csv:2: no line of column names; expected the columns of a family");
    refused(FLASH, "t.csv:2: no row behind the column names");
    refused("lanes,block_kib,mib_per_s,latency_ms,lanes\n", "t.csv:1: column \"lanes\" is there twice");
    refused(
        "lanes,block_kb,mib_per_s,latency_ms\n",
        "t.csv:1: not the columns of a family; of the nearest, flash, missing: block_kib; unknown: \"block_kb\" (did "
        "you mean block_kib?)");
    refused("lanes,block_kib,mib_per_s,latency_ms,colour\n",
            "t.csv:1: not the columns of a family; of the nearest, flash, unknown: \"colour\"");
    refused("lanes,block_kib,latency_ms\n",
            "t.csv:1: not the columns of a family; of the nearest, flash, missing: mib_per_s");
    refused("year,price\n", "t.csv:1: column \"year\": these are the columns of no family; expected those of flash, "
                            "streaming, larger-than-ram, in-ram, file-sizes, kv-sizes, page-cache, policies, "
                            "not-compared");
}

static void cells_are_refused(void **state)
{
    (void)state;
    refused(FLASH "1,4096,1810\n", "t.csv:2: 3 fields; expected 4, as many as there are columns");
    refused(FLASH "1,4096,fast,\n", "t.csv:2: column mib_per_s: \"fast\" is no number; expected a number such as 1.71");
    refused(FLASH "1,4096,-5,\n", "t.csv:2: column mib_per_s: \"-5\" is no number; expected a number such as 1.71");
    refused(FLASH "1,4096,0x10,\n", "t.csv:2: column mib_per_s: \"0x10\" is no number; expected a number such as 1.71");
    refused(FLASH "1,4096,nan,\n", "t.csv:2: column mib_per_s: \"nan\" is no number; expected a number such as 1.71");
    refused(FLASH "1,4096,5e,\n", "t.csv:2: column mib_per_s: \"5e\" is no number; expected a number such as 1.71");
    refused(FLASH "1,4096,1e400,\n", "t.csv:2: column mib_per_s: 1e400 is too large; expected at most 1000000");
    refused(FLASH "1,4096,99999999999999999999,\n",
            "t.csv:2: column mib_per_s: 99999999999999999999 is too large; expected at most 1000000");
    refused(FLASH "1.5,4096,1,\n", "t.csv:2: column lanes: 1.5 is not whole; expected a whole number");
    refused(FLASH "x,4096,1,\n", "t.csv:2: column lanes: \"x\" is no number; expected a whole number such as 4096");
    refused(FLASH ",4096,1,\n", "t.csv:2: column lanes is empty; expected a number");
    refused("model,quant,file_bytes\n,q4_0,1\n", "t.csv:2: column model is empty; expected a text");
    refused(FLASH "1,4096,1\x01,\n", "t.csv:2: a control character (U+0001) in the value");
    refused(FLASH "1,4096,1\xFF,\n", "t.csv:2: byte 9 of the value is not UTF-8");
}

static void what_is_no_text_or_too_long_is_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct truth_file file;
    struct error err;
    assert_false(parse(FLASH "1,\0,1,\n", sizeof FLASH "1,\0,1,\n" - 1, &arena, &file, &err));
    assert_string_equal(err.text, "t.csv: holds a NUL: this is no text");
    char *line = arena_alloc(&arena, TRUTH_LINE_MAX + 64, 1);
    memcpy(line, FLASH, strlen(FLASH));
    memset(line + strlen(FLASH), '1', TRUTH_LINE_MAX + 1);
    assert_false(parse(line, strlen(line), &arena, &file, &err));
    assert_string_equal(err.text, "t.csv:2: a line of 4097 bytes; expected at most 4096");
    memset(line, ',', TRUTH_LINE_MAX);
    line[TRUTH_LINE_MAX] = '\0';
    assert_false(parse(line, strlen(line), &arena, &file, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    arena_free(&arena);
}

static void numbers_are_compared_as_they_were_printed(void **state)
{
    (void)state;
    assert_true(truth_as_printed(35.1405, "35.141") == 35.141 || truth_as_printed(35.1405, "35.141") == 35.14);
    assert_true(truth_as_printed(35.1409, "35.141") == 35.141);
    assert_true(truth_as_printed(0.99996, "0.0000") == 1.0);
    assert_true(truth_as_printed(7.6, "7") == 8);
    assert_true(truth_as_printed(1e18, "7.1") == 1e18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read),
        cmocka_unit_test(columns_tell_the_family),
        cmocka_unit_test(headers_are_refused),
        cmocka_unit_test(cells_are_refused),
        cmocka_unit_test(what_is_no_text_or_too_long_is_refused),
        cmocka_unit_test(numbers_are_compared_as_they_were_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
