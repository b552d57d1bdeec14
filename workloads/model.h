/* A model as the loader sees it: blocks with sizes, where they lie in the file, and what computing with them costs.
 *
 * A block is the unit of loading and eviction. It lies in one or more extents of the file: an expert's three matrices
 * are slices of three tensors, far apart. Block ids are dense and ordered as a token uses them: embedding, then for
 * each layer its shared block and its experts, then the final norm and the output head. Where embedding and output are
 * tied there is one block for both. */
#ifndef POCKETLOAD_WORKLOADS_MODEL_H
#define POCKETLOAD_WORKLOADS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "policies/policy.h"
#include "workloads/quant.h"

struct extent {
    uint64_t offset_bytes, bytes; /* in the file (of a split file: as if the parts followed one another) */
};

/* The weights of one type that a block multiplies with. */
struct matter {
    uint32_t type;     /* enum tensor_type */
    uint64_t elements; /* weights that take part in matrix products: 2 flops each a token */
};

struct block {
    uint64_t bytes; /* sum of its extents */
    uint32_t first_extent, extent_count;
    uint32_t first_tensor, tensor_count; /* the same bytes in the same order, tensor by tensor */
    uint32_t first_matter, matter_count;
    uint64_t compute_bytes; /* what one token's pass reads of it: all, or one row of an embedding; model_finish sets
                               it to all where a builder left 0 */
    int32_t layer;          /* -1: none */
    int32_t expert;         /* -1: none */
    enum block_kind kind;
    uint32_t name; /* offset in model.names */
};

/* Where a tied model has a second matrix of its embedding nevertheless: nowhere; in its file, as converted from a
 * checkpoint that stores lm_head (Qwen3-1.7B), quantised as of an untied model; or in the runtime's memory, of the
 * embedding's type and read from the same bytes of the file (llama.cpp loads a tied embedding twice when its device
 * wants another layout for the output: TENSOR_DUPLICATED in src/llama-model.cpp). */
enum output_copy { OUTPUT_COPY_NO, OUTPUT_COPY_FILE, OUTPUT_COPY_MEMORY, OUTPUT_COPIES };
extern const char *const output_copy_names[OUTPUT_COPIES];

/* What weights are for: finer than blocks, as a layer is one. Norms are vectors that scale; the router of experts and
 * an expert that all tokens use are feed-forward; a tied matrix is embedding. */
enum model_part {
    PART_EMBEDDING,
    PART_ATTENTION,
    PART_FFN,
    PART_EXPERTS,
    PART_NORMS,
    PART_OUTPUT,
    PART_OTHER,
    MODEL_PARTS
};

/* The numbers of a transformer. All 0 for a model that is only a list of blocks. */
struct shape {
    uint32_t layers, width, vocab, heads, kv_heads, head_size, ffn;
    uint32_t experts, experts_used, expert_ffn; /* 0: dense */
    uint32_t shared_ffn;                        /* width of an expert that all tokens use; 0: none */
    uint32_t dense_layers;                      /* the first of a model with experts that have none, but ffn */
    uint32_t latent, latent_rope; /* multi-head latent attention: what a token keeps a layer, in elements, and its
                                     rotary part; 0: heads keep keys and values. A head's query is head_size wide, its
                                     value head_size - latent_rope. (DeepSeek-V2, arXiv 2405.04434, section 2.1) */
    bool tied;                    /* one matrix for embedding and output */
    bool gated;                   /* three FFN matrices, else two */
    bool qk_norm;
    bool attn_bias;  /* of q, k and v */
    bool fused_qkv;  /* one matrix for q, k and v, and where gated one for gate and up; experts stay apart */
    bool post_norms; /* two more norms a layer, behind attention and FFN */
    bool parallel;   /* attention and FFN side by side behind one norm, biases everywhere (Phi-2) */
    bool imatrix;    /* quantised with an importance matrix: see quant.h */
    enum output_copy output_copy;
    uint32_t window;        /* positions that a token of a windowed layer sees, its own included; 0: no windows */
    uint32_t window_layers; /* how many layers are windowed, evenly spread from the first on; UINT32_MAX: all */
};

