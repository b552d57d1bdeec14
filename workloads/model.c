/* Models: incremental construction, sums, and finding a block by name. */
#include "workloads/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"
#include "base/utf8.h"
#include "workloads/kv.h"

void model_start(struct model *model, const char *name, const char *quant)
{
    *model = (struct model){0};
    snprintf(model->name, sizeof model->name, "%s", name != NULL ? name : "");
    snprintf(model->quant, sizeof model->quant, "%s", quant != NULL ? quant : "");
}

void model_free(struct model *model)
{
    free(model->blocks);
    free(model->policy_blocks);
    free(model->extents);
    free(model->tensors);
    free(model->matters);
    free(model->names);
    free(model->name_slots);
    free(model->keys);
    for (uint32_t i = 0; i < model->member_count; i++)
        model_free(&model->members[i].model);
    free(model->members);
    *model = (struct model){0};
}

/* array_reserve for typed pointers: the array, moved or not, or NULL with err set and the old one still valid. */
static void *grown(void *data, size_t *capacity, size_t need, size_t size, struct error *err)
{
    return array_reserve(&data, capacity, need, size, err) ? data : NULL;
}

static void *trimmed(void *data, size_t *capacity, size_t count, size_t size)
{
    array_trim(&data, capacity, count, size);
    return data;
}

static bool check_name(const char *name, size_t length, struct error *err)
{
    if (length == 0 || length > MODEL_BLOCK_NAME_MAX)
        return fail(err, STATUS_INPUT, "block name \"%.80s\" has %zu bytes: expected 1 to %d", name, length,
                    MODEL_BLOCK_NAME_MAX);
    for (const char *c = name; *c != '\0';) {
        uint32_t code;
        const size_t size = utf8_character(c, &code);
        if (size == 0)
            return fail(err, STATUS_INPUT, "block name \"%s\": byte %zu is not UTF-8", name, (size_t)(c - name) + 1);
        if (utf8_is_control(code))
            return fail(err, STATUS_INPUT, "block name \"%s\" holds a control character", name);
        c += size;
    }
    return true;
}

bool model_add_block(struct model *model, const char *name, enum block_kind kind, int32_t layer, int32_t expert,
                     struct error *err)
{
    size_t length = strlen(name);
    must(kind < BLOCK_KINDS);
    if (!check_name(name, length, err))
        return false;
    if (model->block_count >= MODEL_BLOCKS_MAX)
        return fail(err, STATUS_INPUT, "a model of more than %d blocks", MODEL_BLOCKS_MAX);
    struct block *blocks =
        grown(model->blocks, &model->capacity.blocks, (size_t)model->block_count + 1, sizeof *blocks, err);
    if (blocks == NULL)
        return false;
    model->blocks = blocks;
    char *names = grown(model->names, &model->capacity.names, (size_t)model->names_bytes + length + 1, 1, err);
    if (names == NULL)
        return false;
    model->names = names;
    memcpy(names + model->names_bytes, name, length + 1);
    blocks[model->block_count++] = (struct block){.first_extent = model->extent_count,
                                                  .first_tensor = model->tensor_count,
                                                  .first_matter = model->matter_count,
                                                  .layer = layer,
                                                  .expert = expert,
                                                  .kind = kind,
                                                  .name = (uint32_t)model->names_bytes};
    model->names_bytes += length + 1;
    return true;
}

static bool add_tensor(struct model *model, struct block *block, uint64_t offset_bytes, uint64_t bytes,
                       struct error *err)
{
    if (model->tensor_count == UINT32_MAX)
        return fail(err, STATUS_INPUT, "a model of more than 2^32 tensors");
    struct extent *tensors =
        grown(model->tensors, &model->capacity.tensors, (size_t)model->tensor_count + 1, sizeof *tensors, err);
    if (tensors == NULL)
        return false;
    model->tensors = tensors;
    tensors[model->tensor_count++] = (struct extent){offset_bytes, bytes};
    block->tensor_count++;
    return true;
}

