/* safetensors files and indexes that are damaged: one line for each, and never a crash. */
#include "base/rng.h"
#include "tests/unit/workloads/safetensors_file.h"

static void check_refused(const char *name, const char *message)
{
    struct model model;
    struct error err;
    const bool ok = load(name, &model, &err);
    if (ok || strstr(err.text, message) == NULL || strstr(err.text, folder) == NULL)
        fail_because("%s: \"%s\" without \"%s\"", name, ok ? "accepted" : err.text, message);
    assert_int_equal(err.code, STATUS_INPUT);
}

#define T(dtype, shape, begin, end)                                                                                    \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void test_headers(void **state)
{
    (void)state;
    static const struct {
        const char *header, *message;
    } cases[] = {
        {"[]", "offset 8: the header does not begin with {"},
        {"{\"a\":", "offset 13: the header: "},
        {"{\"a\":" T("F32", "[1]", 0, 4) ",\"a\":" T("F32", "[1]", 4, 8) "}", "the header: duplicate object key"},
        {"{}", "its tensors take 0 bytes of data: expected all 8"},
        {"{\"a\":1}", "tensor \"a\": no object"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "tensor \"a\": data_offsets is missing"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", "tensor \"a\": dtype is missing"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", "unknown key \"x\""},
        {"{\"a\":" T("f32", "[2]", 0, 8) "}", "unknown dtype \"f32\": did you mean F32?"},
        {"{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}", "dtype is no string"},
        {"{\"a\":" T("F32", "2", 0, 8) "}", "shape is no array"},
        {"{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]", 0, 8) "}", "shape is no array of at most 16"},
        {"{\"a\":" T("F32", "[-2]", 0, 8) "}", "shape[0] is no whole number"},
        {"{\"a\":" T("F32", "[1,2.0]", 0, 8) "}", "shape[1] is no whole number"},
        {"{\"a\":" T("F32", "[4294967296,4294967296]", 0, 8) "}", "shape has more than 2^64 elements"},
        {"{\"a\":" T("F32", "[4294967296,1073741824]", 0, 8) "}", "shape takes more than 2^64 bytes"},
        {"{\"a\":" T("F32", "[2]", 0, 9) "}", "data_offsets 0 to 9: expected a range within the 8 bytes"},
        {"{\"a\":" T("F32", "[2]", 8, 0) "}", "data_offsets 8 to 0"},
        {"{\"a\":" T("F32", "[2]", -8, 0) "}", "data_offsets is no pair"},
        {"{\"a\":" T("F32", "[1]", 0, 8) "}", "data_offsets span 8 bytes: dtype and shape take 4"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4,8]}}", "data_offsets is no pair"},
        {"{\"a\":" T("F32", "[1]", 4, 8) "}", "begins at 4 of the data: expected 0"},
        {"{\"a\":" T("F32", "[2]", 0, 8) ",\"b\":" T("F32", "[1]", 4, 8) "}", "they overlap"},
        {"{\"a\":" T("F32", "[1]", 0, 4) "}", "take 4 bytes of data: expected all 8"},
        {"{\"a\":" T("U8", "[2]", 0, 2) ",\"b\":" T("U8", "[5]", 3, 8) "}", "between them is a hole"},
        {"{\"\":" T("F32", "[2]", 0, 8) "}", "a tensor's name has 0 bytes"},
        {"{\"a\\u0007\":" T("F32", "[2]", 0, 8) "}", "its name holds a control character"},
        {"{\"__metadata__\":{\"a\":1},\"a\":" T("F32", "[2]", 0, 8) "}", "__metadata__: \"a\" is no string"},
        {"{\"__metadata__\":[],\"a\":" T("F32", "[2]", 0, 8) "}", "__metadata__ is no object"},
        {"{\"model.layers.0.mlp.experts.up\":" T("U8", "[4]", 0,
                                                 4) ",\"model.layers.0.mlp.experts.down\":" T("U8", "[2,2]", 4, 8) "}",
         "tensor \"model.layers.0.mlp.experts.down\" holds 2 experts in 4 bytes: expected 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file("bad.safetensors", strlen(cases[i].header), cases[i].header, 8);
        check_refused("bad.safetensors", cases[i].message);
    }
}

