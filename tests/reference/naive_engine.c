/* The naive engine's course: time, steps, tokens and memory (docs/models.md, sections 2 and 5 to 8). */
#include "tests/reference/naive_engine.h"

#include <stdlib.h>

#include "tests/reference/naive_state.h"

__extension__ typedef unsigned __int128 wide;

/* ---- Time ---- */

void naive_pass_to(struct naive_twin *twin, int64_t time_ns)
{
    twin->spent_ns[twin->spending] += time_ns - twin->now_ns;
    twin->now_ns = time_ns;
}

static bool all_there(const struct naive_twin *twin)
{
    for (uint32_t i = 0; i < twin->step_block_count; i++)
        if (!naive_there(twin, twin->step_blocks[i]))
            return false;
    return true;
}

static void plan_block(struct naive_twin *twin, block_id b)
{
    bool fresh = twin->blocks[b].where == NAIVE_ABSENT;
    for (uint32_t k = 0; k < twin->plan_count; k++)
        fresh &= twin->plan[k] != b;
    if (fresh) {
        naive_log(twin, "planned", b, 0);
        twin->plan[twin->plan_count++] = b;
    }
}

void naive_plan(struct naive_twin *twin)
{
    const struct trace *trace = twin->spec->trace;
    if (twin->over || !twin->looked_up || twin->planned || !all_there(twin))
        return;
    twin->planned = true;
    if (twin->choice->prefetch == NAIVE_FETCH_NONE || twin->spec->loader.overlap == OVERLAP_NONE ||
        twin->spec->loader.mode == LOADER_READ)
        return;
    twin->plan_count = 0;
    if (twin->choice->prefetch == NAIVE_FETCH_FOLLOWER) {
        for (uint32_t i = 0; i < twin->step_block_count; i++)
            plan_block(twin, (twin->step_blocks[i] + 1) % trace->block_count);
        return;
    }
    block_id *named = calloc(trace->block_count, sizeof *named);
    must(named != NULL);
    bool foreseen = twin->choice->prefetch == NAIVE_FETCH_NEXT;
    for (uint32_t d = 1; d <= twin->choice->depth && twin->flat_at + d < twin->flat_count; d++) {
        uint32_t count = naive_step_blocks(trace, twin->flat[twin->flat_at + d], foreseen, named);
        for (uint32_t i = 0; i < count; i++)
            plan_block(twin, named[i]);
    }
    free(named);
}

void naive_first_layer(struct naive_twin *twin)
{
    bool layer = false;
    for (uint32_t i = 0; i < twin->step_block_count; i++) {
        enum block_kind kind = twin->spec->model->blocks[twin->step_blocks[i]].kind;
        layer |= kind == BLOCK_LAYER || kind == BLOCK_EXPERT;
    }
    if (layer && twin->looked_up && !twin->over && twin->result->numbers.first_layer_ns < 0 && all_there(twin))
        twin->result->numbers.first_layer_ns = twin->now_ns;
}

void naive_next_event(struct naive_twin *twin)
{
    uint32_t command = naive_first_command(twin), job = naive_first_job(twin);
    must(command != UINT32_MAX || job != UINT32_MAX);
    if (job == UINT32_MAX || (command != UINT32_MAX && twin->commands[command].done_ns <= twin->jobs[job].done_ns)) {
        naive_pass_to(twin, twin->commands[command].done_ns);
        naive_complete(twin, command);
    } else {
        naive_pass_to(twin, twin->jobs[job].done_ns);
        naive_job_done(twin, job);
    }
}

bool naive_event_due(const struct naive_twin *twin, int64_t time_ns)
{
    uint32_t command = naive_first_command(twin), job = naive_first_job(twin);
    return !twin->over && ((command != UINT32_MAX && twin->commands[command].done_ns <= time_ns) ||
                           (job != UINT32_MAX && twin->jobs[job].done_ns <= time_ns));
}

/* Handles all that is done at the time of the first completion. */
static void next_moment(struct naive_twin *twin)
{
    naive_next_event(twin);
    while (naive_event_due(twin, twin->now_ns))
        naive_next_event(twin);
}

void naive_spend(struct naive_twin *twin, enum naive_spending on, int64_t duration_ns)
{
    int64_t until = twin->now_ns + duration_ns;
    twin->spending = on;
    while (naive_event_due(twin, until))
        naive_next_event(twin);
    if (!twin->over)
        naive_pass_to(twin, until);
}

