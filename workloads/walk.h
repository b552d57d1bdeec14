/* One pass over a model, in the order in which a token uses its blocks. */
#ifndef POCKETLOAD_WORKLOADS_WALK_H
#define POCKETLOAD_WORKLOADS_WALK_H

#include "workloads/work.h"
#include "workloads/workload.h"

enum walk_kind { WALK_EMBEDDING, WALK_LAYER, WALK_HEAD, WALK_BLOCK };

struct walk_step {
    enum walk_kind kind;
    int32_t layer;               /* WALK_LAYER */
    uint32_t first, count;       /* in walk.blocks: the blocks that every token uses */
    uint32_t experts, expert_no; /* WALK_LAYER: walk.blocks[experts .. experts + expert_no) are its experts */
};

struct walk {
    const struct model *model;
    block_id first; /* what its block 0 is in the trace: not 0 for a later part of a combined model */
    struct walk_step *steps;
    uint32_t step_count;
    block_id *blocks;
    /* Adapters of the layers: block i * model->shape.layers + l of `adapters` belongs to adapter i and layer l. */
    const struct model *adapters; /* NULL: none */
    block_id first_adapter;       /* what their block 0 is in the trace */
};

/* With layers: {embedding}, {what is of the layer} for each, {norm, output, what else is of no layer}; of a tied model
 * the embedding is the output. A list without a shape and without experts: each block is a step. */
bool walk_init(struct walk *walk, const struct model *model, struct error *err);
void walk_free(struct walk *walk);

#define NO_ADAPTER UINT32_MAX

/* What a pass computes, and where its measured time comes from. */
struct pass {
    enum phase phase;
    uint32_t tokens;
    uint32_t context; /* tokens in the context before its first */
    bool repeats;     /* its tokens are like that: each next one, with one token more in the context, does the same */
    bool all_logits;  /* of every token, as for checking a draft; else of the last one */
    uint32_t adapter; /* whose matrices join those of the layers, or NO_ADAPTER */
    bool adapter_hidden; /* a runtime cannot foresee which */
    int64_t time_ns;     /* of all its steps; -1: roofline */
    const struct workload_spec *spec;
};

/* The activations of a pass that is repeated so often. STATUS_INPUT for over 2^63 bytes. */
bool walk_activations(const struct walk *walk, const struct pass *pass, uint32_t repeat, uint64_t *bytes,
                      struct error *err);

/* Sums up step i without its experts. */
bool walk_sum(const struct walk *walk, uint32_t i, const struct pass *pass, struct work_sum *sum, struct error *err);

/* Opens step i of the pass with that sum, or with its share of a measured time, and adds the blocks that every token
 * uses. */
bool walk_open_step(const struct walk *walk, uint32_t i, const struct pass *pass, const struct work_sum *sum,
                    enum foresee foresee, struct trace_builder *builder, struct error *err);

/* A block of the model is one of several that a router chooses from. */
bool walk_has_experts(const struct model *model);

#endif
