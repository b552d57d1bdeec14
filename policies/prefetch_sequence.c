/* Learns which block follows which, and fetches along that chain: no layers, strides or foresight, only what was seen.
 *
 * The uses of all steps so far are one sequence of blocks. Of each block it keeps the one that followed it last, and
 * whether it last began a step. A plan walks from the last block of the running step along successors until `depth`
 * whole steps have been passed, a block comes that the walk has met already, or one without a successor. */
#include "policies/policy.h"

struct sequence_block {
    block_id successor;
    uint32_t begins;  /* 1: it was the first use of its step, the last time */
    uint64_t planned; /* the last plan whose walk met it */
};

struct sequence {
    uint32_t depth;
    block_id last; /* of the step that ran before; BLOCK_NONE: none did */
    uint64_t plans;
    struct sequence_block blocks[];
};

static size_t sequence_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct sequence) + (size_t)view->block_count * sizeof(struct sequence_block);
}

static void sequence_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct sequence *sequence = self;
    sequence->depth = (uint32_t)args->values[0];
    sequence->last = BLOCK_NONE;
    for (block_id b = 0; b < view->block_count; b++)
        sequence->blocks[b].successor = BLOCK_NONE;
}

/* What is learned comes from used[], not from ahead[]. */
static uint32_t sequence_reach(const void *self, const struct policy_view *view)
{
    (void)self, (void)view;
    return 1;
}

static void sequence_learn(struct sequence *sequence, const struct policy_view *view)
{
    for (uint32_t i = 0; i < view->used_count; i++) {
        block_id b = view->used[i];
        if (sequence->last != BLOCK_NONE)
            sequence->blocks[sequence->last].successor = b;
        sequence->blocks[b].begins = i == 0;
        sequence->last = b;
    }
}

static uint32_t sequence_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    struct sequence *sequence = self;
    struct sequence_block *blocks = sequence->blocks;
    uint32_t steps = 0, count = 0;
    sequence_learn(sequence, view);
    if (sequence->last == BLOCK_NONE)
        return 0;
    sequence->plans++;
    block_id b = blocks[sequence->last].successor;
    while (b != BLOCK_NONE && count < max && blocks[b].planned != sequence->plans) {
        steps += blocks[b].begins;
        if (steps > sequence->depth)
            break;
        blocks[b].planned = sequence->plans;
        if (!(view->state[b] & (POLICY_RESIDENT | POLICY_LOADING)))
            out[count++] = b;
        b = blocks[b].successor;
    }
    return count;
}

static const struct policy_param sequence_params[] = {
    {"depth", POLICY_COUNT, 1, POLICY_REACH_MAX, 1, "how many steps ahead to fetch"},
};

const struct policy policy_sequence = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "sequence",
    .summary = "learn which block follows which, and fetch along the chain",
    .param_count = 1,
    .params = sequence_params,
    .state_size = sequence_state_size,
    .init = sequence_init,
    .ops.prefetch = {sequence_reach, sequence_plan},
};
