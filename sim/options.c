/* The option table. */
#include "sim/options.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(enum kill_rule) == 4 && sizeof(enum workload_kind) == 4 && sizeof(enum loader_mode) == 4 &&
                   sizeof(enum overlap) == 4 && sizeof(enum evict_when) == 4 && sizeof(enum quant) == 4 &&
                   sizeof(enum foresee) == 4,
               "choices are stored as 32-bit numbers");

static const char *const kill_names[] = {"none", "threshold"};
static const char *const kind_names[] = {"dense", "moe", "trace"};
static const char *const foresee_names[] = {"auto", "all", "none"};
static const char *const mode_names[] = {"chunked", "read"};
static const char *const evict_when_names[] = {"before_insert", "after_step"};
static const char *const overlap_names[] = {"none", "prefetch", "blocks"};
static const char *const yes_names[] = {"no", "yes"};

const char *const option_type_texts[OPTION_TYPES] = {
    [OPTION_BYTES] = "a size: 512MiB",
    [OPTION_TIME] = "a time: 215us",
    [OPTION_RATE] = "a rate: 2.42GB/s",
    [OPTION_FLOPS] = "operations a second: 120GFLOPS",
    [OPTION_COUNT] = "a whole number",
    [OPTION_SHARE] = "a share: 35%",
    [OPTION_DECIMAL] = "a number: 1.05",
    [OPTION_CHOICE] = "one of a few words",
    [OPTION_TEXT] = "a text",
    [OPTION_PATH] = "a file",
    [OPTION_PROFILE] = "a profile's name, or its path",
    [OPTION_FORMAT] = "a trace format",
    [OPTION_POLICY] = "a policy: lru, pinned-lru, lru+hot(64MiB)+next",
    [OPTION_PART] = "a part of a policy: kinds(embedding,norm)",
};

#define FIELD(member) .offset = offsetof(struct run_config, member), .width = sizeof(((struct run_config *)0)->member)
#define NAMES(table) .names = table, .name_count = sizeof table / sizeof *table
#define RANGE(least, most) .min = least, .max = most

enum { NAME_MAX_BYTES = 127, TEXT_MAX_BYTES = 1 << 20, PATH_MAX_BYTES = 4095 };
#define SIZE_MAX_BYTES (UINT64_C(1) << 50)
#define TIME_MAX_NS (INT64_C(3600) * 1000000000)
#define RATE_MAX (UINT64_C(1) << 50)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static const struct option experiment_options[] = {
    {"experiment", "name", OPTION_TEXT, FIELD(experiment), RANGE(1, NAME_MAX_BYTES),
     .help = "name of the experiment in records; default: the config's file name"},
    {"experiment", "seed", OPTION_COUNT, FIELD(seed), RANGE(0, INT64_MAX), .fallback = "1", .list = true,
     .help = "seed of the workload's random choices; a list repeats every run"},
};