/* ---- A step ---- */

static int64_t compute_ns(const struct naive_twin *twin, uint32_t step, uint64_t context)
{
    const struct trace *trace = twin->spec->trace;
    const struct device *device = &twin->spec->device;
    if (trace->work_count == 0)
        return 0;
    const struct work *work = &trace->works[trace->step_work ? trace->step_work[step] : 0];
    if (work->fixed_ns >= 0)
        return work->fixed_ns;
    if (context > work->context_max)
        context = work->context_max;
    wide tick = (wide)1000000000 << 20, flops = 0, memory = 0;
    uint64_t rest = work->bytes;
    for (uint32_t i = 0; i < work->term_count; i++) {
        const struct work_term *term = &trace->terms[work->first_term + i];
        flops += tick * term->flops / device->flops_rate[term->type];
        flops += context * (tick * term->flops_per_context / device->flops_rate[term->type]);
        uint64_t rate = device->memory_rate[term->type] > 0 ? device->memory_rate[term->type] : device->memory_bps;
        if (rate == device->memory_bps)
            rest += term->bytes;
        else
            memory += tick * term->bytes / rate;
    }
    memory += tick * rest / device->memory_bps + context * (tick * work->bytes_per_context / device->memory_bps);
    return (int64_t)((flops > memory ? flops : memory) >> 20);
}

/* Makes room for a demanded block; false: there is none, and it is streamed. */
static bool make_room(struct naive_twin *twin, block_id b)
{
    uint64_t bytes = twin->spec->model->blocks[b].bytes;
    if (bytes > twin->budget - twin->pinned || !naive_order_admits(&twin->order, b))
        return false;
    if (twin->spec->loader.evict_when == EVICT_AFTER_STEP)
        return true;
    while (twin->held + bytes > twin->budget) {
        if (naive_evict(twin, false))
            continue;
        if (!naive_drop(twin, bytes))
            return false;
        if (twin->held + bytes <= twin->budget)
            break;
        if (!twin->waits_for_room) {
            naive_log(twin, "waits for room", b, 0);
            twin->waits_for_room = true;
            naive_issue(twin);
        }
        twin->spending = SPEND_STALL;
        naive_next_event(twin);
        if (twin->over)
            return false;
    }
    return true;
}

/* A pinned block is no policy's. */
static void tell_hit(struct naive_twin *twin, block_id b)
{
    if (twin->blocks[b].pinned || twin->spec->loader.mode == LOADER_READ)
        return;
    naive_order_hit(&twin->order, b);
    naive_release(twin);
}

static void access_block(struct naive_twin *twin, block_id b, struct token_numbers *token)
{
    struct run_numbers *numbers = &twin->result->numbers;
    struct naive_block *block = &twin->blocks[b];
    uint64_t bytes = twin->spec->model->blocks[b].bytes;
    numbers->accesses++;
    naive_order_access(&twin->order);
    token->accesses++;
    twin->result->blocks[b].accesses++;
    numbers->bytes_accessed += bytes;
    token->bytes_accessed += bytes;
    bool raw = block->unused && block->where == NAIVE_RESIDENT && naive_by_compute(twin);
    if (block->unused && block->where == NAIVE_RESIDENT)
        numbers->bytes_prefetch_useful += block->read_of_load;
    if (block->unused && block->where == NAIVE_LOADING)
        numbers->bytes_prefetch_late += block->read_of_load;
    block->unused = false;
    if (block->where == NAIVE_RESIDENT) {
        naive_log(twin, "hit", b, 0);
        numbers->hits++;
        token->hits++;
        twin->result->blocks[b].hits++;
        numbers->bytes_hit += bytes;
        tell_hit(twin, b);
        if (raw)
            naive_add_errand(twin, b, false);
    } else if (block->where == NAIVE_LOADING && !block->waits) {
        naive_log(twin, "delayed hit", b, 0);
        numbers->delayed_hits++;
        naive_promote(twin, b);
        tell_hit(twin, b);
    } else if (block->waits || twin->spec->loader.mode == LOADER_READ) {
        naive_log(twin, "miss, for good", b, 0);
        numbers->misses++;
        if (!block->waits)
            naive_reserve(twin, b);
        if (!twin->over)
            naive_demand(twin, b);
    } else {
        naive_log(twin, "miss", b, 0);
        numbers->misses++;
        naive_release(twin);
        bool room = make_room(twin, b);
        twin->waits_for_room = false;
        if (room) {
            naive_reserve(twin, b);
            if (twin->over)
                return;
            naive_order_insert(&twin->order, b);
        } else if (!twin->over) {
            naive_log(twin, "streams", b, 0);
            numbers->uncacheable++;
            block->streamed = true;
            naive_memory(twin, MEMORY_STREAMED,
                         twin->class_bytes[MEMORY_STREAMED] + twin->spec->model->blocks[b].bytes);
            if (twin->over)
                return;
        } else {
            return;
        }
        naive_demand(twin, b);
        if (room)
            naive_release(twin);
    }
}

