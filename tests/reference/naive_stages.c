/* The naive engine's stages of loading, the file's header, and copies out of the page cache (docs/models.md, sections 4
 * and 6). */
#include "tests/reference/naive_state.h"

enum { NS_PER_S = 1000000000 };

bool naive_has_stages(const struct naive_twin *twin)
{
    return (twin->spec->loader.stages & (STAGE_ALLOC | STAGE_CHECKSUM | STAGE_COPY | STAGE_REPACK)) != 0;
}

bool naive_by_compute(const struct naive_twin *twin)
{
    return naive_has_stages(twin) && twin->spec->loader.loader_threads == 0;
}

static int64_t stage_ns(const struct naive_twin *twin, block_id b, uint32_t stage, uint64_t bps)
{
    uint64_t bytes = twin->spec->model->blocks[b].bytes;
    return twin->spec->loader.stages & stage ? naive_ceil(bytes, NS_PER_S, bps) : 0;
}

static int64_t alloc_ns(const struct naive_twin *twin, block_id b)
{
    return stage_ns(twin, b, STAGE_ALLOC, twin->spec->device.alloc_bps);
}

static int64_t init_ns(const struct naive_twin *twin, block_id b)
{
    const struct device *device = &twin->spec->device;
    return stage_ns(twin, b, STAGE_CHECKSUM, device->checksum_bps) + stage_ns(twin, b, STAGE_COPY, device->copy_bps) +
           stage_ns(twin, b, STAGE_REPACK, device->repack_bps);
}

/* ---- Arrivals ---- */

static void mark(const struct naive_twin *twin, uint64_t percent, int64_t *time_ns)
{
    if (*time_ns < 0 && 100 * twin->loaded_bytes >= percent * twin->spec->model->weights_bytes)
        *time_ns = twin->now_ns;
}

void naive_arrive(struct naive_twin *twin, block_id b)
{
    struct naive_block *block = &twin->blocks[b];
    struct run_numbers *numbers = &twin->result->numbers;
    uint64_t bytes = twin->spec->model->blocks[b].bytes;
    naive_log(twin, "there", b, 0);
    if (block->where == NAIVE_LOADING) {
        block->where = NAIVE_RESIDENT;
        twin->in_flight_bytes -= bytes;
    } else {
        block->done = true;
    }
    if (!block->seen)
        twin->loaded_bytes += bytes;
    block->seen = true;
    mark(twin, 10, &numbers->load_10_ns);
    mark(twin, 50, &numbers->load_50_ns);
    mark(twin, 90, &numbers->load_90_ns);
    mark(twin, 100, &numbers->load_100_ns);
    naive_note(twin);
}

/* ---- Loader threads ---- */

static void count_stages(struct naive_twin *twin, block_id b)
{
    twin->result->numbers.stage_alloc_ns += alloc_ns(twin, b);
    twin->result->numbers.stage_init_ns += init_ns(twin, b);
}

/* The block that has waited longest for a thread: of demanded ones, or without any of all. */
static block_id longest_waiting(const struct naive_twin *twin)
{
    for (int demanded = 1; demanded >= 0; demanded--) {
        block_id first = BLOCK_NONE;
        for (block_id b = 0; b < twin->spec->model->block_count; b++)
            if (twin->blocks[b].arrived && (twin->blocks[b].demanded || !demanded) &&
                (first == BLOCK_NONE || twin->blocks[b].arrived_order < twin->blocks[first].arrived_order))
                first = b;
        if (first != BLOCK_NONE)
            return first;
    }
    return BLOCK_NONE;
}

static void begin_jobs(struct naive_twin *twin)
{
    block_id b;
    while (twin->job_count < twin->spec->loader.loader_threads && (b = longest_waiting(twin)) != BLOCK_NONE) {
        naive_log(twin, "stages", b, (uint64_t)(alloc_ns(twin, b) + init_ns(twin, b)));
        twin->blocks[b].arrived = false;
        twin->jobs[twin->job_count++] = (struct naive_job){
            .done_ns = twin->now_ns + alloc_ns(twin, b) + init_ns(twin, b), .order = twin->next_order++, .block = b};
        count_stages(twin, b);
    }
}

void naive_read_whole(struct naive_twin *twin, block_id b)
{
    if (!naive_has_stages(twin)) {
        naive_arrive(twin, b);
    } else if (twin->spec->loader.loader_threads > 0) {
        twin->blocks[b].arrived = true;
        twin->blocks[b].arrived_order = twin->next_order++;
        begin_jobs(twin);
    } else if (!twin->blocks[b].demanded) {
        naive_arrive(twin, b); /* raw */
    }
}

uint32_t naive_first_job(const struct naive_twin *twin)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < twin->job_count; i++) {
        const struct naive_job *a = &twin->jobs[i];
        if (first == UINT32_MAX || a->done_ns < twin->jobs[first].done_ns ||
            (a->done_ns == twin->jobs[first].done_ns && a->order < twin->jobs[first].order))
            first = i;
    }
    return first;
}

