/* How fast the engine is, with time and events, beside bare arrays; a mapped model that fits beside the same one in
 * chunks; and what a run's memory grows by. */
#include <string.h>

#include "bench/floor.h"
#include "bench/run.h"

static void bench_speed(const struct bench *bench)
{
    struct model model;
    struct trace trace;
    struct rounds rounds, floor;
    uint64_t hits = 0;
    make_trace(bench->blocks, NULL, bench->blocks, bench->tokens, STEP_NS, &model, &trace);
    bool same = strcmp(bench->policy, "lru") == 0; /* bare arrays neither pin nor prefetch */
    for (int round = -1; round < ROUNDS; round++) {
        struct arena arena = {0};
        struct run_result result;
        double start = now_seconds();
        uint64_t floor_hits = floor_lru(&trace, bench->capacity);
        double floor_seconds = now_seconds() - start;
        double seconds = run_bench(bench, &model, &trace, &arena, &result);
        hits = result.numbers.hits;
        if (same && hits != floor_hits)
            give_up(bench->name, "the engine and the bare arrays do not count the same hits");
        if (round >= 0) {
            rounds.seconds[round] = seconds;
            floor.seconds[round] = floor_seconds;
        }
        arena_free(&arena);
    }
    print_row(bench->name, trace.access_count, &rounds, &floor, hits);
    trace_free(&trace);
    model_free(&model);
}

/* Maps the trace's model where all of it fits; returns the seconds. */
static double run_mapped(const struct model *model, const struct trace *trace, struct run_result *result)
{
    struct arena arena = {0};
    struct error err;
    struct run_spec spec = {
        .model = model, .trace = trace, .loader = {.mode = LOADER_MMAP, .lanes = 1, .align_bytes = 1, .processes = 1}};
    make_device(&spec.device);
    spec.device.page_bytes = 4096;
    spec.device.readahead_bytes = 128 << 10;
    spec.device.fault_around_bytes = 64 << 10;
    spec.device.willneed_bytes = 1 << 20;
    spec.device.address_space_bytes = UINT64_MAX;
    spec.device.minor_fault_ns = 1000;
    spec.device.major_fault_ns = 2000;
    spec.device.tlb_miss_ns = 10;
    double start = now_seconds();
    if (!engine_run(&spec, &arena, result, &err))
        give_up("mapped", err.text);
    double seconds = now_seconds() - start;
    if (result->numbers.outcome != OUTCOME_COMPLETED || result->numbers.evictions != 0 ||
        result->numbers.accesses != trace->access_count)
        give_up("mapped", "the model did not fit");
    arena_free(&arena);
    return seconds;
}

/* The same trace mapped and in chunks, turn by turn, each with all of the model in memory after the first token. */
static void bench_fits(const struct bench *bench)
{
    struct model model;
    struct trace trace;
    struct rounds chunked, mapped, ratios;
    make_trace(bench->blocks, NULL, bench->blocks, bench->tokens, STEP_NS, &model, &trace);
    for (int round = -1; round < ROUNDS; round++) {
        struct arena arena = {0};
        struct run_result result;
        double chunked_seconds = run_bench(bench, &model, &trace, &arena, &result);
        double mapped_seconds = run_mapped(&model, &trace, &result);
        arena_free(&arena);
        if (round >= 0) {
            chunked.seconds[round] = chunked_seconds;
            mapped.seconds[round] = mapped_seconds;
            ratios.seconds[round] = mapped_seconds / chunked_seconds;
        }
    }
    sort_rounds(&chunked);
    sort_rounds(&mapped);
    sort_rounds(&ratios);
    const double ns = 1e9 / (double)bench->tokens;
    printf("%-36s %8.1fM | %8.1f | %8.1f | %.2f (%.2f to %.2f)\n", bench->name, (double)trace.access_count / 1e6,
           ns * median_seconds(&mapped), ns * median_seconds(&chunked), median_seconds(&ratios), ratios.seconds[0],
           ratios.seconds[ROUNDS - 1]);
    fflush(stdout);
    trace_free(&trace);
    model_free(&model);
}

/* A run and one of ten times its length. */
static void bench_memory(const struct bench *bench)
{
    uint64_t memory_bytes[2], accesses[2];
    for (unsigned i = 0; i < 2; i++) {
        struct model model;
        struct trace trace;
        struct arena arena = {0};
        struct run_result result;
        make_trace(bench->blocks, NULL, bench->blocks, i == 0 ? bench->tokens / 10 : bench->tokens, STEP_NS, &model,
                   &trace);
        run_bench(bench, &model, &trace, &arena, &result);
        memory_bytes[i] = arena.used_bytes;
        accesses[i] = trace.access_count;
        arena_free(&arena);
        trace_free(&trace);
        model_free(&model);
    }
    printf("%-36s %8.1fM | %8.1fM | %8.2f MB | %8.2f MB | %.3f B\n", bench->name, (double)accesses[0] / 1e6,
           (double)accesses[1] / 1e6, (double)memory_bytes[0] / 1e6, (double)memory_bytes[1] / 1e6,
           (double)(memory_bytes[1] - memory_bytes[0]) / (double)(accesses[1] - accesses[0]));
    fflush(stdout);
}

int main(void)
{
    static const struct bench benches[] = {
        {"decode of 35 blocks, all hits", "lru", 35, 35, 400000, OVERLAP_PREFETCH},
        {"cycle of 24, a miss at every access", "lru", 24, 23, 200000, OVERLAP_NONE},
        {"the same, overlap = blocks", "lru", 24, 23, 200000, OVERLAP_BLOCKS},
        {"the same, prefetch-next", "prefetch-next", 24, 23, 200000, OVERLAP_PREFETCH},
    };
    size_t count = sizeof benches / sizeof *benches;
    print_head("engine: with time; wanted: 20 M/s with all hits, 5 M/s with a miss at every access");
    for (size_t i = 0; i < count; i++)
        bench_speed(&benches[i]);
    static const struct bench fits[] = {
        {"35 blocks, all fits", "lru", 35, 35, 400000, OVERLAP_PREFETCH},
        {"1000 blocks, all fits", "lru", 1000, 1000, 10000, OVERLAP_PREFETCH},
    };
    printf("\nengine: a mapped model that fits beside the same in chunks; wanted: no more per token (%d rounds)\n",
           ROUNDS);
    printf("%-36s %9s | %8s | %8s | %s\n", "case", "accesses", "ns/token", "chunked", "ratio");
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++)
        bench_fits(&fits[i]);
    printf("\nengine: memory of a run, the trace apart, and of one ten times as long\n");
    printf("%-36s %9s | %9s | %11s | %11s | %s\n", "case", "accesses", "ten times", "memory", "ten times",
           "growth an access");
    for (size_t i = 0; i < count; i++)
        bench_memory(&benches[i]);
    return 0;
}
