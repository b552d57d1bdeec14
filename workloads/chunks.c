/* Rules of cutting, and the models that they make. */
#include "workloads/chunks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "base/wide.h"

/* ---- Texts ---- */

#define CHUNK_BYTES_MAX (UINT64_C(1) << 50)

static const char *const counted[] = {[CHUNK_LAYERS] = "layers:", [CHUNK_HEADS] = "heads:"};

bool chunk_parse(const char *text, struct chunk_rule *rule, struct error *err)
{
    static const char *const words[] = {"layer", "layers:2", "heads:8"};
    char near[128];
    *rule = (struct chunk_rule){0};
    if (strcmp(text, words[0]) == 0)
        return true;
    for (int kind = CHUNK_LAYERS; kind <= CHUNK_HEADS; kind++) {
        uint64_t count;
        const size_t length = strlen(counted[kind]);
        if (strncmp(text, counted[kind], length) != 0)
            continue;
        if (!parse_count(text + length, 1, CHUNK_COUNT_MAX, &count, err))
            return fail_in(err, "\"%s\"", text);
        if (kind == CHUNK_HEADS || count > 1)
            *rule = (struct chunk_rule){.kind = (enum chunk_kind)kind, .count = (uint32_t)count};
        return true;
    }
    if (!isdigit((unsigned char)*text))
        return fail(err, STATUS_USAGE, "unknown rule \"%s\"%s (or a size: 4MiB)", text,
                    suggest_text(text, words, sizeof words / sizeof *words, near, sizeof near));
    rule->kind = CHUNK_SIZE;
    if (!parse_bytes(text, &rule->bytes, err))
        return false;
    return (rule->bytes > 0 && rule->bytes <= CHUNK_BYTES_MAX) ||
           fail(err, STATUS_USAGE, "\"%s\": expected a size of 1B to 1024TiB", text);
}

const char *chunk_print(const struct chunk_rule *rule, char out[CHUNK_TEXT])
{
    char size[UNITS_TEXT];
    switch (rule->kind) {
    case CHUNK_LAYER:
        snprintf(out, CHUNK_TEXT, "layer");
        break;
    case CHUNK_SIZE:
        snprintf(out, CHUNK_TEXT, "%s", print_bytes(rule->bytes, size));
        break;
    case CHUNK_LAYERS:
    case CHUNK_HEADS:
        snprintf(out, CHUNK_TEXT, "%s%" PRIu32, counted[rule->kind], rule->count);
        break;
    }
    return out;
}

/* The kind in the two highest bits; sizes are at most 2^62. */
enum { KIND_SHIFT = 62 };

uint64_t chunk_code(const struct chunk_rule *rule)
{
    const uint64_t value = rule->kind == CHUNK_SIZE ? rule->bytes : rule->count;
    must(value < UINT64_C(1) << KIND_SHIFT);
    return (uint64_t)rule->kind << KIND_SHIFT | value;
}

struct chunk_rule chunk_of_code(uint64_t code)
{
    const uint64_t value = code & ((UINT64_C(1) << KIND_SHIFT) - 1);
    const enum chunk_kind kind = (enum chunk_kind)(code >> KIND_SHIFT);
    return (struct chunk_rule){
        .kind = kind, .count = kind == CHUNK_SIZE ? 0 : (uint32_t)value, .bytes = kind == CHUNK_SIZE ? value : 0};
}

/* ---- Models ---- */

struct cutter {
    const struct model *model;
    const struct chunk_rule *rule;
    struct model *chunked;
    struct chunk_map *map;
    uint64_t *compute_bytes; /* by chunk */
    /* Of CHUNK_LAYERS, by group: its blocks are members[group_first[g]] to members[group_first[g + 1] - 1]. */
    block_id *members;
    uint32_t *group_first;
    size_t group_count;
    struct error *err;
};

void chunk_map_free(struct chunk_map *map)
{
    free(map->first);
    free(map->chunks);
    *map = (struct chunk_map){0};
}

/* What of `total` lies before `part` of `whole`: these are shares whose sum is exact. */
static uint64_t before(uint64_t total, uint64_t part, uint64_t whole)
{
    return (uint64_t)((wide)total * part / whole);
}