/* The tensor types that a KV cache may have: f16 unless a user says otherwise (cache_type_k of llama.cpp,
 * common/common.h). */
enum kv_type { KV_F16, KV_F32, KV_Q8_0, KV_Q4_0, KV_TYPES };
extern const char *const kv_type_names[KV_TYPES];

enum { MODEL_BLOCKS_MAX = 1 << 20 };

/* Of a trace's own numbered blocks. Reading holds some 100 bytes of each at once, and a policy some 20 to 40: with
 * 2^28 blocks that is more than a large workstation has, and every id still leaves room for the marks of a use. */
enum { NUMBERED_BLOCKS_MAX = 1 << 28 };

struct model {
    char name[128];
    char quant[32]; /* "q4_0", or "" where it is not known */
    struct shape shape;
    uint32_t block_count, extent_count, tensor_count, matter_count;
    struct block *blocks;
    struct policy_block *policy_blocks; /* the same blocks as policies see them */
    struct extent *extents;
    struct extent *tensors; /* as extents, where these are joined apart: each begins where an extent was added */
    struct matter *matters;
    char *names;
    uint64_t names_bytes;
    uint64_t *keys;                   /* of a numbered model: see model_numbered; else NULL */
    uint64_t weights_bytes;           /* sum of all blocks */
    uint64_t part_bytes[MODEL_PARTS]; /* of these, by part: the same sum */
    uint64_t file_bytes;              /* with headers and padding; weights_bytes for a list */
    uint64_t kv_bytes_per_token;      /* KV cache in f16; 0 without a shape */
    uint32_t *name_slots;             /* names to ids, for model_find: open addressing, 0 = empty, else id + 1 */
    uint32_t name_slot_count;         /* a power of two, or 0 before model_finish */
    struct {
        size_t blocks, extents, tensors, matters, names;
    } capacity;                   /* while it is built */
    struct model_member *members; /* of a combined model: the models that it was made of; else NULL */
    uint32_t member_count;
};

/* What a part of a combined model is there for: see model_combine.h. */
enum model_role { MEMBER_FIRST, MEMBER_DRAFT, MEMBER_SECOND, MEMBER_ADAPTERS };

struct model_member {
    struct model model; /* owned; its block ids start at 0 */
    enum model_role role;
    block_id first; /* what its block 0 is in the whole */
};

enum { MODEL_BLOCK_NAME_MAX = 63, SHAPE_MAX = 1 << 24 }; /* of a name in bytes; of each number of a shape */

/* What a [model] section says. Strings belong to the caller and may be NULL. */
struct model_spec {
    const char *name;   /* for messages and records */
    const char *blocks; /* "256 x 1MiB" or "embed:512MB layer1:768MB"; a name gives the kind: embed..., norm..., layerN,
                           expertL.E, lm_head / output..., else other */
    const char *file;   /* a model file: see model_from_file */
    bool has_shape;     /* a profile with numbers */
    struct shape shape;
    enum quant quant; /* of a profile, and of a file that has numbers alone */
};

/* Builds a model; exactly one of blocks, file and has_shape is given. The model owns its memory. STATUS_USAGE for a bad
 * list or shape, STATUS_INPUT for a bad file, STATUS_IO for an unreadable one. */
bool model_build(const struct model_spec *spec, struct model *model, struct error *err);

/* The three ways, each in a file of its own. */
bool model_from_blocks(const char *name, const char *blocks, struct model *model, struct error *err);
bool model_from_shape(const char *name, const struct shape *shape, enum quant quant, struct model *model,
                      struct error *err);
bool model_from_file(const char *path, enum quant quant, struct model *model, struct error *err);

