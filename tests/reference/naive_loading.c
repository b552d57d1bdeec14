/* The naive engine's loads: reads, lanes, prefetches and evictions (docs/models.md, sections 4 and 5). */
#include <stdlib.h>

#include "tests/reference/naive_state.h"

void naive_cut(struct naive_twin *twin)
{
    const struct model *model = twin->spec->model;
    uint64_t align = twin->spec->loader.align_bytes;
    for (block_id b = 0; b < model->block_count; b++) {
        const struct block *block = &model->blocks[b];
        struct naive_block *mine = &twin->blocks[b];
        for (uint32_t e = 0; e < block->extent_count; e++) {
            const struct extent *extent = &model->extents[block->first_extent + e];
            uint64_t begin = extent->offset_bytes / align * align;
            uint64_t end = (extent->offset_bytes + extent->bytes + align - 1) / align * align;
            uint64_t piece = twin->spec->loader.read_bytes ? twin->spec->loader.read_bytes : end - begin;
            while (begin < end) {
                uint64_t bytes = end - begin < piece ? end - begin : piece;
                mine->reads = realloc(mine->reads, (mine->read_count + 1) * sizeof *mine->reads);
                must(mine->reads != NULL);
                mine->reads[mine->read_count++] = (struct naive_read){.bytes = bytes};
                begin += bytes;
            }
        }
    }
}

static bool reads_done(const struct naive_block *block)
{
    for (uint32_t r = 0; r < block->read_count; r++)
        if (block->reads[r].moved < block->reads[r].bytes)
            return false;
    return true;
}

bool naive_there(const struct naive_twin *twin, block_id b)
{
    const struct naive_block *block = &twin->blocks[b];
    return block->where == NAIVE_RESIDENT || (block->streamed && reads_done(block));
}

static void reset_reads(struct naive_twin *twin, block_id b)
{
    struct naive_block *block = &twin->blocks[b];
    block->read_of_load = 0;
    twin->result->blocks[b].loads++;
    for (uint32_t r = 0; r < block->read_count; r++)
        block->reads[r] = (struct naive_read){.bytes = block->reads[r].bytes};
}

void naive_reserve(struct naive_twin *twin, block_id b)
{
    uint64_t bytes = twin->spec->model->blocks[b].bytes;
    naive_log(twin, "reserve", b, bytes);
    twin->blocks[b].where = NAIVE_LOADING;
    twin->held += bytes;
    twin->in_flight_bytes += bytes;
    naive_memory(twin, MEMORY_WEIGHTS, twin->held);
}

void naive_demand(struct naive_twin *twin, block_id b)
{
    naive_log(twin, "demand", b, 0);
    reset_reads(twin, b);
    twin->blocks[b].demanded = true;
    twin->demands[twin->demand_count++] = b;
}

void naive_promote(struct naive_twin *twin, block_id b)
{
    naive_log(twin, "promote", b, 0);
    twin->blocks[b].demanded = true;
    twin->demands[twin->demand_count++] = b;
}

bool naive_evict(struct naive_twin *twin, bool for_prefetch)
{
    for (uint32_t i = 0; i < twin->order.count; i++) {
        block_id b = twin->order.blocks[i];
        struct naive_block *block = &twin->blocks[b];
        if (block->where != NAIVE_RESIDENT || block->pinned || block->in_use || (for_prefetch && block->unused))
            continue;
        naive_log(twin, "evict", b, 0);
        naive_order_remove(&twin->order, b);
        block->where = NAIVE_ABSENT;
        if (block->unused)
            twin->result->numbers.bytes_prefetch_wasted += block->read_of_load;
        block->unused = false;
        block->demanded = false;
        twin->held -= twin->spec->model->blocks[b].bytes;
        naive_memory(twin, MEMORY_WEIGHTS, twin->held);
        twin->result->numbers.evictions++;
        twin->result->blocks[b].evictions++;
        return true;
    }
    return false;
}

/* ---- Commands ---- */

static uint32_t prefetch_commands(const struct naive_twin *twin)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < twin->command_count; i++)
        count += twin->commands[i].prefetch;
    return count;
}

static void issue(struct naive_twin *twin, block_id b, uint32_t r, uint64_t bytes, bool prefetch)
{
    struct naive_block *block = &twin->blocks[b];
    struct naive_read *read = &block->reads[r];
    int64_t done = naive_flash_issue(&twin->flash, twin->now_ns, read->issued, bytes);
    naive_log(twin, prefetch ? "issue prefetch" : "issue", b, bytes);
    twin->commands[twin->command_count++] = (struct naive_command){done, twin->next_order++, b, r, bytes, prefetch};
    read->issued += bytes;
    read->suspended = false;
    block->read_of_load += bytes;
    twin->result->numbers.bytes_read += bytes;
    twin->result->blocks[b].bytes_read += bytes;
    if (prefetch)
        twin->result->numbers.bytes_prefetched += bytes;
}

