/* The graph that llama.cpp builds for a batch of a prompt, as the sizes of its tensors in the order of their
 * operations: a depth-first walk from each of its roots (queries, values and keys of a layer, what stores them, the
 * attention, at last the logits), sources in their order (ggml_build_forward_expand in ggml/src/ggml.c). */
#include "workloads/compute_buffer.h"

#include "workloads/graph_memory.h"

enum { F32_BYTES = 4, F16_BYTES = 2, ID_BYTES = 4, ROW_ID_BYTES = 8, CONTEXT_STEP = 256, MASK_STEP = 64 };

/* The graph while it is built. */
struct builder {
    struct graph graph;
    const struct shape *shape;
    uint64_t tokens, context; /* of the batch; positions of the KV cache */
    bool flash_attention;
    graph_tensor tokens_in, positions, k_rows, v_rows, mask, outputs; /* inputs */
    graph_tensor cast_mask;                                           /* in f16, made by the first layer */
};

static graph_tensor make(struct builder *b, uint64_t numbers, graph_tensor x, graph_tensor y, graph_tensor z)
{
    return graph_add(&b->graph, graph_bytes(numbers, b->tokens, F32_BYTES), false, x, y, z, GRAPH_NONE);
}

static graph_tensor make_in_place(struct builder *b, uint64_t numbers, graph_tensor x, graph_tensor y)
{
    return graph_add(&b->graph, graph_bytes(numbers, b->tokens, F32_BYTES), true, x, y, GRAPH_NONE, GRAPH_NONE);
}

/* A product with weights, which lie elsewhere, and its bias. */
static graph_tensor product(struct builder *b, uint64_t numbers, graph_tensor x, bool bias)
{
    const graph_tensor result = make(b, numbers, x, GRAPH_NONE, GRAPH_NONE);
    return bias ? make_in_place(b, numbers, result, GRAPH_NONE) : result;
}

/* RMS norm and its weights; LayerNorm, which is not done in place, with weights and bias. */
static graph_tensor norm(struct builder *b, uint64_t numbers, graph_tensor x)
{
    graph_tensor result =
        b->shape->parallel ? make(b, numbers, x, GRAPH_NONE, GRAPH_NONE) : make_in_place(b, numbers, x, GRAPH_NONE);
    result = make_in_place(b, numbers, result, GRAPH_NONE);
    return b->shape->parallel ? make_in_place(b, numbers, result, GRAPH_NONE) : result;
}

static void add_inputs(struct builder *b)
{
    const struct shape *shape = b->shape;
    const uint64_t values = b->flash_attention ? 1 : (uint64_t)shape->kv_heads * shape->head_size;
    const uint64_t rows = (b->tokens + MASK_STEP - 1) / MASK_STEP * MASK_STEP;
    b->tokens_in = graph_input(&b->graph, graph_bytes(1, b->tokens, ID_BYTES));
    b->positions = graph_input(&b->graph, graph_bytes(1, b->tokens, ID_BYTES));
    b->k_rows = graph_input(&b->graph, graph_bytes(1, b->tokens, ROW_ID_BYTES));
    b->v_rows = graph_input(&b->graph, graph_bytes(values, b->tokens, ROW_ID_BYTES));
    b->mask = graph_input(&b->graph, graph_bytes(b->context, rows, F32_BYTES));
    b->outputs = graph_input(&b->graph, graph_bytes(1, b->tokens, ID_BYTES));
    b->cast_mask = GRAPH_NONE;
}

/* Queries and keys are turned in place, unless they are parts of one matrix: then they are copied. */
static graph_tensor turned(struct builder *b, uint64_t heads, graph_tensor x, bool is_part)
{
    const uint64_t numbers = heads * b->shape->head_size;
    if (b->shape->qk_norm)
        x = norm(b, numbers, x);
    return is_part ? make(b, numbers, x, b->positions, GRAPH_NONE) : make_in_place(b, numbers, x, b->positions);
}

/* One operation: queries against the cache. Or in parts: scores, softmax, weighted values, and these made whole. */
static graph_tensor attend(struct builder *b, graph_tensor query)
{
    const struct shape *shape = b->shape;
    const uint64_t numbers = (uint64_t)shape->heads * shape->head_size;
    if (b->flash_attention) {
        if (b->cast_mask == GRAPH_NONE)
            b->cast_mask = graph_add(
                &b->graph, graph_bytes(b->context, (b->tokens + MASK_STEP - 1) / MASK_STEP * MASK_STEP, F16_BYTES),
                false, b->mask, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE);
        return make(b, numbers, query, b->cast_mask, GRAPH_NONE);
    }
    const uint64_t scores = graph_bytes(shape->heads, b->context, 1);
    graph_tensor score = make(b, scores, query, GRAPH_NONE, GRAPH_NONE);
    score = make_in_place(b, scores, score, b->mask);
    const graph_tensor values = make(b, numbers, score, GRAPH_NONE, GRAPH_NONE);
    return make(b, numbers, values, GRAPH_NONE, GRAPH_NONE);
}

static graph_tensor attention(struct builder *b, graph_tensor x)
{
    const struct shape *shape = b->shape;
    const uint64_t q = (uint64_t)shape->heads * shape->head_size, kv = (uint64_t)shape->kv_heads * shape->head_size;
    const bool bias = shape->attn_bias || shape->parallel, fused = shape->fused_qkv;
    graph_tensor query, key, value;
    if (fused) {
        value = product(b, q + 2 * kv, x, bias);
        query = turned(b, shape->heads, value, true);
        key = turned(b, shape->kv_heads, value, true);
        query = make_in_place(b, q, query, GRAPH_NONE); /* scaled */
    } else {
        query = turned(b, shape->heads, product(b, q, x, bias), false);
        value = product(b, kv, x, bias);
        key = turned(b, shape->kv_heads, product(b, kv, x, bias), false);
    }
    graph_use(&b->graph, key, b->k_rows);
    graph_use(&b->graph, value, b->v_rows);
    return product(b, shape->width, attend(b, query), shape->parallel);
}

