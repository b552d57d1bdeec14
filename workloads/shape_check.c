/* Which numbers of a transformer go together. */
#include <inttypes.h>

#include "workloads/model.h"

const char *const output_copy_names[OUTPUT_COPIES] = {"no", "file", "memory"};

/* What needs something else to be there. */
static bool check_pairs(const struct shape *shape, struct error *err)
{
    const struct {
        bool there, allowed;
        const char *key, *expected;
    } pairs[] = {
        {shape->dense_layers != 0, shape->experts != 0, "dense_layers", "experts"},
        {shape->dense_layers != 0, shape->ffn != 0, "dense_layers", "ffn, their width"},
        {shape->latent_rope != 0, shape->latent != 0, "latent_rope", "latent"},
        {shape->latent != 0, shape->latent_rope < shape->head_size, "latent", "head_size above latent_rope"},
        {shape->latent != 0, !shape->fused_qkv, "latent", "fused_qkv = no"},
        {shape->latent != 0, !shape->attn_bias && !shape->parallel, "latent", "attn_bias = no and parallel = no"},
        {shape->latent != 0, !shape->qk_norm, "latent", "qk_norm = no"},
        {shape->fused_qkv, !shape->qk_norm, "fused_qkv", "qk_norm = no"},
        {shape->parallel, !shape->post_norms, "parallel", "post_norms = no"},
        {shape->parallel, shape->experts == 0, "parallel", "no experts"},
        {shape->output_copy != OUTPUT_COPY_NO, shape->tied, "output_copy", "tied = yes"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i].there && !pairs[i].allowed)
            return fail(err, STATUS_USAGE, "%s: expected %s beside it", pairs[i].key, pairs[i].expected);
    return true;
}

bool shape_check(const struct shape *shape, struct error *err)
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
        {"dense_layers", shape->dense_layers, 0},
        {"latent", shape->latent, 0},
        {"latent_rope", shape->latent_rope, 0},
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
    if (shape->dense_layers > shape->layers)
        return fail(err, STATUS_USAGE, "dense_layers = %" PRIu32 ": expected at most layers, which is %" PRIu32,
                    shape->dense_layers, shape->layers);
    uint64_t blocks = shape->layers * ((uint64_t)shape->experts + 1) + 3;
    if (blocks > MODEL_BLOCKS_MAX)
        return fail(err, STATUS_USAGE,
                    "%" PRIu32 " layers of %" PRIu32 " experts make %" PRIu64 " blocks: expected at most %d",
                    shape->layers, shape->experts, blocks, MODEL_BLOCKS_MAX);
    return check_pairs(shape, err);
}
