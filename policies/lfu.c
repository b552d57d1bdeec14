/* Least frequently used: the block with the fewest uses since it came in goes first; among equals the one that reached
 * its count first, which is the least recently used of them. Counts are kept only while a block is held.
 *
 * All operations are O(1): blocks stand in one list in the order in which they go, and the blocks of one count, which
 * are neighbours there, share a bucket that knows the last of them (after Shah, Mitra, Matani, "An O(1) algorithm for
 * implementing the LFU cache eviction scheme", 2010, with one list in place of a list of lists). */
#include "policies/policy.h"

/* Entry 0 is the list's own: its next is the first block to go. Block b is entry b + 1. */
struct lfu_entry {
    uint32_t prev, next, bucket;
};

struct lfu_bucket {
    uint32_t count; /* of each of its blocks; compared modulo 2^32 */
    uint32_t last;  /* entry of the last of its blocks; of a free bucket: the next free one */
};

struct lfu {
    uint32_t free_bucket;
    struct lfu_entry entries[]; /* the buckets follow: one for each block is enough */
};

static struct lfu_bucket *lfu_buckets(struct lfu *lfu, const struct policy_view *view)
{
    return (void *)(lfu->entries + view->block_count + 1);
}

static size_t lfu_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    size_t n = view->block_count;
    return sizeof(struct lfu) + (n + 1) * sizeof(struct lfu_entry) + n * sizeof(struct lfu_bucket);
}

static void lfu_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    struct lfu *lfu = self;
    struct lfu_bucket *buckets = lfu_buckets(lfu, view);
    lfu->entries[0] = (struct lfu_entry){0, 0, UINT32_MAX};
    for (uint32_t k = 0; k < view->block_count; k++)
        buckets[k].last = k + 1;
}

/* Entry e comes to stand behind entry `after`, as the last of `bucket`, or of a new one for UINT32_MAX. */
static void lfu_attach(struct lfu *lfu, struct lfu_bucket *buckets, uint32_t e, uint32_t after, uint32_t bucket,
                       uint32_t count)
{
    if (bucket == UINT32_MAX) {
        bucket = lfu->free_bucket;
        lfu->free_bucket = buckets[bucket].last;
        buckets[bucket].count = count;
    }
    uint32_t next = lfu->entries[after].next;
    lfu->entries[e] = (struct lfu_entry){after, next, bucket};
    lfu->entries[after].next = e;
    lfu->entries[next].prev = e;
    buckets[bucket].last = e;
}

static void lfu_detach(struct lfu *lfu, struct lfu_bucket *buckets, uint32_t e)
{
    struct lfu_entry entry = lfu->entries[e];
    lfu->entries[entry.prev].next = entry.next;
    lfu->entries[entry.next].prev = entry.prev;
    if (buckets[entry.bucket].last != e)
        return;
    if (lfu->entries[entry.prev].bucket == entry.bucket) {
        buckets[entry.bucket].last = entry.prev;
    } else {
        buckets[entry.bucket].last = lfu->free_bucket;
        lfu->free_bucket = entry.bucket;
    }
}

static void lfu_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct lfu *lfu = self;
    struct lfu_bucket *buckets = lfu_buckets(lfu, view);
    uint32_t e = b + 1, bucket = lfu->entries[e].bucket, last = buckets[bucket].last;
    uint32_t count = buckets[bucket].count + 1, next = lfu->entries[last].next;
    uint32_t joined =
        next != 0 && buckets[lfu->entries[next].bucket].count == count ? lfu->entries[next].bucket : UINT32_MAX;
    bool alone = last == e && lfu->entries[lfu->entries[e].prev].bucket != bucket;
    if (alone && joined == UINT32_MAX) {
        buckets[bucket].count = count;
        return;
    }
    uint32_t after = joined != UINT32_MAX ? buckets[joined].last : last;
    if (after == e)
        after = lfu->entries[e].prev;
    lfu_detach(lfu, buckets, e);
    lfu_attach(lfu, buckets, e, after, joined, count);
}

static block_id lfu_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    const struct lfu *lfu = self;
    for (uint32_t e = lfu->entries[0].next; e != 0; e = lfu->entries[e].next)
        if (policy_may_evict(view, e - 1))
            return e - 1;
    return BLOCK_NONE;
}

static void lfu_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct lfu *lfu = self;
    struct lfu_bucket *buckets = lfu_buckets(lfu, view);
    uint32_t first = lfu->entries[0].next, bucket = first != 0 ? lfu->entries[first].bucket : UINT32_MAX;
    if (bucket != UINT32_MAX && buckets[bucket].count == 1)
        lfu_attach(lfu, buckets, b + 1, buckets[bucket].last, bucket, 1);
    else
        lfu_attach(lfu, buckets, b + 1, 0, UINT32_MAX, 1);
}

static void lfu_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)reason;
    struct lfu *lfu = self;
    lfu_detach(lfu, lfu_buckets(lfu, view), b + 1);
}

const struct policy policy_lfu = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "lfu",
    .summary = "evict the block that was used least often since it came in",
    .state_size = lfu_state_size,
    .init = lfu_init,
    .ops.evict =
        {
            .on_hit = lfu_on_hit,
            .victim = lfu_victim,
            .on_insert = lfu_on_insert,
            .on_remove = lfu_on_remove,
        },
};
