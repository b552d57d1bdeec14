/* Models whose files' sizes are published. */
#ifndef POCKETLOAD_TESTS_MODEL_SIZES_DATA_H
#define POCKETLOAD_TESTS_MODEL_SIZES_DATA_H

#include <stddef.h>

#include "workloads/model.h"

enum known_model {
    SMOLLM2_360M,
    SMOLLM2_1_7B,
    TINYLLAMA,
    LLAMA_3_2_1B,
    LLAMA_3_2_3B,
    LLAMA_3_1_8B,
    LLAMA_2_7B,
    MISTRAL_7B,
    QWEN2_5_0_5B,
    QWEN2_5_1_5B,
    QWEN2_5_7B,
    QWEN3_0_6B,
    QWEN3_1_7B,
    QWEN3_4B,
    GEMMA_2_2B,
    GEMMA_3_1B,
    GEMMA_3_4B,
    PHI_2,
    PHI_3_MINI,
    PHI_4_MINI,
    OLMOE,
    QWEN1_5_MOE,
    QWEN3_30B,
    PHI_3_5_MOE,
    MIXTRAL,
    DEEPSEEK_V2_LITE,
    KNOWN_SHAPES
};

struct known_shape {
    const char *name;
    uint64_t kv_bytes; /* f16, a token */
    struct shape shape;
};
extern const struct known_shape known_shapes[KNOWN_SHAPES];

struct known_size {
    enum known_model model;
    enum quant quant;
    enum output_copy copy;
    uint64_t file_bytes;
};
extern const struct known_size known_sizes[];
extern const size_t known_size_count;

#endif
