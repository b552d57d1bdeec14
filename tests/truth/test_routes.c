/* Recorded expert choices of a real model: the hits and bytes that others counted, by replay and by run. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/replay.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/random_case.h"
#include "tests/truth/truth_data.h"
#include "workloads/workload.h"

enum { BUDGET_MIB, POLICY, HITS, HIT_PERCENT_ALL, HIT_PERCENT_DECODE, READ_MIB, COLUMNS };
#define MIB 1048576u

/* The head of truth.csv. */
enum { ACCESSES = 39526, DECODE_ACCESSES = 36864 };

static void check_percent(const char *how, const struct truth_table *table, size_t row, size_t column, uint64_t hits,
                          uint64_t accesses)
{
    const char *const *cells = (const char *const *)&table->cells[row * COLUMNS];
    char percent[32];
    snprintf(percent, sizeof percent, "%.3f", 100.0 * (double)hits / (double)accesses);
    if (cells[column][0] != '\0' && strcmp(percent, cells[column]) != 0)
        fail_because("%s %s MiB by %s: %s %% of hits, expected %s", cells[POLICY], cells[BUDGET_MIB], how, percent,
                     cells[column]);
}

static void check_decode(const struct truth_table *table, size_t row, const struct run_result *run)
{
    uint64_t accesses = 0, hits = 0;
    for (uint64_t t = 0; t < run->token_count; t++)
        if (run->tokens[t].phase == PHASE_DECODE) {
            accesses += run->tokens[t].accesses;
            hits += run->tokens[t].hits;
        }
    assert_int_equal(accesses, DECODE_ACCESSES);
    check_percent("run", table, row, HIT_PERCENT_DECODE, hits, accesses);
}

static void check(const char *how, const struct truth_table *table, size_t row, uint64_t accesses, uint64_t hits,
                  uint64_t bytes_read)
{
    const char *const *cells = (const char *const *)&table->cells[row * COLUMNS];
    assert_int_equal(accesses, ACCESSES);
    check_percent(how, table, row, HIT_PERCENT_ALL, hits, accesses);
    if (cells[HITS][0] != '\0' && (double)hits != truth_number(table, row, HITS))
        fail_because("%s %s MiB by %s: %llu hits, expected %s", cells[POLICY], cells[BUDGET_MIB], how,
                     (unsigned long long)hits, cells[HITS]);
    /* Bytes are given in MiB with one decimal. */
    char mib[32];
    snprintf(mib, sizeof mib, "%.1f", (double)bytes_read / MIB);
    if (cells[READ_MIB][0] != '\0' && strcmp(mib, cells[READ_MIB]) != 0)
        fail_because("%s %s MiB by %s: %s MiB read, expected %s", cells[POLICY], cells[BUDGET_MIB], how, mib,
                     cells[READ_MIB]);
}

static void rows_are_exact(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    struct error err;
    struct model model;
    struct trace trace;
    bool own;
    struct workload_spec workload = {.kind = WORKLOAD_TRACE,
                                     .trace = TRUTH_FOLDER "routes/qwen3-30b-a3b.route.csv",
                                     .compute_per_token_ns = -1,
                                     .prompt_compute_ns = -1};
    if (!workload_compile(&workload, NULL, &trace, &model, &own, &err))
        fail_because("%s", err.text);
    assert_true(own);
    struct device device;
    struct truth_table table;
    truth_device("oneplus-15r", &device);
    truth_read(TRUTH_FOLDER "routes/truth.csv", COLUMNS, &table);
    size_t compared = 0;
    for (size_t i = 0; i < table.rows; i++) {
        const char *policy = table.cells[i * COLUMNS + POLICY];
        struct arena arena = {0};
        struct run_result run;
        struct replay_result replay;
        struct loader loader = plain_loader((uint64_t)truth_number(&table, i, BUDGET_MIB) * MIB);
        loader.evict_when = EVICT_AFTER_STEP;
        truth_run(&model, &trace, &device, &loader, policy, &arena, &run);
        check("run", &table, i, run.numbers.accesses, run.numbers.hits, run.numbers.bytes_read);
        check_decode(&table, i, &run);

        struct policy_choice choice;
        block_id pins[POLICY_BLOCK_NAMES_MAX];
        struct run_spec bound = {0};
        bind_policy(policy, &model, &choice, pins, &bound);
        struct replay_spec spec = {.model = &model,
                                   .trace = &trace,
                                   .capacity_bytes = loader.budget_bytes,
                                   .evict_when = EVICT_AFTER_STEP,
                                   .evict = bound.evict};
        if (!replay_run(&spec, &arena, &replay, &err))
            fail_because("%s", err.text);
        check("replay", &table, i, replay.accesses, replay.hits, replay.bytes_read);
        arena_free(&arena);
        compared++;
    }
    assert_int_equal(compared, 11);
    truth_free(&table);
    trace_free(&trace);
    model_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
