/* An eviction policy: least recently used goes first. Change it into your own.
 *
 * policies/policy.h is the whole contract: the order of the calls is written there, and nothing else is needed.
 * A policy allocates nothing and keeps no static variables: all that it knows lives in the memory that it is given,
 * once for each run. Blocks have the ids 0 .. view->block_count - 1, so an array does where others need a hash table.
 */
#include "policies/policy.h"

/* A queue of blocks, from the newest to the oldest use, as a ring: node 0 stands between its ends, block b is node
 * b + 1. */
struct node {
    uint32_t newer, older;
};

struct state {
    uint64_t hits;      /* an example of a variable: what you count or remember goes here */
    struct node ring[]; /* block_count + 1 nodes */
};

static void link_newest(struct node *ring, uint32_t node)
{
    uint32_t newest = ring[0].older;
    ring[node] = (struct node){.newer = 0, .older = newest};
    ring[newest].newer = node;
    ring[0].older = node;
}

static void unlink_node(struct node *ring, uint32_t node)
{
    ring[ring[node].newer].older = ring[node].older;
    ring[ring[node].older].newer = ring[node].newer;
}

/* How much memory this run's state takes. It comes zeroed: an empty ring is one whose node 0 points to itself. */
static size_t state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct state) + ((size_t)view->block_count + 1) * sizeof(struct node);
}

/* Called once, before the first step. Copy from `args` what you need later: args->values holds the parameters, in the
 * order of a table of struct policy_param that `policy` below would point to. */
static void init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)self, (void)view, (void)args;
}

/* A step uses a block that is there, or on its way. */
static void on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct state *state = self;
    state->hits++;
    unlink_node(state->ring, b + 1);
    link_newest(state->ring, b + 1);
}

/* A block comes in, for a step or by a prefetch (which is no use yet). It is held until on_remove(). */
static void on_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct state *state = self;
    link_newest(state->ring, b + 1);
}

/* Which block shall go to make room for `incoming` (BLOCK_NONE: at the end of a step)? Only one for which
 * policy_may_evict() holds: not one that is in use, in flight or pinned. BLOCK_NONE: there is none. */
static block_id victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    const struct state *state = self;
    for (uint32_t node = state->ring[0].newer; node != 0; node = state->ring[node].newer)
        if (policy_may_evict(view, node - 1))
            return node - 1;
    return BLOCK_NONE;
}

/* A block is gone: the one that victim() named, or a prefetch that was cancelled. */
static void on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    struct state *state = self;
    unlink_node(state->ring, b + 1);
}

/* The one symbol that is looked up. Functions that are left out are optional: on_miss, admit, release, remark. */
const struct policy policy = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "template",
    .summary = "evict the block whose last use lies furthest back",
    .state_size = state_size,
    .init = init,
    .ops.evict =
        {
            .on_hit = on_hit,
            .victim = victim,
            .on_insert = on_insert,
            .on_remove = on_remove,
        },
};