/* Gate before up, as the gated product names them; where both are one matrix, its two halves. */
static graph_tensor feed_forward(struct builder *b, uint64_t ffn, bool fused, graph_tensor x)
{
    const struct shape *shape = b->shape;
    graph_tensor inner;
    if (!shape->gated) {
        inner = make_in_place(b, ffn, product(b, ffn, x, shape->parallel), GRAPH_NONE);
    } else if (fused) {
        inner = make(b, ffn, product(b, 2 * ffn, x, shape->parallel), GRAPH_NONE, GRAPH_NONE);
    } else {
        const graph_tensor gate = product(b, ffn, x, shape->parallel);
        inner = make(b, ffn, gate, product(b, ffn, x, shape->parallel), GRAPH_NONE);
    }
    return product(b, shape->width, inner, shape->parallel);
}

/* Router, choice and weights; the chosen experts of all tokens; their weighted sum, whose first addition reads two
 * parts of one tensor and whose others happen in place. (src/llama-graph.cpp, build_moe_ffn) */
static graph_tensor experts(struct builder *b, graph_tensor x)
{
    const struct shape *shape = b->shape;
    const uint64_t used = shape->experts_used, ffn = used * shape->expert_ffn, out = used * shape->width;
    graph_tensor chances = product(b, shape->experts, x, false);
    chances = make_in_place(b, shape->experts, chances, GRAPH_NONE);
    const graph_tensor order = make(b, shape->experts, chances, GRAPH_NONE, GRAPH_NONE);
    graph_tensor inner = make(b, ffn, x, order, GRAPH_NONE);
    if (shape->gated)
        inner = make(b, ffn, make(b, ffn, x, order, GRAPH_NONE), inner, GRAPH_NONE);
    else
        inner = make_in_place(b, ffn, inner, GRAPH_NONE);
    const graph_tensor results = make(b, out, inner, order, GRAPH_NONE);
    const graph_tensor weights = make(b, used, chances, order, GRAPH_NONE);
    const graph_tensor weighted = make_in_place(b, out, results, weights);
    if (used == 1)
        return make(b, shape->width, weighted, GRAPH_NONE, GRAPH_NONE);
    const graph_tensor sum = make(b, shape->width, weighted, weighted, GRAPH_NONE);
    return used == 2 ? sum : make_in_place(b, shape->width, sum, weighted);
}

static graph_tensor any_feed_forward(struct builder *b, uint32_t layer, graph_tensor x)
{
    const struct shape *shape = b->shape;
    if (shape->experts == 0 || layer < shape->dense_layers)
        return feed_forward(b, shape->ffn, shape->fused_qkv, x);
    graph_tensor result = experts(b, x);
    if (shape->shared_ffn != 0)
        result = make_in_place(b, shape->width, result, feed_forward(b, shape->shared_ffn, false, x));
    return result;
}

/* The last layer goes on with the tokens whose logits are wanted: here all of them, in new tensors. */
static graph_tensor wanted(struct builder *b, uint32_t layer, graph_tensor x)
{
    return layer + 1 == b->shape->layers ? make(b, b->shape->width, x, b->outputs, GRAPH_NONE) : x;
}

static graph_tensor add_layer(struct builder *b, uint32_t layer, graph_tensor x)
{
    const struct shape *shape = b->shape;
    const uint64_t width = shape->width;
    graph_tensor normed = norm(b, width, x);
    graph_tensor result = attention(b, normed);
    if (shape->parallel) {
        result = wanted(b, layer, result);
        x = wanted(b, layer, x);
        normed = wanted(b, layer, normed);
        result = make_in_place(b, width, result, any_feed_forward(b, layer, normed));
        return make_in_place(b, width, result, x);
    }
    if (shape->post_norms)
        result = norm(b, width, result);
    result = wanted(b, layer, result);
    const graph_tensor middle = make_in_place(b, width, result, wanted(b, layer, x));
    result = any_feed_forward(b, layer, norm(b, width, middle));
    if (shape->post_norms)
        result = norm(b, width, result);
    return make_in_place(b, width, result, middle);
}

bool compute_buffer_bytes(const struct shape *shape, uint32_t batch, uint32_t context, bool flash_attention,
                          bool *known, uint64_t *bytes, struct error *err)
{
    *known = shape->layers != 0 && shape->latent == 0;
    *bytes = 0;
    if (!*known)
        return true;
    struct builder builder = {.shape = shape,
                              .tokens = batch < context ? batch : context,
                              .context = ((uint64_t)context + CONTEXT_STEP - 1) / CONTEXT_STEP * CONTEXT_STEP,
                              .flash_attention = flash_attention};
    add_inputs(&builder);
    graph_tensor x = make(&builder, shape->width, builder.tokens_in, GRAPH_NONE, GRAPH_NONE);
    for (uint32_t layer = 0; layer < shape->layers; layer++)
        x = add_layer(&builder, layer, x);
    (void)product(&builder, shape->vocab, norm(&builder, shape->width, x), shape->parallel);
    const bool ok = graph_buffer(&builder.graph, bytes, err);
    graph_free(&builder.graph);
    return ok;
}
