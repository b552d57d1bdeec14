/* One model out of several: blocks, files and names of the whole, and the sizes of adapters. */
#include "workloads/model_combine.h"

#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"

static void test_blocks_of_two(void **state)
{
    (void)state;
    struct model_member parts[2] = {{.role = MEMBER_FIRST}, {.role = MEMBER_DRAFT}};
    struct model model;
    struct error err;
    block_id first;
    make_list(&parts[0].model, "embed:5B layer0:7000B layer1:3B");
    make_list(&parts[1].model, "embed:11B layer0:13B lm_head:17B");
    assert_true(model_combine(parts, 2, &model, &err));
    assert_int_equal(model.block_count, 6);
    assert_int_equal(model.weights_bytes, 7008 + 41);
    assert_int_equal(model.file_bytes, 16384 + 41);
    assert_int_equal(model_find(&model, "layer1"), 2);
    assert_int_equal(model_find(&model, "draft/embed"), 3);
    assert_int_equal(model_find(&model, "draft/lm_head"), 5);
    static const uint64_t offsets[] = {0, 5, 7005, 16384, 16395, 16408};
    static const int32_t layers[] = {-1, 0, 1, -1, 2, -1};
    for (uint32_t b = 0; b < 6; b++) {
        assert_int_equal(model.extents[model.blocks[b].first_extent].offset_bytes, offsets[b]);
        assert_int_equal(model.policy_blocks[b].layer, layers[b]);
    }
    assert_int_equal(model.policy_blocks[5].kind, BLOCK_OUTPUT);
    assert_string_equal(model.name, "list + list");
    assert_string_equal(model.quant, "");
    assert_int_equal(model_member(&model, MEMBER_DRAFT, &first)->block_count, 3);
    assert_int_equal(first, 3);
    assert_int_equal(model_member(&model, MEMBER_FIRST, &first)->weights_bytes, 7008);
    assert_int_equal(first, 0);
    assert_null(model_member(&model, MEMBER_SECOND, &first));
    model_free(&model);
}

static void test_one_model_is_its_own_part(void **state)
{
    (void)state;
    struct model model;
    block_id first = 5;
    make_list(&model, "embed:5B");
    assert_ptr_equal(model_member(&model, MEMBER_FIRST, &first), &model);
    assert_int_equal(first, 0);
    assert_null(model_member(&model, MEMBER_ADAPTERS, &first));
    model_free(&model);
}

static void test_three_parts(void **state)
{
    (void)state;
    struct model_member parts[3] = {{.role = MEMBER_FIRST}, {.role = MEMBER_SECOND}, {.role = MEMBER_ADAPTERS}};
    const struct shape shape = small_shape(4);
    struct model model;
    struct error err;
    block_id first;
    make_shape(&parts[0].model, &shape);
    make_shape(&parts[1].model, &shape);
    assert_true(model_adapters(&parts[0].model, 2, 8, &parts[2].model, &err));
    const uint32_t n = parts[0].model.block_count;
    const uint64_t weights = parts[0].model.weights_bytes, kv = parts[0].model.kv_bytes_per_token;
    /* With experts only the attention is adapted: q and o 64 x 64, k and v 64 x 32. */
    assert_int_equal(parts[2].model.block_count, 6);
    assert_int_equal(parts[2].model.weights_bytes, 6 * 8 * 2 * (2 * 128 + 2 * 96));
    assert_true(model_combine(parts, 3, &model, &err));
    assert_int_equal(model.block_count, 2 * n + 6);
    assert_int_equal(model.weights_bytes, 2 * weights + 6 * 8 * 2 * (2 * 128 + 2 * 96));
    assert_int_equal(model.kv_bytes_per_token, kv);
    assert_non_null(model_member(&model, MEMBER_ADAPTERS, &first));
    assert_int_equal(first, 2 * n);
    assert_int_equal(model_find(&model, "adapter1/layer2"), 2 * n + 5);
    assert_int_equal(model.policy_blocks[2 * n + 5].layer, 2); /* of the first model */
    assert_int_equal(model.policy_blocks[2 * n + 5].kind, BLOCK_OTHER);
    assert_int_equal(model.policy_blocks[n + 1].layer, 3); /* layer 0 of the second */
    assert_string_equal(model.name, "small + small + 2 adapters of rank 8");
    assert_string_equal(model.quant, "f16");
    model_free(&model);
}

static void test_adapters_of_a_list(void **state)
{
    (void)state;
    struct model model, adapters;
    struct error err;
    make_list(&model, "embed:5B");
    assert_false(model_adapters(&model, 1, 8, &adapters, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_string_equal(err.text, "the model \"list\" is a list of blocks: expected a profile or a file, whose "
                                  "matrices are known");
    model_free(&model);
}

/* Names that the prefix makes too long are an error, and nothing is left. */
static void test_a_long_name(void **state)
{
    (void)state;
    struct model_member parts[2] = {{.role = MEMBER_FIRST}, {.role = MEMBER_DRAFT}};
    struct model model;
    struct error err;
    make_list(&parts[0].model, "embed:5B");
    make_list(&parts[1].model, "a23456789012345678901234567890123456789012345678901234567890:5B");
    assert_false(model_combine(parts, 2, &model, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    assert_null(model.blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_of_two), cmocka_unit_test(test_one_model_is_its_own_part),
        cmocka_unit_test(test_three_parts),   cmocka_unit_test(test_adapters_of_a_list),
        cmocka_unit_test(test_a_long_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
