/* Blocks in flight: lanes, the demand queue, prefetches and their suspension. docs/models.md section 4 is the order. */
#include "base/units.h"
#include "sim/launch.h"
#include "sim/placing.h"
#include "sim/stages.h"
#include "sim/warm.h"

/* All prefetch commands in flight move together no more than one whole command. */
static void limit_prefetches(struct run_state *run, const struct loader *loader)
{
    uint64_t align = loader->align_bytes, whole = run->flash.spec.command_bytes & ~(align - 1);
    uint32_t lanes = loader->prefetch_lanes < run->command_limit ? loader->prefetch_lanes : run->command_limit;
    if (whole < align)
        whole = align; /* no read can be smaller */
    run->piece_bytes = (whole / (lanes > 0 ? lanes : 1)) & ~(align - 1);
    if (run->piece_bytes < align)
        run->piece_bytes = align;
    run->prefetch_limit = whole / run->piece_bytes < lanes ? (uint32_t)(whole / run->piece_bytes) : lanes;
}

/* The device, behind its file system. */
static void init_flash(struct run_state *run)
{
    struct flash_spec spec = run->spec->device.flash;
    spec.setup_ns += run->spec->device.fs_read_ns;
    flash_init(&run->flash, &spec);
}

bool loads_init(struct run_state *run, struct arena *arena)
{
    const struct loader *loader = &run->spec->loader;
    uint32_t n = run->model->block_count;
    init_flash(run);
    run->command_limit = loader->lanes < run->flash.spec.queue_depth ? loader->lanes : run->flash.spec.queue_depth;
    run->active = BLOCK_NONE;
    run->loads = arena_alloc(arena, n, sizeof *run->loads);
    run->seen = arena_alloc(arena, n, sizeof *run->seen);
    run->role = arena_alloc(arena, n, sizeof *run->role);
    run->load_bytes = arena_alloc(arena, n, sizeof *run->load_bytes);
    run->demand = arena_alloc(arena, n, sizeof *run->demand);
    run->commands = arena_alloc(arena, run->command_limit, sizeof *run->commands);
    run->free_slots = arena_alloc(arena, run->command_limit, sizeof *run->free_slots);
    /* A read of a promoted block stays suspended while its lane's place in the limit goes to the next prefetch, so
     * there may be more suspended reads than prefetch lanes, but never more than commands can be in flight. */
    run->suspended = arena_alloc(arena, run->command_limit + 1, sizeof *run->suspended);
    /* Each has a command in flight, a suspended read, or is the active one; or it is with the loader threads. */
    run->begun_max = 2 * run->command_limit + 2 + (loader->loader_threads > 0 ? n : 0);
    run->begun = arena_alloc(arena, run->begun_max, sizeof *run->begun);
    run->drop_limit = run->command_limit + loader->loader_threads;
    run->drops = arena_alloc(arena, run->drop_limit, sizeof *run->drops);
    if (!run->loads || !run->seen || !run->role || !run->load_bytes || !run->demand || !run->commands ||
        !run->free_slots || !run->suspended || !run->begun || !run->drops ||
        !events_init(&run->events, arena, run->drop_limit))
        return fail(run->err, STATUS_IO, "out of memory");
    for (uint32_t i = 0; i < run->command_limit; i++)
        run->free_slots[run->free_slot_count++] = (uint16_t)i;

    uint64_t align = loader->align_bytes;
    limit_prefetches(run, loader);
    for (uint32_t b = 0; b < n; b++) {
        const struct block *block = &run->model->blocks[b];
        for (uint32_t e = 0; e < block->extent_count; e++) {
            const struct extent *extent = &run->model->extents[block->first_extent + e];
            uint64_t begin = extent->offset_bytes & ~(align - 1);
            uint64_t end = (extent->offset_bytes + extent->bytes + align - 1) & ~(align - 1);
            run->load_bytes[b] += end - begin;
        }
    }
    return true;
}

/* Moves the load to its next extent; false when all reads are begun. */
static bool next_extent(struct run_state *run, block_id b)
{
    const struct block *block = &run->model->blocks[b];
    struct load *load = &run->loads[b];
    if (load->extent == block->extent_count)
        return false;
    const struct extent *extent = &run->model->extents[block->first_extent + load->extent++];
    uint64_t align = run->spec->loader.align_bytes;
    load->position = extent->offset_bytes & ~(align - 1);
    load->end = (extent->offset_bytes + extent->bytes + align - 1) & ~(align - 1);
    return true;
}

static void load_begin(struct run_state *run, block_id b)
{
    run->loads[b] = (struct load){.left_bytes = run->load_bytes[b]};
    run->blocks[b].loads++;
    next_extent(run, b);
}

