/* The naive engine's room: who may come in, who has to go (docs/models.md, section 5). */
#include "tests/reference/naive_state.h"

static bool may_evict(const void *context, block_id b)
{
    const struct naive_block *block = &((const struct naive_twin *)context)->blocks[b];
    return block->where == NAIVE_RESIDENT && !block->pinned && !block->in_use;
}

static bool may_evict_for_prefetch(const void *context, block_id b)
{
    return may_evict(context, b) && !((const struct naive_twin *)context)->blocks[b].unused;
}

static void forget(struct naive_twin *twin, block_id b)
{
    struct naive_block *block = &twin->blocks[b];
    naive_order_remove(&twin->order, b);
    block->where = NAIVE_ABSENT;
    if (block->unused)
        twin->result->numbers.bytes_prefetch_wasted += block->read_of_load;
    block->unused = false;
    block->demanded = false;
}

static void evict(struct naive_twin *twin, block_id b)
{
    forget(twin, b);
    twin->held -= twin->spec->model->blocks[b].bytes;
    naive_memory(twin, MEMORY_WEIGHTS, twin->held);
    twin->result->numbers.evictions++;
    twin->result->blocks[b].evictions++;
}

bool naive_evict(struct naive_twin *twin, bool for_prefetch)
{
    block_id b = naive_order_victim(&twin->order, for_prefetch ? may_evict_for_prefetch : may_evict, twin);
    if (b == BLOCK_NONE)
        return false;
    naive_log(twin, "evict", b, 0);
    evict(twin, b);
    return true;
}

void naive_release(struct naive_twin *twin)
{
    block_id b;
    while ((b = naive_order_release(&twin->order, may_evict, twin)) != BLOCK_NONE) {
        naive_log(twin, "release", b, 0);
        evict(twin, b);
    }
}

/* ---- Prefetches that give way ---- */

static bool droppable(const struct naive_twin *twin, block_id b)
{
    const struct naive_block *block = &twin->blocks[b];
    return block->where == NAIVE_LOADING && !block->waits && !block->pinned && !block->demanded && !block->in_use;
}

static bool moving(const struct naive_twin *twin, block_id b)
{
    for (uint32_t i = 0; i < twin->command_count; i++)
        if (twin->commands[i].block == b && twin->commands[i].drop == 0)
            return true;
    for (uint32_t i = 0; i < twin->job_count; i++)
        if (twin->jobs[i].block == b && twin->jobs[i].drop == 0)
            return true;
    return false;
}

static void give_back(struct naive_twin *twin, uint64_t bytes)
{
    twin->held -= bytes;
    twin->in_flight_bytes -= bytes;
    naive_memory(twin, MEMORY_WEIGHTS, twin->held);
}

static void drop(struct naive_twin *twin, block_id b)
{
    uint64_t bytes = twin->spec->model->blocks[b].bytes;
    bool waits = moving(twin, b);
    naive_log(twin, "drop", b, waits);
    forget(twin, b);
    twin->drops++;
    twin->delays->dropped++;
    twin->delays->dropped_moving += waits;
    for (uint32_t i = 0; i < twin->command_count; i++)
        if (twin->commands[i].block == b && twin->commands[i].drop == 0) {
            twin->commands[i].drop = twin->drops;
            twin->commands[i].drop_room = bytes;
        }
    for (uint32_t i = 0; i < twin->job_count; i++)
        if (twin->jobs[i].block == b && twin->jobs[i].drop == 0) {
            twin->jobs[i].drop = twin->drops;
            twin->jobs[i].drop_room = bytes;
            twin->shadow->follows = false; /* its room comes when the thread is done, not the command */
        }
    twin->blocks[b].arrived = false;
    if (waits)
        twin->drop_room += bytes;
    else
        give_back(twin, bytes);
}

bool naive_drop(struct naive_twin *twin, uint64_t bytes)
{
    uint32_t n = twin->spec->model->block_count;
    uint64_t all = 0;
    for (block_id b = 0; b < n; b++)
        all += droppable(twin, b) ? twin->spec->model->blocks[b].bytes : 0;
    if (twin->held - twin->drop_room - all + bytes > twin->budget)
        return false;
    while (twin->held - twin->drop_room + bytes > twin->budget) {
        block_id last = BLOCK_NONE;
        for (block_id b = 0; b < n; b++) {
            if (!droppable(twin, b))
                continue;
            bool later =
                last == BLOCK_NONE || moving(twin, b) < moving(twin, last) ||
                (moving(twin, b) == moving(twin, last) && twin->blocks[b].begun_order > twin->blocks[last].begun_order);
            last = later ? b : last;
        }
        drop(twin, last);
    }
    return true;
}

void naive_dropped_done(struct naive_twin *twin, uint64_t drop, uint64_t room_bytes)
{
    for (uint32_t i = 0; i < twin->command_count; i++)
        if (twin->commands[i].drop == drop)
            return;
    twin->drop_room -= room_bytes;
    give_back(twin, room_bytes);
}
