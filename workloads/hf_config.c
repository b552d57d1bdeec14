/* config.json to a shape: what is the same for all architectures, and a table of what is not. */
#include "workloads/hf_config.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/suggest.h"

enum { NEAR_TEXT = 512 };
enum { LAYERS_MAX = 4096, WIDTH_MAX = 1 << 20, HEADS_MAX = 4096, HEAD_MAX = 1 << 16, FFN_MAX = 1 << 22 };
enum { VOCAB_MAX = 1 << 24, WINDOW_MAX = 1 << 24 }; /* all as the keys of [model] */

/* How an architecture names its experts. */
enum experts { EXPERTS_NONE, EXPERTS_MIXTRAL, EXPERTS_QWEN2, EXPERTS_QWEN3, EXPERTS_OLMOE, EXPERTS_DEEPSEEK };

struct architecture {
    const char *name; /* the first of "architectures" */
    enum experts experts;
    bool tied;          /* where tie_word_embeddings is missing */
    uint32_t head_size; /* where head_dim is missing; 0: hidden_size / num_attention_heads */
    bool own_kv_heads;  /* num_key_value_heads has a default of its own, and is never left out of a file */
    bool bias;          /* of q, k and v */
    bool qk_norm, fused_qkv, post_norms, parallel, two_matrices, latent;
    uint32_t window_period; /* of so many layers all but the last are windowed; 0: windows are not used */
    uint32_t window;        /* where sliding_window is missing */
};

static const struct architecture architectures[] = {
    {.name = "LlamaForCausalLM"},
    {.name = "MistralForCausalLM", .own_kv_heads = true},
    {.name = "MixtralForCausalLM", .own_kv_heads = true, .experts = EXPERTS_MIXTRAL},
    {.name = "Qwen2ForCausalLM", .own_kv_heads = true, .bias = true},
    {.name = "Qwen2MoeForCausalLM", .own_kv_heads = true, .experts = EXPERTS_QWEN2, .bias = true},
    {.name = "Qwen3ForCausalLM", .own_kv_heads = true, .qk_norm = true, .head_size = 128},
    {.name = "Qwen3MoeForCausalLM", .own_kv_heads = true, .experts = EXPERTS_QWEN3, .qk_norm = true},
    {.name = "OlmoeForCausalLM", .experts = EXPERTS_OLMOE, .qk_norm = true},
    {.name = "Gemma2ForCausalLM",
     .own_kv_heads = true,
     .tied = true,
     .post_norms = true,
     .head_size = 256,
     .window_period = 2,
     .window = 4096},
    {.name = "PhiForCausalLM", .parallel = true, .two_matrices = true},
    {.name = "Phi3ForCausalLM", .fused_qkv = true},
    {.name = "DeepseekV2ForCausalLM", .experts = EXPERTS_DEEPSEEK, .latent = true},
};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

/* The file while it is read. */
struct config {
    const char *path;
    const json_t *root;
    const struct architecture *architecture;
    struct shape *shape;
    struct error *err;
};

static const char *kind_of(const json_t *value)
{
    static const char *const names[] = {"an object", "an array", "a string", "a whole number",
                                        "a number",  "true",     "false",    "null"};
    return names[json_typeof(value)];
}

/* The value of a key, or NULL where it is missing or null. */
static const json_t *value_of(const struct config *config, const char *key)
{
    const json_t *value = json_object_get(config->root, key);
    return json_is_null(value) ? NULL : value;
}

static bool number(const struct config *config, const char *key, uint32_t min, uint32_t max, uint32_t *out)
{
    const json_t *value = value_of(config, key);
    if (value == NULL)
        return fail(config->err, STATUS_INPUT,
                    "%s: %s is missing: expected a whole number from %" PRIu32 " to %" PRIu32, config->path, key, min,
                    max);
    const json_int_t found = json_integer_value(value);
    if (!json_is_integer(value))
        return fail(config->err, STATUS_INPUT, "%s: %s is %s: expected a whole number from %" PRIu32 " to %" PRIu32,
                    config->path, key, kind_of(value), min, max);
    if (found < min || found > max)
        return fail(config->err, STATUS_INPUT, "%s: %s = %" JSON_INTEGER_FORMAT ": expected %" PRIu32 " to %" PRIu32,
                    config->path, key, found, min, max);
    *out = (uint32_t)found;
    return true;
}

/* The same for a key that may be missing. */
static bool number_or(const struct config *config, const char *key, uint32_t min, uint32_t max, uint32_t missing,
                      uint32_t *out)
{
    *out = missing;
    return value_of(config, key) == NULL || number(config, key, min, max, out);
}

