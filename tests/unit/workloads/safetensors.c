/* safetensors files that are good: blocks, offsets, parts and shapes. */
#include "tests/unit/workloads/safetensors_file.h"

static void check_block(const struct model *model, block_id b, const char *name, enum block_kind kind, int32_t layer,
                        int32_t expert, uint64_t bytes, uint64_t offset)
{
    assert_string_equal(model_block_name(model, b), name);
    assert_int_equal(model->blocks[b].kind, kind);
    assert_int_equal(model->blocks[b].layer, layer);
    assert_int_equal(model->blocks[b].expert, expert);
    assert_int_equal(model->blocks[b].bytes, bytes);
    assert_int_equal(model->extents[model->blocks[b].first_extent].offset_bytes, offset);
}

static void must_load(const char *name, struct model *model)
{
    struct error err;
    if (!load(name, model, &err))
        fail_because("%s", err.text);
}

/* One layer of width 8: norms of 16 bytes, attention of 64 + 32 + 32 + 64 numbers, an FFN of 3 * 128, in bf16. */
static void add_layer(struct header *header, int layer)
{
    static const struct {
        const char *name, *shape;
        uint64_t bytes;
    } parts[] = {{"input_layernorm", "8", 16},          {"self_attn.q_proj", "8,8", 128},
                 {"self_attn.k_proj", "4,8", 64},       {"self_attn.v_proj", "4,8", 64},
                 {"self_attn.o_proj", "8,8", 128},      {"self_attn.q_norm", "4", 8},
                 {"post_attention_layernorm", "8", 16}, {"mlp.gate_proj", "16,8", 256},
                 {"mlp.up_proj", "16,8", 256},          {"mlp.down_proj", "8,16", 256}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[96];
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", layer, parts[i].name);
        add_tensor(header, name, "BF16", parts[i].shape, parts[i].bytes);
    }
}
enum { LAYER_BYTES = 16 + 128 + 64 + 64 + 128 + 8 + 16 + 3 * 256 };

