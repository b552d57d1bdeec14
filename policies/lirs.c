/* LIRS: blocks whose last two uses lie close together (LIR) hold nearly all of the room, all others (HIR) a small part.
 *
 * Jiang and Zhang, "LIRS: an efficient low inter-reference recency set replacement policy to improve buffer cache
 * performance", SIGMETRICS 2002, as libCacheSim has it (commit aa0fc40), with its limits in bytes. The stack S orders
 * blocks by their last use, evicted ones among them; its bottom is an LIR. The queue Q holds the HIRs that are there.
 *
 * A hit on an HIR that is in Q alone demotes an LIR, and where Q has room for one block only, that throws the block
 * just hit out of Q: nothing counts it then, yet it is there for a later hit. Such blocks stay as long as there is
 * room. */
#include "policies/parts.h"
#include "policies/queues.h"

/* What a block is, as bits. */
enum {
    LIRS_STACKED = 1, /* in S; the bits that follow tell of what kind, at most one of them */
    LIRS_LIR = 2,
    LIRS_QUEUED = 4,     /* in Q, be it in S or not */
    LIRS_GHOST = 8,      /* in S, evicted */
    LIRS_UNCOUNTED = 16, /* in S, there, but in no part's limit */
    LIRS_DROPPED = 32,   /* given up and not taken yet; a ghost in S, or not in S */
};

enum { LIRS_STACK };                    /* the one queue of `stack` */
enum { LIRS_Q, LIRS_GHOSTS, LIRS_ODD }; /* those of `links`: Q, the ghosts and the uncounted blocks of S */

struct lirs {
    uint64_t capacity, lir_limit, hir_limit;
    uint64_t lir_bytes, q_bytes, stack_bytes;
    uint8_t *kinds;
    struct list_node *stack, *links;
    block_id *dropped;
    uint32_t dropped_count;
    block_id missed; /* by the last on_miss, until it comes in */
};

static size_t lirs_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    size_t n = view->block_count;
    return sizeof(struct lirs) + 2 * queue_links_size((uint32_t)n) + n * (sizeof(block_id) + sizeof(uint8_t));
}

static void lirs_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct lirs *lirs = self;
    size_t n = view->block_count;
    lirs->stack = (void *)(lirs + 1);
    lirs->links = lirs->stack + QUEUE_HEADS + n;
    lirs->dropped = (void *)(lirs->links + QUEUE_HEADS + n);
    lirs->kinds = (void *)(lirs->dropped + n);
    queue_init(lirs->stack);
    queue_init(lirs->links);
    lirs->missed = BLOCK_NONE;
    lirs->capacity = part_whole(view);
    uint64_t share = part_share(lirs->capacity, args->values[0]);
    lirs->hir_limit = share > 1 ? share : 1;
    lirs->lir_limit = lirs->capacity > lirs->hir_limit ? lirs->capacity - lirs->hir_limit : 0;
}

static inline void lirs_push(struct lirs *lirs, const struct policy_view *view, block_id b)
{
    queue_add(lirs->stack, LIRS_STACK, b);
    lirs->kinds[b] |= LIRS_STACKED;
    lirs->stack_bytes += view->blocks[b].bytes;
}

static inline void lirs_unstack(struct lirs *lirs, const struct policy_view *view, block_id b)
{
    queue_remove(lirs->stack, b);
    lirs->kinds[b] &= (uint8_t)~LIRS_STACKED;
    lirs->stack_bytes -= view->blocks[b].bytes;
}

/* Into one of the queues of `links`, and out of it. */
static inline void lirs_link(struct lirs *lirs, uint32_t queue, block_id b, unsigned kind)
{
    queue_add(lirs->links, queue, b);
    lirs->kinds[b] = (uint8_t)(lirs->kinds[b] | kind);
}

static inline void lirs_unlink(struct lirs *lirs, block_id b, unsigned kind)
{
    queue_remove(lirs->links, b);
    lirs->kinds[b] = (uint8_t)(lirs->kinds[b] & ~kind);
}

static inline void lirs_enqueue(struct lirs *lirs, const struct policy_view *view, block_id b)
{
    lirs_link(lirs, LIRS_Q, b, LIRS_QUEUED);
    lirs->q_bytes += view->blocks[b].bytes;
}

static inline void lirs_dequeue(struct lirs *lirs, const struct policy_view *view, block_id b)
{
    lirs_unlink(lirs, b, LIRS_QUEUED);
    lirs->q_bytes -= view->blocks[b].bytes;
}

static inline void lirs_drop(struct lirs *lirs, block_id b)
{
    lirs->kinds[b] |= LIRS_DROPPED;
    lirs->dropped[lirs->dropped_count++] = b;
}

static void lirs_undrop(struct lirs *lirs, block_id b)
{
    uint32_t at = lirs->dropped_count - 1;
    while (lirs->dropped[at] != b)
        at--;
    lirs->dropped[at] = lirs->dropped[--lirs->dropped_count];
    lirs->kinds[b] &= (uint8_t)~LIRS_DROPPED;
}

