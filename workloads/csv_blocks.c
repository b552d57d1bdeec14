/* The blocks of a csv trace. */
#include "workloads/csv_blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/reader.h"

void csv_blocks_free(struct csv_blocks *blocks)
{
    free(blocks->slots);
    blocks->slots = NULL;
}

static uint32_t name_hash(const char *name) /* FNV-1a, 32 bits: draft-eastlake-fnv */
{
    uint32_t hash = 2166136261u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* The slot that holds the name, or the empty one where it belongs. */
static uint32_t *find(const struct csv_blocks *blocks, const char *name)
{
    const uint32_t mask = blocks->slot_count - 1;
    uint32_t i = name_hash(name) & mask;
    while (blocks->slots[i] != 0 && strcmp(model_block_name(blocks->own, blocks->slots[i] - 1), name) != 0)
        i = (i + 1) & mask;
    return &blocks->slots[i];
}

/* At most half of the slots are in use; a model has at most 2^20 blocks. */
static bool grow(struct csv_blocks *blocks, struct error *err)
{
    const uint32_t count = blocks->slot_count > 0 ? blocks->slot_count * 2 : 64;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return fail(err, STATUS_IO, "out of memory: the names of %" PRIu32 " blocks", blocks->own->block_count);
    free(blocks->slots);
    blocks->slots = slots;
    blocks->slot_count = count;
    for (uint32_t b = 0; b < blocks->own->block_count; b++)
        *find(blocks, model_block_name(blocks->own, b)) = b + 1;
    return true;
}

static bool check_size(const struct csv_blocks *blocks, block_id b, const struct csv_about *about, struct error *err)
{
    const struct model *model = blocks->given != NULL ? blocks->given : blocks->own;
    if (about->bytes == 0 || about->bytes == model->blocks[b].bytes)
        return true;
    return fail(err, STATUS_INPUT, "block \"%s\" has %" PRIu64 " bytes: expected %" PRIu64 " as %s",
                model_block_name(model, b), about->bytes, model->blocks[b].bytes,
                blocks->given != NULL ? "in the model" : "where it appears first");
}

static bool append(struct csv_blocks *blocks, const char *name, const struct csv_about *about, struct error *err)
{
    if (blocks->sized && about->bytes == 0)
        return fail(err, STATUS_INPUT, "block \"%.80s\" has no bytes: expected its size where it appears first", name);
    const uint64_t bytes = blocks->sized ? about->bytes : 1;
    if (!model_add_block(blocks->own, name, about->kind, about->layer, -1, err) ||
        !model_add_extent(blocks->own, blocks->offset, bytes, err))
        return false;
    blocks->offset += bytes; /* model_add_extent has checked the sum */
    return true;
}

bool csv_block(struct csv_blocks *blocks, const char *name, const struct csv_about *about, block_id *block,
               struct error *err)
{
    if (*name == '\0')
        return fail(err, STATUS_INPUT, "no block: expected its name");
    if (blocks->given != NULL) {
        *block = model_find(blocks->given, name);
        if (*block == BLOCK_NONE)
            return reader_unknown_block(blocks->given, name, STATUS_INPUT, err);
        return check_size(blocks, *block, about, err);
    }
    if (blocks->own->block_count >= blocks->slot_count / 2 && !grow(blocks, err))
        return false;
    uint32_t *slot = find(blocks, name);
    if (*slot == 0) {
        if (!append(blocks, name, about, err))
            return false;
        *slot = blocks->own->block_count;
    } else if (blocks->sized && !check_size(blocks, *slot - 1, about, err)) {
        return false;
    }
    *block = *slot - 1;
    return true;
}