static bool starts_block(struct cutter *cutter, const char *name, const struct block *block)
{
    return model_add_block(cutter->chunked, name, block->kind, block->layer, block->expert, cutter->err);
}

/* Adds what the model knows of bytes `from` to `to` of a block to the chunk under construction, but for its extents. */
static bool add_share(struct cutter *cutter, const struct block *block, uint64_t from, uint64_t to)
{
    const struct model *model = cutter->model;
    for (uint32_t i = block->first_matter; i < block->first_matter + block->matter_count; i++) {
        const uint64_t elements = model->matters[i].elements;
        if (!model_add_matter(cutter->chunked, model->matters[i].type,
                              before(elements, to, block->bytes) - before(elements, from, block->bytes), cutter->err))
            return false;
    }
    cutter->compute_bytes[cutter->chunked->block_count - 1] +=
        before(block->compute_bytes, to, block->bytes) - before(block->compute_bytes, from, block->bytes);
    return true;
}

/* Bytes `from` to `to` of all tensors of the block together, in their order. */
static bool add_bytes(struct cutter *cutter, const struct block *block, uint64_t from, uint64_t to)
{
    uint64_t at = 0;
    for (uint32_t i = block->first_tensor; i < block->first_tensor + block->tensor_count && at < to; i++) {
        const struct extent *tensor = &cutter->model->tensors[i];
        const uint64_t begin = from > at ? from - at : 0;
        const uint64_t end = to - at < tensor->bytes ? to - at : tensor->bytes;
        if (begin < end && !model_add_extent(cutter->chunked, tensor->offset_bytes + begin, end - begin, cutter->err))
            return false;
        at += tensor->bytes;
    }
    return add_share(cutter, block, from, to);
}

/* Slice `slice` of `slices` of each tensor of the block. */
static bool add_slices(struct cutter *cutter, const struct block *block, uint32_t slice, uint32_t slices)
{
    for (uint32_t i = block->first_tensor; i < block->first_tensor + block->tensor_count; i++) {
        const struct extent *tensor = &cutter->model->tensors[i];
        const uint64_t begin = before(tensor->bytes, slice, slices);
        const uint64_t end = before(tensor->bytes, slice + UINT64_C(1), slices);
        if (!model_add_extent(cutter->chunked, tensor->offset_bytes + begin, end - begin, cutter->err))
            return false;
    }
    return true;
}

/* How many pieces a block is cut into; 1: it stays whole. */
static uint64_t pieces_of(const struct cutter *cutter, const struct block *block)
{
    const struct chunk_rule *rule = cutter->rule;
    if (rule->kind == CHUNK_SIZE)
        return (block->bytes - 1) / rule->bytes + 1;
    if (rule->kind != CHUNK_HEADS || block->kind != BLOCK_LAYER || block->layer < 0)
        return 1;
    const uint64_t groups = cutter->model->shape.heads / rule->count;
    for (uint32_t i = block->first_tensor; i < block->first_tensor + block->tensor_count; i++)
        if (cutter->model->tensors[i].bytes >= groups)
            return groups;
    return 1; /* a piece would have no byte */
}

static bool cut_block(struct cutter *cutter, block_id b, uint64_t pieces)
{
    const struct block *block = &cutter->model->blocks[b];
    for (uint64_t i = 0; i < pieces; i++) {
        char name[2 * MODEL_BLOCK_NAME_MAX + 2];
        snprintf(name, sizeof name, "%s#%" PRIu64, model_block_name(cutter->model, b), i);
        if (!starts_block(cutter, name, block))
            return false;
        if (cutter->rule->kind == CHUNK_SIZE) {
            const uint64_t from = i * cutter->rule->bytes, left = block->bytes - from;
            if (!add_bytes(cutter, block, from, left < cutter->rule->bytes ? block->bytes : from + cutter->rule->bytes))
                return false;
        } else if (!add_slices(cutter, block, (uint32_t)i, (uint32_t)pieces) ||
                   !add_share(cutter, block, before(block->bytes, i, pieces), before(block->bytes, i + 1, pieces))) {
            return false;
        }
    }
    return true;
}

static bool copy_block(struct cutter *cutter, block_id b)
{
    const struct block *block = &cutter->model->blocks[b];
    return starts_block(cutter, model_block_name(cutter->model, b), block) && add_bytes(cutter, block, 0, block->bytes);
}