/* Takes from the bottom of S what is no LIR, but never the last entry. */
static void lirs_prune(struct lirs *lirs, const struct policy_view *view)
{
    for (;;) {
        block_id b = queue_tail(lirs->stack, LIRS_STACK);
        if (b == BLOCK_NONE || lirs->kinds[b] & LIRS_LIR || lirs->stack[LIRS_STACK].next == queue_entry(b))
            return;
        lirs_unstack(lirs, view, b);
        if (lirs->kinds[b] & LIRS_GHOST)
            lirs_unlink(lirs, b, LIRS_GHOST);
        if (lirs->kinds[b] & LIRS_UNCOUNTED) {
            lirs_unlink(lirs, b, LIRS_UNCOUNTED);
            lirs_drop(lirs, b);
        }
    }
}

/* Out of Q for want of room there; `spared` is the block just hit, which is not given up. */
static void lirs_evict_hir(struct lirs *lirs, const struct policy_view *view, block_id spared)
{
    block_id b = queue_tail(lirs->links, LIRS_Q);
    lirs_dequeue(lirs, view, b);
    if (lirs->kinds[b] & LIRS_STACKED)
        lirs_link(lirs, LIRS_GHOSTS, b, LIRS_GHOST);
    if (b != spared)
        lirs_drop(lirs, b);
}

/* Until `bytes` more fit Q. */
static inline void lirs_room_in_q(struct lirs *lirs, const struct policy_view *view, uint64_t bytes, block_id spared)
{
    while (lirs->q_bytes > 0 && lirs->q_bytes + bytes > lirs->hir_limit)
        lirs_evict_hir(lirs, view, spared);
}

/* Demotes LIRs from the bottom of S until b fits among them. An HIR can be at the bottom only where it was the last
 * entry before, with room for hardly any LIR. */
static void lirs_room_for_lir(struct lirs *lirs, const struct policy_view *view, block_id b)
{
    while (lirs->lir_bytes > 0 && lirs->lir_bytes + view->blocks[b].bytes > lirs->lir_limit) {
        lirs_prune(lirs, view);
        block_id demoted = queue_tail(lirs->stack, LIRS_STACK);
        uint64_t bytes = view->blocks[demoted].bytes;
        lirs_unstack(lirs, view, demoted);
        lirs->kinds[demoted] = 0;
        lirs->lir_bytes -= bytes;
        lirs_room_in_q(lirs, view, bytes, b);
        lirs_enqueue(lirs, view, demoted);
        lirs_prune(lirs, view);
    }
}

static inline void lirs_make_lir(struct lirs *lirs, const struct policy_view *view, block_id b)
{
    lirs->kinds[b] |= LIRS_LIR;
    lirs->lir_bytes += view->blocks[b].bytes;
}

/* Forgets ghosts, oldest first, while S is larger than twice the capacity. */
static inline void lirs_limit_stack(struct lirs *lirs, const struct policy_view *view)
{
    while (lirs->stack_bytes > 2 * lirs->capacity) {
        block_id ghost = queue_tail(lirs->links, LIRS_GHOSTS);
        if (ghost == BLOCK_NONE)
            return;
        lirs_unlink(lirs, ghost, LIRS_GHOST);
        lirs_unstack(lirs, view, ghost);
    }
}

/* Room in its part for a block that comes in: among the LIRs when S remembers it. */
static void lirs_room(struct lirs *lirs, const struct policy_view *view, block_id b, bool remembered)
{
    uint64_t bytes = view->blocks[b].bytes;
    if (remembered)
        lirs_room_for_lir(lirs, view, b);
    else if (lirs->lir_bytes + bytes > lirs->lir_limit)
        lirs_room_in_q(lirs, view, bytes, BLOCK_NONE);
}

/* A block that is in no part yet enters one; a ghost is on top of S. */
static void lirs_enter(struct lirs *lirs, const struct policy_view *view, block_id b)
{
    bool remembered = lirs->kinds[b] & LIRS_GHOST;
    lirs_room(lirs, view, b, remembered);
    if (remembered)
        lirs_unlink(lirs, b, LIRS_GHOST);
    else
        lirs_push(lirs, view, b);
    if (remembered || lirs->lir_bytes + view->blocks[b].bytes <= lirs->lir_limit)
        lirs_make_lir(lirs, view, b);
    else
        lirs_enqueue(lirs, view, b);
    lirs_limit_stack(lirs, view);
}

/* A hit on a block that is not an LIR. */
static void lirs_hit_hir(struct lirs *lirs, const struct policy_view *view, block_id b)
{
    uint8_t kind = lirs->kinds[b];
    if (kind & LIRS_STACKED)
        queue_move(lirs->stack, LIRS_STACK, b);
    if (kind & LIRS_DROPPED) { /* it could not go yet: as a miss */
        lirs_undrop(lirs, b);
        lirs_enter(lirs, view, b);
    } else if (kind & LIRS_STACKED) {
        if (kind & LIRS_QUEUED)
            lirs_dequeue(lirs, view, b);
        else
            lirs_unlink(lirs, b, LIRS_UNCOUNTED);
        lirs_room_for_lir(lirs, view, b);
        lirs_make_lir(lirs, view, b);
    } else {
        queue_move(lirs->links, LIRS_Q, b);
        lirs_room_for_lir(lirs, view, b);
        lirs_push(lirs, view, b);
        if (!(lirs->kinds[b] & LIRS_QUEUED))
            lirs_link(lirs, LIRS_ODD, b, LIRS_UNCOUNTED);
    }
    lirs_limit_stack(lirs, view);
}

