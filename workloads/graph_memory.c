/* ggml's allocator of graphs, without its tensors. */
#include "workloads/graph_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/units.h"

enum { FREE_MAX = 256 }; /* MAX_FREE_BLOCKS: more than a graph of layers ever has */
#define SPACE_BYTES (UINT64_C(1) << 62)
#define TENSOR_BYTES_MAX (UINT64_C(1) << 52)

void graph_free(struct graph *graph)
{
    free(graph->ops);
    free(graph->bytes);
    *graph = (struct graph){0};
}

uint64_t graph_bytes(uint64_t numbers, uint64_t tokens, uint64_t element_bytes)
{
    uint64_t bytes;
    return multiply(numbers, tokens, &bytes) && multiply(bytes, element_bytes, &bytes) ? bytes : UINT64_MAX;
}

static graph_tensor add_tensor(struct graph *graph, uint64_t bytes)
{
    struct error ignored;
    void *all = graph->bytes;
    graph->failed =
        graph->failed || bytes > TENSOR_BYTES_MAX || graph->tensor_count >= GRAPH_NONE ||
        !array_reserve(&all, &graph->tensor_capacity, graph->tensor_count + 1, sizeof *graph->bytes, &ignored);
    graph->bytes = all;
    if (graph->failed)
        return GRAPH_NONE;
    graph->bytes[graph->tensor_count] = (bytes + GRAPH_ALIGNMENT - 1) / GRAPH_ALIGNMENT * GRAPH_ALIGNMENT;
    return (graph_tensor)graph->tensor_count++;
}

static void add_op(struct graph *graph, const struct graph_op *op)
{
    struct error ignored;
    void *ops = graph->ops;
    graph->failed =
        graph->failed || !array_reserve(&ops, &graph->op_capacity, graph->op_count + 1, sizeof *graph->ops, &ignored);
    graph->ops = ops;
    if (!graph->failed)
        graph->ops[graph->op_count++] = *op;
}

graph_tensor graph_input(struct graph *graph, uint64_t bytes)
{
    return add_tensor(graph, bytes);
}

graph_tensor graph_add(struct graph *graph, uint64_t bytes, bool in_place, graph_tensor a, graph_tensor b,
                       graph_tensor c, graph_tensor d)
{
    const graph_tensor result = add_tensor(graph, bytes);
    add_op(graph, &(struct graph_op){.result = result, .sources = {a, b, c, d}, .in_place = in_place});
    return result;
}

void graph_use(struct graph *graph, graph_tensor a, graph_tensor b)
{
    add_op(graph, &(struct graph_op){.result = GRAPH_NONE, .sources = {a, b, GRAPH_NONE, GRAPH_NONE}});
}

/* ---- The buffer ---- */

struct range {
    uint64_t offset, bytes;
};

struct buffer {
    const struct graph *graph;
    struct range free[FREE_MAX]; /* by offset; the last one is the space behind all */
    size_t free_count;
    uint64_t most;
    uint64_t *offsets; /* by tensor */
    uint32_t *uses;    /* by tensor: that are still to come */
};

static void remove_range(struct buffer *buffer, size_t i)
{
    memmove(&buffer->free[i], &buffer->free[i + 1], (buffer->free_count - i - 1) * sizeof *buffer->free);
    buffer->free_count--;
}

static uint64_t take(struct buffer *buffer, uint64_t bytes)
{
    size_t best = buffer->free_count - 1;
    uint64_t best_bytes = UINT64_MAX;
    for (size_t i = 0; i + 1 < buffer->free_count; i++)
        if (buffer->free[i].bytes >= bytes && buffer->free[i].bytes <= best_bytes) {
            best = i;
            best_bytes = buffer->free[i].bytes;
        }
    struct range *range = &buffer->free[best];
    const uint64_t offset = range->offset;
    must(range->bytes > bytes || best + 1 < buffer->free_count);
    range->offset += bytes;
    range->bytes -= bytes;
    if (range->bytes == 0)
        remove_range(buffer, best);
    if (offset + bytes > buffer->most)
        buffer->most = offset + bytes;
    return offset;
}

