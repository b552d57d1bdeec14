/* `pocketload model show`: what one model holds, and what a context of it needs. */
#include "cli/model_show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/action.h"
#include "cli/common.h"
#include "cli/model_row.h"
#include "sim/experiment.h"
#include "workloads/compute_buffer.h"
#include "workloads/kv.h"
#include "workloads/work.h"

enum { KEY_QUANT = KEY_OWN, KEY_BLOCKS, KEY_CONTEXT, KEY_BATCH, KEY_KV_TYPE, KEY_SCORES };

struct show_input {
    struct action_input action;
    enum quant quant;
    bool has_quant, blocks;
    uint64_t context;
    struct workload_spec workload; /* batch, kv_type and flash_attention */
};

enum { TOKENS_MAX = 1 << 20, CONTEXT_USUAL = 4096, BATCH_USUAL = 512 };

/* Which of the names `text` is. */
static bool parse_word(const char *option, const char *what, const char *text, const char *const *names, size_t count,
                       size_t *index, struct error *err)
{
    char near[ERROR_PART];
    for (*index = 0; *index < count; ++*index)
        if (strcmp(text, names[*index]) == 0)
            return true;
    return fail(err, STATUS_USAGE, "%s: unknown %s \"%.80s\"%s", option, what, text,
                suggest_text(text, names, count, near, sizeof near));
}

static bool parse_tokens(const char *option, const char *text, uint64_t *tokens, struct error *err)
{
    return parse_count(text, 1, TOKENS_MAX, tokens, err) || fail_in(err, "%s", option);
}

static error_t parse_show(int key, char *text, struct argp_state *state)
{
    struct show_input *input = state->input;
    struct error *err = input->action.arguments.err;
    uint64_t tokens = 0;
    size_t index = 0;
    bool good = true;
    switch (key) {
    case KEY_BLOCKS:
        input->blocks = true;
        break;
    case KEY_SCORES:
        input->workload.flash_attention = false;
        break;
    case KEY_QUANT:
        good = parse_word("--quant", "quantisation", text, quant_names, QUANTS, &index, err);
        input->quant = (enum quant)index;
        input->has_quant = true;
        break;
    case KEY_KV_TYPE:
        good = parse_word("--kv-type", "type", text, kv_type_names, KV_TYPES, &index, err);
        input->workload.kv_type = (enum kv_type)index;
        break;
    case KEY_CONTEXT:
        good = parse_tokens("--context", text, &input->context, err);
        break;
    case KEY_BATCH:
        good = parse_tokens("--batch", text, &tokens, err);
        input->workload.batch = (uint32_t)tokens;
        break;
    default:
        return action_parse(key, text, &input->action);
    }
    return good ? 0 : EINVAL;
}

/* A profile's name has no such ending. */
static bool is_model_file(const char *name)
{
    const size_t length = strlen(name);
    return model_file_kind(name) != MODEL_FILE_GGUF || (length > 5 && strcmp(name + length - 5, ".gguf") == 0);
}

static bool build(const struct show_input *input, struct model *model, struct error *err)
{
    const char *name = input->action.name;
    if (is_model_file(name)) {
        if (input->has_quant && model_file_kind(name) != MODEL_FILE_CONFIG)
            return fail(err, STATUS_USAGE, "--quant: a file has a quantisation of its own");
        return model_from_file(name, input->quant, model, err);
    }
    struct profile_dirs dirs;
    struct shape shape;
    char label[MODEL_NAME_BYTES];
    profile_dirs_find(&dirs);
    return profile_read_model(name, dirs.list, &shape, label, err) &&
           model_from_shape(label, &shape, input->quant, model, err);
}

/* What llama.cpp would hold of it. */
static bool fill_total(const struct show_input *input, const struct model *model, uint64_t kv, struct model_row *row,
                       struct error *err)
{
    uint64_t compute, total;
    bool known;
    if (!compute_buffer_bytes(&model->shape, input->workload.batch, (uint32_t)input->context,
                              input->workload.flash_attention, &known, &compute, err))
        return false;
    if (!known)
        return true;
    if (!add(model->weights_bytes, kv, &total) || !add(total, compute, &total) || total > INT64_MAX)
        return fail(err, STATUS_INPUT, "weights, KV cache and compute buffer take more than 2^63 bytes");
    row->compute_buffer_bytes = (int64_t)compute;
    row->total_bytes = (int64_t)total;
    return true;
}

