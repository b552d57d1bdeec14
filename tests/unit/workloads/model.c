/* Construction of models, finding blocks, and models that are lists. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "workloads/model.h"

static void test_build(void **state)
{
    (void)state;
    struct model model;
    struct error err = {.code = STATUS_OK};
    model_start(&model, "m", "q4_0");
    assert_true(model_add_block(&model, "a", BLOCK_LAYER, 0, -1, &err));
    assert_true(model_add_extent(&model, 100, 20, &err));
    assert_true(model_add_extent(&model, 120, 5, &err)); /* adjacent: one extent */
    assert_true(model_add_extent(&model, 126, 4, &err)); /* a gap: another */
    assert_true(model_add_matter(&model, TYPE_Q4_0, 32, &err));
    assert_true(model_add_matter(&model, TYPE_F32, 8, &err));
    assert_true(model_add_matter(&model, TYPE_Q4_0, 64, &err));
    assert_true(model_add_block(&model, "7", BLOCK_EXPERT, 0, 3, &err));
    assert_true(model_add_extent(&model, 130, 7, &err)); /* adjacent to another block's: not joined */
    model.blocks[1].compute_bytes = 2;
    assert_true(model_finish(&model, &err));
    assert_int_equal(err.code, STATUS_OK);
    assert_int_equal(model.block_count, 2);
    assert_int_equal(model.extent_count, 3);
    assert_int_equal(model.blocks[0].bytes, 29);
    assert_int_equal(model.blocks[0].extent_count, 2);
    assert_int_equal(model.extents[0].bytes, 25);
    assert_int_equal(model.blocks[1].first_extent, 2);
    assert_int_equal(model.blocks[0].matter_count, 2);
    assert_int_equal(model.matters[0].elements, 96);
    assert_int_equal(model.matters[1].elements, 8);
    assert_int_equal(model.blocks[1].matter_count, 0);
    assert_int_equal(model.blocks[0].compute_bytes, 29);
    assert_int_equal(model.blocks[1].compute_bytes, 2);
    assert_int_equal(model.weights_bytes, 36);
    assert_int_equal(model.file_bytes, 36);
    assert_int_equal(model.kv_bytes_per_token, 0);
    assert_int_equal(model.policy_blocks[1].bytes, 7);
    assert_int_equal(model.policy_blocks[1].layer, 0);
    assert_int_equal(model.policy_blocks[1].kind, BLOCK_EXPERT);
    assert_int_equal(model_find(&model, "a"), 0);
    assert_int_equal(model_find(&model, "7"), 1); /* a name goes before a number */
    assert_int_equal(model_find(&model, "0"), 0);
    assert_int_equal(model_find(&model, "1"), 1);
    assert_int_equal(model_find(&model, "2"), BLOCK_NONE);
    assert_int_equal(model_find(&model, "99999999999999999999999"), BLOCK_NONE);
    assert_int_equal(model_find(&model, "b"), BLOCK_NONE);
    assert_int_equal(model_find(&model, ""), BLOCK_NONE);
    assert_int_equal(model_find(&model, "-1"), BLOCK_NONE);
    model_free(&model);
    assert_null(model.blocks);
}

