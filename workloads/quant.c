/* The tables of tensor types and of quantisations. */
#include "workloads/quant.h"

#include <inttypes.h>

#include "base/units.h"

/* Number, elements and bytes of a block. Sources: enum ggml_type in ggml/include/ggml.h, block structures in
 * ggml/src/ggml-common.h. 31-33 and 36-38 are rearrangements of q4_0 and iq4_nl that files of 2024 still have. */
const struct tensor_type_info tensor_types[] = {
    [TYPE_F32] = {"f32", 0, 1, 4, 0},
    [TYPE_F16] = {"f16", 1, 1, 2, 0},
    [TYPE_BF16] = {"bf16", 30, 1, 2, 0},
    [TYPE_Q8_0] = {"q8_0", 8, 32, 34, 0},
    [TYPE_Q4_0] = {"q4_0", 2, 32, 18, 0},
    [TYPE_Q4_K] = {"q4_k", 12, 256, 144, 0},
    [TYPE_Q5_K] = {"q5_k", 13, 256, 176, 0},
    [TYPE_Q6_K] = {"q6_k", 14, 256, 210, 0},
    [TYPE_Q5_0] = {"q5_0", 6, 32, 22, 0},
    [TYPE_Q5_1] = {"q5_1", 7, 32, 24, 0},
    [TYPE_Q4_1] = {"q4_1", 3, 32, 20, 0},
    [TYPE_Q2_K] = {"q2_k", 10, 256, 84, 0},
    [TYPE_Q3_K] = {"q3_k", 11, 256, 110, 0},
    [TYPE_IQ1_S] = {"iq1_s", 19, 256, 50, 0},
    [TYPE_IQ1_M] = {"iq1_m", 29, 256, 56, 0},
    [TYPE_IQ2_XXS] = {"iq2_xxs", 16, 256, 66, 0},
    [TYPE_IQ2_XS] = {"iq2_xs", 17, 256, 74, 0},
    [TYPE_IQ2_S] = {"iq2_s", 22, 256, 82, 0},
    [TYPE_IQ3_XXS] = {"iq3_xxs", 18, 256, 98, 0},
    [TYPE_IQ3_S] = {"iq3_s", 21, 256, 110, 0},
    [TYPE_IQ4_NL] = {"iq4_nl", 20, 32, 18, 0},
    [TYPE_IQ4_XS] = {"iq4_xs", 23, 256, 136, 0},
    [TYPE_TQ1_0] = {"tq1_0", 34, 256, 54, 0},
    [TYPE_TQ2_0] = {"tq2_0", 35, 256, 66, 0},
    [TYPE_MXFP4] = {"mxfp4", 39, 32, 17, 0},
    [TYPE_INT8] = {"int8", TYPE_NO_NUMBER, 1, 1, 4},
    [TYPE_INT4] = {"int4", TYPE_NO_NUMBER, 32, 18, 0},
    {"q8_1", 9, 32, 36, 0},
    {"q8_k", 15, 256, 292, 0},
    {"i8", 24, 1, 1, 0},
    {"i16", 25, 1, 2, 0},
    {"i32", 26, 1, 4, 0},
    {"i64", 27, 1, 8, 0},
    {"f64", 28, 1, 8, 0},
    {"q4_0_4_4", 31, 32, 18, 0},
    {"q4_0_4_8", 32, 32, 18, 0},
    {"q4_0_8_8", 33, 32, 18, 0},
    {"iq4_nl_4_4", 36, 32, 18, 0},
    {"iq4_nl_4_8", 37, 32, 18, 0},
    {"iq4_nl_8_8", 38, 32, 18, 0},
    {"nvfp4", 40, 64, 36, 0},
    {"q1_0", 41, 128, 18, 0},
    {"q2_0", 42, 64, 18, 0},
    {"f8_e4m3", TYPE_NO_NUMBER, 1, 1, 0}, /* of safetensors files */
    {"f8_e5m2", TYPE_NO_NUMBER, 1, 1, 0},
};
const uint32_t tensor_type_count = sizeof tensor_types / sizeof tensor_types[0];
_Static_assert(sizeof tensor_types / sizeof tensor_types[0] <= TENSOR_TYPES_MAX, "rates by type would not fit");

