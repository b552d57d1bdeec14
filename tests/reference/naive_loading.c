/* The naive engine's loads: reads, lanes and prefetches (docs/models.md, section 4). */
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
            const uint64_t warm = naive_warm_from(twin);
            while (begin < end) {
                uint64_t bytes = end - begin < piece ? end - begin : piece;
                if (begin < warm && begin + bytes > warm)
                    bytes = warm - begin;
                mine->reads = realloc(mine->reads, (mine->read_count + 1) * sizeof *mine->reads);
                must(mine->reads != NULL);
                mine->reads[mine->read_count++] = (struct naive_read){.bytes = bytes, .warm = begin >= warm};
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
    return block->where == NAIVE_RESIDENT || (block->streamed && block->done);
}

void naive_reset_reads(struct naive_twin *twin, block_id b)
{
    struct naive_block *block = &twin->blocks[b];
    block->read_of_load = 0;
    block->waits = block->done = false;
    twin->result->blocks[b].loads++;
    for (uint32_t r = 0; r < block->read_count; r++)
        block->reads[r] = (struct naive_read){.bytes = block->reads[r].bytes, .warm = block->reads[r].warm};
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
    naive_reset_reads(twin, b);
    twin->blocks[b].demanded = true;
    if (naive_by_compute(twin))
        naive_add_errand(twin, b, true);
    else
        twin->demands[twin->demand_count++] = b;
}

void naive_begin(struct naive_twin *twin, block_id b)
{
    naive_reset_reads(twin, b);
    twin->blocks[b].unused = true;
    twin->blocks[b].demanded = false;
    twin->blocks[b].begun_order = twin->next_order++;
}

void naive_promote(struct naive_twin *twin, block_id b)
{
    naive_log(twin, "promote", b, 0);
    naive_delay_promote(twin, b);
    twin->blocks[b].demanded = true;
    for (uint32_t i = 0; i < twin->command_count; i++) {
        struct naive_command *command = &twin->commands[i];
        if (command->block == b && command->drop == 0)
            command->rest_due =
                twin->blocks[b].reads[command->read].issued < twin->blocks[b].reads[command->read].bytes;
    }
    twin->demands[twin->demand_count++] = b;
    if (naive_by_compute(twin))
        naive_add_errand(twin, b, false);
}

/* ---- Commands ---- */

static uint32_t prefetch_commands(const struct naive_twin *twin)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < twin->command_count; i++)
        count += twin->commands[i].prefetch;
    return count;
}

/* The largest prefetch command, and how many may be in flight. */
static void prefetch_limits(const struct naive_twin *twin, uint64_t *piece, uint32_t *most)
{
    const struct loader *loader = &twin->spec->loader;
    uint32_t lanes = loader->prefetch_lanes, queue = twin->spec->device.flash.queue_depth;
    uint64_t align = loader->align_bytes, whole = twin->spec->device.flash.command_bytes / align;
    if (lanes > queue)
        lanes = queue;
    if (whole == 0)
        whole = 1;
    /* In units of the alignment: equal parts, each at least one. */
    uint64_t part = whole / lanes > 0 ? whole / lanes : 1;
    *piece = part * align;
    *most = lanes;
    while (*most * part > whole)
        (*most)--;
}

static uint64_t piece_of(const struct naive_twin *twin, uint64_t bytes)
{
    uint64_t piece;
    uint32_t most;
    prefetch_limits(twin, &piece, &most);
    return bytes < piece ? bytes : piece;
}

static void issue(struct naive_twin *twin, block_id b, uint32_t r, uint64_t bytes, bool prefetch)
{
    struct naive_block *block = &twin->blocks[b];
    struct naive_read *read = &block->reads[r];
    int64_t done = read->warm ? naive_copy(twin, read->issued, bytes)
                              : naive_flash_issue(&twin->flash, twin->now_ns, read->issued, bytes);
    naive_log(twin, prefetch ? "issue prefetch" : "issue", b, bytes);
    if (!prefetch)
        naive_delay_issue(twin, read->issued, bytes, done);
    twin->commands[twin->command_count++] = (struct naive_command){.done_ns = done,
                                                                   .order = twin->next_order++,
                                                                   .block = b,
                                                                   .read = r,
                                                                   .bytes = bytes,
                                                                   .prefetch = prefetch,
                                                                   .warm = read->warm};
    read->issued += bytes;
    read->suspended = false;
    if (read->warm)
        return;
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
    issue(twin, oldest, oldest_read, demanded ? left : piece_of(twin, left), !demanded);
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
        if (block->where == NAIVE_LOADING && !block->waits && !block->demanded &&
            first_read_not_begun(block) != UINT32_MAX &&
            (first == BLOCK_NONE || block->begun_order < twin->blocks[first].begun_order))
            first = b;
    }
    if (first == BLOCK_NONE)
        return false;
    uint32_t r = first_read_not_begun(&twin->blocks[first]);
    issue(twin, first, r, piece_of(twin, twin->blocks[first].reads[r].bytes), true);
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
        if (twin->blocks[b].where != NAIVE_ABSENT || twin->blocks[b].streamed || bytes > twin->budget - twin->pinned ||
            !naive_order_admits(&twin->order, b))
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
        naive_begin(twin, b);
        naive_release(twin);
        return true;
    }
    return false;
}

static bool may_prefetch(const struct naive_twin *twin)
{
    uint64_t piece;
    uint32_t most;
    prefetch_limits(twin, &piece, &most);
    for (uint32_t i = 0; i < twin->command_count; i++)
        if (twin->commands[i].rest_due)
            return false;
    return !twin->waits_for_room && !naive_errands_hold(twin) && prefetch_commands(twin) < most;
}

void naive_issue(struct naive_twin *twin)
{
    uint32_t lanes = twin->spec->loader.lanes, queue = twin->spec->device.flash.queue_depth;
    uint32_t most = lanes < queue ? lanes : queue;
    while (!twin->over && twin->command_count < most) {
        if (issue_suspended(twin, true) || issue_demand(twin))
            continue;
        if (!may_prefetch(twin))
            break;
        if (issue_suspended(twin, false) || issue_prefetch(twin))
            continue;
        if (!begin_prefetch(twin) && !naive_begin_rest(twin))
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

static void read_on(struct naive_twin *twin, const struct naive_command *done)
{
    struct naive_block *block = &twin->blocks[done->block];
    struct naive_read *read = &block->reads[done->read];
    read->moved += done->bytes;
    if (read->moved < read->bytes) {
        read->suspended = true;
        read->suspended_order = twin->next_order++;
    }
    if (!reads_done(block))
        return;
    naive_delay_arrive(twin, done->block);
    naive_read_whole(twin, done->block);
}

void naive_complete(struct naive_twin *twin, uint32_t command)
{
    struct naive_command done = twin->commands[command];
    twin->commands[command] = twin->commands[--twin->command_count];
    naive_log(twin, done.drop ? "done, dropped" : "done", done.block, done.bytes);
    if (done.drop)
        naive_dropped_done(twin, done.drop, done.drop_room);
    else
        read_on(twin, &done);
    naive_first_layer(twin);
    naive_plan(twin);
    naive_issue(twin);
}