static void test_lengths(void **state)
{
    (void)state;
    static const char header[] = "{\"a\":" T("F32", "[2]", 0, 8) "}";
    put_file("bad.safetensors", sizeof header - 1 + 9, header, 8);
    check_refused("bad.safetensors", "offset 0: a header of");
    put_file("bad.safetensors", UINT64_MAX, header, 8);
    check_refused("bad.safetensors", "offset 0: a header of 18446744073709551615 bytes");
    put_file("bad.safetensors", 0, header, 8);
    check_refused("bad.safetensors", "offset 0: a header of 0 bytes");
    put_text("bad.safetensors", "GGUF");
    check_refused("bad.safetensors", "4 bytes are no safetensors file");
}

/* Every shorter file is refused, and any byte may have any value. */
static void test_altered(void **state)
{
    (void)state;
    struct header header = {.length = 0};
    struct rng rng;
    char path[128];
    unsigned char bytes[1024];
    add_tensor(&header, "model.embed_tokens.weight", "F16", "3,4", 24);
    add_tensor(&header, "model.layers.0.mlp.experts.up", "F8_E4M3", "2,4,1", 8);
    add_tensor(&header, "lm_head.weight", "F16", "3,4", 24);
    put_header("good.safetensors", &header);
    FILE *file = fopen(in_folder("good.safetensors", path), "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(size, 8 + header.length + 1 + 56);
    uint32_t accepted = 0, refused = 0;
    rng_seed(&rng, 1, 0);
    for (size_t at = 0; at < size - 56; at++)
        for (int i = 0; i < 3; i++) {
            const unsigned char kept = bytes[at];
            struct model model;
            struct error err;
            bytes[at] = i == 0 ? '9' : (unsigned char)rng_below(&rng, 256);
            file = fopen(in_folder("bad.safetensors", path), "wb");
            assert_non_null(file);
            assert_int_equal(fwrite(bytes, 1, size, file), size);
            assert_int_equal(fclose(file), 0);
            bytes[at] = kept;
            if (!load("bad.safetensors", &model, &err)) {
                assert_int_equal(err.code, STATUS_INPUT);
                refused++;
                continue;
            }
            accepted++;
            assert_int_equal(model.weights_bytes, 56);
            for (uint32_t e = 0; e < model.extent_count; e++)
                assert_true(model.extents[e].offset_bytes + model.extents[e].bytes <= size);
            model_free(&model);
        }
    assert_true(accepted > 50 && refused > 50);
    in_folder("good.safetensors", path);
    for (size_t less = size; less-- > 0;) {
        assert_int_equal(truncate(path, (off_t)less), 0);
        check_refused("good.safetensors", "good.safetensors");
    }
}

static void put_parts(void)
{
    struct header one = {.length = 0}, two = {.length = 0};
    add_tensor(&one, "a", "F32", "2", 8);
    add_tensor(&two, "b", "F32", "2", 8);
    put_header("one.safetensors", &one);
    put_header("two.safetensors", &two);
}

static void test_indexes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "index.json:"},
        {"[1]", "no weight_map"},
        {"{\"weight_map\": []}", "no weight_map"},
        {"{\"weight_map\": {}}", "weight_map has 0 tensors"},
        {"{\"weight_map\": {\"a\": 1}}", "\"a\": expected a file of the same folder"},
        {"{\"weight_map\": {\"a\": \"../one.safetensors\"}}", "\"a\": expected a file of the same folder"},
        {"{\"weight_map\": {\"a\": \"/etc/passwd\"}}", "\"a\": expected a file of the same folder"},
        {"{\"weight_map\": {\"a\": \"one.safetensors\", \"b\": \"one.safetensors\"}}",
         "one.safetensors has no tensor \"b\""},
        {"{\"weight_map\": {\"a\": \"two.safetensors\", \"b\": \"one.safetensors\"}}",
         "two.safetensors has no tensor \"a\""},
        {"{\"weight_map\": {\"a\": \"one.safetensors\", \"b\": \"two.safetensors\", \"a\": \"two.safetensors\"}}",
         "duplicate"},
        {"{\"weight_map\": {\"c\": \"one.safetensors\"}}", "one.safetensors has no tensor \"c\""},
    };
    put_parts();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_text("x.safetensors.index.json", cases[i].text);
        check_refused("x.safetensors.index.json", cases[i].message);
    }
    struct header more = {.length = 0};
    add_tensor(&more, "b", "F32", "2", 8);
    add_tensor(&more, "a", "F32", "2", 8);
    put_header("two.safetensors", &more);
    put_text("x.safetensors.index.json", "{\"weight_map\": {\"a\": \"one.safetensors\", \"b\": \"two.safetensors\"}}");
    check_refused("x.safetensors.index.json", "two of its files have a tensor \"a\"");
    put_text("x.safetensors.index.json", "{\"weight_map\": {\"b\": \"two.safetensors\"}}");
    check_refused("x.safetensors.index.json", "weight_map has no tensor \"a\", which is in two.safetensors");
    struct model model;
    struct error err;
    put_text("x.safetensors.index.json", "{\"weight_map\": {\"a\": \"three.safetensors\"}}");
    assert_false(load("x.safetensors.index.json", &model, &err));
    assert_int_equal(err.code, STATUS_IO);
}

