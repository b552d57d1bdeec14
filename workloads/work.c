/* The formulas of a transformer's compute.
 *
 * Operations: 2 for each weight and token, and the attention over the context: Kaplan et al., "Scaling Laws for Neural
 * Language Models" (2020), table 1 and appendix; Chowdhery et al., "PaLM" (2022), appendix B. For one token that sees n
 * positions the attention of a layer takes 2 * n * heads * head_size for the scores and as much for the weighted sum
 * of values: 4 * n * heads * head_size. Its operands are f16 (the type of the KV cache).
 *
 * Bytes: each weight of a step is read once a pass, as what its type takes; what a block has beside its matrices, the
 * scales of rows and padding are of no type; and the keys and values of the context before it:
 * 2 * kv_heads * head_size * 2 bytes a position (f16). In prefill those of the prompt itself stay small beside the
 * weights and are left out; so are norms, activation functions and the softmax everywhere. */
#include "workloads/work.h"

#include <inttypes.h>

#include "base/units.h"
#include "workloads/kv.h"

/* The usual physical batch of llama.cpp (n_ubatch, include/llama.h): a longer prompt goes through in pieces. */
enum { MICRO_BATCH = 512 };

bool work_has_shape(const struct model *model)
{
    return model->shape.layers != 0;
}

static bool too_large(struct error *err)
{
    return fail(err, STATUS_INPUT, "a step of more than 2^63 operations or bytes");
}

/* The sum's term of a type. */
static struct work_term *term_of(struct work_sum *sum, uint32_t type)
{
    uint32_t i = 0;
    while (i < sum->term_count && sum->terms[i].type != type)
        i++;
    if (i == sum->term_count) {
        must(i < TENSOR_TYPES_MAX);
        sum->terms[sum->term_count++] = (struct work_term){.type = type};
    }
    return &sum->terms[i];
}

static bool add_flops(struct work_sum *sum, uint32_t type, uint64_t flops, uint64_t per_context, struct error *err)
{
    struct work_term *term = term_of(sum, type);
    if (!add(term->flops, flops, &term->flops) ||
        !add(term->flops_per_context, per_context, &term->flops_per_context) || term->flops > INT64_MAX ||
        term->flops_per_context > INT64_MAX)
        return too_large(err);
    return true;
}

/* All bytes of a step together stay below 2^63. */
static bool add_bytes(struct work_sum *sum, uint64_t *part, uint64_t bytes, struct error *err)
{
    if (!add(sum->all_bytes, bytes, &sum->all_bytes) || sum->all_bytes > INT64_MAX)
        return too_large(err);
    *part += bytes;
    return true;
}

/* A read of a whole block: of each matrix by its type, and the rest. */
static bool add_read(struct work_sum *sum, const struct model *model, const struct block *block, struct error *err)
{
    uint64_t rest = block->bytes;
    for (uint32_t i = block->first_matter; i < block->first_matter + block->matter_count; i++) {
        const struct matter *matter = &model->matters[i];
        const struct tensor_type_info *type = &tensor_types[matter->type];
        uint64_t bytes;
        if (!multiply(matter->elements / type->block_elements, type->block_bytes, &bytes))
            return too_large(err);
        bytes = bytes < rest ? bytes : rest; /* a block cut short in a damaged file */
        rest -= bytes;
        if (!add_bytes(sum, &term_of(sum, matter->type)->bytes, bytes, err))
            return false;
    }
    return add_bytes(sum, &sum->bytes, rest, err);
}

bool work_add_block(struct work_sum *sum, const struct model *model, block_id b, uint64_t tokens, bool again,
                    struct error *err)
{
    const struct block *block = &model->blocks[b];
    if (!again && !add_read(sum, model, block, err))
        return false;
    for (uint32_t i = block->first_matter; i < block->first_matter + block->matter_count; i++) {
        uint64_t flops;
        if (!multiply(model->matters[i].elements, 2, &flops) || !multiply(flops, tokens, &flops))
            return too_large(err);
        if (!add_flops(sum, model->matters[i].type, flops, 0, err))
            return false;
    }
    return true;
}

bool work_add_rows(struct work_sum *sum, const struct model *model, block_id b, uint64_t tokens, struct error *err)
{
    const struct block *block = &model->blocks[b];
    uint64_t bytes = block->bytes;
    if (model->shape.vocab != 0 && !multiply(block->bytes / model->shape.vocab, tokens, &bytes))
        return too_large(err);
    /* The type of an embedding that is the output head too is known, as that multiplies. */
    const bool typed = block->matter_count == 1;
    return add_bytes(sum, typed ? &term_of(sum, model->matters[block->first_matter].type)->bytes : &sum->bytes, bytes,
                     err);
}

