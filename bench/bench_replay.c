/* How fast a replay of lru and fifo is, beside bare arrays. */
#include "base/rng.h"
#include "bench/floor.h"
#include "policies/registry.h"
#include "sim/replay.h"

enum { ZIPF_USES = 4000000, ZIPF_BLOCKS_MAX = 4096 };

static uint64_t replay_once(const struct model *model, const struct trace *trace, const char *policy, uint32_t capacity,
                            double *seconds)
{
    struct policy_choice choice;
    struct error err;
    struct arena arena = {0};
    struct replay_result result;
    if (!policy_parse(policy, &choice, &err))
        give_up(policy, err.text);
    struct replay_spec spec = {
        .model = model,
        .trace = trace,
        .capacity_bytes = (uint64_t)capacity << 20,
        .evict = {choice.evict.policy, {choice.evict.values, NULL, 0}},
    };
    double start = now_seconds();
    if (!replay_run(&spec, &arena, &result, &err))
        give_up(policy, err.text);
    *seconds = now_seconds() - start;
    arena_free(&arena);
    return result.hits;
}

static void bench_case(const char *what, const char *policy, bool lru, const struct model *model,
                       const struct trace *trace, uint32_t capacity)
{
    struct rounds rounds, floor;
    uint64_t hits = 0, floor_hits = 0;
    char name[64];
    /* By turns, so that both see the same machine; round -1 warms up. */
    for (int round = -1; round < ROUNDS; round++) {
        double seconds, start = now_seconds();
        floor_hits = lru ? floor_lru(trace, capacity) : floor_fifo(trace, capacity);
        double floor_seconds = now_seconds() - start;
        hits = replay_once(model, trace, policy, capacity, &seconds);
        if (round >= 0) {
            rounds.seconds[round] = seconds;
            floor.seconds[round] = floor_seconds;
        }
    }
    if (hits != floor_hits)
        give_up(what, "the replay and the bare arrays do not count the same hits");
    snprintf(name, sizeof name, "%s, %s", policy, what);
    print_row(name, trace->access_count, &rounds, &floor, hits);
}

static void bench_trace(const char *what, const struct model *model, const struct trace *trace, uint32_t capacity)
{
    bench_case(what, "lru", true, model, trace, capacity);
    bench_case(what, "fifo", false, model, trace, capacity);
}

static void bench_cycle(const char *what, uint32_t blocks, uint32_t capacity)
{
    struct model model;
    struct trace trace;
    make_trace(blocks, NULL, blocks, 20000000 / blocks, -1, &model, &trace);
    bench_trace(what, &model, &trace, capacity);
    trace_free(&trace);
    model_free(&model);
}

/* Block r has weight 1 / (r + 1). */
static void bench_zipf(const char *what, uint32_t blocks, uint32_t capacity)
{
    struct model model;
    struct trace trace;
    struct rng rng;
    uint64_t ends[ZIPF_BLOCKS_MAX], sum = 0;
    block_id *uses = malloc(ZIPF_USES * sizeof *uses);
    if (uses == NULL)
        give_up(what, "out of memory");
    for (uint32_t r = 0; r < blocks; r++)
        ends[r] = sum += (UINT64_C(1) << 40) / (r + 1);
    rng_seed(&rng, 1, 0);
    for (uint32_t i = 0; i < ZIPF_USES; i++) {
        uint64_t point = rng_below(&rng, sum);
        uint32_t low = 0, high = blocks - 1;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (ends[middle] > point)
                high = middle;
            else
                low = middle + 1;
        }
        uses[i] = low;
    }
    make_trace(blocks, uses, ZIPF_USES, 5, -1, &model, &trace);
    free(uses);
    bench_trace(what, &model, &trace, capacity);
    trace_free(&trace);
    model_free(&model);
}

int main(void)
{
    print_head("replay: lru and fifo without time, parsing apart; wanted: 100 M/s on small working sets");
    bench_cycle("cycle of 24, all fit", 24, 24);
    bench_cycle("cycle of 24, room for 23", 24, 23);
    bench_cycle("cycle of 35, all fit", 35, 35);
    bench_zipf("zipf of 100, room for 90", 100, 90);
    bench_zipf("zipf of 100, room for 50", 100, 50);
    bench_zipf("zipf of 1000, room for 900", 1000, 900);
    bench_zipf("zipf of 1000, room for 500", 1000, 500);
    return 0;
}
