/* config.json: the numbers of real checkpoints, and one line for what is not understood. */
#include "workloads/hf_config.h"
#include "tests/unit/workloads/safetensors_file.h"

/* The keys that matter of the files that their makers publish (huggingface.co/NAME/blob/main/config.json). */
static const struct {
    const char *text;
    struct shape shape;
} checkpoints[] = {
    {"{\"architectures\": [\"LlamaForCausalLM\"], \"head_dim\": 64, \"hidden_size\": 2048, \"num_hidden_layers\": 16,"
     "\"intermediate_size\": 8192, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"attention_bias\": false,"
     "\"mlp_bias\": false, \"tie_word_embeddings\": true, \"vocab_size\": 128256, \"rope_theta\": 500000.0}",
     {.layers = 16,
      .width = 2048,
      .vocab = 128256,
      .heads = 32,
      .kv_heads = 8,
      .head_size = 64,
      .ffn = 8192,
      .tied = true,
      .gated = true}},
    {"{\"architectures\": [\"MistralForCausalLM\"], \"hidden_size\": 4096, \"num_hidden_layers\": 32,"
     "\"intermediate_size\": 14336, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"sliding_window\": 4096,"
     "\"tie_word_embeddings\": false, \"vocab_size\": 32000, \"head_dim\": null}",
     {.layers = 32,
      .width = 4096,
      .vocab = 32000,
      .heads = 32,
      .kv_heads = 8,
      .head_size = 128,
      .ffn = 14336,
      .gated = true}},
    {"{\"architectures\": [\"MixtralForCausalLM\"], \"hidden_size\": 4096, \"num_hidden_layers\": 32,"
     "\"intermediate_size\": 14336, \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"sliding_window\": null,"
     "\"num_experts_per_tok\": 2, \"num_local_experts\": 8, \"vocab_size\": 32000}",
     {.layers = 32,
      .width = 4096,
      .vocab = 32000,
      .heads = 32,
      .kv_heads = 8,
      .head_size = 128,
      .experts = 8,
      .experts_used = 2,
      .expert_ffn = 14336,
      .gated = true}},
    {"{\"architectures\": [\"Qwen2ForCausalLM\"], \"hidden_size\": 3584, \"num_hidden_layers\": 28,"
     "\"intermediate_size\": 18944, \"num_attention_heads\": 28, \"num_key_value_heads\": 4, \"vocab_size\": 152064,"
     "\"tie_word_embeddings\": false, \"use_sliding_window\": false, \"sliding_window\": 131072}",
     {.layers = 28,
      .width = 3584,
      .vocab = 152064,
      .heads = 28,
      .kv_heads = 4,
      .head_size = 128,
      .ffn = 18944,
      .gated = true,
      .attn_bias = true}},
    {"{\"architectures\": [\"Qwen2MoeForCausalLM\"], \"hidden_size\": 2048, \"num_hidden_layers\": 24,"
     "\"intermediate_size\": 5632, \"moe_intermediate_size\": 1408, \"shared_expert_intermediate_size\": 5632,"
     "\"num_attention_heads\": 16, \"num_key_value_heads\": 16, \"num_experts\": 60, \"num_experts_per_tok\": 4,"
     "\"decoder_sparse_step\": 1, \"vocab_size\": 151936}",
     {.layers = 24,
      .width = 2048,
      .vocab = 151936,
      .heads = 16,
      .kv_heads = 16,
      .head_size = 128,
      .ffn = 5632,
      .experts = 60,
      .experts_used = 4,
      .expert_ffn = 1408,
      .shared_ffn = 5632,
      .gated = true,
      .attn_bias = true}},
    {"{\"architectures\": [\"Qwen3ForCausalLM\"], \"attention_bias\": false, \"head_dim\": 128, \"hidden_size\": 2048,"
     "\"intermediate_size\": 6144, \"num_attention_heads\": 16, \"num_hidden_layers\": 28, \"num_key_value_heads\": 8,"
     "\"tie_word_embeddings\": true, \"vocab_size\": 151936}",
     {.layers = 28,
      .width = 2048,
      .vocab = 151936,
      .heads = 16,
      .kv_heads = 8,
      .head_size = 128,
      .ffn = 6144,
      .tied = true,
      .gated = true,
      .qk_norm = true}},
    {"{\"architectures\": [\"Qwen3MoeForCausalLM\"], \"decoder_sparse_step\": 1, \"head_dim\": 128,"
     "\"hidden_size\": 2048, \"intermediate_size\": 6144, \"mlp_only_layers\": [], \"moe_intermediate_size\": 768,"
     "\"num_attention_heads\": 32, \"num_experts\": 128, \"num_experts_per_tok\": 8, \"num_hidden_layers\": 48,"
     "\"num_key_value_heads\": 4, \"tie_word_embeddings\": false, \"vocab_size\": 151936}",
     {.layers = 48,
      .width = 2048,
      .vocab = 151936,
      .heads = 32,
      .kv_heads = 4,
      .head_size = 128,
      .ffn = 6144,
      .experts = 128,
      .experts_used = 8,
      .expert_ffn = 768,
      .gated = true,
      .qk_norm = true}},
    {"{\"architectures\": [\"OlmoeForCausalLM\"], \"hidden_size\": 2048, \"intermediate_size\": 1024,"
     "\"num_attention_heads\": 16, \"num_experts\": 64, \"num_experts_per_tok\": 8, \"num_hidden_layers\": 16,"
     "\"num_key_value_heads\": 16, \"vocab_size\": 50304, \"tie_word_embeddings\": false}",
     {.layers = 16,
      .width = 2048,
      .vocab = 50304,
      .heads = 16,
      .kv_heads = 16,
      .head_size = 128,
      .experts = 64,
      .experts_used = 8,
      .expert_ffn = 1024,
      .gated = true,
      .qk_norm = true}},
    {"{\"architectures\": [\"Gemma2ForCausalLM\"], \"head_dim\": 256, \"hidden_size\": 2304,"
     "\"intermediate_size\": 9216, \"num_attention_heads\": 8, \"num_hidden_layers\": 26, \"num_key_value_heads\": 4,"
     "\"sliding_window\": 4096, \"vocab_size\": 256000}",
     {.layers = 26,
      .width = 2304,
      .vocab = 256000,
      .heads = 8,
      .kv_heads = 4,
      .head_size = 256,
      .ffn = 9216,
      .tied = true,
      .gated = true,
      .post_norms = true,
      .window = 4096,
      .window_layers = 13}},
    {"{\"architectures\": [\"PhiForCausalLM\"], \"hidden_size\": 2560, \"intermediate_size\": 10240,"
     "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, \"num_key_value_heads\": 32, \"qk_layernorm\": false,"
     "\"tie_word_embeddings\": false, \"vocab_size\": 51200}",
     {.layers = 32,
      .width = 2560,
      .vocab = 51200,
      .heads = 32,
      .kv_heads = 32,
      .head_size = 80,
      .ffn = 10240,
      .parallel = true}},
    {"{\"architectures\": [\"Phi3ForCausalLM\"], \"hidden_size\": 3072, \"intermediate_size\": 8192,"
     "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, \"num_key_value_heads\": 32, \"sliding_window\": 262144,"
     "\"tie_word_embeddings\": false, \"vocab_size\": 32064, \"attention_bias\": false}",
     {.layers = 32,
      .width = 3072,
      .vocab = 32064,
      .heads = 32,
      .kv_heads = 32,
      .head_size = 96,
      .ffn = 8192,
      .gated = true,
      .fused_qkv = true}},
    {"{\"architectures\": [\"DeepseekV2ForCausalLM\"], \"first_k_dense_replace\": 1, \"hidden_size\": 2048,"
     "\"intermediate_size\": 10944, \"kv_lora_rank\": 512, \"moe_intermediate_size\": 1408, \"moe_layer_freq\": 1,"
     "\"n_routed_experts\": 64, \"n_shared_experts\": 2, \"num_attention_heads\": 16, \"num_experts_per_tok\": 6,"
     "\"num_hidden_layers\": 27, \"num_key_value_heads\": 16, \"q_lora_rank\": null, \"qk_nope_head_dim\": 128,"
     "\"qk_rope_head_dim\": 64, \"v_head_dim\": 128, \"vocab_size\": 102400, \"tie_word_embeddings\": false}",
     {.layers = 27,
      .width = 2048,
      .vocab = 102400,
      .heads = 16,
      .kv_heads = 16,
      .head_size = 192,
      .ffn = 10944,
      .experts = 64,
      .experts_used = 6,
      .expert_ffn = 1408,
      .shared_ffn = 2816,
      .dense_layers = 1,
      .latent = 512,
      .latent_rope = 64,
      .gated = true}},
};

