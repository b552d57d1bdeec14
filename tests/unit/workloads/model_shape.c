/* Models from their shape: the sizes of real files, the layout, and the profiles in configs/models. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config_file.h"
#include "base/units.h"
#include "tests/cmocka_fixed.h"
#include "workloads/model.h"

static const char *const route = "../shared/data/routes/qwen3-30b-a3b.route.csv";

/* The profile in configs/models, read key by key. */
static struct shape profile(const char *name)
{
    struct shape shape = {0};
    const struct {
        const char *key;
        uint32_t *number;
    } numbers[] = {
        {"layers", &shape.layers},
        {"width", &shape.width},
        {"vocab", &shape.vocab},
        {"heads", &shape.heads},
        {"kv_heads", &shape.kv_heads},
        {"head_size", &shape.head_size},
        {"ffn", &shape.ffn},
        {"experts", &shape.experts},
        {"experts_used", &shape.experts_used},
        {"expert_ffn", &shape.expert_ffn},
        {"shared_ffn", &shape.shared_ffn},
        {"window", &shape.window},
        {"window_layers", &shape.window_layers},
    };
    const struct {
        const char *key;
        bool *answer;
    } answers[] = {
        {"tied", &shape.tied},
        {"gated", &shape.gated},
        {"qk_norm", &shape.qk_norm},
        {"post_norms", &shape.post_norms},
    };
    struct error err = {.code = STATUS_OK};
    struct config_file file;
    char path[128];
    snprintf(path, sizeof path, "configs/models/%s.ini", name);
    if (!config_file_read(path, &file, &err))
        print_error("%s\n", err.text);
    assert_int_equal(err.code, STATUS_OK);
    for (size_t i = 0; i < file.count; i++) {
        const struct config_entry *entry = &file.entries[i];
        bool yes = strcmp(entry->value, "yes") == 0, known = false;
        uint64_t value;
        assert_string_equal(entry->section, "model");
        for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++)
            if (strcmp(entry->key, numbers[n].key) == 0) {
                assert_true(parse_count(entry->value, 0, UINT32_MAX, &value, &err));
                *numbers[n].number = (uint32_t)value;
                known = true;
            }
        if (strcmp(entry->key, "name") == 0) {
            assert_string_equal(entry->value, name);
            continue;
        }
        if (known || strcmp(entry->key, "perplexity") == 0)
            continue;
        assert_true(yes || strcmp(entry->value, "no") == 0);
        for (size_t n = 0; n < sizeof answers / sizeof answers[0]; n++)
            if (strcmp(entry->key, answers[n].key) == 0) {
                *answers[n].answer = yes;
                known = true;
            }
        if (!known)
            print_error("%s: key %s\n", path, entry->key);
        assert_true(known);
    }
    config_file_free(&file);
    return shape;
}

static struct model built(const char *name, enum quant quant)
{
    struct shape shape = profile(name);
    struct model model;
    struct error err = {.code = STATUS_OK};
    if (!model_from_shape(name, &shape, quant, &model, &err))
        print_error("%s\n", err.text);
    assert_int_equal(err.code, STATUS_OK);
    return model;
}

/* Layers and experts of a real Qwen3-30B-A3B-Q4_K_M.gguf, byte for byte. */
static void test_qwen_route(void **state)
{
    (void)state;
    FILE *file = fopen(route, "r");
    if (file == NULL) {
        print_message("# skipped: no %s\n", route);
        skip();
    }
    struct model model = built("qwen3-30b-a3b", QUANT_Q4_K_M);
    char line[256];
    uint32_t layers = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        uint32_t layer;
        unsigned long long expert_bytes, dense_bytes;
        char name[64];
        if (sscanf(line, "# layer=%u expert_bytes=%llu dense_bytes=%llu", &layer, &expert_bytes, &dense_bytes) != 3)
            continue;
        snprintf(name, sizeof name, "layer%u", layer);
        assert_int_equal(model.blocks[model_find(&model, name)].bytes, dense_bytes);
        for (uint32_t e = 0; e < 128; e++) {
            snprintf(name, sizeof name, "expert%u.%u", layer, e);
            assert_int_equal(model.blocks[model_find(&model, name)].bytes, expert_bytes);
        }
        layers++;
    }
    fclose(file);
    assert_int_equal(layers, 48);
    model_free(&model);
}

/* Sizes of files in bytes / 10^6, as published or (for 3.2-3b and the f16 ones) derived: ../shared/data/catalogue.md,
 * section 9. */
