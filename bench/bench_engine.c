/* How fast the engine is, with time and events, beside bare arrays; and what a run's memory grows by. */
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
    printf("\nengine: memory of a run, the trace apart, and of one ten times as long\n");
    printf("%-36s %9s | %9s | %11s | %11s | %s\n", "case", "accesses", "ten times", "memory", "ten times",
           "growth an access");
    for (size_t i = 0; i < count; i++)
        bench_memory(&benches[i]);
    return 0;
}
