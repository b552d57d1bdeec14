/* What a step computes: floating-point operations and bytes of its blocks, summed up for the roofline of docs/models.md
 * section 2; and how large the activations of a pass are. */
#ifndef POCKETLOAD_WORKLOADS_WORK_H
#define POCKETLOAD_WORKLOADS_WORK_H

#include "workloads/workload.h"

/* The work of one step while its blocks are added, after work_clear. */
struct work_sum {
    uint64_t bytes, bytes_per_context;
    uint64_t all_bytes; /* bytes, and those of all terms */
    uint32_t window;    /* positions that its attention sees at most; 0: all */
    uint32_t term_count;
    struct work_term terms[TENSOR_TYPES_MAX];
};

/* An empty sum: of the terms, which are many, none counts. */
static inline void work_clear(struct work_sum *sum)
{
    sum->bytes = sum->bytes_per_context = sum->all_bytes = 0;
    sum->window = sum->term_count = 0;
}

/* True for a model whose blocks say what they multiply: otherwise a step costs the reading of its blocks alone. */
bool work_has_shape(const struct model *model);

/* A block that `tokens` tokens multiply with: 2 flops a weight and token (a multiply and an add), one read of the
 * block; or, with `again`, no read, for the step has read it already. STATUS_INPUT when a sum overflows. */
bool work_add_block(struct work_sum *sum, const struct model *model, block_id b, uint64_t tokens, bool again,
                    struct error *err);

/* The look-up of `tokens` tokens in an embedding: a row each. */
bool work_add_rows(struct work_sum *sum, const struct model *model, block_id b, uint64_t tokens, struct error *err);

/* The attention of one layer, at most one in a sum. Nothing for a model without a shape. Of one token, as a function of
 * the context before it: */
bool work_add_attention_decode(struct work_sum *sum, const struct model *model, uint32_t layer, enum kv_type kv_type,
                               struct error *err);
/* Of `tokens` tokens in one pass behind a context of `context` tokens, together below 2^32; token i of them (from 1 on)
 * sees context + i positions, a windowed layer's at most its window. Keys and values of the context are read once;
 * those of the pass itself stay small beside the weights and are left out. */
bool work_add_attention(struct work_sum *sum, const struct model *model, uint32_t layer, enum kv_type kv_type,
                        uint32_t context, uint32_t tokens, struct error *err);

/* Adds the sum to a trace. */
bool work_store(const struct work_sum *sum, struct trace_builder *builder, uint32_t *work, struct error *err);

/* The activations of a pass over `tokens` tokens at a context of at most `context` tokens, its own included: an
 * estimate, see work.c. Of the spec batch and flash_attention count. 0 for a model without a shape. STATUS_INPUT for
 * over 2^63 bytes. */
bool work_activation_bytes(const struct model *model, const struct workload_spec *spec, uint32_t tokens,
                           uint64_t context, uint64_t *bytes, struct error *err);

/* Gives every step of a trace that was read from a file its work: step_ns[step] where step_ns is given and not
 * negative; else its share of prompt_ns (steps of prefill) or token_ns (steps of decode) where these are not negative;
 * else the roofline of its blocks, when their sizes are real. */
struct step_times {
    const int64_t *step_ns;
    int64_t prompt_ns, token_ns;
    bool has_bytes;
};
bool work_attach(struct trace_builder *builder, const struct model *model, const struct step_times *times,
                 struct error *err);

#endif
