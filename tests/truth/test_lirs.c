/* Traces of the LIRS authors: exact hits of unit-size objects, by replay, by run and by the naive twins. */
#include <stddef.h>
#include <stdio.h>

#include "sim/replay.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_cache_case.h"
#include "tests/reference/random_case.h"
#include "tests/truth/truth_data.h"
#include "workloads/workload.h"

enum { TRACE, CAPACITY, LRU, FIFO, BELADY, COLUMNS };

/* The trace over a model of its own, of equal blocks, whose ids are the numbers in the file. */
static void compile(const char *path, struct model *model, struct trace *trace)
{
    struct error err;
    struct model numbered;
    struct workload_spec workload = {
        .kind = WORKLOAD_TRACE, .trace = path, .compute_per_token_ns = -1, .prompt_compute_ns = -1};
    bool own;
    char blocks[64];
    uint64_t last = 0;
    if (!trace_read_alone(path, "auto", trace, &numbered, &own, &err))
        fail_because("%s", err.text);
    for (uint32_t b = 0; b < numbered.block_count; b++)
        last = numbered.keys[b] > last ? numbered.keys[b] : last;
    trace_free(trace);
    model_free(&numbered);
    snprintf(blocks, sizeof blocks, "%llu x 1MiB", (unsigned long long)last + 1);
    if (!model_from_blocks("equal", blocks, model, &err) ||
        !workload_compile(&workload, model, trace, &numbered, &own, &err))
        fail_because("%s", err.text);
    assert_false(own);
}

static void check(const struct truth_table *table, size_t row, const char *policy, size_t column,
                  const struct device *device)
{
    struct error err;
    struct model model;
    struct trace trace;
    char path[256];
    snprintf(path, sizeof path, TRUTH_FOLDER "lirs/%s.trace", table->cells[row * COLUMNS + TRACE]);
    compile(path, &model, &trace);
    uint64_t capacity = (uint64_t)truth_number(table, row, CAPACITY) * model.policy_blocks[0].bytes;
    uint64_t expected = (uint64_t)truth_number(table, row, column);

    struct arena arena = {0};
    struct policy_choice choice;
    block_id pins[POLICY_BLOCK_NAMES_MAX];
    struct run_spec bound = {0};
    struct replay_result replay;
    bind_policy(policy, &model, &choice, pins, &bound);
    struct replay_spec spec = {.model = &model, .trace = &trace, .capacity_bytes = capacity, .evict = bound.evict};
    if (!replay_run(&spec, &arena, &replay, &err))
        fail_because("%s", err.text);
    struct run_result run;
    struct loader loader = plain_loader(capacity);
    truth_run(&model, &trace, device, &loader, policy, &arena, &run);
    if (replay.hits != expected || run.numbers.hits != expected)
        fail_because("%s %s at %s: %llu hits by replay, %llu by run, expected %llu",
                     table->cells[row * COLUMNS + TRACE], policy, table->cells[row * COLUMNS + CAPACITY],
                     (unsigned long long)replay.hits, (unsigned long long)run.numbers.hits,
                     (unsigned long long)expected);
    struct cache_case twin;
    struct naive_counts counts;
    cache_case_read(path, true, &twin);
    cache_case_twin(&twin, policy, (uint64_t)truth_number(table, row, CAPACITY), true, &counts);
    assert_int_equal(twin.trace.access_count - counts.misses, expected);
    cache_case_free(&twin);
    arena_free(&arena);
    trace_free(&trace);
    model_free(&model);
}

static void rows_are_exact(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    struct device device;
    struct truth_table table;
    truth_device("oneplus-15r", &device);
    truth_read(TRUTH_FOLDER "lirs/truth.csv", COLUMNS, &table);
    assert_int_equal(table.rows, 4);
    for (size_t i = 0; i < table.rows; i++) {
        check(&table, i, "lru", LRU, &device);
        check(&table, i, "fifo", FIFO, &device);
        check(&table, i, "belady", BELADY, &device);
    }
    truth_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
