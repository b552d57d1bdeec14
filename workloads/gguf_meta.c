/* What the metadata of a GGUF file says about the model: its shape, quantisation and KV cache. */
#include "workloads/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "workloads/model.h"

/* general.file_type by number: enum llama_ftype in include/llama.h of llama.cpp. */
static const char *const file_types[] = {
    "f32",   "f16",     "q4_0",      "q4_1",   "q4_1_some_f16", NULL,      NULL,       "q8_0",     "q5_0",
    "q5_1",  "q2_k",    "q3_k_s",    "q3_k_m", "q3_k_l",        "q4_k_s",  "q4_k_m",   "q5_k_s",   "q5_k_m",
    "q6_k",  "iq2_xxs", "iq2_xs",    "q2_k_s", "iq3_xs",        "iq3_xxs", "iq1_s",    "iq4_nl",   "iq3_s",
    "iq3_m", "iq2_s",   "iq2_m",     "iq4_xs", "iq1_m",         "bf16",    "q4_0_4_4", "q4_0_4_8", "q4_0_8_8",
    "tq1_0", "tq2_0",   "mxfp4_moe", "nvfp4",  "q1_0",
};

struct metadata {
    const char *path, *architecture;
    const struct gguf *gguf;
    struct error *err;
};

/* A number of the architecture, or the largest where there is one for each layer; 0 where the file says nothing.
 * *value is the entry, or NULL. */
static bool number(const struct metadata *data, const char *suffix, uint32_t *out, const struct gguf_value **value)
{
    char key[GGUF_NAME_MAX + 64];
    snprintf(key, sizeof key, "%s.%s", data->architecture, suffix);
    const struct gguf_value *found = gguf_find(data->gguf, 0, key);
    *out = 0;
    if (value != NULL)
        *value = found;
    if (found == NULL || found->kind == GGUF_OTHER)
        return true;
    uint64_t most = found->kind == GGUF_NUMBERS ? found->max : found->number;
    if (found->kind == GGUF_NEGATIVE || most > SHAPE_MAX)
        return fail(data->err, STATUS_INPUT, "%s: offset %" PRIu64 ": %s: expected a number from 0 to %d", data->path,
                    found->position, key, SHAPE_MAX);
    *out = (uint32_t)most;
    return true;
}

/* K and V in f16, over all layers. With latent attention (a kv_lora_rank) one compressed vector and the rotary part of
 * one head stand for both. */
static bool kv_cache(const struct metadata *data, const struct shape *shape, const struct gguf_value *kv_heads,
                     uint64_t *bytes)
{
    uint32_t rank, rotary, key, value;
    uint64_t heads = (uint64_t)shape->layers * shape->kv_heads;
    if (!number(data, "attention.kv_lora_rank", &rank, NULL) || !number(data, "rope.dimension_count", &rotary, NULL) ||
        !number(data, "attention.key_length", &key, NULL) || !number(data, "attention.value_length", &value, NULL))
        return false;
    if (rank != 0) {
        *bytes = (uint64_t)shape->layers * (rank + rotary) * 2;
        return true;
    }
    if (kv_heads != NULL && kv_heads->kind == GGUF_NUMBERS)
        heads = kv_heads->sum;
    uint64_t head = (uint64_t)(key != 0 ? key : shape->head_size) + (value != 0 ? value : shape->head_size);
    if (!multiply(heads, head * 2, bytes))
        return fail(data->err, STATUS_INPUT, "%s: the KV cache of one token takes more than 2^64 bytes", data->path);
    return true;
}

/* Of `layers` layers, how many the pattern makes windowed: in groups of `period`, all but each group's last; period 0:
 * all (src/llama-hparams.cpp of llama.cpp, set_swa_pattern). */
static uint32_t windowed_layers(uint32_t layers, uint32_t period)
{
    return period == 0 ? layers : layers - layers / period;
}

