/* A compiled workload: steps, the blocks that each uses, what they compute, and where tokens end.
 *
 * The trace comes first: it is made before the clock starts and never changes, so every policy sees the same. It is
 * stored compactly: 4 bytes a use, 4 a step, 4 a step's work, and steps that repeat token after token once. */
#ifndef POCKETLOAD_WORKLOADS_TRACE_H
#define POCKETLOAD_WORKLOADS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "workloads/kv.h"
#include "workloads/model.h"

/* A use is a block id with two marks. */
#define USE_BLOCK 0x3fffffffu
#define USE_AGAIN 0x40000000u  /* the step named this block before: told to the policy, not counted as an access */
#define USE_UNSEEN 0x80000000u /* a runtime cannot foresee it: hidden from prefetchers */

enum phase { PHASE_LOAD, PHASE_PREFILL, PHASE_DECODE, PHASE_IDLE, PHASES };
extern const char *const phase_names[PHASES]; /* "load", "prefill", "decode", "idle" */

struct work_term {
    uint32_t type; /* enum tensor_type: which rates apply */
    uint64_t flops, flops_per_context;
    uint64_t bytes; /* weights of that type that the step reads */
};

/* What a step computes. With c = min(tokens in the context when the token starts, context_max):
 * flops of a type = flops + c * flops_per_context; bytes of a type as they stand there; all other bytes =
 * bytes + c * bytes_per_context. */
struct work {
    int64_t fixed_ns; /* >= 0: a measured time, used as it is; -1: roofline of the terms below */
    uint64_t bytes;   /* that are of no type: norms, scales, padding, blocks of which no more than the size is known */
    uint64_t bytes_per_context; /* of the KV cache */
    uint32_t first_term, term_count;
    uint32_t context_max; /* of a windowed layer: its window less the token itself; UINT32_MAX: no limit */
};

/* What happens to the app in a pause, which it spends in the background. */
enum away {
    AWAY_NONE,
    AWAY_RECLAIM, /* other apps take a share of its weights */
    AWAY_RESTART, /* the system ends it; it is started anew when the pause is over */
};

/* `repeat` tokens, one after the other, that run the same steps. */
struct segment {
    uint32_t first_step, step_count; /* step_count may be 0 (an idle time alone) */
    uint32_t repeat;
    uint32_t token;          /* number of the first of them, as records show it */
    enum phase phase;        /* PHASE_PREFILL or PHASE_DECODE */
    uint32_t context_first;  /* tokens in the context before the first of them */
    uint32_t context_growth; /* tokens that each of them adds: the prompt's length, or 1 */
    int64_t idle_ns;         /* a pause before the first of them */
    uint64_t activation_bytes;
    uint32_t turn;     /* of a conversation, from 1 on; 0: there are none. It begins with a pause, of 0 ns perhaps */
    enum away away;    /* in the pause */
    uint32_t away_ppm; /* AWAY_RECLAIM: the share */
    /* Speculative decoding: its steps are a round, which makes accepted + 1 tokens; repeat is 1. drafted == 0: no
     * round. */
    uint32_t drafted, accepted;
    bool second;              /* the context is that of trace.second_kv */
    uint64_t kv_beside_bytes; /* KV cache beside that of its context, all through it */
};

/* Tokens that one of its repetitions makes. */
static inline uint32_t segment_tokens(const struct segment *segment)
{
    return segment->accepted + 1;
}

struct trace {
    char name[128];
    uint32_t block_count; /* of the model that it was compiled for */
    uint32_t use_count, step_count, work_count, term_count, segment_count;
    uint32_t *uses;
    uint32_t *step_first; /* step s uses uses[step_first[s]] .. uses[step_first[s+1]-1]; NULL: use s alone */
    uint32_t *step_work;  /* index into works; NULL: step s has work 0, or none when work_count is 0 */
    struct work *works;
    struct work_term *terms;
    struct segment *segments;
    bool counts_tokens; /* false: the trace marks no tokens; all of it is token 0 */
    /* The KV cache grows by both for each token; by the second up to kv_window tokens only: see trace_kv_bytes. */
    uint64_t kv_bytes_per_token, kv_window_bytes_per_token;
    uint32_t kv_window;         /* tokens that windowed layers keep; 0: there are none */
    struct kv_growth second_kv; /* the same of the second model of two that take turns */
    uint64_t resized_count;     /* records of the file whose size is not that of their block, which is its first */
    /* Filled in by trace_finish: */
    uint64_t access_count; /* first uses, over all repetitions */
    uint64_t token_count;  /* over all segments */
    uint32_t turn_count;   /* the number of the last turn */
    uint64_t accessed_bytes;
    uint32_t step_uses_max;  /* most uses that one step has, repeated ones included */
    uint64_t step_bytes_max; /* largest sum of distinct block sizes of one step */
    uint64_t
        cycle_bytes; /* largest sum of distinct block sizes of one token of a decode segment (of all, without one) */
    uint64_t working_set_bytes; /* sum of the sizes of all blocks used */
};