static void check_shape(const char *name, const struct shape *found, const struct shape *expected)
{
#define SAME(member)                                                                                                   \
    if (found->member != expected->member)                                                                             \
    fail_because("%s: " #member " is %u: expected %u", name, (unsigned)found->member, (unsigned)expected->member)
    SAME(layers);
    SAME(width);
    SAME(vocab);
    SAME(heads);
    SAME(kv_heads);
    SAME(head_size);
    SAME(ffn);
    SAME(experts);
    SAME(experts_used);
    SAME(expert_ffn);
    SAME(shared_ffn);
    SAME(dense_layers);
    SAME(latent);
    SAME(latent_rope);
    SAME(tied);
    SAME(gated);
    SAME(qk_norm);
    SAME(attn_bias);
    SAME(fused_qkv);
    SAME(post_norms);
    SAME(parallel);
    SAME(window);
    SAME(window_layers);
#undef SAME
}

static void test_checkpoints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof checkpoints / sizeof *checkpoints; i++) {
        struct shape shape;
        struct error err;
        char path[128];
        put_text("config.json", checkpoints[i].text);
        if (!hf_config_read(in_folder("config.json", path), &shape, &err))
            fail_because("%s", err.text);
        check_shape(checkpoints[i].text + 20, &shape, &checkpoints[i].shape);
    }
}