/* 4 * heads * head_size, each below 2^32. With latent attention a head compares and sums up what the cache keeps, at
 * 2 * (latent + latent_rope) and 2 * latent (DeepSeek-V2, arXiv 2405.04434, section 2.1.2: the projections of keys and
 * values are absorbed into those of queries and output). */
static bool attention_flops(const struct shape *shape, uint64_t positions, uint64_t *flops)
{
    const uint64_t elements =
        shape->latent != 0 ? 2 * (uint64_t)shape->latent + shape->latent_rope : 2 * (uint64_t)shape->head_size;
    return multiply(2 * elements, shape->heads, flops) && multiply(*flops, positions, flops);
}

/* The positions that a token of the layer sees at most; 0: all. */
static uint32_t window_of(const struct model *model, uint32_t layer)
{
    return kv_layer_is_windowed(&model->shape, layer) ? model->shape.window : 0;
}

bool work_add_attention_decode(struct work_sum *sum, const struct model *model, uint32_t layer, enum kv_type kv_type,
                               struct error *err)
{
    const struct shape *shape = &model->shape;
    uint64_t flops;
    if (!work_has_shape(model))
        return true;
    must(sum->window == 0 && sum->bytes_per_context == 0);
    sum->window = window_of(model, layer);
    sum->bytes_per_context = kv_layer_bytes(shape, kv_type);
    /* c positions before it, and the token itself. */
    if (!attention_flops(shape, 1, &flops))
        return too_large(err);
    return add_flops(sum, kv_tensor_type(kv_type), flops, flops, err);
}

/* 1 + 2 + ... + n. */
static uint64_t triangle(uint64_t n)
{
    return n % 2 == 0 ? n / 2 * (n + 1) : n * ((n + 1) / 2);
}

bool work_add_attention(struct work_sum *sum, const struct model *model, uint32_t layer, enum kv_type kv_type,
                        uint32_t context, uint32_t tokens, struct error *err)
{
    uint64_t flops, bytes;
    if (!work_has_shape(model))
        return true;
    must((uint64_t)context + tokens <= UINT32_MAX);
    const uint64_t window = window_of(model, layer), kept = window != 0 && window <= context ? window - 1 : context;
    /* How many of the tokens see less than a whole window. */
    uint64_t growing = tokens;
    if (window != 0 && (uint64_t)context + tokens > window)
        growing = window > context ? window - context : 0;
    const uint64_t positions = growing * context + triangle(growing) + (tokens - growing) * window; /* < 2^63 */
    if (!attention_flops(&model->shape, positions, &flops) ||
        !multiply(kept, kv_layer_bytes(&model->shape, kv_type), &bytes))
        return too_large(err);
    return add_bytes(sum, &sum->bytes, bytes, err) && add_flops(sum, kv_tensor_type(kv_type), flops, 0, err);
}

bool work_store(const struct work_sum *sum, struct trace_builder *builder, uint32_t *work, struct error *err)
{
    const struct work added = {.fixed_ns = -1,
                               .bytes = sum->bytes,
                               .bytes_per_context = sum->bytes_per_context,
                               .term_count = sum->term_count,
                               .context_max = sum->window != 0 ? sum->window - 1 : UINT32_MAX};
    return trace_add_capped_work(builder, &added, sum->terms, work, err);
}

/* The most that a token has of any one thing in f32 numbers beside the residual stream and its normed copy: gate and up
 * of the FFN; queries, keys and values; or, where attention is no single operation, queries, a score for each head and
 * position, and the mask. */
static bool widest_of_layer(const struct shape *shape, bool flash_attention, uint64_t positions, uint64_t *numbers)
{
    uint64_t ffn = shape->ffn, attention;
    if (shape->experts != 0 &&
        (!multiply(shape->experts_used, shape->expert_ffn, &ffn) || !add(ffn, shape->shared_ffn, &ffn)))
        return false;
    if (shape->dense_layers != 0 && shape->ffn > ffn)
        ffn = shape->ffn;
    if (!multiply((uint64_t)shape->heads + 2 * (uint64_t)shape->kv_heads, shape->head_size, &attention) ||
        !multiply(2, ffn, numbers))
        return false;
    *numbers = *numbers > attention ? *numbers : attention;
    if (flash_attention)
        return true;
    if (!multiply(shape->heads, positions + shape->head_size, &attention) || !add(attention, positions, &attention))
        return false;
    *numbers = *numbers > attention ? *numbers : attention;
    return true;
}

