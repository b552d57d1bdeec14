/* ARC: blocks seen once (T1) and blocks seen again (T2) share the room by a target that follows the ghosts: a miss on a
 * block lately evicted from one part says that this part should have been larger.
 *
 * Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, with sizes, after libCacheSim
 * (commit aa0fc40): room is made before the block comes in, a ghost is dropped when a miss finds it, and the target
 * moves by the ratio of the ghosts' bytes, at least 1. */
#include "policies/parts.h"
#include "policies/queues.h"

/* What a block is in: a queue, or none. A ghost's part is the number before its own. */
enum { ARC_NONE, ARC_T1, ARC_B1, ARC_T2, ARC_B2, ARC_PARTS };

struct arc {
    /* What T1 should take. Published as a real number and moved by quotients, so a double: each operation on it is one
     * of IEEE 754 with its rounding, and compilers may not fuse two (-ffp-contract=off). */
    double target;
    uint64_t capacity;
    uint64_t bytes[ARC_PARTS];
    block_id missed;          /* by the last on_miss, until it comes in */
    uint8_t missed_ghost;     /* the ghosts among which it was found, or ARC_NONE */
    block_id forgotten;       /* the victim that leaves no ghost */
    struct list_node links[]; /* and a byte for each block behind them: its part */
};

static inline uint8_t *arc_parts(struct arc *arc, const struct policy_view *view)
{
    return (uint8_t *)(arc->links + QUEUE_HEADS + view->block_count);
}

static size_t arc_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct arc) + queue_links_size(view->block_count) + view->block_count;
}

static void arc_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    struct arc *arc = self;
    arc->capacity = part_whole(view);
    arc->missed = arc->forgotten = BLOCK_NONE;
    queue_init(arc->links);
}

static inline void arc_enter(struct arc *arc, const struct policy_view *view, block_id b, uint8_t part)
{
    queue_add(arc->links, part, b);
    arc->bytes[part] += view->blocks[b].bytes;
    arc_parts(arc, view)[b] = part;
}

static inline void arc_leave(struct arc *arc, const struct policy_view *view, block_id b)
{
    uint8_t *part = &arc_parts(arc, view)[b];
    queue_remove(arc->links, b);
    arc->bytes[*part] -= view->blocks[b].bytes;
    *part = ARC_NONE;
}

static void arc_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct arc *arc = self;
    if (arc_parts(arc, view)[b] == ARC_T2) {
        queue_move(arc->links, ARC_T2, b);
        return;
    }
    arc_leave(arc, view, b);
    arc_enter(arc, view, b, ARC_T2);
}

/* How far a ghost hit moves the target: |other| / |own|, at least 1. */
static inline double arc_shift(uint64_t other, uint64_t own)
{
    return other > own ? (double)other / (double)own : 1.0;
}

static void arc_on_miss(void *self, const struct policy_view *view, block_id b)
{
    struct arc *arc = self;
    uint8_t ghost = arc_parts(arc, view)[b];
    arc->missed = b;
    arc->missed_ghost = ghost;
    if (ghost == ARC_NONE)
        return;
    if (ghost == ARC_B1) {
        double most = (double)arc->capacity, target = arc->target + arc_shift(arc->bytes[ARC_B2], arc->bytes[ARC_B1]);
        arc->target = target < most ? target : most;
    } else {
        double target = arc->target - arc_shift(arc->bytes[ARC_B1], arc->bytes[ARC_B2]);
        arc->target = target > 0.0 ? target : 0.0;
    }
    arc_leave(arc, view, b);
}

/* The paper's REPLACE, which of the two parts gives; the other one when nothing of that may go. */
static block_id arc_replace(const struct arc *arc, const struct policy_view *view, bool found_in_b2)
{
    double t1 = (double)arc->bytes[ARC_T1];
    bool from_t1 = (t1 > 0.0 && (t1 > arc->target || (found_in_b2 && t1 == arc->target))) || arc->bytes[ARC_T2] == 0;
    block_id b = queue_oldest(arc->links, from_t1 ? ARC_T1 : ARC_T2, view);
    return b != BLOCK_NONE ? b : queue_oldest(arc->links, from_t1 ? ARC_T2 : ARC_T1, view);
}

static block_id arc_victim(void *self, const struct policy_view *view, block_id incoming)
{
    struct arc *arc = self;
    if (incoming == arc->missed && arc->missed_ghost != ARC_NONE)
        return arc_replace(arc, view, arc->missed_ghost == ARC_B2);

    uint64_t size = incoming == BLOCK_NONE ? 0 : view->blocks[incoming].bytes;
    uint64_t seen_once = arc->bytes[ARC_T1] + arc->bytes[ARC_B1];
    uint64_t seen_again = arc->bytes[ARC_T2] + arc->bytes[ARC_B2];
    block_id ghost = BLOCK_NONE, b;
    if (seen_once + size > arc->capacity) {
        ghost = queue_tail(arc->links, ARC_B1);
        if (ghost == BLOCK_NONE && (b = queue_oldest(arc->links, ARC_T1, view)) != BLOCK_NONE)
            return arc->forgotten = b;
    } else if (seen_once + seen_again >= 2 * arc->capacity) {
        ghost = queue_tail(arc->links, ARC_B2);
    }
    b = arc_replace(arc, view, false);
    if (b != BLOCK_NONE && ghost != BLOCK_NONE)
        arc_leave(arc, view, ghost);
    return b;
}

static void arc_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct arc *arc = self;
    bool again = arc->missed == b && arc->missed_ghost != ARC_NONE && !(view->state[b] & POLICY_PREFETCHED);
    if (arc_parts(arc, view)[b] != ARC_NONE) /* a fill: its ghost goes */
        arc_leave(arc, view, b);
    arc_enter(arc, view, b, again ? ARC_T2 : ARC_T1);
    arc->missed = BLOCK_NONE;
}

static void arc_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    struct arc *arc = self;
    uint8_t part = arc_parts(arc, view)[b];
    arc_leave(arc, view, b);
    if (reason != REMOVE_CANCELLED && arc->forgotten != b)
        arc_enter(arc, view, b, part == ARC_T1 ? ARC_B1 : ARC_B2);
    arc->forgotten = BLOCK_NONE;
}

const struct policy policy_arc = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "arc",
    .summary = "blocks seen once and seen again share the room, by a target that learns from evicted ones",
    .state_size = arc_state_size,
    .init = arc_init,
    .ops.evict =
        {
            .on_hit = arc_on_hit,
            .on_miss = arc_on_miss,
            .victim = arc_victim,
            .on_insert = arc_on_insert,
            .on_remove = arc_on_remove,
        },
};
