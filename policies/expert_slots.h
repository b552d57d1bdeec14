/* What layer-lru and layer-lfu share: a number of places for experts in each layer. An expert of a full layer takes the
 * place of one of that layer; which one is all that the two differ in.
 *
 * Blocks that are no experts of a layer have a list of their own and leave only when no expert can. */
#ifndef POCKETLOAD_POLICIES_EXPERT_SLOTS_H
#define POCKETLOAD_POLICIES_EXPERT_SLOTS_H

#include <stdio.h>

#include "policies/bits.h"
#include "policies/ranks.h"
#include "policies/rings.h"

struct slots_layer {
    uint64_t bytes;  /* of its largest expert */
    uint32_t held;   /* experts */
    uint32_t places; /* for experts */
    uint32_t share;  /* experts in an equal share of the budget */
};

/* In memory: this, the layers, the set's words, the rings, each block's layer, its uses. */
struct slots {
    struct rings rings; /* one for each layer, and one for what is no expert; by age of the last use */
    struct bits over;   /* layers that hold more than their places */
    struct slots_layer *layers;
    uint32_t *layer_of; /* by block: the rank of its layer; layer_count: it is no expert of one */
    uint32_t *uses;     /* by block, while it is held */
    uint32_t layer_count;
    block_id missed; /* on_miss() told of it last, and nothing else since; BLOCK_NONE: none */
};

static const struct policy_param slots_params[] = {
    {"slots", POLICY_COUNT, 0, UINT32_MAX, 0,
     "places for experts in each layer; 0, the default: the budget in equal shares"},
};

static inline bool slots_is_expert(const struct policy_block *block)
{
    return block->kind == BLOCK_EXPERT && block->layer >= 0;
}

static size_t slots_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    size_t n = view->block_count;
    return sizeof(struct slots) + n * sizeof(struct slots_layer) +
           bits_words(view->block_count + 1) * sizeof(uint64_t) + (2 * n + 1) * sizeof(struct list_node) +
           2 * n * sizeof(uint32_t);
}

static inline uint64_t slots_room(const struct policy_view *view)
{
    return view->budget_bytes > view->pinned_bytes ? view->budget_bytes - view->pinned_bytes : 0;
}

static void slots_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct slots *slots = self;
    uint32_t n = view->block_count, experts = 0;
    slots->layers = (struct slots_layer *)(slots + 1);
    uint64_t *words = (uint64_t *)(slots->layers + n), *after = words + bits_words(n + 1);
    slots->layer_of = (uint32_t *)(after + 2 * (size_t)n + 1);
    slots->uses = slots->layer_of + n;
    slots->missed = BLOCK_NONE;

    for (block_id b = 0; b < n; b++) /* the rings are made over this scratch */
        if (slots_is_expert(&view->blocks[b]))
            after[experts++] = (uint64_t)view->blocks[b].layer;
    slots->layer_count = ranks_make(after, experts);
    for (block_id b = 0; b < n; b++) {
        const struct policy_block *block = &view->blocks[b];
        slots->layer_of[b] = slots->layer_count;
        if (!slots_is_expert(block))
            continue;
        slots->layer_of[b] = ranks_find(after, slots->layer_count, (uint64_t)block->layer);
        struct slots_layer *layer = &slots->layers[slots->layer_of[b]];
        layer->bytes = block->bytes > layer->bytes ? block->bytes : layer->bytes;
    }
    bits_init(&slots->over, words, slots->layer_count + 1);
    rings_init(&slots->rings, (struct list_node *)(void *)after, slots->layer_count + 1);
    for (uint32_t l = 0; l < slots->layer_count; l++) {
        struct slots_layer *layer = &slots->layers[l];
        uint64_t share = slots_room(view) / slots->layer_count / (layer->bytes != 0 ? layer->bytes : 1);
        layer->share = share == 0 ? 1 : share < UINT32_MAX ? (uint32_t)share : UINT32_MAX;
        layer->places = args->values[0] != 0 ? (uint32_t)args->values[0] : layer->share;
    }
}