static void compute_by_blocks(struct naive_twin *twin, int64_t duration_ns)
{
    const struct model *model = twin->spec->model;
    uint32_t count = twin->step_block_count;
    bool *computed = calloc(count + 1, sizeof *computed);
    must(computed != NULL);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += model->blocks[twin->step_blocks[i]].bytes;
    for (uint32_t left = count; left > 0 && !twin->over;) {
        uint32_t next = 0;
        uint64_t before = 0;
        for (; next < count; next++) {
            if (!computed[next] && naive_there(twin, twin->step_blocks[next]))
                break;
            before += model->blocks[twin->step_blocks[next]].bytes;
        }
        if (next == count) {
            twin->spending = SPEND_STALL;
            next_moment(twin);
            continue;
        }
        uint64_t after = before + model->blocks[twin->step_blocks[next]].bytes;
        naive_log(twin, "compute", twin->step_blocks[next], 0);
        naive_spend(twin, SPEND_COMPUTE,
                    (int64_t)((wide)duration_ns * after / sum) - (int64_t)((wide)duration_ns * before / sum));
        computed[next] = true;
        left--;
    }
    free(computed);
}

static void end_step(struct naive_twin *twin)
{
    naive_memory(twin, MEMORY_STREAMED, 0);
    if (twin->spec->loader.evict_when == EVICT_AFTER_STEP && twin->spec->loader.mode == LOADER_CHUNKED)
        while (twin->held > twin->budget && naive_evict(twin, false))
            ;
    for (uint32_t i = 0; i < twin->step_block_count; i++) {
        struct naive_block *block = &twin->blocks[twin->step_blocks[i]];
        block->in_use = false;
        block->streamed = false;
    }
    twin->looked_up = false;
    naive_note(twin);
}

static void run_step(struct naive_twin *twin, uint32_t step, uint64_t context, struct token_numbers *token)
{
    const struct trace *trace = twin->spec->trace;
    int64_t duration = compute_ns(twin, step, context);
    if (naive_is_hot(&twin->spec->device.heat, &twin->pauses, twin->now_ns))
        duration = naive_ceil((uint64_t)duration, 1000000, twin->spec->device.heat.factor_ppm);
    naive_log(twin, "step", BLOCK_NONE, step);
    twin->step_block_count = naive_step_blocks(trace, step, false, twin->step_blocks);
    twin->looked_up = twin->planned = false;
    naive_delay_step(twin);
    for (uint32_t i = 0; i < twin->step_block_count; i++)
        twin->blocks[twin->step_blocks[i]].in_use = true;

    uint32_t begin = trace->step_first ? trace->step_first[step] : step;
    uint32_t end = trace->step_first ? trace->step_first[step + 1] : step + 1;
    for (uint32_t u = begin; u < end && !twin->over; u++) {
        block_id b = trace->uses[u] & USE_BLOCK;
        bool again = false;
        for (uint32_t v = begin; v < u; v++)
            again |= (trace->uses[v] & USE_BLOCK) == b;
        if (!again)
            access_block(twin, b, token);
        else if (!twin->blocks[b].streamed)
            tell_hit(twin, b);
    }
    if (naive_by_compute(twin) && !twin->over)
        naive_run_errands(twin, SPEND_STALL);
    twin->looked_up = true;
    naive_first_layer(twin);
    naive_delay_looked_up(twin);
    naive_plan(twin);
    naive_issue(twin);
    if (twin->spec->loader.overlap == OVERLAP_BLOCKS) {
        compute_by_blocks(twin, duration);
    } else {
        twin->spending = SPEND_STALL;
        while (!twin->over && !all_there(twin))
            next_moment(twin);
        if (!twin->over)
            naive_spend(twin, SPEND_COMPUTE, duration);
    }
    if (!twin->over)
        end_step(twin);
}