static void give_back(struct buffer *buffer, uint64_t offset, uint64_t bytes)
{
    size_t next = 0;
    if (bytes == 0)
        return;
    while (buffer->free[next].offset < offset) /* the space behind all ends the search */
        next++;
    const bool joins_before = next > 0 && buffer->free[next - 1].offset + buffer->free[next - 1].bytes == offset;
    const bool joins_next = offset + bytes == buffer->free[next].offset;
    if (joins_before) {
        buffer->free[next - 1].bytes += bytes;
        if (joins_next) {
            buffer->free[next - 1].bytes += buffer->free[next].bytes;
            remove_range(buffer, next);
        }
    } else if (joins_next) {
        buffer->free[next].offset = offset;
        buffer->free[next].bytes += bytes;
    } else {
        must(buffer->free_count < FREE_MAX);
        memmove(&buffer->free[next + 1], &buffer->free[next], (buffer->free_count - next) * sizeof *buffer->free);
        buffer->free[next] = (struct range){offset, bytes};
        buffer->free_count++;
    }
}

/* A source that only this operation still needs, of the result's size; or GRAPH_NONE. */
static graph_tensor reusable(const struct buffer *buffer, const struct graph_op *op)
{
    for (int i = 0; op->in_place && i < GRAPH_SOURCES; i++) {
        const graph_tensor source = op->sources[i];
        if (source != GRAPH_NONE && buffer->uses[source] == 1 &&
            buffer->graph->bytes[source] == buffer->graph->bytes[op->result])
            return source;
    }
    return GRAPH_NONE;
}

static void run(struct buffer *buffer, const struct graph_op *op)
{
    graph_tensor reused = GRAPH_NONE;
    if (op->result != GRAPH_NONE) {
        reused = reusable(buffer, op);
        buffer->offsets[op->result] =
            reused != GRAPH_NONE ? buffer->offsets[reused] : take(buffer, buffer->graph->bytes[op->result]);
    }
    for (int i = 0; i < GRAPH_SOURCES; i++) {
        const graph_tensor source = op->sources[i];
        if (source != GRAPH_NONE && --buffer->uses[source] == 0 && source != reused)
            give_back(buffer, buffer->offsets[source], buffer->graph->bytes[source]);
    }
}

/* Inputs are the tensors that no operation makes. */
static void run_all(struct buffer *buffer)
{
    const struct graph *graph = buffer->graph;
    for (size_t t = 0; t < graph->tensor_count; t++)
        buffer->offsets[t] = UINT64_MAX;
    for (size_t i = 0; i < graph->op_count; i++) {
        const struct graph_op *op = &graph->ops[i];
        if (op->result != GRAPH_NONE)
            buffer->offsets[op->result] = 0;
        for (int s = 0; s < GRAPH_SOURCES; s++)
            if (op->sources[s] != GRAPH_NONE)
                buffer->uses[op->sources[s]]++;
    }
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (buffer->offsets[t] == UINT64_MAX)
            buffer->offsets[t] = take(buffer, graph->bytes[t]);
    for (size_t i = 0; i < graph->op_count; i++)
        run(buffer, &graph->ops[i]);
}

bool graph_buffer(const struct graph *graph, uint64_t *bytes, struct error *err)
{
    if (graph->failed)
        return fail(err, STATUS_INPUT, "a graph with a tensor of more than 2^52 bytes, or no memory for it");
    struct buffer buffer = {.graph = graph, .free = {{0, SPACE_BYTES}}, .free_count = 1};
    buffer.offsets = calloc(graph->tensor_count + 1, sizeof *buffer.offsets);
    buffer.uses = calloc(graph->tensor_count + 1, sizeof *buffer.uses);
    const bool ok = buffer.offsets != NULL && buffer.uses != NULL;
    if (ok)
        run_all(&buffer);
    else
        fail(err, STATUS_IO, "out of memory: a graph of %zu tensors", graph->tensor_count);
    free(buffer.offsets);
    free(buffer.uses);
    *bytes = buffer.most;
    return ok;
}
