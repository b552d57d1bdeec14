/* S3-FIFO: newcomers pass a small queue; those that are used there, or are asked for again soon after they left it,
 * come into the main queue, where used blocks get another round (Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all
 * you need for cache eviction", SOSP 2023). */
#include "policies/parts.h"
#include "policies/queues.h"
#include "policies/ring.h"

/* Queues, and with S3_NONE what a block's tag says in its low bits; its uses stand above. */
enum { S3_NONE, S3_SMALL, S3_MAIN, S3_GHOSTS, S3_QUEUES };
enum { S3_QUEUE_MASK = 3, S3_USE = 4, S3_USES_MAX = 63, S3_ROUNDS_MAX = 3 };

struct s3 {
    uint64_t limit_bytes[S3_QUEUES], bytes[S3_QUEUES];
    uint64_t equal_bytes;
    uint64_t room_bytes;  /* room to be made for a block that is not going to be kept; 0: none */
    struct ring rings[2]; /* small, main; the ghosts, which leave from the middle, have a list */
    block_id returning;   /* it was a ghost when it was last missed, and is to come into the main queue */
    uint32_t threshold;   /* uses in the small queue that lead to the main queue */
    uint8_t tags[];       /* one a block; then the ghosts' links, then the slots of the two rings */
};

static struct list_node *s3_links(struct s3 *s3, const struct policy_view *view)
{
    return queue_links(s3->tags, view->block_count);
}

static block_id *s3_slots(struct s3 *s3, const struct policy_view *view, uint32_t queue)
{
    block_id *small = (void *)(s3_links(s3, view) + QUEUE_HEADS + view->block_count);
    return queue == S3_SMALL ? small : small + s3->rings[0].mask + 1;
}

static size_t s3_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    uint32_t n = view->block_count;
    return sizeof(struct s3) + queue_tags_size(n) + queue_links_size(n) + 2 * sizeof(block_id) * ring_slots(n);
}

static void s3_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct s3 *s3 = self;
    uint64_t whole = part_whole(view);
    s3->limit_bytes[S3_SMALL] = part_share(whole, args->values[0]);
    s3->limit_bytes[S3_MAIN] = whole - s3->limit_bytes[S3_SMALL];
    s3->limit_bytes[S3_GHOSTS] = part_share(whole, args->values[1]);
    s3->equal_bytes = part_equal_bytes(view);
    s3->threshold = (uint32_t)args->values[2];
    s3->returning = BLOCK_NONE;
    ring_init(&s3->rings[0], view->block_count);
    ring_init(&s3->rings[1], view->block_count);
    queue_init(s3_links(s3, view));
}

static uint32_t s3_queue(const struct s3 *s3, block_id b)
{
    return s3->tags[b] & S3_QUEUE_MASK;
}

static void s3_enter(struct s3 *s3, const struct policy_view *view, uint32_t queue, block_id b)
{
    s3->bytes[queue] += part_bytes(view, s3->equal_bytes, b);
    s3->tags[b] = (uint8_t)queue;
    if (queue == S3_GHOSTS)
        queue_add(s3_links(s3, view), 0, b);
    else
        ring_push(&s3->rings[queue - S3_SMALL], s3_slots(s3, view, queue), b);
}

static void s3_forget(struct s3 *s3, const struct policy_view *view, block_id b)
{
    s3->bytes[S3_GHOSTS] -= part_bytes(view, s3->equal_bytes, b);
    s3->tags[b] = S3_NONE;
    queue_remove(s3_links(s3, view), b);
}

static void s3_remember(struct s3 *s3, const struct policy_view *view, block_id b)
{
    uint64_t limit = s3->limit_bytes[S3_GHOSTS], bytes = part_bytes(view, s3->equal_bytes, b);
    if (bytes > limit)
        return;
    while (s3->bytes[S3_GHOSTS] + bytes > limit)
        s3_forget(s3, view, queue_tail(s3_links(s3, view), 0));
    s3_enter(s3, view, S3_GHOSTS, b);
}

/* Uses are counted up to 63, the largest threshold; the main queue cares for the first 3 only. */
static void s3_on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct s3 *s3 = self;
    uint8_t tag = s3->tags[b];
    if (tag < S3_USES_MAX * S3_USE)
        s3->tags[b] = (uint8_t)(tag + S3_USE);
}

/* A block as large as the small queue is refused, but only after room was made for it: so does the implementation that
 * this one follows, and the blocks that go for nothing are part of its numbers. */
static void s3_on_miss(void *self, const struct policy_view *view, block_id b)
{
    struct s3 *s3 = self;
    uint64_t bytes = part_bytes(view, s3->equal_bytes, b);
    s3->returning = BLOCK_NONE;
    s3->room_bytes = 0;
    if (s3_queue(s3, b) == S3_GHOSTS) {
        s3->returning = b;
        s3_forget(s3, view, b);
    } else if (bytes == s3->limit_bytes[S3_SMALL]) {
        s3->room_bytes = bytes;
    }
}

