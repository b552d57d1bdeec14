/* What `model list` and `model show` print of a model. */
#ifndef POCKETLOAD_CLI_MODEL_ROW_H
#define POCKETLOAD_CLI_MODEL_ROW_H

#include "sim/record.h"
#include "workloads/model.h"

enum { MODEL_NAME_BYTES = 128 };

/* -1 and "" where there is nothing to say. Texts are those of the model and the caller. */
struct model_row {
    const char *name, *quant;
    int64_t layers, width, vocab, heads, kv_heads, head_size, ffn, experts, experts_used, expert_ffn, window,
        window_layers;
    uint64_t blocks, weights_bytes, file_bytes, kv_bytes_per_token, largest_block_bytes;
    int64_t kind_bytes[BLOCK_KINDS], kind_blocks[BLOCK_KINDS];
    const char *kv_type;
    int64_t context_tokens, kv_bytes, batch, prompt_activation_bytes, token_activation_bytes;
    int64_t part_bytes[MODEL_PARTS];
    double part_share[MODEL_PARTS]; /* of weights_bytes; NaN: nothing */
    int64_t compute_buffer_bytes, total_bytes;
    const char *largest_block;
};

/* The columns of a row; those of a shape come first. */
extern const struct column model_columns[];
extern const size_t model_column_count;
enum { MODEL_SHAPE_COLUMNS = 13 };

/* A row with a name and a shape alone, and one with all that follows from the model itself. */
void model_row_shape(const char *name, const struct shape *shape, struct model_row *row);
void model_row_fill(const struct model *model, struct model_row *row);

#endif