static const struct option device_options[] = {
    {"device", "profile", OPTION_PROFILE, RANGE(1, PATH_MAX_BYTES), .list = true,
     .help = "a phone of configs/devices; keys given here override its own"},
    {"device", "name", OPTION_TEXT, FIELD(device.name), RANGE(1, NAME_MAX_BYTES),
     .help = "name of the phone in records; default: the profile's"},
    {"device", "ram", OPTION_BYTES, FIELD(device.ram_bytes), RANGE(1, SIZE_MAX_BYTES), .list = true, .required = true,
     .help = "memory that the system reports"},
    {"device", "os_reserve", OPTION_BYTES, FIELD(device.os_reserve_bytes), RANGE(0, SIZE_MAX_BYTES), .fallback = "0B",
     .list = true, .help = "kernel, firmware and system services"},
    {"device", "other_apps", OPTION_BYTES, FIELD(device.other_apps_bytes), RANGE(0, SIZE_MAX_BYTES), .fallback = "0B",
     .list = true, .help = "other apps"},
    {"device", "runtime", OPTION_BYTES, FIELD(device.runtime_bytes), RANGE(0, SIZE_MAX_BYTES), .fallback = "0B",
     .list = true, .help = "the app without weights, KV cache and activations"},
    {"device", "kill", OPTION_CHOICE, FIELD(device.pressure.rule), NAMES(kill_names), .fallback = "threshold", .list = true,
     .help = "rule by which the system kills the app"},
    {"device", "kill_threshold", OPTION_BYTES, FIELD(device.pressure.threshold_bytes), RANGE(1, SIZE_MAX_BYTES),
     .fallback = "rest", .word = "rest", .word_value = 0, .list = true,
     .help = "bytes above which the app dies; rest: ram less os_reserve less other_apps"},
    {"device", "flash_setup", OPTION_TIME, FIELD(device.flash.setup_ns), RANGE(0, TIME_MAX_NS), .list = true,
     .required = true, .help = "setup time of one read"},
    {"device", "flash_stream", OPTION_RATE, FIELD(device.flash.stream_bps), RANGE(1, RATE_MAX), .list = true,
     .required = true, .help = "rate of one read once it moves"},
    {"device", "flash_max", OPTION_RATE, FIELD(device.flash.max_bps), RANGE(1, RATE_MAX), .list = true,
     .required = true, .help = "rate that all reads in flight share"},
    {"device", "queue_depth", OPTION_COUNT, FIELD(device.flash.queue_depth), RANGE(1, FLASH_QUEUE_MAX),
     .fallback = "32", .list = true, .help = "commands in flight at once"},
    {"device", "command", OPTION_BYTES, FIELD(device.flash.command_bytes), RANGE(512, GIB), .fallback = "1MiB",
     .list = true, .help = "a prefetch is cut into commands of at most this size"},
    {"device", "hot_after", OPTION_TIME, FIELD(device.flash.hot_after_ns), RANGE(1, TIME_MAX_NS * 24),
     .fallback = "never", .word = "never", .word_value = 0, .list = true,
     .help = "busy time after which the flash is hot"},
    {"device", "hot_factor", OPTION_SHARE, FIELD(device.flash.hot_factor_ppm), RANGE(10000, 1000000),
     .fallback = "100%", .list = true, .help = "maximum rate when hot, as a share of flash_max"},
    {"device", "memory", OPTION_RATE, FIELD(device.memory_bps), RANGE(1, RATE_MAX), .list = true, .required = true,
     .help = "bandwidth of memory that a decode reaches"},
    {"device", "flops", OPTION_FLOPS, RANGE(1, UINT64_C(1) << 60), .list = true, .required = true,
     .help = "speed of matrix products, for tensor types without a key of their own"},
};

static const struct option model_options[] = {
    {"model", "profile", OPTION_PROFILE, RANGE(1, PATH_MAX_BYTES), .list = true,
     .help = "a model of configs/models; keys given here override its own"},
    {"model", "file", OPTION_PATH, FIELD(model.file), RANGE(1, PATH_MAX_BYTES), .list = true, .help = "a GGUF file"},
    {"model", "blocks", OPTION_TEXT, FIELD(model.blocks), RANGE(1, TEXT_MAX_BYTES),
     .help = "a list of blocks: 256 x 1MiB, or embed:512MB layer1:768MB"},
    {"model", "name", OPTION_TEXT, FIELD(model.name), RANGE(1, NAME_MAX_BYTES),
     .help = "name of the model in records; default: the profile's or the file's"},
    {"model", "quant", OPTION_CHOICE, SCOPE_SHAPE, FIELD(model.quant), .names = quant_names, .name_count = QUANTS,
     .fallback = "q4_0", .list = true, .help = "quantisation of a profile's weights"},
#define SHAPE(name, member, least, most, default_text, text)                                                           \
    {                                                                                                                  \
        "model", name, OPTION_COUNT, SCOPE_SHAPE, FIELD(model.shape.member), RANGE(least, most),                       \
            .fallback = default_text, .list = true, .help = text                                                       \
    }
#define SHAPE_YES(name, member, default_text, text)                                                                    \
    {                                                                                                                  \
        "model", name, OPTION_CHOICE, SCOPE_SHAPE, FIELD(model.shape.member), NAMES(yes_names),                        \
            .fallback = default_text, .list = true, .help = text                                                       \
    }
    SHAPE("layers", layers, 1, 4096, NULL, "layers"),
    SHAPE("width", width, 1, 1 << 20, NULL, "width of the residual stream"),
    SHAPE("vocab", vocab, 1, 1 << 24, NULL, "entries of the vocabulary"),
    SHAPE("heads", heads, 1, 4096, NULL, "attention heads"),
    SHAPE("kv_heads", kv_heads, 1, 4096, NULL, "heads of keys and values"),
    SHAPE("head_size", head_size, 1, 1 << 16, NULL, "size of one head"),
    SHAPE("ffn", ffn, 0, 1 << 22, "0", "width of a dense feed-forward layer"),
    SHAPE("experts", experts, 0, 4096, "0", "experts a layer; 0: dense"),
    SHAPE("experts_used", experts_used, 0, 4096, "0", "experts that a token uses"),
    SHAPE("expert_ffn", expert_ffn, 0, 1 << 22, "0", "width of an expert"),
    SHAPE("shared_ffn", shared_ffn, 0, 1 << 22, "0", "width of an expert that all tokens use"),
    SHAPE_YES("tied", tied, "no", "one matrix for embedding and output"),
    SHAPE_YES("gated", gated, "yes", "three feed-forward matrices, else two"),
    SHAPE_YES("qk_norm", qk_norm, "no", "norms of queries and keys"),
};