static const char config_text[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 8, \"intermediate_size\": 16,\n"
    " \"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"num_hidden_layers\": 2, \"vocab_size\": 10}\n";

static void put_dense(const char *name, bool with_head)
{
    struct header header = {.length = 0};
    add_tensor(&header, "model.embed_tokens.weight", "BF16", "10,8", 160);
    add_layer(&header, 0);
    add_layer(&header, 1);
    add_tensor(&header, "model.norm.weight", "BF16", "8", 16);
    add_tensor(&header, "rotary.inv_freq", "F32", "2", 8);
    if (with_head)
        add_tensor(&header, "lm_head.weight", "F32", "10,8", 320);
    put_header(name, &header);
}

static void test_dense(void **state)
{
    (void)state;
    struct model model;
    put_dense("dense.safetensors", true);
    put_text("config.json", config_text);
    must_load("dense.safetensors", &model);
    const uint64_t start = model.file_bytes - model.weights_bytes; /* data without holes end the file */
    assert_int_equal(model.weights_bytes, 160 + 2 * LAYER_BYTES + 16 + 8 + 320);
    assert_int_equal(model.block_count, 6);
    check_block(&model, 0, "token_embd", BLOCK_EMBEDDING, -1, -1, 160, start);
    check_block(&model, 1, "layer0", BLOCK_LAYER, 0, -1, LAYER_BYTES, start + 160);
    check_block(&model, 2, "layer1", BLOCK_LAYER, 1, -1, LAYER_BYTES, start + 160 + LAYER_BYTES);
    check_block(&model, 3, "output_norm", BLOCK_NORM, -1, -1, 16, start + 160 + 2 * LAYER_BYTES);
    check_block(&model, 4, "output", BLOCK_OUTPUT, -1, -1, 320, start + 160 + 2 * LAYER_BYTES + 24);
    check_block(&model, 5, "other", BLOCK_OTHER, -1, -1, 8, start + 160 + 2 * LAYER_BYTES + 16);
    assert_int_equal(model.blocks[1].extent_count, 1);
    assert_int_equal(model.blocks[0].compute_bytes, 16); /* a row */
    assert_int_equal(model.blocks[0].matter_count, 0);
    assert_int_equal(model.blocks[1].matter_count, 1); /* norms are not multiplied with */
    const struct matter *matter = &model.matters[model.blocks[1].first_matter];
    assert_int_equal(matter->type, TYPE_BF16);
    assert_int_equal(matter->elements, 64 + 32 + 32 + 64 + 3 * 128);
    assert_int_equal(model.matters[model.blocks[4].first_matter].type, TYPE_F32);
    assert_int_equal(model.part_bytes[PART_EMBEDDING], 160);
    assert_int_equal(model.part_bytes[PART_ATTENTION], 2 * 384);
    assert_int_equal(model.part_bytes[PART_FFN], 2 * 768);
    assert_int_equal(model.part_bytes[PART_EXPERTS], 0);
    assert_int_equal(model.part_bytes[PART_NORMS], 2 * 40 + 16);
    assert_int_equal(model.part_bytes[PART_OUTPUT], 320);
    assert_int_equal(model.part_bytes[PART_OTHER], 8);
    assert_string_equal(model.name, "dense");
    assert_string_equal(model.quant, "bf16");
    assert_int_equal(model.shape.layers, 2);
    assert_int_equal(model.shape.head_size, 4);
    assert_false(model.shape.tied);
    assert_int_equal(model.kv_bytes_per_token, 2 * 1 * 4 * 4);
    model_free(&model);
}

/* Without lm_head the embedding is the head, whatever the config says; without a config there is no shape. */
static void test_tied(void **state)
{
    (void)state;
    struct model model;
    put_dense("tied.safetensors", false);
    must_load("tied.safetensors", &model);
    assert_int_equal(model.shape.layers, 0);
    assert_int_equal(model.kv_bytes_per_token, 0);
    assert_int_equal(model.blocks[0].compute_bytes, 160);
    assert_int_equal(model.matters[model.blocks[0].first_matter].elements, 80);
    model_free(&model);
    put_text("config.json", config_text);
    must_load("tied.safetensors", &model);
    assert_true(model.shape.tied);
    model_free(&model);
}

/* Experts one by one (both spellings), stacked ones, a shared one and a router; packed integers. */
static void test_experts(void **state)
{
    (void)state;
    struct header header = {.length = 0};
    struct model model;
    add_tensor(&header, "model.layers.0.mlp.gate.weight", "F32", "2,4", 32);
    add_tensor(&header, "model.layers.0.mlp.experts.0.up_proj.weight", "F8_E4M3", "6,4", 24);
    add_tensor(&header, "model.layers.0.mlp.experts.1.up_proj.weight", "F8_E4M3", "6,4", 24);
    add_tensor(&header, "model.layers.0.mlp.experts.0.down_proj.weight", "F8_E5M2", "4,6", 24);
    add_tensor(&header, "model.layers.0.mlp.experts.1.down_proj.weight", "F8_E5M2", "4,6", 24);
    add_tensor(&header, "model.layers.0.mlp.shared_expert.up_proj.weight", "F16", "3,4", 24);
    add_tensor(&header, "model.layers.1.block_sparse_moe.experts.11.w1.weight", "I8", "5", 5);
    add_tensor(&header, "model.layers.1.self_attn.q_proj.qweight", "U32", "2,4", 32);
    add_tensor(&header, "model.layers.2.mlp.experts.gate_up_proj", "BF16", "3,4,2", 48);
    add_tensor(&header, "model.layers.2.mlp.experts.gate_up_proj_bias", "BF16", "3,2", 12);
    add_tensor(&header, "model.language_model.layers.x.mlp", "BOOL", "", 1);
    put_header("moe.safetensors", &header);
    must_load("moe.safetensors", &model);
    const uint64_t start = model.file_bytes - model.weights_bytes;
    assert_int_equal(model.block_count, 9);
    check_block(&model, 0, "layer0", BLOCK_LAYER, 0, -1, 32 + 24, start);
    check_block(&model, 1, "expert0.0", BLOCK_EXPERT, 0, 0, 48, start + 32);
    check_block(&model, 2, "expert0.1", BLOCK_EXPERT, 0, 1, 48, start + 56);
    check_block(&model, 3, "layer1", BLOCK_LAYER, 1, -1, 32, start + 157);
    check_block(&model, 4, "expert1.11", BLOCK_EXPERT, 1, 11, 5, start + 152);
    for (block_id e = 0; e < 3; e++) {
        char name[16];
        snprintf(name, sizeof name, "expert2.%u", e);
        check_block(&model, 5 + e, name, BLOCK_EXPERT, 2, (int32_t)e, 20, start + 189 + 16 * e);
        assert_int_equal(model.blocks[5 + e].extent_count, 2);
        assert_int_equal(model.extents[model.blocks[5 + e].first_extent + 1].offset_bytes, start + 237 + 4 * e);
        assert_int_equal(model.matters[model.blocks[5 + e].first_matter].elements, 8); /* not the bias */
    }
    check_block(&model, 8, "other", BLOCK_OTHER, -1, -1, 1, start + 249);
    assert_int_equal(model.blocks[1].matter_count, 2);
    assert_int_equal(model.blocks[3].matter_count, 0); /* nobody knows how many weights they are */
    assert_int_equal(model.part_bytes[PART_EXPERTS], 2 * 48 + 5 + 60);
    assert_int_equal(model.part_bytes[PART_FFN], 32 + 24);
    assert_int_equal(model.part_bytes[PART_ATTENTION], 32);
    model_free(&model);
}

/* Two files and their index: offsets as if they followed one another. */
static void test_sharded(void **state)
{
    (void)state;
    struct header first = {.length = 0}, second = {.length = 0};
    struct model model;
    struct error err;
    add_tensor(&first, "model.embed_tokens.weight", "F16", "3,4", 24);
    add_tensor(&first, "model.layers.0.mlp.up_proj.weight", "F16", "2,4", 16);
    add_tensor(&second, "model.layers.0.mlp.down_proj.weight", "F16", "4,2", 16);
    add_tensor(&second, "model.layers.1.mlp.up_proj.weight", "F16", "2,4", 16);
    put_header("model-00001-of-00002.safetensors", &first);
    put_header("model-00002-of-00002.safetensors", &second);
    put_text("model.safetensors.index.json",
             "{\"metadata\": {\"total_size\": 72}, \"weight_map\": {\n"
             "\"model.layers.1.mlp.up_proj.weight\": \"model-00002-of-00002.safetensors\",\n"
             "\"model.layers.0.mlp.down_proj.weight\": \"model-00002-of-00002.safetensors\",\n"
             "\"model.layers.0.mlp.up_proj.weight\": \"model-00001-of-00002.safetensors\",\n"
             "\"model.embed_tokens.weight\": \"model-00001-of-00002.safetensors\"}}\n");
    must_load("model.safetensors.index.json", &model);
    const uint64_t one = 8 + first.length + 1 + 40, two = 8 + second.length + 1;
    assert_int_equal(model.file_bytes, one + two + 32);
    assert_int_equal(model.block_count, 3);
    check_block(&model, 1, "layer0", BLOCK_LAYER, 0, -1, 32, one - 16);
    assert_int_equal(model.blocks[1].extent_count, 2);
    check_block(&model, 2, "layer1", BLOCK_LAYER, 1, -1, 16, one + two + 16);
    assert_string_equal(model.name, strrchr(folder, '/') + 1); /* all checkpoints have files of this name */
    model_free(&model);
    assert_false(load("model-00001-of-00002.safetensors", &model, &err));
    assert_non_null(strstr(err.text, "one of the 2 files of a model: expected their index"));
}

/* The padding, the metadata and tensors without elements that the format allows. */
static void test_format(void **state)
{
    (void)state;
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                                 "\"z\":{\"dtype\":\"F64\",\"shape\":[0,3],\"data_offsets\":[2,2]},"
                                 "\"b\":{\"dtype\":\"U16\",\"shape\":[1],\"data_offsets\":[0,2]},"
                                 "\"a\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[2,10]}}   ";
    struct model model;
    put_file("x.safetensors", sizeof header - 1, header, 10);
    must_load("x.safetensors", &model);
    assert_int_equal(model.block_count, 1);
    check_block(&model, 0, "other", BLOCK_OTHER, -1, -1, 10, 8 + sizeof header - 1);
    model_free(&model);
}

static void test_kinds(void **state)
{
    (void)state;
    char label[64];
    assert_int_equal(model_file_kind("a/x.safetensors"), MODEL_FILE_SAFETENSORS);
    assert_int_equal(model_file_kind("model.safetensors.index.json"), MODEL_FILE_SAFETENSORS);
    assert_int_equal(model_file_kind("Qwen/config.json"), MODEL_FILE_CONFIG);
    assert_int_equal(model_file_kind("qwen.json"), MODEL_FILE_CONFIG);
    assert_int_equal(model_file_kind("x.gguf"), MODEL_FILE_GGUF);
    assert_int_equal(model_file_kind("json"), MODEL_FILE_GGUF);
    static const char *const labels[][2] = {{"a/b/x.gguf", "x"},
                                            {"a/Llama/config.json", "Llama"},
                                            {"config.json", "config"},
                                            {"/config.json", "config"},
                                            {"../config.json", "config"},
                                            {"a/model.safetensors", "a"},
                                            {"a/other.safetensors", "other"},
                                            {"q.safetensors.index.json", "q"},
                                            {".gguf", ".gguf"}};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        model_file_label(labels[i][0], label, sizeof label);
        assert_string_equal(label, labels[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_dense, empty_folder),   cmocka_unit_test_teardown(test_tied, empty_folder),
        cmocka_unit_test_teardown(test_experts, empty_folder), cmocka_unit_test_teardown(test_sharded, empty_folder),
        cmocka_unit_test_teardown(test_format, empty_folder),  cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