const char *const quant_names[QUANTS] = {
    [QUANT_IQ1_S] = "iq1_s",         [QUANT_IQ1_M] = "iq1_m",     [QUANT_TQ1_0] = "tq1_0",
    [QUANT_IQ2_XXS] = "iq2_xxs",     [QUANT_TQ2_0] = "tq2_0",     [QUANT_IQ2_XS] = "iq2_xs",
    [QUANT_IQ2_S] = "iq2_s",         [QUANT_IQ2_M] = "iq2_m",     [QUANT_Q2_K_S] = "q2_k_s",
    [QUANT_Q2_K] = "q2_k",           [QUANT_IQ3_XXS] = "iq3_xxs", [QUANT_IQ3_XS] = "iq3_xs",
    [QUANT_Q3_K_S] = "q3_k_s",       [QUANT_IQ3_S] = "iq3_s",     [QUANT_IQ3_M] = "iq3_m",
    [QUANT_Q3_K_M] = "q3_k_m",       [QUANT_Q3_K_L] = "q3_k_l",   [QUANT_IQ4_XS] = "iq4_xs",
    [QUANT_MXFP4_MOE] = "mxfp4_moe", [QUANT_INT4] = "int4",       [QUANT_IQ4_NL] = "iq4_nl",
    [QUANT_Q4_0] = "q4_0",           [QUANT_Q4_K_S] = "q4_k_s",   [QUANT_Q4_K_M] = "q4_k_m",
    [QUANT_Q4_1] = "q4_1",           [QUANT_Q5_0] = "q5_0",       [QUANT_Q5_K_S] = "q5_k_s",
    [QUANT_Q5_K_M] = "q5_k_m",       [QUANT_Q5_1] = "q5_1",       [QUANT_Q6_K] = "q6_k",
    [QUANT_INT8] = "int8",           [QUANT_Q8_0] = "q8_0",       [QUANT_F16] = "f16",
    [QUANT_BF16] = "bf16",           [QUANT_F32] = "f32",
};

enum tensor_type quant_base_type(enum quant quant)
{
    static const enum tensor_type types[QUANTS] = {
        [QUANT_IQ1_S] = TYPE_IQ1_S,     [QUANT_IQ1_M] = TYPE_IQ1_M,     [QUANT_TQ1_0] = TYPE_TQ1_0,
        [QUANT_IQ2_XXS] = TYPE_IQ2_XXS, [QUANT_TQ2_0] = TYPE_TQ2_0,     [QUANT_IQ2_XS] = TYPE_IQ2_XS,
        [QUANT_IQ2_S] = TYPE_IQ2_XS,    [QUANT_IQ2_M] = TYPE_IQ2_S,     [QUANT_Q2_K_S] = TYPE_Q2_K,
        [QUANT_Q2_K] = TYPE_Q2_K,       [QUANT_IQ3_XXS] = TYPE_IQ3_XXS, [QUANT_IQ3_XS] = TYPE_IQ3_S,
        [QUANT_Q3_K_S] = TYPE_Q3_K,     [QUANT_IQ3_S] = TYPE_IQ3_S,     [QUANT_IQ3_M] = TYPE_IQ3_S,
        [QUANT_Q3_K_M] = TYPE_Q3_K,     [QUANT_Q3_K_L] = TYPE_Q3_K,     [QUANT_IQ4_XS] = TYPE_IQ4_XS,
        [QUANT_MXFP4_MOE] = TYPE_MXFP4, [QUANT_INT4] = TYPE_INT4,       [QUANT_IQ4_NL] = TYPE_IQ4_NL,
        [QUANT_Q4_0] = TYPE_Q4_0,       [QUANT_Q4_K_S] = TYPE_Q4_K,     [QUANT_Q4_K_M] = TYPE_Q4_K,
        [QUANT_Q4_1] = TYPE_Q4_1,       [QUANT_Q5_0] = TYPE_Q5_0,       [QUANT_Q5_K_S] = TYPE_Q5_K,
        [QUANT_Q5_K_M] = TYPE_Q5_K,     [QUANT_Q5_1] = TYPE_Q5_1,       [QUANT_Q6_K] = TYPE_Q6_K,
        [QUANT_INT8] = TYPE_INT8,       [QUANT_Q8_0] = TYPE_Q8_0,       [QUANT_F16] = TYPE_F16,
        [QUANT_BF16] = TYPE_BF16,       [QUANT_F32] = TYPE_F32,
    };
    must(quant < QUANTS);
    return types[quant];
}

int tensor_type_by_number(uint32_t gguf_number)
{
    for (uint32_t i = 0; i < tensor_type_count && gguf_number != TYPE_NO_NUMBER; i++)
        if (tensor_types[i].gguf_number == gguf_number)
            return (int)i;
    return -1;
}

bool tensor_bytes(uint32_t type, uint64_t elements, uint64_t row_elements, uint64_t *bytes, struct error *err)
{
    must(type < tensor_type_count);
    const struct tensor_type_info *info = &tensor_types[type];
    if (row_elements == 0 || row_elements % info->block_elements != 0 || elements % row_elements != 0)
        return fail(err, STATUS_INPUT,
                    "a row of %" PRIu64 " elements (of %" PRIu64 ") is not a whole number of %s blocks of %" PRIu32,
                    row_elements, elements, info->name, info->block_elements);
    uint64_t beside;
    if (!multiply(elements / info->block_elements, info->block_bytes, bytes) ||
        !multiply(elements / row_elements, info->row_bytes, &beside) || !add(*bytes, beside, bytes))
        return fail(err, STATUS_INPUT, "%" PRIu64 " elements of type %s take more than 2^64 bytes", elements,
                    info->name);
    return true;
}
