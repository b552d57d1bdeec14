/* Knows the loop over the layers: evicts the block whose layer comes latest again, which is the one just left. On a
 * loop that does not fit, this is what the optimum does, without knowing the future. */
#include <stdio.h>

#include "policies/bits.h"
#include "policies/positions.h"
#include "policies/rings.h"

/* In memory: this, the set's words, the rings, each block's position. */
struct cyclic {
    struct rings rings;   /* of the held blocks at each position, by age of their last use */
    struct bits occupied; /* positions whose ring is not empty */
    uint32_t *position;
    uint32_t now, count;
    uint64_t words[];
};

static size_t cyclic_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    uint32_t n = view->block_count, positions = positions_max(n);
    return sizeof(struct cyclic) + bits_words(positions) * sizeof(uint64_t) +
           ((size_t)positions + n) * sizeof(struct list_node) + n * sizeof(uint32_t);
}

static void cyclic_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    struct cyclic *cyclic = self;
    uint32_t n = view->block_count, positions = positions_max(n);
    uint64_t *after = cyclic->words + bits_words(positions);
    cyclic->position = (uint32_t *)(after + positions + n);
    cyclic->count = positions_make(view, cyclic->position, after); /* the rings are made over its scratch */
    bits_init(&cyclic->occupied, cyclic->words, cyclic->count);
    rings_init(&cyclic->rings, (struct list_node *)(void *)after, cyclic->count);
}

static void cyclic_on_miss(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct cyclic *cyclic = self;
    cyclic->now = cyclic->position[b];
}

static void cyclic_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct cyclic *cyclic = self;
    cyclic_on_miss(self, view, b);
    rings_make_newest(&cyclic->rings, cyclic->now, b);
}

/* The evictable block that comes latest among positions `from` down to `to`. */
static inline block_id cyclic_latest(const struct cyclic *cyclic, const struct policy_view *view, uint32_t from,
                                     uint32_t to)
{
    uint32_t at = bits_at_most(&cyclic->occupied, from);
    while (at != BLOCK_NONE && at >= to) {
        block_id b = rings_evictable(&cyclic->rings, at, view);
        if (b != BLOCK_NONE)
            return b;
        at = at != 0 ? bits_at_most(&cyclic->occupied, at - 1) : BLOCK_NONE;
    }
    return BLOCK_NONE;
}

static block_id cyclic_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    const struct cyclic *cyclic = self;
    block_id behind = cyclic_latest(cyclic, view, cyclic->now, 0);
    return behind != BLOCK_NONE ? behind : cyclic_latest(cyclic, view, cyclic->count - 1, cyclic->now + 1);
}

static void cyclic_on_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct cyclic *cyclic = self;
    uint32_t at = cyclic->position[b];
    if (rings_empty(&cyclic->rings, at))
        bits_add(&cyclic->occupied, at);
    rings_add(&cyclic->rings, at, b);
}

static void cyclic_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    struct cyclic *cyclic = self;
    rings_remove(&cyclic->rings, b);
    if (rings_empty(&cyclic->rings, cyclic->position[b]))
        bits_drop(&cyclic->occupied, cyclic->position[b]);
}

static void cyclic_remark(const void *self, const struct policy_view *view, char *line, size_t size)
{
    (void)self;
    line[0] = '\0';
    if (!positions_by_layer(view))
        snprintf(line, size, "no block has a layer: the order of the ids is taken for the order of the loop");
}

const struct policy policy_cyclic = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "cyclic",
    .summary = "evict the block whose layer comes latest again in the loop over the layers",
    .state_size = cyclic_state_size,
    .init = cyclic_init,
    .ops.evict =
        {
            .on_hit = cyclic_on_hit,
            .on_miss = cyclic_on_miss,
            .victim = cyclic_victim,
            .on_insert = cyclic_on_insert,
            .on_remove = cyclic_on_remove,
            .remark = cyclic_remark,
        },
};
