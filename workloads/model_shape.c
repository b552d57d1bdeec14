/* A model from its numbers alone, laid out as the GGUF file of that quantisation would be.
 *
 * Order of the tensors: as the converter of llama.cpp (convert_hf_to_gguf.py) writes a Hugging Face checkpoint, whose
 * tensors are sorted by name: token_embd; of each layer attn_norm, the FFN (down, gate, up), the router, the shared
 * expert, ffn_norm, post norms, and attention (k_norm, k, output, q_norm, q, v; a bias before its matrix); output_norm;
 * output. Each begins at a multiple of 32 bytes. Tensors too small to matter are left out: rope_freqs (256 bytes), the
 * gate of a shared expert (4 * width bytes a layer). A model in int8 or int4 is no GGUF file and is laid out as one. */
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
    struct quant_model quant;
    uint32_t downs; /* tensors of ROLE_FFN_DOWN so far */
    uint64_t offset;
    uint64_t bias_bytes; /* placed, and of the part of the matrix that follows */
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
    const struct quant_tensor tensor = {
        .role = role, .stacked = count > 1, .layer = layer, .downs = layout->downs, .row_elements = row};
    uint64_t whole, end;
    layout->downs += role == ROLE_FFN_DOWN;
    placed->type = quant_type(&layout->quant, &tensor);
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

/* Adds a placed matrix to the block under construction. Norms and biases take part in no matrix product. */
static bool take(struct layout *layout, const struct placed *placed, enum model_part part, bool multiplies)
{
    const uint64_t bytes = placed->bytes + layout->bias_bytes; /* both in a file of less than 2^63 bytes */
    layout->bias_bytes = 0;
    return model_add_extent(layout->model, placed->offset, placed->bytes, layout->err) &&
           model_add_part(layout->model, part, bytes, layout->err) &&
           (!multiplies || model_add_matter(layout->model, placed->type, placed->elements, layout->err));
}

static enum model_part part_of(enum tensor_role role)
{
    switch (role) {
    case ROLE_EMBEDDING:
    case ROLE_EMBEDDING_TIED:
        return PART_EMBEDDING;
    case ROLE_OUTPUT:
        return PART_OUTPUT;
    case ROLE_NORM:
        return PART_NORMS;
    case ROLE_FFN_UP:
    case ROLE_FFN_DOWN:
    case ROLE_ROUTER:
        return PART_FFN;
    default:
        return PART_ATTENTION;
    }
}

static bool put(struct layout *layout, enum tensor_role role, uint32_t layer, uint64_t row, uint64_t rows)
{
    struct placed placed;
    return place(layout, role, layer, row, rows, 1, &placed) && take(layout, &placed, part_of(role), role != ROLE_NORM);
}

/* A bias, in front of what it belongs to. */
static bool put_bias(struct layout *layout, uint32_t layer, uint64_t elements, bool there)
{
    struct placed placed;
    if (!there)
        return true;
    if (!place(layout, ROLE_BIAS, layer, elements, 1, 1, &placed) ||
        !model_add_extent(layout->model, placed.offset, placed.bytes, layout->err))
        return false;
    layout->bias_bytes += placed.bytes;
    return true;
}

static bool put_norm(struct layout *layout, uint32_t layer, uint64_t elements)
{
    return put_bias(layout, layer, elements, layout->shape->parallel) && put(layout, ROLE_NORM, layer, elements, 1);
}

/* The matrices of an FFN of that width: down, gate, up. */
static bool put_ffn(struct layout *layout, uint32_t layer, uint32_t ffn, bool fused)
{
    const uint64_t width = layout->shape->width;
    const bool gated = layout->shape->gated, bias = layout->shape->parallel;
    if (!put_bias(layout, layer, width, bias) || !put(layout, ROLE_FFN_DOWN, layer, ffn, width))
        return false;
    if (fused && gated)
        return put_bias(layout, layer, 2 * (uint64_t)ffn, bias) &&
               put(layout, ROLE_FFN_UP, layer, width, 2 * (uint64_t)ffn);
    return (!gated || (put_bias(layout, layer, ffn, bias) && put(layout, ROLE_FFN_UP, layer, width, ffn))) &&
           put_bias(layout, layer, ffn, bias) && put(layout, ROLE_FFN_UP, layer, width, ffn);
}

