/* The naive engine's load phase and the start-up set (docs/models.md, section 6). */
#include <stdlib.h>

#include "tests/reference/naive_state.h"

/* All blocks by the first extent's offset, of equals by their ids: insertion sort. */
static void sort_by_offset(const struct model *model, block_id *sorted)
{
    for (block_id b = 0; b < model->block_count; b++) {
        uint32_t at = b;
        uint64_t offset = model->extents[model->blocks[b].first_extent].offset_bytes;
        for (; at > 0 && model->extents[model->blocks[sorted[at - 1]].first_extent].offset_bytes > offset; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = b;
    }
}

static bool is_named(const struct naive_twin *twin, block_id b)
{
    const struct loader *loader = &twin->spec->loader;
    if (loader->preload == PRELOAD_ALL)
        return true;
    if (loader->preload == PRELOAD_DENSE)
        return twin->spec->model->blocks[b].kind != BLOCK_EXPERT;
    for (uint32_t i = 0; loader->preload == PRELOAD_BLOCKS && i < loader->preload_count; i++)
        if (loader->preload_blocks[i] == b)
            return true;
    return false;
}

/* The set in its order; which of it are pinned. */
static uint32_t whole_set(struct naive_twin *twin, block_id *set)
{
    const struct model *model = twin->spec->model;
    uint32_t wanted_count = 0, count = 0;
    uint64_t bytes = 0;
    block_id *wanted = calloc(2 * (size_t)model->block_count, sizeof *wanted);
    block_id *sorted = calloc(model->block_count, sizeof *sorted);
    must(wanted != NULL && sorted != NULL);
    sort_by_offset(model, sorted);
    if (twin->spec->loader.mode == LOADER_READ) {
        for (; count < model->block_count; count++)
            set[count] = sorted[count];
    } else {
        wanted_count = naive_pins(twin->choice, model, twin->spec->trace, twin->budget, wanted);
        uint32_t pins = wanted_count;
        for (uint32_t i = 0; i < model->block_count; i++)
            if (is_named(twin, sorted[i]))
                wanted[wanted_count++] = sorted[i];
        for (uint32_t i = 0; i < wanted_count; i++) {
            block_id b = wanted[i];
            if (twin->blocks[b].pinned || bytes + model->blocks[b].bytes > twin->budget)
                continue;
            bytes += model->blocks[b].bytes;
            set[count++] = b;
            twin->blocks[b].pinned = i < pins;
            twin->pinned += i < pins ? model->blocks[b].bytes : 0;
        }
    }
    free(wanted);
    free(sorted);
    return count;
}

static bool is_first(const struct naive_twin *twin, block_id b, uint64_t bytes_before)
{
    const struct loader *loader = &twin->spec->loader;
    const struct block *block = &twin->spec->model->blocks[b];
    if (loader->first_chunk == FIRST_BYTES)
        return bytes_before < loader->first_bytes;
    if (loader->first_chunk == FIRST_LAYERS)
        return block->kind == BLOCK_EMBEDDING || (block->layer >= 0 && block->layer < (int64_t)loader->first_layers);
    return true;
}

static bool stays(const struct naive_twin *twin, block_id b)
{
    return twin->blocks[b].pinned || twin->spec->loader.mode == LOADER_READ;
}

/* Reserves a block that may leave; false: it may not come. */
static bool let_in(struct naive_twin *twin, block_id b)
{
    uint64_t bytes = twin->spec->model->blocks[b].bytes;
    if (twin->blocks[b].where != NAIVE_ABSENT || twin->blocks[b].streamed || bytes > twin->budget - twin->pinned ||
        !naive_order_admits(&twin->order, b) || twin->held + bytes > twin->budget)
        return false;
    naive_reserve(twin, b);
    if (!twin->over)
        naive_order_insert(&twin->order, b);
    return !twin->over;
}

/* All of the first chunk has begun. */
static void start_rest(struct naive_twin *twin, uint32_t count)
{
    for (uint32_t i = 0; i < count && !twin->over; i++)
        if (twin->blocks[twin->rest[i]].pinned) {
            naive_reserve(twin, twin->rest[i]);
            twin->blocks[twin->rest[i]].waits = true;
        }
    twin->rest_count = count;
    twin->rest_comes = twin->spec->loader.overlap != OVERLAP_NONE;
    if (!twin->over)
        naive_issue(twin);
}

static bool awaits(const struct naive_twin *twin, const block_id *first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (twin->blocks[first[i]].where == NAIVE_LOADING)
            return true;
    return false;
}

static void load_first(struct naive_twin *twin, const block_id *first, uint32_t count, uint32_t rest_count)
{
    const uint32_t depth = twin->spec->device.flash.queue_depth, lanes = twin->spec->loader.lanes;
    for (uint32_t next = 0; !twin->over && next < count;) {
        naive_issue(twin);
        if (twin->command_count < (lanes < depth ? lanes : depth)) {
            block_id b = first[next++];
            bool comes = stays(twin, b);
            if (comes)
                naive_reserve(twin, b);
            else
                comes = let_in(twin, b);
            if (!comes || twin->over)
                continue;
            naive_demand(twin, b);
            if (!stays(twin, b))
                naive_release(twin);
            if (naive_by_compute(twin))
                naive_run_errands(twin, SPEND_LOAD);
        } else {
            naive_next_event(twin);
        }
    }
    if (!twin->over)
        naive_issue(twin);
    if (!twin->over)
        start_rest(twin, rest_count);
    while (!twin->over && awaits(twin, first, count))
        naive_next_event(twin);
    while (naive_event_due(twin, twin->now_ns))
        naive_next_event(twin);
}

void naive_launch(struct naive_twin *twin)
{
    const struct model *model = twin->spec->model;
    block_id *set = calloc(model->block_count, sizeof *set), *first = calloc(model->block_count, sizeof *first);
    must(set != NULL && first != NULL);
    uint32_t count = whole_set(twin, set), first_count = 0, rest_count = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_first(twin, set[i], bytes))
            first[first_count++] = set[i];
        else
            twin->rest[rest_count++] = set[i];
        bytes += model->blocks[set[i]].bytes;
    }
    twin->spending = SPEND_LOAD;
    naive_header(twin);
    load_first(twin, first, first_count, rest_count);
    free(set);
    free(first);
}

bool naive_begin_rest(struct naive_twin *twin)
{
    while (twin->rest_comes && twin->rest_count > 0 && !twin->over) {
        block_id b = twin->rest[0];
        twin->rest_count--;
        for (uint32_t i = 0; i < twin->rest_count; i++)
            twin->rest[i] = twin->rest[i + 1];
        bool comes = twin->blocks[b].waits;
        if (!comes && twin->spec->loader.mode == LOADER_READ && twin->blocks[b].where == NAIVE_ABSENT) {
            naive_reserve(twin, b);
            comes = true;
        }
        if (!comes && !stays(twin, b))
            comes = let_in(twin, b);
        if (!comes || twin->over)
            continue;
        naive_log(twin, "begin rest", b, 0);
        naive_begin(twin, b);
        if (!stays(twin, b))
            naive_release(twin);
        return true;
    }
    return false;
}
