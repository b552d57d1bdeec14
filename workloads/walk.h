/* One pass over a model, in the order in which a token uses its blocks: what dense and moe have in common. */
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
    struct walk_step *steps;
    uint32_t step_count;
    block_id *blocks;
};

/* With layers: {embedding}, {what is of the layer} for each, {norm, output, what else is of no layer}; of a tied model
 * the embedding is the output. A list without a shape and without experts: each block is a step. */
bool walk_init(struct walk *walk, const struct model *model, struct error *err);
void walk_free(struct walk *walk);

/* How many tokens a pass computes, and where its measured time comes from. */
struct pass {
    enum phase phase;
    uint32_t tokens;
    int64_t time_ns; /* of all its steps; -1: roofline */
    const struct workload_spec *spec;
};

/* The passes of a prompt and of one more token. */
struct pass walk_prefill(const struct workload_spec *spec);
struct pass walk_decode(const struct workload_spec *spec);

/* The segment of a pass: `repeat` of them from that token on. */
bool walk_open_segment(const struct walk *walk, const struct pass *pass, struct trace_builder *builder, uint32_t token,
                       uint32_t context, uint32_t repeat, struct error *err);

/* Sums up step i without its experts. */
bool walk_sum(const struct walk *walk, uint32_t i, const struct pass *pass, struct work_sum *sum, struct error *err);

/* Opens step i of the pass with that sum, or with its share of a measured time, and adds the blocks that every token
 * uses. */
bool walk_open_step(const struct walk *walk, uint32_t i, const struct pass *pass, const struct work_sum *sum,
                    enum foresee foresee, struct trace_builder *builder, struct error *err);

/* What both generators demand. STATUS_USAGE. */
bool walk_check(const struct workload_spec *spec, const struct model *model, struct error *err);

#endif