/* The block of a ring that is to go: used least often, if `by_uses`, then used longest ago; of those that may be
 * evicted now, and not `spare`. */
static inline block_id slots_pick(const struct slots *slots, const struct policy_view *view, uint32_t ring,
                                  bool by_uses)
{
    block_id best = BLOCK_NONE;
    for (block_id b = rings_oldest(&slots->rings, ring); b != BLOCK_NONE; b = rings_newer(&slots->rings, ring, b)) {
        if (!policy_may_evict(view, b))
            continue;
        if (!by_uses)
            return b;
        if (best == BLOCK_NONE || slots->uses[b] < slots->uses[best])
            best = b;
    }
    return best;
}

static void slots_on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct slots *slots = self;
    slots->missed = BLOCK_NONE;
    slots->uses[b] += slots->uses[b] != UINT32_MAX;
    rings_make_newest(&slots->rings, slots->layer_of[b], b);
}

static void slots_on_miss(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct slots *slots = self;
    slots->missed = b;
}

static void slots_on_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct slots *slots = self;
    uint32_t l = slots->layer_of[b];
    slots->uses[b] = slots->missed == b; /* a prefetch is no use */
    slots->missed = BLOCK_NONE;
    rings_add(&slots->rings, l, b);
    if (l != slots->layer_count && ++slots->layers[l].held > slots->layers[l].places)
        bits_add(&slots->over, l);
}

static void slots_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    struct slots *slots = self;
    uint32_t l = slots->layer_of[b];
    rings_remove(&slots->rings, b);
    if (l != slots->layer_count && --slots->layers[l].held == slots->layers[l].places)
        bits_drop(&slots->over, l);
}

/* A place for the expert that is about to come, then what is over the places, highest layer first. */
static inline block_id slots_release(const struct slots *slots, const struct policy_view *view, bool by_uses)
{
    if (slots->missed != BLOCK_NONE) {
        uint32_t l = slots->layer_of[slots->missed];
        if (l != slots->layer_count && slots->layers[l].held >= slots->layers[l].places &&
            view->blocks[slots->missed].bytes <= slots_room(view)) {
            block_id b = slots_pick(slots, view, l, by_uses);
            if (b != BLOCK_NONE)
                return b;
        }
    }
    uint32_t l = bits_at_most(&slots->over, slots->layer_count);
    while (l != BLOCK_NONE) {
        block_id b = slots_pick(slots, view, l, by_uses);
        if (b != BLOCK_NONE)
            return b;
        l = l != 0 ? bits_at_most(&slots->over, l - 1) : BLOCK_NONE;
    }
    return BLOCK_NONE;
}

/* The budget is short although layers have places: the layer most over its equal share gives, the lowest of equals. */
static inline block_id slots_victim(const struct slots *slots, const struct policy_view *view, bool by_uses)
{
    int64_t most = INT64_MIN;
    block_id best = BLOCK_NONE;
    for (uint32_t l = 0; l < slots->layer_count; l++) {
        int64_t over = (int64_t)slots->layers[l].held - slots->layers[l].share;
        if (over <= most || slots->layers[l].held == 0)
            continue;
        block_id b = slots_pick(slots, view, l, by_uses);
        if (b != BLOCK_NONE) {
            best = b;
            most = over;
        }
    }
    return best != BLOCK_NONE ? best : rings_evictable(&slots->rings, slots->layer_count, view);
}

static void slots_remark(const void *self, const struct policy_view *view, char *line, size_t size)
{
    const struct slots *slots = self;
    line[0] = '\0';
    if (slots->layer_count == 0) {
        snprintf(line, size, "no block is an expert of a layer: this is lru");
        return;
    }
    for (uint32_t l = 0; l < slots->layer_count; l++)
        if (slots_room(view) / slots->layer_count < slots->layers[l].bytes) {
            snprintf(line, size, "an equal share of the budget for each of %u layers is less than one expert",
                     (unsigned)slots->layer_count);
            return;
        }
}

#endif
