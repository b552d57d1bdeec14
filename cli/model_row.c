/* The columns of a model, and how they are filled. */
#include "cli/model_row.h"

#include <math.h>
#include <stddef.h>

#include "workloads/kv.h"

#define ROW(name, type, member, nullable, help)                                                                        \
    {                                                                                                                  \
        name, type, offsetof(struct model_row, member), nullable, help                                                 \
    }
#define SHAPE(member, help) ROW(#member, COLUMN_INTEGER, member, true, help)
#define SHARE(name, part) ROW(name "_share", COLUMN_REAL, part_share[part], true, "share of the weights")
#define KIND(name, kind, help)                                                                                         \
    ROW(name "_blocks", COLUMN_INTEGER, kind_blocks[kind], true, help),                                                \
        ROW(name "_bytes", COLUMN_INTEGER, kind_bytes[kind], true, help)

const struct column model_columns[] = {
    ROW("name", COLUMN_TEXT, name, false, "profile or file"),
    SHAPE(layers, "layers"),
    SHAPE(width, "width of the embedding"),
    SHAPE(vocab, "words of the vocabulary"),
    SHAPE(heads, "attention heads"),
    SHAPE(kv_heads, "heads of keys and values"),
    SHAPE(head_size, "width of a head"),
    SHAPE(ffn, "width of a dense feed-forward layer"),
    SHAPE(experts, "experts of a layer"),
    SHAPE(experts_used, "experts that a token uses in a layer"),
    SHAPE(expert_ffn, "width of an expert"),
    SHAPE(window, "positions that a windowed layer sees and keeps"),
    SHAPE(window_layers, "layers that are windowed"),
    ROW("quant", COLUMN_TEXT, quant, true, "quantisation"),
    ROW("blocks", COLUMN_INTEGER, blocks, false, "units of loading and eviction"),
    ROW("weights_bytes", COLUMN_INTEGER, weights_bytes, false, "all blocks"),
    ROW("file_bytes", COLUMN_INTEGER, file_bytes, false, "the file, with header and padding"),
    ROW("largest_block_bytes", COLUMN_INTEGER, largest_block_bytes, false, "the largest block"),
    KIND("embedding", BLOCK_EMBEDDING, "the embedding"),
    KIND("norm", BLOCK_NORM, "norms in blocks of their own"),
    KIND("layer", BLOCK_LAYER, "layers, without experts"),
    KIND("expert", BLOCK_EXPERT, "experts"),
    KIND("output", BLOCK_OUTPUT, "the output head"),
    KIND("other", BLOCK_OTHER, "blocks of no known kind"),
    ROW("kv_bytes_per_token", COLUMN_INTEGER, kv_bytes_per_token, false, "KV cache in f16, below the window"),
    ROW("context_tokens", COLUMN_INTEGER, context_tokens, true, "a context, for the sizes below"),
    ROW("kv_type", COLUMN_TEXT, kv_type, true, "type of its KV cache"),
    ROW("kv_bytes", COLUMN_INTEGER, kv_bytes, true, "its KV cache"),
    ROW("batch", COLUMN_INTEGER, batch, true, "tokens of a prompt that are computed at once"),
    ROW("prompt_activation_bytes", COLUMN_INTEGER, prompt_activation_bytes, true,
        "activations of a batch at the end of a prompt that fills it"),
    ROW("token_activation_bytes", COLUMN_INTEGER, token_activation_bytes, true,
        "activations of a single token at its end"),
    ROW("attention_bytes", COLUMN_INTEGER, part_bytes[PART_ATTENTION], true, "attention, of all layers"),
    ROW("feed_forward_bytes", COLUMN_INTEGER, part_bytes[PART_FFN], true,
        "feed-forward, of all layers: routers and shared experts too, other experts not"),
    ROW("all_norms_bytes", COLUMN_INTEGER, part_bytes[PART_NORMS], true, "norms, those of layers too"),
    ROW("rest_bytes", COLUMN_INTEGER, part_bytes[PART_OTHER], true, "weights of no known part"),
    SHARE("embedding", PART_EMBEDDING),
    SHARE("attention", PART_ATTENTION),
    SHARE("feed_forward", PART_FFN),
    SHARE("expert", PART_EXPERTS),
    SHARE("all_norms", PART_NORMS),
    SHARE("output", PART_OUTPUT),
    SHARE("rest", PART_OTHER),
    ROW("compute_buffer_bytes", COLUMN_INTEGER, compute_buffer_bytes, true,
        "what llama.cpp reserves on a CPU for such a batch, with the logits of all its tokens"),
    ROW("total_bytes", COLUMN_INTEGER, total_bytes, true, "weights, KV cache and compute buffer"),
    ROW("largest_block", COLUMN_TEXT, largest_block, true, "name of the largest block"),
};
const size_t model_column_count = sizeof model_columns / sizeof model_columns[0];

static int64_t or_null(uint32_t value)
{
    return value != 0 ? (int64_t)value : -1;
}

void model_row_shape(const char *name, const struct shape *shape, struct model_row *row)
{
    *row = (struct model_row){
        .name = name,
        .quant = "",
        .kv_type = "",
        .layers = or_null(shape->layers),
        .width = or_null(shape->width),
        .vocab = or_null(shape->vocab),
        .heads = or_null(shape->heads),
        .kv_heads = or_null(shape->kv_heads),
        .head_size = or_null(shape->head_size),
        .ffn = or_null(shape->ffn),
        .experts = or_null(shape->experts),
        .experts_used = or_null(shape->experts_used),
        .expert_ffn = or_null(shape->expert_ffn),
        .window = or_null(shape->window),
        .window_layers = or_null(kv_window_layers(shape)),
        .context_tokens = -1,
        .kv_bytes = -1,
        .batch = -1,
        .prompt_activation_bytes = -1,
        .token_activation_bytes = -1,
        .compute_buffer_bytes = -1,
        .total_bytes = -1,
        .largest_block = "",
    };
    for (int part = 0; part < MODEL_PARTS; part++) {
        row->part_bytes[part] = -1;
        row->part_share[part] = NAN;
    }
}

void model_row_fill(const struct model *model, struct model_row *row)
{
    model_row_shape(model->name, &model->shape, row);
    row->quant = model->quant;
    row->blocks = model->block_count;
    row->weights_bytes = model->weights_bytes;
    row->file_bytes = model->file_bytes;
    row->kv_bytes_per_token = model->kv_bytes_per_token;
    for (uint32_t i = 0; i < model->block_count; i++) {
        const struct block *block = &model->blocks[i];
        row->kind_blocks[block->kind]++;
        row->kind_bytes[block->kind] += (int64_t)block->bytes;
        if (block->bytes > row->largest_block_bytes) {
            row->largest_block_bytes = block->bytes;
            row->largest_block = model_block_name(model, i);
        }
    }
    for (int kind = 0; kind < BLOCK_KINDS; kind++)
        if (row->kind_blocks[kind] == 0)
            row->kind_blocks[kind] = row->kind_bytes[kind] = -1;
    for (int part = 0; part < MODEL_PARTS; part++)
        if (model->part_bytes[part] != 0) {
            row->part_bytes[part] = (int64_t)model->part_bytes[part];
            row->part_share[part] = (double)model->part_bytes[part] / (double)model->weights_bytes;
        }
}
