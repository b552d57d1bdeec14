/* The keys of a shape that add, join or drop tensors: what each adds in bytes, by hand, and which do not go together.
 * A width of 256, 2 heads of 128 with 1 of keys, an FFN of 512, a vocabulary of 64, one layer, all f32 unless said. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "workloads/kv.h"
#include "workloads/model.h"

static const struct shape plain = {
    .layers = 1, .width = 256, .vocab = 64, .heads = 2, .kv_heads = 1, .head_size = 128, .ffn = 512, .gated = true};

static struct model built(const struct shape *shape, enum quant quant)
{
    struct model model;
    struct error err = {.code = STATUS_OK};
    if (!model_from_shape("m", shape, quant, &model, &err))
        print_error("%s\n", err.text);
    assert_int_equal(err.code, STATUS_OK);
    return model;
}

static uint64_t weights(const struct shape *shape, enum quant quant)
{
    struct model model = built(shape, quant);
    const uint64_t bytes = model.weights_bytes;
    assert_true(model.file_bytes > bytes || shape->output_copy == OUTPUT_COPY_MEMORY);
    model_free(&model);
    return bytes;
}

static void test_small_tensors(void **state)
{
    (void)state;
    const uint64_t before = weights(&plain, QUANT_F32);
    struct shape shape = plain;
    shape.attn_bias = true;
    assert_int_equal(weights(&shape, QUANT_F32) - before, 4 * (256 + 128 + 128));
    assert_int_equal(weights(&shape, QUANT_F16) - weights(&plain, QUANT_F16), 4 * (256 + 128 + 128)); /* stays f32 */
    shape = plain;
    shape.post_norms = true;
    assert_int_equal(weights(&shape, QUANT_F32) - before, 4 * 2 * 256);
    shape = plain;
    shape.qk_norm = true;
    assert_int_equal(weights(&shape, QUANT_F32) - before, 4 * 2 * 128);
    /* One norm less; biases of the two that are left, of q, k, v and the output, of the FFN, and of the head. */
    shape = plain;
    shape.parallel = true;
    shape.gated = false;
    const uint64_t two_matrices = before - 4 * 256 * 512;
    const uint64_t biases = 2 * 256 + (256 + 128 + 128 + 256) + (512 + 256) + 64;
    assert_int_equal(weights(&shape, QUANT_F32) - two_matrices, 4 * biases - 4 * 256);
}

static void test_fused(void **state)
{
    (void)state;
    struct shape shape = plain;
    shape.fused_qkv = true;
    assert_int_equal(weights(&shape, QUANT_F32), weights(&plain, QUANT_F32));
    struct model model = built(&shape, QUANT_Q4_K_M), apart = built(&plain, QUANT_Q4_K_M);
    /* Layer 0 of 1 is favoured, so v and down are q6_k; q, k and v in one are q5_k, whatever the layer. */
    const uint64_t up = 2 * 256 * 512 / 256 * 144, down = 256 * 512 / 256 * 210, out = 256 * 256 / 256 * 144;
    assert_int_equal(model.blocks[1].bytes, up + down + out + 256 * 512 / 256 * 176 + 2 * 256 * 4);
    assert_int_equal(apart.blocks[1].bytes,
                     up + down + out + 256 * 256 / 256 * 144 + 256 * 128 / 256 * (144 + 210) + 2 * 256 * 4);
    assert_int_equal(model.blocks[1].matter_count, 3);
    model_free(&model);
    model_free(&apart);
}

static void test_output_copy(void **state)
{
    (void)state;
    struct shape shape = plain;
    shape.tied = true;
    struct model tied = built(&shape, QUANT_Q4_0);
    shape.output_copy = OUTPUT_COPY_FILE;
    struct model file = built(&shape, QUANT_Q4_0);
    shape.output_copy = OUTPUT_COPY_MEMORY;
    struct model memory = built(&shape, QUANT_Q4_0);
    const uint64_t q6 = 64 * 210, q4 = 64 * 256 / 32 * 18;
    assert_int_equal(tied.blocks[0].bytes, q6);
    assert_int_equal(tied.block_count, 3);
    assert_int_equal(file.block_count, 4);
    assert_int_equal(file.blocks[0].bytes, q4);
    assert_int_equal(file.blocks[3].bytes, q6);
    assert_int_equal(file.weights_bytes, tied.weights_bytes + q4);
    /* In memory alone: the same bytes of the file a second time. */
    assert_int_equal(memory.block_count, 4);
    assert_int_equal(memory.blocks[3].kind, BLOCK_OUTPUT);
    assert_int_equal(memory.weights_bytes, tied.weights_bytes + q6);
    assert_int_equal(memory.file_bytes, tied.file_bytes);
    assert_int_equal(memory.extents[memory.blocks[3].first_extent].offset_bytes,
                     memory.extents[memory.blocks[0].first_extent].offset_bytes);
    const struct model *copies[] = {&file, &memory};
    for (size_t i = 0; i < 2; i++) { /* the embedding is a look-up, the copy multiplies */
        assert_int_equal(copies[i]->blocks[0].matter_count, 0);
        assert_int_equal(copies[i]->blocks[0].compute_bytes, copies[i]->blocks[0].bytes / 64);
        assert_int_equal(copies[i]->blocks[3].matter_count, 1);
        assert_int_equal(copies[i]->matters[copies[i]->blocks[3].first_matter].elements, 64 * 256);
    }
    model_free(&tied);
    model_free(&file);
    model_free(&memory);
}

