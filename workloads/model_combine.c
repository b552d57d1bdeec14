/* Combining models: see model_combine.h. */
#include "workloads/model_combine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* Where a file begins: no page of a phone's processor holds bytes of two files (4 or 16 KiB). */
enum { FILE_ALIGN_BYTES = 16384 };

static const char *const prefixes[] = {
    [MEMBER_FIRST] = "", [MEMBER_DRAFT] = "draft/", [MEMBER_SECOND] = "second/", [MEMBER_ADAPTERS] = ""};

static bool add_block(struct model *combined, const struct model_member *part, block_id b, int32_t layers,
                      uint64_t offset, struct error *err)
{
    const struct model *model = &part->model;
    const struct block *block = &model->blocks[b];
    char name[2 * MODEL_BLOCK_NAME_MAX];
    snprintf(name, sizeof name, "%s%s", prefixes[part->role], model_block_name(model, b));
    const int32_t layer = block->layer >= 0 ? block->layer + layers : block->layer;
    if (!model_add_block(combined, name, block->kind, layer, block->expert, err))
        return false;
    for (uint32_t i = block->first_tensor; i < block->first_tensor + block->tensor_count; i++) {
        uint64_t at;
        if (!add(offset, model->tensors[i].offset_bytes, &at))
            return fail(err, STATUS_INPUT, "the models' files end beyond 2^64 bytes");
        if (!model_add_extent(combined, at, model->tensors[i].bytes, err))
            return false;
    }
    for (uint32_t i = block->first_matter; i < block->first_matter + block->matter_count; i++)
        if (!model_add_matter(combined, model->matters[i].type, model->matters[i].elements, err))
            return false;
    combined->blocks[combined->block_count - 1].compute_bytes = block->compute_bytes;
    return true;
}

/* How many numbers of layers a part takes; adapters belong to the first part's layers. */
static int32_t layers_of(const struct model *model)
{
    int32_t most = -1;
    for (uint32_t b = 0; b < model->block_count; b++)
        most = model->blocks[b].layer > most ? model->blocks[b].layer : most;
    return most + 1;
}

static bool add_parts(struct model *combined, struct error *err)
{
    int32_t layers = 0;
    uint64_t offset = 0;
    for (uint32_t i = 0; i < combined->member_count; i++) {
        struct model_member *part = &combined->members[i];
        const int32_t own = part->role == MEMBER_ADAPTERS ? 0 : layers_of(&part->model);
        part->first = combined->block_count;
        if (own > INT32_MAX - layers)
            return fail(err, STATUS_INPUT, "the models together have more than 2^31 layers");
        for (block_id b = 0; b < part->model.block_count; b++)
            if (!add_block(combined, part, b, part->role == MEMBER_ADAPTERS ? 0 : layers, offset, err))
                return false;
        for (int p = 0; p < MODEL_PARTS; p++)
            if (!model_add_part(combined, (enum model_part)p, part->model.part_bytes[p], err))
                return false;
        layers += own;
        if (!add(offset, part->model.file_bytes, &offset) || !add(offset, FILE_ALIGN_BYTES - 1, &offset))
            return fail(err, STATUS_INPUT, "the models' files together have more than 2^64 bytes");
        combined->file_bytes = offset - (FILE_ALIGN_BYTES - 1);
        offset = offset / FILE_ALIGN_BYTES * FILE_ALIGN_BYTES;
    }
    return true;
}

static void join(char *text, size_t size, const char *with)
{
    const size_t length = strlen(text);
    if (*with != '\0')
        snprintf(text + length, size - length, "%s%s", length > 0 ? " + " : "", with);
}

static void name_whole(struct model *combined)
{
    bool alike = true;
    combined->name[0] = combined->quant[0] = '\0';
    for (uint32_t i = 0; i < combined->member_count; i++) {
        const struct model *model = &combined->members[i].model;
        join(combined->name, sizeof combined->name, model->name);
        join(combined->quant, sizeof combined->quant, model->quant);
        alike = alike && (*model->quant == '\0' || strcmp(model->quant, combined->members[0].model.quant) == 0);
    }
    if (alike)
        memcpy(combined->quant, combined->members[0].model.quant, sizeof combined->quant);
}