bool model_add_extent(struct model *model, uint64_t offset_bytes, uint64_t bytes, struct error *err)
{
    must(model->block_count > 0);
    struct block *block = &model->blocks[model->block_count - 1];
    const char *name = model->names + block->name;
    uint64_t end, sum;
    if (!add(offset_bytes, bytes, &end) || !add(block->bytes, bytes, &sum))
        return fail(err, STATUS_INPUT, "block \"%s\": %" PRIu64 " bytes at offset %" PRIu64 " end beyond 2^64", name,
                    bytes, offset_bytes);
    if (bytes == 0)
        return true; /* a block without any byte is refused at the end */
    if (!add_tensor(model, block, offset_bytes, bytes, err))
        return false;
    block->bytes = sum;
    if (block->extent_count > 0) {
        struct extent *last = &model->extents[model->extent_count - 1];
        if (last->offset_bytes + last->bytes == offset_bytes) {
            last->bytes += bytes;
            return true;
        }
    }
    if (model->extent_count == UINT32_MAX)
        return fail(err, STATUS_INPUT, "a model of more than 2^32 extents");
    struct extent *extents =
        grown(model->extents, &model->capacity.extents, (size_t)model->extent_count + 1, sizeof *extents, err);
    if (extents == NULL)
        return false;
    model->extents = extents;
    extents[model->extent_count++] = (struct extent){offset_bytes, bytes};
    block->extent_count++;
    return true;
}

bool model_add_matter(struct model *model, uint32_t type, uint64_t elements, struct error *err)
{
    must(model->block_count > 0 && type < tensor_type_count);
    struct block *block = &model->blocks[model->block_count - 1];
    if (elements == 0)
        return true;
    for (uint32_t i = block->first_matter; i < block->first_matter + block->matter_count; i++)
        if (model->matters[i].type == type) {
            if (!add(model->matters[i].elements, elements, &model->matters[i].elements))
                return fail(err, STATUS_INPUT, "block \"%s\" has more than 2^64 weights", model->names + block->name);
            return true;
        }
    if (model->matter_count == UINT32_MAX)
        return fail(err, STATUS_INPUT, "a model of more than 2^32 matters");
    struct matter *matters =
        grown(model->matters, &model->capacity.matters, (size_t)model->matter_count + 1, sizeof *matters, err);
    if (matters == NULL)
        return false;
    model->matters = matters;
    matters[model->matter_count++] = (struct matter){type, elements};
    block->matter_count++;
    return true;
}

bool model_add_part(struct model *model, enum model_part part, uint64_t bytes, struct error *err)
{
    must(part < MODEL_PARTS);
    return add(model->part_bytes[part], bytes, &model->part_bytes[part]) ||
           fail(err, STATUS_INPUT, "the blocks together have more than 2^63 bytes");
}

