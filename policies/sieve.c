/* SIEVE: a queue in the order of arrival, and a hand that goes from old to new, spares blocks used since it came by,
 * and evicts the first other one. Spared blocks stay where they are, so that new blocks are sifted soon (Zhang, Yang,
 * Yue, Vigfusson, Rashmi, "SIEVE is simpler than LRU", NSDI 2024). */
#include "policies/queues.h"

/* `hand` is an entry of the links (see queues.h); SIEVE_QUEUE, the head, stands for "begin at the oldest". */
enum { SIEVE_QUEUE = 0 };

struct sieve {
    uint32_t hand;
    uint32_t reserved; /* links want 8 bytes */
    uint8_t visited[]; /* one a block; the links follow */
};

static size_t sieve_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct sieve) + queue_tags_size(view->block_count) + queue_links_size(view->block_count);
}

static void sieve_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    struct sieve *sieve = self;
    sieve->hand = SIEVE_QUEUE;
    queue_init(queue_links(sieve->visited, view->block_count));
}

static void sieve_on_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct sieve *sieve = self;
    sieve->visited[b] = 1;
}

/* A block that may not go now is passed over and keeps its mark. Where something may go, it is found before the hand
 * has come by the head for the third time: once on the way, a round that clears, a round that finds. */
static block_id sieve_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct sieve *sieve = self;
    const struct list_node *links = queue_links(sieve->visited, view->block_count);
    uint32_t at = sieve->hand;
    for (int heads = 0; heads < 3;) {
        if (at == SIEVE_QUEUE) {
            heads++;
            at = links[SIEVE_QUEUE].prev;
            continue;
        }
        block_id b = queue_block(at);
        if (policy_may_evict(view, b)) {
            if (!sieve->visited[b]) {
                sieve->hand = at;
                return b;
            }
            sieve->visited[b] = 0;
        }
        at = links[at].prev;
    }
    return BLOCK_NONE;
}

static void sieve_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct sieve *sieve = self;
    sieve->visited[b] = 0;
    queue_add(queue_links(sieve->visited, view->block_count), SIEVE_QUEUE, b);
}

static void sieve_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)reason;
    struct sieve *sieve = self;
    struct list_node *links = queue_links(sieve->visited, view->block_count);
    if (sieve->hand == queue_entry(b))
        sieve->hand = links[queue_entry(b)].prev;
    queue_remove(links, b);
}

const struct policy policy_sieve = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "sieve",
    .summary = "evict the first block that was not used since the hand came by",
    .state_size = sieve_state_size,
    .init = sieve_init,
    .ops.evict =
        {
            .on_hit = sieve_on_hit,
            .victim = sieve_victim,
            .on_insert = sieve_on_insert,
            .on_remove = sieve_on_remove,
        },
};