/* A config.json beside that is of another model. */
static void test_config_beside(void **state)
{
    (void)state;
    static const char text[] = "{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": %d, \"vocab_size\": 3,"
                               "\"intermediate_size\": 2, \"num_attention_heads\": 1, \"num_hidden_layers\": %d}";
    struct header header = {.length = 0};
    struct model model;
    struct error err;
    char config[512];
    add_tensor(&header, "model.embed_tokens.weight", "F16", "3,4", 24);
    add_tensor(&header, "model.layers.0.mlp.up_proj.weight", "F16", "2,4", 16);
    put_header("x.safetensors", &header);
    snprintf(config, sizeof config, text, 4, 1);
    put_text("config.json", config);
    assert_true(load("x.safetensors", &model, &err));
    model_free(&model);
    snprintf(config, sizeof config, text, 4, 2);
    put_text("config.json", config);
    check_refused("x.safetensors", "config.json: num_hidden_layers is 2, but ");
    snprintf(config, sizeof config, text, 8, 1);
    put_text("config.json", config);
    check_refused("x.safetensors", "has 3 rows of 4");
    put_text("config.json", "{\"architectures\": [\"FalconForCausalLM\"]}");
    check_refused("x.safetensors", "\"FalconForCausalLM\" is not modelled");
}

/* A config.json beside that counts other layers or experts. */
static void test_experts_beside(void **state)
{
    (void)state;
    static const struct {
        int experts, layers[3]; /* of each layer how many experts it has; -1: no such layer */
        const char *message;
    } cases[] = {
        {2, {2, 2, 2}, NULL},
        {4, {2, 2, 2}, "its layers have 2 experts: expected 4, as its config.json says"},
        {1, {2, 2, 2}, "its layers have 2 experts: expected 1,"},
        {2, {0, 0, 0}, "its layers have 0 experts: expected 2,"},
        {2, {2, 1, 2}, "its layers together have 5 experts: expected 6,"},
        {2, {2, -1, 2}, "no tensor of layer 1, of 3 in its config.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct header header = {.length = 0};
        struct model model;
        struct error err;
        char text[512];
        for (int layer = 0; layer < 3; layer++) {
            snprintf(text, sizeof text, "model.layers.%d.block_sparse_moe.gate.weight", layer);
            if (cases[i].layers[layer] >= 0)
                add_tensor(&header, text, "F16", "2,4", 16);
            for (int expert = 0; expert < cases[i].layers[layer]; expert++) {
                snprintf(text, sizeof text, "model.layers.%d.block_sparse_moe.experts.%d.w1.weight", layer, expert);
                add_tensor(&header, text, "F16", "2,4", 16);
            }
        }
        put_header("x.safetensors", &header);
        snprintf(text, sizeof text,
                 "{\"architectures\": [\"MixtralForCausalLM\"], \"hidden_size\": 4, \"vocab_size\": 3,"
                 "\"intermediate_size\": 2, \"num_attention_heads\": 1, \"num_key_value_heads\": 1,"
                 "\"num_hidden_layers\": 3, \"num_local_experts\": %d, \"num_experts_per_tok\": 1}",
                 cases[i].experts);
        put_text("config.json", text);
        if (cases[i].message != NULL) {
            check_refused("x.safetensors", cases[i].message);
            continue;
        }
        if (!load("x.safetensors", &model, &err))
            fail_because("%s", err.text);
        model_free(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_headers, empty_folder),
        cmocka_unit_test_teardown(test_lengths, empty_folder),
        cmocka_unit_test_teardown(test_altered, empty_folder),
        cmocka_unit_test_teardown(test_indexes, empty_folder),
        cmocka_unit_test_teardown(test_config_beside, empty_folder),
        cmocka_unit_test_teardown(test_experts_beside, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