/* Takes the next read off the load; *last when no read is left after it. */
static inline struct read_part next_read(struct run_state *run, block_id b, bool *last)
{
    struct load *load = &run->loads[b];
    uint64_t bytes = warm_cut(run, load->position, load->end - load->position);
    uint64_t limit = run->spec->loader.read_bytes;
    if (limit > 0 && bytes > limit)
        bytes = limit;
    const struct read_part read = {.block = b, .warm = warm_has(run, load->position), .total_bytes = bytes};
    load->position += bytes;
    *last = load->position == load->end && !next_extent(run, b);
    return read;
}

/* Issues the next command of a read: a prefetch's is cut. */
static void issue(struct run_state *run, struct read_part read)
{
    uint64_t bytes = read.total_bytes - read.before_bytes;
    if (read.prefetch && bytes > run->piece_bytes)
        bytes = run->piece_bytes;
    uint16_t slot = run->free_slots[--run->free_slot_count];
    run->prefetch_commands += read.prefetch;
    if (read.warm) { /* the flash sees nothing of it */
        run->commands[slot] = (struct command){read, bytes, INT64_MAX, INT64_MAX, DROP_NONE};
        events_push(&run->events, warm_copy(run, read.before_bytes, bytes), 0, slot);
        return;
    }
    int64_t done_ns = flash_issue(&run->flash, run->now_ns, read.before_bytes, bytes);
    run->commands[slot] = (struct command){read, bytes, run->flash.link_start_ns, run->flash.link_free_ns, DROP_NONE};
    events_push(&run->events, done_ns, 0, slot);
    run->numbers.bytes_read += bytes;
    run->blocks[read.block].bytes_read += bytes;
    run->loads[read.block].issued_bytes += bytes;
    if (read.prefetch)
        run->numbers.bytes_prefetched += bytes;
}

/* The oldest suspended read, or the oldest of a demanded block. */
static struct read_part take_suspended(struct run_state *run, bool demanded)
{
    uint32_t i = 0;
    while (demanded && !(run->role[run->suspended[i].block] & ROLE_DEMANDED))
        i++;
    struct read_part read = run->suspended[i];
    run->suspended_count--;
    for (; i < run->suspended_count; i++)
        run->suspended[i] = run->suspended[i + 1];
    run->suspended_demanded -= demanded;
    return read;
}

static inline void begin_prefetch(struct run_state *run, block_id b)
{
    load_begin(run, b);
    must(run->begun_count < run->begun_max);
    run->begun[run->begun_count++] = b;
    run->active = b;
}

void load_prefetch(struct run_state *run, block_id b)
{
    begin_prefetch(run, b);
}

/* Reserves the next block of the plan that wants a load. */
static bool begin_planned(struct run_state *run)
{
    struct host *host = &run->host;
    while (run->plan_next < run->plan_count) {
        block_id b = run->plan[run->plan_next++];
        if (host->state[b] & (POLICY_RESIDENT | POLICY_LOADING) || run->role[b] & ROLE_STREAMED ||
            host_too_large(host, b) || !host_admits(host, b))
            continue;
        if (room_make(run, b, true) != ROOM_MADE) {
            run->plan_next = run->plan_count;
            return false;
        }
        load_reserve(run, b, POLICY_PREFETCHED);
        if (!run_goes_on(run))
            return false;
        host->evict->on_insert(host->evict_self, &host->view, b);
        begin_prefetch(run, b);
        room_release(run);
        return run_goes_on(run);
    }
    return false;
}

/* Issues one prefetch command; false when nothing is to prefetch. */
static bool dispatch_prefetch(struct run_state *run)
{
    if (run->suspended_count > 0) {
        struct read_part read = take_suspended(run, false);
        read.prefetch = true;
        issue(run, read);
        return true;
    }
    if (run->active == BLOCK_NONE && !begin_planned(run) && !(run->streams && launch_next(run)))
        return false;
    bool last;
    struct read_part read = next_read(run, run->active, &last);
    read.prefetch = true;
    if (last)
        run->active = BLOCK_NONE;
    issue(run, read);
    return true;
}

/* A prefetch that began now could come before a demanded read that is yet to be issued. */
static bool may_prefetch(const struct run_state *run)
{
    return !run->waits_for_room && run->rests_due == 0 && run->prefetch_commands < run->prefetch_limit &&
           !stages_hold_prefetches(run);
}

void loads_dispatch(struct run_state *run)
{
    if (placing_holds_lanes(run))
        return;
    while (run->free_slot_count > 0 && run_goes_on(run)) {
        if (run->suspended_demanded > 0) {
            struct read_part read = take_suspended(run, true);
            read.prefetch = false;
            issue(run, read);
        } else if (run->demand_count > 0) {
            bool last;
            struct read_part read = next_read(run, run->demand[run->demand_head], &last);
            if (last) {
                run->demand_head = run->demand_head + 1 < run->model->block_count ? run->demand_head + 1 : 0;
                run->demand_count--;
            }
            issue(run, read);
        } else if (!may_prefetch(run) || !dispatch_prefetch(run)) {
            break;
        }
    }
}

static inline void queue(struct run_state *run, block_id b)
{
    uint32_t n = run->model->block_count;
    uint32_t tail = run->demand_head + run->demand_count;
    run->demand[tail < n ? tail : tail - n] = b;
    run->demand_count++;
}

