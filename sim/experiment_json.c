/* The effective config of a run as JSON, its key, and the hashes of the files that it depends on. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/files.h"
#include "sim/experiment_parts.h"
#include "sim/model_choice.h"

static void hex_of(XXH128_hash_t hash, char hex[RUN_KEY_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    for (size_t i = 0; i < sizeof bytes.digest; i++) {
        hex[2 * i] = digits[bytes.digest[i] >> 4];
        hex[2 * i + 1] = digits[bytes.digest[i] & 15];
    }
    hex[2 * sizeof bytes.digest] = '\0';
}

/* ---- Files ---- */

static bool hash_stream(struct stream *stream, XXH3_state_t *state, struct error *err)
{
    const char *data;
    size_t size;
    do {
        if (!stream_next(stream, &data, &size, err))
            return false;
        must(XXH3_128bits_update(state, data, size) == XXH_OK);
    } while (size > 0);
    return true;
}

static bool hash_bytes(const char *path, XXH3_state_t *state, struct error *err)
{
    struct stream *stream;
    if (!stream_open(path, &stream, err))
        return false;
    bool good = hash_stream(stream, state, err);
    stream_close(stream);
    return good;
}

static void feed_number(XXH3_state_t *state, uint64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    must(XXH3_128bits_update(state, bytes, sizeof bytes) == XXH_OK);
}

static void feed_shape(XXH3_state_t *state, const struct shape *shape)
{
    const uint64_t numbers[] = {
        shape->layers,     shape->width,        shape->vocab,       shape->heads,        shape->kv_heads,
        shape->head_size,  shape->ffn,          shape->experts,     shape->experts_used, shape->expert_ffn,
        shape->shared_ffn, shape->dense_layers, shape->latent,      shape->latent_rope,  shape->tied,
        shape->gated,      shape->qk_norm,      shape->attn_bias,   shape->fused_qkv,    shape->post_norms,
        shape->parallel,   shape->imatrix,      shape->output_copy, shape->window,       shape->window_layers};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        feed_number(state, numbers[i]);
}

/* Not the file's bytes but what a run sees of them: every block, extent and shape number. So a copy whose weights
 * differ is the same, and one whose header differs where it matters is not. */
static bool hash_model(const char *path, XXH3_state_t *state, struct error *err)
{
    struct model model;
    /* Of numbers alone any quantisation shows all; the run's own is in its config. */
    if (!model_from_file(path, QUANT_F32, &model, err))
        return false;
    feed_shape(state, &model.shape);
    feed_number(state, model.kv_bytes_per_token);
    feed_number(state, model.block_count);
    for (uint32_t b = 0; b < model.block_count; b++) {
        const struct block *block = &model.blocks[b];
        const uint64_t numbers[] = {block->bytes,        block->compute_bytes,   block->extent_count,
                                    block->matter_count, (uint64_t)block->layer, (uint64_t)block->expert,
                                    block->kind};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            feed_number(state, numbers[i]);
        const char *name = model_block_name(&model, b);
        must(XXH3_128bits_update(state, name, strlen(name) + 1) == XXH_OK);
    }
    for (uint32_t i = 0; i < model.extent_count; i++) {
        feed_number(state, model.extents[i].offset_bytes);
        feed_number(state, model.extents[i].bytes);
    }
    for (uint32_t i = 0; i < model.matter_count; i++) {
        feed_number(state, model.matters[i].type);
        feed_number(state, model.matters[i].elements);
    }
    model_free(&model);
    return true;
}

