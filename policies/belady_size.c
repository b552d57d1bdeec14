/* Belady for blocks of unequal sizes, greedily: what goes is the block with the most bytes times accesses until its
 * next use, which frees most for longest; a block that is worth less than all that is held is not kept at all.
 *
 * Finding the true optimum for unequal sizes is NP-hard (D. S. Berger, N. Beckmann, M. Harchol-Balter, Practical bounds
 * on optimal caching with variable object sizes, POMACS 2(2), 2018, which also names greedy rules of this form as
 * estimates without a guarantee). Blocks of one size share a heap, so that a victim costs one look at each size. */
#include <stdio.h>

#include "policies/farthest.h"
#include "policies/ranks.h"

__extension__ typedef unsigned __int128 uint128;

enum { SIZE_SLACK = 1 };

/* In memory: this, a heap for each size, their entries, the list, each block's size class, the marks. */
struct by_size {
    struct farthest_dead dead;
    uint32_t *size_class;
    uint32_t size_count;
    struct farthest_heap heaps[]; /* sizes ascending */
};

static size_t by_size_entries(const struct policy_view *view)
{
    return (size_t)view->block_count * farthest_entries(1, SIZE_SLACK);
}

static size_t by_size_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    size_t n = view->block_count;
    return sizeof(struct by_size) + n * sizeof(struct farthest_heap) + by_size_entries(view) * sizeof(uint64_t) +
           list_size(view->block_count) + n * sizeof(uint32_t) + n;
}

static void by_size_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    struct by_size *all = self;
    uint32_t n = view->block_count;
    uint64_t *entries = (uint64_t *)(void *)(all->heaps + n);
    all->dead.list = (struct list_node *)(void *)(entries + by_size_entries(view));
    all->size_class = (uint32_t *)(void *)((uint8_t *)all->dead.list + list_size(n));
    all->dead.listed = (uint8_t *)(all->size_class + n);
    list_init(all->dead.list);

    for (block_id b = 0; b < n; b++)
        entries[b] = view->blocks[b].bytes;
    all->size_count = ranks_make(entries, n);
    for (block_id b = 0; b < n; b++) {
        all->size_class[b] = ranks_find(entries, all->size_count, view->blocks[b].bytes);
        all->heaps[all->size_class[b]].count++;
    }
    for (uint32_t size = 0; size < all->size_count; size++) {
        uint32_t blocks = all->heaps[size].count;
        all->heaps[size] = (struct farthest_heap){.entries = entries, .slack = SIZE_SLACK};
        entries += farthest_entries(blocks, SIZE_SLACK);
    }
}

static void by_size_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct by_size *all = self;
    if (view->next_use[b] == NEXT_USE_NEVER)
        farthest_bury(&all->dead, b);
    else
        farthest_add(&all->heaps[all->size_class[b]], view, b);
}

/* Bytes times accesses until the next use, of a block that has one. */
static inline uint128 by_size_worth(const struct policy_view *view, block_id b)
{
    uint32_t next = view->next_use[b];
    return next > view->access ? (uint128)view->blocks[b].bytes * (next - view->access) : 0;
}

static block_id by_size_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct by_size *all = self;
    block_id best = list_oldest(all->dead.list, view);
    if (best != BLOCK_NONE)
        return best;
    uint128 most = 0;
    for (uint32_t size = all->size_count; size-- > 0;) {
        if (all->heaps[size].count == 0)
            continue;
        block_id b = farthest_top(&all->heaps[size], view);
        if (b == BLOCK_NONE)
            continue;
        uint128 worth = by_size_worth(view, b);
        if (best == BLOCK_NONE || worth >= most) {
            best = b;
            most = worth;
        }
    }
    return best;
}

static bool by_size_admit(void *self, const struct policy_view *view, block_id b)
{
    if (view->held_bytes <= view->budget_bytes && view->blocks[b].bytes <= view->budget_bytes - view->held_bytes)
        return true;
    block_id worst = by_size_victim(self, view, b);
    if (worst == BLOCK_NONE)
        return false;
    if (view->next_use[worst] == NEXT_USE_NEVER)
        return true;
    return view->next_use[b] != NEXT_USE_NEVER && by_size_worth(view, b) <= by_size_worth(view, worst);
}

static void by_size_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct by_size *all = self;
    all->heaps[all->size_class[b]].held++;
    by_size_on_hit(self, view, b);
}

static void by_size_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    struct by_size *all = self;
    farthest_remove(&all->heaps[all->size_class[b]], b);
    farthest_unbury(&all->dead, b);
}

static void by_size_remark(const void *self, const struct policy_view *view, char *line, size_t size)
{
    const struct by_size *all = self;
    (void)view;
    line[0] = '\0';
    if (all->size_count > 1)
        snprintf(line, size, "an estimate of the most that can be reached with %u sizes of blocks, not a bound",
                 (unsigned)all->size_count);
}

const struct policy policy_belady_size = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "belady-size",
    .summary = "evict what is largest and used again last: an estimate of the optimum for unequal sizes, no bound",
    .needs = POLICY_NEEDS_FUTURE,
    .state_size = by_size_state_size,
    .init = by_size_init,
    .ops.evict =
        {
            .on_hit = by_size_on_hit,
            .victim = by_size_victim,
            .on_insert = by_size_on_insert,
            .on_remove = by_size_on_remove,
            .admit = by_size_admit,
            .remark = by_size_remark,
        },
};
