/* The two ends of a run: checks and layout before its clock starts, sums and percentiles after its end. */
#include "sim/ends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/wide.h"
#include "sim/launch.h"
#include "sim/mapped.h"
#include "sim/placing.h"
#include "sim/stages.h"
#include "sim/warm.h"

enum { NS_PER_S = 1000000000, ALIGN_MAX = 1 << 20 };
static const uint64_t PIB = UINT64_C(1) << 50;

static bool check_spec(const struct run_spec *spec, struct error *err)
{
    const struct loader *loader = &spec->loader;
    const struct flash_spec *flash = &spec->device.flash;
    if (loader->mode == LOADER_CHUNKED && !spec->evict.policy)
        return fail(err, STATUS_USAGE, "the chunked loader needs an eviction policy");
    if (loader->mode == LOADER_CHUNKED && loader->budget_bytes == 0)
        return fail(err, STATUS_USAGE, "the budget is 0");
    if (loader->lanes < 1 || loader->lanes > FLASH_QUEUE_MAX || loader->prefetch_lanes > loader->lanes)
        return fail(err, STATUS_USAGE, "%u lanes, %u of them for prefetches: expected 1 to %d lanes", loader->lanes,
                    loader->prefetch_lanes, FLASH_QUEUE_MAX);
    if (loader->mode == LOADER_MMAP && (loader->processes < 1 || loader->processes > PAGE_PROCESSES_MAX))
        return fail(err, STATUS_USAGE, "%u processes map the file: expected 1 to %d", loader->processes,
                    PAGE_PROCESSES_MAX);
    if (loader->stages > STAGES_ALL || loader->loader_threads > LOADER_THREADS_MAX || loader->warm_ppm > 1000000)
        return fail(err, STATUS_USAGE, "the way of loading is out of range");
    for (uint32_t i = 0; i < loader->preload_count; i++) {
        if (loader->preload_blocks[i] >= spec->model->block_count)
            return fail(err, STATUS_USAGE, "block %u is to be preloaded, of %u", loader->preload_blocks[i],
                        spec->model->block_count);
    }
    uint64_t align = loader->align_bytes;
    if (align < 1 || align > ALIGN_MAX || (align & (align - 1)) != 0)
        return fail(err, STATUS_USAGE, "alignment of %llu bytes: expected a power of two up to 1MiB",
                    (unsigned long long)align);
    if (flash->stream_bps == 0 || flash->max_bps < flash->stream_bps || flash->command_bytes == 0 ||
        flash->queue_depth < 1 || flash->queue_depth > FLASH_QUEUE_MAX || flash->setup_ns < 0 ||
        flash->setup_ns > (INT64_C(1) << 50) || spec->device.fs_read_ns < 0 ||
        spec->device.fs_read_ns > (INT64_C(1) << 50) || flash->hot_after_ns < 0 || flash->hot_factor_ppm > 1000000)
        return fail(err, STATUS_USAGE, "the flash device is not complete");
    if (spec->device.heat.hot_after_ns < 0 || spec->device.heat.factor_ppm > 1000000)
        return fail(err, STATUS_USAGE, "the device's heat is not complete");
    if (spec->trace->block_count != spec->model->block_count)
        return fail(err, STATUS_USAGE, "the trace was compiled for another model");
    return true;
}

/* The whole clock is checked as it goes; here, that no single load or read can run past its end: all weights at the
 * slowest rate that the device may fall to take less than 2^59 ns. */
static bool check_load_times(const struct run_spec *spec, const uint64_t *load_bytes, struct error *err)
{
    uint64_t bytes = 0, slowest = flash_slowest_bps(&spec->device.flash);
    for (uint32_t b = 0; b < spec->model->block_count; b++) {
        if (!add(bytes, load_bytes[b], &bytes))
            return fail(err, STATUS_USAGE, "the weights have more than 2^64 bytes");
    }
    if ((wide)bytes * NS_PER_S / slowest >= (wide)1 << 59)
        return fail(err, STATUS_USAGE, "reading all weights once takes over 18 years at %llu B/s",
                    (unsigned long long)slowest);
    return true;
}

