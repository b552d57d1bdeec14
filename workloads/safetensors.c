/* A model from the safetensors files of a Hugging Face checkpoint: its tensors grouped into blocks by layer and expert,
 * its shape from the config.json beside them. */
#include "workloads/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workloads/hf_config.h"
#include "workloads/tensor_blocks.h"

static bool starts(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Of a layer's tensor, behind "layers.N.": "mlp.experts.5.up_proj.weight" is one expert's, a tensor of "mlp.experts."
 * without a number stacks those of all. */
static void classify_layer(const char *name, struct member *member)
{
    static const char *const experts[] = {"mlp.experts.", "block_sparse_moe.experts.", "feed_forward.experts."};
    member->section = SECTION_LAYERS;
    for (size_t i = 0; i < sizeof experts / sizeof *experts; i++) {
        const char *rest = name + strlen(experts[i]);
        if (!starts(name, experts[i]))
            continue;
        if (!tensor_index(&rest, &member->expert))
            member->expert = EXPERT_STACKED;
        member->part = PART_EXPERTS;
        return;
    }
    if (strstr(name, "norm") != NULL)
        member->part = PART_NORMS;
    else if (starts(name, "self_attn."))
        member->part = PART_ATTENTION;
    else if (starts(name, "mlp.") || starts(name, "block_sparse_moe.") || starts(name, "feed_forward."))
        member->part = PART_FFN;
    else
        member->part = PART_OTHER;
}

/* The part of a name that the language model of a checkpoint has, which may be one of several: "model.norm.weight" and
 * "lm_head.weight", with "language_model." in front or behind "model.". */
static void classify(const char *name, struct member *member)
{
    static const char *const fronts[] = {"language_model.model.", "model.language_model.", "model."};
    const char *rest = NULL;
    member->layer = -1;
    member->expert = EXPERT_SHARED;
    member->section = SECTION_OTHER;
    member->part = PART_OTHER;
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts && rest == NULL; i++)
        if (starts(name, fronts[i]))
            rest = name + strlen(fronts[i]);
    if (starts(name, "lm_head.") || starts(name, "language_model.lm_head.")) {
        member->section = SECTION_OUTPUT;
        member->part = PART_OUTPUT;
    } else if (rest == NULL) {
        return;
    } else if (starts(rest, "embed_tokens.")) {
        member->section = SECTION_EMBEDDING;
        member->part = PART_EMBEDDING;
    } else if (starts(rest, "norm.") || starts(rest, "final_layernorm.")) {
        member->section = SECTION_NORM;
        member->part = PART_NORMS;
    } else if (starts(rest, "layers.")) {
        const char *layer = rest + strlen("layers.");
        if (tensor_index(&layer, &member->layer))
            classify_layer(layer, member);
        else
            member->layer = -1;
    }
}

/* Packed integers (several weights in each number, as GPTQ and AWQ have them) are not what is multiplied with: how many
 * weights they hold is not known. */
static bool is_weight(uint32_t type)
{
    static const char *const types[] = {"f64", "f32", "f16", "bf16", "f8_e4m3", "f8_e5m2"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(tensor_types[type].name, types[i]) == 0)
            return true;
    return false;
}

static void describe(const struct safetensors *file, const struct safetensor *tensor, struct member *member)
{
    *member = (struct member){.name = safetensors_text(file, tensor->name),
                              .file_part = tensor->part,
                              .position = tensor->position,
                              .type = tensor->type,
                              .offset = tensor->offset,
                              .bytes = tensor->bytes,
                              .elements = tensor->elements,
                              .rows = tensor->rows};
    classify(member->name, member);
    const bool stacked = member->expert == EXPERT_STACKED;
    member->is_matrix = is_weight(tensor->type) && tensor->dim_count >= (stacked ? 3 : 2);
    member->stacked = stacked ? tensor->rows : 0;
}

/* What is known of the whole from its tensors. */
struct seen {
    bool embedding, output;
    uint32_t layers;
    uint64_t rows, row; /* of the embedding */
    uint64_t type_bytes[TENSOR_TYPES_MAX];
};

static void look(const struct safetensors *file, const struct member *members, struct seen *seen)
{
    *seen = (struct seen){0};
    for (size_t i = 0; i < file->tensor_count; i++) {
        seen->output |= members[i].section == SECTION_OUTPUT;
        if (members[i].section == SECTION_EMBEDDING) {
            seen->embedding = true;
            seen->rows = file->tensors[i].rows;
            seen->row = file->tensors[i].row;
        }
        if (members[i].section == SECTION_LAYERS && (uint32_t)members[i].layer >= seen->layers)
            seen->layers = (uint32_t)members[i].layer + 1;
        seen->type_bytes[members[i].type] += members[i].bytes; /* at most file_bytes */
    }
}

