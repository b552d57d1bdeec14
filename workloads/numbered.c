/* Batches of numbered records: numbers to ids, sizes to blocks, steps to the trace. */
#include "workloads/numbered.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/units.h"
#include "workloads/reader.h"

void numbered_free(struct numbered *numbered)
{
    idmap_free(&numbered->ids);
    text_ids_free(&numbered->texts);
    free(numbered->blocks);
    *numbered = (struct numbered){0};
}

static bool fail_number(const struct model *model, uint64_t number, struct error *err)
{
    return fail(err, STATUS_INPUT, "block %" PRIu64 ": expected a block of the model \"%s\", 0 to %" PRIu32, number,
                model->name, model->block_count - 1);
}

bool numbered_block(struct reading *reading, uint64_t number, block_id *block, struct error *err)
{
    const struct model *model = reading->input->model;
    if (model == NULL)
        return idmap_put(&reading->numbered.ids, number, block, err);
    *block = (block_id)number;
    return number < model->block_count || fail_number(model, number, err);
}

/* ---- A batch ---- */

static bool fail_at(const struct numbered_batch *batch, uint32_t i, struct error *err)
{
    return fail_in(err, batch->by_offset ? "%s: offset %" PRIu64 : "%s:%" PRIu64, batch->reading->input->path,
                   batch->places[i]);
}

static bool find_blocks(struct numbered_batch *batch, block_id *blocks, struct error *err)
{
    const struct model *model = batch->reading->input->model;
    struct numbered *numbered = &batch->reading->numbered;
    if (model == NULL && !batch->by_text) {
        if (!idmap_put_many(&numbered->ids, batch->numbers, batch->count, blocks, err))
            return fail_at(batch, 0, err);
    } else {
        for (uint32_t i = 0; i < batch->count; i++) {
            blocks[i] = (block_id)batch->numbers[i];
            if (model != NULL && batch->numbers[i] >= model->block_count)
                return fail_number(model, batch->numbers[i], err) || fail_at(batch, i, err);
        }
    }
    const uint32_t count = batch->by_text ? numbered->texts.count : numbered->ids.count;
    return count <= NUMBERED_BLOCKS_MAX || fail(err, STATUS_INPUT, "%s: more than %d different blocks",
                                                batch->reading->input->path, NUMBERED_BLOCKS_MAX);
}

/* Sizes that differ are kept by block, from here on; until now all blocks had the common one. */
static bool begin_to_differ(struct numbered *numbered, struct error *err)
{
    const uint32_t known = numbered->known_count;
    void *blocks = numbered->blocks;
    if (!array_reserve(&blocks, &numbered->blocks_capacity, known, sizeof *numbered->blocks, err))
        return false;
    numbered->blocks = blocks;
    for (uint32_t b = 0; b < known; b++)
        numbered->blocks[b] = (struct policy_block){numbered->common_bytes, -1, BLOCK_OTHER};
    numbered->block_count = known;
    numbered->differ = true;
    return multiply(numbered->batched_count, numbered->common_bytes, &numbered->accessed_bytes) ||
           fail(err, STATUS_INPUT, "the trace accesses more than 2^63 bytes");
}

static bool note_size(struct numbered *numbered, block_id block, uint64_t bytes, struct error *err)
{
    void *blocks = numbered->blocks;
    if (block >= numbered->block_count) { /* new ids come in order */
        if (block >= numbered->blocks_capacity &&
            !array_reserve(&blocks, &numbered->blocks_capacity, (size_t)block + 1, sizeof *numbered->blocks, err))
            return false;
        numbered->blocks = blocks;
        numbered->blocks[block] = (struct policy_block){bytes, -1, BLOCK_OTHER};
        numbered->block_count = block + 1;
    }
    numbered->resized_count += numbered->blocks[block].bytes != bytes;
    return add(numbered->accessed_bytes, numbered->blocks[block].bytes, &numbered->accessed_bytes) ||
           fail(err, STATUS_INPUT, "the trace accesses more than 2^63 bytes");
}

static bool note_sizes(struct numbered_batch *batch, const block_id *blocks, struct error *err)
{
    struct numbered *numbered = &batch->reading->numbered;
    const struct model *model = batch->reading->input->model;
    if (numbered->common_bytes == 0)
        numbered->common_bytes = batch->bytes[0];
    uint64_t different = 0;
    for (uint32_t i = 0; i < batch->count; i++)
        different |= batch->bytes[i] ^ numbered->common_bytes;
    if (model != NULL) {
        numbered->differ |= different != 0;
        for (uint32_t i = 0; i < batch->count; i++)
            numbered->resized_count += batch->bytes[i] != model->policy_blocks[blocks[i]].bytes;
        return true;
    }
    if (different == 0 && !numbered->differ)
        return true;
    if (!numbered->differ && !begin_to_differ(numbered, err))
        return fail_at(batch, 0, err);
    for (uint32_t i = 0; i < batch->count; i++)
        if (blocks[i] < numbered->block_count)
            __builtin_prefetch(&numbered->blocks[blocks[i]]);
    for (uint32_t i = 0; i < batch->count; i++)
        if (!note_size(numbered, blocks[i], batch->bytes[i], err))
            return fail_at(batch, i, err);
    return true;
}

