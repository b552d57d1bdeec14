/* From the tensors of a model file to blocks: what gguf.c and safetensors.c have in common. */
#ifndef POCKETLOAD_WORKLOADS_TENSOR_BLOCKS_H
#define POCKETLOAD_WORKLOADS_TENSOR_BLOCKS_H

#include "workloads/model.h"

/* In the order of the model's blocks. */
enum section { SECTION_EMBEDDING, SECTION_LAYERS, SECTION_NORM, SECTION_OUTPUT, SECTION_OTHER };

enum { EXPERT_SHARED = -1, EXPERT_STACKED = INT32_MAX }; /* stacked: all experts of a layer in one tensor */

/* A tensor, and the block that it belongs to. */
struct member {
    const char *name;   /* the reader's; for messages, with: */
    uint32_t file_part; /* of a model in several files, from 0 */
    uint64_t position;  /* in it */
    enum section section;
    int32_t layer, expert; /* layer -1: none */
    enum model_part part;
    uint32_t type;           /* enum tensor_type */
    bool is_matrix;          /* not a vector; of a stacked one: for each expert */
    uint64_t offset, bytes;  /* of its data, as if the parts of the model followed one another */
    uint64_t elements, rows; /* what a look-up reads is one of its rows */
    uint64_t stacked;        /* of a stacked one, how many experts: equal slices, one after the other */
};

/* At most 9 digits and a dot: the number, and *text moved behind it. Else false. */
bool tensor_index(const char **text, int32_t *index);

/* Sorts the members into blocks and adds these: by section, layer and expert, tensors in the order of their data.
 * Matrices are what is multiplied with, but in an embedding only when it is tied: the output head too. Raises
 * shape.experts to the most that a layer has stacked. STATUS_INPUT where stacked tensors of a layer differ. */
bool tensor_blocks_add(struct member *members, size_t count, bool tied, struct model *model, struct error *err);

#endif
