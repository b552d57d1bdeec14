/* `pocketload model`: the model profiles, and what a profile or a GGUF file holds and needs. */
#include "workloads/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/action.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/model_quants.h"
#include "sim/experiment.h"
#include "workloads/kv.h"
#include "workloads/work.h"

enum { KEY_QUANT = KEY_OWN, KEY_BLOCKS, KEY_CONTEXT, KEY_BATCH, KEY_KV_TYPE, KEY_SCORES };
enum { NAME_BYTES = 128 };

struct model_row {
    const char *name, *quant;
    int64_t layers, width, vocab, heads, kv_heads, head_size, ffn, experts, experts_used, expert_ffn, window,
        window_layers;
    uint64_t blocks, weights_bytes, file_bytes, kv_bytes_per_token, largest_block_bytes;
    int64_t kind_bytes[BLOCK_KINDS], kind_blocks[BLOCK_KINDS];
    const char *kv_type;
    int64_t context_tokens, kv_bytes, batch, prompt_activation_bytes, token_activation_bytes;
};

#define ROW(name, type, member, nullable, help)                                                                        \
    {                                                                                                                  \
        name, type, offsetof(struct model_row, member), nullable, help                                                 \
    }
#define SHAPE(member, help) ROW(#member, COLUMN_INTEGER, member, true, help)
#define KIND(name, kind, help)                                                                                         \
    ROW(name "_blocks", COLUMN_INTEGER, kind_blocks[kind], true, help),                                                \
        ROW(name "_bytes", COLUMN_INTEGER, kind_bytes[kind], true, help)

static const struct column columns[] = {
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
};
enum { COLUMNS = sizeof columns / sizeof columns[0], SHAPE_COLUMNS = 13 };

static int64_t or_null(uint32_t value)
{
    return value != 0 ? (int64_t)value : -1;
}

static void fill_shape(const char *name, const struct shape *shape, struct model_row *row)
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
    };
}

static void fill_row(const struct model *model, struct model_row *row)
{
    fill_shape(model->name, &model->shape, row);
    row->quant = model->quant;
    row->blocks = model->block_count;
    row->weights_bytes = model->weights_bytes;
    row->file_bytes = model->file_bytes;
    row->kv_bytes_per_token = model->kv_bytes_per_token;
    for (uint32_t i = 0; i < model->block_count; i++) {
        const struct block *block = &model->blocks[i];
        row->kind_blocks[block->kind]++;
        row->kind_bytes[block->kind] += (int64_t)block->bytes;
        if (block->bytes > row->largest_block_bytes)
            row->largest_block_bytes = block->bytes;
    }
    for (int kind = 0; kind < BLOCK_KINDS; kind++)
        if (row->kind_blocks[kind] == 0)
            row->kind_blocks[kind] = row->kind_bytes[kind] = -1;
}

static int list(int argc, char **argv)
{
    struct action_input input;
    int status;
    if (!action_start(argc, argv, NULL, "Lists the model profiles.", &input, &status))
        return status;
    struct profile_dirs dirs;
    struct error err;
    char **names = NULL;
    size_t count = 0;
    profile_dirs_find(&dirs);
    bool good = profile_list("model", dirs.list, &names, &count, &err);
    struct model_row *rows = good ? calloc(count + 1, sizeof *rows) : NULL;
    if (good && rows == NULL)
        good = fail(&err, STATUS_IO, "out of memory");
    for (size_t i = 0; good && i < count; i++) {
        struct shape shape;
        char label[NAME_BYTES];
        good = profile_read_model(names[i], dirs.list, &shape, label, &err);
        if (good)
            fill_shape(names[i], &shape, &rows[i]);
    }
    good = good && show_records(input.format, columns, SHAPE_COLUMNS, rows, sizeof *rows, count, &err);
    free(rows);
    free(names);
    return good ? STATUS_OK : report(&err);
}

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
    char label[NAME_BYTES];
    profile_dirs_find(&dirs);
    return profile_read_model(name, dirs.list, &shape, label, err) &&
           model_from_shape(label, &shape, input->quant, model, err);
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
    return true;
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

static int show(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"quant", KEY_QUANT, "QUANT", 0, "quantisation of a profile (q4_0); `model quants` lists all", 0},
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
        "PROFILE|FILE.gguf",
        "Shows a model's shape, its blocks and their sizes, and what a context of it needs.",
        NULL,
        NULL,
        NULL};
    struct show_input input = {.action.what = "PROFILE or FILE.gguf",
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
    fill_row(&model, &row);
    bool good = input.blocks ? show_blocks(&model, input.action.format, &err)
                             : fill_needs(&input, &model, &row, &err) &&
                                   show_record(input.action.format, columns, COLUMNS, &row, &err);
    model_free(&model);
    return good ? STATUS_OK : report(&err);
}

int command_model(int argc, char **argv)
{
    static const struct command actions[] = {
        {"list", "", "the model profiles", list},
        {"show", "PROFILE|FILE.gguf", "shape, blocks and sizes of one", show},
        {"quants", "PROFILE", "the sizes of one in every quantisation", model_quants},
    };
    return command_dispatch(actions, sizeof actions / sizeof actions[0], argc, argv);
}