static void lirs_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct lirs *lirs = self;
    if (lirs->kinds[b] & LIRS_LIR) {
        queue_move(lirs->stack, LIRS_STACK, b);
        lirs_prune(lirs, view);
    } else {
        lirs_hit_hir(lirs, view, b);
    }
}

static void lirs_on_miss(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct lirs *lirs = self;
    lirs->missed = b;
    if (lirs->kinds[b] & LIRS_GHOST)
        queue_move(lirs->stack, LIRS_STACK, b);
}

static bool lirs_admit(void *self, const struct policy_view *view, block_id b)
{
    struct lirs *lirs = self;
    uint64_t bytes = view->blocks[b].bytes;
    if (bytes > lirs->hir_limit || bytes > lirs->lir_limit)
        return false;
    lirs_room(lirs, view, b, lirs->missed == b && lirs->kinds[b] & LIRS_GHOST);
    return true;
}

static block_id lirs_release(void *self, const struct policy_view *view)
{
    const struct lirs *lirs = self;
    for (uint32_t i = lirs->dropped_count; i-- > 0;)
        if (policy_may_evict(view, lirs->dropped[i]))
            return lirs->dropped[i];
    return BLOCK_NONE;
}

/* What is given up, then what nothing counts; then, when blocks in use or in flight stand in the way, what may go of
 * the parts. Where the budget may be exceeded uncounted blocks stay, as the published numbers have them. */
static block_id lirs_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct lirs *lirs = self;
    block_id b = lirs_release(lirs, view);
    if (b != BLOCK_NONE || view->may_exceed)
        return b;
    if ((b = queue_oldest(lirs->links, LIRS_ODD, view)) != BLOCK_NONE)
        return b;
    if ((b = queue_oldest(lirs->links, LIRS_Q, view)) != BLOCK_NONE)
        return b;
    return queue_oldest(lirs->stack, LIRS_STACK, view);
}

static void lirs_forget(struct lirs *lirs, const struct policy_view *view, block_id b)
{
    lirs_unlink(lirs, b, LIRS_GHOST);
    lirs_unstack(lirs, view, b);
    lirs_prune(lirs, view);
}

static void lirs_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct lirs *lirs = self;
    bool fill = lirs->missed != b || (view->state[b] & POLICY_PREFETCHED);
    lirs->missed = BLOCK_NONE;
    if (fill && lirs->kinds[b] & LIRS_GHOST)
        lirs_forget(lirs, view, b);
    lirs_enter(lirs, view, b);
}

static void lirs_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    struct lirs *lirs = self;
    uint8_t kind = lirs->kinds[b];
    if (kind & LIRS_DROPPED) {
        lirs_undrop(lirs, b);
    } else if (kind & LIRS_UNCOUNTED) {
        lirs_unlink(lirs, b, LIRS_UNCOUNTED);
        lirs_link(lirs, LIRS_GHOSTS, b, LIRS_GHOST);
    } else if (kind & LIRS_LIR) {
        lirs_unstack(lirs, view, b);
        lirs->lir_bytes -= view->blocks[b].bytes;
        lirs->kinds[b] = 0;
        lirs_prune(lirs, view);
    } else {
        lirs_dequeue(lirs, view, b);
        if (kind & LIRS_STACKED)
            lirs_link(lirs, LIRS_GHOSTS, b, LIRS_GHOST);
    }
    if (reason == REMOVE_CANCELLED && lirs->kinds[b] & LIRS_GHOST)
        lirs_forget(lirs, view, b);
}

static void lirs_remark(const void *self, const struct policy_view *view, char *line, size_t size)
{
    const struct lirs *lirs = self;
    bool hir = lirs->hir_limit < lirs->lir_limit;
    part_remark(view, hir ? "the HIR share" : "the LIR share", hir ? lirs->hir_limit : lirs->lir_limit,
                "it is never kept", "they are never kept", line, size);
}

static const struct policy_param lirs_params[] = {
    {"hir", POLICY_PPM, 1, 999999, 10000, "the share of the budget for blocks that are not LIR"},
};

const struct policy policy_lirs = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "lirs",
    .summary = "keep blocks whose last two uses lie close together; others share a small part",
    .needs = POLICY_MAY_EXCEED,
    .param_count = sizeof lirs_params / sizeof *lirs_params,
    .params = lirs_params,
    .state_size = lirs_state_size,
    .init = lirs_init,
    .ops.evict =
        {
            .on_hit = lirs_on_hit,
            .on_miss = lirs_on_miss,
            .victim = lirs_victim,
            .on_insert = lirs_on_insert,
            .on_remove = lirs_on_remove,
            .admit = lirs_admit,
            .release = lirs_release,
            .remark = lirs_remark,
        },
};
