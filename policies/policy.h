/* clang-format off: the order of the calls below is a list. */
/* The contract between the engine and a policy: all that a policy sees, and all that a plug-in includes.
 *
 * Policies decide, the engine acts. A policy is one constant table of functions. It never allocates, keeps no global
 * state and calls nothing back: the engine gives it memory (`state_size`), shows it plain read-only arrays
 * (`policy_view`), tells it what happened and asks it questions, and checks every answer. A shared object exports
 * exactly one symbol:
 *
 *     const struct policy policy;
 *
 * Order of the calls, for one run:
 *
 *   1. Pin rule: state_size(), init(), plan() once. What it pins is in view->pinned_bytes from then on, and is loaded
 *      before the first step (POLICY_PINNED from then on); the eviction policy never hears of these blocks.
 *   2. Eviction policy, admission rule and prefetcher: state_size(), init(), then the eviction policy's remark(). State
 *      memory is zeroed and aligned to 64 bytes.
 *   3. For each step, its uses in the order of the trace. For the first use of a block by the step:
 *        on_hit(b)      the block is resident, or in flight; then release() until it answers BLOCK_NONE.
 *        on_miss(b)     it is absent; then release() until it answers BLOCK_NONE. Then, unless the block is larger than
 *                       the budget less the pinned bytes:
 *          admit(b)     of the admission rule, then of the eviction policy; false: the block is streamed, at once.
 *          victim(b)    as long as the held bytes and b together exceed the budget; for each answer on_remove(answer).
 *          on_insert(b) b is in flight from now on (POLICY_LOADING; in a replay at once POLICY_RESIDENT). Nothing is
 *                       called when it arrives. Then release() until it answers BLOCK_NONE.
 *      For each further use of the same block by the same step (prompt tokens that share an expert): on_hit(b), then
 *      release().
 *      With evict_when = after_step no victim is asked for before a miss's on_insert; when the step ends, the engine
 *      asks victim(BLOCK_NONE) until the held bytes fit or the answer is BLOCK_NONE.
 *   4. When the last block of a step is there: the prefetcher's plan(), which replaces the plan before. Each block of
 *      the plan that is absent when its turn comes goes through admit(), victim(), on_remove(), on_insert() and
 *      release() as above, without on_miss(): a fill is not a use. One that is too large or refused is passed over;
 *      when victim() answers BLOCK_NONE the rest of the plan is dropped. Its first use is an on_hit(), even when it is
 *      still in flight.
 *
 * `release` gives up blocks although there is room, for policies whose parts have limits of their own; for each answer
 * on_remove(answer) is called before the next question. A block that may not be evicted now can be released at a later
 * question.
 *
 * A streamed block is read for its step without being kept; the policy hears on_miss() only. A demanded block is
 * streamed when it is larger than the budget less the pinned bytes, when admit() refuses it, or when victim() answers
 * BLOCK_NONE (unless view->may_exceed). A demand drops prefetches in flight before it gives up on room: on_remove(b,
 * REMOVE_CANCELLED), unasked. So refuse by admit(), which is asked once, not by victim().
 *
 * Between two turns of a chat the app may be in the background. Where other apps take memory from it,
 * victim(BLOCK_NONE) is asked, and on_remove(answer, REMOVE_RECLAIMED) called, until they have what they want or the
 * answer is BLOCK_NONE. Where the app is ended and started anew, eviction policy, admission rule and prefetcher begin
 * again: their state is zeroed, init() is called as at 2, and nothing is held; access numbers, steps, tokens and time
 * go on.
 *
 * `victim` and `release` answer with a block for which policy_may_evict() holds, or with BLOCK_NONE: "I have none".
 * Anything else ends the run with an error that names the policy, the block and the reason.
 *
 * Optional functions are NULL. `struct policy` and `struct policy_view` only ever grow at their ends, and bear their
 * sizes; what a table built against an older header lacks is taken as NULL. `struct policy_block` and `struct
 * policy_param` are elements of arrays and stay as they are. POLICY_ABI changes when a meaning changes. */
/* clang-format on */
#ifndef POCKETLOAD_POLICIES_POLICY_H
#define POCKETLOAD_POLICIES_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_ABI 1u

