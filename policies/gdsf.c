/* Greedy-Dual-Size with frequency: the block with the least use per byte goes first, and what was popular once ages.
 *
 * H = L + F * cost / size, with a cost of 1 for every block; L is the H of the block evicted last, or of one before it
 * that had more. Cherkasova, "Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching policy", HP
 * Labs HPL-98-69R1, 1998; greedy-dual-size: Cao and Irani, "Cost-aware WWW proxy caching algorithms", USITS 1997. In
 * fixed point: 1 / size is 2^30 for the smallest block. L rises by no more than what uses added, so H stays under twice
 * the uses times 2^30. */
#include "policies/heap.h"

enum { GDSF_ONE_BITS = 30 };

struct gdsf_block {
    uint64_t value;     /* H */
    uint32_t last;      /* when it was used or came in last; ties go to the least recent */
    uint32_t frequency; /* F; 0: a fill that waits for its first use */
    uint32_t weight;    /* cost / size */
};

struct gdsf {
    uint64_t age; /* L */
    uint64_t smallest;
    struct gdsf_block *blocks;
    struct heap heap;
    uint32_t now;    /* wraps: then a tie may go to the other block */
    block_id missed; /* by the last on_miss, until it comes in */
};

static size_t gdsf_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct gdsf) +
           (size_t)view->block_count * (sizeof(struct heap_entry) + sizeof(struct gdsf_block) + sizeof(uint32_t));
}

/* 2^30 * smallest / bytes, rounded down, at least 1. */
static uint32_t gdsf_weight(uint64_t smallest, uint64_t bytes)
{
    __extension__ typedef unsigned __int128 uint128;
    uint64_t weight = (uint64_t)(((uint128)smallest << GDSF_ONE_BITS) / (bytes > 0 ? bytes : 1));
    return weight > 0 ? (uint32_t)weight : 1;
}

static void gdsf_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    struct gdsf *gdsf = self;
    size_t n = view->block_count;
    gdsf->heap.entries = (void *)(gdsf + 1);
    gdsf->blocks = (void *)(gdsf->heap.entries + n);
    gdsf->heap.places = (void *)(gdsf->blocks + n);
    gdsf->missed = BLOCK_NONE;
    uint64_t smallest = UINT64_MAX;
    for (block_id b = 0; b < n; b++)
        smallest = view->blocks[b].bytes < smallest ? view->blocks[b].bytes : smallest;
    for (block_id b = 0; b < n; b++)
        gdsf->blocks[b].weight = gdsf_weight(smallest > 0 ? smallest : 1, view->blocks[b].bytes);
}

static struct heap_key gdsf_key(const void *self, block_id b)
{
    const struct gdsf_block *block = &((const struct gdsf *)self)->blocks[b];
    return (struct heap_key){block->value, block->last};
}

/* A block's value with today's age. */
static inline void gdsf_value(struct gdsf *gdsf, block_id b, uint32_t frequency)
{
    struct gdsf_block *block = &gdsf->blocks[b];
    uint64_t use = (uint64_t)(frequency > 0 ? frequency : 1) * block->weight;
    block->frequency = frequency;
    block->value = use < UINT64_MAX - gdsf->age ? gdsf->age + use : UINT64_MAX;
    block->last = ++gdsf->now;
}

static void gdsf_on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct gdsf *gdsf = self;
    uint32_t frequency = gdsf->blocks[b].frequency;
    gdsf_value(gdsf, b, frequency < UINT32_MAX ? frequency + 1 : frequency);
}

static void gdsf_on_miss(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct gdsf *gdsf = self;
    gdsf->missed = b;
}

static block_id gdsf_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct gdsf *gdsf = self;
    return heap_least(&gdsf->heap, view, gdsf, gdsf_key);
}

static void gdsf_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct gdsf *gdsf = self;
    bool fill = gdsf->missed != b || (view->state[b] & POLICY_PREFETCHED);
    gdsf->missed = BLOCK_NONE;
    gdsf_value(gdsf, b, fill ? 0 : 1);
    heap_add(&gdsf->heap, b, gdsf_key(gdsf, b));
}

static void gdsf_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view;
    struct gdsf *gdsf = self;
    if (reason != REMOVE_CANCELLED && gdsf->blocks[b].value > gdsf->age)
        gdsf->age = gdsf->blocks[b].value;
    heap_remove(&gdsf->heap, b);
}

const struct policy policy_gdsf = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "gdsf",
    .summary = "evict the block with the least use per byte, ageing what was popular once",
    .state_size = gdsf_state_size,
    .init = gdsf_init,
    .ops.evict =
        {
            .on_hit = gdsf_on_hit,
            .on_miss = gdsf_on_miss,
            .victim = gdsf_victim,
            .on_insert = gdsf_on_insert,
            .on_remove = gdsf_on_remove,
        },
};
