/* Allocation and initialisation of blocks, on loader threads or by the compute thread. See stages.h. */
#include "sim/stages.h"

#include "base/units.h"
#include "base/wide.h"
#include "sim/mapped.h"
#include "sim/warm.h"

enum { NS_PER_S = 1000000000, EVENT_CLASS = 1 };

static const struct {
    uint32_t bit;
    size_t rate; /* of struct device */
} block_stages[] = {
    {STAGE_ALLOC, offsetof(struct device, alloc_bps)},
    {STAGE_CHECKSUM, offsetof(struct device, checksum_bps)},
    {STAGE_COPY, offsetof(struct device, copy_bps)},
    {STAGE_REPACK, offsetof(struct device, repack_bps)},
};

static uint64_t rate_of(const struct run_state *run, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)&run->spec->device + offset);
}

/* No stage may take all of the weights past the end of the clock. */
static bool check_stage(const struct run_state *run, uint64_t bytes, uint64_t bps)
{
    return bps > 0 && (wide)bytes * NS_PER_S / bps < (wide)1 << 59
               ? true
               : fail(run->err, STATUS_USAGE, "a stage of loading takes over 18 years at %llu B/s",
                      (unsigned long long)bps);
}

/* By block: the times of the chosen stages. */
static bool init_times(struct run_state *run)
{
    struct stages *stages = run->stages;
    for (size_t i = 0; i < sizeof block_stages / sizeof *block_stages; i++) {
        if (!(run->spec->loader.stages & block_stages[i].bit))
            continue;
        const uint64_t bps = rate_of(run, block_stages[i].rate);
        if (!check_stage(run, run->model->weights_bytes, bps))
            return false;
        int64_t *times = block_stages[i].bit == STAGE_ALLOC ? stages->alloc_ns : stages->init_ns;
        for (uint32_t b = 0; b < run->model->block_count; b++)
            times[b] += (int64_t)scale_up(run->model->blocks[b].bytes, NS_PER_S, bps);
    }
    return true;
}

bool stages_init(struct run_state *run, struct arena *arena)
{
    const struct loader *loader = &run->spec->loader;
    const uint32_t n = run->model->block_count;
    if (loader->stages & STAGE_PARSE && !check_stage(run, run->model->file_bytes, run->spec->device.parse_bps))
        return false;
    if (loader->mode == LOADER_MMAP || !(loader->stages & ~(uint32_t)STAGE_PARSE))
        return true;
    struct stages *stages = arena_alloc(arena, 1, sizeof *stages);
    if (!stages)
        return fail(run->err, STATUS_IO, "out of memory");
    stages->threads = loader->loader_threads;
    stages->alloc_ns = arena_alloc(arena, n, sizeof *stages->alloc_ns);
    stages->init_ns = arena_alloc(arena, n, sizeof *stages->init_ns);
    stages->arrived = arena_alloc(arena, n, sizeof *stages->arrived);
    stages->errands = arena_alloc(arena, run->trace->step_uses_max + UINT64_C(1), sizeof *stages->errands);
    if (!stages->alloc_ns || !stages->init_ns || !stages->arrived || !stages->errands)
        return fail(run->err, STATUS_IO, "out of memory");
    for (uint32_t i = 0; i < LOADER_THREADS_MAX; i++)
        stages->jobs[i] = (struct stage_job){BLOCK_NONE, DROP_NONE};
    run->stages = stages;
    return init_times(run);
}

/* ---- The header ---- */

/* One read of it, which nothing runs beside. */
static void read_alone(struct run_state *run, uint64_t position, uint64_t bytes)
{
    if (warm_has(run, position)) {
        run_move_to(run, warm_copy(run, 0, bytes));
        return;
    }
    if (!flash_has_slot(&run->flash))
        mapped_await_reads(run); /* readahead for the app before has the whole queue */
    if (!run_goes_on(run))
        return;
    const int64_t done_ns = flash_issue(&run->flash, run->now_ns, 0, bytes);
    run->commands[0] =
        (struct command){{.block = BLOCK_NONE}, bytes, run->flash.link_start_ns, run->flash.link_free_ns, DROP_NONE};
    run->numbers.bytes_read += bytes;
    run->header_bytes_read += bytes;
    run_move_to(run, done_ns);
    if (!run_goes_on(run))
        return; /* another app's growth came first, and was too much */
    run->commands[0].bytes = 0;
    if (run->mapped)
        mapped_settle(run, done_ns); /* what readahead for the app before was done with earlier */
    flash_finish(&run->flash, done_ns, bytes);
}

void stages_parse_header(struct run_state *run)
{
    const struct loader *loader = &run->spec->loader;
    const struct model *model = run->model;
    if (!(loader->stages & STAGE_PARSE) || model->file_bytes <= model->weights_bytes)
        return;
    /* What an app that was ended has under way goes first. */
    while (run->events.count > 0 && run_goes_on(run))
        loads_next_event(run);
    if (!run_goes_on(run))
        return;
    must(run->free_slot_count == run->command_limit);
    const int64_t start_ns = run->now_ns;
    const uint64_t header_bytes = model->file_bytes - model->weights_bytes, align = loader->align_bytes;
    const uint64_t end = (header_bytes + align - 1) & ~(align - 1);
    for (uint64_t position = 0, bytes; position < end && run_goes_on(run); position += bytes) {
        bytes = warm_cut(run, position, end - position);
        if (loader->read_bytes > 0 && bytes > loader->read_bytes)
            bytes = loader->read_bytes;
        read_alone(run, position, bytes);
    }
    if (run_goes_on(run))
        run_move_to(run, run->now_ns + (int64_t)scale_up(header_bytes, NS_PER_S, run->spec->device.parse_bps));
    run->numbers.parse_ns += run->now_ns - start_ns;
}

