/* A model from its numbers alone, laid out as the GGUF file of that quantisation would be.
 *
 * Order of the tensors: as the converter of llama.cpp (convert_hf_to_gguf.py) writes a Hugging Face checkpoint, whose
 * tensors are sorted by name: token_embd; of each layer attn_norm, the FFN (down, gate, up), the router, the shared
 * expert, ffn_norm, and attention (k_norm, k, output, q_norm, q, v); output_norm; output. Each begins at a multiple of
 * 32 bytes. Tensors too small to matter are left out: biases, rope_freqs, the gate of a shared expert. */
#include "workloads/model.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"

enum {
    ALIGNMENT = 32, /* GGUF's default: general.alignment */
    /* An estimate of what stands before the tensors: per vocabulary entry its text, score, type and merge (real files:
     * llama-2 23 bytes, qwen3 39, llama-3.2 61), per tensor its name, dimensions, type and offset, and other keys. */
    HEADER_PER_TOKEN = 40,
    HEADER_PER_TENSOR = 72,
    HEADER_REST = 4096,
};

/* Where the next tensor goes. */
struct layout {
    struct model *model;
    const struct shape *shape;
    enum quant quant;
    uint64_t offset;
    struct error *err;
};

/* One tensor of `count` equal matrices (count 1: an ordinary one) in the file. */
struct placed {
    uint32_t type;
    uint64_t offset, bytes, elements; /* of one matrix */
};

static bool place(struct layout *layout, enum tensor_role role, uint32_t layer, uint64_t row, uint64_t rows,
                  uint64_t count, struct placed *placed)
{
    const struct shape *shape = layout->shape;
    uint64_t whole, end;
    placed->type = quant_type(layout->quant, role, layer, shape->layers, shape->experts, row);
    placed->offset = (layout->offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!multiply(row, rows, &placed->elements))
        return fail(layout->err, STATUS_USAGE, "a matrix of %" PRIu64 " x %" PRIu64 " weights", row, rows);
    if (!tensor_bytes(placed->type, placed->elements, row, &placed->bytes, layout->err))
        return false;
    if (!multiply(placed->bytes, count, &whole) || !add(placed->offset, whole, &end) || end > INT64_MAX)
        return fail(layout->err, STATUS_USAGE, "the model has more than 2^63 bytes");
    layout->offset = end;
    return true;
}

/* Adds a placed matrix to the block under construction. Norms take part in no matrix product. */
static bool take(struct layout *layout, const struct placed *placed, bool multiplies)
{
    return model_add_extent(layout->model, placed->offset, placed->bytes, layout->err) &&
           (!multiplies || model_add_matter(layout->model, placed->type, placed->elements, layout->err));
}

static bool put(struct layout *layout, enum tensor_role role, uint32_t layer, uint64_t row, uint64_t rows)
{
    struct placed placed;
    return place(layout, role, layer, row, rows, 1, &placed) && take(layout, &placed, role != ROLE_NORM);
}

/* The matrices of an FFN of that width: down, gate, up. */
static bool put_ffn(struct layout *layout, uint32_t layer, uint32_t ffn)
{
    uint64_t width = layout->shape->width;
    return put(layout, ROLE_FFN_DOWN, layer, ffn, width) &&
           (!layout->shape->gated || put(layout, ROLE_FFN_UP, layer, width, ffn)) &&
           put(layout, ROLE_FFN_UP, layer, width, ffn);
}

static bool put_attention(struct layout *layout, uint32_t layer)
{
    const struct shape *shape = layout->shape;
    uint64_t width = shape->width, head = shape->head_size;
    uint64_t q = shape->heads * head, kv = shape->kv_heads * head;
    bool norms = shape->qk_norm;
    return (!norms || put(layout, ROLE_NORM, layer, head, 1)) && put(layout, ROLE_ATTN_K, layer, width, kv) &&
           put(layout, ROLE_ATTN_OUTPUT, layer, q, width) && (!norms || put(layout, ROLE_NORM, layer, head, 1)) &&
           put(layout, ROLE_ATTN_Q, layer, width, q) && put(layout, ROLE_ATTN_V, layer, width, kv);
}