/* As a profile of the same numbers, in any quantisation. */
static void test_model(void **state)
{
    (void)state;
    static const enum quant quants[] = {QUANT_F16, QUANT_Q8_0};
    for (size_t i = 0; i < 2 * (sizeof checkpoints / sizeof *checkpoints); i++) {
        const enum quant quant = quants[i % 2];
        const struct shape *shape = &checkpoints[i / 2].shape;
        struct model file, profile;
        struct error err;
        char path[128];
        put_text("config.json", checkpoints[i / 2].text);
        if (!model_from_file(in_folder("config.json", path), quant, &file, &err) ||
            !model_from_shape("x", shape, quant, &profile, &err))
            fail_because("%s", err.text);
        assert_int_equal(file.block_count, profile.block_count);
        assert_int_equal(file.weights_bytes, profile.weights_bytes);
        assert_int_equal(file.kv_bytes_per_token, profile.kv_bytes_per_token);
        assert_string_equal(file.quant, quant_names[quant]);
        assert_string_equal(file.name, strrchr(folder, '/') + 1);
        model_free(&file);
        model_free(&profile);
    }
}

#define LLAMA "\"architectures\": [\"LlamaForCausalLM\"], "
#define NUMBERS                                                                                                        \
    "\"hidden_size\": 64, \"intermediate_size\": 128, \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "          \
    "\"vocab_size\": 100"
