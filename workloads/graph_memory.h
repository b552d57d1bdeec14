/* How much memory a graph of tensor operations takes when it is laid out as ggml lays it out before it runs: each
 * result gets a range of one buffer, which is free again after its last use. Used by compute_buffer.c.
 *
 * Source: ggml/src/ggml-alloc.c of llama.cpp (ggml_gallocr_alloc_graph_impl, ggml_dyn_tallocr_alloc): inputs come
 * first; an operation that may work in place takes the range of a source of equal size that nobody else needs; other
 * results take the smallest free range that fits (of equal ones the last), and where none does the space behind all
 * others; a range that ends or begins where a free one does is joined to it. So the buffer is as large as its holes
 * make it, not only as what is there at once. */
#ifndef POCKETLOAD_WORKLOADS_GRAPH_MEMORY_H
#define POCKETLOAD_WORKLOADS_GRAPH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { GRAPH_ALIGNMENT = 32, GRAPH_SOURCES = 4 }; /* TENSOR_ALIGNMENT of ggml/src/ggml-impl.h */

/* A tensor of the graph by number; GRAPH_NONE stands for what lies elsewhere: weights, the KV cache. */
typedef uint32_t graph_tensor;
#define GRAPH_NONE UINT32_MAX

struct graph_op {
    graph_tensor result; /* GRAPH_NONE: it writes elsewhere */
    graph_tensor sources[GRAPH_SOURCES];
    bool in_place; /* the result may take the place of a source, of which the first that can be is taken */
};

/* Starts as zeros; graph_free at the end. Operations run in the order in which they were added. */
struct graph {
    struct graph_op *ops;
    uint64_t *bytes; /* by tensor */
    size_t op_count, op_capacity, tensor_count, tensor_capacity;
    bool failed; /* an addition had no memory, or a size was too large: graph_buffer says so */
};
void graph_free(struct graph *graph);

/* numbers * element_bytes * tokens for a tensor: UINT64_MAX where that is too much. */
uint64_t graph_bytes(uint64_t numbers, uint64_t tokens, uint64_t element_bytes);

/* An input: there from the start to its last use. Those are laid out in the order in which they were added. */
graph_tensor graph_input(struct graph *graph, uint64_t bytes);

/* The result of an operation on up to four sources (GRAPH_NONE where there are fewer). A view of a tensor is the tensor
 * itself, also for work in place. */
graph_tensor graph_add(struct graph *graph, uint64_t bytes, bool in_place, graph_tensor a, graph_tensor b,
                       graph_tensor c, graph_tensor d);

/* An operation that writes elsewhere: a use of its sources. */
void graph_use(struct graph *graph, graph_tensor a, graph_tensor b);

/* The size of the buffer. STATUS_INPUT for over 2^62 bytes, STATUS_IO without memory. */
bool graph_buffer(const struct graph *graph, uint64_t *bytes, struct error *err);

#endif
