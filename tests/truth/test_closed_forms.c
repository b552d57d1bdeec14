/* Cases whose numbers follow from a formula: tokens that walk through N equal blocks, one a step. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "tests/truth/truth_data.h"

enum { TOKENS = 20 };
#define BLOCK_BYTES 1000000u

/* One MB takes 1 ms, without setup; memory and kills play no part. */
static struct device simple_device(void)
{
    struct device device = {.name = "simple", .ram_bytes = 1u << 30, .pressure.threshold_bytes = 1u << 30};
    device.flash = (struct flash_spec){.stream_bps = 1000000000,
                                       .max_bps = 1000000000,
                                       .queue_depth = 1,
                                       .command_bytes = 100000,
                                       .hot_factor_ppm = 1000000};
    device.memory_bps = 1000000000;
    for (size_t i = 0; i < TENSOR_TYPES_MAX; i++)
        device.flops_rate[i] = 1000000000;
    return device;
}

static void make_cycle(uint32_t n, int64_t compute_ns, struct model *model, struct trace *trace)
{
    struct error err;
    char blocks[64];
    struct trace_builder builder;
    struct segment tokens = {.repeat = TOKENS, .phase = PHASE_DECODE, .context_growth = 1};
    uint32_t work;
    snprintf(blocks, sizeof blocks, "%u x 1MB", n);
    bool made = model_from_blocks("cycle", blocks, model, &err) && trace_start(&builder, trace, "cycle", &err) &&
                trace_add_work(&builder, compute_ns, 0, 0, NULL, 0, &work, &err) &&
                trace_add_segment(&builder, &tokens, &err);
    trace->counts_tokens = true;
    for (uint32_t b = 0; made && b < n; b++)
        made = trace_add_step(&builder, work, &err) && trace_add_use(&builder, b, 0, &err);
    if (!made || !trace_finish(&builder, model, &err))
        fail_because("%s", err.text);
}

static struct run_numbers run_cycle(uint32_t n, uint32_t room, int64_t compute_ns, enum overlap overlap,
                                    const char *policy, uint64_t *later_hits)
{
    struct model model;
    struct trace trace;
    struct arena arena = {0};
    struct run_result result;
    struct device device = simple_device();
    struct loader loader = plain_loader((uint64_t)room * BLOCK_BYTES);
    loader.overlap = overlap;
    make_cycle(n, compute_ns, &model, &trace);
    truth_run(&model, &trace, &device, &loader, policy, &arena, &result);
    *later_hits = 0;
    for (uint64_t t = 1; t < result.token_count; t++)
        *later_hits += result.tokens[t].hits;
    struct run_numbers numbers = result.numbers;
    numbers.killed_by = numbers.killed_phase = "";
    assert_int_equal(numbers.tokens, TOKENS);
    assert_int_equal(numbers.accesses, TOKENS * n);
    arena_free(&arena);
    trace_free(&trace);
    model_free(&model);
    return numbers;
}

/* Room for C < N: what LRU or FIFO evict is what comes next. */
static void cycle_beats_recency(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 12; n++)
        for (uint32_t room = 1; room < n; room++) {
            uint64_t hits;
            struct run_numbers lru = run_cycle(n, room, 1000, OVERLAP_NONE, "lru", &hits);
            assert_int_equal(lru.hits, 0);
            assert_int_equal(lru.bytes_read, (uint64_t)TOKENS * n * BLOCK_BYTES);
            struct run_numbers fifo = run_cycle(n, room, 1000, OVERLAP_NONE, "fifo", &hits);
            assert_int_equal(fifo.hits, 0);
            assert_int_equal(fifo.bytes_read, (uint64_t)TOKENS * n * BLOCK_BYTES);
        }
}