/* One expert: its slice of each tensor. */
static bool add_expert(struct layout *layout, uint32_t layer, uint32_t expert, const struct placed *tensors,
                       uint32_t tensor_count)
{
    char name[MODEL_BLOCK_NAME_MAX + 1];
    snprintf(name, sizeof name, "expert%" PRIu32 ".%" PRIu32, layer, expert);
    if (!model_add_block(layout->model, name, BLOCK_EXPERT, (int32_t)layer, (int32_t)expert, layout->err))
        return false;
    for (uint32_t i = 0; i < tensor_count; i++) {
        struct placed slice = tensors[i];
        slice.offset += expert * slice.bytes; /* inside the whole tensor, which place() has checked */
        if (!take(layout, &slice, true))
            return false;
    }
    return true;
}

static bool add_layer(struct layout *layout, uint32_t layer)
{
    const struct shape *shape = layout->shape;
    uint64_t width = shape->width;
    char name[MODEL_BLOCK_NAME_MAX + 1];
    struct placed stacked[3];
    uint32_t stacked_count = 0;
    snprintf(name, sizeof name, "layer%" PRIu32, layer);
    if (!model_add_block(layout->model, name, BLOCK_LAYER, (int32_t)layer, -1, layout->err) ||
        !put(layout, ROLE_NORM, layer, width, 1))
        return false;
    if (shape->experts == 0) {
        if (!put_ffn(layout, layer, shape->ffn))
            return false;
    } else {
        uint64_t ffn = shape->expert_ffn;
        if (!place(layout, ROLE_FFN_DOWN, layer, ffn, width, shape->experts, &stacked[stacked_count++]) ||
            (shape->gated &&
             !place(layout, ROLE_FFN_UP, layer, width, ffn, shape->experts, &stacked[stacked_count++])) ||
            !place(layout, ROLE_FFN_UP, layer, width, ffn, shape->experts, &stacked[stacked_count++]) ||
            !put(layout, ROLE_ROUTER, layer, width, shape->experts) ||
            (shape->shared_ffn != 0 && !put_ffn(layout, layer, shape->shared_ffn)))
            return false;
    }
    if (!put(layout, ROLE_NORM, layer, width, 1) || !put_attention(layout, layer))
        return false;
    for (uint32_t e = 0; e < shape->experts; e++)
        if (!add_expert(layout, layer, e, stacked, stacked_count))
            return false;
    return true;
}

/* A look-up reads one row and multiplies nothing, unless the matrix is the output head too. */
static bool add_embedding(struct layout *layout)
{
    const struct shape *shape = layout->shape;
    struct placed placed;
    if (!model_add_block(layout->model, "token_embd", BLOCK_EMBEDDING, -1, -1, layout->err) ||
        !place(layout, shape->tied ? ROLE_EMBEDDING_TIED : ROLE_EMBEDDING, 0, shape->width, shape->vocab, 1, &placed) ||
        !take(layout, &placed, shape->tied))
        return false;
    if (!shape->tied)
        layout->model->blocks[0].compute_bytes = placed.bytes / shape->vocab;
    return true;
}

static bool add_blocks(struct layout *layout)
{
    const struct shape *shape = layout->shape;
    if (!add_embedding(layout))
        return false;
    for (uint32_t layer = 0; layer < shape->layers; layer++)
        if (!add_layer(layout, layer))
            return false;
    if (!model_add_block(layout->model, "output_norm", BLOCK_NORM, -1, -1, layout->err) ||
        !put(layout, ROLE_NORM, 0, shape->width, 1))
        return false;
    return shape->tied || (model_add_block(layout->model, "output", BLOCK_OUTPUT, -1, -1, layout->err) &&
                           put(layout, ROLE_OUTPUT, 0, shape->width, shape->vocab));
}

