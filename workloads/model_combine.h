/* One model out of several: a model with its draft model, a second one that takes turns with it, its adapters. One
 * budget holds the blocks of all of them, and one file is mapped, as if theirs followed one another. */
#ifndef POCKETLOAD_WORKLOADS_MODEL_COMBINE_H
#define POCKETLOAD_WORKLOADS_MODEL_COMBINE_H

#include "workloads/model.h"

/* Combines `count` >= 2 parts, the first of them MEMBER_FIRST, whose models have blocks (no numbered ones). Block ids
 * follow one another part by part: part i's block b is parts[i].first + b. Names of a draft and a second model get the
 * prefix "draft/" and "second/", their layers are counted on from those before; those of adapters stay. Each file
 * begins at a multiple of 16 KiB behind the one before. Name and quantisation are those of the parts, joined by " + ",
 * or the one that they have in common. Shape and KV cache of the result are the first part's; a walk goes over parts.
 *
 * Takes the parts' models over, and frees them when it fails. STATUS_INPUT, STATUS_IO. */
bool model_combine(const struct model_member *parts, uint32_t count, struct model *combined, struct error *err);

/* The part of that role, or NULL; a model that was not combined is its own first part. *first is what its block 0 is in
 * the whole. */
const struct model *model_member(const struct model *model, enum model_role role, block_id *first);

/* Low-rank adapters of a model (Hu et al., "LoRA", 2021): `count` of them, a block for each layer, named
 * "adapter0/layer3". For each matrix of in x out that is adapted (queries, keys, values, attention output, and the
 * feed-forward of all tokens: not the experts) an A and a B of that rank in f16: 2 * rank * (in + out) bytes.
 * STATUS_USAGE for a model without a shape or more than MODEL_BLOCKS_MAX blocks. */
bool model_adapters(const struct model *base, uint32_t count, uint32_t rank, struct model *adapters, struct error *err);

#endif
