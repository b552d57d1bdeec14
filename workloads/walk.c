/* The steps of a pass over a model, and their work. */
#include "workloads/walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* The output head of a tied model is its embedding, named by two steps: so there is room for each block twice. */
static bool reserve_walk(struct walk *walk, const struct model *model, struct error *err)
{
    *walk = (struct walk){.model = model};
    walk->steps = calloc((size_t)model->block_count + 2, sizeof *walk->steps);
    walk->blocks = calloc((size_t)model->block_count * 2, sizeof *walk->blocks);
    if (walk->steps != NULL && walk->blocks != NULL)
        return true;
    walk_free(walk);
    return fail(err, STATUS_IO, "out of memory: %" PRIu32 " blocks", model->block_count);
}

void walk_free(struct walk *walk)
{
    free(walk->steps);
    free(walk->blocks);
    *walk = (struct walk){0};
}

bool walk_has_experts(const struct model *model)
{
    for (uint32_t b = 0; b < model->block_count; b++)
        if (model->blocks[b].kind == BLOCK_EXPERT)
            return true;
    return false;
}

/* Where a block goes: its layer's step, the embedding's, or the head's. */
static bool in_embedding(const struct block *block)
{
    return block->kind == BLOCK_EMBEDDING;
}

static bool in_head(const struct block *block, bool also_output)
{
    return block->layer < 0 && block->kind != BLOCK_EXPERT && (also_output || !in_embedding(block));
}

static void add_steps_outside(struct walk *walk, enum walk_kind kind, bool also_output, uint32_t *fill)
{
    struct walk_step step = {.kind = kind, .layer = -1, .first = *fill};
    const struct model *model = walk->model;
    /* The norm comes before a tied output. */
    for (int embeddings = 0; embeddings < 2; embeddings++)
        for (uint32_t b = 0; b < model->block_count; b++) {
            const struct block *block = &model->blocks[b];
            const bool member = kind == WALK_HEAD ? in_head(block, also_output) : in_embedding(block);
            if (member && in_embedding(block) == (embeddings == 1))
                walk->blocks[(*fill)++] = b;
        }
    step.count = *fill - step.first;
    if (step.count > 0)
        walk->steps[walk->step_count++] = step;
}

struct keyed_block {
    int32_t layer;
    bool expert;
    block_id b;
};

/* By layer, shared blocks before experts, then by id: a total order. */
static int compare_keyed(const void *a, const void *b)
{
    const struct keyed_block *x = a, *y = b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->expert != y->expert)
        return x->expert ? 1 : -1;
    return x->b < y->b ? -1 : x->b > y->b;
}

static bool add_layer_steps(struct walk *walk, uint32_t *fill, struct error *err)
{
    const struct model *model = walk->model;
    struct keyed_block *keyed = calloc(model->block_count, sizeof *keyed);
    if (keyed == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu32 " blocks", model->block_count);
    uint32_t count = 0;
    for (uint32_t b = 0; b < model->block_count; b++) {
        const struct block *block = &model->blocks[b];
        if (!in_embedding(block) && (block->layer >= 0 || block->kind == BLOCK_EXPERT))
            keyed[count++] = (struct keyed_block){block->layer, block->kind == BLOCK_EXPERT, b};
    }
    qsort(keyed, count, sizeof *keyed, compare_keyed);
    for (uint32_t i = 0; i < count;) {
        struct walk_step step = {.kind = WALK_LAYER, .layer = keyed[i].layer, .first = *fill};
        for (; i < count && keyed[i].layer == step.layer; i++) {
            walk->blocks[(*fill)++] = keyed[i].b;
            step.count += !keyed[i].expert;
            step.expert_no += keyed[i].expert;
        }
        step.experts = step.first + step.count;
        walk->steps[walk->step_count++] = step;
    }
    free(keyed);
    return true;
}

