/* GGUF headers that are good: blocks, offsets and shapes. */
#include "tests/cmocka_fixed.h"
#include "tests/unit/workloads/gguf_file.h"

static void check_block(const struct model *model, block_id b, const char *name, enum block_kind kind, int32_t layer,
                        uint64_t bytes, uint64_t offset)
{
    assert_string_equal(model_block_name(model, b), name);
    assert_int_equal(model->blocks[b].kind, kind);
    assert_int_equal(model->blocks[b].layer, layer);
    assert_int_equal(model->blocks[b].bytes, bytes);
    assert_int_equal(model->extents[model->blocks[b].first_extent].offset_bytes, offset);
}

static void test_dense(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        struct file file = {.version = version};
        struct bytes bytes;
        struct model model;
        struct error err;
        dense(&file);
        assemble(&file, 32, &bytes);
        if (!load(bytes.data, bytes.size, &model, &err))
            print_error("%s\n", err.text);
        assert_int_equal(err.code, STATUS_OK);
        uint64_t layer = 256 + 2304 + 1152 + 1152 + 288 + 288 + 36;
        assert_int_equal(model.block_count, 6);
        check_block(&model, 0, "token_embd", BLOCK_EMBEDDING, -1, 108, file.start);
        check_block(&model, 1, "layer0", BLOCK_LAYER, 0, layer, file.start + file.offsets[2]);
        check_block(&model, 2, "layer1", BLOCK_LAYER, 1, layer, file.start + file.offsets[9]);
        check_block(&model, 3, "output_norm", BLOCK_NORM, -1, 256, file.start + file.offsets[16]);
        check_block(&model, 4, "output", BLOCK_OUTPUT, -1, 204, file.start + file.offsets[17]);
        check_block(&model, 5, "other", BLOCK_OTHER, -1, 32, file.start + file.offsets[1]);
        assert_int_equal(model.blocks[1].extent_count, 1);
        assert_int_equal(model.blocks[0].compute_bytes, 36);
        assert_int_equal(model.blocks[0].matter_count, 0);
        assert_int_equal(model.blocks[1].matter_count, 1);
        assert_int_equal(model.matters[model.blocks[1].first_matter].type, TYPE_Q4_0);
        assert_int_equal(model.matters[model.blocks[1].first_matter].elements, 64 * (64 + 32 + 32 + 8 + 8) + 64);
        assert_int_equal(model.matters[model.blocks[4].first_matter].type, TYPE_Q8_0);
        assert_int_equal(model.file_bytes, bytes.size);
        assert_int_equal(model.weights_bytes, 108 + 32 + 2 * layer + 256 + 204);
        assert_int_equal(model.part_bytes[PART_EMBEDDING], 108);
        assert_int_equal(model.part_bytes[PART_ATTENTION], 2 * (2304 + 1152 + 1152));
        assert_int_equal(model.part_bytes[PART_FFN], 2 * (288 + 288 + 36));
        assert_int_equal(model.part_bytes[PART_NORMS], 2 * 256 + 256);
        assert_int_equal(model.part_bytes[PART_OUTPUT], 204);
        assert_int_equal(model.part_bytes[PART_OTHER], 32);
        assert_string_equal(model.name, "model");
        assert_string_equal(model.quant, "q4_0");
        const struct shape *shape = &model.shape;
        assert_int_equal(shape->layers, 2);
        assert_int_equal(shape->width, 64);
        assert_int_equal(shape->vocab, 3);
        assert_int_equal(shape->heads, 4);
        assert_int_equal(shape->kv_heads, 2);
        assert_int_equal(shape->head_size, 16);
        assert_int_equal(shape->ffn, 128);
        assert_int_equal(shape->experts, 0);
        assert_false(shape->tied);
        assert_true(shape->gated);
        assert_false(shape->qk_norm);
        assert_int_equal(model.kv_bytes_per_token, 2 * 2 * 16 * 4);
        model_free(&model);
    }
}