/* pinned-lru keeps C - 1 blocks and lets the rest pass through the last place: (C - 1) / N of the accesses hit. */
static void pinning_keeps_its_share(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 12; n++)
        for (uint32_t room = 1; room < n; room++) {
            uint64_t hits;
            struct run_numbers pinned = run_cycle(n, room, 1000, OVERLAP_NONE, "pinned-lru", &hits);
            assert_int_equal(pinned.hits, (uint64_t)TOKENS * (room - 1));
            assert_int_equal(pinned.load_ns, (int64_t)(room - 1) * 1000000);
            assert_int_equal(pinned.misses, (uint64_t)TOKENS * (n - room + 1));
        }
}

/* Without overlap a step loads and then computes. With prefetch-next and room for two blocks, the next block loads
 * while this one computes: the first load, then the longer of the two for each step, then the last step's computing. */
static void prefetching_hides_the_shorter(void **state)
{
    (void)state;
    const int64_t load = 1000000, computes[] = {1000, 400000, 999999, 1000000, 1000001, 1700000, 5000000};
    for (uint32_t n = 3; n <= 9; n++)
        for (size_t i = 0; i < sizeof computes / sizeof *computes; i++) {
            uint64_t hits;
            int64_t compute = computes[i], longer = compute > load ? compute : load;
            struct run_numbers serial = run_cycle(n, 2, compute, OVERLAP_NONE, "prefetch-next", &hits);
            assert_int_equal(serial.bytes_prefetched, 0);
            assert_int_equal(serial.virtual_time_ns, (int64_t)TOKENS * n * (load + compute));
            struct run_numbers next = run_cycle(n, 2, compute, OVERLAP_PREFETCH, "prefetch-next", &hits);
            assert_int_equal(next.ttft_ns, load + (int64_t)(n - 1) * longer + compute);
            assert_int_equal(next.virtual_time_ns, load + (int64_t)(TOKENS * n - 1) * longer + compute);
            assert_int_equal(next.tpot_mean_ns, (int64_t)n * longer);
            assert_int_equal(next.tpot_p99_ns, (int64_t)n * longer);
            assert_int_equal(next.misses, 1);
            assert_int_equal(next.bytes_read, (uint64_t)TOKENS * n * BLOCK_BYTES);
        }
}

/* A single step of two blocks, computed as they come: the first block's share runs while the second loads. */
static void blocks_overlap_within_a_step(void **state)
{
    (void)state;
    struct error err;
    struct model model;
    struct trace trace;
    struct trace_builder builder;
    struct arena arena = {0};
    struct run_result result;
    struct segment token = {.repeat = 1, .phase = PHASE_DECODE};
    struct device device = simple_device();
    struct loader loader = plain_loader(4000000);
    uint32_t work;
    loader.overlap = OVERLAP_BLOCKS;
    if (!model_from_blocks("two", "a:1MB b:3MB", &model, &err) || !trace_start(&builder, &trace, "two", &err) ||
        !trace_add_work(&builder, 8000000, 0, 0, NULL, 0, &work, &err) || !trace_add_segment(&builder, &token, &err) ||
        !trace_add_step(&builder, work, &err) || !trace_add_use(&builder, 0, 0, &err) ||
        !trace_add_use(&builder, 1, 0, &err) || !trace_finish(&builder, &model, &err))
        fail_because("%s", err.text);
    truth_run(&model, &trace, &device, &loader, "lru", &arena, &result);
    /* a loads 0..1 ms and takes a quarter of 8 ms; b loads 1..4 ms and takes the rest. */
    assert_int_equal(result.numbers.stall_ns, 1000000 + 1000000);
    assert_int_equal(result.numbers.compute_ns, 8000000);
    assert_int_equal(result.numbers.virtual_time_ns, 10000000);
    arena_free(&arena);
    trace_free(&trace);
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycle_beats_recency),
        cmocka_unit_test(pinning_keeps_its_share),
        cmocka_unit_test(prefetching_hides_the_shorter),
        cmocka_unit_test(blocks_overlap_within_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
