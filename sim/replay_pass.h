/* The hot loop of a replay: steps of one use each, with room made before.
 *
 * Does what the general walk in replay.c does for such steps. It is inlined into one function for each built-in
 * eviction policy (replay_kernel.c), whose own functions are then inlined in turn: the view and the counters live in
 * registers, and what the policy does not read is never written. */
#ifndef POCKETLOAD_SIM_REPLAY_PASS_H
#define POCKETLOAD_SIM_REPLAY_PASS_H

#include "sim/host.h"
#include "sim/replay.h"

/* A segment whose steps have one use each, with all its repetitions. */
struct replay_pass {
    struct host *host;
    struct replay_result *out;
    const struct policy_block *sizes; /* real ones, also where the host counts objects */
    const uint32_t *uses;
    const uint32_t *gaps, *gaps_again; /* of these uses, for policies that need the future: see future.h */
    uint32_t count, repeat;
    bool equal_sizes; /* all blocks, in host->blocks and in sizes */
};

/* Runs the steps; false with err when the policy answers wrongly. */
typedef bool replay_kernel(const struct replay_pass *pass, struct error *err);

/* The step's own block is in use, which matters when a victim is asked for, or a release: a policy that has none need
 * not be shown the mark on a block that is there. */
__attribute__((always_inline)) static inline uint8_t pass_mark(const struct evict_ops *ops, unsigned state)
{
    return (uint8_t)(ops->release ? state | POLICY_IN_USE : state);
}

/* What the loop works on, copied out of the host, so that no store of the policy's can change it, and its counters. */
struct pass_state {
    struct policy_view view;
    struct host *host;
    void *self;
    uint8_t *state;
    const struct policy_block *blocks;
    uint64_t budget, evictable; /* evictable: less the pinned bytes */
    uint64_t room;              /* budget less held bytes */
    uint64_t equal_bytes;       /* of every block, or 0 where they differ */
    uint64_t misses, streamed;
    uint64_t miss_bytes, evictions; /* only counted where sizes differ: see pass_end */
    uint64_t peak_bytes;            /* most that was held, where that may exceed the budget */
    const char *question;           /* what was answered wrongly; NULL: nothing */
    block_id answer;
};

/* The error is written behind the loop: a call in it would cost registers. */
__attribute__((always_inline)) static inline bool pass_wrong(struct pass_state *own, const char *question, block_id v)
{
    own->question = question;
    own->answer = v;
    return false;
}

/* Checks an answer and removes the block; false: it breaks the contract. */
__attribute__((always_inline)) static inline bool pass_remove(const struct evict_ops *ops, struct pass_state *own,
                                                              block_id v, enum remove_reason reason)
{
    if (v >= own->view.block_count || !policy_may_evict(&own->view, v))
        return false;
    ops->on_remove(own->self, &own->view, v, reason);
    own->state[v] = 0;
    own->room += own->equal_bytes ? own->equal_bytes : own->blocks[v].bytes;
    own->view.held_bytes = own->budget - own->room;
    own->evictions += own->equal_bytes ? 0 : 1;
    return true;
}

__attribute__((always_inline)) static inline bool pass_release(const struct evict_ops *ops, struct pass_state *own)
{
    block_id v;
    if (!ops->release)
        return true;
    while ((v = ops->release(own->self, &own->view)) != BLOCK_NONE)
        if (!pass_remove(ops, own, v, REMOVE_RELEASED))
            return pass_wrong(own, "release", v);
    return true;
}

/* The admission rule is not inlined, so it sees the host's view, brought up to date: the loop's own would have to live
 * in memory for it. */
__attribute__((noinline, cold, unused)) static bool pass_admits(struct host *host, uint64_t step, uint64_t access,
                                                                uint32_t token, uint64_t held_bytes, block_id b)
{
    host->view.step = step;
    host->view.access = access;
    host->view.token = token;
    host->view.held_bytes = held_bytes;
    return host->admission->admit(host->admission_self, &host->view, b);
}

/* A block that is absent: room for it, then the block. */
__attribute__((always_inline)) static inline bool pass_miss(const struct evict_ops *ops, struct pass_state *own,
                                                            bool admission, bool exceed, uint64_t bytes, block_id b)
{
    struct policy_view *view = &own->view;
    own->state[b] = POLICY_IN_USE;
    if (ops->on_miss)
        ops->on_miss(own->self, view, b);
    if (!pass_release(ops, own))
        return false;
    bool kept = bytes <= own->evictable;
    if (kept && admission)
        kept = pass_admits(own->host, view->step, view->access, view->token, view->held_bytes, b);
    if (kept && ops->admit)
        kept = ops->admit(own->self, view, b);
    while (kept && (exceed ? view->held_bytes + bytes > own->budget : bytes > own->room)) {
        block_id victim = ops->victim(own->self, view, b);
        kept = victim != BLOCK_NONE;
        if (exceed && !kept) {
            kept = true;
            break;
        }
        if (kept && !pass_remove(ops, own, victim, REMOVE_EVICTED))
            return pass_wrong(own, "victim", victim);
    }
    if (!kept) {
        own->streamed++;
        own->state[b] = 0;
        return true;
    }
    own->state[b] = pass_mark(ops, POLICY_RESIDENT);
    own->room -= bytes;
    view->held_bytes = own->budget - own->room;
    if (exceed && view->held_bytes > own->peak_bytes)
        own->peak_bytes = view->held_bytes;
    ops->on_insert(own->self, view, b);
    if (!pass_release(ops, own))
        return false;
    if (ops->release)
        own->state[b] = POLICY_RESIDENT;
    return true;
}

