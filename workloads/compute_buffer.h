/* The compute buffer of llama.cpp: what it reserves for a batch of prompt tokens, beside weights and KV cache. */
#ifndef POCKETLOAD_WORKLOADS_COMPUTE_BUFFER_H
#define POCKETLOAD_WORKLOADS_COMPUTE_BUFFER_H

#include "workloads/model.h"

/* For a CPU backend, `batch` tokens at once (n_ubatch, at most the context), a context of `context` tokens, and the
 * logits of every token of the batch, for which llama.cpp reserves (src/llama-context.cpp, graph_reserve: n_outputs =
 * n_tokens). The graph is that of src/models/llama.cpp and src/llama-graph.cpp, with what the shape says beside: norms
 * of queries and keys, biases, fused matrices, norms behind, experts, attention and FFN side by side; laid out as in
 * graph_memory.h. The attention is one operation, or with flash_attention false in parts.
 *
 * False and *known false for a model without a shape, or with latent attention, whose graph is not modelled;
 * STATUS_INPUT for sizes that are too large. */
bool compute_buffer_bytes(const struct shape *shape, uint32_t batch, uint32_t context, bool flash_attention,
                          bool *known, uint64_t *bytes, struct error *err);

#endif
