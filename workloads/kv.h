/* What a KV cache takes, and which layers keep a window of it only. */
#ifndef POCKETLOAD_WORKLOADS_KV_H
#define POCKETLOAD_WORKLOADS_KV_H

#include "workloads/model.h"

/* Layers of the shape that are windowed: window_layers, at most all; none without a window. */
uint32_t kv_window_layers(const struct shape *shape);

/* True for a layer that is windowed; false for one beyond the last. They are spread evenly from the first layer on, as
 * Gemma 2 has them (26 layers, 13 windowed: 0, 2, 4 ...). Models with other patterns have as many, at other places: a
 * token's sums are the same. */
bool kv_layer_is_windowed(const struct shape *shape, uint32_t layer);

/* Elements that one token keeps in all layers: layers * kv_heads * head_size * 2 (K and V); with latent attention
 * layers * (latent + latent_rope), which stand for both (DeepSeek-V2, arXiv 2405.04434, table 1). False for more than
 * 2^64. */
bool kv_elements(const struct shape *shape, uint64_t *elements);

/* Bytes that one layer's keys and values of one position take: two rows of kv_heads * head_size elements, or one of
 * latent + latent_rope, each of whole ggml blocks (ggml/src/ggml.c, ggml_row_size; a last block that is not full counts
 * whole). Numbers up to SHAPE_MAX cannot overflow. */
uint64_t kv_layer_bytes(const struct shape *shape, enum kv_type type);

/* The tensor type of a KV cache. */
enum tensor_type kv_tensor_type(enum kv_type type);

/* Growth of the KV cache by a token, in bytes: of the layers without a window, and of the windowed ones, which stop at
 * `window` tokens (0: there are none).
 *
 * A model whose file says more than its shape (heads that differ from layer to layer, latent attention) has its own
 * model->kv_bytes_per_token for f16: its elements are counted as one row, and layers are taken to be alike.
 * STATUS_INPUT for over 2^64 bytes. */
struct kv_growth {
    uint64_t bytes, window_bytes;
    uint32_t window;
};
bool kv_growth(const struct model *model, enum kv_type type, struct kv_growth *growth, struct error *err);

/* The KV cache of a context of that many tokens; false for over 2^63 bytes. */
bool kv_bytes(const struct kv_growth *growth, uint64_t tokens, uint64_t *bytes);

#endif
