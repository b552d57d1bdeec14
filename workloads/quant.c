/* The table of ggml's tensor types, and which type each tensor of a quantised file gets. */
#include "workloads/quant.h"

#include <inttypes.h>

#include "base/units.h"

/* Number, elements and bytes of a block. Sources: enum ggml_type in ggml/include/ggml.h, block structures in
 * ggml/src/ggml-common.h. 31-33 and 36-38 are rearrangements of q4_0 and iq4_nl that files of 2024 still have. */
const struct tensor_type_info tensor_types[] = {
    [TYPE_F32] = {"f32", 0, 1, 4},
    [TYPE_F16] = {"f16", 1, 1, 2},
    [TYPE_BF16] = {"bf16", 30, 1, 2},
    [TYPE_Q8_0] = {"q8_0", 8, 32, 34},
    [TYPE_Q4_0] = {"q4_0", 2, 32, 18},
    [TYPE_Q4_K] = {"q4_k", 12, 256, 144},
    [TYPE_Q5_K] = {"q5_k", 13, 256, 176},
    [TYPE_Q6_K] = {"q6_k", 14, 256, 210},
    [TYPE_Q5_0] = {"q5_0", 6, 32, 22},
    [TYPE_Q5_1] = {"q5_1", 7, 32, 24},
    [TYPE_NAMED] = {"q4_1", 3, 32, 20},
    {"q8_1", 9, 32, 36},
    {"q2_k", 10, 256, 84},
    {"q3_k", 11, 256, 110},
    {"q8_k", 15, 256, 292},
    {"iq2_xxs", 16, 256, 66},
    {"iq2_xs", 17, 256, 74},
    {"iq3_xxs", 18, 256, 98},
    {"iq1_s", 19, 256, 50},
    {"iq4_nl", 20, 32, 18},
    {"iq3_s", 21, 256, 110},
    {"iq2_s", 22, 256, 82},
    {"iq4_xs", 23, 256, 136},
    {"i8", 24, 1, 1},
    {"i16", 25, 1, 2},
    {"i32", 26, 1, 4},
    {"i64", 27, 1, 8},
    {"f64", 28, 1, 8},
    {"iq1_m", 29, 256, 56},
    {"q4_0_4_4", 31, 32, 18},
    {"q4_0_4_8", 32, 32, 18},
    {"q4_0_8_8", 33, 32, 18},
    {"tq1_0", 34, 256, 54},
    {"tq2_0", 35, 256, 66},
    {"iq4_nl_4_4", 36, 32, 18},
    {"iq4_nl_4_8", 37, 32, 18},
    {"iq4_nl_8_8", 38, 32, 18},
    {"mxfp4", 39, 32, 17},
    {"nvfp4", 40, 64, 36},
    {"q1_0", 41, 128, 18},
    {"q2_0", 42, 64, 18},
};
const uint32_t tensor_type_count = sizeof tensor_types / sizeof tensor_types[0];
_Static_assert(sizeof tensor_types / sizeof tensor_types[0] <= TENSOR_TYPES_MAX, "rates by type would not fit");

const char *const quant_names[QUANTS] = {"f32", "f16", "q8_0", "q4_0", "q4_k_m"};

int tensor_type_by_number(uint32_t gguf_number)
{
    for (uint32_t i = 0; i < tensor_type_count; i++)
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
    if (!multiply(elements / info->block_elements, info->block_bytes, bytes))
        return fail(err, STATUS_INPUT, "%" PRIu64 " elements of type %s take more than 2^64 bytes", elements,
                    info->name);
    return true;
}

/* The layers that q4_k_m gives more bits: the first and last eighth, and every third between (use_more_bits). */
static bool favoured(uint32_t layer, uint32_t layers)
{
    uint32_t eighth = layers / 8;
    return layer < eighth || layer >= (uint64_t)7 * layers / 8 || (layer - eighth) % 3 == 2;
}

/* Before fallbacks: llama_tensor_get_type. Eight experts are a case of their own there (made for Mixtral-8x7B, whose
 * k and v are small beside its experts), for any quantised type. */
static uint32_t wanted_type(enum quant quant, enum tensor_role role, uint32_t layer, uint32_t layers, uint32_t experts)
{
    static const uint32_t base[QUANTS] = {TYPE_F32, TYPE_F16, TYPE_Q8_0, TYPE_Q4_0, TYPE_Q4_K};
    if (role == ROLE_NORM || role == ROLE_ROUTER)
        return TYPE_F32;
    if (quant == QUANT_F32 || quant == QUANT_F16)
        return base[quant];
    if ((role == ROLE_OUTPUT || role == ROLE_EMBEDDING_TIED) && quant != QUANT_Q8_0)
        return TYPE_Q6_K;
    if (experts == 8 && (role == ROLE_ATTN_K || role == ROLE_ATTN_V))
        return TYPE_Q8_0;
    if (quant == QUANT_Q4_K_M) {
        if (experts == 8 && role == ROLE_ATTN_OUTPUT)
            return TYPE_Q5_K;
        if ((role == ROLE_ATTN_V || role == ROLE_FFN_DOWN) && favoured(layer, layers))
            return TYPE_Q6_K;
    }
    return base[quant];
}

uint32_t quant_type(enum quant quant, enum tensor_role role, uint32_t layer, uint32_t layers, uint32_t experts,
                    uint64_t row_elements)
{
    uint32_t type = wanted_type(quant, role, layer, layers, experts);
    if (row_elements % tensor_types[type].block_elements != 0) {
        if (type == TYPE_Q4_K)
            type = TYPE_Q5_0;
        else if (type == TYPE_Q5_K)
            type = TYPE_Q5_1;
        else if (type == TYPE_Q6_K)
            type = TYPE_Q8_0;
    }
    return row_elements % tensor_types[type].block_elements == 0 ? type : (uint32_t)TYPE_F16;
}
