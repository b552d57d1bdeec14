/* Keys of [experiment], [model] and [workload]. */
#include "sim/option_tables.h"

static const char *const kind_names[] = {"dense", "moe", "chat", "trace"};
static const char *const foresee_names[] = {"auto", "all", "none"};
static const char *const yes_names[] = {"no", "yes"};
static const char *const switch_names[] = {"turn", "token", "never"};

static const struct option experiment_options[] = {
    {"experiment", "name", OPTION_TEXT, FIELD(experiment), RANGE(1, NAME_MAX_BYTES),
     .help = "name of the experiment in records; default: the config's file name"},
    {"experiment", "seed", OPTION_COUNT, FIELD(seed), RANGE(0, INT64_MAX), .fallback = "1", .list = true,
     .help = "seed of the workload's random choices; a list repeats every run"},
};

static const struct option model_options[] = {
    {"model", "profile", OPTION_PROFILE, RANGE(1, PATH_MAX_BYTES), .list = true,
     .help = "a model of configs/models; keys given here override its own"},
    {"model", "file", OPTION_PATH, FIELD(model.file), RANGE(1, PATH_MAX_BYTES), .list = true,
     .help = "a GGUF file, a safetensors file or index, or a Hugging Face config.json"},
    {"model", "blocks", OPTION_TEXT, FIELD(model.blocks), RANGE(1, TEXT_MAX_BYTES),
     .help = "a list of blocks: 256 x 1MiB, or embed:512MB layer1:768MB"},
    {"model", "name", OPTION_TEXT, FIELD(model.name), RANGE(1, NAME_MAX_BYTES),
     .help = "name of the model in records; default: the profile's or the file's"},
    {"model", "quant", OPTION_CHOICE, SCOPE_QUANT, FIELD(model.quant), .names = quant_names, .name_count = QUANTS,
     .fallback = "q4_0", .list = true,
     .help = "quantisation of the weights of a profile or a config.json; `model quants` lists them with their sizes"},
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
    SHAPE("dense_layers", dense_layers, 0, 4096, "0", "the first layers, of width ffn, where others have experts"),
    SHAPE("latent", latent, 0, 1 << 20, "0", "latent attention: size of the vector that stands for keys and values"),
    SHAPE("latent_rope", latent_rope, 0, 1 << 16, "0", "latent attention: size of a head's rotary part"),
    SHAPE_YES("tied", tied, "no", "one matrix for embedding and output"),
    SHAPE_YES("gated", gated, "yes", "three feed-forward matrices, else two"),
    SHAPE_YES("qk_norm", qk_norm, "no", "norms of queries and keys"),
    SHAPE_YES("attn_bias", attn_bias, "no", "biases of queries, keys and values"),
    SHAPE_YES("fused_qkv", fused_qkv, "no", "one matrix for q, k and v, one for gate and up"),
    SHAPE_YES("post_norms", post_norms, "no", "two more norms a layer, behind attention and feed-forward"),
    SHAPE_YES("parallel", parallel, "no", "attention and feed-forward side by side behind one norm, biases everywhere"),
    SHAPE_YES("imatrix", imatrix, "no", "quantised with an importance matrix: matters for q4_0, q5_0, iq4_nl, iq4_xs"),
    {"model", "output_copy", OPTION_CHOICE, SCOPE_SHAPE, FIELD(model.shape.output_copy), .names = output_copy_names,
     .name_count = OUTPUT_COPIES, .fallback = "no", .list = true,
     .help = "where a tied model has an output matrix nevertheless: in its file, or in memory alone"},
    {"model", "window", OPTION_COUNT, SCOPE_SHAPE, FIELD(model.shape.window), RANGE(1, 1 << 24), .fallback = "none",
     .word = "none", .word_value = 0, .list = true, .help = "positions that a windowed layer sees and keeps"},
    {"model", "window_layers", OPTION_COUNT, SCOPE_SHAPE, FIELD(model.shape.window_layers), RANGE(0, 4096),
     .fallback = "all", .word = "all", .word_value = UINT32_MAX, .list = true,
     .help = "how many layers are windowed; matters with window"},
    {"model", "perplexity", OPTION_QUALITY, FIELD(perplexity), RANGE(1, NAME_MAX_BYTES * 8),
     .help = "published quality by quantisation, to stand beside a run's speed: f16:6.2332 q4_k_m:6.4071"},
};

enum { TURNS_MAX = 1 << 16, TOKENS_MAX = 1 << 20 };