static bool too_long(const char *what, struct error *err)
{
    return fail(err, STATUS_USAGE, "a step computes for over an hour (%s)", what);
}

/* Adds x / rate in units of 2^-20 ns; the sum stays below 2^62. `what` names the rate. */
static bool add_cost(uint64_t x, uint64_t rate, const char *what, int64_t *sum, struct error *err)
{
    if (x == 0)
        return true;
    if (rate == 0)
        return fail(err, STATUS_USAGE, "the device has no rate for %s", what);
    wide cost = (wide)*sum + ((wide)x * NS_PER_S << COST_FRACTION_BITS) / rate;
    if (cost >= (wide)1 << 62)
        return too_long(what, err);
    *sum = (int64_t)cost;
    return true;
}

static bool work_cost(const struct trace *trace, const struct work *work, const struct device *device, uint64_t context,
                      struct cost *cost, struct error *err)
{
    *cost = (struct cost){.context_max = work->context_max};
    context = context < work->context_max ? context : work->context_max;
    if (work->fixed_ns >= 0) {
        if (work->fixed_ns >= INT64_C(1) << (62 - COST_FRACTION_BITS))
            return too_long("a measured time", err);
        cost->a = (int64_t)((uint64_t)work->fixed_ns << COST_FRACTION_BITS);
        return true;
    }
    uint64_t common_bytes = work->bytes; /* at most 2^63, with those of all terms */
    for (uint32_t i = 0; i < work->term_count; i++) {
        const struct work_term *term = &trace->terms[work->first_term + i];
        const char *type = tensor_types[term->type].name;
        uint64_t rate = device->flops_rate[term->type], memory = device->memory_rate[term->type];
        if (!add_cost(term->flops, rate, type, &cost->a, err) ||
            !add_cost(term->flops_per_context, rate, type, &cost->b, err))
            return false;
        /* One quotient for all bytes of one rate: a type's own rate that is the common one changes nothing. */
        if (memory == 0 || memory == device->memory_bps)
            common_bytes += term->bytes;
        else if (!add_cost(term->bytes, memory, "memory", &cost->m, err))
            return false;
    }
    if (!add_cost(common_bytes, device->memory_bps, "memory", &cost->m, err) ||
        !add_cost(work->bytes_per_context, device->memory_bps, "memory", &cost->n, err))
        return false;
    if ((wide)cost->a + (wide)cost->b * context >= (wide)1 << 62 ||
        (wide)cost->m + (wide)cost->n * context >= (wide)1 << 62)
        return too_long("its context", err);
    return true;
}

static bool too_large(const char *what, struct error *err)
{
    return fail(err, STATUS_USAGE, "%s over 1 PiB", what);
}

/* What the ledger will add up. */
static bool check_memory(const struct run_spec *spec, uint32_t processes, struct error *err)
{
    const struct device *device = &spec->device;
    const uint64_t each[] = {device->ram_bytes, device->os_reserve_bytes, device->other_apps_bytes,
                             device->runtime_bytes};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        if (each[i] > PIB)
            return too_large("the device has a memory", err);
    }
    for (uint32_t s = 0; s < spec->trace->segment_count; s++) {
        if (spec->trace->segments[s].activation_bytes > PIB / processes)
            return too_large("the activations are", err);
    }
    return true;
}

static bool init_costs(struct run_state *run, struct arena *arena)
{
    const struct trace *trace = run->trace;
    uint64_t kv_bytes, context_max;
    if (!trace_kv_most(trace, &kv_bytes, &context_max) || kv_bytes > PIB)
        return fail(run->err, STATUS_USAGE, "the KV cache of %llu tokens is over 1 PiB",
                    (unsigned long long)context_max);
    run->costs = arena_alloc(arena, trace->work_count, sizeof *run->costs);
    if (!run->costs)
        return fail(run->err, STATUS_IO, "out of memory");
    for (uint32_t w = 0; w < trace->work_count; w++) {
        if (!work_cost(trace, &trace->works[w], &run->spec->device, context_max, &run->costs[w], run->err))
            return false;
    }
    return true;
}

