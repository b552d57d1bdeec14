/* Which type the quantiser gives each tensor. The expected types were derived by hand from llama_tensor_get_type of
 * llama.cpp (src/llama-quant.cpp; workloads/quant.h says which version), or are those of real files. */
#include <stddef.h>
#include <stdint.h>

#include "tests/cmocka_fixed.h"
#include "workloads/quant.h"

static enum tensor_type type_of(const struct quant_model *model, enum tensor_role role, uint32_t layer, uint64_t row)
{
    const struct quant_tensor tensor = {.role = role, .layer = layer, .downs = layer, .row_elements = row};
    return quant_type(model, &tensor);
}

/* Qwen3-30B-A3B, whose route trace shows which layers of its Q4_K_M have more bits. */
static void test_favoured_layers(void **state)
{
    (void)state;
    const struct quant_model qwen = {.quant = QUANT_Q4_K_M, .layers = 48, .heads = 32, .kv_heads = 4, .experts = 128};
    for (uint32_t layer = 0; layer < 48; layer++) {
        bool more = layer < 6 || layer >= 42 || (layer >= 8 && layer % 3 == 2);
        assert_int_equal(type_of(&qwen, ROLE_ATTN_V, layer, 2048), more ? TYPE_Q6_K : TYPE_Q4_K);
        assert_int_equal(type_of(&qwen, ROLE_FFN_DOWN, layer, 768), more ? TYPE_Q6_K : TYPE_Q4_K);
        assert_int_equal(type_of(&qwen, ROLE_FFN_UP, layer, 2048), TYPE_Q4_K);
        assert_int_equal(type_of(&qwen, ROLE_ATTN_Q, layer, 2048), TYPE_Q4_K);
    }
    const struct quant_model five = {.quant = QUANT_Q4_K_M, .layers = 5, .heads = 1, .kv_heads = 1};
    static const bool of_five[] = {false, false, true, false, true}; /* an eighth is 0; the last from 7 * 5 / 8 = 4 */
    for (uint32_t layer = 0; layer < 5; layer++)
        assert_int_equal(type_of(&five, ROLE_ATTN_V, layer, 256), of_five[layer] ? TYPE_Q6_K : TYPE_Q4_K);
}

/* One row a quantisation: the types of a model of 32 layers at layer 20, which is in no first or last eighth and not
 * favoured ((20 - 4) % 3 is 1), of rows of 4096. */
struct middle {
    enum quant quant;
    enum tensor_type q, k, v, output, down, up, embedding, head;
};

static void check_middle(const struct quant_model *model, const struct middle *expected)
{
    const enum tensor_type types[][2] = {
        {type_of(model, ROLE_ATTN_Q, 20, 4096), expected->q},
        {type_of(model, ROLE_ATTN_K, 20, 4096), expected->k},
        {type_of(model, ROLE_ATTN_V, 20, 4096), expected->v},
        {type_of(model, ROLE_ATTN_OUTPUT, 20, 4096), expected->output},
        {type_of(model, ROLE_FFN_DOWN, 20, 4096), expected->down},
        {type_of(model, ROLE_FFN_UP, 20, 4096), expected->up},
        {type_of(model, ROLE_EMBEDDING, 0, 4096), expected->embedding},
        {type_of(model, ROLE_OUTPUT, 0, 4096), expected->head},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i][0] != types[i][1])
            print_error("%s, tensor %zu: %s, expected %s\n", quant_names[model->quant], i,
                        tensor_types[types[i][0]].name, tensor_types[types[i][1]].name);
        assert_int_equal(types[i][0], types[i][1]);
    }
    assert_int_equal(type_of(model, ROLE_EMBEDDING_TIED, 0, 4096), expected->head);
    const bool half = model->quant == QUANT_INT4;
    assert_int_equal(type_of(model, ROLE_NORM, 20, 4096), half ? TYPE_F16 : TYPE_F32);
    assert_int_equal(type_of(model, ROLE_BIAS, 20, 4096), half ? TYPE_F16 : TYPE_F32);
    assert_int_equal(type_of(model, ROLE_ROUTER, 20, 4096), half ? TYPE_F16 : TYPE_F32);
}

#define ALL(QUANT, type, head)                                                                                         \
    {                                                                                                                  \
        QUANT, TYPE_##type, TYPE_##type, TYPE_##type, TYPE_##type, TYPE_##type, TYPE_##type, TYPE_##type, TYPE_##head  \
    }
#define MIX(QUANT, q, k, v, output, down, up, embedding, head)                                                         \
    {                                                                                                                  \
        QUANT, TYPE_##q, TYPE_##k, TYPE_##v, TYPE_##output, TYPE_##down, TYPE_##up, TYPE_##embedding, TYPE_##head      \
    }

