/* The load phase. See launch.h. */
#include "sim/launch.h"

#include <stdlib.h>

#include "sim/mapped.h"
#include "sim/placing.h"
#include "sim/stages.h"
#include "sim/warm.h"

/* ---- The set ---- */

static int by_offset(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* All blocks in the order of the file. */
static block_id *file_order(const struct run_state *run, struct arena *arena)
{
    const struct model *model = run->model;
    uint64_t(*keys)[2] = arena_alloc(arena, model->block_count, sizeof *keys);
    block_id *order = arena_alloc(arena, model->block_count, sizeof *order);
    if (!keys || !order)
        return NULL;
    for (uint32_t b = 0; b < model->block_count; b++) {
        keys[b][0] = model->extents[model->blocks[b].first_extent].offset_bytes;
        keys[b][1] = b;
    }
    qsort(keys, model->block_count, sizeof *keys, by_offset);
    for (uint32_t b = 0; b < model->block_count; b++)
        order[b] = (block_id)keys[b][1];
    return order;
}

enum { WANTED = 1, TAKEN = 2 };

/* By block: loader.preload names it. */
static void mark_wanted(const struct run_state *run, uint8_t *marks)
{
    const struct loader *loader = &run->spec->loader;
    for (uint32_t b = 0; b < run->model->block_count; b++) {
        const uint32_t kind = run->model->policy_blocks[b].kind;
        if (loader->preload == PRELOAD_ALL || (loader->preload == PRELOAD_DENSE && kind != BLOCK_EXPERT))
            marks[b] |= WANTED;
    }
    for (uint32_t i = 0; loader->preload == PRELOAD_BLOCKS && i < loader->preload_count; i++)
        marks[loader->preload_blocks[i]] |= WANTED;
}

/* The whole file; or the pinned blocks, then what is to be loaded beside them, as far as it fits the budget. */
static void fill_set(struct run_state *run, const block_id *order, uint8_t *marks)
{
    struct launch *launch = run->launch;
    const struct host *host = &run->host;
    const bool whole = run->spec->loader.mode == LOADER_READ;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < host->pin_count; i++) {
        launch->set[launch->count++] = (struct launch_block){host->pins[i], true};
        marks[host->pins[i]] = TAKEN;
        bytes += host->blocks[host->pins[i]].bytes;
    }
    mark_wanted(run, marks);
    for (uint32_t i = 0; i < run->model->block_count; i++) {
        const block_id b = order[i];
        if (!whole && (marks[b] != WANTED || host->blocks[b].bytes > host->view.budget_bytes - bytes))
            continue;
        launch->set[launch->count++] = (struct launch_block){b, whole};
        bytes += host->blocks[b].bytes;
    }
}

static bool comes_first(const struct run_state *run, block_id b, uint64_t bytes_before)
{
    const struct loader *loader = &run->spec->loader;
    const struct policy_block *block = &run->model->policy_blocks[b];
    switch (loader->first_chunk) {
    case FIRST_LAYERS:
        return block->kind == BLOCK_EMBEDDING || (block->layer >= 0 && (uint32_t)block->layer < loader->first_layers);
    case FIRST_BYTES:
        return bytes_before < loader->first_bytes;
    case FIRST_ALL:
        break;
    }
    return true;
}

/* What has to be there first goes before the rest, both in their order. */
static void order_set(struct run_state *run, struct launch_block *rest)
{
    struct launch *launch = run->launch;
    uint32_t rest_count = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < launch->count; i++) {
        const struct launch_block entry = launch->set[i];
        if (comes_first(run, entry.block, bytes))
            launch->set[launch->first_count++] = entry;
        else
            rest[rest_count++] = entry;
        bytes += run->host.blocks[entry.block].bytes;
    }
    for (uint32_t i = 0; i < rest_count; i++)
        launch->set[launch->first_count + i] = rest[i];
}

bool launch_init(struct run_state *run, struct arena *arena)
{
    const uint32_t n = run->model->block_count;
    run->launch = arena_alloc(arena, 1, sizeof *run->launch);
    if (!run->launch)
        return fail(run->err, STATUS_IO, "out of memory");
    if (run->spec->loader.mode == LOADER_MMAP)
        return true;
    run->launch->set = arena_alloc(arena, n, sizeof *run->launch->set);
    struct launch_block *rest = arena_alloc(arena, n, sizeof *rest);
    uint8_t *marks = arena_alloc(arena, n, sizeof *marks);
    block_id *order = file_order(run, arena);
    if (!run->launch->set || !rest || !marks || !order)
        return fail(run->err, STATUS_IO, "out of memory");
    fill_set(run, order, marks);
    order_set(run, rest);
    return true;
}