static bool init_arrays(struct run_state *run, struct arena *arena)
{
    const struct trace *trace = run->trace;
    run->computed = arena_alloc(arena, trace->step_uses_max, sizeof *run->computed);
    run->bytes_before = arena_alloc(arena, trace->step_uses_max + UINT64_C(1), sizeof *run->bytes_before);
    run->blocks = arena_alloc(arena, run->model->block_count, sizeof *run->blocks);
    run->tokens = arena_alloc(arena, trace->token_count, sizeof *run->tokens);
    run->latencies = arena_alloc(arena, trace->token_count, sizeof *run->latencies);
    const uint32_t turns = trace->turn_count < trace->segment_count ? trace->turn_count : trace->segment_count;
    run->turns = arena_alloc(arena, turns, sizeof *run->turns);
    if (!run->computed || !run->bytes_before || !run->blocks || !run->tokens || !run->latencies || !run->turns ||
        !sampler_init(&run->sampler, arena))
        return fail(run->err, STATUS_IO, "out of memory");
    return true;
}

static bool init_host(struct run_state *run, struct arena *arena)
{
    const struct run_spec *spec = run->spec;
    bool chunked = spec->loader.mode == LOADER_CHUNKED;
    struct host_spec host = {
        .model = spec->model,
        .blocks = spec->model->policy_blocks,
        .trace = spec->trace,
        .budget_bytes = chunked ? spec->loader.budget_bytes : UINT64_MAX,
        .step_bytes_max = spec->trace->step_bytes_max,
        .seed = spec->seed,
        .profile = spec->profile,
        .future = spec->future,
    };
    if (spec->loader.mode != LOADER_READ)
        host.pin = spec->pin;
    if (chunked) {
        host.evict = spec->evict;
        host.prefetch = spec->prefetch;
        host.admit = spec->admit;
    }
    if (!host_init(&run->host, &host, arena, run->err))
        return false;
    _Static_assert(sizeof run->numbers.note == REMARK_TEXT, "a run's note is the policy's remark");
    host_remark(&run->host, run->numbers.note);
    return true;
}

/* Nothing but this app's own threshold can end it or take memory from it. */
static bool is_plain(const struct run_spec *spec)
{
    return spec->loader.mode != LOADER_MMAP && pressure_is_plain(&spec->device.pressure);
}

/* The phone as it is when the app starts, and the app's own first memory. */
static bool init_memory(struct run_state *run, struct arena *arena)
{
    const struct device *device = &run->spec->device;
    run->ledger.ram_bytes = device->ram_bytes;
    run->kill_above_bytes = device->pressure.rule == KILL_THRESHOLD ? device->pressure.threshold_bytes : UINT64_MAX;
    if (is_plain(run->spec)) {
        ledger_add(&run->ledger, MEMORY_OS, device->os_reserve_bytes);
        ledger_add(&run->ledger, MEMORY_OTHER_APPS, device->other_apps_bytes);
    } else if (!check_memory(run->spec, run->processes, run->err) ||
               !pressure_init(&run->pressure, &device->pressure, &run->ledger, device->os_reserve_bytes,
                              device->other_apps_bytes, arena, run->err)) {
        return false;
    } else if (pressure_next_ns(run->pressure) <= run->attention_ns) {
        run->attention_ns = pressure_next_ns(run->pressure) - 1;
    }
    /* Once the file is there its rules hold for all memory, the runtime too. */
    if (run->spec->loader.mode == LOADER_MMAP && !mapped_init(run, arena))
        return false;
    run_grow(run, MEMORY_RUNTIME, run->processes * device->runtime_bytes);
    return true;
}