/* ---- Loader threads ---- */

/* The first demanded block, or the first of all. */
static block_id take_arrived(struct stages *stages, const uint8_t *role)
{
    uint32_t i = 0;
    while (stages->arrived_demanded > 0 && !(role[stages->arrived[i]] & ROLE_DEMANDED))
        i++;
    const block_id b = stages->arrived[i];
    stages->arrived_demanded -= stages->arrived_demanded > 0;
    stages->arrived_count--;
    for (; i < stages->arrived_count; i++)
        stages->arrived[i] = stages->arrived[i + 1];
    return b;
}

static int64_t begin_stages(struct run_state *run, block_id b)
{
    run->numbers.stage_alloc_ns += run->stages->alloc_ns[b];
    run->numbers.stage_init_ns += run->stages->init_ns[b];
    return run->stages->alloc_ns[b] + run->stages->init_ns[b];
}

/* Gives what has arrived to free threads, the one with the lowest number first. */
static void begin_jobs(struct run_state *run)
{
    struct stages *stages = run->stages;
    for (uint32_t i = 0; i < stages->threads && stages->arrived_count > 0; i++) {
        if (stages->jobs[i].block != BLOCK_NONE)
            continue;
        const block_id b = take_arrived(stages, run->role);
        stages->jobs[i] = (struct stage_job){b, DROP_NONE};
        events_push(&run->events, run->now_ns + begin_stages(run, b), EVENT_CLASS, (uint16_t)(run->command_limit + i));
    }
}

void stages_arrived(struct run_state *run, block_id b)
{
    struct stages *stages = run->stages;
    const bool demanded = (run->role[b] & ROLE_DEMANDED) != 0;
    if (stages->threads == 0) {
        if (!demanded)
            load_arrive(run, b); /* as it was read; else its errand is to come */
        return;
    }
    stages->arrived[stages->arrived_count++] = b;
    stages->arrived_demanded += demanded;
    begin_jobs(run);
}

void stages_event(struct run_state *run, uint16_t slot)
{
    struct stage_job *thread = &run->stages->jobs[slot - run->command_limit];
    const struct stage_job job = *thread;
    *thread = (struct stage_job){BLOCK_NONE, DROP_NONE};
    if (job.drop == DROP_NONE)
        load_arrive(run, job.block);
    else
        room_command_done(run, job.drop);
    begin_jobs(run);
}

struct stage_job *stages_job_of(struct run_state *run, block_id b)
{
    for (uint32_t i = 0; run->stages && i < run->stages->threads; i++) {
        struct stage_job *job = &run->stages->jobs[i];
        if (job->block == b && job->drop == DROP_NONE)
            return job;
    }
    return NULL;
}

/* Where the block is among those that have arrived; their number: it is not. */
static uint32_t arrived_at(const struct stages *stages, block_id b)
{
    uint32_t i = 0;
    while (i < stages->arrived_count && stages->arrived[i] != b)
        i++;
    return i;
}

void stages_promoted(struct run_state *run, block_id b)
{
    if (stages_by_compute(run))
        stages_add_errand(run, b, false);
    else
        run->stages->arrived_demanded += arrived_at(run->stages, b) < run->stages->arrived_count;
}

void stages_forget(struct run_state *run, block_id b)
{
    struct stages *stages = run->stages;
    if (!stages)
        return;
    uint32_t i = arrived_at(stages, b);
    if (i == stages->arrived_count)
        return;
    stages->arrived_count--;
    for (; i < stages->arrived_count; i++)
        stages->arrived[i] = stages->arrived[i + 1];
}

void stages_restart(struct run_state *run)
{
    struct stages *stages = run->stages;
    for (uint32_t i = 0; i < stages->threads; i++)
        stages->jobs[i].drop = stages->jobs[i].block != BLOCK_NONE ? DROP_DEAD : DROP_NONE;
    stages->arrived_count = stages->arrived_demanded = 0;
    stages->errand_count = stages->missed_count = 0;
}

/* ---- Errands of the compute thread ---- */

void stages_add_errand(struct run_state *run, block_id b, bool missed)
{
    struct stages *stages = run->stages;
    must(stages->errand_count <= run->trace->step_uses_max);
    stages->errands[stages->errand_count++] = (struct errand){b, missed};
    stages->missed_count += missed;
}

static void spend(struct run_state *run, int64_t ns)
{
    const int64_t start_ns = run->now_ns;
    if (!run_goes_on(run))
        return;
    loads_advance(run, start_ns + ns);
    run_book_stall(run, start_ns);
}

static void run_errand(struct run_state *run, struct errand errand)
{
    struct stages *stages = run->stages;
    const block_id b = errand.block;
    const int64_t all_ns = begin_stages(run, b);
    if (errand.missed) {
        spend(run, stages->alloc_ns[b]);
        if (!run_goes_on(run))
            return;
        stages->missed_count--;
        load_queue(run, b);
        loads_dispatch(run);
    }
    while (run->loads[b].left_bytes > 0 && run_goes_on(run)) {
        const int64_t start_ns = run->now_ns;
        loads_next_event(run);
        run_book_stall(run, start_ns);
    }
    spend(run, errand.missed ? stages->init_ns[b] : all_ns);
    if (run_goes_on(run) && !(run->host.state[b] & POLICY_RESIDENT))
        load_arrive(run, b);
}

void stages_run_errands(struct run_state *run)
{
    struct stages *stages = run->stages;
    loads_dispatch(run);
    for (uint32_t i = 0; i < stages->errand_count && run_goes_on(run); i++)
        run_errand(run, stages->errands[i]);
    stages->errand_count = 0;
}