static bool check_shape(const struct shape *shape, struct error *err)
{
    bool moe = shape->experts != 0;
    const struct {
        const char *key;
        uint32_t value, min;
    } numbers[] = {
        {"layers", shape->layers, 1},
        {"width", shape->width, 1},
        {"vocab", shape->vocab, 1},
        {"heads", shape->heads, 1},
        {"kv_heads", shape->kv_heads, 1},
        {"head_size", shape->head_size, 1},
        {"ffn", shape->ffn, moe ? 0 : 1},
        {"experts", shape->experts, 0},
        {"experts_used", shape->experts_used, moe ? 1 : 0},
        {"expert_ffn", shape->expert_ffn, moe ? 1 : 0},
        {"shared_ffn", shape->shared_ffn, 0},
        {"window", shape->window, 0},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].value < numbers[i].min || numbers[i].value > SHAPE_MAX)
            return fail(err, STATUS_USAGE, "%s = %" PRIu32 ": expected %" PRIu32 " to %d", numbers[i].key,
                        numbers[i].value, numbers[i].min, SHAPE_MAX);
    if (shape->experts_used > shape->experts)
        return fail(err, STATUS_USAGE, "experts_used = %" PRIu32 ": expected at most experts, which is %" PRIu32,
                    shape->experts_used, shape->experts);
    if (!moe && (shape->expert_ffn != 0 || shape->shared_ffn != 0))
        return fail(err, STATUS_USAGE, "%s needs experts, and there are none",
                    shape->expert_ffn != 0 ? "expert_ffn" : "shared_ffn");
    if (shape->heads % shape->kv_heads != 0)
        return fail(err, STATUS_USAGE, "heads = %" PRIu32 ": expected a multiple of kv_heads, which is %" PRIu32,
                    shape->heads, shape->kv_heads);
    if (shape->window_layers > shape->layers && shape->window_layers != UINT32_MAX)
        return fail(err, STATUS_USAGE, "window_layers = %" PRIu32 ": expected at most layers, which is %" PRIu32,
                    shape->window_layers, shape->layers);
    uint64_t blocks = shape->layers * ((uint64_t)shape->experts + 1) + 3;
    if (blocks > MODEL_BLOCKS_MAX)
        return fail(err, STATUS_USAGE,
                    "%" PRIu32 " layers of %" PRIu32 " experts make %" PRIu64 " blocks: expected at most %d",
                    shape->layers, shape->experts, blocks, MODEL_BLOCKS_MAX);
    return true;
}

static uint64_t header_bytes(const struct shape *shape)
{
    uint64_t ffn = shape->gated ? 3 : 2;
    uint64_t tensors = shape->layers * (2 + 4 + (shape->qk_norm ? 2u : 0u) + ffn + (shape->experts != 0 ? 1u : 0u) +
                                        (shape->shared_ffn != 0 ? ffn : 0u)) +
                       (shape->tied ? 2 : 3);
    return HEADER_REST + (uint64_t)HEADER_PER_TOKEN * shape->vocab + HEADER_PER_TENSOR * tensors;
}

bool model_from_shape(const char *name, const struct shape *shape, enum quant quant, struct model *model,
                      struct error *err)
{
    must(quant < QUANTS);
    model_start(model, name, quant_names[quant]);
    struct layout layout = {model, shape, quant, header_bytes(shape), err};
    if (!check_shape(shape, err) || !add_blocks(&layout))
        goto failed;
    model->shape = *shape;
    model->file_bytes = layout.offset;
    if (model_finish(model, err))
        return true;
failed:
    model_free(model);
    err->code = err->code == STATUS_INPUT ? STATUS_USAGE : err->code; /* the numbers are part of a config */
    return fail_in(err, "model %s", name != NULL && *name != '\0' ? name : "of the config");
}