static bool flag_or(const struct config *config, const char *key, bool missing, bool *out)
{
    const json_t *value = value_of(config, key);
    *out = value != NULL ? json_is_true(value) : missing;
    return value == NULL || json_is_boolean(value) ||
           fail(config->err, STATUS_INPUT, "%s: %s is %s: expected true or false", config->path, key, kind_of(value));
}

/* A key that changes sizes in a way that a shape cannot say, unless it has the value that changes nothing. */
static bool not_known(const struct config *config, const char *key, const char *expected)
{
    return fail(config->err, STATUS_INPUT, "%s: %s of a %s is not modelled unless it is %s", config->path, key,
                config->architecture->name, expected);
}

static bool must_be_false(const struct config *config, const char *key)
{
    bool yes;
    return flag_or(config, key, false, &yes) && (!yes || not_known(config, key, "false"));
}

static bool must_be_one(const struct config *config, const char *key)
{
    uint32_t value;
    return number_or(config, key, 0, UINT32_MAX, 1, &value) && (value == 1 || not_known(config, key, "1"));
}

/* ---- Parts of the shape ---- */

static bool read_attention(const struct config *config)
{
    struct shape *shape = config->shape;
    const struct architecture *architecture = config->architecture;
    const bool may_miss = !architecture->own_kv_heads || json_object_get(config->root, "num_key_value_heads") != NULL;
    if (!number(config, "num_attention_heads", 1, HEADS_MAX, &shape->heads) ||
        !(may_miss ? number_or(config, "num_key_value_heads", 1, HEADS_MAX, shape->heads, &shape->kv_heads)
                   : number(config, "num_key_value_heads", 1, HEADS_MAX, &shape->kv_heads)) ||
        !number_or(config, "head_dim", 1, HEAD_MAX, architecture->head_size, &shape->head_size) ||
        !must_be_false(config, "attention_bias") || !must_be_false(config, "qk_layernorm"))
        return false;
    if (shape->heads % shape->kv_heads != 0)
        return fail(config->err, STATUS_INPUT,
                    "%s: num_attention_heads = %" PRIu32
                    ": expected a multiple of num_key_value_heads, which is %" PRIu32,
                    config->path, shape->heads, shape->kv_heads);
    if (shape->head_size == 0 && shape->width % shape->heads != 0)
        return fail(config->err, STATUS_INPUT,
                    "%s: hidden_size = %" PRIu32 ": expected a multiple of num_attention_heads, which is %" PRIu32
                    ", or head_dim",
                    config->path, shape->width, shape->heads);
    if (shape->head_size == 0)
        shape->head_size = shape->width / shape->heads;
    shape->attn_bias = architecture->bias;
    shape->qk_norm = architecture->qk_norm;
    shape->fused_qkv = architecture->fused_qkv;
    return true;
}

/* DeepSeek-V2: a head's query is qk_nope_head_dim + qk_rope_head_dim wide. */
static bool read_latent(const struct config *config)
{
    struct shape *shape = config->shape;
    uint32_t plain, value;
    if (!number(config, "num_attention_heads", 1, HEADS_MAX, &shape->heads) ||
        !number(config, "kv_lora_rank", 1, WIDTH_MAX, &shape->latent) ||
        !number(config, "qk_rope_head_dim", 1, HEAD_MAX / 2, &shape->latent_rope) ||
        !number(config, "qk_nope_head_dim", 1, HEAD_MAX / 2, &plain) ||
        !number(config, "v_head_dim", 1, HEAD_MAX / 2, &value) || !must_be_false(config, "attention_bias"))
        return false;
    if (value_of(config, "q_lora_rank") != NULL)
        return not_known(config, "q_lora_rank", "null");
    if (value != plain)
        return not_known(config, "v_head_dim", "qk_nope_head_dim");
    shape->kv_heads = shape->heads;
    shape->head_size = plain + shape->latent_rope;
    return true;
}

/* A model with layers that have no experts: the first ones may be such. */
static bool read_plain_layers(const struct config *config)
{
    const json_t *layers = value_of(config, "mlp_only_layers");
    if (!must_be_one(config, "decoder_sparse_step"))
        return false;
    if (layers == NULL)
        return true;
    if (!json_is_array(layers))
        return fail(config->err, STATUS_INPUT, "%s: mlp_only_layers is %s: expected an array", config->path,
                    kind_of(layers));
    if (json_array_size(layers) > config->shape->layers)
        return not_known(config, "mlp_only_layers", "a list of the first layers");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *layer = json_array_get(layers, i);
        if (!json_is_integer(layer) || json_integer_value(layer) != (json_int_t)i)
            return not_known(config, "mlp_only_layers", "a list of the first layers");
    }
    config->shape->dense_layers = (uint32_t)json_array_size(layers);
    return true;
}

