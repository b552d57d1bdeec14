/* Least-stale: blocks that the present token's pass over the layers has not used are stale and go first, the one whose
 * layer comes latest again before the others; only then blocks that this pass has used.
 *
 * Source of the idea: D. Hoang, A. Jaiswal, M. Samragh, M. Cho, SpecMD: a comprehensive study on speculative expert
 * prefetching, arXiv:2602.03921, 2026. What counts as a pass, and the order among stale blocks and among the others,
 * are this program's definitions (docs/policies.md). */
#include "policies/bits.h"
#include "policies/positions.h"
#include "policies/rings.h"

/* In memory: this, both sets' words, the rings, each block's position and pass, the notes and their marks. */
struct stale {
    struct rings rings;   /* of the held blocks at each position, by age of their last use: stale ones are the oldest */
    struct bits occupied; /* positions whose ring is not empty */
    struct bits stale;    /* those with a stale block */
    uint32_t *position;   /* by block */
    uint32_t *pass_of;    /* by block: the pass of its last use or fill */
    uint32_t *notes;      /* positions that had blocks and no stale one in this pass: stale when the next begins */
    uint8_t *noted;       /* by position */
    uint32_t note_count, count;
    uint32_t pass, now, token;
    uint64_t words[];
};

static size_t stale_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    uint32_t n = view->block_count, positions = positions_max(n);
    return sizeof(struct stale) + 2 * bits_words(positions) * sizeof(uint64_t) +
           ((size_t)positions + n) * sizeof(struct list_node) + 2 * n * sizeof(uint32_t) +
           positions * (sizeof(uint32_t) + sizeof(uint8_t));
}

static void stale_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    struct stale *stale = self;
    uint32_t n = view->block_count, positions = positions_max(n);
    uint64_t *second = stale->words + bits_words(positions), *after = second + bits_words(positions);
    stale->position = (uint32_t *)(after + positions + n);
    stale->pass_of = stale->position + n;
    stale->notes = stale->pass_of + n;
    stale->noted = (uint8_t *)(stale->notes + positions);
    stale->count = positions_make(view, stale->position, after); /* the rings are made over its scratch */
    bits_init(&stale->occupied, stale->words, stale->count);
    bits_init(&stale->stale, second, stale->count);
    rings_init(&stale->rings, (struct list_node *)(void *)after, stale->count);
    stale->token = view->token;
}

/* Brings the sets up to date with position `at`, whose ring or whose oldest block has changed. */
static inline void stale_update(struct stale *stale, uint32_t at)
{
    block_id oldest = rings_oldest(&stale->rings, at);
    if (oldest == BLOCK_NONE) {
        bits_drop(&stale->occupied, at);
        bits_drop(&stale->stale, at);
        return;
    }
    bits_add(&stale->occupied, at);
    if (stale->pass_of[oldest] != stale->pass) {
        bits_add(&stale->stale, at);
        return;
    }
    bits_drop(&stale->stale, at);
    if (!stale->noted[at]) {
        stale->noted[at] = 1;
        stale->notes[stale->note_count++] = at;
    }
}

static void stale_new_pass(struct stale *stale)
{
    stale->pass++;
    while (stale->note_count != 0) {
        uint32_t at = stale->notes[--stale->note_count];
        stale->noted[at] = 0;
        if (!rings_empty(&stale->rings, at))
            bits_add(&stale->stale, at);
    }
}

static void stale_on_miss(void *self, const struct policy_view *view, block_id b)
{
    struct stale *stale = self;
    uint32_t at = stale->position[b];
    if (view->token != stale->token || (view->token == 0 && at < stale->now))
        stale_new_pass(stale);
    stale->token = view->token;
    stale->now = at;
}

static void stale_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct stale *stale = self;
    stale_on_miss(self, view, b);
    rings_make_newest(&stale->rings, stale->now, b);
    stale->pass_of[b] = stale->pass;
    stale_update(stale, stale->now);
}

/* The evictable block that comes latest among those at positions `from` down to `to` of the set; stale ones only, or
 * others only: in a ring, all stale ones are older than all others. */
static inline block_id stale_latest(const struct stale *stale, const struct policy_view *view, const struct bits *set,
                                    uint32_t from, uint32_t to)
{
    uint32_t at = bits_at_most(set, from);
    while (at != BLOCK_NONE && at >= to) {
        block_id b = rings_evictable(&stale->rings, at, view);
        if (b != BLOCK_NONE && (set == &stale->occupied || stale->pass_of[b] != stale->pass))
            return b;
        at = at != 0 ? bits_at_most(set, at - 1) : BLOCK_NONE;
    }
    return BLOCK_NONE;
}

static block_id stale_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    const struct stale *stale = self;
    const struct bits *sets[] = {&stale->stale, &stale->occupied};
    for (int i = 0; i < 2; i++) {
        block_id b = stale_latest(stale, view, sets[i], stale->now, 0);
        if (b == BLOCK_NONE)
            b = stale_latest(stale, view, sets[i], stale->count - 1, stale->now + 1);
        if (b != BLOCK_NONE)
            return b;
    }
    return BLOCK_NONE;
}

static void stale_on_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct stale *stale = self;
    rings_add(&stale->rings, stale->position[b], b);
    stale->pass_of[b] = stale->pass;
    stale_update(stale, stale->position[b]);
}

static void stale_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    struct stale *stale = self;
    rings_remove(&stale->rings, b);
    stale_update(stale, stale->position[b]);
}

const struct policy policy_least_stale = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "least-stale",
    .summary = "evict first what the present token's pass over the layers has not used",
    .state_size = stale_state_size,
    .init = stale_init,
    .ops.evict =
        {
            .on_hit = stale_on_hit,
            .on_miss = stale_on_miss,
            .victim = stale_victim,
            .on_insert = stale_on_insert,
            .on_remove = stale_on_remove,
        },
};