static void test_file_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum quant quant;
        uint64_t megabytes;
    } known[] = {
        {"llama-3.2-1b", QUANT_Q4_0, 771},    {"llama-3.2-1b", QUANT_Q8_0, 1320},
        {"llama-3.2-1b", QUANT_Q4_K_M, 808},  {"llama-3.2-1b", QUANT_F16, 2470},
        {"llama-3.2-3b", QUANT_Q4_0, 1910},   {"llama-3.2-3b", QUANT_Q4_K_M, 2010},
        {"llama-3.2-3b", QUANT_Q8_0, 3410},   {"llama-3.2-3b", QUANT_F16, 6430},
        {"llama-2-7b", QUANT_Q4_0, 3820},     {"llama-2-7b", QUANT_Q4_K_M, 4080},
        {"llama-2-7b", QUANT_Q8_0, 7160},     {"llama-2-7b", QUANT_F16, 13480},
        {"qwen3-30b-a3b", QUANT_Q4_0, 17300}, {"qwen3-30b-a3b", QUANT_Q4_K_M, 18550},
        {"qwen3-30b-a3b", QUANT_Q8_0, 32480}, {"qwen3-30b-a3b", QUANT_F16, 61090},
        {"gemma-2-2b", QUANT_Q4_0, 1620},     {"gemma-2-2b", QUANT_Q4_K_M, 1700},
        {"qwen3-1.7b", QUANT_Q4_0, 1050},     {"qwen3-1.7b", QUANT_Q4_K_M, 1100},
        {"qwen3-1.7b", QUANT_Q8_0, 1830},     {"qwen3-1.7b", QUANT_F16, 3440},
        {"gemma-2-2b", QUANT_Q8_0, 2780},     {"gemma-2-2b", QUANT_F16, 5230},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct model model = built(known[i].name, known[i].quant);
        uint64_t expected = known[i].megabytes * 1000000;
        uint64_t off = model.file_bytes > expected ? model.file_bytes - expected : expected - model.file_bytes;
        print_message("# %s %s: %llu bytes, %.2f %% from %llu MB\n", model.name, model.quant,
                      (unsigned long long)model.file_bytes, 100.0 * (double)off / (double)expected,
                      (unsigned long long)known[i].megabytes);
        assert_true(off * 1000 <= expected * 15);
        assert_true(model.weights_bytes < model.file_bytes);
        model_free(&model);
    }
}

static void test_kv(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t bytes;
    } known[] = {{"llama-3.2-1b", 32768},  {"llama-3.2-3b", 114688}, {"llama-2-7b", 524288},
                 {"qwen3-30b-a3b", 98304}, {"qwen3-1.7b", 114688},   {"gemma-2-2b", 106496}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct model model = built(known[i].name, QUANT_Q4_0);
        assert_int_equal(model.kv_bytes_per_token, known[i].bytes);
        model_free(&model);
    }
}

/* Every extent aligned, inside the file, and none over another. */
static int compare_extents(const void *left, const void *right)
{
    const struct extent *a = left, *b = right;
    return (a->offset_bytes > b->offset_bytes) - (a->offset_bytes < b->offset_bytes);
}

static void check_layout(const struct model *model)
{
    struct extent *sorted = calloc(model->extent_count, sizeof *sorted);
    uint64_t sum = 0, end = 0;
    assert_non_null(sorted);
    memcpy(sorted, model->extents, model->extent_count * sizeof *sorted);
    qsort(sorted, model->extent_count, sizeof *sorted, compare_extents);
    for (uint32_t i = 0; i < model->extent_count; i++) {
        assert_true(sorted[i].offset_bytes >= end);
        end = sorted[i].offset_bytes + sorted[i].bytes;
        sum += sorted[i].bytes;
    }
    free(sorted);
    assert_true(end <= model->file_bytes);
    assert_int_equal(sum, model->weights_bytes);
    for (uint32_t b = 0; b < model->block_count; b++)
        assert_int_equal(model_find(model, model_block_name(model, b)), b);
}