void load_queue(struct run_state *run, block_id b)
{
    queue(run, b);
}

void load_reserve(struct run_state *run, block_id b, unsigned state)
{
    if (!placing_block(run, b, false)) { /* of the load phase: nothing can give way to it */
        run_kill(run, "allocator");
        return;
    }
    host_reserve(&run->host, b, POLICY_LOADING | state);
    run->loads[b] = (struct load){.left_bytes = run->load_bytes[b]};
    run->in_flight_bytes += run->host.blocks[b].bytes;
    run_grow(run, MEMORY_WEIGHTS, run->host.view.held_bytes);
}

void load_demand(struct run_state *run, block_id b, unsigned role)
{
    load_begin(run, b);
    run->role[b] = (uint8_t)(ROLE_DEMANDED | role);
    run->outstanding++;
    if (stages_by_compute(run))
        stages_add_errand(run, b, true);
    else
        queue(run, b);
}

void load_forget_begun(struct run_state *run, block_id b)
{
    uint32_t i = 0;
    while (run->begun[i] != b)
        i++;
    run->begun_count--;
    for (; i < run->begun_count; i++)
        run->begun[i] = run->begun[i + 1];
}

void load_promote(struct run_state *run, block_id b)
{
    must(!(run->role[b] & ROLE_DEMANDED));
    run->role[b] = ROLE_DEMANDED;
    run->outstanding++;
    load_forget_begun(run, b);
    for (uint32_t i = 0; i < run->suspended_count; i++)
        run->suspended_demanded += run->suspended[i].block == b;
    for (uint32_t i = 0; i < run->command_limit; i++) {
        struct command *command = &run->commands[i];
        if (command->bytes == 0 || command->drop != DROP_NONE || command->read.block != b)
            continue;
        command->read.rest_due = command->read.before_bytes + command->bytes < command->read.total_bytes;
        run->rests_due += command->read.rest_due;
    }
    if (run->active == b) {
        run->active = BLOCK_NONE;
        queue(run, b);
    }
    if (run->stages)
        stages_promoted(run, b);
}

static inline void arrive(struct run_state *run, block_id b)
{
    struct host *host = &run->host;
    if (!run->seen[b]) {
        run->seen[b] = true;
        run_loaded(run, run->loaded_bytes + host->blocks[b].bytes);
    }
    if (host->state[b] & POLICY_LOADING) {
        host->state[b] = (uint8_t)((host->state[b] & ~(unsigned)POLICY_LOADING) | POLICY_RESIDENT);
        run->in_flight_bytes -= host->blocks[b].bytes;
    } else {
        run->role[b] |= ROLE_ARRIVED;
    }
    if (!(run->role[b] & ROLE_DEMANDED)) {
        load_forget_begun(run, b);
        return;
    }
    if (!(run->role[b] & ROLE_STREAMED))
        run->role[b] = 0;
    run->outstanding--;
    if (run->outstanding > 0)
        return;
    if (run->layer_due)
        run_layer_is_there(run);
    if (run->plan_due)
        plan_ask(run);
}

void load_arrive(struct run_state *run, block_id b)
{
    arrive(run, b);
}

static void command_done(struct run_state *run, struct read_part read, uint64_t bytes)
{
    run->rests_due -= read.rest_due;
    read.rest_due = false;
    read.before_bytes += bytes;
    if (read.before_bytes < read.total_bytes) {
        run->suspended[run->suspended_count++] = read;
        run->suspended_demanded += (run->role[read.block] & ROLE_DEMANDED) != 0;
    }
    struct load *load = &run->loads[read.block];
    load->left_bytes -= bytes;
    if (load->left_bytes > 0)
        return;
    if (run->stages)
        stages_arrived(run, read.block);
    else
        arrive(run, read.block);
}

static void finish_command(struct run_state *run, uint16_t slot)
{
    struct command command = run->commands[slot];
    run->commands[slot].bytes = 0;
    run->free_slots[run->free_slot_count++] = slot;
    if (!command.read.warm)
        flash_finish(&run->flash, run->now_ns, command.bytes);
    run->prefetch_commands -= command.read.prefetch;
    if (command.drop == DROP_NONE)
        command_done(run, command.read, command.bytes);
    else
        room_command_done(run, command.drop);
}

void loads_next_event(struct run_state *run)
{
    int64_t time_ns;
    uint16_t slot = events_pop(&run->events, &time_ns);
    run_move_to(run, time_ns);
    if (!run_goes_on(run))
        return; /* another app's growth has come first, and was too much */
    if (slot < run->command_limit)
        finish_command(run, slot);
    else
        stages_event(run, slot);
    loads_dispatch(run);
}

void loads_advance(struct run_state *run, int64_t time_ns)
{
    while (events_due(&run->events, time_ns)) {
        loads_next_event(run);
        if (!run_goes_on(run))
            return;
    }
    run_move_to(run, time_ns);
}