static bool is_mergeable(const struct cutter *cutter, const struct block *block)
{
    return cutter->rule->kind == CHUNK_LAYERS && block->kind == BLOCK_LAYER && block->layer >= 0;
}

static size_t group_of(const struct cutter *cutter, const struct block *block)
{
    return (size_t)block->layer / cutter->rule->count;
}

/* All blocks of a group. */
static bool merge_layers(struct cutter *cutter, size_t group)
{
    const struct block *blocks = cutter->model->blocks;
    const uint32_t begin = cutter->group_first[group], end = cutter->group_first[group + 1];
    struct block merged = {.kind = BLOCK_LAYER, .layer = INT32_MAX, .expert = -1};
    int32_t last = -1;
    if (end - begin == 1)
        return copy_block(cutter, cutter->members[begin]);
    for (uint32_t m = begin; m < end; m++) {
        const int32_t layer = blocks[cutter->members[m]].layer;
        merged.layer = layer < merged.layer ? layer : merged.layer;
        last = layer > last ? layer : last;
    }
    char name[MODEL_BLOCK_NAME_MAX + 1];
    snprintf(name, sizeof name, "layers%" PRId32 "-%" PRId32, merged.layer, last);
    if (!starts_block(cutter, name, &merged))
        return false;
    for (uint32_t m = begin; m < end; m++) {
        const struct block *block = &blocks[cutter->members[m]];
        if (!add_bytes(cutter, block, 0, block->bytes))
            return false;
    }
    return true;
}

/* Whether the rule fits the model, and how many chunks there will be at most. */
static bool check_rule(const struct cutter *cutter, uint64_t *most, struct error *err)
{
    const struct shape *shape = &cutter->model->shape;
    const struct chunk_rule *rule = cutter->rule;
    must(rule->kind != CHUNK_LAYER);
    if (cutter->model->keys != NULL)
        return fail(err, STATUS_USAGE, "blocks that a trace numbers have no bytes to cut");
    if (rule->kind == CHUNK_HEADS) {
        if (shape->heads == 0 || shape->kv_heads == 0)
            return fail(err, STATUS_USAGE, "the model \"%s\" does not say its attention heads", cutter->model->name);
        const uint32_t shared = shape->heads / shape->kv_heads;
        if (shape->heads % rule->count != 0 || rule->count % (shared != 0 ? shared : 1) != 0)
            return fail(err, STATUS_USAGE,
                        "%" PRIu32 " heads a chunk: expected a number that divides the %" PRIu32
                        " heads of \"%s\" and is a multiple of %" PRIu32 ", which share a head of keys and values",
                        rule->count, shape->heads, cutter->model->name, shared);
    }
    *most = 0;
    for (block_id b = 0; b < cutter->model->block_count; b++)
        if (!add(*most, pieces_of(cutter, &cutter->model->blocks[b]), most) || *most > MODEL_BLOCKS_MAX)
            return fail(err, STATUS_INPUT, "more than %d chunks of \"%s\"", MODEL_BLOCKS_MAX, cutter->model->name);
    return true;
}

/* The chunks of block b, which are those that are made for it, or the one that its group has already. */
static bool cut(struct cutter *cutter, block_id b, block_id *merged, uint32_t *chunks)
{
    const struct block *block = &cutter->model->blocks[b];
    const uint64_t pieces = pieces_of(cutter, block);
    const block_id next = cutter->chunked->block_count;
    if (!is_mergeable(cutter, block)) {
        if (!(pieces > 1 ? cut_block(cutter, b, pieces) : copy_block(cutter, b)))
            return false;
        for (block_id c = next; c < cutter->chunked->block_count; c++)
            cutter->map->chunks[(*chunks)++] = c;
        return true;
    }
    const size_t group = group_of(cutter, block);
    if (merged[group] == BLOCK_NONE) {
        if (!merge_layers(cutter, group))
            return false;
        merged[group] = next;
    }
    cutter->map->chunks[(*chunks)++] = merged[group];
    return true;
}