static void test_dense_layers(void **state)
{
    (void)state;
    struct shape shape = plain;
    shape.layers = 3;
    shape.dense_layers = 1;
    shape.experts = 4;
    shape.experts_used = 2;
    shape.expert_ffn = 256;
    struct model model = built(&shape, QUANT_F32);
    assert_int_equal(model.block_count, 1 + 3 + 2 * 4 + 2);
    assert_int_equal(model_find(&model, "expert0.0"), BLOCK_NONE);
    assert_int_equal(model_find(&model, "expert1.0"), 3);
    const uint64_t attention = 256 * (256 * 2 + 128 * 2), norms = 2 * 256;
    assert_int_equal(model.blocks[1].bytes, 4 * (attention + norms + 3 * 256 * 512));
    assert_int_equal(model.blocks[2].bytes, 4 * (attention + norms + 256 * 4));
    assert_int_equal(model.blocks[3].bytes, 4 * 3 * 256 * 256);
    model_free(&model);
}

/* DeepSeek-V2-Lite's attention: heads of 128 + 64, a latent vector of 512. */
static void test_latent(void **state)
{
    (void)state;
    struct shape shape = plain;
    shape.heads = shape.kv_heads = 16;
    shape.width = 2048;
    shape.head_size = 192;
    shape.latent = 512;
    shape.latent_rope = 64;
    struct model model = built(&shape, QUANT_F16);
    const uint64_t q = 2048 * 16 * 192, a = 2048 * (512 + 64), b = 512 * 16 * (128 + 128), o = 16 * 128 * 2048;
    assert_int_equal(model.blocks[1].bytes, 2 * (q + a + b + o + 3 * 2048 * 512) + 4 * (2 * 2048 + 512));
    assert_int_equal(model.kv_bytes_per_token, (512 + 64) * 2);
    assert_int_equal(kv_layer_bytes(&shape, KV_F16), (512 + 64) * 2);
    assert_int_equal(kv_layer_bytes(&shape, KV_Q8_0), (512 + 64) / 32 * 34);
    struct kv_growth growth;
    struct error err;
    assert_true(kv_growth(&model, KV_Q8_0, &growth, &err));
    assert_int_equal(growth.bytes, (512 + 64) / 32 * 34);
    model_free(&model);
}

static void test_int8_and_int4(void **state)
{
    (void)state;
    struct model model = built(&plain, QUANT_INT8);
    /* Matrices of down, gate, up, k, o, q, v: a byte a weight and a scale for each output. */
    const uint64_t elements = 3 * 256 * 512 + 256 * (2 * 256 + 2 * 128), outputs = 256 + 2 * 512 + 2 * 256 + 2 * 128;
    assert_int_equal(model.blocks[1].bytes, elements + 4 * outputs + 2 * 256 * 4);
    assert_int_equal(model.blocks[0].bytes, 64 * (256 + 4));
    assert_int_equal(model.blocks[0].compute_bytes, 256 + 4);
    model_free(&model);
    model = built(&plain, QUANT_INT4);
    assert_int_equal(model.blocks[1].bytes, elements / 32 * 18 + 2 * 256 * 2);
    assert_int_equal(model.blocks[3].bytes, 64 * 256 / 32 * 18);
    model_free(&model);
}

static void test_bad_pairs(void **state)
{
    (void)state;
    struct shape bad[13];
    static const char *const messages[] = {
        "dense_layers: expected experts",
        "dense_layers: expected ffn",
        "dense_layers = 2",
        "latent_rope",
        "head_size above latent_rope",
        "fused_qkv = no",
        "attn_bias = no",
        "latent: expected qk_norm",
        "fused_qkv: expected qk_norm",
        "post_norms = no",
        "no experts",
        "tied = yes",
        "latent = 16777217",
    };
    for (size_t i = 0; i < 13; i++) {
        bad[i] = plain;
        if (i == 1 || i == 2 || i == 10) {
            bad[i].experts = bad[i].experts_used = 4;
            bad[i].expert_ffn = 64;
        }
        bad[i].latent = i >= 4 && i <= 7 ? 64 : 0;
    }
    bad[0].dense_layers = bad[1].dense_layers = 1;
    bad[1].ffn = 0;
    bad[2].dense_layers = 2;
    bad[3].latent_rope = 8;
    bad[4].latent_rope = 128;
    bad[5].fused_qkv = true;
    bad[6].attn_bias = true;
    bad[7].qk_norm = true;
    bad[8].fused_qkv = bad[8].qk_norm = true;
    bad[9].parallel = bad[9].post_norms = true;
    bad[10].parallel = true;
    bad[11].output_copy = OUTPUT_COPY_MEMORY;
    bad[12].latent = SHAPE_MAX + 1;
    for (size_t i = 0; i < 13; i++) {
        struct error err = {.code = STATUS_OK};
        struct model model;
        assert_false(model_from_shape("m", &bad[i], QUANT_F32, &model, &err));
        assert_int_equal(err.code, STATUS_USAGE);
        if (strstr(err.text, messages[i]) == NULL)
            print_error("case %zu: %s\n", i, err.text);
        assert_non_null(strstr(err.text, messages[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_tensors), cmocka_unit_test(test_fused),  cmocka_unit_test(test_output_copy),
        cmocka_unit_test(test_dense_layers),  cmocka_unit_test(test_latent), cmocka_unit_test(test_int8_and_int4),
        cmocka_unit_test(test_bad_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