/* ---- The run ---- */

static void run_token(struct naive_twin *twin, const struct segment *segment, uint32_t repetition)
{
    uint64_t context = segment->context_first + (uint64_t)repetition * segment->context_growth;
    int64_t begin = twin->now_ns, stalled = twin->spent_ns[SPEND_STALL];
    struct token_numbers token = {.token = segment->token + repetition,
                                  .phase = segment->phase,
                                  .turn = segment->turn,
                                  .hot = naive_is_hot(&twin->spec->device.heat, &twin->pauses, begin)};
    naive_log(twin, "token", BLOCK_NONE, token.token);
    if (repetition == 0)
        naive_memory(twin, MEMORY_ACTIVATION, segment->activation_bytes);
    if (!twin->over)
        naive_memory(twin, MEMORY_KV, naive_caches(twin->spec->trace, segment, context + segment->context_growth));
    uint64_t kept = 0;
    for (uint32_t i = 0; i < segment->step_count && !twin->over; i++) {
        kept += twin->spec->loader.keep_activations ? segment->activation_bytes : 0;
        if (kept > segment->activation_bytes)
            naive_memory(twin, MEMORY_ACTIVATION, kept);
        if (!twin->over)
            run_step(twin, segment->first_step + i, context, &token);
        twin->flat_at++;
    }
    if (kept > 0 && !twin->over)
        naive_memory(twin, MEMORY_ACTIVATION, segment->activation_bytes);
    token.latency_ns = twin->now_ns - begin;
    token.stall_ns = twin->spent_ns[SPEND_STALL] - stalled;
    token.bytes_read = twin->result->numbers.bytes_read - twin->read_before;
    twin->read_before = twin->result->numbers.bytes_read;
    twin->cut = twin->over;
    naive_token_rows(twin, segment, token);
}

static void begin(struct naive_twin *twin)
{
    const struct model *model = twin->spec->model;
    const struct trace *trace = twin->spec->trace;
    uint32_t n = model->block_count;
    uint64_t tokens = 0;
    for (uint32_t s = 0; s < trace->segment_count; s++)
        tokens += trace->segments[s].repeat * (1 + (uint64_t)trace->segments[s].accepted);
    twin->blocks = calloc(n, sizeof *twin->blocks);
    twin->commands = calloc(FLASH_QUEUE_MAX, sizeof *twin->commands);
    twin->demands = calloc(2 * (size_t)n, sizeof *twin->demands);
    twin->plan = calloc(n, sizeof *twin->plan);
    twin->step_blocks = calloc(n, sizeof *twin->step_blocks);
    twin->errands = calloc(n, sizeof *twin->errands);
    twin->rest = calloc(n, sizeof *twin->rest);
    must(twin->blocks && twin->commands && twin->demands && twin->plan && twin->step_blocks && twin->errands &&
         twin->rest);
    naive_order_start(&twin->order, twin->choice, model, trace);
    struct flash_spec flash = twin->spec->device.flash;
    flash.setup_ns += twin->spec->device.fs_read_ns;
    naive_flash_start(&twin->flash, &flash);
    twin->flash.mode = twin->spec->device.heat.mode;
    twin->flash.cool_ppm = twin->spec->device.heat.cool_ppm;
    twin->flash.pauses = &twin->pauses;
    naive_cut(twin);
    twin->flat = naive_flatten(trace, &twin->flat_count);
    *twin->result = (struct run_result){.tokens = arena_alloc(twin->arena, tokens + 1, sizeof *twin->result->tokens),
                                        .samples = arena_alloc(twin->arena, SAMPLES_MAX, sizeof *twin->result->samples),
                                        .blocks = arena_alloc(twin->arena, n, sizeof *twin->result->blocks),
                                        .turns = arena_alloc(twin->arena, trace->segment_count, sizeof *twin->turns),
                                        .numbers = {.killed_by = "",
                                                    .killed_phase = "",
                                                    .ttft_ns = -1,
                                                    .load_10_ns = -1,
                                                    .load_50_ns = -1,
                                                    .load_90_ns = -1,
                                                    .load_100_ns = -1,
                                                    .first_layer_ns = -1,
                                                    .tpot_mean_ns = -1,
                                                    .tpot_p50_ns = -1,
                                                    .tpot_p95_ns = -1,
                                                    .tpot_p99_ns = -1,
                                                    .turn_ttft_mean_ns = -1,
                                                    .turn_ttft_max_ns = -1}};
    twin->turns = (struct turn_numbers *)twin->result->turns;
    must(twin->turns && twin->result->tokens && twin->result->samples && twin->result->blocks);
}