/* What names and sizes of tensors say of the shape: Phi-3's fused matrices, Gemma 2's second norms, Phi-2's one. */
static void test_observed(void **state)
{
    (void)state;
    static const struct {
        const char *tensor;
        uint64_t rows;
        bool fused, gated, post, parallel, bias;
    } cases[] = {
        {"blk.0.attn_qkv.weight", 8, true, false, false, false, false},
        {"blk.0.ffn_up.weight", 16, false, true, false, false, false}, /* twice feed_forward_length */
        {"blk.0.ffn_up.weight", 8, false, false, false, false, false},
        {"blk.0.post_ffw_norm.weight", 1, false, false, true, false, false},
        {"blk.0.attn_norm.bias", 1, false, false, false, true, false},
        {"blk.0.attn_q.bias", 1, false, false, false, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file file = {.version = 3};
        struct bytes bytes;
        struct model model;
        struct error err;
        key_string(&file, "general.architecture", "x");
        key_u32(&file, "x.feed_forward_length", 8);
        tensor(&file, cases[i].tensor, F32, 4, cases[i].rows, 0, 16 * cases[i].rows);
        assemble(&file, 32, &bytes);
        if (!load(bytes.data, bytes.size, &model, &err))
            print_error("%s\n", err.text);
        assert_int_equal(err.code, STATUS_OK);
        assert_int_equal(model.shape.fused_qkv, cases[i].fused);
        assert_int_equal(model.shape.gated, cases[i].gated);
        assert_int_equal(model.shape.post_norms, cases[i].post);
        assert_int_equal(model.shape.parallel, cases[i].parallel);
        assert_int_equal(model.shape.attn_bias, cases[i].bias);
        model_free(&model);
    }
}

static void test_moe(void **state)
{
    (void)state;
    struct file file = {.version = 3};
    struct bytes bytes;
    struct model model;
    struct error err;
    moe(&file);
    assemble(&file, 32, &bytes);
    if (!load(bytes.data, bytes.size, &model, &err))
        print_error("%s\n", err.text);
    assert_int_equal(err.code, STATUS_OK);
    assert_int_equal(model.block_count, 1 + 1 + 4 + 2 + 1);
    check_block(&model, 0, "token_embd", BLOCK_EMBEDDING, -1, 320, file.start);
    assert_int_equal(model.blocks[0].compute_bytes, 320); /* tied */
    assert_int_equal(model.matters[model.blocks[0].first_matter].elements, 160);
    check_block(&model, 1, "layer0", BLOCK_LAYER, 0, 128 + 512 + 64, file.start + file.offsets[1]);
    assert_int_equal(model.blocks[1].extent_count, 2);
    assert_int_equal(model.matters[model.blocks[1].first_matter].elements, 128);
    for (uint32_t e = 0; e < 4; e++) {
        char name[32];
        snprintf(name, sizeof name, "expert0.%u", e);
        const struct block *block = &model.blocks[2 + e];
        check_block(&model, 2 + e, name, BLOCK_EXPERT, 0, 2176 + 32, file.start + file.offsets[2] + e * 2176);
        assert_int_equal(block->expert, e);
        if (block->extent_count == 2) /* the last expert's weights end where the first one's bias begins */
            assert_int_equal(model.extents[block->first_extent + 1].offset_bytes,
                             file.start + file.offsets[3] + e * 32);
        assert_int_equal(block->extent_count, 2);
        assert_int_equal(block->matter_count, 1);
        assert_int_equal(model.matters[block->first_matter].elements, 64 * 32);
    }
    check_block(&model, 6, "expert1.0", BLOCK_EXPERT, 1, 64, file.start + file.offsets[6]);
    check_block(&model, 7, "expert1.1", BLOCK_EXPERT, 1, 64, file.start + file.offsets[7]);
    check_block(&model, 8, "output_norm", BLOCK_NORM, -1, 128, file.start + file.offsets[10]);
    assert_true(model.shape.tied && model.shape.gated && model.shape.qk_norm);
    assert_int_equal(model.shape.experts, 4);
    assert_int_equal(model.shape.experts_used, 2);
    assert_int_equal(model.shape.expert_ffn, 64);
    assert_int_equal(model.shape.vocab, 5); /* from the embedding: there is no tokenizer */
    assert_int_equal(model.shape.kv_heads, 2);
    assert_int_equal(model.kv_bytes_per_token, (2 + 1) * (16 + 8) * 2);
    assert_string_equal(model.quant, "");
    model_free(&model);
}

/* No architecture that anyone knows, no metadata: still blocks. */
static void test_unknown(void **state)
{
    (void)state;
    struct file file = {.version = 3};
    struct bytes bytes;
    struct model model;
    struct error err;
    key_u32(&file, "general.alignment", 128);
    tensor(&file, "blk.7.anything", F32, 8, 4, 0, 128);
    tensor(&file, "blk.x.anything", F32, 32, 0, 0, 128);
    tensor(&file, "blk.12345678901.anything", F32, 32, 0, 0, 128);
    assemble(&file, 128, &bytes);
    assert_true(load(bytes.data, bytes.size, &model, &err));
    assert_int_equal(model.block_count, 2);
    check_block(&model, 0, "layer7", BLOCK_LAYER, 7, 128, file.start);
    check_block(&model, 1, "other", BLOCK_OTHER, -1, 256, file.start + 128);
    assert_int_equal(file.start % 128, 0);
    assert_int_equal(model.kv_bytes_per_token, 0);
    model_free(&model);
}

/* Latent attention keeps one compressed vector and one rotary part a layer. */
static void test_latent_attention(void **state)
{
    (void)state;
    struct file file = {.version = 3};
    struct bytes bytes;
    struct model model;
    struct error err;
    key_string(&file, "general.architecture", "deepseek2");
    key_u32(&file, "deepseek2.block_count", 27);
    key_u32(&file, "deepseek2.attention.head_count", 16);
    key_u32(&file, "deepseek2.attention.kv_lora_rank", 512);
    key_u32(&file, "deepseek2.rope.dimension_count", 64);
    tensor(&file, "blk.0.attn_kv_b.weight", F32, 32, 0, 0, 128);
    assemble(&file, 32, &bytes);
    assert_true(load(bytes.data, bytes.size, &model, &err));
    assert_int_equal(model.kv_bytes_per_token, 576 * 2 * 27); /* ../shared/data/catalogue.md, section 9 */
    model_free(&model);
}

static void split_keys(struct file *file, unsigned number, unsigned count)
{
    key(file, "split.no", U16);
    put(&file->keys, number, 2);
    key(file, "split.count", U16);
    put(&file->keys, count, 2);
}

static void test_split(void **state)
{
    (void)state;
    struct file first = {.version = 3}, second = {.version = 3};
    struct bytes one, two;
    struct model model;
    struct error err = {.code = STATUS_OK};
    char path[128], other[128];
    dense_keys(&first);
    split_keys(&first, 0, 2);
    key(&first, "split.tensors.count", I32);
    put(&first.keys, 9, 4);
    tensor(&first, "token_embd.weight", Q4_0, 64, 3, 0, 108);
    dense_layer(&first, 0);
    split_keys(&second, 1, 2);
    tensor(&second, "output.weight", Q8_0, 64, 3, 0, 204);
    assemble(&first, 32, &one);
    assemble(&second, 32, &two);
    save("big-00001-of-00002.gguf", one.data, one.size, path);
    save("big-00002-of-00002.gguf", two.data, two.size, other);
    for (int either = 0; either < 2; either++) {
        if (!model_from_gguf(either == 0 ? path : other, &model, &err))
            print_error("%s\n", err.text);
        assert_int_equal(err.code, STATUS_OK);
        assert_int_equal(model.block_count, 3);
        check_block(&model, 0, "token_embd", BLOCK_EMBEDDING, -1, 108, first.start);
        check_block(&model, 2, "output", BLOCK_OUTPUT, -1, 204, one.size + second.start);
        assert_int_equal(model.file_bytes, one.size + two.size);
        assert_int_equal(model.shape.layers, 2);
        model_free(&model);
    }
    assert_false(load(one.data, one.size, &model, &err)); /* model.gguf is no name of a part */
    assert_int_equal(err.code, STATUS_INPUT);
    assert_non_null(strstr(err.text, "-00001-of-00002.gguf"));

    save("big-00002-of-00002.gguf", one.data, one.size, other); /* the same part twice */
    assert_false(model_from_gguf(path, &model, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    assert_non_null(strstr(err.text, "split.no"));

    second.tensors.size = second.tensor_count = second.data = 0;
    tensor(&second, "token_embd.weight", Q4_0, 64, 3, 0, 108);
    assemble(&second, 32, &two);
    save("big-00002-of-00002.gguf", two.data, two.size, other);
    assert_false(model_from_gguf(path, &model, &err));
    assert_non_null(strstr(err.text, "second tensor"));

    second.tensors.size = second.tensor_count = second.data = 0;
    assemble(&second, 32, &two);
    save("big-00002-of-00002.gguf", two.data, two.size, other);
    assert_false(model_from_gguf(path, &model, &err));
    assert_non_null(strstr(err.text, "split.tensors.count"));

    assert_int_equal(unlink(other), 0);
    assert_false(model_from_gguf(path, &model, &err));
    assert_int_equal(err.code, STATUS_IO);
    assert_non_null(strstr(err.text, "big-00002-of-00002.gguf"));
}

static void test_no_file(void **state)
{
    (void)state;
    struct model model;
    struct error err = {.code = STATUS_OK};
    char path[128];
    assert_false(model_from_gguf(folder, &model, &err));
    assert_int_equal(err.code, STATUS_IO);
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(model_from_gguf(path, &model, &err));
    assert_int_equal(err.code, STATUS_IO);
    assert_int_equal(unlink(path), 0);
    assert_false(model_from_gguf(path, &model, &err));
    assert_int_equal(err.code, STATUS_IO);
    assert_non_null(strstr(err.text, path));
}

enum { PATTERN_NONE = -1, PATTERN_MARKS = -2 };

/* A file of that architecture with 12 layers; window 0: no key; pattern: a period, or what the enum says, with
 * `marked` of 12 layers true. */
static struct shape windows(const char *architecture, uint32_t window, int pattern, uint32_t marked)
{
    struct file file = {.version = 3};
    struct bytes bytes;
    struct model model;
    struct error err;
    char name[96];
    key_string(&file, "general.architecture", architecture);
    snprintf(name, sizeof name, "%s.block_count", architecture);
    key_u32(&file, name, 12);
    snprintf(name, sizeof name, "%s.attention.sliding_window", architecture);
    if (window != 0)
        key_u32(&file, name, window);
    snprintf(name, sizeof name, "%s.attention.sliding_window_pattern", architecture);
    if (pattern >= 0)
        key_u32(&file, name, (uint32_t)pattern);
    if (pattern == PATTERN_MARKS) {
        key_array(&file, name, BOOL, 12);
        for (uint32_t i = 0; i < 12; i++)
            put(&file.keys, i < marked, 1);
    }
    tensor(&file, "blk.0.attn_q.weight", F32, 32, 0, 0, 128);
    assemble(&file, 32, &bytes);
    assert_true(load(bytes.data, bytes.size, &model, &err));
    const struct shape shape = model.shape;
    model_free(&model);
    return shape;
}

static void windows_are(const struct shape *shape, uint32_t window, uint32_t layers)
{
    assert_int_equal(shape->window, window);
    assert_int_equal(shape->window_layers, layers);
}

/* src/llama-model.cpp of llama.cpp: what each architecture makes of sliding_window, and of its pattern. */
static void test_windows(void **state)
{
    (void)state;
    struct shape shape = windows("gemma2", 0, PATTERN_NONE, 0);
    windows_are(&shape, 4096, 6);
    shape = windows("gemma3", 512, PATTERN_NONE, 0);
    windows_are(&shape, 512, 10);
    shape = windows("gemma3", 0, PATTERN_NONE, 0); /* some have none */
    windows_are(&shape, 0, 0);
    shape = windows("gpt-oss", 128, PATTERN_NONE, 0);
    windows_are(&shape, 128, 6);
    shape = windows("cohere2", 64, 3, 0); /* the file knows better */
    windows_are(&shape, 64, 8);
    shape = windows("phi3", 2047, PATTERN_NONE, 0); /* not used there */
    windows_are(&shape, 0, 0);
    shape = windows("exaone4", 4096, PATTERN_MARKS, 9);
    windows_are(&shape, 4096, 9);
    shape = windows("exaone4", 4096, PATTERN_MARKS, 0);
    windows_are(&shape, 0, 0);
    shape = windows("other", 4096, 0, 0);
    windows_are(&shape, 4096, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),   cmocka_unit_test(test_observed),         cmocka_unit_test(test_moe),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_latent_attention), cmocka_unit_test(test_windows),
        cmocka_unit_test(test_split),   cmocka_unit_test(test_no_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