/* Paths are texts of the experiment's arena; a path is either a model, or a file whose bytes count. */
static bool file_hash(struct experiment *experiment, const char *path,
                      bool (*hash)(const char *path, XXH3_state_t *state, struct error *err), const char **hex,
                      struct error *err)
{
    for (size_t i = 0; i < experiment->hash_count; i++)
        if (strcmp(experiment->hashes[i]->path, path) == 0) {
            *hex = experiment->hashes[i]->hex;
            return true;
        }
    struct file_hash *made = arena_alloc(experiment->arena, 1, sizeof *made);
    XXH3_state_t *state = XXH3_createState();
    bool good = made && state && XXH3_128bits_reset(state) == XXH_OK;
    if (!good)
        fail(err, STATUS_IO, "out of memory");
    good = good && hash(path, state, err) &&
           array_reserve((void **)&experiment->hashes, &experiment->hash_capacity, experiment->hash_count + 1,
                         sizeof *experiment->hashes, err);
    if (good) {
        made->path = path;
        hex_of(XXH3_128bits_digest(state), made->hex);
        experiment->hashes[experiment->hash_count++] = made;
        *hex = made->hex;
    }
    XXH3_freeState(state);
    return good;
}

static bool put_file(struct experiment *experiment, json_t *object, const struct option *option, const char *path,
                     struct error *err)
{
    static const char *const sections[] = {"model", "workload", "policy"};
    static const char *const keys[] = {"file_hash", "trace_hash", "profile_hash"};
    size_t s = 0;
    while (strcmp(option->section, sections[s]) != 0)
        must(++s < sizeof sections / sizeof *sections);
    const char *hex;
    if (!file_hash(experiment, path, s == 0 ? hash_model : hash_bytes, &hex, err))
        return false;
    const char *slash = strrchr(path, '/');
    return (json_object_set_new(object, option->key, json_string(slash ? slash + 1 : path)) == 0 &&
            json_object_set_new(object, keys[s], json_string(hex)) == 0) ||
           fail(err, STATUS_IO, "out of memory");
}

/* ---- JSON ---- */

static json_t *number_value(const struct option *option, uint64_t number)
{
    if (option->type == OPTION_CHOICE)
        return json_string(option->names[number]);
    if (option->type == OPTION_ADJ)
        return json_integer((int32_t)(uint32_t)number);
    if (option->other_word && (int64_t)number == option->other_value)
        return json_string(option->other_word);
    /* Where a word stands for a rule of its own ("roofline"), there is no number. */
    return option->word_value < 0 && (int64_t)number < 0 ? json_null() : json_integer((json_int_t)number);
}

/* The numbers of a profile's shape, as [model] has them. */
static json_t *shape_json(const struct experiment *experiment, const struct model_spec *spec)
{
    json_t *object = json_object();
    const struct run_config config = {.model = *spec};
    for (size_t i = 0; object && i < experiment->reader.option_count; i++) {
        const struct option *option = &experiment->reader.options[i];
        if (strcmp(option->section, "model") != 0 || option->scope != SCOPE_SHAPE || option_is_text(option))
            continue;
        if (json_object_set_new(object, option->key, number_value(option, option_load(option, &config).number)) == 0)
            continue;
        json_decref(object);
        object = NULL;
    }
    return object;
}

/* A model beside the first: by its numbers, or by what its file holds. */
static bool put_model(struct experiment *experiment, json_t *object, const struct option *option,
                      const struct run_config *config, struct error *err)
{
    const struct model_choice *choice;
    char key[64];
    const char *hex;
    memcpy(&choice, (const char *)config + option->offset, sizeof choice);
    snprintf(key, sizeof key, "%s_%s", option->key, choice->spec.file ? "hash" : "shape");
    if (choice->spec.file && !file_hash(experiment, choice->spec.file, hash_model, &hex, err))
        return false;
    json_t *content = choice->spec.file ? json_string(hex) : shape_json(experiment, &choice->spec);
    return (json_object_set_new(object, option->key, json_string(choice->text)) == 0 &&
            json_object_set_new(object, key, content) == 0) ||
           fail(err, STATUS_IO, "no memory for the config as JSON");
}