static void test_dense_blocks(void **state)
{
    (void)state;
    struct model model = built("llama-2-7b", QUANT_Q4_0);
    check_layout(&model);
    assert_int_equal(model.block_count, 35);
    assert_int_equal(model.extent_count, 35);
    assert_int_equal(model_find(&model, "token_embd"), 0);
    assert_int_equal(model_find(&model, "layer0"), 1);
    assert_int_equal(model_find(&model, "layer31"), 32);
    assert_int_equal(model_find(&model, "output_norm"), 33);
    assert_int_equal(model_find(&model, "output"), 34);
    static const enum block_kind kinds[] = {BLOCK_EMBEDDING, BLOCK_LAYER, BLOCK_NORM, BLOCK_OUTPUT};
    static const uint32_t ids[] = {0, 32, 33, 34};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(model.blocks[ids[i]].kind, kinds[i]);
    assert_int_equal(model.blocks[32].layer, 31);
    assert_int_equal(model.blocks[0].layer, -1);
    /* 4 * 4096^2 + 3 * 4096 * 11008 weights of 4.5 bits, and two norms */
    assert_int_equal(model.blocks[1].bytes, 202375168ull * 18 / 32 + 2 * 4096 * 4);
    assert_int_equal(model.blocks[1].compute_bytes, model.blocks[1].bytes);
    assert_int_equal(model.blocks[1].matter_count, 1);
    assert_int_equal(model.matters[model.blocks[1].first_matter].elements, 202375168);
    assert_int_equal(model.matters[model.blocks[1].first_matter].type, TYPE_Q4_0);
    assert_int_equal(model.blocks[0].compute_bytes, 4096 * 18 / 32);
    assert_int_equal(model.blocks[0].matter_count, 0);
    assert_int_equal(model.blocks[33].matter_count, 0);
    assert_int_equal(model.matters[model.blocks[34].first_matter].type, TYPE_Q6_K);
    assert_int_equal(model.matters[model.blocks[34].first_matter].elements, 32000 * 4096);
    model_free(&model);
}

static void test_tied_blocks(void **state)
{
    (void)state;
    struct model model = built("llama-3.2-1b", QUANT_Q4_K_M);
    check_layout(&model);
    assert_int_equal(model.block_count, 18);
    assert_int_equal(model_find(&model, "output"), BLOCK_NONE);
    assert_int_equal(model.blocks[0].kind, BLOCK_EMBEDDING);
    assert_int_equal(model.blocks[0].bytes, 128256ull * 2048 / 256 * 210);
    assert_int_equal(model.blocks[0].compute_bytes, model.blocks[0].bytes);
    assert_int_equal(model.matters[model.blocks[0].first_matter].elements, 128256 * 2048);
    assert_int_equal(model.blocks[1].matter_count, 2); /* q4_k and q6_k */
    model_free(&model);
}

static void test_expert_blocks(void **state)
{
    (void)state;
    struct model model = built("qwen3-30b-a3b", QUANT_Q4_K_M);
    check_layout(&model);
    assert_int_equal(model.block_count, 1 + 48 * 129 + 2);
    block_id e17 = model_find(&model, "expert0.17"), e18 = model_find(&model, "expert0.18");
    assert_int_equal(e17, 1 + 1 + 17);
    const struct block *block = &model.blocks[e17];
    assert_int_equal(block->kind, BLOCK_EXPERT);
    assert_int_equal(block->layer, 0);
    assert_int_equal(block->expert, 17);
    assert_int_equal(block->extent_count, 3);
    for (uint32_t i = 0; i < 3; i++) { /* the next expert's slice lies right behind, in each tensor */
        const struct extent *slice = &model.extents[block->first_extent + i];
        assert_int_equal(slice->bytes, i == 0 ? 1290240 : 884736);
        assert_int_equal(slice->offset_bytes + slice->bytes,
                         model.extents[model.blocks[e18].first_extent + i].offset_bytes);
    }
    assert_int_equal(block->matter_count, 2);
    const struct block *shared = &model.blocks[model_find(&model, "layer0")];
    assert_int_equal(shared->extent_count, 2); /* the experts lie between the first norm and the rest */
    uint64_t elements = 0;
    for (uint32_t i = 0; i < shared->matter_count; i++)
        elements += model.matters[shared->first_matter + i].elements;
    assert_int_equal(elements, 2048ull * (4096 * 2 + 512 * 2 + 128));
    model_free(&model);
}

/* A width of 24 leaves norms of 96 bytes and gaps behind a tensor of 24 * 5 * 2 = 240: padding is no part of a block.
 */