static bool s3_admit(void *self, const struct policy_view *view, block_id b)
{
    const struct s3 *s3 = self;
    uint64_t bytes = part_bytes(view, s3->equal_bytes, b), limit = s3->limit_bytes[S3_SMALL];
    return bytes < limit || (bytes == limit && s3->returning == b);
}

/* The oldest of the small queue that may go; used ones that stand before it move to the main queue. */
static block_id s3_small_victim(struct s3 *s3, const struct policy_view *view)
{
    struct ring *ring = &s3->rings[0];
    block_id *slots = s3_slots(s3, view, S3_SMALL);
    for (uint32_t at = ring->oldest; at != ring->end; at++) {
        block_id b = *ring_at(ring, slots, at);
        if (s3->tags[b] / S3_USE >= s3->threshold) {
            ring_take(ring, slots, at);
            s3->bytes[S3_SMALL] -= part_bytes(view, s3->equal_bytes, b);
            s3_enter(s3, view, S3_MAIN, b);
        } else if (policy_may_evict(view, b)) {
            return b;
        }
    }
    return BLOCK_NONE;
}

/* The oldest of the main queue that may go and has no round left; those before it that may go lose one and move to the
 * head, where they come by again. */
static block_id s3_main_victim(struct s3 *s3, const struct policy_view *view)
{
    struct ring *ring = &s3->rings[1];
    block_id *slots = s3_slots(s3, view, S3_MAIN);
    for (uint32_t at = ring->oldest; at != ring->end; at++) {
        block_id b = *ring_at(ring, slots, at);
        unsigned uses = s3->tags[b] / S3_USE;
        if (!policy_may_evict(view, b))
            continue;
        if (uses == 0)
            return b;
        uses = uses < S3_ROUNDS_MAX ? uses : S3_ROUNDS_MAX;
        s3->tags[b] = (uint8_t)(S3_MAIN + (uses - 1) * S3_USE);
        ring_take(ring, slots, at);
        ring_push(ring, slots, b);
    }
    return BLOCK_NONE;
}

static block_id s3_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct s3 *s3 = self;
    block_id victim = BLOCK_NONE;
    if (s3->bytes[S3_MAIN] > s3->limit_bytes[S3_MAIN])
        victim = s3_main_victim(s3, view);
    if (victim == BLOCK_NONE)
        victim = s3_small_victim(s3, view);
    return victim != BLOCK_NONE ? victim : s3_main_victim(s3, view);
}

static block_id s3_release(void *self, const struct policy_view *view)
{
    struct s3 *s3 = self;
    if (s3->room_bytes == 0)
        return BLOCK_NONE;
    block_id victim = BLOCK_NONE;
    if (view->held_bytes > view->budget_bytes - s3->room_bytes)
        victim = s3_victim(self, view, BLOCK_NONE);
    if (victim == BLOCK_NONE)
        s3->room_bytes = 0;
    return victim;
}

static void s3_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct s3 *s3 = self;
    bool returns = s3->returning == b && !(view->state[b] & POLICY_PREFETCHED);
    if (s3_queue(s3, b) == S3_GHOSTS)
        s3_forget(s3, view, b);
    s3->returning = BLOCK_NONE;
    s3_enter(s3, view, returns ? S3_MAIN : S3_SMALL, b);
}

static void s3_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    struct s3 *s3 = self;
    uint32_t queue = s3_queue(s3, b);
    ring_remove(&s3->rings[queue - S3_SMALL], s3_slots(s3, view, queue), b);
    s3->bytes[queue] -= part_bytes(view, s3->equal_bytes, b);
    s3->tags[b] = S3_NONE;
    if (queue == S3_SMALL && reason != REMOVE_CANCELLED)
        s3_remember(s3, view, b);
}

static void s3_remark(const void *self, const struct policy_view *view, char *line, size_t size)
{
    const struct s3 *s3 = self;
    uint64_t limit = s3->limit_bytes[S3_SMALL];
    part_remark_of(view, limit > 0 ? limit - 1 : 0, "not smaller than the small queue", limit, "it is never kept",
                   "they are never kept", line, size);
}

static const struct policy_param s3_params[] = {
    {"small", POLICY_PPM, 0, 1000000, 100000, "the small queue's share of the budget"},
    {"ghost", POLICY_PPM, 0, 1000000, 900000, "how much of what left the small queue is remembered"},
    {"threshold", POLICY_COUNT, 1, S3_USES_MAX, 2, "uses in the small queue that lead to the main queue"},
};

const struct policy policy_s3_fifo = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "s3-fifo",
    .summary = "newcomers pass a small queue; used ones come into the main queue, with up to 3 more rounds",
    .param_count = sizeof s3_params / sizeof *s3_params,
    .params = s3_params,
    .state_size = s3_state_size,
    .init = s3_init,
    .ops.evict =
        {
            .on_hit = s3_on_hit,
            .on_miss = s3_on_miss,
            .victim = s3_victim,
            .on_insert = s3_on_insert,
            .on_remove = s3_on_remove,
            .admit = s3_admit,
            .release = s3_release,
            .remark = s3_remark,
        },
};