static bool put_option(struct experiment *experiment, json_t *object, const struct option *option,
                       const struct run_config *config, struct error *err)
{
    union option_value value = option_load(option, config);
    json_t *json;
    if (option->type == OPTION_RATE && value.number == 0) /* a type's own: the common rate stands for it */
        return true;
    char chunk[CHUNK_TEXT];
    if (option->type == OPTION_CHUNK) {
        const struct chunk_rule rule = chunk_of_code(value.number);
        json = json_string(chunk_print(&rule, chunk));
    } else if (!option_is_text(option))
        json = number_value(option, value.number);
    else if (!value.text)
        return true;
    else if (option->type == OPTION_MODEL)
        return put_model(experiment, object, option, config, err);
    else if (option->type == OPTION_PATH)
        return put_file(experiment, object, option, value.text, err);
    else
        json = json_string(value.text);
    return json_object_set_new(object, option->key, json) == 0 ||
           fail(err, STATUS_IO, "no memory for the config as JSON");
}

/* A plug-in is a file that a run depends on. */
static bool put_plugin(struct experiment *experiment, json_t *object, const struct policy_part *part, const char *key,
                       struct error *err)
{
    const char *path, *hex;
    char name[32];
    if (!policy_plugin_file(part, &path))
        return true;
    const char *kept = arena_strdup(experiment->arena, path);
    if (!kept)
        return fail(err, STATUS_IO, "out of memory");
    snprintf(name, sizeof name, "%s_hash", key);
    return file_hash(experiment, kept, hash_bytes, &hex, err) &&
           (json_object_set_new(object, name, json_string(hex)) == 0 ||
            fail(err, STATUS_IO, "no memory for the config as JSON"));
}

static bool put_policy(struct experiment *experiment, json_t *object, const struct policy_choice *policy,
                       struct error *err)
{
    const struct policy_part *parts[POLICY_KINDS_COUNT] = {&policy->evict, &policy->pin, &policy->prefetch,
                                                           &policy->admit};
    for (size_t i = 0; i < POLICY_KINDS_COUNT; i++)
        if (!put_plugin(experiment, object, parts[i], policy_kind_names[i], err))
            return false;
    return (json_object_set_new(object, "name", json_string(policy->label)) == 0 &&
            json_object_set_new(object, "evict", json_string(policy->evict_text)) == 0 &&
            json_object_set_new(object, "pin", json_string(policy->pin_text)) == 0 &&
            json_object_set_new(object, "prefetch", json_string(policy->prefetch_text)) == 0 &&
            json_object_set_new(object, "admit", json_string(policy->admit_text)) == 0) ||
           fail(err, STATUS_IO, "no memory for the config as JSON");
}