/* As DeepSeek-V2-Lite has them: the latent vector's norm, its projection with the rotary part, the one that makes keys
 * and values of it, the output, and the queries. */
static bool put_latent_attention(struct layout *layout, uint32_t layer)
{
    const struct shape *shape = layout->shape;
    const uint64_t width = shape->width, heads = shape->heads, latent = shape->latent, rope = shape->latent_rope;
    const uint64_t value = shape->head_size - rope;
    return put_norm(layout, layer, latent) && put(layout, ROLE_LATENT, layer, width, latent + rope) &&
           put(layout, ROLE_LATENT, layer, latent, heads * 2 * value) &&
           put(layout, ROLE_ATTN_OUTPUT, layer, heads * value, width) &&
           put(layout, ROLE_ATTN_Q, layer, width, heads * shape->head_size);
}

static bool put_attention(struct layout *layout, uint32_t layer)
{
    const struct shape *shape = layout->shape;
    const uint64_t width = shape->width, head = shape->head_size;
    const uint64_t q = shape->heads * head, kv = shape->kv_heads * head;
    const bool norms = shape->qk_norm, bias = shape->attn_bias || shape->parallel;
    if (shape->latent != 0)
        return put_latent_attention(layout, layer);
    if (shape->fused_qkv)
        return put_bias(layout, layer, width, shape->parallel) && put(layout, ROLE_ATTN_OUTPUT, layer, q, width) &&
               put_bias(layout, layer, q + 2 * kv, bias) && put(layout, ROLE_ATTN_QKV, layer, width, q + 2 * kv);
    return (!norms || put_norm(layout, layer, head)) && put_bias(layout, layer, kv, bias) &&
           put(layout, ROLE_ATTN_K, layer, width, kv) && put_bias(layout, layer, width, shape->parallel) &&
           put(layout, ROLE_ATTN_OUTPUT, layer, q, width) && (!norms || put_norm(layout, layer, head)) &&
           put_bias(layout, layer, q, bias) && put(layout, ROLE_ATTN_Q, layer, width, q) &&
           put_bias(layout, layer, kv, bias) && put(layout, ROLE_ATTN_V, layer, width, kv);
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
        if (!take(layout, &slice, PART_EXPERTS, true))
            return false;
    }
    return true;
}

/* Places the tensors of all experts, and adds router and shared expert to the layer's block. */
static bool put_experts(struct layout *layout, uint32_t layer, struct placed stacked[3], uint32_t *stacked_count)
{
    const struct shape *shape = layout->shape;
    const uint64_t width = shape->width, ffn = shape->expert_ffn;
    uint32_t count = 0;
    if (!place(layout, ROLE_FFN_DOWN, layer, ffn, width, shape->experts, &stacked[count++]) ||
        (shape->gated && !place(layout, ROLE_FFN_UP, layer, width, ffn, shape->experts, &stacked[count++])) ||
        !place(layout, ROLE_FFN_UP, layer, width, ffn, shape->experts, &stacked[count++]))
        return false;
    *stacked_count = count;
    return put(layout, ROLE_ROUTER, layer, width, shape->experts) &&
           (shape->shared_ffn == 0 || put_ffn(layout, layer, shape->shared_ffn, false));
}

static bool add_layer(struct layout *layout, uint32_t layer)
{
    const struct shape *shape = layout->shape;
    const uint64_t width = shape->width;
    const uint32_t experts = layer < shape->dense_layers ? 0 : shape->experts;
    char name[MODEL_BLOCK_NAME_MAX + 1];
    struct placed stacked[3];
    uint32_t stacked_count = 0;
    snprintf(name, sizeof name, "layer%" PRIu32, layer);
    if (!model_add_block(layout->model, name, BLOCK_LAYER, (int32_t)layer, -1, layout->err) ||
        !put_norm(layout, layer, width))
        return false;
    if (experts == 0 ? !put_ffn(layout, layer, shape->ffn, shape->fused_qkv)
                     : !put_experts(layout, layer, stacked, &stacked_count))
        return false;
    if (!shape->parallel && !put_norm(layout, layer, width))
        return false;
    if (shape->post_norms && (!put_norm(layout, layer, width) || !put_norm(layout, layer, width)))
        return false;
    if (!put_attention(layout, layer))
        return false;
    for (uint32_t e = 0; e < experts; e++)
        if (!add_expert(layout, layer, e, stacked, stacked_count))
            return false;
    return true;
}

