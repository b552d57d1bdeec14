/* Sizes of tensor types. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "workloads/quant.h"

static void test_table(void **state)
{
    (void)state;
    assert_true(tensor_type_count <= TENSOR_TYPES_MAX);
    for (uint32_t i = 0; i < tensor_type_count; i++) {
        assert_non_null(tensor_types[i].name);
        assert_true(tensor_types[i].block_elements > 0 && tensor_types[i].block_bytes > 0);
        if (tensor_types[i].gguf_number != TYPE_NO_NUMBER)
            assert_int_equal(tensor_type_by_number(tensor_types[i].gguf_number), (int)i);
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(tensor_types[i].name, tensor_types[j].name);
    }
    for (uint32_t number = 0; number <= 42; number++)
        if (number != 4 && number != 5) /* q4_2 and q4_3 went before GGUF came */
            assert_true(tensor_type_by_number(number) >= 0);
    assert_int_equal(tensor_type_by_number(4), -1);
    assert_int_equal(tensor_type_by_number(43), -1);
    assert_int_equal(tensor_type_by_number(UINT32_MAX), -1);
}

/* Bits per weight as documented for each format, in 1/10000: catalogue of figures and ggml's comments. */
static void test_bits_per_weight(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t bits;
    } known[] = {
        {"f32", 320000},  {"f16", 160000},    {"bf16", 160000},  {"q8_0", 85000},   {"q4_0", 45000},
        {"q4_1", 50000},  {"q5_0", 55000},    {"q5_1", 60000},   {"q2_k", 26250},   {"q3_k", 34375},
        {"q4_k", 45000},  {"q5_k", 55000},    {"q6_k", 65625},   {"iq4_xs", 42500}, {"iq4_nl", 45000},
        {"mxfp4", 42500}, {"iq2_xxs", 20625}, {"iq2_xs", 23125}, {"iq2_s", 25625},  {"iq3_xxs", 30625},
        {"iq3_s", 34375}, {"iq1_s", 15625},   {"iq1_m", 17500},  {"tq1_0", 16875},  {"tq2_0", 20625},
        {"nvfp4", 45000}, {"q1_0", 11250},    {"q2_0", 22500},   {"int4", 45000},   {"int8", 80000},
    };
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        int found = -1;
        for (uint32_t i = 0; i < tensor_type_count; i++)
            if (strcmp(tensor_types[i].name, known[k].name) == 0)
                found = (int)i;
        assert_true(found >= 0);
        assert_int_equal(tensor_types[found].block_bytes * 80000ull / tensor_types[found].block_elements,
                         known[k].bits);
    }
}

static void test_bytes(void **state)
{
    (void)state;
    struct error err = {.code = STATUS_OK};
    uint64_t bytes = 0;
    assert_true(tensor_bytes(TYPE_Q4_K, 2048 * 768, 2048, &bytes, &err));
    assert_int_equal(bytes, 884736);
    assert_true(tensor_bytes(TYPE_Q6_K, 2048 * 768, 768, &bytes, &err));
    assert_int_equal(bytes, 1290240);
    assert_true(tensor_bytes(TYPE_F32, 7, 7, &bytes, &err));
    assert_int_equal(bytes, 28);
    assert_true(tensor_bytes(TYPE_INT8, 3 * 7, 7, &bytes, &err)); /* three rows with a scale each */
    assert_int_equal(bytes, 3 * (7 + 4));
    assert_true(tensor_bytes(TYPE_INT4, 2 * 64, 64, &bytes, &err)); /* four groups of 16 bytes and a scale of 2 */
    assert_int_equal(bytes, 4 * 18);
    assert_int_equal(err.code, STATUS_OK);
    assert_false(tensor_bytes(TYPE_Q4_K, 896 * 2, 896, &bytes, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    assert_non_null(strstr(err.text, "896"));
    assert_false(tensor_bytes(TYPE_F32, 10, 0, &bytes, &err));
    assert_false(tensor_bytes(TYPE_F32, 10, 4, &bytes, &err));
    assert_false(tensor_bytes(TYPE_F32, UINT64_MAX - 3, UINT64_MAX - 3, &bytes, &err));
    assert_non_null(strstr(err.text, "2^64"));
}

static void test_quants(void **state)
{
    (void)state;
    for (int q = 0; q < QUANTS; q++) {
        assert_non_null(quant_names[q]);
        for (int other = 0; other < q; other++)
            assert_string_not_equal(quant_names[q], quant_names[other]);
        assert_true(strncmp(quant_names[q], tensor_types[quant_base_type((enum quant)q)].name, 2) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_bits_per_weight),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_quants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