/* ---- The phase ---- */

/* Holds a block that may leave again, and tells the policy; false: it may not come, or there is no room for it. */
static bool reserve_evictable(struct run_state *run, block_id b, bool prefetch)
{
    struct host *host = &run->host;
    if (host->state[b] & (POLICY_RESIDENT | POLICY_LOADING) || run->role[b] & ROLE_STREAMED ||
        host_too_large(host, b) || !host_admits(host, b) || !host_fits(host, b) || !placing_block(run, b, prefetch))
        return false;
    load_reserve(run, b, prefetch ? POLICY_PREFETCHED : 0);
    if (!run_goes_on(run))
        return false;
    host->evict->on_insert(host->evict_self, &host->view, b);
    return true;
}

/* The next block whose first read is about to begin; memory fills as the file is read. */
static void begin(struct run_state *run, const struct launch_block *entry)
{
    bool held = entry->for_good;
    if (held)
        load_reserve(run, entry->block, POLICY_PINNED);
    else
        held = reserve_evictable(run, entry->block, false);
    if (held && run_goes_on(run))
        load_demand(run, entry->block, 0);
    if (held && !entry->for_good && run_goes_on(run))
        room_release(run);
    if (!placing_pay(run))
        return;
    if (stages_by_compute(run))
        stages_run_errands(run);
    else
        loads_dispatch(run);
}

static void load_first(struct run_state *run)
{
    const struct launch *launch = run->launch;
    for (uint32_t next = 0; next < launch->first_count && run_goes_on(run);) {
        if (run->demand_count == 0 && run->free_slot_count > 0)
            begin(run, &launch->set[next++]);
        else
            loads_next_event(run);
    }
}

/* All of the first chunk has begun: lanes that it leaves are the rest's. The rooms of pinned blocks are theirs from now
 * on. */
static void begin_rest(struct run_state *run)
{
    struct launch *launch = run->launch;
    launch->next = launch->first_count;
    run->has_rest = launch->next < launch->count;
    for (uint32_t i = launch->next; i < launch->count && run_goes_on(run); i++) {
        const struct launch_block *entry = &launch->set[i];
        if (!entry->for_good || !run->host.evict)
            continue;
        load_reserve(run, entry->block, POLICY_PINNED);
        run->loads[entry->block].waits = true;
    }
    if (!placing_pay(run))
        return;
    run->streams = launch->next < launch->count && run->spec->loader.overlap != OVERLAP_NONE;
    loads_dispatch(run); /* also what the first chunk has waiting: while the allocator was paid no lane was given out */
}

void launch(struct run_state *run)
{
    run->streams = false;
    if (run->mapped && run->numbers.restarts == 0) {
        warm_pages(run);
        run_loaded(run, run->loaded_bytes);
    }
    if (run_goes_on(run))
        stages_parse_header(run);
    if (run->mapped) {
        if (run_goes_on(run))
            mapped_load(run, run->host.pins, run->host.pin_count);
        run_loaded(run, run->loaded_bytes);
        return;
    }
    if (run_goes_on(run))
        load_first(run);
    if (run_goes_on(run))
        begin_rest(run);
    while (run->outstanding > 0 && run_goes_on(run))
        loads_next_event(run);
    if (run_goes_on(run))
        loads_advance(run, run->now_ns); /* what is due at this moment too */
}

/* Holds a block that never leaves; false: it is there, on its way, or has no hole. */
static bool reserve_for_good(struct run_state *run, block_id b)
{
    const bool waits = run->loads[b].waits; /* a pinned one, which has its room */
    if (!waits && (run->host.state[b] & (POLICY_RESIDENT | POLICY_LOADING) || !placing_block(run, b, true)))
        return false;
    if (!waits)
        load_reserve(run, b, POLICY_PINNED);
    run->host.state[b] |= POLICY_PREFETCHED;
    return run_goes_on(run);
}

bool launch_next(struct run_state *run)
{
    struct launch *launch = run->launch;
    while (launch->next < launch->count && run_goes_on(run)) {
        const struct launch_block *entry = &launch->set[launch->next++];
        const block_id b = entry->block;
        if (!(entry->for_good ? reserve_for_good(run, b) : reserve_evictable(run, b, true)))
            continue;
        load_prefetch(run, b);
        if (!entry->for_good)
            room_release(run);
        return run_goes_on(run);
    }
    return false;
}
