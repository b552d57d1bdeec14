/* Sizes of models: published files, llama.cpp's table of bits per weight, MLC's int4 models, and the weights and KV
 * caches that a phone reported. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "tests/truth/model_sizes_data.h"
#include "tests/truth/truth_data.h"
#include "workloads/kv.h"

static struct model built(const struct shape *shape, enum quant quant)
{
    struct model model;
    struct error err;
    if (!model_from_shape("m", shape, quant, &model, &err))
        fail_because("%s", err.text);
    return model;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* An importance matrix matters to iq4_xs alone of these. */
static void test_published_files(void **state)
{
    (void)state;
    uint64_t exact = 0;
    for (size_t i = 0; i < known_size_count; i++) {
        const struct known_size *known = &known_sizes[i];
        struct shape shape = known_shapes[known->model].shape;
        shape.output_copy = known->copy;
        shape.imatrix = known->quant == QUANT_IQ4_XS;
        struct model model = built(&shape, known->quant);
        const uint64_t off = apart(model.file_bytes, known->file_bytes);
        print_message("# %s %s%s: %llu bytes, published %llu, %.3f %%\n", known_shapes[known->model].name,
                      quant_names[known->quant], known->copy == OUTPUT_COPY_FILE ? " with an output matrix" : "",
                      (unsigned long long)model.file_bytes, (unsigned long long)known->file_bytes,
                      100.0 * ((double)model.file_bytes - (double)known->file_bytes) / (double)known->file_bytes);
        assert_true(off * 1000 <= known->file_bytes * 15);
        exact += off * 1000 <= known->file_bytes;
        model_free(&model);
    }
    print_message("# %llu of %zu within 0.1 %%\n", (unsigned long long)exact, known_size_count);
}

static void test_kv_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < KNOWN_SHAPES; i++) {
        struct model model = built(&known_shapes[i].shape, QUANT_Q4_0);
        struct kv_growth growth;
        struct error err;
        assert_int_equal(model.kv_bytes_per_token, known_shapes[i].kv_bytes);
        assert_true(kv_growth(&model, KV_F16, &growth, &err));
        assert_int_equal(growth.bytes + growth.window_bytes, known_shapes[i].kv_bytes);
        model_free(&model);
    }
}

/* Bits per weight of Llama 3.1 8B in 1/10000: tools/quantize/README.md of ggml-org/llama.cpp at 311c2c9f0ebd, without
 * file headers. iq4_xs and iq4_nl were made without an importance matrix. */
static void test_bits_per_weight(void **state)
{
    (void)state;
    static const struct {
        enum quant quant;
        uint64_t bits;
    } known[] = {
        {QUANT_IQ1_S, 20042},  {QUANT_IQ1_M, 21460},  {QUANT_IQ2_XXS, 23824}, {QUANT_IQ2_XS, 25882},
        {QUANT_IQ2_S, 27403},  {QUANT_IQ2_M, 29294},  {QUANT_IQ3_XXS, 32548}, {QUANT_IQ3_XS, 34977},
        {QUANT_IQ3_S, 36606},  {QUANT_IQ3_M, 37628},  {QUANT_IQ4_XS, 44597},  {QUANT_IQ4_NL, 46818},
        {QUANT_Q2_K_S, 29697}, {QUANT_Q2_K, 31593},   {QUANT_Q3_K_S, 36429},  {QUANT_Q3_K_L, 42979},
        {QUANT_Q4_K_S, 46672}, {QUANT_Q4_K_M, 48944}, {QUANT_Q5_K_S, 55704},  {QUANT_Q5_K_M, 57036},
        {QUANT_Q6_K, 65633},   {QUANT_Q8_0, 85008},   {QUANT_F16, 160005},
    };
    const uint64_t weights = 8030261312; /* 64 of them in rope_freqs, which is left out here */
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct model model = built(&known_shapes[LLAMA_3_1_8B].shape, known[i].quant);
        const double bits = (double)model.weights_bytes * 8 / (double)weights;
        print_message("# %s: %.4f bits a weight, published %.4f\n", quant_names[known[i].quant], bits,
                      (double)known[i].bits / 10000);
        assert_true(apart(model.weights_bytes * 80000 / weights, known[i].bits) <= 1);
        model_free(&model);
    }
}