/* What a context needs beside the weights. Nothing for a file that does not say its shape. */
static bool fill_needs(const struct show_input *input, const struct model *model, struct model_row *row,
                       struct error *err)
{
    const uint32_t context = (uint32_t)input->context;
    struct kv_growth growth;
    uint64_t kv, prompt, token;
    if (!work_has_shape(model))
        return true;
    if (!kv_growth(model, input->workload.kv_type, &growth, err) ||
        !work_activation_bytes(model, &input->workload, context, context, &prompt, err) ||
        !work_activation_bytes(model, &input->workload, 1, context, &token, err))
        return false;
    if (!kv_bytes(&growth, context, &kv))
        return fail(err, STATUS_INPUT, "the KV cache of %" PRIu32 " tokens takes more than 2^63 bytes", context);
    row->context_tokens = context;
    row->kv_type = kv_type_names[input->workload.kv_type];
    row->kv_bytes = (int64_t)kv;
    row->batch = input->workload.batch;
    row->prompt_activation_bytes = (int64_t)prompt;
    row->token_activation_bytes = (int64_t)token;
    return fill_total(input, model, kv, row, err);
}

struct block_row {
    uint64_t id;
    const char *name, *kind;
    int64_t layer, expert;
    uint64_t bytes, extents, offset_bytes;
};

static bool show_blocks(const struct model *model, enum format format, struct error *err)
{
    static const struct column block_columns[] = {
        {"block", COLUMN_INTEGER, offsetof(struct block_row, id), false, "id"},
        {"name", COLUMN_TEXT, offsetof(struct block_row, name), false, "name"},
        {"kind", COLUMN_TEXT, offsetof(struct block_row, kind), false, "kind"},
        {"layer", COLUMN_INTEGER, offsetof(struct block_row, layer), true, "layer"},
        {"expert", COLUMN_INTEGER, offsetof(struct block_row, expert), true, "expert of the layer"},
        {"bytes", COLUMN_INTEGER, offsetof(struct block_row, bytes), false, "size"},
        {"extents", COLUMN_INTEGER, offsetof(struct block_row, extents), false, "pieces in the file"},
        {"offset", COLUMN_INTEGER, offsetof(struct block_row, offset_bytes), false, "where the first piece lies"},
    };
    struct block_row *rows = calloc(model->block_count, sizeof *rows);
    if (rows == NULL)
        return fail(err, STATUS_IO, "out of memory");
    for (uint32_t i = 0; i < model->block_count; i++) {
        const struct block *block = &model->blocks[i];
        rows[i] = (struct block_row){
            .id = i,
            .name = model_block_name(model, i),
            .kind = block_kind_names[block->kind],
            .layer = block->layer,
            .expert = block->expert,
            .bytes = block->bytes,
            .extents = block->extent_count,
            .offset_bytes = block->extent_count > 0 ? model->extents[block->first_extent].offset_bytes : 0,
        };
    }
    bool good = show_records(format, block_columns, sizeof block_columns / sizeof block_columns[0], rows, sizeof *rows,
                             model->block_count, err);
    free(rows);
    return good;
}

int model_show(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"quant", KEY_QUANT, "QUANT", 0, "quantisation of a profile or a config.json (q4_0); `model quants` lists all",
         0},
        {"blocks", KEY_BLOCKS, NULL, 0, "list the blocks", 0},
        {"context", KEY_CONTEXT, "TOKENS", 0, "context for the KV cache and the activations (4096)", 0},
        {"kv-type", KEY_KV_TYPE, "TYPE", 0, "type of the KV cache: f16 (default), f32, q8_0 or q4_0", 0},
        {"batch", KEY_BATCH, "TOKENS", 0, "tokens of a prompt that are computed at once (512)", 0},
        {"no-flash-attention", KEY_SCORES, NULL, 0, "keep a score for each head and position", 0},
        FORMAT_OPTION,
        HELP_OPTION,
        {0},
    };
    static const struct argp argp = {
        options,
        parse_show,
        "PROFILE|FILE",
        "Shows a model's shape, its blocks and parts and their sizes, and what a context of it needs. FILE: x.gguf, "
        "x.safetensors, x.safetensors.index.json or a Hugging Face config.json.",
        NULL,
        NULL,
        NULL};
    struct show_input input = {.action.what = "PROFILE or FILE",
                               .quant = QUANT_Q4_0,
                               .context = CONTEXT_USUAL,
                               .workload = {.batch = BATCH_USUAL, .flash_attention = true}};
    struct error err;
    if (!arguments_parse(&argp, argc, argv, &input.action.arguments, &err))
        return report(&err);
    if (input.action.arguments.helped)
        return STATUS_OK;
    struct model model;
    if (!build(&input, &model, &err))
        return report(&err);
    struct model_row row;
    model_row_fill(&model, &row);
    bool good = input.blocks ? show_blocks(&model, input.action.format, &err)
                             : fill_needs(&input, &model, &row, &err) &&
                                   show_record(input.action.format, model_columns, model_column_count, &row, &err);
    model_free(&model);
    return good ? STATUS_OK : report(&err);
}
