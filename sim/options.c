/* The option table, put together from its sections. */
#include <stdio.h>
#include <string.h>

#include "sim/option_tables.h"

_Static_assert(sizeof(enum kill_rule) == 4 && sizeof(enum workload_kind) == 4 && sizeof(enum loader_mode) == 4 &&
                   sizeof(enum overlap) == 4 && sizeof(enum evict_when) == 4 && sizeof(enum quant) == 4 &&
                   sizeof(enum foresee) == 4 && sizeof(enum madvise) == 4 && sizeof(enum page_lists) == 4 &&
                   sizeof(enum file_layout) == 4 && sizeof(enum allocator_kind) == 4 && sizeof(enum heat_mode) == 4 &&
                   sizeof(enum kv_type) == 4 && sizeof(enum adapter_switch) == 4,
               "choices are stored as 32-bit numbers");

const char *const option_type_texts[OPTION_TYPES] = {
    [OPTION_BYTES] = "a size: 512MiB",
    [OPTION_TIME] = "a time: 215us",
    [OPTION_RATE] = "a rate: 2.42GB/s",
    [OPTION_FLOPS] = "operations a second: 120GFLOPS",
    [OPTION_COUNT] = "a whole number",
    [OPTION_SHARE] = "a share: 35%",
    [OPTION_DECIMAL] = "a number: 1.05",
    [OPTION_CHOICE] = "one of a few words",
    [OPTION_ADJ] = "foreground, visible, perceptible, service, cached or -1000 to 1000",
    [OPTION_TEXT] = "a text",
    [OPTION_PATH] = "a file",
    [OPTION_PROFILE] = "a profile's name, or its path",
    [OPTION_MODEL] = "a model: llama-3.2-1b:q4_0 (a profile) or config.json:q4_0, or model.gguf, model.safetensors",
    [OPTION_FORMAT] = "a trace format",
    [OPTION_POLICY] = "a policy: lru, pinned-lru, lru+hot(64MiB)+next",
    [OPTION_PART] = "a part of a policy: kinds(embedding,norm)",
    [OPTION_QUALITY] = "numbers by quantisation: f16:6.23 q4_0:6.41",
    [OPTION_CHUNK] = "layer, a size, layers:2 or heads:8",
    [OPTION_APPS] = "other apps: mail:900:200MiB sync:905:50MiB@2s+10MiB/s..400MiB",
};

/* ---- Rates of tensor types ---- */

/* A family of keys, one for each type, behind the keys of [device]. */
struct type_rates {
    const char *prefix;
    enum option_type type;
    size_t offset; /* of the first type's in struct run_config */
    uint64_t max;
    bool estimated; /* where another rate stands in for a type's */
    const char *help;
};
static const struct type_rates type_rates[] = {
    {"flops", OPTION_FLOPS, offsetof(struct run_config, device.flops_rate), UINT64_C(1) << 60, true,
     "speed of products with this type"},
    {"memory", OPTION_RATE, offsetof(struct run_config, device.memory_rate), RATE_MAX, false,
     "rate at which a pass reads weights of this type; default: memory"},
};
enum { TYPE_RATES = sizeof type_rates / sizeof *type_rates };

static bool rate_option(struct arena *arena, const struct type_rates *rates, uint32_t type, struct option *out)
{
    char key[64];
    int length = snprintf(key, sizeof key, "%s_%s", rates->prefix, tensor_types[type].name);
    must(length > 0 && (size_t)length < sizeof key);
    char *copy = arena_strdup(arena, key);
    if (!copy)
        return false;
    *out = (struct option){"device",
                           copy,
                           rates->type,
                           .offset = rates->offset + type * sizeof(uint64_t),
                           .width = sizeof(uint64_t),
                           RANGE(1, rates->max),
                           .list = true,
                           .estimated = rates->estimated,
                           .help = rates->help};
    return true;
}

const struct option *options_all(struct arena *arena, size_t *count)
{
    const struct option_section *const sections[] = {&experiment_section, &device_section, &model_section,
                                                     &workload_section,   &loader_section, &policy_section};
    must(tensor_type_count <= TENSOR_TYPES_MAX);
    size_t total = (size_t)TYPE_RATES * tensor_type_count;
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++)
        total += sections[s]->count;
    struct option *all = arena_alloc(arena, total, sizeof *all);
    if (!all)
        return NULL;
    size_t n = 0;
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        memcpy(all + n, sections[s]->options, sections[s]->count * sizeof *all);
        n += sections[s]->count;
        if (sections[s] != &device_section)
            continue;
        for (uint32_t i = 0; i < TYPE_RATES * tensor_type_count; i++)
            if (!rate_option(arena, &type_rates[i / tensor_type_count], i % tensor_type_count, &all[n++]))
                return NULL;
    }
    must(n == total);
    *count = total;
    return all;
}

const struct option *option_find(const struct option *options, size_t count, const char *section, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(options[i].section, section) == 0 && strcmp(options[i].key, key) == 0)
            return &options[i];
    return NULL;
}
