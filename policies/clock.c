/* Clock: a queue in the order of arrival whose oldest block, when it was used meanwhile, gets another round for it.
 *
 * With counters of one bit this is the second-chance algorithm (Corbato, "A paging experiment with the Multics system",
 * 1968); with more, a block gets as many rounds as it was used, up to the counter's limit (GCLOCK, Smith 1978). */
#include "policies/ring.h"

struct clock {
    struct ring ring;
    uint32_t limit;
    uint8_t counters[]; /* one a block; the ring's slots follow */
};

static size_t clock_counters_size(const struct policy_view *view)
{
    return ((size_t)view->block_count + 7) / 8 * 8;
}

static block_id *clock_slots(struct clock *clock, const struct policy_view *view)
{
    return (void *)(clock->counters + clock_counters_size(view));
}

static size_t clock_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct clock) + clock_counters_size(view) + ring_slots(view->block_count) * sizeof(block_id);
}

static void clock_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct clock *clock = self;
    ring_init(&clock->ring, view->block_count);
    clock->limit = (1u << args->values[0]) - 1;
}

static void clock_on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct clock *clock = self;
    uint8_t counter = clock->counters[b];
    clock->counters[b] = (uint8_t)(counter + (counter < clock->limit));
}

/* clock_victim where blocks that may not go now are among the oldest: each gets another round without paying for it.
 * Apart, and without a view, so that where clock_victim is inlined the usual case keeps its registers. */
__attribute__((noinline, cold)) static block_id clock_sweep(struct clock *clock, block_id *slots, const uint8_t *state,
                                                            uint32_t evict_mask)
{
    const uint32_t mask = clock->ring.mask;
    uint32_t oldest = clock->ring.oldest, end = clock->ring.end;
    block_id victim = BLOCK_NONE, passed = BLOCK_NONE;
    while (oldest != end) {
        block_id b = slots[oldest & mask];
        if ((state[b] & evict_mask) == POLICY_RESIDENT) {
            if (clock->counters[b] == 0) {
                victim = b;
                break;
            }
            clock->counters[b]--;
            passed = BLOCK_NONE;
        } else if (passed == b) {
            break; /* a whole round of such blocks */
        } else if (passed == BLOCK_NONE) {
            passed = b;
        }
        oldest++;
        slots[end++ & mask] = b;
    }
    clock->ring.oldest = oldest;
    clock->ring.end = end;
    return victim;
}

static block_id clock_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct clock *clock = self;
    block_id *slots = clock_slots(clock, view);
    const uint32_t mask = clock->ring.mask;
    uint32_t oldest = clock->ring.oldest, end = clock->ring.end;
    block_id b = slots[oldest & mask];
    /* The usual answer changes nothing, and stores nothing that the next call would have to wait for. */
    if (__builtin_expect(oldest != end && policy_may_evict(view, b) && clock->counters[b] == 0, 1))
        return b;
    while (oldest != end && policy_may_evict(view, b) && clock->counters[b] != 0) {
        clock->counters[b]--;
        slots[end++ & mask] = b;
        b = slots[++oldest & mask];
    }
    clock->ring.oldest = oldest;
    clock->ring.end = end;
    if (oldest == end || policy_may_evict(view, b))
        return oldest == end ? BLOCK_NONE : b;
    return clock_sweep(clock, slots, view->state, view->evict_mask);
}

static void clock_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct clock *clock = self;
    ring_push(&clock->ring, clock_slots(clock, view), b);
}

static void clock_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    struct clock *clock = self;
    if (reason != REMOVE_EVICTED) /* a victim's counter is 0, and so is that of a block that comes in */
        clock->counters[b] = 0;
    ring_remove(&clock->ring, clock_slots(clock, view), b);
}

static const struct policy_param clock_params[] = {
    {"bits", POLICY_COUNT, 1, 8, 1, "size of the use counters: a block gets up to 2^bits - 1 more rounds"},
};

const struct policy policy_clock = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "clock",
    .summary = "evict the block that came first, but give used ones another round",
    .param_count = sizeof clock_params / sizeof *clock_params,
    .params = clock_params,
    .state_size = clock_state_size,
    .init = clock_init,
    .ops.evict =
        {
            .on_hit = clock_on_hit,
            .victim = clock_victim,
            .on_insert = clock_on_insert,
            .on_remove = clock_on_remove,
        },
};