/* What a file is, by its name. In model_file.c. */
enum model_file {
    MODEL_FILE_GGUF,        /* any name but those below */
    MODEL_FILE_SAFETENSORS, /* x.safetensors; x.safetensors.index.json, which names several such files */
    MODEL_FILE_CONFIG       /* any other x.json: a config.json of Hugging Face, numbers that `quant` makes sizes of */
};
enum model_file model_file_kind(const char *path);
bool model_from_gguf(const char *path, struct model *model, struct error *err);
bool model_from_safetensors(const char *path, struct model *model, struct error *err);
bool model_from_config(const char *path, enum quant quant, struct model *model, struct error *err);

/* The name of a model file, cut to `size`: the file's without folder and ending; where all checkpoints have files of
 * that name (config.json, model.safetensors), its folder's. */
void model_file_label(const char *path, char *label, size_t size);

/* STATUS_USAGE for numbers out of range or that do not go together. */
bool shape_check(const struct shape *shape, struct error *err);

void model_free(struct model *model);

/* Not for a numbered model without names: see model_write_name. */
static inline const char *model_block_name(const struct model *model, block_id b)
{
    must(model->names != NULL);
    return model->names + (model->keys != NULL ? model->keys[b] : model->blocks[b].name);
}

/* The name of a block of any model: its name, or its number written into `text`. */
enum { MODEL_NUMBER_TEXT = 24 };
const char *model_write_name(const struct model *model, block_id b, char text[MODEL_NUMBER_TEXT]);

/* The block of that name (or of that decimal id), else BLOCK_NONE. `model` is a const struct model *: fits policy_bind.
 * In a numbered model the number of a block is its name; looking for it passes over all blocks. */
block_id model_find(const void *model, const char *name);

/* A numbered model: blocks that a trace names and nothing is known of but their sizes, for replays of many millions of
 * them. 24 bytes a block: policy_blocks and keys. It has no blocks, extents or matters, so the engine cannot run it.
 *
 * Takes over policy_blocks and keys (from malloc, of `count` blocks each, all sizes set) and names (or NULL): keys are
 * the blocks' numbers, or with names their offsets in it. STATUS_INPUT when the sizes together exceed 2^63 bytes;
 * then too all is the model's, and model_free frees it. */
bool model_numbered(struct model *model, const char *name, struct policy_block *policy_blocks, uint64_t *keys,
                    char *names, uint32_t count, struct error *err);

/* For model_find: the block of a numbered model with that number or name, or BLOCK_NONE. */
block_id model_numbered_find(const struct model *model, const char *name);

/* Incremental construction, used by all builders and by trace readers that bring their own sizes.
 * model_start on a zeroed or uninitialised struct; then for each block model_add_block followed by model_add_extent and
 * model_add_matter for it; model_finish computes the sums, policy_blocks, and trims. On failure call model_free.
 *
 * An extent that begins where the block's last one ends is joined to it; matter of a type that the block has is added
 * to it. Either all bytes are given a part or none: then their block's kind tells it, and of a layer it is PART_OTHER.
 * model_finish keeps a file_bytes or kv_bytes_per_token that the builder has set, else the first becomes
 * weights_bytes, and the second follows from the shape (kv_elements of kv.h, 2 bytes each). */
void model_start(struct model *model, const char *name, const char *quant);
bool model_add_block(struct model *model, const char *name, enum block_kind kind, int32_t layer, int32_t expert,
                     struct error *err);
bool model_add_extent(struct model *model, uint64_t offset_bytes, uint64_t bytes, struct error *err);
bool model_add_matter(struct model *model, uint32_t type, uint64_t elements, struct error *err);
bool model_add_part(struct model *model, enum model_part part, uint64_t bytes, struct error *err);
/* STATUS_INPUT when there is no block, a block of 0 bytes, two of one name, or a sum that overflows. */
bool model_finish(struct model *model, struct error *err);

#endif
