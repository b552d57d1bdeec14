/* Streaming weights from flash against measurements: experts of Qwen3-30B-A3B on a OnePlus 15R, without a cache and
 * with one, and dense models larger than the RAM that holds them. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/experiment.h"
#include "tests/cmocka_fixed.h"
#include "tests/truth/truth_data.h"

enum { MODEL, TOP_K, CACHE_MIB, LANES, OVERLAP, TOK_PER_S, MB_PER_TOKEN, IO_MS, COMPUTE_MS, HIT_PERCENT, MOE_COLUMNS };

/* The experts are the cache's; all else stays. O_DIRECT reads whole pages of 4 KiB, and one read a tensor. */
static const char moe_config[] = "[device]\n"
                                 "profile = oneplus-15r\n"
                                 "[model]\n"
                                 "profile = qwen3-30b-a3b\n"
                                 "quant = q4_k_m\n"
                                 "[workload]\n"
                                 "kind = moe\n"
                                 "prompt_tokens = 1\n"
                                 "prompt_compute = 0s\n"
                                 "output_tokens = 257\n"
                                 "zipf = 0.8\n"
                                 "[loader]\n"
                                 "budget = 1GiB\n"
                                 "align = 4KiB\n"
                                 "read_size = whole\n"
                                 "overlap = none\n"
                                 "evict_when = after_step\n"
                                 "[policy]\n"
                                 "evict = lru\n"
                                 "pin = kinds(embedding,norm,layer,output)\n";

static struct experiment *read_config(const char *const *overrides, size_t count)
{
    struct error err;
    struct experiment *experiment;
    char path[] = "/tmp/pocketload-streaming-XXXXXX";
    const char *const folders[] = {"configs", NULL};
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, moe_config, sizeof moe_config - 1), sizeof moe_config - 1);
    assert_int_equal(close(file), 0);
    bool read = experiment_read(path, overrides, count, folders, &experiment, &err);
    unlink(path);
    if (!read)
        fail_because("%s", err.text);
    assert_int_equal(experiment_run_count(experiment), 1);
    return experiment;
}

struct measured {
    double tok_per_s, mb_per_token, hit_percent;
};

/* Decoded tokens only, as measured. */
static struct measured run_moe(uint64_t cache_bytes, const char *compute, const char *lanes, const char *top_k,
                               const char *sticky)
{
    struct error err;
    struct prepared cache = {0};
    struct arena arena = {0};
    struct run_result result;
    char set[5][64];
    const char *overrides[5];
    snprintf(set[0], sizeof set[0], "workload.compute_per_token=%sms", compute);
    snprintf(set[1], sizeof set[1], "loader.lanes=%s", lanes);
    snprintf(set[2], sizeof set[2], "workload.top_k=%s", top_k);
    snprintf(set[3], sizeof set[3], "workload.sticky=%s", sticky);
    for (size_t i = 0; i < 5; i++)
        overrides[i] = set[i];
    struct experiment *experiment = read_config(overrides, 4);
    if (!experiment_prepare(experiment, 0, &cache, &err))
        fail_because("%s", err.text);
    uint64_t kept = 0;
    for (block_id b = 0; b < cache.model.block_count; b++)
        kept += cache.model.blocks[b].kind == BLOCK_EXPERT ? 0 : cache.model.blocks[b].bytes;
    experiment_free(experiment);
    snprintf(set[4], sizeof set[4], "loader.budget=%lluB", (unsigned long long)(kept + cache_bytes));
    experiment = read_config(overrides, 5);
    if (!experiment_execute(experiment, 0, &cache, &arena, &result, &err))
        fail_because("%s", err.text);
    assert_int_equal(result.numbers.outcome, OUTCOME_COMPLETED);
    uint64_t accesses = 0, hits = 0, bytes = 0, tokens = 0;
    int64_t time = 0;
    for (uint64_t t = 0; t < result.token_count; t++)
        if (result.tokens[t].phase == PHASE_DECODE) {
            accesses += 48 * strtoull(top_k, NULL, 10); /* of experts: the rest is pinned and hits */
            hits += result.tokens[t].hits - (result.tokens[t].accesses - 48 * strtoull(top_k, NULL, 10));
            bytes += result.tokens[t].bytes_read;
            time += result.tokens[t].latency_ns;
            tokens++;
        }
    assert_int_equal(tokens, 256);
    arena_free(&arena);
    prepared_free(&cache);
    experiment_free(experiment);
    return (struct measured){.tok_per_s = (double)tokens / ((double)time / 1e9),
                             .mb_per_token = (double)bytes / 1e6 / (double)tokens,
                             .hit_percent = 100 * (double)hits / (double)accesses};
}

