/* How a model's blocks are cut into units of loading and eviction: a new model, and its trace.
 *
 *   layer      as the model has them: one block a layer (and one an expert)
 *   SIZE       each block is cut into pieces of SIZE, the last one smaller, in the order of its bytes
 *   layers:K   the shared blocks of K neighbouring layers are one (0 to K-1, K to 2K-1, ...); experts and what is of
 *              no layer stay
 *   heads:K    a layer's shared block is cut by attention heads in groups of K: with G = heads / K groups, group g has
 *              slice g of G of each of the block's tensors, so its rows of the queries, keys, values and output, and as
 *              much of the rest. K divides the heads and is a multiple of the heads that share one head of keys and
 *              values, so that each group has whole ones
 *
 * Pieces are called layer3#0, layer3#1, ..., merged layers layers0-3; a block that stays whole keeps its name. Kinds,
 * layers and experts are kept; the layer of merged ones is their first. What a step computes does not change. */
#ifndef POCKETLOAD_WORKLOADS_CHUNKS_H
#define POCKETLOAD_WORKLOADS_CHUNKS_H

#include "workloads/trace.h"

enum chunk_kind { CHUNK_LAYER, CHUNK_SIZE, CHUNK_LAYERS, CHUNK_HEADS };

enum { CHUNK_COUNT_MAX = 4096, CHUNK_TEXT = 40 };

/* All zeros: layer. */
struct chunk_rule {
    enum chunk_kind kind;
    uint32_t count; /* of layers or heads; else 0 */
    uint64_t bytes; /* of CHUNK_SIZE; else 0 */
};

/* "layer", "4MiB", "layers:2" (layers:1 is layer), "heads:8". STATUS_USAGE, without the place. */
bool chunk_parse(const char *text, struct chunk_rule *rule, struct error *err);

/* The shortest text that reads back to it. */
const char *chunk_print(const struct chunk_rule *rule, char out[CHUNK_TEXT]);

/* The rule as one number, and back; 0 is layer. */
uint64_t chunk_code(const struct chunk_rule *rule);
struct chunk_rule chunk_of_code(uint64_t code);

/* Which chunks make up each block of the model as it was: chunks[first[b]] to chunks[first[b + 1] - 1], in the order in
 * which a step uses them. Of merged layers a block has the one chunk that it shares with others. */
struct chunk_map {
    uint32_t *first;
    block_id *chunks;
    uint32_t block_count;
};
void chunk_map_free(struct chunk_map *map);

/* A new model of the same bytes, and the map; the caller frees both. Not for a numbered model, nor for CHUNK_LAYER.
 * STATUS_USAGE for a rule that does not fit the model, STATUS_INPUT for more blocks than a model may have. */
bool chunk_model(const struct model *model, const struct chunk_rule *rule, struct model *chunked, struct chunk_map *map,
                 struct error *err);

/* The trace for the new model: each use of a block becomes uses of its chunks, with its marks; a chunk that the step
 * has named already for another block is not named again. Steps, works, segments and KV cache stay as they are.
 * STATUS_INPUT for more than 2^32 - 2 uses. */
bool chunk_trace(const struct trace *trace, const struct model *chunked, const struct chunk_map *map,
                 struct trace *translated, struct error *err);

#endif