/* The options of one section that matter to the run. */
static json_t *section_json(struct experiment *experiment, const struct selection *selection,
                            const struct run_config *config, const char *section, struct error *err)
{
    json_t *object = json_object();
    bool good = object != NULL || fail(err, STATUS_IO, "out of memory");
    const struct settings_reader *reader = &experiment->reader;
    for (size_t i = 0; good && i < reader->option_count; i++) {
        const struct option *option = &reader->options[i];
        if (strcmp(option->section, section) != 0 || !option->width || !selection->chosen[i].used)
            continue;
        good = put_option(experiment, object, option, config, err);
    }
    if (good && strcmp(section, "policy") == 0)
        good = put_policy(experiment, object, &config->policy, err);
    if (good)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *run_json(struct experiment *experiment, const struct selection *selection,
                        const struct run_config *config, struct error *err)
{
    static const char *const sections[] = {"experiment", "device", "model", "workload", "loader", "policy"};
    json_t *root = json_object();
    bool good = root && json_object_set_new(root, "model_version", json_integer(MODEL_VERSION)) == 0;
    if (!good)
        fail(err, STATUS_IO, "out of memory");
    for (size_t i = 0; good && i < sizeof sections / sizeof *sections; i++) {
        json_t *section = section_json(experiment, selection, config, sections[i], err);
        good =
            section && (json_object_set_new(root, sections[i], section) == 0 || fail(err, STATUS_IO, "out of memory"));
    }
    if (good)
        return root;
    json_decref(root);
    return NULL;
}

static char *dump(const json_t *json, struct error *err)
{
    char *text = json_dumps(json, JSON_COMPACT);
    if (!text)
        fail(err, STATUS_IO, "no memory for the config as JSON");
    return text;
}

/* Makes the JSON of a run and its key, which leaves out the experiment's name. */
static bool describe(struct experiment *experiment, size_t index, struct error *err)
{
    must(index < experiment->run_count);
    if (experiment->keys[index])
        return true;
    struct selection selection;
    struct run_config config;
    if (!combination_read(experiment, experiment->combinations[index], &selection, &config, err))
        return false;
    json_t *root = run_json(experiment, &selection, &config, err);
    if (!root)
        return false;
    char *whole = dump(root, err);
    (void)json_object_del(json_object_get(root, "experiment"), "name");
    char *nameless = whole ? dump(root, err) : NULL;
    json_decref(root);
    char *copy = nameless ? arena_strdup(experiment->arena, whole) : NULL;
    char *key = copy ? arena_alloc(experiment->arena, RUN_KEY_TEXT, 1) : NULL;
    if (nameless && !key)
        fail(err, STATUS_IO, "out of memory");
    if (key)
        hex_of(XXH3_128bits(nameless, strlen(nameless)), key);
    free(whole);
    free(nameless);
    experiment->jsons[index] = copy;
    experiment->keys[index] = key;
    return key != NULL;
}

const char *experiment_run_json(struct experiment *experiment, size_t index, struct error *err)
{
    return describe(experiment, index, err) ? experiment->jsons[index] : NULL;
}

const char *experiment_run_key(struct experiment *experiment, size_t index, struct error *err)
{
    return describe(experiment, index, err) ? experiment->keys[index] : NULL;
}

/* ---- Keys of parts ---- */

static bool hash_json(const json_t *json, char hex[RUN_KEY_TEXT], struct error *err)
{
    char *text = dump(json, err);
    if (!text)
        return false;
    hex_of(XXH3_128bits(text, strlen(text)), hex);
    free(text);
    return true;
}

/* The choice of experts, of adapters and of accepted drafts is left to chance. A chat's model may have experts. */
static bool has_chance(const struct run_config *config)
{
    const struct workload_spec *workload = &config->workload;
    return workload->kind == WORKLOAD_MOE || workload->kind == WORKLOAD_CHAT || config->draft || workload->adapters > 0;
}

/* What of [workload] is part of the model, with what those keys stand for ("draft_shape"). */
static bool add_parts(const struct experiment *experiment, const struct selection *selection, const json_t *workload,
                      json_t *model, struct error *err)
{
    static const char *const ends[] = {"", "_shape", "_hash"};
    for (size_t i = 0; i < experiment->reader.option_count; i++) {
        const struct option *option = &experiment->reader.options[i];
        if (!selection->chosen[i].used || !option_shapes_model(option) || strcmp(option->section, "workload") != 0)
            continue;
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
            char key[64];
            snprintf(key, sizeof key, "%s%s", option->key, ends[e]);
            json_t *value = json_object_get(workload, key);
            if (value && json_object_set(model, key, value) != 0)
                return fail(err, STATUS_IO, "out of memory");
        }
    }
    return true;
}

bool part_keys(struct experiment *experiment, const struct selection *selection, const struct run_config *config,
               char model_key[RUN_KEY_TEXT], char trace_key[RUN_KEY_TEXT], struct error *err)
{
    json_t *model = section_json(experiment, selection, config, "model", err);
    json_t *workload = model ? section_json(experiment, selection, config, "workload", err) : NULL;
    bool good = workload && (json_object_set_new(model, "chunk", json_integer((json_int_t)config->chunk)) == 0 ||
                             fail(err, STATUS_IO, "out of memory"));
    good = good && add_parts(experiment, selection, workload, model, err) && hash_json(model, model_key, err);
    int64_t seed = has_chance(config) ? (int64_t)config->seed : -1;
    if (good && (json_object_set_new(workload, "model_key", json_string(model_key)) != 0 ||
                 json_object_set_new(workload, "seed", json_integer(seed)) != 0))
        good = fail(err, STATUS_IO, "out of memory");
    good = good && hash_json(workload, trace_key, err);
    json_decref(model);
    json_decref(workload);
    return good;
}
