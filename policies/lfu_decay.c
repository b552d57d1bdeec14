/* LFU with dynamic ageing: a block's key is its count of uses plus the age at its last use, and the age rises to the
 * key of what goes, so that old fame fades (Arlitt, Cherkasova, Dilley, Friedrich, Jin, "Evaluating content management
 * techniques for Web proxy caches", 1999: LFU-DA, K = C * F + L with C = 1, here with a bound on F).
 *
 * Keys of held blocks lie between the age and the age + DECAY_COUNT_MAX. So they are kept modulo DECAY_KEYS, each the
 * queue of its blocks, with a bit for each queue that is not empty. */
enum { DECAY_KEYS = 4096, DECAY_COUNT_MAX = DECAY_KEYS - 1, DECAY_WORDS = DECAY_KEYS / 64 };
#define QUEUE_HEADS ((unsigned)DECAY_KEYS)

#include "policies/queues.h"

struct decay_block {
    uint16_t count; /* uses, up to the bound */
    uint16_t key;   /* modulo DECAY_KEYS: its queue */
};

struct decay {
    uint64_t filled[DECAY_WORDS]; /* bit k % 64 of word k / 64: queue k has blocks */
    uint64_t words;               /* bit w: word w is not 0 */
    uint32_t age;                 /* modulo DECAY_KEYS */
    uint32_t bound;
    struct list_node links[]; /* of queues and blocks; then follow the struct decay_block of all blocks */
};

static struct decay_block *decay_blocks(struct decay *decay, const struct policy_view *view)
{
    return (void *)(decay->links + QUEUE_HEADS + view->block_count);
}

static size_t decay_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct decay) + queue_links_size(view->block_count) +
           (size_t)view->block_count * sizeof(struct decay_block);
}

static void decay_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    struct decay *decay = self;
    decay->bound = (uint32_t)args->values[0];
    queue_init(decay->links);
}

/* The block's key becomes that of its count now, and the block the newest of its queue. */
static void decay_enter(struct decay *decay, const struct policy_view *view, block_id b)
{
    struct decay_block *block = &decay_blocks(decay, view)[b];
    uint32_t key = (decay->age + block->count) % DECAY_KEYS;
    block->key = (uint16_t)key;
    queue_add(decay->links, key, b);
    decay->filled[key / 64] |= (uint64_t)1 << key % 64;
    decay->words |= (uint64_t)1 << key / 64;
}

static void decay_leave(struct decay *decay, const struct policy_view *view, block_id b)
{
    uint32_t key = decay_blocks(decay, view)[b].key;
    struct list_node *links = decay->links;
    queue_remove(links, b);
    if (links[key].next != key)
        return;
    decay->filled[key / 64] &= ~((uint64_t)1 << key % 64);
    if (decay->filled[key / 64] == 0)
        decay->words &= ~((uint64_t)1 << key / 64);
}

/* The first key from `from` on, around the end, that has blocks. There has to be one. */
static uint32_t decay_next_key(const struct decay *decay, uint32_t from)
{
    uint32_t word = from / 64;
    uint64_t here = decay->filled[word] & (UINT64_MAX << from % 64);
    if (here == 0) {
        uint64_t above = word + 1 < DECAY_WORDS ? decay->words & (UINT64_MAX << (word + 1)) : 0;
        word = (uint32_t)__builtin_ctzll(above != 0 ? above : decay->words);
        here = decay->filled[word];
    }
    return word * 64 + (uint32_t)__builtin_ctzll(here);
}

static void decay_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct decay *decay = self;
    struct decay_block *block = &decay_blocks(decay, view)[b];
    decay_leave(decay, view, b);
    if (block->count < decay->bound)
        block->count++;
    decay_enter(decay, view, b);
}

static block_id decay_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct decay *decay = self;
    if (decay->words == 0)
        return BLOCK_NONE;
    /* How far from the age a key lies; when that falls, the keys have come around. */
    uint32_t far = 0, key = decay_next_key(decay, decay->age), next = (key - decay->age) % DECAY_KEYS;
    block_id victim = BLOCK_NONE;
    for (bool first = true; victim == BLOCK_NONE && (first || next > far); first = false) {
        far = next;
        victim = queue_oldest(decay->links, key, view);
        key = decay_next_key(decay, (key + 1) % DECAY_KEYS);
        next = (key - decay->age) % DECAY_KEYS;
    }
    return victim;
}

static void decay_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct decay *decay = self;
    decay_blocks(decay, view)[b].count = 1;
    decay_enter(decay, view, b);
}

/* The age is the lowest key, which is the victim's own unless blocks were passed over that may not go now. */
static void decay_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    struct decay *decay = self;
    if (reason != REMOVE_CANCELLED)
        decay->age = decay_next_key(decay, decay->age);
    decay_leave(decay, view, b);
}

static const struct policy_param decay_params[] = {
    {"max", POLICY_COUNT, 1, DECAY_COUNT_MAX, DECAY_COUNT_MAX, "a count of uses above this counts as this"},
};

const struct policy policy_lfu_decay = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "lfu-decay",
    .summary = "LFU with dynamic ageing: blocks that are no longer used fade",
    .param_count = sizeof decay_params / sizeof *decay_params,
    .params = decay_params,
    .state_size = decay_state_size,
    .init = decay_init,
    .ops.evict =
        {
            .on_hit = decay_on_hit,
            .victim = decay_victim,
            .on_insert = decay_on_insert,
            .on_remove = decay_on_remove,
        },
};
