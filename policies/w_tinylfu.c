/* W-TinyLFU: a window of newcomers, a main part in two segments, and between them a filter that asks a sketch of
 * frequencies who is worth more (Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy", ACM
 * Transactions on Storage 13(4), 2017). The window holds at least the newest block. */
#include "policies/parts.h"
#include "policies/queues.h"

enum { TINY_WINDOW, TINY_PROBATION, TINY_PROTECTED, TINY_QUEUES };

struct tiny {
    uint64_t limit_bytes[TINY_QUEUES]; /* none for probation */
    uint64_t bytes[TINY_QUEUES];
    uint64_t equal_bytes;
    uint64_t additions, additions_max; /* to the sketch */
    uint32_t word_mask;                /* words of the sketch - 1 */
    uint32_t reserved;                 /* links want 8 bytes */
    uint8_t tags[];                    /* by block: its queue; then the links, then the sketch */
};

/* How many blocks the cache holds, by their mean size. */
static uint64_t tiny_blocks_held(const struct policy_view *view)
{
    __extension__ typedef unsigned __int128 uint128;
    uint64_t n = view->block_count;
    uint128 total = 0;
    for (block_id b = 0; b < n; b++)
        total += view->blocks[b].bytes;
    uint128 held = total > 0 ? (uint128)part_whole(view) * n / total : n;
    held = held < n ? held : n;
    return held > 0 ? (uint64_t)held : 1;
}

/* The smallest power of two that is at least the number of blocks held: 16 counters a block. */
static uint32_t tiny_word_count(const struct policy_view *view)
{
    uint64_t words = 1, held = tiny_blocks_held(view);
    while (words < held)
        words *= 2;
    return (uint32_t)(words <= UINT32_MAX / 2 ? words : (uint64_t)1 << 31);
}

static struct list_node *tiny_links(struct tiny *tiny, const struct policy_view *view)
{
    return queue_links(tiny->tags, view->block_count);
}

static uint64_t *tiny_sketch(struct tiny *tiny, const struct policy_view *view)
{
    return (void *)((char *)tiny_links(tiny, view) + queue_links_size(view->block_count));
}

static size_t tiny_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct tiny) + queue_tags_size(view->block_count) + queue_links_size(view->block_count) +
           tiny_word_count(view) * sizeof(uint64_t);
}

static void tiny_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct tiny *tiny = self;
    uint64_t whole = part_whole(view);
    tiny->limit_bytes[TINY_WINDOW] = part_share(whole, args->values[0]);
    tiny->limit_bytes[TINY_PROTECTED] = part_share(whole - tiny->limit_bytes[TINY_WINDOW], args->values[1]);
    tiny->word_mask = tiny_word_count(view) - 1;
    tiny->additions_max = 10 * tiny_blocks_held(view); /* W/C = 10, as the paper's sample factor */
    tiny->equal_bytes = part_equal_bytes(view);
    queue_init(tiny_links(tiny, view));
}

/* ---- The sketch: four counters of 4 bits for each block, all in one word ---- */