static inline uint32_t trace_step_begin(const struct trace *trace, uint32_t step)
{
    return trace->step_first ? trace->step_first[step] : step;
}

/* The KV cache of a context of that many tokens. No overflow for a context whose trace_kv_checked is true. */
static inline uint64_t trace_kv_bytes(const struct trace *trace, uint64_t tokens)
{
    const uint64_t kept = tokens < trace->kv_window ? tokens : trace->kv_window;
    return tokens * trace->kv_bytes_per_token + kept * trace->kv_window_bytes_per_token;
}

/* The same into *bytes; false when it is over 2^63 bytes. */
bool trace_kv_checked(const struct trace *trace, uint64_t tokens, uint64_t *bytes);

/* All KV caches when the segment's context has that many tokens, in a trace whose trace_kv_most is true. */
static inline uint64_t segment_kv_bytes(const struct trace *trace, const struct segment *segment, uint64_t tokens)
{
    if (!segment->second)
        return trace_kv_bytes(trace, tokens) + segment->kv_beside_bytes;
    const struct kv_growth *kv = &trace->second_kv;
    return tokens * kv->bytes + (tokens < kv->window ? tokens : kv->window) * kv->window_bytes +
           segment->kv_beside_bytes;
}

/* The most that KV caches ever have, and the longest context; false when it is over 2^63 bytes. */
bool trace_kv_most(const struct trace *trace, uint64_t *bytes, uint64_t *context);

/* ---- Building ----
 * trace_start on any struct; add segments, steps and uses in order; trace_finish; on failure trace_abandon.
 * Every step has at least one use and belongs to a segment. All adders fail with STATUS_INPUT over 2^32-2 uses or steps
 * and for a block over NUMBERED_BLOCKS_MAX, STATUS_IO without memory. */
struct trace_builder {
    struct trace *trace;
    size_t uses_capacity, steps_capacity, works_capacity, terms_capacity, segments_capacity, work_steps_capacity;
    bool plain_steps;     /* every step so far has one use */
    bool plain_work;      /* every step so far has work 0 */
    uint32_t *seen;       /* for each block, the number of the last step that named it, from 1; 0: none */
    size_t seen_capacity; /* of `seen`, all initialised */
    bool summed;          /* every use came by trace_add_plain_steps, every block of the model is used, and: */
    uint64_t plain_bytes; /* the sum of the sizes of all uses; both are said by who adds them */
    uint32_t *work_slots; /* finds equal works: open addressing, 0 = empty, else index + 1 */
    size_t work_slot_count;
    enum kv_type kv_type; /* of the trace's KV cache: f16 unless the caller sets it after trace_start */
};
bool trace_start(struct trace_builder *builder, struct trace *trace, const char *name, struct error *err);

/* Opens a segment: all steps until the next belong to it. Fields first_step and step_count are set by the builder. */
bool trace_add_segment(struct trace_builder *builder, const struct segment *segment, struct error *err);

/* Opens a step with the given work (index from trace_add_work, or 0 when there are none). */
bool trace_add_step(struct trace_builder *builder, uint32_t work, struct error *err);

/* Gives a step that was added before another work. */
bool trace_set_work(struct trace_builder *builder, uint32_t step, uint32_t work, struct error *err);

/* Adds a use to the open step; `flags` is 0 or USE_UNSEEN; USE_AGAIN is set by the builder. */
bool trace_add_use(struct trace_builder *builder, block_id block, uint32_t flags, struct error *err);

/* Adds `count` >= 1 steps of one use each and work 0 to the open segment, all at once: the caller writes the uses
 * (block and USE_UNSEEN) to *uses. Only in a trace whose steps so far have one use and work 0. */
bool trace_add_plain_steps(struct trace_builder *builder, uint32_t count, uint32_t **uses, struct error *err);

/* Adds a work without a context_max, or finds an equal one: the works of a long trace are few. fixed_ns is -1 for a
 * roofline. */
bool trace_add_work(struct trace_builder *builder, int64_t fixed_ns, uint64_t bytes, uint64_t bytes_per_context,
                    const struct work_term *terms, uint32_t term_count, uint32_t *work, struct error *err);

/* The same for a work with any context_max; its first_term is not used: the terms are added->term_count in `terms`. */
bool trace_add_capped_work(struct trace_builder *builder, const struct work *added, const struct work_term *terms,
                           uint32_t *work, struct error *err);

/* The part of total_ns that step i of n gets when its steps share it equally: the parts sum up to total_ns. */
int64_t trace_share_ns(int64_t total_ns, uint32_t i, uint32_t n);

/* Checks every id against the model, computes the sums, and where tokens are counted sets how the KV cache grows. An
 * empty trace is STATUS_INPUT. On success the builder is spent. */
bool trace_finish(struct trace_builder *builder, const struct model *model, struct error *err);
void trace_abandon(struct trace_builder *builder); /* frees the builder and the trace, after a failure */

void trace_free(struct trace *trace);

/* How often steps name each block (first uses), over the whole trace: heat[block_count]. */
void trace_heat(const struct trace *trace, uint64_t *heat);

#endif