static uint32_t name_hash(const char *name) /* FNV-1a, 32 bits: draft-eastlake-fnv */
{
    uint32_t hash = 2166136261u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* The slot that holds the name, or the empty one where it belongs. */
static uint32_t *name_slot(const struct model *model, const char *name)
{
    uint32_t mask = model->name_slot_count - 1;
    for (uint32_t i = name_hash(name) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &model->name_slots[i];
        if (*slot == 0 || strcmp(model_block_name(model, *slot - 1), name) == 0)
            return slot;
    }
}

static bool index_names(struct model *model, struct error *err)
{
    uint32_t slots = 4; /* at most half full */
    while (slots < 2 * model->block_count)
        slots *= 2;
    model->name_slots = calloc(slots, sizeof *model->name_slots);
    if (model->name_slots == NULL)
        return fail(err, STATUS_IO, "out of memory: the names of %" PRIu32 " blocks", model->block_count);
    model->name_slot_count = slots;
    for (uint32_t b = 0; b < model->block_count; b++) {
        uint32_t *slot = name_slot(model, model_block_name(model, b));
        if (*slot != 0)
            return fail(err, STATUS_INPUT, "two blocks have the name \"%s\": numbers %" PRIu32 " and %" PRIu32,
                        model_block_name(model, b), *slot - 1, b);
        *slot = b + 1;
    }
    return true;
}

static bool sum_blocks(struct model *model, struct error *err)
{
    model->policy_blocks = calloc(model->block_count, sizeof *model->policy_blocks);
    if (model->policy_blocks == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu32 " blocks", model->block_count);
    for (uint32_t b = 0; b < model->block_count; b++) {
        struct block *block = &model->blocks[b];
        if (block->bytes == 0)
            return fail(err, STATUS_INPUT, "block \"%s\" has no bytes", model_block_name(model, b));
        if (!add(model->weights_bytes, block->bytes, &model->weights_bytes) || model->weights_bytes > INT64_MAX)
            return fail(err, STATUS_INPUT, "the blocks together have more than 2^63 bytes");
        if (block->compute_bytes == 0)
            block->compute_bytes = block->bytes;
        model->policy_blocks[b] =
            (struct policy_block){.bytes = block->bytes, .layer = block->layer, .kind = block->kind};
    }
    return true;
}

/* The parts of a model whose builder has told none. */
static void sum_parts(struct model *model)
{
    static const enum model_part parts[BLOCK_KINDS] = {
        [BLOCK_EMBEDDING] = PART_EMBEDDING, [BLOCK_NORM] = PART_NORMS,    [BLOCK_LAYER] = PART_OTHER,
        [BLOCK_EXPERT] = PART_EXPERTS,      [BLOCK_OUTPUT] = PART_OUTPUT, [BLOCK_OTHER] = PART_OTHER,
    };
    uint64_t sum = 0; /* of the bytes of all extents, which fit */
    for (int part = 0; part < MODEL_PARTS; part++)
        sum += model->part_bytes[part];
    must(sum == 0 || sum == model->weights_bytes);
    for (uint32_t b = 0; sum == 0 && b < model->block_count; b++)
        model->part_bytes[parts[model->blocks[b].kind]] += model->blocks[b].bytes;
}

bool model_finish(struct model *model, struct error *err)
{
    if (model->block_count == 0)
        return fail(err, STATUS_INPUT, "a model without a block");
    if (!sum_blocks(model, err) || !index_names(model, err))
        return false;
    sum_parts(model);
    if (model->file_bytes == 0)
        model->file_bytes = model->weights_bytes;
    uint64_t kv = 0;
    if (!kv_elements(&model->shape, &kv) || !multiply(kv, 2, &kv))
        return fail(err, STATUS_INPUT, "the KV cache of one token takes more than 2^64 bytes");
    if (model->kv_bytes_per_token == 0)
        model->kv_bytes_per_token = kv;
    model->blocks = trimmed(model->blocks, &model->capacity.blocks, model->block_count, sizeof *model->blocks);
    model->extents = trimmed(model->extents, &model->capacity.extents, model->extent_count, sizeof *model->extents);
    model->tensors = trimmed(model->tensors, &model->capacity.tensors, model->tensor_count, sizeof *model->tensors);
    model->matters = trimmed(model->matters, &model->capacity.matters, model->matter_count, sizeof *model->matters);
    model->names = trimmed(model->names, &model->capacity.names, (size_t)model->names_bytes, 1);
    return true;
}

/* The block of a decimal id, or BLOCK_NONE. */
static block_id find_id(const struct model *model, const char *text)
{
    uint64_t id = 0;
    if (*text == '\0')
        return BLOCK_NONE;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return BLOCK_NONE;
        id = id * 10 + (uint64_t)(*text - '0');
        if (id >= model->block_count)
            return BLOCK_NONE;
    }
    return (block_id)id;
}

block_id model_find(const void *context, const char *name)
{
    const struct model *model = context;
    if (model->keys != NULL) {
        const block_id block = model_numbered_find(model, name);
        /* Where blocks have numbers, an id that is no such number would be another block than the one meant. */
        return block != BLOCK_NONE || model->names == NULL ? block : find_id(model, name);
    }
    if (model->name_slot_count == 0)
        return BLOCK_NONE;
    const uint32_t slot = *name_slot(model, name);
    return slot != 0 ? slot - 1 : find_id(model, name);
}

bool model_build(const struct model_spec *spec, struct model *model, struct error *err)
{
    *model = (struct model){0};
    int ways = (spec->blocks != NULL) + (spec->file != NULL) + spec->has_shape;
    if (ways != 1)
        return fail(err, STATUS_USAGE, "[model] gives %s: expected exactly one of profile, file and blocks",
                    ways == 0 ? "no weights" : "more than one kind of weights");
    if (spec->blocks != NULL)
        return model_from_blocks(spec->name, spec->blocks, model, err);
    if (spec->has_shape)
        return model_from_shape(spec->name, &spec->shape, spec->quant, model, err);
    if (!model_from_file(spec->file, spec->quant, model, err))
        return false;
    if (spec->name != NULL && *spec->name != '\0')
        snprintf(model->name, sizeof model->name, "%s", spec->name);
    return true;
}