/* The output function of splitmix64 (Steele, Lea, Flood 2014; constants of Vigna's splitmix64.c). */
static uint64_t tiny_hash(block_id b)
{
    uint64_t z = ((uint64_t)b + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Where in its word the block's i-th counter begins. */
static unsigned tiny_shift(uint64_t hash, unsigned i)
{
    return 16 * i + 4 * (unsigned)((hash >> (56 + 2 * i)) & 3);
}

static void tiny_count(struct tiny *tiny, const struct policy_view *view, block_id b)
{
    uint64_t hash = tiny_hash(b), *sketch = tiny_sketch(tiny, view), *word = &sketch[hash & tiny->word_mask];
    for (unsigned i = 0; i < 4; i++) {
        unsigned shift = tiny_shift(hash, i);
        if ((*word >> shift & 15) < 15)
            *word += (uint64_t)1 << shift;
    }
    if (++tiny->additions < tiny->additions_max)
        return;
    for (uint32_t w = 0; w <= tiny->word_mask; w++)
        sketch[w] = sketch[w] >> 1 & 0x7777777777777777u;
    tiny->additions /= 2;
}

static unsigned tiny_estimate(struct tiny *tiny, const struct policy_view *view, block_id b)
{
    uint64_t hash = tiny_hash(b), word = tiny_sketch(tiny, view)[hash & tiny->word_mask];
    unsigned least = 15;
    for (unsigned i = 0; i < 4; i++) {
        unsigned counter = (unsigned)(word >> tiny_shift(hash, i) & 15);
        least = counter < least ? counter : least;
    }
    return least;
}

/* ---- The lists ---- */

static void tiny_enter(struct tiny *tiny, const struct policy_view *view, uint32_t queue, block_id b)
{
    tiny->bytes[queue] += part_bytes(view, tiny->equal_bytes, b);
    tiny->tags[b] = (uint8_t)queue;
    queue_add(tiny_links(tiny, view), queue, b);
}

static void tiny_leave(struct tiny *tiny, const struct policy_view *view, block_id b)
{
    tiny->bytes[tiny->tags[b]] -= part_bytes(view, tiny->equal_bytes, b);
    queue_remove(tiny_links(tiny, view), b);
}

static void tiny_change(struct tiny *tiny, const struct policy_view *view, uint32_t queue, block_id b)
{
    tiny_leave(tiny, view, b);
    tiny_enter(tiny, view, queue, b);
}

static void tiny_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct tiny *tiny = self;
    struct list_node *links = tiny_links(tiny, view);
    uint64_t limit = tiny->limit_bytes[TINY_PROTECTED];
    tiny_count(tiny, view, b);
    if (tiny->tags[b] != TINY_PROBATION || part_bytes(view, tiny->equal_bytes, b) > limit) {
        queue_move(links, tiny->tags[b], b);
        return;
    }
    tiny_change(tiny, view, TINY_PROTECTED, b);
    while (tiny->bytes[TINY_PROTECTED] > limit)
        tiny_change(tiny, view, TINY_PROBATION, queue_tail(links, TINY_PROTECTED));
}

static void tiny_on_miss(void *self, const struct policy_view *view, block_id b)
{
    tiny_count(self, view, b);
}

static block_id tiny_victim(void *self, const struct policy_view *view, block_id incoming)
{
    struct tiny *tiny = self;
    const struct list_node *links = tiny_links(tiny, view);
    uint64_t bytes = incoming == BLOCK_NONE ? 0 : part_bytes(view, tiny->equal_bytes, incoming);
    block_id candidate = queue_oldest(links, TINY_WINDOW, view), victim = queue_oldest(links, TINY_PROBATION, view);
    if (victim == BLOCK_NONE)
        victim = queue_oldest(links, TINY_PROTECTED, view);
    if (victim == BLOCK_NONE || candidate == BLOCK_NONE)
        return victim == BLOCK_NONE ? candidate : victim;
    if (tiny->bytes[TINY_WINDOW] + bytes <= tiny->limit_bytes[TINY_WINDOW])
        return victim;
    return tiny_estimate(tiny, view, candidate) > tiny_estimate(tiny, view, victim) ? victim : candidate;
}

/* What the window has no room for moves on, as soon as it has won its place there: not while more is held than fits. */
static void tiny_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct tiny *tiny = self;
    tiny_enter(tiny, view, TINY_WINDOW, b);
    block_id oldest;
    while (tiny->bytes[TINY_WINDOW] > tiny->limit_bytes[TINY_WINDOW] && view->held_bytes <= view->budget_bytes &&
           (oldest = queue_tail(tiny_links(tiny, view), TINY_WINDOW)) != b)
        tiny_change(tiny, view, TINY_PROBATION, oldest);
}

static void tiny_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)reason;
    tiny_leave(self, view, b);
}

static void tiny_remark(const void *self, const struct policy_view *view, char *line, size_t size)
{
    const struct tiny *tiny = self;
    part_remark(view, "the window", tiny->limit_bytes[TINY_WINDOW], "with it, the window holds nothing else",
                "the window holds only the newest block then", line, size);
}

static const struct policy_param tiny_params[] = {
    {"window", POLICY_PPM, 0, 1000000, 10000, "the window's share of the budget"},
    {"protected", POLICY_PPM, 0, 1000000, 800000, "the protected segment's share of the rest"},
};

const struct policy policy_w_tinylfu = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "w-tinylfu",
    .summary = "a small window, then only blocks that are used more often than what they would displace",
    .param_count = sizeof tiny_params / sizeof *tiny_params,
    .params = tiny_params,
    .state_size = tiny_state_size,
    .init = tiny_init,
    .ops.evict =
        {
            .on_hit = tiny_on_hit,
            .on_miss = tiny_on_miss,
            .victim = tiny_victim,
            .on_insert = tiny_on_insert,
            .on_remove = tiny_on_remove,
            .remark = tiny_remark,
        },
};