/* Where the uses of the first step that names a layer's block begin; UINT32_MAX: none does. */
static uint32_t find_layer_use(const struct run_state *run)
{
    const struct trace *trace = run->trace;
    for (uint32_t step = 0; step < trace->step_count; step++) {
        for (uint32_t i = trace_step_begin(trace, step); i < trace_step_begin(trace, step + 1); i++) {
            const uint32_t kind = run->model->policy_blocks[trace->uses[i] & USE_BLOCK].kind;
            if (kind == BLOCK_LAYER || kind == BLOCK_EXPERT)
                return trace_step_begin(trace, step);
        }
    }
    return UINT32_MAX;
}

bool run_init(struct run_state *run, const struct run_spec *spec, struct arena *arena)
{
    run->spec = spec;
    run->model = spec->model;
    run->trace = spec->trace;
    run->phase = PHASE_LOAD;
    run->processes = spec->loader.mode == LOADER_MMAP ? spec->loader.processes : 1;
    run->first_token_ns = -1;
    run->numbers.killed_by = "";
    run->numbers.killed_phase = "";
    run->numbers.ttft_ns = -1;
    run->numbers.least_hole_bytes = -1;
    run->numbers.load_10_ns = run->numbers.load_50_ns = run->numbers.load_90_ns = run->numbers.load_100_ns = -1;
    run->numbers.first_layer_ns = run->numbers.hot_at_ns = -1;
    run->numbers.turn_ttft_mean_ns = run->numbers.turn_ttft_max_ns = -1;
    if (!check_spec(spec, run->err))
        return false;
    if (!init_host(run, arena))
        return false;
    run->layer_use = find_layer_use(run);
    run_set_load_marks(run, run->model->weights_bytes);
    if (!init_arrays(run, arena) || !init_costs(run, arena) || !loads_init(run, arena) ||
        !check_load_times(spec, run->load_bytes, run->err) || !warm_init(run) || !stages_init(run, arena) ||
        !launch_init(run, arena) || !plan_init(run, arena) || !placing_init(run, arena))
        return false;
    heat_init(&run->heat, &spec->device.heat);
    flash_set_heat(&run->flash, spec->device.heat.mode, spec->device.heat.cool_ppm);
    return init_memory(run, arena);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Nearest rank. */
static int64_t percentile(const int64_t *sorted, uint64_t count, uint64_t percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

static void finish_tpot(struct run_state *run)
{
    struct run_numbers *numbers = &run->numbers;
    uint64_t n = numbers->tpot_count;
    if (n == 0) {
        numbers->tpot_mean_ns = numbers->tpot_p50_ns = numbers->tpot_p95_ns = numbers->tpot_p99_ns = -1;
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        numbers->tpot_total_ns += run->latencies[i];
    numbers->tpot_mean_ns = numbers->tpot_total_ns / (int64_t)n;
    qsort(run->latencies, n, sizeof *run->latencies, by_value);
    numbers->tpot_p50_ns = percentile(run->latencies, n, 50);
    numbers->tpot_p95_ns = percentile(run->latencies, n, 95);
    numbers->tpot_p99_ns = percentile(run->latencies, n, 99);
}

/* "mail(900) at 1.200 s by lmkd; ...": as many as there is room for. */
static void tell_kills(struct run_numbers *numbers, const struct pressure_spec *spec, const struct app_kill *kills,
                       uint32_t count)
{
    static const char more[] = "...";
    const int64_t ms = 1000000;
    size_t used = 0, size = sizeof numbers->kills;
    for (uint32_t i = 0; i < count; i++) {
        const struct app_spec *app = &spec->apps[kills[i].app];
        int64_t at_ms = kills[i].time_ns / ms;
        char one[128];
        int length = snprintf(one, sizeof one, "%s%s(%d) at %lld.%03lld s by %s", i > 0 ? "; " : "", app->name,
                              app->adj, (long long)(at_ms / 1000), (long long)(at_ms % 1000), kills[i].rule);
        bool last = i + 1 == count;
        if (used + (size_t)length + (last ? 1 : 2 + sizeof more) > size) {
            snprintf(numbers->kills + used, size - used, "%s%s", i > 0 ? "; " : "", more);
            return;
        }
        memcpy(numbers->kills + used, one, (size_t)length + 1);
        used += (size_t)length;
    }
}

static void finish_memory(struct run_state *run, struct run_result *result)
{
    struct run_numbers *numbers = &run->numbers;
    const struct ledger *ledger = &run->ledger;
    numbers->peak_memory_bytes = ledger->app_peak_bytes;
    numbers->peak_weights_bytes = ledger->peak_bytes[MEMORY_WEIGHTS];
    numbers->peak_kv_bytes = ledger->peak_bytes[MEMORY_KV];
    numbers->peak_activation_bytes = ledger->peak_bytes[MEMORY_ACTIVATION];
    numbers->peak_file_bytes = ledger->peak_bytes[MEMORY_FILE];
    numbers->peak_page_tables_bytes = ledger->peak_bytes[MEMORY_PAGE_TABLES];
    numbers->peak_zram_bytes = ledger->peak_bytes[MEMORY_ZRAM];
    numbers->peak_resident_bytes = numbers->peak_footprint_bytes = ledger->app_peak_bytes;
    if (run->placing)
        placing_numbers(run, numbers);
    if (!run->pressure)
        return;
    const struct pressure_numbers pressure = pressure_numbers(run->pressure);
    numbers->peak_resident_bytes = pressure.resident_peak_bytes;
    numbers->peak_footprint_bytes = pressure.footprint_peak_bytes;
    numbers->bytes_swapped_out = pressure.swapped_out_bytes;
    numbers->bytes_swapped_in = pressure.swapped_in_bytes;
    result->kills = pressure_kills(run->pressure, &result->kill_count);
    numbers->apps_killed = result->kill_count;
    tell_kills(numbers, &run->spec->device.pressure, result->kills, result->kill_count);
}

void run_finish(struct run_state *run, struct run_result *result)
{
    struct run_numbers *numbers = &run->numbers;
    if (run->mapped) {
        mapped_settle(run, run->now_ns);
        mapped_numbers(run, numbers);
    }
    numbers->virtual_time_ns = run->now_ns;
    heat_numbers(&run->heat, run->now_ns, &numbers->hot_at_ns, &numbers->hot_ns);
    must(numbers->virtual_time_ns == numbers->load_ns + numbers->compute_ns + numbers->stall_ns + numbers->idle_ns);
    numbers->accesses = run->host.access_count;
    must(numbers->accesses == numbers->hits + numbers->delayed_hits + numbers->misses);
    numbers->evictions = run->host.evictions;
    numbers->flash_busy_ns =
        run->flash.busy_ns + (run->flash.in_flight > 0 ? run->now_ns - run->flash.busy_since_ns : 0);
    for (uint32_t b = 0; b < run->model->block_count; b++) {
        if (run->host.state[b] & POLICY_PREFETCHED)
            numbers->bytes_prefetch_wasted += run->loads[b].issued_bytes;
    }
    must(numbers->bytes_prefetched ==
         numbers->bytes_prefetch_useful + numbers->bytes_prefetch_late + numbers->bytes_prefetch_wasted);
    *result = (struct run_result){0};
    finish_memory(run, result);
    finish_tpot(run);

    struct sample_numbers last = run_state_at(run, run->now_ns);
    if (run->sampler.next_ns < run->now_ns)
        run_sample(run, run->now_ns);
    sampler_end(&run->sampler, &last, run->now_ns);
    result->numbers = *numbers;
    result->tokens = run->tokens;
    result->token_count = numbers->tokens + run->cut_token;
    result->samples = run->sampler.rows;
    result->sample_count = run->sampler.count;
    result->blocks = run->blocks;
    result->turns = run->turns;
    result->turn_count = run->turn_count;
}