static bool read_experts(const struct config *config)
{
    static const struct {
        const char *count, *width;
    } keys[] = {
        [EXPERTS_MIXTRAL] = {"num_local_experts", "intermediate_size"},
        [EXPERTS_QWEN2] = {"num_experts", "moe_intermediate_size"},
        [EXPERTS_QWEN3] = {"num_experts", "moe_intermediate_size"},
        [EXPERTS_OLMOE] = {"num_experts", "intermediate_size"},
        [EXPERTS_DEEPSEEK] = {"n_routed_experts", "moe_intermediate_size"},
    };
    struct shape *shape = config->shape;
    const enum experts kind = config->architecture->experts;
    uint32_t shared;
    if (!number(config, keys[kind].count, 1, HEADS_MAX, &shape->experts) ||
        !number(config, "num_experts_per_tok", 1, shape->experts, &shape->experts_used) ||
        !number(config, keys[kind].width, 1, FFN_MAX, &shape->expert_ffn))
        return false;
    switch (kind) {
    case EXPERTS_QWEN2:
        return number(config, "shared_expert_intermediate_size", 0, FFN_MAX, &shape->shared_ffn) &&
               read_plain_layers(config);
    case EXPERTS_QWEN3:
        return read_plain_layers(config);
    case EXPERTS_DEEPSEEK:
        if (!must_be_one(config, "moe_layer_freq") ||
            !number_or(config, "n_shared_experts", 0, FFN_MAX / shape->expert_ffn, 0, &shared) ||
            !number_or(config, "first_k_dense_replace", 0, shape->layers, 0, &shape->dense_layers))
            return false;
        shape->shared_ffn = shared * shape->expert_ffn;
        return true;
    default:
        return true;
    }
}

static bool read_ffn(const struct config *config)
{
    struct shape *shape = config->shape;
    const struct architecture *architecture = config->architecture;
    const bool all_experts = architecture->experts == EXPERTS_MIXTRAL || architecture->experts == EXPERTS_OLMOE;
    shape->gated = !architecture->two_matrices;
    return must_be_false(config, "mlp_bias") && (architecture->experts == EXPERTS_NONE || read_experts(config)) &&
           (all_experts || number(config, "intermediate_size", 1, FFN_MAX, &shape->ffn));
}

/* All but each group's last layer: as gguf_meta.c has it. */
static bool read_window(const struct config *config)
{
    struct shape *shape = config->shape;
    const struct architecture *architecture = config->architecture;
    if (architecture->window_period == 0)
        return true;
    shape->window_layers = shape->layers - shape->layers / architecture->window_period;
    return number_or(config, "sliding_window", 1, WINDOW_MAX, architecture->window, &shape->window);
}

static bool read_shape(const struct config *config)
{
    struct shape *shape = config->shape;
    const struct architecture *architecture = config->architecture;
    shape->post_norms = architecture->post_norms;
    shape->parallel = architecture->parallel;
    return number(config, "num_hidden_layers", 1, LAYERS_MAX, &shape->layers) &&
           number(config, "hidden_size", 1, WIDTH_MAX, &shape->width) &&
           number(config, "vocab_size", 1, VOCAB_MAX, &shape->vocab) &&
           flag_or(config, "tie_word_embeddings", architecture->tied, &shape->tied) &&
           (architecture->latent ? read_latent(config) : read_attention(config)) && read_ffn(config) &&
           read_window(config);
}

/* ---- The file ---- */

static bool find_architecture(struct config *config)
{
    const json_t *list = value_of(config, "architectures");
    const char *names[ARCHITECTURES], *name = json_string_value(json_array_get(list, 0));
    char near[NEAR_TEXT];
    if (name == NULL || json_array_size(list) != 1)
        return fail(config->err, STATUS_INPUT, "%s: architectures: expected one name, as in [\"LlamaForCausalLM\"]",
                    config->path);
    for (size_t i = 0; i < ARCHITECTURES; i++) {
        if (strcmp(architectures[i].name, name) == 0) {
            config->architecture = &architectures[i];
            return true;
        }
        names[i] = architectures[i].name;
    }
    return fail(config->err, STATUS_INPUT, "%s: architectures: \"%.80s\" is not modelled%s", config->path, name,
                suggest_text(name, names, ARCHITECTURES, near, sizeof near));
}

bool hf_config_read(const char *path, struct shape *shape, struct error *err)
{
    char *text;
    size_t size;
    json_error_t why;
    *shape = (struct shape){0};
    if (!file_read(path, HF_CONFIG_MAX, false, &text, &size, err))
        return false;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    free(text);
    if (root == NULL)
        return fail(err, STATUS_INPUT, "%s:%d: %s", path, why.line, why.text);
    struct config config = {.path = path, .root = root, .shape = shape, .err = err};
    const bool ok = json_is_object(root) ? find_architecture(&config) && read_shape(&config)
                                         : fail(err, STATUS_INPUT, "%s: no JSON object", path);
    json_decref(root);
    return ok;
}