static const struct option workload_options[] = {
    {"workload", "kind", OPTION_CHOICE, FIELD(workload.kind), NAMES(kind_names), .fallback = "dense", .list = true,
     .help = "what is computed"},
    {"workload", "prompt_tokens", OPTION_COUNT, SCOPE_TOKENS, FIELD(workload.prompt_tokens), RANGE(0, 1 << 20),
     .fallback = "128", .list = true, .help = "tokens of the prompt; of a chat: of each turn's"},
    {"workload", "output_tokens", OPTION_COUNT, SCOPE_TOKENS, FIELD(workload.output_tokens), RANGE(1, 1 << 20),
     .fallback = "64", .list = true, .help = "tokens to generate; the first comes from the prompt's pass"},
    {"workload", "turns", OPTION_COUNT, SCOPE_CHAT, FIELD(workload.turns), RANGE(1, TURNS_MAX), .fallback = "4",
     .list = true, .help = "prompts, each with its answer"},
    {"workload", "system_tokens", OPTION_COUNT, SCOPE_CHAT, FIELD(workload.system_tokens), RANGE(0, TOKENS_MAX),
     .fallback = "0", .list = true, .help = "tokens before the first turn's prompt, computed with it"},
    {"workload", "think", OPTION_TIME, SCOPE_CHAT, FIELD(workload.think_ns), RANGE(0, TIME_MAX_NS), .fallback = "10s",
     .list = true, .help = "pause before each later turn"},
    {"workload", "keep_kv", OPTION_CHOICE, SCOPE_CHAT, FIELD(workload.keep_kv), NAMES(yes_names), .fallback = "yes",
     .list = true, .help = "no: each turn computes the whole conversation again"},
    {"workload", "background", OPTION_SHARE, SCOPE_CHAT, FIELD(workload.background), RANGE(0, 1000000),
     .fallback = "none", .word = "none", .word_value = 0, .other_word = "restart", .other_value = BACKGROUND_RESTART,
     .list = true, .help = "share of the weights that other apps take in a pause; restart: the app is ended in it"},
    {"workload", "background_every", OPTION_COUNT, SCOPE_CHAT, FIELD(workload.background_every), RANGE(1, TURNS_MAX),
     .fallback = "1", .list = true, .help = "of so many pauses one is spent in the background"},
    {"workload", "second", OPTION_MODEL, SCOPE_CHAT, FIELD(second), RANGE(1, PATH_MAX_BYTES), .list = true,
     .help = "a model that answers every second turn, in a conversation of its own"},
    {"workload", "draft", OPTION_MODEL, SCOPE_TOKENS, FIELD(draft), RANGE(1, PATH_MAX_BYTES), .list = true,
     .help = "a small model that drafts tokens, which the model checks in one pass (speculative decoding)"},
    {"workload", "draft_tokens", OPTION_COUNT, SCOPE_DRAFT, FIELD(workload.draft_tokens), RANGE(1, 1024),
     .fallback = "4", .list = true, .help = "tokens that it drafts a round"},
    {"workload", "accept", OPTION_SHARE, SCOPE_DRAFT, FIELD(workload.accept_ppm), RANGE(0, 1000000), .fallback = "70%",
     .list = true, .help = "chance that a drafted token is accepted, each independent of the others"},
    {"workload", "adapters", OPTION_COUNT, SCOPE_TOKENS, FIELD(workload.adapters), RANGE(0, 4096), .fallback = "0",
     .list = true, .help = "low-rank adapters of the model (LoRA), each with blocks of its own"},
    {"workload", "adapter_rank", OPTION_COUNT, SCOPE_ADAPTERS, FIELD(workload.adapter_rank), RANGE(1, 1 << 16),
     .fallback = "16", .list = true, .help = "their rank"},
    {"workload", "adapter_switch", OPTION_CHOICE, SCOPE_ADAPTERS, FIELD(workload.adapter_switch), NAMES(switch_names),
     .fallback = "turn", .list = true,
     .help = "turn: each turn uses the next one; token: each pass one that is drawn; never: all use the first"},
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
    {"workload", "batch", OPTION_COUNT, FIELD(workload.batch), RANGE(1, 1 << 20), .fallback = "512", .list = true,
     .help = "tokens of a prompt whose activations are held at once"},
    {"workload", "kv_type", OPTION_CHOICE, FIELD(workload.kv_type), .names = kv_type_names, .name_count = KV_TYPES,
     .fallback = "f16", .list = true, .help = "type of the KV cache's elements"},
    {"workload", "flash_attention", OPTION_CHOICE, FIELD(workload.flash_attention), NAMES(yes_names), .fallback = "yes",
     .list = true, .help = "no: the scores of a layer, heads x batch x context, are activations too"},
    {"workload", "stride", OPTION_BYTES, SCOPE_MMAP, FIELD(loader.stride_bytes), RANGE(1, GIB), .fallback = "page",
     .word = "page", .word_value = 0, .list = true,
     .help = "of each stride of the file one page is touched; page: every page"},
    {"workload", "foresee", OPTION_CHOICE, FIELD(workload.foresee), NAMES(foresee_names), .fallback = "auto",
     .list = true, .help = "what a prefetcher may know of coming steps; auto: all but experts"},
};

const struct option_section experiment_section = SECTION(experiment_options);
const struct option_section model_section = SECTION(model_options);
const struct option_section workload_section = SECTION(workload_options);
