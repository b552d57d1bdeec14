/* Room in memory: evictions, what a policy releases, and prefetches in flight that give way to a demand.
 * docs/models.md section 5 is the rule. */
#include "sim/placing.h"
#include "sim/stages.h"

/* A block that leaves unused after a prefetch has cost what was read of it. */
static void count_removed(struct run_state *run, block_id b, bool unused)
{
    if (unused)
        run->numbers.bytes_prefetch_wasted += run->loads[b].issued_bytes;
    run->blocks[b].evictions++;
    placing_block_gone(run, b);
    run_shrink(run, MEMORY_WEIGHTS, run->host.view.held_bytes);
}

/* b fits into the budget (a demand under evict_when = after_step need not), and a hole of the address space is its. */
static bool has_room(struct run_state *run, block_id b, bool prefetch)
{
    bool counted = prefetch || run->spec->loader.evict_when == EVICT_BEFORE_INSERT;
    return (!counted || host_fits(&run->host, b)) && placing_block(run, b, prefetch);
}

enum room room_make(struct run_state *run, block_id b, bool prefetch)
{
    struct host *host = &run->host;
    enum room room = ROOM_MADE;
    host->view.evict_mask = prefetch ? EVICT_MASK_PREFETCH : EVICT_MASK_DEMAND;
    while (room == ROOM_MADE &&
           (b == BLOCK_NONE ? host->view.held_bytes > host->view.budget_bytes : !has_room(run, b, prefetch))) {
        block_id victim;
        bool unused;
        room = host_evict_one(host, b, &victim, &unused, run->err);
        if (room == ROOM_MADE)
            count_removed(run, victim, unused);
    }
    host->view.evict_mask = EVICT_MASK_DEMAND;
    if (room == ROOM_ERROR)
        run->failed = true;
    return room;
}

void room_release_all(struct run_state *run)
{
    block_id victim;
    bool unused;
    enum room room;
    while ((room = host_release_one(&run->host, &victim, &unused, run->err)) == ROOM_MADE)
        count_removed(run, victim, unused);
    if (room == ROOM_ERROR)
        run->failed = true;
}

uint64_t room_reclaim(struct run_state *run, uint64_t bytes)
{
    uint64_t taken = 0;
    while (taken < bytes && !run->failed) {
        block_id victim;
        bool unused;
        enum room room = host_reclaim_one(&run->host, &victim, &unused, run->err);
        if (room == ROOM_NONE)
            break;
        if (room == ROOM_ERROR)
            run->failed = true;
        else
            count_removed(run, victim, unused);
        taken += room == ROOM_MADE ? run->host.blocks[victim].bytes : 0;
    }
    return taken;
}

/* What is under way of a block: commands in flight, and a loader thread. */
static uint32_t commands_of(struct run_state *run, block_id b)
{
    uint32_t count = stages_job_of(run, b) != NULL;
    for (uint32_t i = 0; i < run->command_limit; i++) {
        const struct command *command = &run->commands[i];
        count += command->bytes > 0 && command->drop == DROP_NONE && command->read.block == b;
    }
    return count;
}

/* The bytes stay held until the block's commands in flight are done. */
static void await_commands(struct run_state *run, block_id b, uint32_t commands)
{
    uint16_t entry = 0;
    while (run->drops[entry].commands > 0)
        entry++;
    uint64_t bytes = run->host.blocks[b].bytes;
    run->drops[entry] = (struct drop){bytes, commands};
    run->dropping_bytes += bytes;
    run->host.view.held_bytes += bytes;
    for (uint32_t i = 0; i < run->command_limit; i++) {
        struct command *command = &run->commands[i];
        if (command->bytes > 0 && command->drop == DROP_NONE && command->read.block == b)
            command->drop = entry;
    }
    struct stage_job *job = stages_job_of(run, b);
    if (job)
        job->drop = entry;
    placing_block_dropped(run, b, entry);
}

static void free_dropped(struct run_state *run, uint64_t bytes)
{
    run->in_flight_bytes -= bytes;
    run_shrink(run, MEMORY_WEIGHTS, run->host.view.held_bytes);
}

