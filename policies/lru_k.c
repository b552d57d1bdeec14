/* LRU-K: the block whose K-th most recent reference lies furthest back goes first, so that a single use, as in a scan,
 * does not displace blocks that are used again and again.
 *
 * O'Neil, O'Neil and Weikum, "The LRU-K page replacement algorithm for database disk buffering", SIGMOD 1993;
 * correlated reference period 0, LRU among blocks with fewer than K references, whose K-distance is infinite. The
 * references of evicted blocks are retained, up to a number of blocks. */
#include "policies/heap.h"
#include "policies/queues.h"

enum { LRU_K_MAX = 4 };
enum { LRU_K_YOUNG, LRU_K_HISTORY }; /* queues: held with fewer than K references; evicted, references retained */

struct lru_k {
    uint64_t now;    /* ticks with each use and each fill */
    uint64_t *times; /* K a block: its references, newest first */
    uint8_t *counts; /* of a block: its references, at most K; 0 when nothing is known of it, or it is an unused fill */
    struct list_node *links;
    struct heap heap; /* held with K references */
    uint32_t k;
    uint32_t history_max, history_count;
    block_id missed; /* by the last on_miss, until it comes in */
};

static size_t lru_k_state_size(const struct policy_view *view, const struct policy_args *args)
{
    size_t n = view->block_count, k = (size_t)args->values[0];
    return sizeof(struct lru_k) + n * (k * sizeof(uint64_t) + sizeof(struct heap_entry)) +
           queue_links_size((uint32_t)n) + n * (sizeof(uint32_t) + sizeof(uint8_t));
}

/* The arrays follow the structure, those of the widest elements first. */
static void lru_k_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct lru_k *lru = self;
    size_t n = view->block_count;
    lru->k = (uint32_t)args->values[0];
    lru->history_max = (uint32_t)args->values[1];
    lru->missed = BLOCK_NONE;
    lru->times = (void *)(lru + 1);
    lru->heap.entries = (void *)(lru->times + n * lru->k);
    lru->links = (void *)(lru->heap.entries + n);
    lru->heap.places = (void *)(lru->links + QUEUE_HEADS + n);
    lru->counts = (void *)(lru->heap.places + n);
    queue_init(lru->links);
}

static struct heap_key lru_k_key(const void *self, block_id b)
{
    const struct lru_k *lru = self;
    return (struct heap_key){.key = lru->times[(size_t)b * lru->k + lru->k - 1]};
}

/* A reference now, to a block that is in no queue unless it has K references. Returns whether it has K now. */
static inline bool lru_k_refer(struct lru_k *lru, block_id b)
{
    uint64_t *times = lru->times + (size_t)b * lru->k;
    for (uint32_t i = lru->k - 1; i > 0; i--)
        times[i] = times[i - 1];
    times[0] = lru->now;
    if (lru->counts[b] < lru->k)
        lru->counts[b]++;
    return lru->counts[b] == lru->k;
}

static void lru_k_on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct lru_k *lru = self;
    bool old = lru->counts[b] == lru->k;
    lru->now++;
    if (!old)
        queue_remove(lru->links, b);
    if (!lru_k_refer(lru, b))
        queue_add(lru->links, LRU_K_YOUNG, b);
    else if (!old)
        heap_add(&lru->heap, b, lru_k_key(lru, b));
}

static void lru_k_on_miss(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct lru_k *lru = self;
    lru->missed = b;
}

static block_id lru_k_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct lru_k *lru = self;
    block_id b = queue_oldest(lru->links, LRU_K_YOUNG, view);
    return b != BLOCK_NONE ? b : heap_least(&lru->heap, view, lru, lru_k_key);
}

static void lru_k_forget(struct lru_k *lru, block_id b)
{
    queue_remove(lru->links, b);
    lru->history_count--;
    lru->counts[b] = 0;
}

static void lru_k_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct lru_k *lru = self;
    bool fill = lru->missed != b || (view->state[b] & POLICY_PREFETCHED);
    uint8_t known = lru->counts[b];
    lru->missed = BLOCK_NONE;
    lru->now++;
    if (known > 0)
        lru_k_forget(lru, b);
    if (!fill)
        lru->counts[b] = known;
    if (!fill && lru_k_refer(lru, b))
        heap_add(&lru->heap, b, lru_k_key(lru, b));
    else
        queue_add(lru->links, LRU_K_YOUNG, b);
}

static void lru_k_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view;
    struct lru_k *lru = self;
    if (lru->counts[b] == lru->k)
        heap_remove(&lru->heap, b);
    else
        queue_remove(lru->links, b);
    if (reason == REMOVE_CANCELLED || lru->history_max == 0)
        lru->counts[b] = 0;
    if (lru->counts[b] == 0)
        return;
    queue_add(lru->links, LRU_K_HISTORY, b);
    if (++lru->history_count > lru->history_max)
        lru_k_forget(lru, queue_tail(lru->links, LRU_K_HISTORY));
}

static const struct policy_param lru_k_params[] = {
    {"k", POLICY_COUNT, 1, LRU_K_MAX, 2, "which reference decides, counted back from the last"},
    {"history", POLICY_COUNT, 0, UINT32_MAX, UINT32_MAX, "of how many evicted blocks the references are retained"},
};

const struct policy policy_lru_k = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "lru-k",
    .summary = "evict the block whose K-th most recent use lies furthest back",
    .param_count = sizeof lru_k_params / sizeof *lru_k_params,
    .params = lru_k_params,
    .state_size = lru_k_state_size,
    .init = lru_k_init,
    .ops.evict =
        {
            .on_hit = lru_k_on_hit,
            .on_miss = lru_k_on_miss,
            .victim = lru_k_victim,
            .on_insert = lru_k_on_insert,
            .on_remove = lru_k_on_remove,
        },
};