/* A look-up reads one row and multiplies nothing, unless the matrix is the output head too. */
static bool add_embedding(struct layout *layout, struct placed *placed)
{
    const struct shape *shape = layout->shape;
    const bool also_output = shape->tied && shape->output_copy == OUTPUT_COPY_NO;
    const bool own_output = !shape->tied || shape->output_copy == OUTPUT_COPY_FILE;
    if (!model_add_block(layout->model, "token_embd", BLOCK_EMBEDDING, -1, -1, layout->err) ||
        !place(layout, own_output ? ROLE_EMBEDDING : ROLE_EMBEDDING_TIED, 0, shape->width, shape->vocab, 1, placed) ||
        !take(layout, placed, PART_EMBEDDING, also_output))
        return false;
    if (!also_output)
        layout->model->blocks[0].compute_bytes = placed->bytes / shape->vocab;
    return true;
}

/* The head, unless it is the embedding's block. */
static bool add_output(struct layout *layout, const struct placed *embedding)
{
    const struct shape *shape = layout->shape;
    if (shape->tied && shape->output_copy == OUTPUT_COPY_NO)
        return true;
    if (!model_add_block(layout->model, "output", BLOCK_OUTPUT, -1, -1, layout->err))
        return false;
    if (shape->tied && shape->output_copy == OUTPUT_COPY_MEMORY)
        return take(layout, embedding, PART_OUTPUT, true);
    return put_bias(layout, 0, shape->vocab, shape->parallel) &&
           put(layout, ROLE_OUTPUT, 0, shape->width, shape->vocab);
}

static bool add_blocks(struct layout *layout)
{
    const struct shape *shape = layout->shape;
    struct placed embedding;
    if (!add_embedding(layout, &embedding))
        return false;
    for (uint32_t layer = 0; layer < shape->layers; layer++)
        if (!add_layer(layout, layer))
            return false;
    return model_add_block(layout->model, "output_norm", BLOCK_NORM, -1, -1, layout->err) &&
           put_norm(layout, 0, shape->width) && add_output(layout, &embedding);
}

static uint64_t tensors_of_attention(const struct shape *shape)
{
    if (shape->latent != 0)
        return 5;
    const uint64_t matrices = shape->fused_qkv ? 2 : 4;
    const uint64_t biases = shape->parallel ? matrices : shape->attn_bias ? matrices - 1 : 0;
    return matrices + biases + (shape->qk_norm ? 2 : 0);
}

static uint64_t header_bytes(const struct shape *shape)
{
    const uint64_t biased = shape->parallel ? 2 : 1, matrices = shape->gated ? 3 : 2;
    const uint64_t ffn = biased * (shape->gated && shape->fused_qkv && shape->experts == 0 ? 2 : matrices);
    const uint64_t norms = shape->parallel ? 2 : shape->post_norms ? 4 : 2;
    uint64_t tensors = shape->layers * (norms + tensors_of_attention(shape) + ffn + (shape->experts != 0 ? 1u : 0u) +
                                        (shape->shared_ffn != 0 ? ffn : 0u));
    tensors += 1 + biased + (shape->tied && shape->output_copy != OUTPUT_COPY_FILE ? 0 : biased);
    return HEADER_REST + (uint64_t)HEADER_PER_TOKEN * shape->vocab + HEADER_PER_TENSOR * tensors;
}

bool model_from_shape(const char *name, const struct shape *shape, enum quant quant, struct model *model,
                      struct error *err)
{
    must(quant < QUANTS);
    model_start(model, name, quant_names[quant]);
    struct layout layout = {
        .model = model,
        .shape = shape,
        .quant = {.quant = quant,
                  .layers = shape->layers,
                  .heads = shape->heads,
                  .kv_heads = shape->kv_heads,
                  .experts = shape->experts,
                  .imatrix = shape->imatrix},
        .offset = header_bytes(shape),
        .err = err,
    };
    if (!shape_check(shape, err) || !add_blocks(&layout))
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