static void test_refused(void **state)
{
    (void)state;
    struct model model;
    struct error err = {.code = STATUS_OK};
    model_start(&model, "m", "");
    assert_false(model_finish(&model, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    assert_true(model_add_block(&model, "a", BLOCK_OTHER, -1, -1, &err));
    assert_false(model_finish(&model, &err));
    assert_non_null(strstr(err.text, "\"a\" has no bytes"));
    model_free(&model);

    model_start(&model, "m", "");
    for (int i = 0; i < 2; i++) {
        assert_true(model_add_block(&model, "same", BLOCK_OTHER, -1, -1, &err));
        assert_true(model_add_extent(&model, 0, 1, &err));
    }
    assert_false(model_finish(&model, &err));
    assert_non_null(strstr(err.text, "\"same\""));
    assert_false(model_add_extent(&model, UINT64_MAX, 1, &err));
    assert_false(model_add_block(&model, "", BLOCK_OTHER, -1, -1, &err));
    assert_false(model_add_block(&model, "new\nline", BLOCK_OTHER, -1, -1, &err));
    assert_false(model_add_block(&model, "a name that has sixty-four bytes, which is one more than allowed",
                                 BLOCK_OTHER, -1, -1, &err));
    model_free(&model);

    model_start(&model, "m", "");
    for (int i = 0; i < 2; i++) {
        assert_true(model_add_block(&model, i == 0 ? "a" : "b", BLOCK_OTHER, -1, -1, &err));
        assert_true(model_add_extent(&model, 0, (uint64_t)1 << 62, &err));
    }
    assert_false(model_finish(&model, &err)); /* 2^63 in sum */
    model_free(&model);
}

static void test_list(void **state)
{
    (void)state;
    struct model model;
    struct error err = {.code = STATUS_OK};
    assert_true(model_from_blocks("five",
                                  " embed:512MB layer1:768MB\tl2:768MB\n expert1.17:1KiB norm:16KiB "
                                  "lm_head:256MB weights:3B ",
                                  &model, &err));
    static const struct {
        const char *name;
        enum block_kind kind;
        int32_t layer, expert;
        uint64_t bytes;
    } expected[] = {
        {"embed", BLOCK_EMBEDDING, -1, -1, 512000000}, {"layer1", BLOCK_LAYER, 1, -1, 768000000},
        {"l2", BLOCK_LAYER, 2, -1, 768000000},         {"expert1.17", BLOCK_EXPERT, 1, 17, 1024},
        {"norm", BLOCK_NORM, -1, -1, 16384},           {"lm_head", BLOCK_OUTPUT, -1, -1, 256000000},
        {"weights", BLOCK_OTHER, -1, -1, 3},
    };
    uint64_t offset = 0;
    assert_int_equal(model.block_count, sizeof expected / sizeof expected[0]);
    for (uint32_t b = 0; b < model.block_count; b++) {
        const struct block *block = &model.blocks[b];
        assert_string_equal(model_block_name(&model, b), expected[b].name);
        assert_int_equal(block->kind, expected[b].kind);
        assert_int_equal(block->layer, expected[b].layer);
        assert_int_equal(block->expert, expected[b].expert);
        assert_int_equal(block->bytes, expected[b].bytes);
        assert_int_equal(block->extent_count, 1);
        assert_int_equal(model.extents[block->first_extent].offset_bytes, offset);
        offset += block->bytes;
    }
    assert_int_equal(model.file_bytes, offset);
    assert_string_equal(model.name, "five");
    model_free(&model);
}

static void test_kinds_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        enum block_kind kind;
    } cases[] = {
        {"embedding:1B", BLOCK_EMBEDDING},    {"token_embd:1B", BLOCK_EMBEDDING},
        {"output_norm:1B", BLOCK_NORM},       {"norm3:1B", BLOCK_NORM},
        {"output:1B", BLOCK_OUTPUT},          {"head:1B", BLOCK_OUTPUT},
        {"headless:1B", BLOCK_OTHER},         {"layer:1B", BLOCK_OTHER},
        {"layer1x:1B", BLOCK_OTHER},          {"l:1B", BLOCK_OTHER},
        {"expert1:1B", BLOCK_OTHER},          {"expert1.x:1B", BLOCK_OTHER},
        {"layer99999999999:1B", BLOCK_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model model;
        struct error err = {.code = STATUS_OK};
        assert_true(model_from_blocks(NULL, cases[i].list, &model, &err));
        assert_int_equal(model.blocks[0].kind, cases[i].kind);
        if (cases[i].kind == BLOCK_OTHER) {
            assert_int_equal(model.blocks[0].layer, -1);
            assert_int_equal(model.blocks[0].expert, -1);
        }
        model_free(&model);
    }
}

static void test_many(void **state)
{
    (void)state;
    struct model model;
    struct error err = {.code = STATUS_OK};
    assert_true(model_from_blocks(NULL, "256 x 1MiB", &model, &err));
    assert_int_equal(model.block_count, 256);
    assert_int_equal(model.weights_bytes, 256 << 20);
    assert_string_equal(model_block_name(&model, 255), "b255");
    assert_int_equal(model_find(&model, "b17"), 17);
    assert_int_equal(model.blocks[17].kind, BLOCK_OTHER);
    model_free(&model);

    assert_true(model_from_blocks(NULL, "4 x 1MiB layer9:2MiB 1 x 3B", &model, &err));
    assert_int_equal(model.block_count, 6);
    assert_int_equal(model_find(&model, "layer9"), 4);
    assert_string_equal(model_block_name(&model, 5), "b5");
    assert_int_equal(model.extents[5].offset_bytes, 6 << 20);
    model_free(&model);

    assert_true(model_from_blocks(NULL, "1048576 x 1B", &model, &err));
    assert_int_equal(model.block_count, MODEL_BLOCKS_MAX);
    assert_int_equal(model_find(&model, "b1048575"), 1048575);
    model_free(&model);
}

static void test_bad_lists(void **state)
{
    (void)state;
    static const struct {
        const char *list, *message;
    } cases[] = {
        {"", "without a block"},
        {"layer1", "expected NAME:SIZE"},
        {"layer1:", "layer1"},
        {":1MiB", "needs a name"},
        {"layer1:512", "no unit"},
        {"layer1:0B", "at least 1 byte"},
        {"layer1:1MiB layer1:1MiB", "two blocks"},
        {"256 x", "expected a size behind the x"},
        {"256 x 0B", "at least 1 byte"},
        {"0 x 1MiB", "0"},
        {"1048577 x 1B", "1048577"},
        {"1048576 x 1B a:1B", "1048576 blocks"},
        {"-1 x 1MiB", "-1"},
        {"a:8000000000000000000B b:8000000000000000000B", "2^63"},
        {"b1:1B 1 x 1B", "two blocks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model model;
        struct error err = {.code = STATUS_OK};
        assert_false(model_from_blocks("m", cases[i].list, &model, &err));
        assert_int_equal(err.code, STATUS_USAGE);
        if (strstr(err.text, cases[i].message) == NULL)
            print_error("\"%s\" gives \"%s\" without \"%s\"\n", cases[i].list, err.text, cases[i].message);
        assert_non_null(strstr(err.text, cases[i].message));
    }
    char longest[400];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    struct model model;
    struct error err = {.code = STATUS_OK};
    assert_false(model_from_blocks("m", longest, &model, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    memcpy(longest + 100, ":1B", 4); /* a name of 100 bytes */
    assert_false(model_from_blocks("m", longest, &model, &err));
    assert_int_equal(err.code, STATUS_USAGE);
}

static void test_spec(void **state)
{
    (void)state;
    struct model model;
    struct error err = {.code = STATUS_OK};
    struct model_spec spec = {.name = "listed", .blocks = "2 x 1B"};
    assert_true(model_build(&spec, &model, &err));
    assert_string_equal(model.name, "listed");
    model_free(&model);
    spec.file = "x.gguf";
    assert_false(model_build(&spec, &model, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    spec = (struct model_spec){.name = "nothing"};
    assert_false(model_build(&spec, &model, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    spec.file = "/nonexistent/x.gguf";
    assert_false(model_build(&spec, &model, &err));
    assert_int_equal(err.code, STATUS_IO);
    spec = (struct model_spec){
        .has_shape = true,
        .quant = QUANT_F16,
        .shape = {.layers = 1, .width = 4, .vocab = 2, .heads = 2, .kv_heads = 1, .head_size = 2, .ffn = 8}};
    assert_true(model_build(&spec, &model, &err));
    assert_string_equal(model.quant, "f16");
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),         cmocka_unit_test(test_refused), cmocka_unit_test(test_list),
        cmocka_unit_test(test_kinds_by_name), cmocka_unit_test(test_many),    cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_spec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