bool model_combine(const struct model_member *parts, uint32_t count, struct model *combined, struct error *err)
{
    must(count >= 2 && parts[0].role == MEMBER_FIRST);
    model_start(combined, "", "");
    combined->members = calloc(count, sizeof *combined->members);
    bool good = combined->members != NULL || fail(err, STATUS_IO, "out of memory");
    struct model_member *kept = combined->members;
    for (uint32_t i = 0; i < count; i++) {
        struct model model = parts[i].model;
        must(model.names != NULL && model.keys == NULL);
        if (good)
            kept[i] = parts[i];
        else
            model_free(&model);
    }
    combined->member_count = good ? count : 0;
    if (good) {
        combined->shape = parts[0].model.shape;
        combined->kv_bytes_per_token = parts[0].model.kv_bytes_per_token;
        name_whole(combined);
        good = add_parts(combined, err) && model_finish(combined, err);
    }
    if (!good)
        model_free(combined);
    return good;
}

const struct model *model_member(const struct model *model, enum model_role role, block_id *first)
{
    *first = 0;
    for (uint32_t i = 0; i < model->member_count; i++)
        if (model->members[i].role == role) {
            *first = model->members[i].first;
            return &model->members[i].model;
        }
    return role == MEMBER_FIRST && model->member_count == 0 ? model : NULL;
}

/* ---- Adapters ---- */

/* A and B of one matrix join the block. */
static bool add_pair(struct model *adapters, uint32_t rank, uint64_t in, uint64_t out, uint64_t *offset,
                     struct error *err)
{
    uint64_t elements, bytes;
    if (!add(in, out, &elements) || !multiply(elements, rank, &elements) || !multiply(elements, 2, &bytes) ||
        bytes > INT64_MAX / 64)
        return fail(err, STATUS_USAGE, "an adapter's matrix of more than 2^57 bytes");
    if (!model_add_extent(adapters, *offset, bytes, err) || !model_add_matter(adapters, TYPE_F16, elements, err))
        return false;
    return add(*offset, bytes, offset) || fail(err, STATUS_USAGE, "adapters of more than 2^64 bytes");
}

static bool add_layer(struct model *adapters, const struct shape *shape, uint32_t layer, uint32_t rank,
                      uint64_t *offset, struct error *err)
{
    const uint64_t width = shape->width, q = (uint64_t)shape->heads * shape->head_size;
    const uint64_t kv = (uint64_t)shape->kv_heads * shape->head_size;
    const uint64_t ffn = shape->experts == 0 || layer < shape->dense_layers ? shape->ffn : shape->shared_ffn;
    if (!add_pair(adapters, rank, width, q, offset, err) || !add_pair(adapters, rank, width, kv, offset, err) ||
        !add_pair(adapters, rank, width, kv, offset, err) || !add_pair(adapters, rank, q, width, offset, err))
        return false;
    for (int i = 0; ffn > 0 && i < (shape->gated ? 3 : 2); i++) /* down has the same sizes, the other way round */
        if (!add_pair(adapters, rank, width, ffn, offset, err))
            return false;
    return true;
}

bool model_adapters(const struct model *base, uint32_t count, uint32_t rank, struct model *adapters, struct error *err)
{
    const struct shape *shape = &base->shape;
    uint64_t offset = 0;
    char name[MODEL_BLOCK_NAME_MAX + 1];
    must(count > 0 && rank > 0);
    if (shape->layers == 0)
        return fail(err, STATUS_USAGE,
                    "the model \"%s\" is a list of blocks: expected a profile or a file, whose matrices are known",
                    base->name);
    snprintf(name, sizeof name, "%u adapter%s of rank %u", count, count == 1 ? "" : "s", rank);
    model_start(adapters, name, "");
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t layer = 0; layer < shape->layers; layer++) {
            snprintf(name, sizeof name, "adapter%u/layer%u", i, layer);
            if (!model_add_block(adapters, name, BLOCK_OTHER, (int32_t)layer, -1, err) ||
                !add_layer(adapters, shape, layer, rank, &offset, err))
                goto failed;
        }
    if (model_finish(adapters, err))
        return true;
failed:
    model_free(adapters);
    err->code = err->code == STATUS_INPUT ? STATUS_USAGE : err->code; /* the numbers are part of a config */
    return false;
}