void naive_job_done(struct naive_twin *twin, uint32_t job)
{
    struct naive_job done = twin->jobs[job];
    twin->jobs[job] = twin->jobs[--twin->job_count];
    if (done.drop)
        naive_dropped_done(twin, done.drop, done.drop_room);
    else
        naive_arrive(twin, done.block);
    begin_jobs(twin);
    naive_first_layer(twin);
    naive_plan(twin);
    naive_issue(twin);
}

/* ---- Errands of the compute thread ---- */

void naive_add_errand(struct naive_twin *twin, block_id b, bool missed)
{
    twin->errands[twin->errand_count++] = (struct naive_errand){.block = b, .missed = missed};
}

bool naive_errands_hold(const struct naive_twin *twin)
{
    for (uint32_t i = 0; i < twin->errand_count; i++)
        if (twin->errands[i].missed && !twin->errands[i].begun)
            return true;
    return false;
}

static bool all_moved(const struct naive_block *block)
{
    bool moved = true;
    for (uint32_t r = 0; r < block->read_count; r++)
        moved &= block->reads[r].moved == block->reads[r].bytes;
    return moved;
}

static void run_errand(struct naive_twin *twin, struct naive_errand *errand, enum naive_spending on)
{
    block_id b = errand->block;
    int64_t rest_ns = alloc_ns(twin, b) + init_ns(twin, b);
    naive_log(twin, "errand", b, (uint64_t)rest_ns);
    count_stages(twin, b);
    if (errand->missed) {
        naive_spend(twin, on, alloc_ns(twin, b));
        rest_ns = init_ns(twin, b);
        if (twin->over)
            return;
        errand->begun = true;
        twin->demands[twin->demand_count++] = b;
        naive_issue(twin);
    }
    twin->spending = on;
    while (!twin->over && !all_moved(&twin->blocks[b]))
        naive_next_event(twin);
    if (!twin->over)
        naive_spend(twin, on, rest_ns);
    if (!twin->over && twin->blocks[b].where != NAIVE_RESIDENT)
        naive_arrive(twin, b);
}

void naive_run_errands(struct naive_twin *twin, enum naive_spending on)
{
    naive_issue(twin);
    for (uint32_t i = 0; i < twin->errand_count && !twin->over; i++)
        run_errand(twin, &twin->errands[i], on);
    twin->errand_count = 0;
}

/* ---- The header, and copies ---- */

uint64_t naive_warm_from(const struct naive_twin *twin)
{
    const struct loader *loader = &twin->spec->loader;
    uint64_t file = twin->spec->model->file_bytes;
    if (loader->align_bytes > 1 || loader->warm_ppm == 0)
        return UINT64_MAX;
    return file - file * loader->warm_ppm / 1000000;
}

int64_t naive_copy(struct naive_twin *twin, uint64_t before, uint64_t bytes)
{
    uint64_t bps = twin->spec->device.copy_bps;
    if (twin->copy_free_ns < twin->now_ns)
        twin->copy_free_ns = twin->now_ns;
    twin->copy_free_ns += naive_ceil(before + bytes, NS_PER_S, bps) - naive_ceil(before, NS_PER_S, bps);
    twin->result->numbers.bytes_warm += bytes;
    return twin->copy_free_ns;
}

void naive_header(struct naive_twin *twin)
{
    const struct loader *loader = &twin->spec->loader;
    const struct model *model = twin->spec->model;
    if (!(loader->stages & STAGE_PARSE) || model->file_bytes <= model->weights_bytes)
        return;
    uint64_t header = model->file_bytes - model->weights_bytes, warm = naive_warm_from(twin);
    uint64_t end = (header + loader->align_bytes - 1) / loader->align_bytes * loader->align_bytes;
    while (!twin->over && (twin->command_count > 0 || twin->job_count > 0))
        naive_next_event(twin); /* of the app that was ended */
    if (twin->over)
        return;
    int64_t start = twin->now_ns;
    for (uint64_t at = 0, bytes; at < end; at += bytes) {
        bytes = end - at;
        if (at < warm && at + bytes > warm)
            bytes = warm - at;
        if (loader->read_bytes > 0 && bytes > loader->read_bytes)
            bytes = loader->read_bytes;
        if (at < warm)
            twin->result->numbers.bytes_read += bytes;
        naive_pass_to(twin, at >= warm ? naive_copy(twin, 0, bytes)
                                       : naive_flash_issue(&twin->flash, twin->now_ns, 0, bytes));
    }
    naive_pass_to(twin, twin->now_ns + naive_ceil(header, NS_PER_S, twin->spec->device.parse_bps));
    twin->result->numbers.parse_ns += twin->now_ns - start;
}
