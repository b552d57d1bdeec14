/* Tensor types of ggml and the quantisations that files are known by.
 *
 * Sizes are exact: elements come in blocks of `block_elements` that take `block_bytes`. Source of each type's size and
 * number: ggml/include/ggml.h (enum ggml_type) and ggml/src/ggml-common.h (block structures) of llama.cpp. */
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
    TYPE_NAMED, /* the remaining ggml types follow in the table, without a name here */
};
enum { TENSOR_TYPES_MAX = 48 };

struct tensor_type_info {
    const char *name; /* "q4_k" */
    uint32_t gguf_number;
    uint32_t block_elements, block_bytes;
};

extern const struct tensor_type_info tensor_types[];
extern const uint32_t tensor_type_count;

/* The type with that number in a GGUF file, or -1. */
int tensor_type_by_number(uint32_t gguf_number);

/* Bytes of `elements` elements in rows of `row_elements` (each row holds whole blocks): STATUS_INPUT when a row is not
 * a whole number of blocks or the product overflows. */
bool tensor_bytes(uint32_t type, uint64_t elements, uint64_t row_elements, uint64_t *bytes, struct error *err);

/* The quantisations of files: which type each tensor gets. */
enum quant { QUANT_F32, QUANT_F16, QUANT_Q8_0, QUANT_Q4_0, QUANT_Q4_K_M, QUANTS };
extern const char *const quant_names[QUANTS];

enum tensor_role {
    ROLE_EMBEDDING,      /* token_embd, untied */
    ROLE_EMBEDDING_TIED, /* token_embd that is the output head too */
    ROLE_OUTPUT,
    ROLE_ATTN_Q,
    ROLE_ATTN_K,
    ROLE_ATTN_V,
    ROLE_ATTN_OUTPUT,
    ROLE_FFN_UP, /* up and gate */
    ROLE_FFN_DOWN,
    ROLE_NORM,   /* stays f32 */
    ROLE_ROUTER, /* stays f32 */
};

/* The type that llama.cpp's quantiser gives a tensor (src/llama-quant.cpp): layer of layers for the mixes that
 * favour some layers, `experts` for the rules that depend on their number, fallbacks where a row is not divisible.
 * f32 and f16 files are written by the converter, which mixes nothing but keeps norms and routers in f32. */
uint32_t quant_type(enum quant quant, enum tensor_role role, uint32_t layer, uint32_t layers, uint32_t experts,
                    uint64_t row_elements);

#endif
