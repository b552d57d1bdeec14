/* A run of the engine on round figures of a phone: what bench_engine times and bench_store stores. */
#ifndef POCKETLOAD_BENCH_RUN_H
#define POCKETLOAD_BENCH_RUN_H

#include "bench/measure.h"
#include "policies/registry.h"
#include "sim/engine.h"

enum { STEP_NS = 1000000 };

/* A cycle of `blocks` blocks of 1 MiB, `tokens` times over, with room for `capacity` of them. */
struct bench {
    const char *name, *policy;
    uint32_t blocks, capacity, tokens;
    enum overlap overlap;
};

/* A read of 1 MiB takes about 0.6 ms, as on a phone; real ones are in configs/devices. */
static inline void make_device(struct device *device)
{
    *device = (struct device){
        .name = "bench",
        .ram_bytes = UINT64_C(8) << 30,
        .flash = {.setup_ns = 100000,
                  .stream_bps = 2000000000,
                  .max_bps = 3000000000,
                  .queue_depth = 32,
                  .command_bytes = UINT64_C(1) << 20,
                  .hot_factor_ppm = 1000000},
        .memory_bps = 30000000000,
    };
    for (uint32_t type = 0; type < TENSOR_TYPES_MAX; type++)
        device->flops_rate[type] = 100000000000;
}

/* Runs into an empty arena; returns the seconds that it took. */
static inline double run_bench(const struct bench *bench, const struct model *model, const struct trace *trace,
                               struct arena *arena, struct run_result *result)
{
    struct policy_choice choice;
    struct error err;
    struct run_spec spec = {
        .model = model,
        .trace = trace,
        .loader = {.mode = LOADER_CHUNKED,
                   .budget_bytes = (uint64_t)bench->capacity << 20,
                   .lanes = 4,
                   .prefetch_lanes = 2,
                   .align_bytes = 4096,
                   .overlap = bench->overlap},
    };
    if (!policy_parse(bench->policy, &choice, &err))
        give_up(bench->policy, err.text);
    make_device(&spec.device);
    spec.evict = (struct bound_part){choice.evict.policy, {choice.evict.values, NULL, 0}};
    spec.pin = (struct bound_part){choice.pin.policy, {choice.pin.values, NULL, 0}};
    spec.prefetch = (struct bound_part){choice.prefetch.policy, {choice.prefetch.values, NULL, 0}};
    double start = now_seconds();
    if (!engine_run(&spec, arena, result, &err))
        give_up(bench->name, err.text);
    double seconds = now_seconds() - start;
    if (result->numbers.outcome != OUTCOME_COMPLETED || result->numbers.accesses != trace->access_count)
        give_up(bench->name, "the run did not complete");
    return seconds;
}

#endif
