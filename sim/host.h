/* What the engine and the replay share: a policy's memory, the view that it sees, and checked questions to it.
 *
 * The host keeps block states and the held bytes; its caller says when. Everything on the path of a hit or a miss is
 * inline: the replay of LRU and FIFO runs at the speed of these lines. */
#ifndef POCKETLOAD_SIM_HOST_H
#define POCKETLOAD_SIM_HOST_H

#include "base/arena.h"
#include "base/error.h"
#include "sim/engine.h"
#include "workloads/future.h"

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
    const struct admit_ops *admission; /* NULL: everything may come in */
    void *admission_self;
    uint64_t access_count;       /* told so far */
    const struct future *future; /* NULL: no part needs it */
    uint32_t *next_use;          /* as the view shows it; NULL as future is */
    struct future own_future;    /* made here when the spec brings none */
    const uint32_t *uses;        /* of the trace */
    block_id *pins;              /* what the pin rule wants, as far as it fits the budget together; in its order */
    uint32_t pin_count;
    uint64_t evictions;
    /* The tables, completed by NULLs where a plug-in's are shorter; by enum policy_kind. */
    struct policy tables[POLICY_KINDS_COUNT];
    struct host_part {
        void *self; /* NULL: there is no such part, or it was asked once */
        size_t size;
        struct policy_args args;
    } parts[POLICY_KINDS_COUNT]; /* for host_restart */
};

/* What a run has to do with policies. evict.policy may be NULL. */
struct host_spec {
    const struct model *model;
    const struct policy_block *blocks; /* model->policy_blocks, or others of the same number */
    const struct trace *trace;
    uint64_t budget_bytes, step_bytes_max;
    struct bound_part evict, pin, prefetch, admit;
    uint64_t seed;
    bool may_exceed;             /* a replay: a policy that asks for it may hold more than the budget */
    const uint64_t *profile;     /* by block, for parts that need it; NULL: none, an error for such parts */
    const struct future *future; /* of the trace, for parts that need it; NULL: made when it is needed */
};

/* The longest remark() that is kept, with its NUL. */
enum { REMARK_TEXT = 256 };

/* Checks the parts (kind, ABI, complete tables), lays out the view, asks the pin rule, and initialises the eviction
 * policy and the prefetcher. No block is held yet. The view's ahead arrays are the caller's. */
bool host_init(struct host *host, const struct host_spec *spec, struct arena *arena, struct error *err);

/* Frees what host_init took beside the arena: call it after every host_init, also one that failed. */
void host_end(struct host *host);

/* The app is started anew: no block is held, and the parts begin again with zeroed state. Pins, and what the view tells
 * of time and of accesses, stay. */
void host_restart(struct host *host);

/* The eviction policy's remark, "" without one: printable, one line. */
void host_remark(const struct host *host, char line[REMARK_TEXT]);

/* True when one of the parts wants to know the future. */
bool host_needs_future(const struct bound_part *const parts[POLICY_KINDS_COUNT]);

/* The line for an answer of victim() or release() that breaks the contract; returns false. */
bool host_blame(const struct host *host, const char *question, block_id answer, struct error *err);

enum room { ROOM_MADE, ROOM_NONE, ROOM_ERROR };

static inline void host_reserve(struct host *host, block_id b, unsigned state)
{
    host->state[b] = (uint8_t)(host->state[b] | state);
    host->view.held_bytes += host->blocks[b].bytes;
}

/* Removes v from what is held, with the policy told. */
static inline void host_remove(struct host *host, block_id v, enum remove_reason reason)
{
    host->evict->on_remove(host->evict_self, &host->view, v, reason);
    host->state[v] = (uint8_t)(host->state[v] & ~(unsigned)(POLICY_RESIDENT | POLICY_LOADING | POLICY_PREFETCHED));
    host->view.held_bytes -= host->blocks[v].bytes;
}

/* Checks the policy's answer and removes the block that it names; *unused: a prefetch brought it, and nothing has used
 * it. */
static inline enum room host_take_out(struct host *host, const char *question, block_id v, enum remove_reason reason,
                                      bool *unused, struct error *err)
{
    if (v == BLOCK_NONE)
        return ROOM_NONE;
    if (v >= host->view.block_count || !policy_may_evict(&host->view, v)) {
        host_blame(host, question, v, err);
        return ROOM_ERROR;
    }
    *unused = (host->state[v] & POLICY_PREFETCHED) != 0;
    host_remove(host, v, reason);
    host->evictions++;
    return ROOM_MADE;
}

/* Asks the policy for one victim and removes it. */
static inline enum room host_evict_one(struct host *host, block_id incoming, block_id *victim, bool *unused,
                                       struct error *err)
{
    *victim = host->evict->victim(host->evict_self, &host->view, incoming);
    return host_take_out(host, "victim", *victim, REMOVE_EVICTED, unused, err);
}

/* Asks the policy for one block that others take from the app, and removes it. */
static inline enum room host_reclaim_one(struct host *host, block_id *victim, bool *unused, struct error *err)
{
    *victim = host->evict->victim(host->evict_self, &host->view, BLOCK_NONE);
    return host_take_out(host, "victim", *victim, REMOVE_RECLAIMED, unused, err);
}

/* Asks the policy for one block that it gives up although there is room, and removes it. Ask until ROOM_NONE, after
 * each on_hit(), on_miss() and on_insert(). */
static inline enum room host_release_one(struct host *host, block_id *victim, bool *unused, struct error *err)
{
    if (!host->evict->release)
        return ROOM_NONE;
    *victim = host->evict->release(host->evict_self, &host->view);
    return host_take_out(host, "release", *victim, REMOVE_RELEASED, unused, err);
}

static inline bool host_admits(struct host *host, block_id b)
{
    return (!host->admission || host->admission->admit(host->admission_self, &host->view, b)) &&
           (!host->evict->admit || host->evict->admit(host->evict_self, &host->view, b));
}

/* Counts an access, before the policy hears of it. `use` is its index in trace->uses; `repeats`: the segment's steps
 * run once more after this repetition. */
static inline void host_count_access(struct host *host, uint32_t use, bool repeats)
{
    host->view.access = host->access_count++;
    if (host->next_use) {
        uint32_t gap = (repeats ? host->future->gap_again : host->future->gap)[use];
        block_id b = host->uses[use] & USE_BLOCK;
        host->next_use[b] = gap == 0 ? NEXT_USE_NEVER : (uint32_t)host->view.access + gap;
    }
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