static void within(const char *what, double simulated, double expected, double percent)
{
    double off = 100 * (simulated / expected - 1);
    print_message("# %s: %.4g, measured %.4g (%+.2f %%)\n", what, simulated, expected, off);
    if (off < -percent || off > percent)
        fail_because("%s: %g, measured %g, expected within %g %%", what, simulated, expected, percent);
}

static void experts_without_a_cache(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    struct truth_table table;
    truth_read(TRUTH_FOLDER "phones/moe-streaming-oneplus-15r.csv", MOE_COLUMNS, &table);
    char **row = &table.cells[0];
    assert_true(truth_number(&table, 0, CACHE_MIB) == 0);
    struct measured measured = run_moe(0, row[COMPUTE_MS], row[LANES], row[TOP_K], "0%");
    assert_true(measured.hit_percent == 0);
    within("MB per token", measured.mb_per_token, truth_number(&table, 0, MB_PER_TOKEN), 1);
    within("tok/s", measured.tok_per_s, truth_number(&table, 0, TOK_PER_S), 15);
    truth_free(&table);
}

/* The choice of experts is made as repetitive as the measured one: by stickiness, until the hit rate is the same. */
static void experts_with_a_cache(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    struct truth_table table;
    truth_read(TRUTH_FOLDER "phones/moe-streaming-oneplus-15r.csv", MOE_COLUMNS, &table);
    char **row = &table.cells[MOE_COLUMNS];
    uint64_t cache_bytes = (uint64_t)truth_number(&table, 1, CACHE_MIB) << 20;
    assert_true(cache_bytes > 0);

    struct measured measured = run_moe(cache_bytes, row[COMPUTE_MS], row[LANES], row[TOP_K], "40%");
    within("hits in %", measured.hit_percent, truth_number(&table, 1, HIT_PERCENT), 2);
    within("tok/s", measured.tok_per_s, truth_number(&table, 1, TOK_PER_S), 15);
    truth_free(&table);
}

enum { SOURCE, RAM_GB, FILE_GB, DISK_GB_PER_S, S_PER_TOKEN, DENSE_COLUMNS };

/* A file that does not fit is read anew for each token, at the disk's rate: that the cache is a fifth smaller than the
 * RAM is an estimate, and any size below the file's gives the same. Computing is not in the table; here it takes no
 * time. */
static void dense_models_larger_than_ram(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    enum { BLOCKS = 64, TOKENS = 8 };
    struct truth_table table;
    truth_read(TRUTH_FOLDER "phones/dense-larger-than-ram.csv", DENSE_COLUMNS, &table);
    assert_int_equal(table.rows, 3);
    for (size_t i = 0; i < table.rows; i++) {
        struct error err;
        struct device device;
        struct model model;
        struct trace trace;
        struct trace_builder builder;
        struct arena arena = {0};
        struct run_result result;
        char blocks[64];
        struct segment tokens = {.repeat = TOKENS, .phase = PHASE_DECODE, .context_growth = 1};
        uint64_t file_bytes = (uint64_t)(truth_number(&table, i, FILE_GB) * 1e9);
        truth_device("generic-6gb", &device);
        device.flash.setup_ns = 0;
        device.flash.stream_bps = device.flash.max_bps = (uint64_t)(truth_number(&table, i, DISK_GB_PER_S) * 1e9);
        device.pressure.rule = KILL_NONE;
        device.ram_bytes = (uint64_t)(truth_number(&table, i, RAM_GB) * 1e9);
        struct loader loader = plain_loader(device.ram_bytes / 5 * 4);
        snprintf(blocks, sizeof blocks, "%d x %lluB", BLOCKS, (unsigned long long)(file_bytes / BLOCKS));
        bool made = model_from_blocks("dense", blocks, &model, &err) && trace_start(&builder, &trace, "dense", &err) &&
                    trace_add_segment(&builder, &tokens, &err);
        trace.counts_tokens = true;
        for (uint32_t b = 0; made && b < BLOCKS; b++)
            made = trace_add_step(&builder, 0, &err) && trace_add_use(&builder, b, 0, &err);
        if (!made || !trace_finish(&builder, &model, &err))
            fail_because("%s", err.text);
        truth_run(&model, &trace, &device, &loader, "lru", &arena, &result);
        within(table.cells[i * DENSE_COLUMNS + SOURCE], (double)result.numbers.tpot_mean_ns / 1e9,
               truth_number(&table, i, S_PER_TOKEN), 10);
        arena_free(&arena);
        trace_free(&trace);
        model_free(&model);
    }
    truth_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_without_a_cache),
        cmocka_unit_test(experts_with_a_cache),
        cmocka_unit_test(dense_models_larger_than_ram),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