/* Each head with keys of its own, as Llama 2 7B. */
static void test_middle_ungrouped(void **state)
{
    (void)state;
    static const struct middle all[] = {
        ALL(QUANT_F32, F32, F32),
        ALL(QUANT_F16, F16, F16),
        ALL(QUANT_BF16, BF16, BF16),
        ALL(QUANT_INT8, INT8, INT8),
        ALL(QUANT_INT4, INT4, INT4),
        ALL(QUANT_Q8_0, Q8_0, Q8_0),
        ALL(QUANT_Q4_0, Q4_0, Q6_K),
        ALL(QUANT_Q4_1, Q4_1, Q6_K),
        ALL(QUANT_Q5_0, Q5_0, Q6_K),
        ALL(QUANT_Q5_1, Q5_1, Q6_K),
        ALL(QUANT_Q2_K_S, Q2_K, Q6_K),
        ALL(QUANT_Q3_K_S, Q3_K, Q6_K),
        ALL(QUANT_Q4_K_S, Q4_K, Q6_K),
        ALL(QUANT_Q4_K_M, Q4_K, Q6_K),
        ALL(QUANT_Q5_K_S, Q5_K, Q6_K),
        ALL(QUANT_Q5_K_M, Q5_K, Q6_K),
        ALL(QUANT_Q6_K, Q6_K, Q6_K),
        ALL(QUANT_IQ3_S, IQ3_S, Q6_K),
        ALL(QUANT_IQ4_NL, IQ4_NL, Q6_K),
        ALL(QUANT_IQ4_XS, IQ4_XS, Q6_K),
        ALL(QUANT_MXFP4_MOE, Q8_0, Q8_0),
        MIX(QUANT_Q2_K, Q2_K, Q2_K, Q3_K, Q3_K, Q3_K, Q2_K, Q2_K, Q6_K),
        MIX(QUANT_Q3_K_M, Q3_K, Q3_K, Q4_K, Q4_K, Q4_K, Q3_K, Q3_K, Q6_K),
        MIX(QUANT_Q3_K_L, Q3_K, Q3_K, Q5_K, Q5_K, Q5_K, Q3_K, Q3_K, Q6_K),
        MIX(QUANT_TQ1_0, TQ1_0, TQ1_0, TQ1_0, TQ1_0, TQ1_0, TQ1_0, Q4_K, Q6_K),
        MIX(QUANT_TQ2_0, TQ2_0, TQ2_0, TQ2_0, TQ2_0, TQ2_0, TQ2_0, Q4_K, Q6_K),
        MIX(QUANT_IQ1_S, IQ1_S, IQ1_S, Q2_K, IQ2_XXS, IQ1_S, IQ1_S, Q2_K, Q5_K),
        MIX(QUANT_IQ1_M, IQ1_M, IQ1_M, Q2_K, IQ2_XXS, IQ1_M, IQ1_M, Q2_K, Q5_K),
        MIX(QUANT_IQ2_XXS, IQ2_XXS, IQ2_XXS, Q2_K, IQ2_XXS, IQ2_XXS, IQ2_XXS, Q2_K, Q5_K),
        MIX(QUANT_IQ2_XS, IQ2_XS, IQ2_XS, Q2_K, IQ2_XS, IQ2_XS, IQ2_XS, Q2_K, Q5_K),
        MIX(QUANT_IQ2_S, IQ2_XS, IQ2_XS, IQ3_S, IQ3_S, IQ2_XS, IQ2_XS, IQ3_S, Q5_K),
        MIX(QUANT_IQ2_M, IQ2_S, IQ2_S, IQ3_S, IQ3_S, IQ2_S, IQ2_S, IQ3_S, Q5_K),
        MIX(QUANT_IQ3_XXS, IQ2_S, IQ2_S, IQ3_XXS, IQ3_S, IQ3_XXS, IQ3_XXS, IQ3_S, Q5_K),
        MIX(QUANT_IQ3_XS, IQ3_XXS, IQ3_XXS, IQ3_S, IQ3_S, IQ3_S, IQ3_XXS, IQ3_S, Q6_K),
        MIX(QUANT_IQ3_M, IQ3_S, IQ3_S, Q4_K, Q4_K, IQ3_S, IQ3_S, IQ3_S, Q6_K),
    };
    assert_int_equal(sizeof all / sizeof all[0], QUANTS);
    for (size_t i = 0; i < QUANTS; i++) {
        const struct quant_model model = {.quant = all[i].quant, .layers = 32, .heads = 32, .kv_heads = 32};
        check_middle(&model, &all[i]);
    }
}

