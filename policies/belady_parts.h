/* What belady and belady-bypass share: the held blocks by their next use. */
#ifndef POCKETLOAD_POLICIES_BELADY_PARTS_H
#define POCKETLOAD_POLICIES_BELADY_PARTS_H

#include "policies/farthest.h"

/* Stale entries in small caches: enough that dropping them is rare. Three entries more, so that the heap can begin
 * where siblings share a cache line. */
enum { BELADY_SLACK = 64, BELADY_PADDING = 3 };

/* In memory: this, the heap's entries, the list, the marks. */
struct belady {
    struct farthest_heap heap;
    struct farthest_dead dead;
    uint64_t entries[];
};

static inline size_t belady_entries(const struct policy_view *view)
{
    return farthest_entries(view->block_count, BELADY_SLACK) + BELADY_PADDING;
}

static size_t belady_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct belady) + belady_entries(view) * sizeof(uint64_t) + list_size(view->block_count) +
           view->block_count;
}

static void belady_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    struct belady *belady = self;
    uint64_t *end = belady->entries + belady_entries(view);
    /* The state begins a cache line: the fourth 8 bytes from the end of some group of four is where children begin. */
    size_t before = sizeof(struct belady) / sizeof(uint64_t) % 4;
    belady->heap = (struct farthest_heap){.entries = belady->entries + (7 - before) % 4, .slack = BELADY_SLACK};
    belady->dead.list = (struct list_node *)(void *)end;
    belady->dead.listed = (uint8_t *)end + list_size(view->block_count);
    list_init(belady->dead.list);
}

static void belady_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct belady *belady = self;
    if (view->next_use[b] == NEXT_USE_NEVER)
        farthest_bury(&belady->dead, b);
    else
        farthest_add(&belady->heap, view, b);
}

static block_id belady_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct belady *belady = self;
    block_id dead = list_oldest(belady->dead.list, view);
    return dead != BLOCK_NONE ? dead : farthest_top(&belady->heap, view);
}

static void belady_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct belady *belady = self;
    belady->heap.held++;
    belady_on_hit(self, view, b);
}

static void belady_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    struct belady *belady = self;
    farthest_remove(&belady->heap, b);
    farthest_unbury(&belady->dead, b);
}

#endif
