/* Decoding in RAM against a Galaxy S23 (../shared/data/phones/in-ram-decode-s23.csv): the rate at which weights of a
 * quantisation are read is taken from two models, and predicts the speed of the third in a simulated run.
 *
 * Taken from the two, as geometric means: memory_TYPE = weights read a token * tokens a second, for all types of the
 * quantisation; flops = 2 * weights multiplied * prompt tokens a second. Nothing is fitted to the third. An assumption:
 * the benchmark of llama.rn, which PocketPal runs, decodes from an empty context, as examples/llama.android of
 * llama.cpp does (bench_model clears the cache before it generates): so the KV cache read is that of 1 to 128 tokens,
 * at the RAM's 67 GB/s. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/experiment.h"
#include "tests/cmocka_fixed.h"
#include "tests/truth/truth_data.h"

enum { DEVICE, SOC, MODEL, QUANT, BACKEND, THREADS, PROMPT, DECODE, WEIGHTS, KV, SCRATCH, PEAK, WALL, CELLS };
enum { MODELS = 3, TOKENS = 128 };

/* microsoft/Phi-3.5-mini-instruct, Qwen/Qwen3-1.7B and HuggingFaceTB/SmolLM2-1.7B on Hugging Face, config.json. */
static const struct {
    const char *name, *shape;
} models[MODELS] = {
    {"phi-3.5-mini", "layers = 32\nwidth = 3072\nvocab = 32064\nheads = 32\nkv_heads = 32\nhead_size = 96\nffn = 8192\n"
                     "fused_qkv = yes\nimatrix = yes\n"},
    {"qwen3-1.7b", "layers = 28\nwidth = 2048\nvocab = 151936\nheads = 16\nkv_heads = 8\nhead_size = 128\nffn = 6144\n"
                   "tied = yes\nqk_norm = yes\nimatrix = yes\n"},
    {"smollm2-1.7b", "layers = 24\nwidth = 2048\nvocab = 49152\nheads = 32\nkv_heads = 32\nhead_size = 64\n"
                     "ffn = 8192\ntied = yes\nimatrix = yes\n"},
};

static struct truth_table table;

/* A number of the row of that model and quantisation; 0: there is none. */
static double cell(size_t model, const char *quant, size_t column)
{
    for (size_t row = 0; row < table.rows; row++)
        if (strcmp(table.cells[row * CELLS + MODEL], models[model].name) == 0 &&
            strcmp(table.cells[row * CELLS + QUANT], quant) == 0)
            return truth_number(&table, row, column);
    return 0;
}

/* A run of a model all in RAM; `rates` are lines of [device]. */
static struct experiment *parse(size_t model, const char *quant, const char *rates)
{
    char text[8192];
    struct experiment *experiment;
    struct error err;
    snprintf(text, sizeof text,
             "[device]\nram = 8GB\nkill = none\nflash_setup = 200us\nflash_stream = 2GB/s\nflash_max = 2GB/s\n"
             "memory = 67GB/s\n%s[model]\nname = %s\n%squant = %s\n[workload]\nprompt_tokens = 1\noutput_tokens = %d\n"
             "[loader]\nmode = read\n",
             rates, models[model].name, models[model].shape, quant, TOKENS + 1);
    if (!experiment_parse("s23.ini", text, strlen(text), NULL, 0, NULL, &experiment, &err))
        fail_because("%s", err.text);
    return experiment;
}

/* What one token reads of the weights, and how many it multiplies with; and marks the types of these. */
static void measure(size_t model, const char *quant, double *bytes, double *weights, bool types[TENSOR_TYPES_MAX])
{
    struct experiment *experiment = parse(model, quant, "flops = 1TFLOPS\n");
    struct prepared prepared = {0};
    struct error err;
    if (!experiment_prepare(experiment, 0, &prepared, &err))
        fail_because("%s", err.text);
    *bytes = *weights = 0;
    for (uint32_t b = 0; b < prepared.model.block_count; b++)
        *bytes += (double)prepared.model.blocks[b].compute_bytes;
    for (uint32_t i = 0; i < prepared.model.matter_count; i++) {
        *weights += (double)prepared.model.matters[i].elements;
        types[prepared.model.matters[i].type] = true;
    }
    prepared_free(&prepared);
    experiment_free(experiment);
}

/* Tokens a second of a model at rates that hold for all types of its quantisation. */
static double simulate(size_t model, const char *quant, double read_rate, double flops,
                       const bool types[TENSOR_TYPES_MAX])
{
    char rates[4096];
    int length = snprintf(rates, sizeof rates, "flops = %.0fFLOPS\n", flops);
    for (uint32_t t = 0; t < tensor_type_count; t++)
        if (types[t])
            length += snprintf(rates + length, sizeof rates - (size_t)length, "memory_%s = %.0fB/s\n",
                               tensor_types[t].name, read_rate);
    struct experiment *experiment = parse(model, quant, rates);
    struct prepared prepared = {0};
    struct arena arena = {0};
    struct run_result result;
    struct error err;
    if (!experiment_execute(experiment, 0, &prepared, &arena, &result, &err))
        fail_because("%s", err.text);
    assert_int_equal(result.numbers.outcome, OUTCOME_COMPLETED);
    assert_int_equal(result.numbers.tpot_count, TOKENS);
    const double speed = 1e9 * TOKENS / (double)result.numbers.tpot_total_ns;
    prepared_free(&prepared);
    arena_free(&arena);
    experiment_free(experiment);
    return speed;
}

static void two_models_predict_the_third(void **state)
{
    (void)state;
    if (!truth_available())
        skip();
    truth_read(TRUTH_FOLDER "phones/in-ram-decode-s23.csv", CELLS, &table);
    static const char *const quants[] = {"q2_k", "q3_k_m", "q4_0", "q4_k_m", "q5_k_m"};
    for (size_t q = 0; q < sizeof quants / sizeof *quants; q++) {
        double read_rate[MODELS], flops[MODELS];
        bool types[TENSOR_TYPES_MAX] = {false};
        for (size_t m = 0; m < MODELS; m++) {
            double bytes, weights;
            measure(m, quants[q], &bytes, &weights, types);
            assert_true(cell(m, quants[q], DECODE) > 0);
            read_rate[m] = bytes * cell(m, quants[q], DECODE);
            flops[m] = 2 * weights * cell(m, quants[q], PROMPT);
        }
        for (size_t third = 0; third < MODELS; third++) {
            const size_t a = (third + 1) % MODELS, b = (third + 2) % MODELS;
            const double speed =
                simulate(third, quants[q], sqrt(read_rate[a] * read_rate[b]), sqrt(flops[a] * flops[b]), types);
            const double measured = cell(third, quants[q], DECODE), error = speed / measured - 1;
            printf("# %s %s: %.2f tok/s, measured %.2f (%+.1f %%)\n", models[third].name, quants[q], speed, measured,
                   100 * error);
            if (fabs(error) > 0.2)
                fail_because("%s %s: %+.1f %%, expected at most 20 %%", models[third].name, quants[q], 100 * error);
        }
    }
    truth_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_models_predict_the_third)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