void room_command_done(struct run_state *run, uint16_t drop)
{
    if (drop == DROP_DEAD)
        return;
    struct drop *dropped = &run->drops[drop];
    if (--dropped->commands > 0)
        return;
    run->dropping_bytes -= dropped->bytes;
    run->host.view.held_bytes -= dropped->bytes;
    placing_drop_done(run, drop);
    free_dropped(run, dropped->bytes);
}

static void drop_prefetch(struct run_state *run, block_id b)
{
    uint32_t commands = commands_of(run, b), kept = 0;
    host_remove(&run->host, b, REMOVE_CANCELLED);
    run->numbers.bytes_prefetch_wasted += run->loads[b].issued_bytes;
    load_forget_begun(run, b);
    for (uint32_t i = 0; i < run->suspended_count; i++) {
        if (run->suspended[i].block != b)
            run->suspended[kept++] = run->suspended[i];
    }
    run->suspended_count = kept;
    if (run->active == b)
        run->active = BLOCK_NONE;
    stages_forget(run, b);
    if (commands > 0) {
        await_commands(run, b, commands);
    } else {
        placing_block_gone(run, b);
        free_dropped(run, run->host.blocks[b].bytes);
    }
}

/* The prefetch to drop next: the one begun last, of those without a command in flight if there are any; and what all
 * that may be dropped hold. A block that the running step names is about to be demanded, a pinned one stays. */
static block_id next_to_drop(struct run_state *run, uint64_t *all_bytes)
{
    block_id waiting = BLOCK_NONE, moving = BLOCK_NONE;
    *all_bytes = 0;
    for (uint32_t i = 0; i < run->begun_count; i++) {
        block_id b = run->begun[i];
        if (run->host.state[b] & (POLICY_IN_USE | POLICY_PINNED))
            continue;
        *all_bytes += run->host.blocks[b].bytes;
        *(commands_of(run, b) == 0 ? &waiting : &moving) = b;
    }
    return waiting != BLOCK_NONE ? waiting : moving;
}

/* The budget has room for a demand: prefetches are dropped until there is a hole too. `tried`: there is none yet. */
static bool hole_by_drops(struct run_state *run, block_id b, bool tried, bool *coming)
{
    while (tried || !placing_block(run, b, false)) {
        tried = false;
        uint64_t droppable;
        block_id next = next_to_drop(run, &droppable);
        if (next == BLOCK_NONE) {
            *coming = run->dropping_bytes > 0;
            return false;
        }
        drop_prefetch(run, next);
    }
    return true;
}

bool room_by_drops(struct run_state *run, block_id b, bool *coming)
{
    const struct policy_view *view = &run->host.view;
    const uint64_t bytes = run->host.blocks[b].bytes;
    *coming = false;
    if (run->spec->loader.evict_when == EVICT_AFTER_STEP || host_fits(&run->host, b))
        return hole_by_drops(run, b, true, coming);
    uint64_t droppable;
    block_id next = next_to_drop(run, &droppable);
    if (view->held_bytes - run->dropping_bytes - droppable + bytes > view->budget_bytes)
        return false;
    while (view->held_bytes - run->dropping_bytes + bytes > view->budget_bytes) {
        drop_prefetch(run, next);
        next = next_to_drop(run, &droppable);
    }
    *coming = !host_fits(&run->host, b);
    return !*coming && hole_by_drops(run, b, false, coming);
}

/* The next event, as time in which the compute thread waits for room. */
static void await_event(struct run_state *run)
{
    int64_t start_ns = run->now_ns;
    run->waits_for_room = true;
    loads_next_event(run);
    run->waits_for_room = false;
    run_book_stall(run, start_ns);
}

bool room_any(struct run_state *run)
{
    if (run->host.evict) {
        block_id victim;
        bool unused;
        enum room room = host_evict_one(&run->host, BLOCK_NONE, &victim, &unused, run->err);
        if (room == ROOM_ERROR)
            run->failed = true;
        if (room == ROOM_MADE)
            count_removed(run, victim, unused);
        if (room != ROOM_NONE)
            return run_goes_on(run);
    }
    uint64_t droppable;
    block_id next = next_to_drop(run, &droppable);
    if (next != BLOCK_NONE)
        drop_prefetch(run, next);
    else if (run->dropping_bytes > 0)
        await_event(run);
    else
        return false;
    return run_goes_on(run);
}