/* Four heads share keys and values: v has more bits in some; and with eight experts k, v and the output do. */
static void test_values(void **state)
{
    (void)state;
    static const struct {
        enum quant quant;
        enum tensor_type grouped, eight, eight_k, eight_output;
    } cases[] = {
        {QUANT_F16, TYPE_F16, TYPE_F16, TYPE_F16, TYPE_F16},
        {QUANT_Q4_0, TYPE_Q4_0, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q4_0},
        {QUANT_Q8_0, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q8_0},
        {QUANT_Q2_K, TYPE_Q4_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_Q2_K_S, TYPE_Q4_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q2_K},
        {QUANT_Q3_K_S, TYPE_Q3_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_Q3_K_M, TYPE_Q4_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_Q3_K_L, TYPE_Q5_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q3_K},
        {QUANT_Q4_K_S, TYPE_Q4_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_Q4_K_M, TYPE_Q4_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_Q5_K_M, TYPE_Q5_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_IQ1_S, TYPE_Q4_K, TYPE_Q4_K, TYPE_Q4_K, TYPE_Q5_K},
        {QUANT_IQ2_XXS, TYPE_Q4_K, TYPE_Q4_K, TYPE_Q4_K, TYPE_Q5_K},
        {QUANT_IQ2_M, TYPE_Q4_K, TYPE_Q4_K, TYPE_Q4_K, TYPE_Q5_K},
        {QUANT_IQ3_XXS, TYPE_Q4_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_IQ3_XS, TYPE_Q4_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_IQ3_S, TYPE_Q4_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_IQ3_M, TYPE_Q4_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_IQ4_NL, TYPE_Q5_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
        {QUANT_IQ4_XS, TYPE_Q5_K, TYPE_Q8_0, TYPE_Q8_0, TYPE_Q5_K},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct quant_model model = {.quant = cases[i].quant, .layers = 32, .heads = 32, .kv_heads = 8};
        assert_int_equal(type_of(&model, ROLE_ATTN_V, 20, 4096), cases[i].grouped);
        model.experts = 8;
        assert_int_equal(type_of(&model, ROLE_ATTN_V, 20, 4096), cases[i].eight);
        assert_int_equal(type_of(&model, ROLE_ATTN_K, 20, 4096), cases[i].eight_k);
        assert_int_equal(type_of(&model, ROLE_ATTN_OUTPUT, 20, 4096), cases[i].eight_output);
    }
    /* Ten heads on three groups are 3 each, in integers. */
    const struct quant_model ten = {.quant = QUANT_Q2_K, .layers = 32, .heads = 10, .kv_heads = 3};
    assert_int_equal(type_of(&ten, ROLE_ATTN_V, 20, 4096), TYPE_Q3_K);
    /* 16 experts are no case of their own but for the tiny ones, from four on. */
    const struct quant_model phi = {.quant = QUANT_IQ2_XS, .layers = 32, .heads = 32, .kv_heads = 32, .experts = 16};
    assert_int_equal(type_of(&phi, ROLE_ATTN_V, 20, 4096), TYPE_Q4_K);
    assert_int_equal(type_of(&phi, ROLE_ATTN_K, 20, 4096), TYPE_IQ2_XS);
}

static void test_seventy(void **state)
{
    (void)state;
    struct quant_model model = {.quant = QUANT_Q4_K_S, .layers = 80, .heads = 64, .kv_heads = 8};
    assert_int_equal(type_of(&model, ROLE_ATTN_V, 40, 8192), TYPE_Q5_K);
    model.quant = QUANT_Q3_K_S;
    assert_int_equal(type_of(&model, ROLE_ATTN_V, 40, 8192), TYPE_Q5_K);
    model.quant = QUANT_Q3_K_M;
    assert_int_equal(type_of(&model, ROLE_ATTN_V, 40, 8192), TYPE_Q5_K);
    model.quant = QUANT_Q4_0;
    assert_int_equal(type_of(&model, ROLE_ATTN_V, 40, 8192), TYPE_Q4_0);
    model.quant = QUANT_Q4_K_S;
    model.kv_heads = 64; /* Llama 65B */
    assert_int_equal(type_of(&model, ROLE_ATTN_V, 40, 8192), TYPE_Q4_K);
}

/* Layers 0 to 3 are the first eighth of 32, 0 and 1 the first sixteenth. */
static void test_first_layers(void **state)
{
    (void)state;
    static const struct {
        enum quant quant;
        enum tensor_role role;
        enum tensor_type first, second, third, fifth;
    } cases[] = {
        {QUANT_Q2_K_S, ROLE_FFN_DOWN, TYPE_Q4_K, TYPE_Q4_K, TYPE_Q4_K, TYPE_Q2_K},
        {QUANT_Q3_K_M, ROLE_FFN_DOWN, TYPE_Q5_K, TYPE_Q5_K, TYPE_Q4_K, TYPE_Q4_K},
        {QUANT_Q3_K_M, ROLE_ATTN_V, TYPE_Q5_K, TYPE_Q5_K, TYPE_Q4_K, TYPE_Q4_K},
        {QUANT_Q4_K_S, ROLE_FFN_DOWN, TYPE_Q5_K, TYPE_Q5_K, TYPE_Q5_K, TYPE_Q4_K},
        {QUANT_Q4_K_S, ROLE_ATTN_V, TYPE_Q5_K, TYPE_Q5_K, TYPE_Q5_K, TYPE_Q4_K},
        {QUANT_Q5_K_M, ROLE_FFN_DOWN, TYPE_Q6_K, TYPE_Q6_K, TYPE_Q6_K, TYPE_Q5_K},
        {QUANT_IQ1_S, ROLE_FFN_DOWN, TYPE_Q2_K, TYPE_Q2_K, TYPE_Q2_K, TYPE_IQ1_S},
        {QUANT_IQ2_M, ROLE_FFN_DOWN, TYPE_IQ3_S, TYPE_IQ3_S, TYPE_IQ3_S, TYPE_IQ2_S},
        {QUANT_IQ3_M, ROLE_FFN_DOWN, TYPE_Q4_K, TYPE_Q4_K, TYPE_Q4_K, TYPE_IQ3_S},
        {QUANT_IQ3_XS, ROLE_FFN_UP, TYPE_IQ3_S, TYPE_IQ3_S, TYPE_IQ3_S, TYPE_IQ3_XXS},
        {QUANT_IQ4_XS, ROLE_FFN_DOWN, TYPE_Q5_K, TYPE_Q5_K, TYPE_Q5_K, TYPE_IQ4_XS},
        {QUANT_IQ4_NL, ROLE_FFN_DOWN, TYPE_Q5_K, TYPE_Q5_K, TYPE_Q5_K, TYPE_IQ4_NL},
        {QUANT_Q4_0, ROLE_FFN_DOWN, TYPE_Q4_0, TYPE_Q4_0, TYPE_Q4_0, TYPE_Q4_0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct quant_model model = {.quant = cases[i].quant, .layers = 32, .heads = 32, .kv_heads = 32};
        assert_int_equal(type_of(&model, cases[i].role, 0, 4096), cases[i].first);
        assert_int_equal(type_of(&model, cases[i].role, 1, 4096), cases[i].second);
        assert_int_equal(type_of(&model, cases[i].role, 2, 4096), cases[i].third);
        assert_int_equal(type_of(&model, cases[i].role, 4, 4096), cases[i].fifth);
    }
    /* The tiny ones count tensors: a shared expert's comes second in its layer. */
    const struct quant_model tiny = {.quant = QUANT_IQ2_XS, .layers = 24, .heads = 16, .kv_heads = 16, .experts = 60};
    const struct quant_tensor third = {.role = ROLE_FFN_DOWN, .layer = 1, .downs = 2, .row_elements = 4096};
    const struct quant_tensor fourth = {.role = ROLE_FFN_DOWN, .layer = 1, .downs = 3, .row_elements = 4096};
    assert_int_equal(quant_type(&tiny, &third), TYPE_Q2_K);
    assert_int_equal(quant_type(&tiny, &fourth), TYPE_IQ2_XS);
}

static void test_imatrix(void **state)
{
    (void)state;
    static const struct {
        enum quant quant;
        enum tensor_type without, with;
    } cases[] = {{QUANT_Q4_0, TYPE_Q4_0, TYPE_Q4_1},     {QUANT_Q5_0, TYPE_Q5_0, TYPE_Q5_1},
                 {QUANT_Q4_1, TYPE_Q4_1, TYPE_Q4_1},     {QUANT_IQ4_XS, TYPE_Q5_K, TYPE_IQ4_XS},
                 {QUANT_IQ4_NL, TYPE_Q5_K, TYPE_IQ4_NL}, {QUANT_Q4_K_M, TYPE_Q6_K, TYPE_Q6_K}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct quant_model model = {.quant = cases[i].quant, .layers = 16, .heads = 32, .kv_heads = 8};
        assert_int_equal(type_of(&model, ROLE_FFN_DOWN, 1, 8192), cases[i].without);
        model.imatrix = true;
        assert_int_equal(type_of(&model, ROLE_FFN_DOWN, 1, 8192), cases[i].with);
        assert_int_equal(type_of(&model, ROLE_FFN_UP, 1, 8192), quant_base_type(cases[i].quant));
    }
}

static void test_fused_and_stacked(void **state)
{
    (void)state;
    static const enum quant quants[] = {QUANT_Q4_0,   QUANT_Q2_K,   QUANT_Q3_K_M, QUANT_Q3_K_L,
                                        QUANT_Q4_K_M, QUANT_Q5_K_M, QUANT_IQ3_M,  QUANT_IQ1_S};
    static const enum tensor_type fused[] = {TYPE_Q4_0, TYPE_Q2_K, TYPE_Q4_K, TYPE_Q4_K,
                                             TYPE_Q5_K, TYPE_Q6_K, TYPE_Q4_K, TYPE_IQ1_S};
    for (size_t i = 0; i < sizeof quants / sizeof quants[0]; i++) {
        const struct quant_model phi = {.quant = quants[i], .layers = 32, .heads = 32, .kv_heads = 32};
        assert_int_equal(type_of(&phi, ROLE_ATTN_QKV, 0, 3072), fused[i]);
        assert_int_equal(type_of(&phi, ROLE_LATENT, 0, 512), quant_base_type(quants[i]));
    }
    const struct quant_model moe = {.quant = QUANT_MXFP4_MOE, .layers = 24, .heads = 64, .kv_heads = 8, .experts = 32};
    const struct quant_tensor stacked = {.role = ROLE_FFN_UP, .stacked = true, .row_elements = 2880};
    assert_int_equal(quant_type(&moe, &stacked), TYPE_MXFP4);
    assert_int_equal(type_of(&moe, ROLE_EMBEDDING, 0, 2880), TYPE_Q8_0);
    assert_int_equal(type_of(&moe, ROLE_ATTN_Q, 0, 2880), TYPE_Q8_0);
}

/* Qwen2.5-0.5B has rows of 896: no whole number of 256s, but of 32s. */
static void test_fallbacks(void **state)
{
    (void)state;
    static const struct {
        enum quant quant;
        enum tensor_role role;
        uint64_t row;
        enum tensor_type type;
    } cases[] = {
        {QUANT_Q4_K_M, ROLE_ATTN_Q, 896, TYPE_Q5_0},
        {QUANT_Q4_K_M, ROLE_ATTN_V, 896, TYPE_Q8_0},
        {QUANT_Q4_K_M, ROLE_EMBEDDING_TIED, 896, TYPE_Q8_0},
        {QUANT_Q4_0, ROLE_OUTPUT, 896, TYPE_Q8_0},
        {QUANT_Q4_0, ROLE_ATTN_Q, 896, TYPE_Q4_0},
        {QUANT_Q5_K_S, ROLE_ATTN_OUTPUT, 896, TYPE_Q5_1},
        {QUANT_Q6_K, ROLE_FFN_UP, 896, TYPE_Q8_0},
        {QUANT_Q2_K, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_Q3_K_S, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_IQ1_S, ROLE_OUTPUT, 896, TYPE_Q8_0},
        {QUANT_IQ1_S, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_IQ1_M, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_IQ2_XXS, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_IQ2_XS, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_IQ2_M, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_IQ3_XXS, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_IQ3_S, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_IQ4_XS, ROLE_FFN_UP, 896, TYPE_IQ4_NL},
        {QUANT_TQ1_0, ROLE_FFN_UP, 896, TYPE_Q4_0},
        {QUANT_TQ2_0, ROLE_FFN_UP, 896, TYPE_Q4_0},
        {QUANT_Q4_0, ROLE_ATTN_Q, 100, TYPE_F16},
        {QUANT_Q4_K_M, ROLE_ATTN_Q, 100, TYPE_F16},
        {QUANT_IQ4_XS, ROLE_ATTN_Q, 100, TYPE_F16},
        {QUANT_INT4, ROLE_ATTN_Q, 100, TYPE_F16},
        {QUANT_INT8, ROLE_ATTN_Q, 100, TYPE_INT8},
        {QUANT_Q8_0, ROLE_OUTPUT, 100, TYPE_F16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct quant_model model = {.quant = cases[i].quant, .layers = 24, .heads = 14, .kv_heads = 2};
        assert_int_equal(type_of(&model, cases[i].role, 2, cases[i].row), cases[i].type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_favoured_layers),
        cmocka_unit_test(test_middle_ungrouped),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_seventy),
        cmocka_unit_test(test_first_layers),
        cmocka_unit_test(test_imatrix),
        cmocka_unit_test(test_fused_and_stacked),
        cmocka_unit_test(test_fallbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