/* Models in q4f16_1 as mlc-ai has them on Hugging Face, in MiB: parameters and the files of the tokenizer
 * (tokenizer.json with vocab.json and merges.txt, or with tokenizer.model: estimates) together, the larger ones in
 * hundredths of a GiB. */
static void test_int4(void **state)
{
    (void)state;
    static const struct {
        enum known_model model;
        double mib, tokenizer_mib, rounding_mib;
    } known[] = {
        {TINYLLAMA, 593, 2.2, 1},           {QWEN3_1_7B, 939, 15.1, 1},
        {PHI_3_MINI, 2.00 * 1024, 2.2, 6},  {LLAMA_3_2_3B, 1.69 * 1024, 8.7, 6},
        {QWEN2_5_7B, 4.00 * 1024, 11.0, 6}, {LLAMA_3_1_8B, 4.22 * 1024, 8.7, 6},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct model model = built(&known_shapes[known[i].model].shape, QUANT_INT4);
        const double mib = (double)model.weights_bytes / (1 << 20) + known[i].tokenizer_mib;
        print_message("# %s int4 with tokenizer: %.1f MiB, published %.1f MiB\n", known_shapes[known[i].model].name,
                      mib, known[i].mib);
        assert_true(mib - known[i].mib < known[i].rounding_mib && known[i].mib - mib < known[i].rounding_mib);
        model_free(&model);
    }
}

/* A Galaxy S23 running files of bartowski's, made with an importance matrix; the context is 2048. Its Qwen3 file holds
 * an output matrix, and of the tied SmolLM2 llama.cpp keeps the embedding twice in memory. */
static void test_phone(void **state)
{
    (void)state;
    enum { MODEL = 2, QUANT = 3, WEIGHTS_MIB = 8, KV_MIB = 9, COLUMNS = 13, CONTEXT = 2048 };
    if (!truth_available())
        skip();
    struct truth_table table;
    truth_read(TRUTH_FOLDER "phones/in-ram-decode-s23.csv", COLUMNS, &table);
    assert_true(table.rows > 0);
    for (size_t row = 0; row < table.rows; row++) {
        const char *name = table.cells[row * COLUMNS + MODEL], *label = table.cells[row * COLUMNS + QUANT];
        const bool qwen = strcmp(name, "qwen3-1.7b") == 0, smol = strcmp(name, "smollm2-1.7b") == 0;
        struct shape shape = known_shapes[qwen ? QWEN3_1_7B : smol ? SMOLLM2_1_7B : PHI_3_MINI].shape;
        size_t quant = 0;
        while (quant < QUANTS && strcmp(label, quant_names[quant]) != 0)
            quant++;
        assert_true(quant < QUANTS);
        /* What the rows call iq1_s is iq2_m to the byte, of both models that have one: a wrong label. */
        const bool mislabelled = quant == QUANT_IQ1_S;
        shape.imatrix = true;
        shape.output_copy = qwen ? OUTPUT_COPY_FILE : smol ? OUTPUT_COPY_MEMORY : OUTPUT_COPY_NO;
        struct model model = built(&shape, mislabelled ? QUANT_IQ2_M : (enum quant)quant);
        const double mib = (double)model.weights_bytes / (1 << 20), said = truth_number(&table, row, WEIGHTS_MIB);
        print_message("# %s %s%s: %.2f MiB, measured %.2f\n", name, label, mislabelled ? " (its size is iq2_m's)" : "",
                      mib, said);
        assert_true(mib - said < 0.02 && said - mib < 0.02);
        assert_int_equal(model.kv_bytes_per_token * CONTEXT, (uint64_t)truth_number(&table, row, KV_MIB) << 20);
        model_free(&model);
        if (!mislabelled)
            continue;
        model = built(&shape, QUANT_IQ1_S);
        assert_true((double)model.weights_bytes / (1 << 20) < said * 0.8);
        model_free(&model);
    }
    truth_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_files), cmocka_unit_test(test_kv_bytes),
        cmocka_unit_test(test_bits_per_weight), cmocka_unit_test(test_int4),
        cmocka_unit_test(test_phone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