bool numbered_flush(struct numbered_batch *batch, struct error *err)
{
    struct numbered *numbered = &batch->reading->numbered;
    const struct reader_input *input = batch->reading->input;
    block_id blocks[NUMBERED_BATCH];
    uint32_t *uses;
    if (batch->count == 0)
        return true;
    if (!find_blocks(batch, blocks, err) || (batch->has_bytes && !note_sizes(batch, blocks, err)))
        return false;
    if (!trace_add_plain_steps(batch->reading->builder, batch->count, &uses, err))
        return fail_at(batch, 0, err);
    const uint32_t flag = foresee_flag(input->spec->foresee, BLOCK_OTHER);
    for (uint32_t i = 0; i < batch->count; i++)
        uses[i] = blocks[i] | flag;
    for (uint32_t i = 0; input->model != NULL && i < batch->count; i++)
        uses[i] = blocks[i] |
                  foresee_flag(input->spec->foresee, (enum block_kind)input->model->policy_blocks[blocks[i]].kind);
    numbered->batched_count += batch->count;
    numbered->known_count = batch->by_text ? numbered->texts.count : numbered->ids.count;
    batch->count = 0;
    return true;
}

/* ---- The end ---- */

/* Sizes of all blocks, in numbered->blocks. */
static bool fill_sizes(struct numbered *numbered, uint32_t count, struct error *err)
{
    const uint64_t bytes = numbered->common_bytes > 0 ? numbered->common_bytes : 1;
    void *blocks = numbered->blocks;
    if (!array_reserve(&blocks, &numbered->blocks_capacity, count, sizeof *numbered->blocks, err))
        return false;
    array_trim(&blocks, &numbered->blocks_capacity, count, sizeof *numbered->blocks);
    numbered->blocks = blocks;
    for (uint32_t b = numbered->differ ? count : 0; b < count; b++)
        numbered->blocks[b] = (struct policy_block){bytes, -1, BLOCK_OTHER};
    if (!numbered->differ && !multiply(numbered->batched_count, bytes, &numbered->accessed_bytes))
        return fail(err, STATUS_INPUT, "the trace accesses more than 2^63 bytes");
    return true;
}

/* Blocks, names and places in a file, for the engine. */
static bool build_whole(struct model *model, const struct numbered *numbered, uint32_t count, struct error *err)
{
    const struct text_ids *texts = numbered->texts.count > 0 ? &numbered->texts : NULL;
    uint64_t offset = 0;
    for (uint32_t b = 0; b < count; b++) {
        const uint64_t bytes = numbered->blocks[b].bytes;
        char number[MODEL_NUMBER_TEXT];
        if (texts == NULL)
            snprintf(number, sizeof number, "%" PRIu64, numbered->ids.keys[b]);
        if (!model_add_block(model, texts != NULL ? texts->texts + texts->offsets[b] : number, BLOCK_OTHER, -1, -1,
                             err) ||
            !model_add_extent(model, offset, bytes, err))
            return false;
        offset += bytes; /* model_add_extent has checked the sum */
    }
    return model_finish(model, err);
}

/* The model takes over what was read. */
static bool build_lean(struct model *model, struct numbered *numbered, const char *name, uint32_t count,
                       struct error *err)
{
    const bool by_text = numbered->texts.count > 0;
    struct policy_block *blocks = numbered->blocks;
    void *keys = by_text ? numbered->texts.offsets : numbered->ids.keys, *names = numbered->texts.texts;
    array_trim(&keys, by_text ? &numbered->texts.offsets_capacity : &numbered->ids.capacity, count, sizeof(uint64_t));
    if (by_text)
        array_trim(&names, &numbered->texts.texts_capacity, numbered->texts.used, 1);
    numbered->blocks = NULL;
    numbered->ids.keys = NULL;
    numbered->texts.offsets = NULL;
    numbered->texts.texts = NULL;
    return model_numbered(model, name, blocks, keys, names, count, err);
}

bool numbered_finish(struct reading *reading, struct error *err)
{
    struct numbered *numbered = &reading->numbered;
    struct trace_builder *builder = reading->builder;
    const struct reader_input *input = reading->input;
    const bool real_sizes = numbered->differ || numbered->common_bytes > 1;
    builder->trace->resized_count = real_sizes ? numbered->resized_count : 0;
    if (builder->trace->use_count == 0)
        return fail(err, STATUS_INPUT, "%s: the trace is empty: it names no block", input->path);
    reading->has_bytes = real_sizes || input->model != NULL;
    if (input->model != NULL)
        return true;
    const uint32_t count = numbered->texts.count > 0 ? numbered->texts.count : numbered->ids.count;
    const char *name = reader_file_name(input->path);
    model_start(reading->own_model, name, "");
    reading->has_own_model = true;
    if (!fill_sizes(numbered, count, err) ||
        !(input->sparse_ids ? build_lean(reading->own_model, numbered, name, count, err)
                            : build_whole(reading->own_model, numbered, count, err)))
        return fail_in(err, "%s", input->path);
    builder->summed = numbered->batched_count == builder->trace->use_count;
    builder->plain_bytes = numbered->accessed_bytes;
    return true;
}