/* Dense: 0 .. block_count-1. */
typedef uint32_t block_id;
#define BLOCK_NONE UINT32_MAX

enum block_kind {
    BLOCK_EMBEDDING,
    BLOCK_NORM,
    BLOCK_LAYER, /* a layer, or with experts what all tokens of the layer share */
    BLOCK_EXPERT,
    BLOCK_OUTPUT,
    BLOCK_OTHER, /* traces without kinds */
    BLOCK_KINDS
};

struct policy_block {
    uint64_t bytes; /* what the block takes of the budget */
    int32_t layer;  /* -1: none */
    uint32_t kind;  /* enum block_kind */
};

/* Bits of policy_view.state. An absent block has neither RESIDENT nor LOADING. */
enum {
    POLICY_RESIDENT = 1,
    POLICY_LOADING = 2,     /* in flight: its bytes are reserved */
    POLICY_PINNED = 4,      /* never evicted */
    POLICY_IN_USE = 8,      /* named by the step that runs; set on all held ones of it when a victim is asked for */
    POLICY_PREFETCHED = 16, /* brought by a prefetch and not yet used */
};

/* What a policy may know. Read-only; pointers stay valid for the run, values change between calls. */
struct policy_view {
    uint32_t size; /* of this structure, in bytes */
    uint32_t block_count;
    const struct policy_block *blocks;
    const uint8_t *state;  /* one byte a block */
    uint32_t evict_mask;   /* for policy_may_evict() */
    uint32_t token;        /* tokens finished before this one */
    uint64_t step;         /* steps finished before this one */
    uint64_t budget_bytes; /* for all weights, pinned ones included */
    uint64_t held_bytes;   /* resident and in flight, pinned ones included */
    uint64_t pinned_bytes;
    int64_t now_ns;          /* virtual time; 0 in a replay */
    uint64_t step_bytes_max; /* the largest sum of block sizes that one step of the trace names */
    /* How often steps name each block over the whole trace; NULL unless the policy sets POLICY_NEEDS_HEAT. */
    const uint64_t *heat;
    /* What the workload foresees of the coming steps, for prefetchers: the blocks of the i-th next step are
     * ahead[ahead_end[i-1]] .. ahead[ahead_end[i]-1] (from 0 for i = 0), i < ahead_steps <= reach(). Blocks that a
     * real runtime could not know yet, as the experts of a later token, are not among them, unless the prefetcher sets
     * POLICY_NEEDS_FUTURE. */
    const block_id *ahead;
    const uint32_t *ahead_end;
    uint32_t ahead_steps;
    /* For prefetchers: the distinct blocks of the step that runs, in the order of their first use. */
    uint32_t used_count;
    const block_id *used;
    uint64_t access; /* first uses before the one that is told now, or was told last: it has this number, from 0 */
    uint64_t seed;   /* of the run, for policies that draw lots */
    /* The future; NULL unless the policy sets POLICY_NEEDS_FUTURE. By block: the number of the access that uses it
     * next. While an access is told, its block's entry is the access after that one already. NEXT_USE_NEVER: none. */
    const uint32_t *next_use;
    /* How often an earlier run accessed each block; NULL unless the policy sets POLICY_NEEDS_PROFILE. */
    const uint64_t *profile;
    /* In a replay, for a policy that sets POLICY_MAY_EXCEED: a published rule that at times holds more than its
     * capacity may do so here. victim()'s BLOCK_NONE then lets the incoming block in, over the budget, and the result
     * says by how much. False in a run with time, where the budget holds at every moment. */
    bool may_exceed;
};

#define NEXT_USE_NEVER UINT32_MAX

/* True when `victim` may answer with b now: resident, and not pinned, in use or in flight; and when the incoming block
 * is a prefetch, not itself a prefetch that waits for its use. */
static inline bool policy_may_evict(const struct policy_view *view, block_id b)
{
    return (view->state[b] & view->evict_mask) == POLICY_RESIDENT;
}

/* The user's parameters, checked against the policy's table. */
struct policy_args {
    const int64_t *values;  /* one for each policy_param, in order; lists have 0 here */
    const block_id *blocks; /* for a POLICY_BLOCKS parameter: the blocks named, ascending, distinct */
    uint32_t block_count;
};