static void end(struct naive_twin *twin)
{
    struct run_numbers *numbers = &twin->result->numbers;
    for (block_id b = 0; b < twin->spec->model->block_count; b++) {
        if (twin->blocks[b].unused)
            numbers->bytes_prefetch_wasted += twin->blocks[b].read_of_load;
        free(twin->blocks[b].reads);
    }
    numbers->load_ns = twin->spent_ns[SPEND_LOAD];
    numbers->compute_ns = twin->spent_ns[SPEND_COMPUTE];
    numbers->stall_ns = twin->spent_ns[SPEND_STALL];
    numbers->idle_ns = twin->spent_ns[SPEND_IDLE];
    numbers->virtual_time_ns = twin->now_ns;
    numbers->flash_busy_ns = naive_flash_busy(&twin->flash, twin->now_ns);
    const struct heat_spec *heat = &twin->spec->device.heat;
    naive_hot_times(heat, &twin->pauses, twin->now_ns, &numbers->hot_at_ns, &numbers->hot_ns);
    naive_token_times(heat, twin->result);
    naive_turn_times(twin);
    twin->result->token_count += twin->cut;
    naive_note(twin);
    naive_sample(twin);
    free(twin->blocks);
    free(twin->commands);
    free(twin->demands);
    free(twin->plan);
    free(twin->step_blocks);
    free(twin->errands);
    free(twin->rest);
    free(twin->flat);
    free(twin->history);
    naive_order_free(&twin->order);
    naive_flash_free(&twin->flash);
    naive_pauses_free(&twin->pauses);
}

void naive_run(const struct run_spec *spec, const struct naive_choice *choice, struct arena *arena, FILE *log,
               struct naive_delays *delays, struct run_result *result)
{
    struct naive_shadow shadow = {.follows = false, .lone = BLOCK_NONE};
    struct naive_twin twin = {.spec = spec,
                              .choice = choice,
                              .arena = arena,
                              .log = log,
                              .delays = delays,
                              .shadow = &shadow,
                              .result = result};
    twin.budget = spec->loader.mode == LOADER_CHUNKED ? spec->loader.budget_bytes : UINT64_MAX;
    twin.phase = PHASE_LOAD;
    begin(&twin);
    naive_memory(&twin, MEMORY_OS, spec->device.os_reserve_bytes);
    naive_memory(&twin, MEMORY_OTHER_APPS, spec->device.other_apps_bytes);
    naive_memory(&twin, MEMORY_RUNTIME, spec->device.runtime_bytes);
    if (twin.over) {
        result->numbers.outcome = OUTCOME_REJECTED;
        result->numbers.killed_phase = "";
    } else {
        naive_launch(&twin);
    }
    twin.read_before = result->numbers.bytes_read;
    for (uint32_t s = 0; s < spec->trace->segment_count && !twin.over; s++) {
        const struct segment *segment = &spec->trace->segments[s];
        if (s == 0 ? segment->turn > 0 : segment->turn != segment[-1].turn)
            naive_turn(&twin, segment->turn);
        twin.phase = PHASE_IDLE;
        naive_pause(&twin.pauses, twin.now_ns);
        naive_spend(&twin, SPEND_IDLE, segment->idle_ns);
        naive_resume(&twin.pauses, twin.now_ns);
        naive_pause_over(&twin, segment);
        twin.phase = twin.over ? twin.phase : segment->phase;
        for (uint32_t r = 0; segment->step_count > 0 && r < segment->repeat && !twin.over; r++)
            run_token(&twin, segment, r);
    }
    end(&twin);
}