/* Which layers slide: attention.sliding_window_pattern has a period, or a mark for each layer; where there is none,
 * what llama.cpp knows of the architecture (src/llama-model.cpp: load_hparams). Others have windows that it does not
 * use. */
static bool read_windows(const struct metadata *data, struct shape *shape)
{
    static const struct {
        const char *architecture;
        uint32_t period, window; /* window: where the file says none */
    } known[] = {{"gemma2", 2, 4096}, {"gemma3", 6, 0}, {"cohere2", 4, 0}, {"gpt-oss", 2, 0}};
    const struct gguf_value *pattern;
    uint32_t period;
    if (!number(data, "attention.sliding_window", &shape->window, NULL) ||
        !number(data, "attention.sliding_window_pattern", &period, &pattern))
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].architecture, data->architecture) == 0) {
            shape->window = shape->window != 0 ? shape->window : known[i].window;
            shape->window_layers = windowed_layers(shape->layers, known[i].period);
        }
    if (pattern != NULL && pattern->kind == GGUF_NUMBERS)
        shape->window_layers = pattern->sum < shape->layers ? (uint32_t)pattern->sum : shape->layers;
    else if (pattern != NULL && pattern->kind == GGUF_NUMBER)
        shape->window_layers = windowed_layers(shape->layers, period);
    if (shape->window == 0 || shape->window_layers == 0)
        shape->window = shape->window_layers = 0;
    return true;
}

static bool read_shape(const struct metadata *data, struct shape *shape, uint64_t *kv_bytes)
{
    const struct gguf_value *kv_heads;
    if (!number(data, "block_count", &shape->layers, NULL) || !number(data, "embedding_length", &shape->width, NULL) ||
        !number(data, "vocab_size", &shape->vocab, NULL) ||
        !number(data, "attention.head_count", &shape->heads, NULL) ||
        !number(data, "attention.head_count_kv", &shape->kv_heads, &kv_heads) ||
        !number(data, "attention.key_length", &shape->head_size, NULL) ||
        !number(data, "feed_forward_length", &shape->ffn, NULL) ||
        !number(data, "expert_count", &shape->experts, NULL) ||
        !number(data, "expert_used_count", &shape->experts_used, NULL) ||
        !number(data, "expert_feed_forward_length", &shape->expert_ffn, NULL) ||
        !number(data, "expert_shared_feed_forward_length", &shape->shared_ffn, NULL))
        return false;
    if (kv_heads == NULL) /* without grouped queries the key may be left out */
        shape->kv_heads = shape->heads;
    if (shape->head_size == 0 && shape->heads != 0)
        shape->head_size = shape->width / shape->heads;
    if (shape->experts != 0 && shape->expert_ffn == 0) /* as Mixtral's files have it */
        shape->expert_ffn = shape->ffn;
    return read_windows(data, shape) && kv_cache(data, shape, kv_heads, kv_bytes);
}

bool gguf_metadata(const char *path, const struct gguf *gguf, struct model *model, struct error *err)
{
    const struct gguf_value *value = gguf_find(gguf, 0, "general.architecture");
    struct metadata data = {path, "", gguf, err};
    if (value != NULL && value->kind == GGUF_STRING) {
        data.architecture = gguf_text(gguf, value->text);
        if (!read_shape(&data, &model->shape, &model->kv_bytes_per_token))
            return false;
    }
    value = gguf_find(gguf, 0, "tokenizer.ggml.tokens");
    if (value != NULL && value->count != 0 && value->count <= SHAPE_MAX)
        model->shape.vocab = (uint32_t)value->count;
    value = gguf_find(gguf, 0, "general.file_type");
    if (value != NULL && value->kind == GGUF_NUMBER && value->number < sizeof file_types / sizeof file_types[0] &&
        file_types[value->number] != NULL)
        snprintf(model->quant, sizeof model->quant, "%s", file_types[value->number]);
    return true;
}