static bool cut_all(struct cutter *cutter)
{
    const uint32_t blocks = cutter->model->block_count;
    uint32_t chunks = 0;
    block_id *merged = malloc((cutter->group_count + 1) * sizeof *merged);
    if (merged == NULL)
        return fail(cutter->err, STATUS_IO, "out of memory: %zu groups of layers", cutter->group_count);
    for (size_t g = 0; g < cutter->group_count; g++)
        merged[g] = BLOCK_NONE;
    bool ok = true;
    for (block_id b = 0; b < blocks && ok; b++) {
        cutter->map->first[b] = chunks;
        ok = cut(cutter, b, merged, &chunks);
    }
    cutter->map->first[blocks] = chunks;
    free(merged);
    return ok;
}

/* Sorts the blocks that merge by group, those of a group by id. Layers are below the number of blocks in all models
 * that are built from shapes and files; a list may say any. */
static bool group_layers(struct cutter *cutter)
{
    const struct model *model = cutter->model;
    uint32_t members = 0;
    for (block_id b = 0; b < model->block_count; b++)
        if (is_mergeable(cutter, &model->blocks[b])) {
            const size_t group = group_of(cutter, &model->blocks[b]);
            cutter->group_count = group >= cutter->group_count ? group + 1 : cutter->group_count;
            members++;
        }
    if (cutter->group_count > MODEL_BLOCKS_MAX)
        return fail(cutter->err, STATUS_USAGE, "the model \"%s\" has a layer above %d", model->name, MODEL_BLOCKS_MAX);
    cutter->members = calloc((size_t)members + 1, sizeof *cutter->members);
    cutter->group_first = calloc(cutter->group_count + 2, sizeof *cutter->group_first);
    if (cutter->members == NULL || cutter->group_first == NULL)
        return fail(cutter->err, STATUS_IO, "out of memory: %" PRIu32 " layers", members);
    /* Counted two places on, summed up one place on: filling a group moves its end to where it belongs. */
    for (block_id b = 0; b < model->block_count; b++)
        if (is_mergeable(cutter, &model->blocks[b]))
            cutter->group_first[group_of(cutter, &model->blocks[b]) + 2]++;
    for (size_t g = 2; g < cutter->group_count + 2; g++)
        cutter->group_first[g] += cutter->group_first[g - 1];
    for (block_id b = 0; b < model->block_count; b++)
        if (is_mergeable(cutter, &model->blocks[b]))
            cutter->members[cutter->group_first[group_of(cutter, &model->blocks[b]) + 1]++] = b;
    return true;
}

static void copy_rest(const struct model *model, struct model *chunked)
{
    model_start(chunked, model->name, model->quant);
    chunked->shape = model->shape;
    chunked->file_bytes = model->file_bytes;
    chunked->kv_bytes_per_token = model->kv_bytes_per_token;
    memcpy(chunked->part_bytes, model->part_bytes, sizeof chunked->part_bytes);
}

bool chunk_model(const struct model *model, const struct chunk_rule *rule, struct model *chunked, struct chunk_map *map,
                 struct error *err)
{
    struct cutter cutter = {.model = model, .rule = rule, .chunked = chunked, .map = map, .err = err};
    uint64_t most;
    *map = (struct chunk_map){.block_count = model->block_count};
    copy_rest(model, chunked);
    if (!check_rule(&cutter, &most, err))
        return false;
    map->first = calloc((size_t)model->block_count + 1, sizeof *map->first);
    map->chunks = calloc((size_t)most, sizeof *map->chunks);
    cutter.compute_bytes = calloc((size_t)most, sizeof *cutter.compute_bytes);
    bool ok = (map->first != NULL && map->chunks != NULL && cutter.compute_bytes != NULL) ||
              fail(err, STATUS_IO, "out of memory: %" PRIu64 " chunks", most);
    ok = ok && group_layers(&cutter) && cut_all(&cutter) && model_finish(chunked, err);
    for (block_id c = 0; ok && c < chunked->block_count; c++)
        chunked->blocks[c].compute_bytes = cutter.compute_bytes[c]; /* 0 too: of a row the share of a small piece */
    free(cutter.compute_bytes);
    free(cutter.members);
    free(cutter.group_first);
    if (ok)
        return true;
    model_free(chunked);
    chunk_map_free(map);
    return false;
}
