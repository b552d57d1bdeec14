/* Readers of numbered blocks: oracleGeneral, arc, the sizes that they find, and the models that they build. */
#include <zlib.h>
#include <zstd.h>

#include "reader_helpers.h"

struct record {
    uint32_t time;
    uint64_t id;
    uint32_t size;
    int64_t next;
};

/* The bytes of a file, byte by byte; the caller frees them. */
static unsigned char *pack(const struct record *records, size_t count, size_t *size)
{
    unsigned char *data = malloc(count * 24 + 1), *to = data;
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        const uint64_t values[] = {records[i].time, records[i].id, records[i].size, (uint64_t)records[i].next};
        static const unsigned widths[] = {4, 8, 4, 8};
        for (size_t f = 0; f < 4; f++)
            for (unsigned b = 0; b < widths[f]; b++)
                *to++ = (unsigned char)(values[f] >> 8 * b);
    }
    *size = count * 24;
    return data;
}

static bool read_records(struct read *r, const char *format, const struct record *records, size_t count, size_t extra)
{
    size_t size;
    unsigned char *data = pack(records, count, &size);
    data[size] = 7;
    const bool good = alone(r, format, data, size + extra);
    free(data);
    return good;
}

static const struct record units[] = {{0, 900, 1, 2}, {0, UINT64_MAX, 1, -1}, {10, 900, 1, -1}, {10, 5, 1, -1}};
static const struct record sized[] = {{0, 70, 100, 2}, {1, 7, UINT32_MAX, 4}, {1, 70, 100, 3},
                                      {1, 70, 99, -1}, {2, 7, 1, -1},         {3, 8, 5, INT64_MAX}};

static void test_oracle_general(void **state)
{
    (void)state;
    struct read r;
    assert_true(read_records(&r, NULL, units, 4, 0));
    steps_are(&r.trace, "0 1 0 2");
    assert_false(r.has_bytes);
    assert_false(r.trace.counts_tokens);
    assert_int_equal(r.trace.accessed_bytes, 4);
    assert_int_equal(r.trace.working_set_bytes, 3);
    assert_int_equal(r.trace.resized_count, 0);
    drop(&r);

    assert_true(read_records(&r, "oracleGeneral", sized, 6, 0));
    steps_are(&r.trace, "0 1 0 0 1 2");
    assert_true(r.has_bytes);
    assert_int_equal(r.own.policy_blocks[1].bytes, UINT32_MAX);
    assert_int_equal(r.trace.resized_count, 2);
    assert_int_equal(r.trace.accessed_bytes, 300 + 2 * (uint64_t)UINT32_MAX + 5);
    assert_int_equal(r.trace.working_set_bytes, 105 + (uint64_t)UINT32_MAX);
    assert_int_equal(r.trace.step_bytes_max, UINT32_MAX);
    assert_int_equal(r.trace.cycle_bytes, r.trace.working_set_bytes);
    assert_null(r.trace.step_work); /* 4 bytes a record */
    drop(&r);

    static const struct record equal[] = {{0, 3, 4096, 1}, {0, 3, 4096, -1}};
    assert_true(read_records(&r, NULL, equal, 2, 0));
    assert_true(r.has_bytes);
    assert_int_equal(r.trace.accessed_bytes, 8192);
    assert_int_equal(r.trace.working_set_bytes, 4096);
    drop(&r);
}

static void test_oracle_general_refusals(void **state)
{
    (void)state;
    struct read r;
    assert_false(read_records(&r, NULL, units, 4, 1));
    assert_string_equal(r.err.text, "F: offset 96: the last record has 1 bytes: expected 24");
    assert_int_equal(r.err.code, STATUS_INPUT);
    assert_false(read_records(&r, "oracleGeneral", units, 0, 1));
    assert_string_equal(r.err.text, "F: offset 0: the last record has 1 bytes: expected 24");
    assert_false(read_records(&r, "oracleGeneral", units, 0, 0));
    assert_string_equal(r.err.text, "F: the trace is empty: it names no block");
    static const struct record nothing[] = {{0, 3, 4096, 1}, {0, 3, 0, -1}};
    assert_false(read_records(&r, NULL, nothing, 2, 0));
    assert_string_equal(r.err.text, "F: offset 24: a record of size 0: expected at least 1");
    static const struct record strange[] = {{9, 3, 1, 1}, {8, 3, 1, -1}}; /* time goes back */
    assert_false(read_records(&r, NULL, strange, 2, 0));
    assert_string_equal(r.err.text, "F: found binary data that does not look like records of oracleGeneral: expected "
                                    "text, or to be told by --trace-format oracleGeneral that they are");
    assert_true(read_records(&r, "oracleGeneral", strange, 2, 0));
    drop(&r);
}

