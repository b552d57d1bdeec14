/* 2Q, the full version: newcomers pass a queue in the order of arrival; only blocks that are asked for again soon after
 * they left it come into the main part, an LRU (Johnson, Shasha, "2Q: a low overhead high performance buffer management
 * replacement algorithm", VLDB 1994). */
#include "policies/parts.h"
#include "policies/queues.h"

/* Queues, and with TWO_Q_NONE what a block's tag says. */
enum { TWO_Q_NONE, TWO_Q_IN, TWO_Q_MAIN, TWO_Q_GHOSTS, TWO_Q_QUEUES };

struct two_q {
    uint64_t limit_bytes[TWO_Q_QUEUES], bytes[TWO_Q_QUEUES];
    uint64_t equal_bytes;
    block_id returning; /* it was a ghost when it was last missed, and is to come into the main part */
    uint32_t reserved;  /* links want 8 bytes */
    uint8_t tags[];     /* by block: its queue; the links follow */
};

static struct list_node *two_q_links(struct two_q *two_q, const struct policy_view *view)
{
    return queue_links(two_q->tags, view->block_count);
}

static size_t two_q_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct two_q) + queue_tags_size(view->block_count) + queue_links_size(view->block_count);
}

static void two_q_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct two_q *two_q = self;
    uint64_t whole = part_whole(view);
    two_q->limit_bytes[TWO_Q_IN] = part_share(whole, args->values[0]);
    two_q->limit_bytes[TWO_Q_MAIN] = whole - two_q->limit_bytes[TWO_Q_IN];
    two_q->limit_bytes[TWO_Q_GHOSTS] = part_share(whole, args->values[1]);
    two_q->returning = BLOCK_NONE;
    two_q->equal_bytes = part_equal_bytes(view);
    queue_init(two_q_links(two_q, view));
}

static void two_q_enter(struct two_q *two_q, const struct policy_view *view, uint32_t queue, block_id b)
{
    two_q->bytes[queue] += part_bytes(view, two_q->equal_bytes, b);
    two_q->tags[b] = (uint8_t)queue;
    queue_add(two_q_links(two_q, view), queue, b);
}

static void two_q_leave(struct two_q *two_q, const struct policy_view *view, block_id b)
{
    two_q->bytes[two_q->tags[b]] -= part_bytes(view, two_q->equal_bytes, b);
    two_q->tags[b] = TWO_Q_NONE;
    queue_remove(two_q_links(two_q, view), b);
}

static void two_q_remember(struct two_q *two_q, const struct policy_view *view, block_id b)
{
    uint64_t limit = two_q->limit_bytes[TWO_Q_GHOSTS];
    if (part_bytes(view, two_q->equal_bytes, b) > limit)
        return;
    while (two_q->bytes[TWO_Q_GHOSTS] + part_bytes(view, two_q->equal_bytes, b) > limit)
        two_q_leave(two_q, view, queue_tail(two_q_links(two_q, view), TWO_Q_GHOSTS));
    two_q_enter(two_q, view, TWO_Q_GHOSTS, b);
}

static void two_q_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct two_q *two_q = self;
    if (two_q->tags[b] == TWO_Q_MAIN)
        queue_move(two_q_links(two_q, view), TWO_Q_MAIN, b);
}

static void two_q_on_miss(void *self, const struct policy_view *view, block_id b)
{
    struct two_q *two_q = self;
    two_q->returning = BLOCK_NONE;
    if (two_q->tags[b] != TWO_Q_GHOSTS)
        return;
    two_q->returning = b;
    two_q_leave(two_q, view, b);
}

static bool two_q_admit(void *self, const struct policy_view *view, block_id b)
{
    const struct two_q *two_q = self;
    uint64_t bytes = part_bytes(view, two_q->equal_bytes, b);
    return bytes <= two_q->limit_bytes[TWO_Q_IN] && (two_q->returning != b || bytes <= two_q->limit_bytes[TWO_Q_MAIN]);
}

static block_id two_q_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct two_q *two_q = self;
    const struct list_node *links = two_q_links(two_q, view);
    uint32_t queue = two_q->bytes[TWO_Q_IN] > two_q->limit_bytes[TWO_Q_IN] ? TWO_Q_IN : TWO_Q_MAIN;
    block_id victim = queue_oldest(links, queue, view);
    return victim != BLOCK_NONE ? victim : queue_oldest(links, TWO_Q_IN + TWO_Q_MAIN - queue, view);
}

/* The main part keeps to its own limit, also where the newcomers leave room. */
static block_id two_q_release(void *self, const struct policy_view *view)
{
    struct two_q *two_q = self;
    if (two_q->bytes[TWO_Q_MAIN] <= two_q->limit_bytes[TWO_Q_MAIN])
        return BLOCK_NONE;
    return queue_oldest(two_q_links(two_q, view), TWO_Q_MAIN, view);
}

static void two_q_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct two_q *two_q = self;
    bool returns = two_q->returning == b && !(view->state[b] & POLICY_PREFETCHED);
    if (two_q->tags[b] == TWO_Q_GHOSTS)
        two_q_leave(two_q, view, b);
    two_q->returning = BLOCK_NONE;
    two_q_enter(two_q, view, returns ? TWO_Q_MAIN : TWO_Q_IN, b);
}

static void two_q_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    struct two_q *two_q = self;
    bool remember = two_q->tags[b] == TWO_Q_IN && reason != REMOVE_CANCELLED;
    two_q_leave(two_q, view, b);
    if (remember)
        two_q_remember(two_q, view, b);
}

static void two_q_remark(const void *self, const struct policy_view *view, char *line, size_t size)
{
    const struct two_q *two_q = self;
    part_remark(view, "the queue of newcomers", two_q->limit_bytes[TWO_Q_IN], "it is never kept", "they are never kept",
                line, size);
}

static const struct policy_param two_q_params[] = {
    {"in", POLICY_PPM, 0, 1000000, 250000, "the newcomers' share of the budget"},
    {"out", POLICY_PPM, 0, 1000000, 500000, "how much of what left the newcomers' queue is remembered"},
};

const struct policy policy_two_q = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "2q",
    .summary = "newcomers pass a queue; what is asked for again after it is kept in an LRU",
    .param_count = sizeof two_q_params / sizeof *two_q_params,
    .params = two_q_params,
    .state_size = two_q_state_size,
    .init = two_q_init,
    .ops.evict =
        {
            .on_hit = two_q_on_hit,
            .on_miss = two_q_on_miss,
            .victim = two_q_victim,
            .on_insert = two_q_on_insert,
            .on_remove = two_q_on_remove,
            .admit = two_q_admit,
            .release = two_q_release,
            .remark = two_q_remark,
        },
};
