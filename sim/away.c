/* What a pause in the background leaves of the app's memory. */
#include "sim/away.h"

#include "base/wide.h"
#include "sim/mapped.h"
#include "sim/placing.h"
#include "sim/stages.h"

static uint64_t share_of(uint64_t bytes, uint32_t ppm)
{
    return (uint64_t)((wide)bytes * ppm / 1000000);
}

/* Blocks that are there, those of the pin rule left out where they stay. */
static uint64_t resident_bytes(const struct run_state *run, unsigned spared)
{
    uint64_t bytes = 0;
    for (block_id b = 0; b < run->model->block_count; b++)
        if ((run->host.state[b] & (POLICY_RESIDENT | spared)) == POLICY_RESIDENT)
            bytes += run->host.blocks[b].bytes;
    return bytes;
}

static uint64_t reclaim(struct run_state *run, uint32_t ppm)
{
    if (run->mapped)
        return mapped_reclaim(run, ppm);
    if (run->host.evict)
        return room_reclaim(run, share_of(resident_bytes(run, POLICY_PINNED), ppm));
    /* Anonymous memory that nobody manages: nothing but compression takes it. */
    return run->pressure ? pressure_swap_out(run->pressure, MEMORY_WEIGHTS, share_of(resident_bytes(run, 0), ppm)) : 0;
}

/* What prefetches have brought, or were to bring, in vain. */
static void count_wasted(struct run_state *run)
{
    for (block_id b = 0; b < run->model->block_count; b++)
        if (run->host.state[b] & POLICY_PREFETCHED)
            run->numbers.bytes_prefetch_wasted += run->loads[b].issued_bytes;
}

/* No load goes on: reads in flight and blocks on loader threads end there, for nobody. */
static void forget_loads(struct run_state *run)
{
    for (uint32_t i = 0; i < run->command_limit; i++) {
        struct command *command = &run->commands[i];
        if (command->bytes == 0)
            continue;
        command->drop = DROP_DEAD;
        command->read.prefetch = command->read.rest_due = false;
    }
    for (uint32_t i = 0; i < run->drop_limit; i++)
        run->drops[i] = (struct drop){0};
    run->demand_count = run->suspended_count = run->suspended_demanded = run->begun_count = 0;
    run->prefetch_commands = run->rests_due = run->outstanding = 0;
    run->plan_count = run->plan_next = 0;
    run->plan_due = false;
    run->active = BLOCK_NONE;
    run->dropping_bytes = run->in_flight_bytes = 0;
    run->has_rest = run->streams = false;
    for (block_id b = 0; b < run->model->block_count; b++) {
        run->role[b] = 0;
        run->loads[b].waits = false;
    }
    if (run->stages)
        stages_restart(run);
}

/* The app ends: its memory is the system's, but for the pages of the file. */
static void end_app(struct run_state *run)
{
    static const enum memory_class own[] = {MEMORY_STREAMED, MEMORY_ACTIVATION, MEMORY_KV, MEMORY_WEIGHTS,
                                            MEMORY_RUNTIME};
    if (!run->mapped)
        run->numbers.bytes_reclaimed += resident_bytes(run, 0);
    count_wasted(run);
    forget_loads(run);
    placing_restart(run);
    host_restart(&run->host);
    run->activation_bytes = 0;
    if (run->mapped)
        mapped_restart(run);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        run_shrink(run, own[i], 0);
}

static void restart(struct run_state *run, load_steps *load)
{
    const int64_t start_ns = run->now_ns;
    run->numbers.restarts++;
    end_app(run);
    run->phase = PHASE_LOAD;
    if (run_goes_on(run))
        run_grow(run, MEMORY_RUNTIME, run->processes * run->spec->device.runtime_bytes);
    if (run_goes_on(run))
        load(run);
    run->numbers.load_ns += run->now_ns - start_ns;
}

void away_return(struct run_state *run, const struct segment *segment, load_steps *load)
{
    if (segment->away == AWAY_RECLAIM)
        run->numbers.bytes_reclaimed += reclaim(run, segment->away_ppm);
    else if (segment->away == AWAY_RESTART)
        restart(run, load);
}