/* Many records, so that batches and chunks are cut everywhere; sizes begin to differ late. */
static void test_oracle_general_many(void **state)
{
    (void)state;
    enum { RECORDS = 50000, LATE = 40321 };
    struct record *records = calloc(RECORDS, sizeof *records);
    assert_non_null(records);
    for (uint32_t i = 0; i < RECORDS; i++)
        records[i] = (struct record){i / 7, (uint64_t)(i % 1201) << 33, i < LATE ? 8 : 8 + i % 2, -1};
    size_t size;
    unsigned char *data = pack(records, RECORDS, &size);
    char *packed = malloc(ZSTD_compressBound(size));
    uLongf zipped = compressBound(size) + 64;
    assert_non_null(packed);
    const size_t packed_size = ZSTD_compress(packed, ZSTD_compressBound(size), data, size, 1);
    unsigned char *gzip = malloc(zipped);
    z_stream z = {.next_in = data, .avail_in = (uInt)size, .next_out = gzip, .avail_out = (uInt)zipped};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    const struct {
        const void *data;
        size_t size;
    } files[] = {{data, size}, {packed, packed_size}, {gzip, z.total_out}};
    for (size_t f = 0; f < 3; f++) {
        struct read r;
        uint64_t resized = 0;
        assert_true(alone(&r, NULL, files[f].data, files[f].size));
        assert_int_equal(r.trace.use_count, RECORDS);
        for (uint32_t i = 0; i < RECORDS; i++) {
            assert_true(r.trace.uses[i] == i % 1201);
            resized += records[i].size != 8;
        }
        assert_int_equal(r.trace.resized_count, resized);
        assert_int_equal(r.trace.accessed_bytes, 8 * RECORDS);
        assert_int_equal(r.own.keys[1200], (uint64_t)1200 << 33);
        drop(&r);
    }
    deflateEnd(&z);
    free(gzip);
    free(packed);
    free(data);
    free(records);
}

/* As `run` reads: blocks with names, places and the work of their bytes. */
static void test_oracle_general_to_run(void **state)
{
    (void)state;
    struct read r = {0};
    struct model model;
    size_t size;
    unsigned char *data = pack(sized, 6, &size);
    char *path = write_file(data, size);
    struct workload_spec spec = trace_spec(path);
    assert_true(workload_compile(&spec, NULL, &r.trace, &r.own, &r.has_own, &r.err));
    assert_true(r.has_own);
    assert_string_equal(model_block_name(&r.own, 2), "8");
    assert_int_equal(model_find(&r.own, "70"), 0);
    assert_int_equal(r.own.blocks[1].bytes, UINT32_MAX);
    assert_int_equal(r.own.extents[r.own.blocks[2].first_extent].offset_bytes, 100 + (uint64_t)UINT32_MAX);
    assert_int_equal(work_of(&r.trace, 5)->bytes, 5);
    drop(&r);

    make_list(&model, "71 x 7B");
    assert_true(workload_compile(&spec, &model, &r.trace, &r.own, &r.has_own, &r.err));
    steps_are(&r.trace, "70 7 70 70 7 8");
    assert_false(r.has_own);
    assert_int_equal(r.trace.resized_count, 6);
    assert_int_equal(r.trace.working_set_bytes, 21);
    drop(&r);
    model_free(&model);
    make_list(&model, "70 x 7B");
    assert_false(workload_compile(&spec, &model, &r.trace, &r.own, &r.has_own, &r.err));
    assert_non_null(strstr(r.err.text, ": offset 0: block 70: expected a block of the model \"list\", 0 to 69"));
    model_free(&model);
    remove_file(path);
    free(data);

    data = pack(units, 4, &size);
    spec.trace = path = write_file(data, size);
    assert_false(workload_compile(&spec, NULL, &r.trace, &r.own, &r.has_own, &r.err));
    assert_non_null(strstr(r.err.text, "a trace of format oracleGeneral whose sizes are all 1 brings no block sizes"));
    assert_int_equal(r.err.code, STATUS_USAGE);
    remove_file(path);
    free(data);
}

static void test_formats_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"/tmp/pocketload-%d.oracleGeneral", "/tmp/pocketload-%d.oraclegeneral.bin.zst",
                                        "/tmp/pocketload-%d.lis"};
    for (size_t i = 0; i < 3; i++) {
        char path[80];
        struct read r = {0};
        snprintf(path, sizeof path, i == 0 ? names[0] : i == 1 ? names[1] : names[2], (int)getpid());
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs("1 2 3\n", file);
        fclose(file);
        const bool good = trace_read_alone(path, NULL, &r.trace, &r.own, &r.has_bytes, &r.err);
        unlink(path);
        assert_true(good == (i == 2));
        if (good) {
            steps_are(&r.trace, "0 1");
            r.has_own = true;
            drop(&r);
        } else {
            assert_non_null(strstr(r.err.text, "offset 0: the last record has 6 bytes: expected 24"));
        }
    }
}