__attribute__((always_inline)) static inline bool pass_hit(const struct evict_ops *ops, struct pass_state *own,
                                                           block_id b)
{
    const uint8_t state = own->state[b];
    if (state & POLICY_PINNED)
        return true;
    if (ops->release)
        own->state[b] = pass_mark(ops, state);
    if (ops->on_hit)
        ops->on_hit(own->self, &own->view, b);
    if (!pass_release(ops, own))
        return false;
    if (ops->release)
        own->state[b] = state;
    return true;
}

/* Adds up what the loop counted in `done` accesses. Where all blocks have one size, the sums follow from the misses. */
__attribute__((noinline, unused)) static bool pass_end(const struct replay_pass *pass, const struct pass_state *own,
                                                       uint64_t done, struct error *err)
{
    struct host *host = pass->host;
    const uint64_t size = pass->sizes[0].bytes, held = own->view.held_bytes;
    const bool equal = own->equal_bytes != 0;
    const uint64_t kept = own->misses - own->streamed;
    const uint64_t miss_bytes = equal ? own->misses * size : own->miss_bytes;
    host->access_count += done;
    /* Each quotient by itself: a policy that releases blocks may hold fewer than it began with. */
    host->evictions +=
        equal ? kept + host->view.held_bytes / own->equal_bytes - held / own->equal_bytes : own->evictions;
    host->view.held_bytes = held;
    pass->out->accesses += done;
    pass->out->misses += own->misses;
    pass->out->bytes_read += miss_bytes;
    pass->out->uncacheable += own->streamed;
    if (own->peak_bytes > pass->out->peak_held_bytes)
        pass->out->peak_held_bytes = own->peak_bytes;
    return !own->question || host_blame(host, own->question, own->answer, err);
}

/* All accesses. `ops`, `needs` (of the policy), `general` and `equal` are constants where the compiler shall make a
 * loop of its own. `general`: there is an admission rule, or blocks take other sizes of the capacity than their own. */
__attribute__((always_inline)) static inline bool pass_steps(const struct replay_pass *pass,
                                                             const struct evict_ops *ops, uint32_t needs, bool general,
                                                             bool equal, struct error *err)
{
    struct host *host = pass->host;
    struct pass_state own = {
        .view = host->view,
        .host = host,
        .self = host->evict_self,
        .state = host->state,
        .blocks = host->blocks,
        .budget = host->view.budget_bytes,
        .room = host->view.budget_bytes - host->view.held_bytes,
        .evictable = host->view.budget_bytes - host->view.pinned_bytes,
        .equal_bytes = equal ? host->blocks[0].bytes : 0,
    };
    own.view.state = own.state;
    own.view.evict_mask = EVICT_MASK_DEMAND;
    const bool future = (needs & POLICY_NEEDS_FUTURE) != 0,
               exceed = (needs & POLICY_MAY_EXCEED) != 0 && host->view.may_exceed;
    uint32_t *const next_use = host->next_use;
    const struct policy_block *const sizes = pass->sizes;
    const uint32_t repeat = pass->repeat, *const uses = pass->uses, *const end_use = uses + pass->count;
    const uint64_t first_step = host->view.step, first_access = host->access_count;
    uint64_t done = 0;
    bool good = true;
    for (uint32_t r = 0; good && r < repeat; r++, own.view.token++) {
        const uint32_t *gaps = r + 1 < repeat ? pass->gaps_again : pass->gaps;
        const uint32_t *use = uses;
        for (; good && use < end_use; use++) {
            const block_id b = *use & USE_BLOCK;
            const uint64_t i = (uint64_t)(use - uses);
            own.view.step = first_step + done + i;
            own.view.access = first_access + done + i;
            if (future)
                next_use[b] = gaps[i] == 0 ? NEXT_USE_NEVER : (uint32_t)own.view.access + gaps[i];
            if (own.state[b] & POLICY_RESIDENT) {
                good = pass_hit(ops, &own, b);
            } else {
                const uint64_t bytes = equal ? own.equal_bytes : own.blocks[b].bytes;
                own.misses++;
                own.miss_bytes += equal ? 0 : general ? sizes[b].bytes : bytes;
                good = pass_miss(ops, &own, general && host->admission, exceed, bytes, b);
            }
        }
        done += (uint64_t)(use - uses);
    }
    host->view.step = first_step + done;
    host->view.token = own.view.token;
    struct pass_state end = {
        .view.held_bytes = own.budget - own.room,
        .equal_bytes = own.equal_bytes,
        .misses = own.misses,
        .miss_bytes = own.miss_bytes,
        .streamed = own.streamed,
        .evictions = own.evictions,
        .question = own.question,
        .answer = own.answer,
        .peak_bytes = own.peak_bytes,
    };
    return pass_end(pass, &end, done, err);
}

enum pass_kind { PASS_GENERAL, PASS_EQUAL_SIZES, PASS_OWN_SIZES };

static inline enum pass_kind pass_kind(const struct replay_pass *pass)
{
    if (pass->host->admission || (pass->host->blocks != pass->sizes && !pass->equal_sizes))
        return PASS_GENERAL;
    return pass->equal_sizes ? PASS_EQUAL_SIZES : PASS_OWN_SIZES;
}

/* The loop that fits the pass. */
__attribute__((always_inline)) static inline bool pass_run(const struct replay_pass *pass, const struct evict_ops *ops,
                                                           uint32_t needs, struct error *err)
{
    switch (pass_kind(pass)) {
    case PASS_GENERAL:
        return pass_steps(pass, ops, needs, true, false, err);
    case PASS_EQUAL_SIZES:
        return pass_steps(pass, ops, needs, false, true, err);
    default:
        return pass_steps(pass, ops, needs, false, false, err);
    }
}

#endif
