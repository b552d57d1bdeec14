/* Tensor types, and the quantisations that files are known by.
 *
 * Sizes are exact: elements come in blocks of `block_elements` that take `block_bytes`. Source of each type's size and
 * number: ggml/include/ggml.h (enum ggml_type) and ggml/src/ggml-common.h (block structures) of llama.cpp. Two types
 * are of other runtimes:
 *   int8  a byte a weight and an f32 scale for each output channel (a row here), as LiteRT and XNNPACK store
 *         fully connected layers (ai.google.dev/edge/litert, "8-bit quantization specification", per-axis).
 *   int4  groups of 32 weights in 4 bits with an f16 scale, as MLC-LLM's q4f16_1 (mlc-ai/mlc-llm,
 *         python/mlc_llm/quantization/quantization.py: group_size 32, model_dtype float16). */
#ifndef POCKETLOAD_WORKLOADS_QUANT_H
#define POCKETLOAD_WORKLOADS_QUANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Dense numbers of our own: index into tensor_types[]. The number in GGUF files is tensor_types[i].gguf_number. */
enum tensor_type {
    TYPE_F32,
    TYPE_F16,
    TYPE_BF16,
    TYPE_Q8_0,
    TYPE_Q4_0,
    TYPE_Q4_K,
    TYPE_Q5_K,
    TYPE_Q6_K,
    TYPE_Q5_0,
    TYPE_Q5_1,
    TYPE_COMMON, /* how many stand before: the types that lists for people show */
    TYPE_Q4_1 = TYPE_COMMON,
    TYPE_Q2_K,
    TYPE_Q3_K,
    TYPE_IQ1_S,
    TYPE_IQ1_M,
    TYPE_IQ2_XXS,
    TYPE_IQ2_XS,
    TYPE_IQ2_S,
    TYPE_IQ3_XXS,
    TYPE_IQ3_S,
    TYPE_IQ4_NL,
    TYPE_IQ4_XS,
    TYPE_TQ1_0,
    TYPE_TQ2_0,
    TYPE_MXFP4,
    TYPE_INT8,
    TYPE_INT4, /* ggml's remaining types follow in the table, without a name here */
};
enum { TENSOR_TYPES_MAX = 48 };
#define TYPE_NO_NUMBER UINT32_MAX

struct tensor_type_info {
    const char *name;     /* "q4_k" */
    uint32_t gguf_number; /* TYPE_NO_NUMBER: not ggml's */
    uint32_t block_elements, block_bytes;
    uint32_t row_bytes; /* of each row beside its blocks */
};

extern const struct tensor_type_info tensor_types[];
extern const uint32_t tensor_type_count;

/* The type with that number in a GGUF file, or -1. */
int tensor_type_by_number(uint32_t gguf_number);

/* Bytes of `elements` elements in rows of `row_elements` (each row holds whole blocks): STATUS_INPUT when a row is not
 * a whole number of blocks or the product overflows. */
bool tensor_bytes(uint32_t type, uint64_t elements, uint64_t row_elements, uint64_t *bytes, struct error *err);

/* The quantisations that files are known by, smallest weights first: llama.cpp's names of files (enum llama_ftype in
 * include/llama.h), int8 and int4. */
enum quant {
    QUANT_IQ1_S,
    QUANT_IQ1_M,
    QUANT_TQ1_0,
    QUANT_IQ2_XXS,
    QUANT_TQ2_0,
    QUANT_IQ2_XS,
    QUANT_IQ2_S,
    QUANT_IQ2_M,
    QUANT_Q2_K_S,
    QUANT_Q2_K,
    QUANT_IQ3_XXS,
    QUANT_IQ3_XS,
    QUANT_Q3_K_S,
    QUANT_IQ3_S,
    QUANT_IQ3_M,
    QUANT_Q3_K_M,
    QUANT_Q3_K_L,
    QUANT_IQ4_XS,
    QUANT_MXFP4_MOE,
    QUANT_INT4,
    QUANT_IQ4_NL,
    QUANT_Q4_0,
    QUANT_Q4_K_S,
    QUANT_Q4_K_M,
    QUANT_Q4_1,
    QUANT_Q5_0,
    QUANT_Q5_K_S,
    QUANT_Q5_K_M,
    QUANT_Q5_1,
    QUANT_Q6_K,
    QUANT_INT8,
    QUANT_Q8_0,
    QUANT_F16,
    QUANT_BF16,
    QUANT_F32,
    QUANTS
};
extern const char *const quant_names[QUANTS];

/* The type of most tensors of such a file: llama_ftype_get_default_type (src/llama-quant.cpp). */
enum tensor_type quant_base_type(enum quant quant);

enum tensor_role {
    ROLE_EMBEDDING,      /* token_embd, untied */
    ROLE_EMBEDDING_TIED, /* token_embd that is the output head too */
    ROLE_OUTPUT,
    ROLE_ATTN_Q,
    ROLE_ATTN_K,
    ROLE_ATTN_V,
    ROLE_ATTN_QKV, /* the three in one matrix */
    ROLE_ATTN_OUTPUT,
    ROLE_LATENT, /* what multi-head latent attention has in place of k and v: attn_kv_a_mqa, attn_kv_b */
    ROLE_FFN_UP, /* up and gate */
    ROLE_FFN_DOWN,
    ROLE_NORM,   /* stays f32 */
    ROLE_BIAS,   /* stays f32 */
    ROLE_ROUTER, /* stays f32 */
};

/* What the mixes look at beside the tensor. */
struct quant_model {
    enum quant quant;
    uint32_t layers, heads, kv_heads;
    uint32_t experts; /* 0: dense */
    bool imatrix;     /* an importance matrix was given; quantisations that cannot do without have one anyway */
};

struct quant_tensor {
    enum tensor_role role;
    bool stacked;   /* holds a matrix of each expert */
    uint32_t layer; /* 0 for the embedding and the output */
    uint32_t downs; /* of ROLE_FFN_DOWN: how many such tensors come before it in the file */
    uint64_t row_elements;
};

/* The type that llama.cpp's quantiser gives a tensor: llama_tensor_get_type in src/llama-quant.cpp of
 * ggml-org/llama.cpp at 8784689fee07, the rules by which nearly all published files were made (2024 to 2025). Where a
 * row is not a whole number of blocks a type of smaller blocks takes its place, at last f16. Falcon's own rules are
 * left out. f32, f16 and bf16 files are written by the converter, which mixes nothing but keeps norms, biases and
 * routers in f32. In an int8 model these are f32 too; in an int4 model f16, and all else is int4 (MLC-LLM, as above).
 *
 * Later versions (007dbbf3fd17, 2026) differ: fused q, k and v and attn_kv_b follow the rules of attn_v. */
enum tensor_type quant_type(const struct quant_model *model, const struct quant_tensor *tensor);

#endif