#define OF(name) "{\"architectures\": [\"" name "\"], " NUMBERS ", "
#define KV_HEADS "\"num_key_value_heads\": 2, "
#define SPARSE KV_HEADS "\"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32, "

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "config.json:1: "},
        {"{", "config.json:1: "},
        {"[]", "config.json: no JSON object"},
        {"{" NUMBERS "}", "architectures: expected one name"},
        {"{\"architectures\": \"LlamaForCausalLM\"}", "architectures: expected one name"},
        {"{\"architectures\": [\"Lama\"]}", "architectures: \"Lama\" is not modelled"},
        {"{\"architectures\": [\"Qwen2ForCausaLM\"]}", "did you mean Qwen2ForCausalLM?"},
        {"{" LLAMA "\"num_hidden_layers\": 2}", "hidden_size is missing: expected a whole number from 1 to 1048576"},
        {"{" LLAMA "\"num_hidden_layers\": \"2\"}", "num_hidden_layers is a string: expected a whole number from 1 to"},
        {"{" LLAMA "\"num_hidden_layers\": 2.5}", "num_hidden_layers is a number: expected a whole number"},
        {"{" LLAMA "\"num_hidden_layers\": 0}", "num_hidden_layers = 0: expected 1 to 4096"},
        {"{" LLAMA "\"num_hidden_layers\": 4097}", "num_hidden_layers = 4097: expected 1 to 4096"},
        {"{" LLAMA "\"num_hidden_layers\": -1}", "num_hidden_layers = -1: expected"},
        {"{" LLAMA "\"num_hidden_layers\": 99999999999999999999}", "config.json:1: too big integer"},
        {"{" LLAMA NUMBERS ", \"vocab_size\": 1}", "duplicate object key"},
        {"{" LLAMA NUMBERS ", \"tie_word_embeddings\": 1}", "tie_word_embeddings is a whole number: expected true or"},
        {"{" LLAMA NUMBERS ", \"num_key_value_heads\": 3}", "num_attention_heads = 4: expected a multiple of num_key"},
        {"{" LLAMA NUMBERS ", \"attention_bias\": true}",
         "attention_bias of a LlamaForCausalLM is not modelled unless"},
        {"{" LLAMA NUMBERS ", \"mlp_bias\": true}",
         "mlp_bias of a LlamaForCausalLM is not modelled unless it is false"},
        {"{" LLAMA "\"hidden_size\": 63, \"intermediate_size\": 128, \"num_attention_heads\": 4, "
         "\"num_hidden_layers\": 2, \"vocab_size\": 100}",
         "hidden_size = 63: expected a multiple of num_attention_heads"},
        {OF("PhiForCausalLM") "\"qk_layernorm\": true}", "qk_layernorm of a PhiForCausalLM is not modelled"},
        {OF("MixtralForCausalLM") KV_HEADS "\"num_local_experts\": 8, \"num_experts_per_tok\": 9}",
         "num_experts_per_tok = 9: expected 1 to 8"},
        {OF("MixtralForCausalLM") "\"num_local_experts\": 8, \"num_experts_per_tok\": 2}",
         "num_key_value_heads is missing: expected a whole number from 1 to 4096"},
        {OF("Qwen2MoeForCausalLM") SPARSE "\"decoder_sparse_step\": 1}", "shared_expert_intermediate_size is missing"},
        {OF("Qwen3MoeForCausalLM") SPARSE "\"decoder_sparse_step\": 2}",
         "decoder_sparse_step of a Qwen3MoeForCausalLM"},
        {OF("Qwen3MoeForCausalLM") SPARSE "\"mlp_only_layers\": [1]}",
         "mlp_only_layers of a Qwen3MoeForCausalLM is not"},
        {OF("Qwen3MoeForCausalLM") SPARSE "\"mlp_only_layers\": 1}", "mlp_only_layers is a whole number: expected an"},
        {OF("DeepseekV2ForCausalLM") "\"kv_lora_rank\": 16, \"qk_rope_head_dim\": 4, \"qk_nope_head_dim\": 8, "
                                     "\"v_head_dim\": 8, \"q_lora_rank\": 32}",
         "q_lora_rank of a DeepseekV2ForCausalLM is not modelled unless it is null"},
        {OF("DeepseekV2ForCausalLM") "\"kv_lora_rank\": 16, \"qk_rope_head_dim\": 4, \"qk_nope_head_dim\": 8, "
                                     "\"v_head_dim\": 16}",
         "v_head_dim of a DeepseekV2ForCausalLM is not modelled unless it is qk_nope_head_dim"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model model;
        struct error err;
        put_text("config.json", cases[i].text);
        const bool ok = load("config.json", &model, &err);
        if (ok || strstr(err.text, cases[i].message) == NULL || strstr(err.text, folder) == NULL)
            fail_because("%s: \"%s\" without \"%s\"", cases[i].text, ok ? "accepted" : err.text, cases[i].message);
        assert_int_equal(err.code, STATUS_INPUT);
    }
}

/* The first layers without experts, as mlp_only_layers lists them. */
static void test_plain_layers(void **state)
{
    (void)state;
    struct shape shape;
    struct error err;
    char path[128];
    put_text("config.json", OF("Qwen3MoeForCausalLM") SPARSE "\"mlp_only_layers\": [0, 1]}");
    assert_true(hf_config_read(in_folder("config.json", path), &shape, &err));
    assert_int_equal(shape.dense_layers, 2);
    assert_int_equal(shape.ffn, 128);
    assert_int_equal(shape.head_size, 16);
    put_text("config.json", OF("MistralForCausalLM") "\"num_key_value_heads\": null}");
    assert_true(hf_config_read(in_folder("config.json", path), &shape, &err));
    assert_int_equal(shape.kv_heads, 4);
    assert_false(hf_config_read(in_folder("nowhere.json", path), &shape, &err));
    assert_int_equal(err.code, STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_plain_layers),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