static void test_padding(void **state)
{
    (void)state;
    struct shape shape = {.layers = 2, .width = 24, .vocab = 5, .heads = 2, .kv_heads = 1, .head_size = 3, .ffn = 7};
    struct model model;
    struct error err = {.code = STATUS_OK};
    assert_true(model_from_shape("odd", &shape, QUANT_F16, &model, &err));
    check_layout(&model);
    for (uint32_t i = 0; i < model.extent_count; i++)
        assert_int_equal(model.extents[i].offset_bytes % 32, 0);
    /* norm 96; down, up 336 each; norm 96; k 144; output and q 288 each; v 144: an extent ends at each odd size */
    const struct block *layer = &model.blocks[1];
    assert_int_equal(layer->bytes, 96 + 336 + 336 + 96 + 144 + 288 + 288 + 144);
    assert_int_equal(layer->extent_count, 4);
    assert_int_equal(model.extents[layer->first_extent].bytes, 96 + 336);
    assert_int_equal(model.kv_bytes_per_token, 2 * 1 * 3 * 4);
    model_free(&model);
}

static void test_shared_expert(void **state)
{
    (void)state;
    struct shape shape = {.layers = 1,
                          .width = 256,
                          .vocab = 256,
                          .heads = 2,
                          .kv_heads = 1,
                          .head_size = 128,
                          .experts = 4,
                          .experts_used = 2,
                          .expert_ffn = 256,
                          .gated = true};
    struct model without, with;
    struct error err = {.code = STATUS_OK};
    assert_true(model_from_shape("m", &shape, QUANT_F32, &without, &err));
    shape.shared_ffn = 512;
    assert_true(model_from_shape("m", &shape, QUANT_F32, &with, &err));
    check_layout(&with);
    assert_int_equal(with.blocks[1].bytes - without.blocks[1].bytes, 3 * 256 * 512 * 4);
    assert_int_equal(with.weights_bytes - without.weights_bytes, 3 * 256 * 512 * 4);
    model_free(&without);
    model_free(&with);
}

static void test_bad_shapes(void **state)
{
    (void)state;
    const struct shape good = {
        .layers = 2, .width = 64, .vocab = 5, .heads = 4, .kv_heads = 2, .head_size = 16, .ffn = 64};
    struct shape bad[18];
    static const char *const messages[] = {"layers",     "width",        "vocab",        "heads",      "kv_heads",
                                           "head_size",  "ffn",          "layers",       "multiple",   "expert_ffn",
                                           "shared_ffn", "experts_used", "experts_used", "expert_ffn", "blocks",
                                           "2^63",       "window",       "window_layers"};
    for (size_t i = 0; i < 18; i++)
        bad[i] = good;
    bad[0].layers = 0;
    bad[1].width = 0;
    bad[2].vocab = 0;
    bad[3].heads = 0;
    bad[4].kv_heads = 0;
    bad[5].head_size = 0;
    bad[6].ffn = 0;
    bad[7].layers = SHAPE_MAX + 1;
    bad[8].kv_heads = 3;
    bad[9].expert_ffn = 1;
    bad[10].shared_ffn = 1;
    bad[11].experts = 4;
    bad[11].experts_used = 5;
    bad[11].expert_ffn = 4;
    bad[12].experts_used = 1;
    bad[13].experts = 4;
    bad[13].experts_used = 1;
    bad[14] = bad[13];
    bad[14].expert_ffn = 1;
    bad[14].layers = MODEL_BLOCKS_MAX;
    bad[15].width = bad[15].ffn = SHAPE_MAX;
    bad[15].layers = 1 << 18;
    bad[16].window = SHAPE_MAX + 1;
    bad[17].window_layers = 3;
    for (size_t i = 0; i < 18; i++) {
        struct model model;
        struct error err = {.code = STATUS_OK};
        assert_false(model_from_shape("m", &bad[i], QUANT_F32, &model, &err));
        assert_int_equal(err.code, STATUS_USAGE);
        if (strstr(err.text, messages[i]) == NULL)
            print_error("case %zu: %s\n", i, err.text);
        assert_non_null(strstr(err.text, messages[i]));
    }
    struct shape huge = good; /* a matrix whose elements overflow */
    huge.width = huge.heads = huge.head_size = huge.kv_heads = SHAPE_MAX;
    struct model model;
    struct error err = {.code = STATUS_OK};
    assert_false(model_from_shape("m", &huge, QUANT_F32, &model, &err));
    assert_int_equal(err.code, STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qwen_route),   cmocka_unit_test(test_file_sizes),    cmocka_unit_test(test_kv),
        cmocka_unit_test(test_dense_blocks), cmocka_unit_test(test_tied_blocks),   cmocka_unit_test(test_expert_blocks),
        cmocka_unit_test(test_padding),      cmocka_unit_test(test_shared_expert), cmocka_unit_test(test_bad_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