/* An estimate, for B tokens at once, in f32: the residual stream and its normed copy (2 * width), the widest of what a
 * layer keeps beside them, and the logits of one token. Runtimes free a buffer as soon as no later operation reads it
 * (llama.cpp: ggml/src/ggml-alloc.c, ggml_gallocr_free_node), so layers do not add up. What there is beside an
 * attention in parts: src/llama-graph.cpp, build_attn_mha: kq and kq_mask, which ggml keeps in f32; its soft_max works
 * in place (ggml-alloc.c, ggml_op_can_inplace). */
bool work_activation_bytes(const struct model *model, const struct workload_spec *spec, uint32_t tokens,
                           uint64_t context, uint64_t *bytes, struct error *err)
{
    const struct shape *shape = &model->shape;
    const uint64_t most = spec->batch != 0 ? spec->batch : MICRO_BATCH;
    const uint64_t batch = tokens < most ? tokens : most;
    uint64_t positions = context, numbers;
    *bytes = 0;
    if (!work_has_shape(model))
        return true;
    /* The batch's first token sees window - 1 positions before it. */
    if (kv_window_layers(shape) == shape->layers && positions > shape->window - UINT64_C(1) + batch)
        positions = shape->window - UINT64_C(1) + batch;
    if (!widest_of_layer(shape, spec->flash_attention, positions, &numbers) ||
        !add(numbers, 2 * (uint64_t)shape->width, &numbers) || !multiply(numbers, 4 * batch, bytes) ||
        !add(*bytes, 4 * (uint64_t)shape->vocab, bytes) || *bytes > INT64_MAX)
        return too_large(err);
    return true;
}

/* Sums up the blocks of a step that was read from a file. With a shape, an embedding alone is a look-up; beside other
 * blocks it is the output head of a tied model. */
static bool sum_uses(struct work_sum *sum, const struct trace *trace, uint32_t step, uint32_t end,
                     const struct model *model, struct error *err)
{
    const uint32_t begin = trace_step_begin(trace, step);
    work_clear(sum);
    for (uint32_t u = begin; u < end; u++) {
        const block_id b = trace->uses[u] & USE_BLOCK;
        must(b < model->block_count); /* readers hand out ids of the model only */
        const bool rows = work_has_shape(model) && model->blocks[b].kind == BLOCK_EMBEDDING && end == begin + 1;
        if (!(rows ? work_add_rows(sum, model, b, 1, err)
                   : work_add_block(sum, model, b, 1, (trace->uses[u] & USE_AGAIN) != 0, err)))
            return false;
    }
    return true;
}

bool work_attach(struct trace_builder *builder, const struct model *model, const struct step_times *times,
                 struct error *err)
{
    const struct trace *trace = builder->trace;
    if (times->step_ns == NULL && times->prompt_ns < 0 && times->token_ns < 0 && !times->has_bytes)
        return true;
    struct work_sum sum;
    for (uint32_t s = 0; s < trace->segment_count; s++) {
        const struct segment segment = trace->segments[s];
        const int64_t total_ns = segment.phase == PHASE_PREFILL ? times->prompt_ns : times->token_ns;
        for (uint32_t i = 0; i < segment.step_count; i++) {
            const uint32_t step = segment.first_step + i;
            const uint32_t end = builder->plain_steps || step + 1 < trace->step_count
                                     ? trace_step_begin(trace, step + 1)
                                     : trace->use_count;
            uint32_t work;
            bool ok;
            if (times->step_ns != NULL && times->step_ns[step] >= 0)
                ok = trace_add_work(builder, times->step_ns[step], 0, 0, NULL, 0, &work, err);
            else if (total_ns >= 0)
                ok =
                    trace_add_work(builder, trace_share_ns(total_ns, i, segment.step_count), 0, 0, NULL, 0, &work, err);
            else if (times->has_bytes)
                ok = sum_uses(&sum, trace, step, end, model, err) && work_store(&sum, builder, &work, err);
            else
                ok = trace_add_work(builder, 0, 0, 0, NULL, 0, &work, err);
            if (!ok || !trace_set_work(builder, step, work, err))
                return false;
        }
    }
    return true;
}