static const struct option workload_options[] = {
    {"workload", "kind", OPTION_CHOICE, FIELD(workload.kind), NAMES(kind_names), .fallback = "dense", .list = true,
     .help = "what is computed"},
    {"workload", "prompt_tokens", OPTION_COUNT, SCOPE_TOKENS, FIELD(workload.prompt_tokens), RANGE(0, 1 << 20),
     .fallback = "128", .list = true, .help = "tokens of the prompt"},
    {"workload", "output_tokens", OPTION_COUNT, SCOPE_TOKENS, FIELD(workload.output_tokens), RANGE(1, 1 << 20),
     .fallback = "64", .list = true, .help = "tokens to generate; the first comes from the prompt's pass"},
    {"workload", "trace", OPTION_PATH, SCOPE_TRACE, FIELD(workload.trace), RANGE(1, PATH_MAX_BYTES), .list = true,
     .help = "a trace file, relative to the config's folder or as given"},
    {"workload", "sequence", OPTION_TEXT, SCOPE_TRACE, FIELD(workload.sequence), RANGE(1, TEXT_MAX_BYTES),
     .help = "the trace itself: names of blocks, each a step"},
    {"workload", "trace_format", OPTION_FORMAT, SCOPE_TRACE, FIELD(workload.format), RANGE(1, NAME_MAX_BYTES),
     .fallback = "auto", .list = true,
     .help = "format of the trace; auto: by content; csv(time=1,id=2,size=3): columns by place"},
    {"workload", "zipf", OPTION_DECIMAL, SCOPE_MOE, FIELD(workload.zipf_ppm), RANGE(0, 10000000), .fallback = "0.8",
     .list = true, .help = "exponent of the experts' popularity; 0: uniform"},
    {"workload", "sticky", OPTION_SHARE, SCOPE_MOE, FIELD(workload.sticky_ppm), RANGE(0, 1000000), .fallback = "0%",
     .list = true, .help = "chance that a token takes an expert of the token before again"},
    {"workload", "top_k", OPTION_COUNT, SCOPE_MOE, FIELD(workload.top_k), RANGE(1, 4096), .fallback = "model",
     .word = "model", .word_value = 0, .list = true,
     .help = "experts that a token uses; model: the model's own number"},
    {"workload", "compute_per_token", OPTION_TIME, FIELD(workload.compute_per_token_ns), RANGE(0, TIME_MAX_NS),
     .fallback = "roofline", .word = "roofline", .word_value = -1, .list = true,
     .help = "measured time of one decode pass, shared by its steps"},
    {"workload", "prompt_compute", OPTION_TIME, FIELD(workload.prompt_compute_ns), RANGE(0, TIME_MAX_NS),
     .fallback = "roofline", .word = "roofline", .word_value = -1, .list = true,
     .help = "measured time of the whole prompt"},
    {"workload", "foresee", OPTION_CHOICE, FIELD(workload.foresee), NAMES(foresee_names), .fallback = "auto",
     .list = true, .help = "what a prefetcher may know of coming steps; auto: all but experts"},
};