/* Rules 1 and 3: the oldest suspended read of demanded blocks, or of blocks that no step demanded. */
static bool issue_suspended(struct naive_twin *twin, bool demanded)
{
    block_id oldest = BLOCK_NONE;
    uint32_t oldest_read = 0;
    for (block_id b = 0; b < twin->spec->model->block_count; b++) {
        const struct naive_block *block = &twin->blocks[b];
        if (block->where != NAIVE_LOADING || block->demanded != demanded)
            continue;
        for (uint32_t r = 0; r < block->read_count; r++)
            if (block->reads[r].suspended &&
                (oldest == BLOCK_NONE ||
                 block->reads[r].suspended_order < twin->blocks[oldest].reads[oldest_read].suspended_order)) {
                oldest = b;
                oldest_read = r;
            }
    }
    if (oldest == BLOCK_NONE)
        return false;
    const struct naive_read *read = &twin->blocks[oldest].reads[oldest_read];
    uint64_t left = read->bytes - read->issued;
    uint64_t command = twin->spec->device.flash.command_bytes;
    issue(twin, oldest, oldest_read, demanded || left < command ? left : command, !demanded);
    return true;
}

static uint32_t first_read_not_begun(const struct naive_block *block)
{
    for (uint32_t r = 0; r < block->read_count; r++)
        if (block->reads[r].issued == 0)
            return r;
    return UINT32_MAX;
}

/* Rule 2. */
static bool issue_demand(struct naive_twin *twin)
{
    while (twin->demand_count > 0) {
        block_id b = twin->demands[0];
        uint32_t r = first_read_not_begun(&twin->blocks[b]);
        if (r != UINT32_MAX) {
            issue(twin, b, r, twin->blocks[b].reads[r].bytes, false);
            return true;
        }
        twin->demand_count--;
        for (uint32_t i = 0; i < twin->demand_count; i++)
            twin->demands[i] = twin->demands[i + 1];
    }
    return false;
}

/* Rule 4. */
static bool issue_prefetch(struct naive_twin *twin)
{
    block_id first = BLOCK_NONE;
    for (block_id b = 0; b < twin->spec->model->block_count; b++) {
        const struct naive_block *block = &twin->blocks[b];
        if (block->where == NAIVE_LOADING && !block->demanded && first_read_not_begun(block) != UINT32_MAX &&
            (first == BLOCK_NONE || block->begun_order < twin->blocks[first].begun_order))
            first = b;
    }
    if (first == BLOCK_NONE)
        return false;
    uint32_t r = first_read_not_begun(&twin->blocks[first]);
    uint64_t bytes = twin->blocks[first].reads[r].bytes, command = twin->spec->device.flash.command_bytes;
    issue(twin, first, r, bytes < command ? bytes : command, true);
    return true;
}

/* Rule 5, up to the reservation; rule 4 then begins its first read. */
static bool begin_prefetch(struct naive_twin *twin)
{
    while (twin->plan_count > 0) {
        block_id b = twin->plan[0];
        twin->plan_count--;
        for (uint32_t i = 0; i < twin->plan_count; i++)
            twin->plan[i] = twin->plan[i + 1];
        uint64_t bytes = twin->spec->model->blocks[b].bytes;
        if (twin->blocks[b].where != NAIVE_ABSENT || twin->blocks[b].streamed || bytes > twin->budget - twin->pinned)
            continue;
        while (twin->held + bytes > twin->budget) {
            if (!naive_evict(twin, true)) {
                twin->plan_count = 0;
                return false;
            }
        }

        naive_log(twin, "begin prefetch", b, 0);
        naive_reserve(twin, b);
        if (twin->over)
            return false;
        naive_order_insert(&twin->order, b);
        reset_reads(twin, b);
        twin->blocks[b].unused = true;
        twin->blocks[b].demanded = false;
        twin->blocks[b].begun_order = twin->next_order++;
        return true;
    }
    return false;
}

void naive_issue(struct naive_twin *twin)
{
    uint32_t lanes = twin->spec->loader.lanes, queue = twin->spec->device.flash.queue_depth;
    uint32_t most = lanes < queue ? lanes : queue;
    while (!twin->over && twin->command_count < most) {
        if (issue_suspended(twin, true) || issue_demand(twin))
            continue;
        if (prefetch_commands(twin) >= twin->spec->loader.prefetch_lanes)
            break;
        if (issue_suspended(twin, false) || issue_prefetch(twin))
            continue;
        if (twin->waits_for_room || !begin_prefetch(twin))
            break;
    }
    naive_note(twin);
}

uint32_t naive_first_command(const struct naive_twin *twin)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < twin->command_count; i++) {
        const struct naive_command *a = &twin->commands[i];
        if (first == UINT32_MAX || a->done_ns < twin->commands[first].done_ns ||
            (a->done_ns == twin->commands[first].done_ns && a->order < twin->commands[first].order))
            first = i;
    }
    return first;
}

void naive_complete(struct naive_twin *twin, uint32_t command)
{
    struct naive_command done = twin->commands[command];
    twin->commands[command] = twin->commands[--twin->command_count];
    struct naive_block *block = &twin->blocks[done.block];
    struct naive_read *read = &block->reads[done.read];
    naive_log(twin, "done", done.block, done.bytes);
    read->moved += done.bytes;
    if (read->moved < read->bytes) {
        read->suspended = true;
        read->suspended_order = twin->next_order++;
    }
    if (block->where == NAIVE_LOADING && reads_done(block)) {
        naive_log(twin, "resident", done.block, 0);
        block->where = NAIVE_RESIDENT;
        twin->in_flight_bytes -= twin->spec->model->blocks[done.block].bytes;
    }
    naive_plan(twin);
    naive_issue(twin);
}