static void test_arc(void **state)
{
    (void)state;
    struct read r;
    reads("arc", "5 3 0 0\r\n\n  4\t2\n18446744073709551615 1 x y z", "0 1 2 3 0 4");
    reads("auto", "7 2 0 0\n8 2 0 1\n7 1 0 2\n", "0 1 1 2 0");
    reads("auto", "7 2 0 0\n8 2 0 2\n", "0 1 2 2 3 1 2 1"); /* four blocks a token */
    reads("auto", "7 2 0 0\n", "0 1 2 2");
    reads("auto", "7 2 1 0\n8 2 1 1\n", "0 1 2 3 4 1 2 2");
    assert_true(alone(&r, "arc", "0 1000\n500 1000\n", 16));
    assert_int_equal(r.trace.use_count, 2000);
    assert_int_equal(r.own.block_count, 1500);
    assert_true(r.trace.uses[1000] == 500 && r.trace.uses[1999] == 1499);
    drop(&r);
    refuses("arc", "0 18446744073709551615 0 0\n",
            "F:1: a range of 18446744073709551615 blocks: expected 1 to 1048576");
    refuses("arc", "0 1 0 0\n1 0 0 1\n", "F:2: a range of 0 blocks: expected 1 to 1048576");
    refuses("arc", "18446744073709551614 3 0 0\n",
            "F:1: 3 blocks from 18446744073709551614 on: expected them to end below 2^64");
    refuses("arc", "1\n", "F:1: \"1\": expected \"start count ...\", decimal numbers below 2^64");
    refuses("arc", "1 2a\n", "F:1: \"1 2a\": expected \"start count ...\", decimal numbers below 2^64");
    refuses("arc", "-1 2\n", "F:1: \"-1 2\": expected \"start count ...\", decimal numbers below 2^64");
    refuses("arc", "\n", "F: the trace is empty: it names no block");

    struct model model;
    struct workload_spec spec = trace_spec(NULL);
    spec.format = "arc";
    make_list(&model, "expert0.0:10B expert0.1:20B");
    assert_true(with_model(&r, &spec, &model, "0 2\n"));
    steps_are(&r.trace, "0? 1?");
    drop(&r);
    assert_false(with_model(&r, &spec, &model, "0 2\n\n1 2\n"));
    assert_string_equal(r.err.text, "F:3: block 2: expected a block of the model \"list\", 0 to 1");
    model_free(&model);
}

static void test_numbered_models(void **state)
{
    (void)state;
    struct read r;
    char text[MODEL_NUMBER_TEXT];
    assert_true(alone(&r, NULL, "70\n7\n18446744073709551615\n", 26));
    assert_null(r.own.blocks);
    assert_null(r.own.names);
    assert_string_equal(model_write_name(&r.own, 0, text), "70");
    assert_string_equal(model_write_name(&r.own, 2, text), "18446744073709551615");
    assert_int_equal(model_find(&r.own, "7"), 1);
    assert_int_equal(model_find(&r.own, "18446744073709551615"), 2);
    assert_int_equal(model_find(&r.own, "18446744073709551616"), BLOCK_NONE);
    assert_int_equal(model_find(&r.own, "1"), BLOCK_NONE); /* not the second block */
    assert_int_equal(model_find(&r.own, ""), BLOCK_NONE);
    assert_int_equal(model_find(&r.own, "7x"), BLOCK_NONE);
    assert_int_equal(r.own.weights_bytes, 3);
    drop(&r);

    /* More than a model of the engine's may have. */
    enum { LINES = MODEL_BLOCKS_MAX + 1000 };
    char *lines = malloc((size_t)LINES * 9);
    assert_non_null(lines);
    for (uint32_t i = 0; i < LINES; i++)
        snprintf(lines + (size_t)i * 8, 9, "%07u\n", i * 3);
    assert_true(alone(&r, "passes", lines, (size_t)LINES * 8));
    assert_int_equal(r.own.block_count, LINES);
    drop(&r);
    assert_true(alone(&r, NULL, lines, (size_t)LINES * 8));
    assert_int_equal(r.own.block_count, LINES);
    assert_int_equal(model_find(&r.own, "3145800"), 1048600);
    drop(&r);
    free(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle_general),      cmocka_unit_test(test_oracle_general_refusals),
        cmocka_unit_test(test_oracle_general_many), cmocka_unit_test(test_oracle_general_to_run),
        cmocka_unit_test(test_formats_by_name),     cmocka_unit_test(test_arc),
        cmocka_unit_test(test_numbered_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