/* The type that most bytes have. */
static const char *main_type(const struct seen *seen)
{
    uint32_t most = 0;
    for (uint32_t type = 1; type < tensor_type_count; type++)
        if (seen->type_bytes[type] > seen->type_bytes[most])
            most = type;
    return tensor_types[most].name;
}

/* The config.json in the folder of `path`, from malloc; NULL with *err set without memory. */
static char *config_beside(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    const int folder = slash != NULL ? (int)(slash + 1 - path) : 0;
    const size_t size = (size_t)folder + sizeof "config.json";
    char *config = malloc(size);
    if (config != NULL)
        snprintf(config, size, "%.*sconfig.json", folder, path);
    else
        fail(err, STATUS_IO, "out of memory: the name of a config.json");
    return config;
}

/* The numbers of the config, which have to be those of this checkpoint. */
static bool read_shape(const char *path, const struct seen *seen, struct model *model, struct error *err)
{
    char *config = config_beside(path, err);
    if (config == NULL)
        return false;
    bool ok = true;
    struct shape *shape = &model->shape;
    if (access(config, F_OK) == 0) {
        ok = hf_config_read(config, shape, err);
        if (ok && shape->layers != seen->layers)
            ok = fail(err, STATUS_INPUT, "%s: num_hidden_layers is %" PRIu32 ", but %s has %" PRIu32 " layers", config,
                      shape->layers, path, seen->layers);
        if (ok && seen->embedding && (seen->rows < shape->vocab || seen->row != shape->width))
            ok = fail(err, STATUS_INPUT,
                      "%s: vocab_size and hidden_size are %" PRIu32 " and %" PRIu32
                      ", but the embedding of %s has %" PRIu64 " rows of %" PRIu64,
                      config, shape->vocab, shape->width, path, seen->rows, seen->row);
        shape->tied = seen->embedding && !seen->output;
    }
    free(config);
    return ok;
}

/* Whether the blocks are those that the config counts: each of its layers, and all of its experts. */
static bool check_blocks(const char *path, uint32_t experts, const struct model *model, struct error *err)
{
    const struct shape *shape = &model->shape;
    int32_t last = -1;
    uint64_t most = 0, count = 0, expected = (uint64_t)experts * (shape->layers - shape->dense_layers);
    for (uint32_t b = 0; b < model->block_count; b++) {
        const struct block *block = &model->blocks[b];
        if (block->layer > last + 1)
            return fail(err, STATUS_INPUT, "%s: no tensor of layer %" PRId32 ", of %" PRIu32 " in its config.json",
                        path, last + 1, shape->layers);
        last = block->layer > last ? block->layer : last;
        count += block->expert >= 0;
        if (block->expert >= 0 && (uint32_t)block->expert >= most)
            most = (uint32_t)block->expert + 1;
    }
    if (most != experts)
        return fail(err, STATUS_INPUT,
                    "%s: its layers have %" PRIu64 " experts: expected %" PRIu32 ", as its config.json says", path,
                    most, experts);
    return count == expected ||
           fail(err, STATUS_INPUT,
                "%s: its layers together have %" PRIu64 " experts: expected %" PRIu64 ", as its config.json says", path,
                count, expected);
}

static bool group(const char *path, const struct safetensors *file, struct model *model, struct error *err)
{
    struct seen seen;
    struct member *members = calloc(file->tensor_count + 1, sizeof *members);
    if (members == NULL)
        return fail(err, STATUS_IO, "out of memory: %zu tensors", file->tensor_count);
    for (size_t i = 0; i < file->tensor_count; i++)
        describe(file, &file->tensors[i], &members[i]);
    look(file, members, &seen);
    snprintf(model->quant, sizeof model->quant, "%s", main_type(&seen));
    bool ok = read_shape(path, &seen, model, err);
    const uint32_t experts = model->shape.experts; /* of the config */
    if (ok && !tensor_blocks_add(members, file->tensor_count, seen.embedding && !seen.output, model, err))
        ok = fail_in(err, "%s", path);
    free(members);
    return ok && (model->shape.layers == 0 || check_blocks(path, experts, model, err));
}

bool model_from_safetensors(const char *path, struct model *model, struct error *err)
{
    struct safetensors file;
    char name[sizeof model->name];
    model_file_label(path, name, sizeof name);
    model_start(model, name, "");
    bool ok = safetensors_read(path, &file, err) && group(path, &file, model, err);
    model->file_bytes = file.file_bytes;
    if (ok && !model_finish(model, err))
        ok = fail_in(err, "%s", path);
    safetensors_free(&file);
    if (!ok)
        model_free(model);
    return ok;
}
