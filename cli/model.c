/* `pocketload model`: the model profiles, and what a profile or a GGUF file holds. */
#include "workloads/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/action.h"
#include "cli/command.h"
#include "cli/common.h"
#include "sim/experiment.h"

enum { KEY_QUANT = KEY_OWN, KEY_BLOCKS };
enum { NAME_BYTES = 128 };

struct model_row {
    const char *name, *quant;
    int64_t layers, width, vocab, heads, kv_heads, head_size, ffn, experts, experts_used, expert_ffn;
    uint64_t blocks, weights_bytes, file_bytes, kv_bytes_per_token, largest_block_bytes;
    int64_t kind_bytes[BLOCK_KINDS], kind_blocks[BLOCK_KINDS];
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
    ROW("kv_bytes_per_token", COLUMN_INTEGER, kv_bytes_per_token, false, "KV cache in f16"),
};
enum { COLUMNS = sizeof columns / sizeof columns[0], SHAPE_COLUMNS = 11 };

static int64_t or_null(uint32_t value)
{
    return value != 0 ? (int64_t)value : -1;
}

static void fill_shape(const char *name, const struct shape *shape, struct model_row *row)
{
    *row = (struct model_row){
        .name = name,
        .quant = "",
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
};

static error_t parse_show(int key, char *text, struct argp_state *state)
{
    struct show_input *input = state->input;
    if (key == KEY_BLOCKS) {
        input->blocks = true;
        return 0;
    }
    if (key != KEY_QUANT)
        return action_parse(key, text, &input->action);
    for (int i = 0; i < QUANTS; i++)
        if (strcmp(text, quant_names[i]) == 0) {
            input->quant = (enum quant)i;
            input->has_quant = true;
            return 0;
        }
    char near[ERROR_PART];
    fail(input->action.arguments.err, STATUS_USAGE, "--quant: unknown quantisation \"%.80s\"%s", text,
         suggest_text(text, quant_names, QUANTS, near, sizeof near));
    return EINVAL;
}

static bool build(const struct show_input *input, struct model *model, struct error *err)
{
    const char *name = input->action.name;
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".gguf") == 0) {
        if (input->has_quant)
            return fail(err, STATUS_USAGE, "--quant: a file has a quantisation of its own");
        return model_from_gguf(name, model, err);
    }
    struct profile_dirs dirs;
    struct shape shape;
    char label[NAME_BYTES];
    profile_dirs_find(&dirs);
    return profile_read_model(name, dirs.list, &shape, label, err) &&
           model_from_shape(label, &shape, input->quant, model, err);
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
        {"quant", KEY_QUANT, "QUANT", 0, "quantisation of a profile: f32, f16, q8_0, q4_0 (default) or q4_k_m", 0},
        {"blocks", KEY_BLOCKS, NULL, 0, "list the blocks", 0},
        FORMAT_OPTION,
        HELP_OPTION,
        {0},
    };
    static const struct argp argp = {
        options, parse_show, "PROFILE|FILE.gguf", "Shows a model's shape, its blocks and their sizes.", NULL,
        NULL,    NULL};
    struct show_input input = {.action.what = "PROFILE or FILE.gguf", .quant = QUANT_Q4_0};
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
                             : show_record(input.action.format, columns, COLUMNS, &row, &err);
    model_free(&model);
    return good ? STATUS_OK : report(&err);
}

int command_model(int argc, char **argv)
{
    static const struct command actions[] = {
        {"list", "", "the model profiles", list},
        {"show", "PROFILE|FILE.gguf", "shape, blocks and sizes of one", show},
    };
    return command_dispatch(actions, sizeof actions / sizeof actions[0], argc, argv);
}