static const struct option loader_options[] = {
    {"loader", "mode", OPTION_CHOICE, FIELD(loader.mode), NAMES(mode_names), .fallback = "chunked", .list = true,
     .help = "blocks under a budget, or the whole file before the first token"},
    {"loader", "budget", OPTION_BYTES, SCOPE_CHUNKED, FIELD(loader.budget_bytes), RANGE(1, SIZE_MAX_BYTES),
     .list = true, .help = "memory for weights"},
    {"loader", "lanes", OPTION_COUNT, FIELD(loader.lanes), RANGE(1, FLASH_QUEUE_MAX), .fallback = "4", .list = true,
     .help = "reads in flight at once"},
    {"loader", "prefetch_lanes", OPTION_COUNT, SCOPE_CHUNKED, FIELD(loader.prefetch_lanes), RANGE(1, FLASH_QUEUE_MAX),
     .fallback = "all", .word = "all", .word_value = 0, .list = true, .help = "of these, how many a prefetch may take"},
    {"loader", "read_size", OPTION_BYTES, FIELD(loader.read_bytes), RANGE(512, SIZE_MAX_BYTES), .fallback = "1MiB",
     .word = "whole", .word_value = 0, .list = true,
     .help = "an extent is read in pieces of at most this size; whole: in one"},
    {"loader", "align", OPTION_BYTES, FIELD(loader.align_bytes), RANGE(1, MIB), .fallback = "1B", .list = true,
     .help = "reads start and end at multiples of this power of two (4KiB for direct I/O)"},
    {"loader", "evict_when", OPTION_CHOICE, SCOPE_CHUNKED, FIELD(loader.evict_when), NAMES(evict_when_names),
     .fallback = "before_insert", .list = true, .help = "make room before a block comes, or after the step"},
    {"loader", "overlap", OPTION_CHOICE, SCOPE_CHUNKED, FIELD(loader.overlap), NAMES(overlap_names),
     .fallback = "prefetch", .list = true,
     .help = "loading beside computing: never, prefetches only, or blocks of the same step too"},
};

static const struct option policy_options[] = {
    {"policy", "name", OPTION_POLICY, SCOPE_CHUNKED, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "lru", .list = true,
     .help = "a policy, or a composition of parts joined by +"},
    {"policy", "evict", OPTION_PART, SCOPE_CHUNKED, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "lru", .list = true,
     .help = "eviction policy, when given by parts"},
    {"policy", "pin", OPTION_PART, SCOPE_CHUNKED, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "none", .list = true,
     .help = "pin rule, when given by parts"},
    {"policy", "prefetch", OPTION_PART, SCOPE_CHUNKED, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "none", .list = true,
     .help = "prefetcher, when given by parts"},
    {"policy", "admit", OPTION_PART, SCOPE_CHUNKED, RANGE(1, POLICY_TEXT_MAX - 1), .fallback = "none", .list = true,
     .help = "admission rule, when given by parts"},
    {"policy", "profile", OPTION_PATH, SCOPE_CHUNKED, FIELD(profile), RANGE(1, 4095),
     .help = "a file of `pocketload policy profile`: how often an earlier run used each block, for static-hot"},
};

/* The rate of one tensor type, below the common one. */
static bool flops_option(struct arena *arena, uint32_t type, struct option *out)
{
    char key[64];
    int length = snprintf(key, sizeof key, "flops_%s", tensor_types[type].name);
    must(length > 0 && (size_t)length < sizeof key);
    char *copy = arena_strdup(arena, key);
    if (!copy)
        return false;
    *out = (struct option){"device",
                           copy,
                           OPTION_FLOPS,
                           .offset = offsetof(struct run_config, device.flops_rate) + type * sizeof(uint64_t),
                           .width = sizeof(uint64_t),
                           RANGE(1, UINT64_C(1) << 60),
                           .list = true,
                           .help = "speed of products with this type"};
    return true;
}

const struct option *options_all(struct arena *arena, size_t *count)
{
    static const struct {
        const struct option *options;
        size_t count;
    } sections[] = {
#define SECTION(table) {table, sizeof table / sizeof *table}
        SECTION(experiment_options), SECTION(device_options), SECTION(model_options),
        SECTION(workload_options),   SECTION(loader_options), SECTION(policy_options),
    };
    must(tensor_type_count <= TENSOR_TYPES_MAX);
    size_t total = tensor_type_count;
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++)
        total += sections[s].count;
    struct option *all = arena_alloc(arena, total, sizeof *all);
    if (!all)
        return NULL;
    size_t n = 0;
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        memcpy(all + n, sections[s].options, sections[s].count * sizeof *all);
        n += sections[s].count;
        if (sections[s].options != device_options)
            continue;
        for (uint32_t t = 0; t < tensor_type_count; t++)
            if (!flops_option(arena, t, &all[n++]))
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