bool walk_init(struct walk *walk, const struct model *model, struct error *err)
{
    uint32_t fill = 0;
    if (!reserve_walk(walk, model, err))
        return false;
    if (!work_has_shape(model) && !walk_has_experts(model)) {
        for (uint32_t b = 0; b < model->block_count; b++) {
            walk->blocks[b] = b;
            walk->steps[walk->step_count++] =
                (struct walk_step){.kind = WALK_BLOCK, .layer = -1, .first = b, .count = 1};
        }
        return true;
    }
    add_steps_outside(walk, WALK_EMBEDDING, false, &fill);
    if (!add_layer_steps(walk, &fill, err)) {
        walk_free(walk);
        return false;
    }
    const bool also_output = model->shape.tied && model->shape.output_copy == OUTPUT_COPY_NO;
    add_steps_outside(walk, WALK_HEAD, also_output, &fill);
    return true;
}

bool walk_activations(const struct walk *walk, const struct pass *pass, uint32_t repeat, uint64_t *bytes,
                      struct error *err)
{
    const uint64_t longest = pass->context + (uint64_t)repeat * pass->tokens;
    uint64_t logits = 0;
    if (!work_activation_bytes(walk->model, pass->spec, pass->tokens, longest, bytes, err))
        return false;
    if (pass->all_logits && work_has_shape(walk->model))
        logits = 4 * (uint64_t)walk->model->shape.vocab * (pass->tokens - 1); /* beside those of one token */
    return (add(*bytes, logits, bytes) && *bytes <= INT64_MAX) ||
           fail(err, STATUS_INPUT, "activations of more than 2^63 bytes");
}

/* The block of the pass's adapter for the layer of step i, or BLOCK_NONE. */
static block_id adapter_block(const struct walk *walk, uint32_t i, const struct pass *pass)
{
    if (walk->adapters == NULL || pass->adapter == NO_ADAPTER || walk->steps[i].kind != WALK_LAYER)
        return BLOCK_NONE;
    return pass->adapter * walk->model->shape.layers + (uint32_t)walk->steps[i].layer;
}

bool walk_sum(const struct walk *walk, uint32_t i, const struct pass *pass, struct work_sum *sum, struct error *err)
{
    const struct walk_step *step = &walk->steps[i];
    /* Of a prompt, only the last token's logits are wanted. */
    const uint64_t tokens = step->kind == WALK_HEAD && !pass->all_logits ? 1 : pass->tokens;
    const block_id adapter = adapter_block(walk, i, pass);
    work_clear(sum);
    for (uint32_t j = step->first; j < step->first + step->count; j++)
        if (!(step->kind == WALK_EMBEDDING ? work_add_rows(sum, walk->model, walk->blocks[j], tokens, err)
                                           : work_add_block(sum, walk->model, walk->blocks[j], tokens, false, err)))
            return false;
    if (step->kind != WALK_LAYER)
        return true;
    if (adapter != BLOCK_NONE && !work_add_block(sum, walk->adapters, adapter, tokens, false, err))
        return false;
    const uint32_t layer = (uint32_t)step->layer;
    const enum kv_type type = pass->spec->kv_type;
    return pass->repeats ? work_add_attention_decode(sum, walk->model, layer, type, err)
                         : work_add_attention(sum, walk->model, layer, type, pass->context, pass->tokens, err);
}

bool walk_open_step(const struct walk *walk, uint32_t i, const struct pass *pass, const struct work_sum *sum,
                    enum foresee foresee, struct trace_builder *builder, struct error *err)
{
    const struct walk_step *step = &walk->steps[i];
    uint32_t work;
    if (pass->time_ns >= 0
            ? !trace_add_work(builder, trace_share_ns(pass->time_ns, i, walk->step_count), 0, 0, NULL, 0, &work, err)
            : !work_store(sum, builder, &work, err))
        return false;
    if (!trace_add_step(builder, work, err))
        return false;
    for (uint32_t j = step->first; j < step->first + step->count; j++) {
        const block_id b = walk->blocks[j];
        if (!trace_add_use(builder, walk->first + b, foresee_flag(foresee, walk->model->blocks[b].kind), err))
            return false;
    }
    const block_id adapter = adapter_block(walk, i, pass);
    const bool hidden = foresee == FORESEE_NONE || (foresee == FORESEE_AUTO && pass->adapter_hidden);
    return adapter == BLOCK_NONE || trace_add_use(builder, walk->first_adapter + adapter, hidden ? USE_UNSEEN : 0, err);
}