enum policy_unit {
    POLICY_COUNT,  /* a whole number */
    POLICY_BYTES,  /* a size with its unit: 512MiB */
    POLICY_PPM,    /* a share: 10%, stored in parts per million */
    POLICY_KINDS,  /* names of block kinds: a bit set, bit = 1 << enum block_kind */
    POLICY_BLOCKS, /* names or ids of blocks: policy_args.blocks */
};

struct policy_param {
    const char *name;
    enum policy_unit unit;
    int64_t min, max, fallback; /* 0 <= min <= max; `fallback` is used when the user gives none */
    const char *help;           /* one line */
};

enum remove_reason {
    REMOVE_EVICTED,   /* this policy named it in victim() */
    REMOVE_RELEASED,  /* this policy named it in release() */
    REMOVE_CANCELLED, /* a prefetch in flight, dropped to make room for a demand: nothing was kept of it */
    REMOVE_RECLAIMED, /* this policy named it in victim(), but others took its memory: the app was in the background */
};

struct evict_ops {
    void (*on_hit)(void *self, const struct policy_view *view, block_id b);  /* optional */
    void (*on_miss)(void *self, const struct policy_view *view, block_id b); /* optional */
    block_id (*victim)(void *self, const struct policy_view *view, block_id incoming);
    void (*on_insert)(void *self, const struct policy_view *view, block_id b);
    void (*on_remove)(void *self, const struct policy_view *view, block_id b, enum remove_reason reason);
    /* Optional: may this block come in? NULL: always. */
    bool (*admit)(void *self, const struct policy_view *view, block_id b);
    /* Optional: a block to give up although there is room, or BLOCK_NONE. */
    block_id (*release)(void *self, const struct policy_view *view);
    /* Optional, asked once after init: one line of at most size - 1 bytes for a user who would otherwise read bad
     * numbers without their reason ("the small queue is smaller than any block: nothing is ever kept"), or "". */
    void (*remark)(const void *self, const struct policy_view *view, char *line, size_t size);
};

struct admit_ops {
    /* May this block come in? Asked before the eviction policy's own admit(). */
    bool (*admit)(void *self, const struct policy_view *view, block_id b);
};

struct pin_ops {
    /* Writes at most max distinct blocks in order of preference and returns how many. The engine pins each in turn
     * that still fits the budget and passes over one that does not. */
    uint32_t (*plan)(void *self, const struct policy_view *view, block_id *out, uint32_t max);
};

enum { POLICY_REACH_MAX = 64 };

struct prefetch_ops {
    /* How many steps ahead view->ahead is to show: 1 .. POLICY_REACH_MAX. Asked once, after init. */
    uint32_t (*reach)(const void *self, const struct policy_view *view);
    /* Writes at most max blocks in the order in which to fetch them and returns how many. */
    uint32_t (*plan)(void *self, const struct policy_view *view, block_id *out, uint32_t max);
};

enum policy_kind { POLICY_EVICT, POLICY_PIN, POLICY_PREFETCH, POLICY_ADMIT, POLICY_KINDS_COUNT };

/* Bits of policy.needs. */
enum { POLICY_NEEDS_HEAT = 1, POLICY_NEEDS_FUTURE = 2, POLICY_NEEDS_PROFILE = 4, POLICY_MAY_EXCEED = 8 };

enum { POLICY_PARAMS_MAX = 8 };

/* What state_size() may ask for: so much for each block of the view, and so much beside. */
enum { POLICY_STATE_PER_BLOCK_MAX = 4096, POLICY_STATE_FIXED_MAX = 1 << 26 };

struct policy {
    uint32_t abi;  /* POLICY_ABI */
    uint32_t size; /* sizeof (struct policy) */
    enum policy_kind kind;
    const char *name;    /* a-z, 0-9 and '-', at most 31 characters */
    const char *summary; /* one line */
    uint32_t needs;
    uint32_t param_count; /* at most POLICY_PARAMS_MAX */
    const struct policy_param *params;
    size_t (*state_size)(const struct policy_view *view, const struct policy_args *args); /* 0 is fine */
    void (*init)(void *self, const struct policy_view *view, const struct policy_args *args);
    union {
        struct evict_ops evict;
        struct pin_ops pin;
        struct prefetch_ops prefetch;
        struct admit_ops admit;
    } ops;
};

#endif
