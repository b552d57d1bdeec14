/* What the engine and the replay share: a policy's memory, the view that it sees, and checked questions to it.
 *
 * The host keeps block states and the held bytes; its caller says when. Everything on the path of a hit or a miss is
 * inline: the replay of LRU and FIFO runs at the speed of these lines. */
#ifndef POCKETLOAD_SIM_HOST_H
#define POCKETLOAD_SIM_HOST_H

#include "base/arena.h"
#include "base/error.h"
#include "sim/engine.h"

enum {
    EVICT_MASK_DEMAND = POLICY_RESIDENT | POLICY_LOADING | POLICY_PINNED | POLICY_IN_USE,
    EVICT_MASK_PREFETCH = EVICT_MASK_DEMAND | POLICY_PREFETCHED,
};

struct host {
    struct policy_view view;
    uint8_t *state;
    const struct policy_block *blocks;
    const struct evict_ops *evict; /* NULL: nothing is ever evicted (loader read) */
    void *evict_self;
    const struct policy *prefetch; /* NULL: none */
    void *prefetch_self;
    block_id *pins; /* what the pin rule wants, as far as it fits the budget together; in its order */
    uint32_t pin_count;
    uint64_t evictions;
    /* The tables, completed by NULLs where a plug-in's are shorter; by enum policy_kind. */
    struct policy tables[POLICY_KINDS_COUNT];
};

/* What a run has to do with policies. evict.policy may be NULL. */
struct host_spec {
    const struct model *model;
    const struct policy_block *blocks; /* model->policy_blocks, or others of the same number */
    const struct trace *trace;
    uint64_t budget_bytes, step_bytes_max;
    struct bound_part evict, pin, prefetch;
};

/* Checks the parts (kind, ABI, complete tables), lays out the view, asks the pin rule, and initialises the eviction
 * policy and the prefetcher. No block is held yet. The view's ahead arrays are the caller's. */
bool host_init(struct host *host, const struct host_spec *spec, struct arena *arena, struct error *err);

/* The line for an answer that breaks the contract; returns false. */
bool host_blame(const struct host *host, block_id answer, struct error *err);

enum room { ROOM_MADE, ROOM_NONE, ROOM_ERROR };

static inline void host_reserve(struct host *host, block_id b, unsigned state)
{
    host->state[b] = (uint8_t)(host->state[b] | state);
    host->view.held_bytes += host->blocks[b].bytes;
}

/* Asks the policy for one victim and removes it; *unused: a prefetch brought it, and nothing has used it. */
static inline enum room host_evict_one(struct host *host, block_id incoming, block_id *victim, bool *unused,
                                       struct error *err)
{
    block_id v = host->evict->victim(host->evict_self, &host->view, incoming);
    if (v == BLOCK_NONE)
        return ROOM_NONE;
    if (v >= host->view.block_count || !policy_may_evict(&host->view, v)) {
        host_blame(host, v, err);
        return ROOM_ERROR;
    }
    *unused = (host->state[v] & POLICY_PREFETCHED) != 0;
    host->evict->on_remove(host->evict_self, &host->view, v, REMOVE_EVICTED);
    host->state[v] = (uint8_t)(host->state[v] & ~(unsigned)(POLICY_RESIDENT | POLICY_PREFETCHED));
    host->view.held_bytes -= host->blocks[v].bytes;
    host->evictions++;
    *victim = v;
    return ROOM_MADE;
}

static inline bool host_admits(struct host *host, block_id b)
{
    return !host->evict->admit || host->evict->admit(host->evict_self, &host->view, b);
}

static inline bool host_fits(const struct host *host, block_id b)
{
    return host->blocks[b].bytes <= host->view.budget_bytes - host->view.held_bytes &&
           host->view.held_bytes <= host->view.budget_bytes;
}

/* A block that no eviction could make room for. */
static inline bool host_too_large(const struct host *host, block_id b)
{
    return host->blocks[b].bytes > host->view.budget_bytes - host->view.pinned_bytes;
}

static inline void host_on_hit(struct host *host, block_id b)
{
    if (!(host->state[b] & POLICY_PINNED) && host->evict->on_hit)
        host->evict->on_hit(host->evict_self, &host->view, b);
}

static inline void host_on_miss(struct host *host, block_id b)
{
    if (host->evict->on_miss)
        host->evict->on_miss(host->evict_self, &host->view, b);
}

#endif
