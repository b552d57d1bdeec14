/* Segmented LRU: each hit lifts a block by one segment, and what no longer fits a segment sinks to the one below
 * (Karedla, Love, Wherry, "Caching strategies to improve disk system performance", IEEE Computer 27(3), 1994, with as
 * many segments as the user wants). */
#include "policies/parts.h"
#include "policies/queues.h"

enum { SLRU_SEGMENTS_MAX = 8 };

struct slru {
    uint64_t limit_bytes; /* of each segment */
    uint64_t bytes[SLRU_SEGMENTS_MAX];
    uint64_t equal_bytes;
    uint32_t top;
    uint32_t sinking; /* whether blocks have sunk into segment 0 since it was last within its limit */
    uint8_t tags[];   /* by block: its segment; the links follow */
};

static struct list_node *slru_links(struct slru *slru, const struct policy_view *view)
{
    return queue_links(slru->tags, view->block_count);
}

static size_t slru_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct slru) + queue_tags_size(view->block_count) + queue_links_size(view->block_count);
}

static void slru_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct slru *slru = self;
    slru->top = (uint32_t)args->values[0] - 1;
    slru->limit_bytes = part_whole(view) / (uint64_t)args->values[0];
    slru->equal_bytes = part_equal_bytes(view);
    queue_init(slru_links(slru, view));
}

static void slru_enter(struct slru *slru, const struct policy_view *view, uint32_t segment, block_id b)
{
    slru->bytes[segment] += part_bytes(view, slru->equal_bytes, b);
    slru->tags[b] = (uint8_t)segment;
    queue_add(slru_links(slru, view), segment, b);
}

static void slru_leave(struct slru *slru, const struct policy_view *view, block_id b)
{
    slru->bytes[slru->tags[b]] -= part_bytes(view, slru->equal_bytes, b);
    queue_remove(slru_links(slru, view), b);
}

static void slru_on_hit(void *self, const struct policy_view *view, block_id b)
{
    struct slru *slru = self;
    struct list_node *links = slru_links(slru, view);
    uint32_t segment = slru->tags[b];
    if (segment == slru->top) {
        queue_move(links, segment, b);
        return;
    }
    slru_leave(slru, view, b);
    slru_enter(slru, view, ++segment, b);
    for (; segment > 0 && slru->bytes[segment] > slru->limit_bytes; segment--) {
        while (slru->bytes[segment] > slru->limit_bytes) {
            block_id sinks = queue_tail(links, segment);
            slru_leave(slru, view, sinks);
            slru_enter(slru, view, segment - 1, sinks);
        }
        slru->sinking |= segment == 1;
    }
}

/* What sank into the lowest segment and is too much for it: with unequal sizes even where the whole has room. */
static block_id slru_release(void *self, const struct policy_view *view)
{
    struct slru *slru = self;
    if (!slru->sinking)
        return BLOCK_NONE;
    slru->sinking = slru->bytes[0] > slru->limit_bytes;
    return slru->sinking ? queue_oldest(slru_links(slru, view), 0, view) : BLOCK_NONE;
}

static bool slru_admit(void *self, const struct policy_view *view, block_id b)
{
    const struct slru *slru = self;
    return part_bytes(view, slru->equal_bytes, b) <= slru->limit_bytes;
}

static block_id slru_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct slru *slru = self;
    block_id victim = BLOCK_NONE;
    for (uint32_t segment = 0; segment <= slru->top && victim == BLOCK_NONE; segment++)
        victim = queue_oldest(slru_links(slru, view), segment, view);
    return victim;
}

/* Into the lowest segment that has room; where none has, into the lowest. */
static void slru_on_insert(void *self, const struct policy_view *view, block_id b)
{
    struct slru *slru = self;
    uint32_t segment = 0;
    while (segment <= slru->top && slru->bytes[segment] + part_bytes(view, slru->equal_bytes, b) > slru->limit_bytes)
        segment++;
    slru_enter(slru, view, segment <= slru->top ? segment : 0, b);
}

static void slru_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)reason;
    slru_leave(self, view, b);
}

static void slru_remark(const void *self, const struct policy_view *view, char *line, size_t size)
{
    const struct slru *slru = self;
    part_remark(view, "a segment", slru->limit_bytes, "it is never kept", "they are never kept", line, size);
}

static const struct policy_param slru_params[] = {
    {"segments", POLICY_COUNT, 2, SLRU_SEGMENTS_MAX, 4, "how many segments share the budget equally"},
};

const struct policy policy_slru = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "slru",
    .summary = "segmented LRU: each hit lifts a block by one segment",
    .param_count = sizeof slru_params / sizeof *slru_params,
    .params = slru_params,
    .state_size = slru_state_size,
    .init = slru_init,
    .ops.evict =
        {
            .on_hit = slru_on_hit,
            .victim = slru_victim,
            .on_insert = slru_on_insert,
            .on_remove = slru_on_remove,
            .admit = slru_admit,
            .release = slru_release,
            .remark = slru_remark,
        },
};
