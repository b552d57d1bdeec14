/* The policies made of queues and counts, by hand: lfu, clock, sieve, s3-fifo, 2q, slru, lfu-decay and w-tinylfu; and
 * what all of them owe the contract when blocks may not go. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "policies/registry.h"
#include "tests/cmocka_fixed.h"

enum { BLOCKS_MAX = 128, HELD_TEXT = 512 };

static const char *const names[] = {"lfu", "clock", "sieve", "s3-fifo", "2q", "slru", "lfu-decay", "w-tinylfu"};
enum { NAMES = sizeof names / sizeof *names };

struct cache {
    struct policy_view view;
    struct policy_block blocks[BLOCKS_MAX];
    uint8_t state[BLOCKS_MAX];
    struct policy_choice choice;
    const struct evict_ops *ops;
    void *self;
};

/* `sizes` NULL: all 1. */
static void start(struct cache *c, const char *policy, uint64_t budget, uint32_t block_count, const uint64_t *sizes)
{
    struct error err;
    memset(c, 0, sizeof *c);
    if (!policy_parse(policy, &c->choice, &err))
        fail_because("%s", err.text);
    for (uint32_t b = 0; b < block_count; b++)
        c->blocks[b] = (struct policy_block){.bytes = sizes ? sizes[b] : 1, .layer = -1, .kind = BLOCK_OTHER};
    c->view = (struct policy_view){
        .size = sizeof c->view,
        .block_count = block_count,
        .blocks = c->blocks,
        .state = c->state,
        .evict_mask = POLICY_RESIDENT | POLICY_LOADING | POLICY_PINNED | POLICY_IN_USE,
        .budget_bytes = budget,
    };
    struct policy_args args = {c->choice.evict.values, NULL, 0};
    const struct policy *table = c->choice.evict.policy;
    c->ops = &table->ops.evict;
    c->self = calloc(1, table->state_size(&c->view, &args));
    assert_non_null(c->self);
    table->init(c->self, &c->view, &args);
}

static void stop(struct cache *c)
{
    free(c->self);
}

static void take(struct cache *c, block_id b, enum remove_reason reason)
{
    if (reason != REMOVE_CANCELLED)
        assert_true(b < c->view.block_count && policy_may_evict(&c->view, b));
    c->ops->on_remove(c->self, &c->view, b, reason);
    c->state[b] = 0;
    c->view.held_bytes -= c->blocks[b].bytes;
}

static void release(struct cache *c)
{
    block_id b;
    while (c->ops->release && (b = c->ops->release(c->self, &c->view)) != BLOCK_NONE)
        take(c, b, REMOVE_RELEASED);
}

/* Room for b, then b with these bits of state. */
static void bring(struct cache *c, block_id b, unsigned state)
{
    if (c->blocks[b].bytes > c->view.budget_bytes || (c->ops->admit && !c->ops->admit(c->self, &c->view, b)))
        return;
    while (c->view.held_bytes + c->blocks[b].bytes > c->view.budget_bytes) {
        block_id victim = c->ops->victim(c->self, &c->view, b);
        if (victim == BLOCK_NONE)
            return;
        take(c, victim, REMOVE_EVICTED);
    }
    c->state[b] = (uint8_t)(c->state[b] | state);
    c->view.held_bytes += c->blocks[b].bytes;
    c->ops->on_insert(c->self, &c->view, b);
    release(c);
}

static void use(struct cache *c, block_id b)
{
    uint8_t marked = c->state[b] & POLICY_IN_USE;
    c->state[b] |= POLICY_IN_USE;
    if (c->state[b] & POLICY_RESIDENT) {
        if (c->ops->on_hit)
            c->ops->on_hit(c->self, &c->view, b);
        release(c);
    } else {
        if (c->ops->on_miss)
            c->ops->on_miss(c->self, &c->view, b);
        release(c);
        bring(c, b, POLICY_RESIDENT);
    }
    c->state[b] = (uint8_t)((c->state[b] & ~(unsigned)(POLICY_IN_USE | POLICY_PREFETCHED)) | marked);
    c->view.access++;
    c->view.step++;
}

static void use_range(struct cache *c, block_id first, block_id end)
{
    for (block_id b = first; b < end; b++)
        use(c, b);
}

static const char *held(const struct cache *c, char text[HELD_TEXT])
{
    size_t length = 0;
    text[0] = '\0';
    for (block_id b = 0; b < c->view.block_count; b++)
        if (c->state[b] & POLICY_RESIDENT)
            length += (size_t)snprintf(text + length, HELD_TEXT - length, "%s%u", length ? " " : "", b);
    return text;
}

#define assert_held(c, want)                                                                                           \
    do {                                                                                                               \
        char text_[HELD_TEXT];                                                                                         \
        assert_string_equal(held(c, text_), want);                                                                     \
    } while (0)

static void lfu_evicts_the_least_used_and_among_equals_the_oldest(void **unused)
{
    (void)unused;
    struct cache c;
    start(&c, "lfu", 3, 6, NULL);
    const block_id first[] = {0, 0, 1, 2, 1, 3};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        use(&c, first[i]);
    assert_held(&c, "0 1 3");
    use(&c, 2); /* 3 has one use */
    assert_held(&c, "0 1 2");
    use(&c, 2); /* all have two now: 0 had them first */
    use(&c, 3);
    assert_held(&c, "1 2 3");
    use(&c, 0); /* what 0 had is forgotten */
    use(&c, 5);
    assert_held(&c, "1 2 5");
    stop(&c);
}

static void clock_gives_used_blocks_another_round(void **unused)
{
    (void)unused;
    struct cache c;
    start(&c, "clock", 3, 10, NULL);
    use_range(&c, 0, 3);
    use(&c, 0);
    use(&c, 0); /* one bit: counts once */
    use(&c, 3);
    assert_held(&c, "0 2 3");
    use(&c, 4);
    assert_held(&c, "0 3 4");
    use(&c, 5);
    assert_held(&c, "3 4 5");
    stop(&c);
    start(&c, "clock(bits=2)", 2, 10, NULL);
    use(&c, 0);
    for (int i = 0; i < 9; i++)
        use(&c, 0); /* up to 3 */
    use_range(&c, 1, 4);
    assert_held(&c, "0 3"); /* 2 and 3 cost it a round each */
    use(&c, 4);
    use(&c, 5);
    assert_held(&c, "4 5");
    stop(&c);
}

static void sieve_leaves_what_it_spares_in_place(void **unused)
{
    (void)unused;
    struct cache c;
    start(&c, "sieve", 3, 10, NULL);
    use_range(&c, 0, 3);
    use(&c, 0);
    use(&c, 3); /* 0 is spared, 1 goes, the hand is at 2 */
    assert_held(&c, "0 2 3");
    use(&c, 4);
    assert_held(&c, "0 3 4");
    use(&c, 3);
    use(&c, 5); /* 3 is spared, 4 goes */
    assert_held(&c, "0 3 5");
    use(&c, 6); /* the hand had come to the head: it begins anew, and 0 was not used since */
    assert_held(&c, "3 5 6");
    use(&c, 7);
    assert_held(&c, "5 6 7");
    stop(&c);
    start(&c, "sieve", 3, 10, NULL);
    use_range(&c, 0, 4); /* the hand is at 1 */
    take(&c, 1, REMOVE_CANCELLED);
    bring(&c, 1, POLICY_RESIDENT); /* the newest, without the hand */
    use(&c, 4);
    assert_held(&c, "1 3 4");
    stop(&c);
}

static void s3_fifo_keeps_what_was_used_or_comes_back(void **unused)
{
    (void)unused;
    struct cache c;
    start(&c, "s3-fifo", 20, 100, NULL);
    use_range(&c, 0, 20);
    use(&c, 0);
    use(&c, 0);
    use(&c, 20);
    assert_true(c.state[0] & POLICY_RESIDENT);
    assert_false(c.state[1] & POLICY_RESIDENT);
    use(&c, 1);
    assert_true(c.state[1] & POLICY_RESIDENT);
    assert_false(c.state[2] & POLICY_RESIDENT);
    use_range(&c, 30, 90); /* a scan passes by the main queue */
    assert_true(c.state[0] & c.state[1] & POLICY_RESIDENT);
    assert_false(c.state[20] & POLICY_RESIDENT);
    assert_int_equal(c.view.held_bytes, 20);
    stop(&c);
}

/* As large as the small queue: room is made, and then the block is refused. Larger: refused at once. */
static void s3_fifo_makes_room_for_nothing(void **unused)
{
    (void)unused;
    struct cache c;
    const uint64_t sizes[] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 10, 11};
    start(&c, "s3-fifo", 100, 13, sizes);
    use_range(&c, 0, 11);
    use(&c, 12);
    assert_int_equal(c.view.held_bytes, 99);
    use(&c, 11);
    assert_held(&c, "1 2 3 4 5 6 7 8 9 10");
    stop(&c);
}

static void two_q_keeps_what_comes_back(void **unused)
{
    (void)unused;
    struct cache c;
    start(&c, "2q", 4, 40, NULL); /* newcomers 1, main 3, ghosts 2 */
    use_range(&c, 0, 5);
    assert_held(&c, "1 2 3 4");
    use(&c, 0); /* a ghost: into main */
    assert_held(&c, "0 2 3 4");
    use(&c, 5);
    use(&c, 6);
    assert_held(&c, "0 4 5 6");
    use(&c, 1); /* forgotten: the ghosts are 2 and 3 */
    use_range(&c, 10, 30);
    assert_held(&c, "0 27 28 29");
    use(&c, 26);
    assert_held(&c, "0 26 28 29");
    use(&c, 27); /* went as 26 came, and comes back */
    assert_held(&c, "0 26 27 29");
    stop(&c);
}

/* A small block that comes back fits the whole, but not main's share: main gives up a large one. */
static void two_q_gives_up_what_main_may_not_hold(void **unused)
{
    (void)unused;
    struct cache c;
    const uint64_t sizes[] = {3, 3, 4, 1};
    const block_id uses[] = {2, 3, 0, 1, 2};
    start(&c, "2q(in=50%,out=100%)", 8, 4, sizes);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        use(&c, uses[i]);
    assert_held(&c, "1 2"); /* 1 a newcomer, 2 in main, 3 and 0 ghosts */
    use(&c, 3);
    assert_held(&c, "1 3");
    stop(&c);
}

static void slru_sinks_until_it_fits(void **unused)
{
    (void)unused;
    struct cache c;
    const uint64_t sizes[] = {9, 2, 8, 11};
    start(&c, "slru(segments=2)", 20, 4, sizes);
    use(&c, 3); /* larger than a segment */
    use(&c, 0);
    use(&c, 0);
    use(&c, 1);
    use(&c, 2);
    assert_held(&c, "0 1 2");
    use(&c, 1); /* 0 sinks to where 2 is: 17 of 10, so 2 goes */
    assert_held(&c, "0 1");
    stop(&c);
    start(&c, "slru", 8, 20, NULL);
    use(&c, 0);
    use(&c, 0);
    use_range(&c, 1, 19);
    assert_true(c.state[0] & POLICY_RESIDENT);
    assert_int_equal(c.view.held_bytes, 8);
    stop(&c);
    start(&c, "slru(segments=2)", 8, 20, NULL);
    use_range(&c, 0, 8); /* 4 to 7 begin above */
    use(&c, 0);          /* 4 sinks */
    use_range(&c, 8, 13);
    assert_held(&c, "0 5 6 7 9 10 11 12");
    stop(&c);
}

static void lfu_decay_forgets_old_fame(void **unused)
{
    (void)unused;
    struct cache c;
    start(&c, "lfu-decay", 2, 10, NULL);
    for (int i = 0; i < 3; i++)
        use(&c, 0); /* key 3 */
    use(&c, 1);
    use(&c, 2); /* age 1: key 2 */
    use(&c, 3); /* age 2: key 3, behind 0 */
    assert_held(&c, "0 3");
    use(&c, 4);
    assert_held(&c, "3 4");
    stop(&c);
    start(&c, "lfu-decay(max=1)", 2, 10, NULL); /* as LRU */
    use_range(&c, 0, 2);
    use(&c, 0);
    use(&c, 0);
    use(&c, 1);
    use(&c, 2);
    assert_held(&c, "1 2");
    stop(&c);
}

/* Keys go around their ring of 4096 many times. */
static void lfu_decay_keys_go_around(void **unused)
{
    (void)unused;
    struct cache c;
    start(&c, "lfu-decay", 2, 4, NULL);
    for (int round = 0; round < 30000; round++) {
        use(&c, 0);
        use(&c, 1 + (block_id)(round % 3));
        assert_true(c.state[0] & POLICY_RESIDENT);
    }
    for (int i = 0; i < 60000; i++)
        use(&c, 1 + (block_id)(i % 3)); /* 4095 and some rounds later, 0 has gone */
    assert_false(c.state[0] & POLICY_RESIDENT);
    stop(&c);
}

static void w_tinylfu_lets_only_better_blocks_in(void **unused)
{
    (void)unused;
    struct cache c;
    start(&c, "w-tinylfu", 10, 100, NULL);
    use_range(&c, 0, 9);
    use_range(&c, 20, 30); /* equals lose */
    assert_held(&c, "0 1 2 3 4 5 6 7 8 29");
    use_range(&c, 0, 9);
    use_range(&c, 30, 40);
    assert_held(&c, "0 1 2 3 4 5 6 7 8 39");
    for (int i = 0; i < 4; i++) {
        use(&c, 50);
        use(&c, 51);
    }
    assert_true(c.state[50] & POLICY_RESIDENT);
    stop(&c);
}

/* A prefetch that was dropped leaves no ghost, and a prefetched block is no ghost that comes back. */
static void dropped_prefetches_are_not_remembered(void **unused)
{
    (void)unused;
    const char *const with_ghosts[] = {"2q", "s3-fifo"};
    for (int i = 0; i < 2; i++) {
        struct cache c;
        start(&c, with_ghosts[i], 40, BLOCKS_MAX, NULL);
        bring(&c, 0, POLICY_LOADING | POLICY_PREFETCHED);
        take(&c, 0, REMOVE_CANCELLED);
        use(&c, 0);
        use_range(&c, 1, 42);
        assert_false(c.state[0] & POLICY_RESIDENT); /* in its turn, as a newcomer */
        bring(&c, 0, POLICY_RESIDENT | POLICY_PREFETCHED);
        assert_true(c.state[0] & POLICY_RESIDENT);
        use_range(&c, 42, 84);
        assert_false(c.state[0] & POLICY_RESIDENT);
        use(&c, 0); /* a ghost: now it stays */
        use_range(&c, 84, 124);
        assert_true(c.state[0] & POLICY_RESIDENT);
        stop(&c);
    }
}

/* Random uses; then of all held blocks only one may go, then none, then all: each is named once. */
static void no_block_is_lost_or_named_when_it_may_not_go(void **unused)
{
    (void)unused;
    struct rng rng;
    rng_seed(&rng, 7, 0);
    for (int n = 0; n < NAMES; n++)
        for (int round = 0; round < 60; round++) {
            struct cache c;
            uint64_t sizes[30];
            for (int b = 0; b < 30; b++)
                sizes[b] = round % 2 ? 1 : 1 + rng_below(&rng, 4);
            start(&c, names[n], 50, 30, sizes);
            for (int i = 0; i < 200; i++) {
                block_id b = (block_id)rng_below(&rng, 30);
                c.state[b] ^= POLICY_IN_USE; /* some other steps' marks */
                use(&c, (block_id)rng_below(&rng, 30));
                assert_true(c.view.held_bytes <= 50);
            }
            uint32_t count = 0, chosen = 0;
            for (block_id b = 0; b < 30; b++) {
                c.state[b] |= POLICY_IN_USE;
                if ((c.state[b] & POLICY_RESIDENT) && rng_below(&rng, ++count) == 0)
                    chosen = b;
            }
            assert_int_equal(c.ops->victim(c.self, &c.view, BLOCK_NONE), BLOCK_NONE);
            if (count > 0) {
                c.state[chosen] = POLICY_RESIDENT;
                assert_int_equal(c.ops->victim(c.self, &c.view, BLOCK_NONE), chosen);
            }
            for (block_id b = 0; b < 30; b++)
                c.state[b] &= POLICY_RESIDENT;
            release(&c);
            block_id victim;
            while ((victim = c.ops->victim(c.self, &c.view, BLOCK_NONE)) != BLOCK_NONE)
                take(&c, victim, REMOVE_EVICTED);
            assert_int_equal(c.view.held_bytes, 0);
            stop(&c);
        }
}

static void expect_remark(const char *policy, uint64_t budget, const uint64_t *sizes, const char *want)
{
    struct cache c;
    char line[256] = "untouched";
    start(&c, policy, budget, 3, sizes);
    c.ops->remark(c.self, &c.view, line, sizeof line);
    assert_string_equal(line, want);
    stop(&c);
}

static void remarks_say_what_can_never_be_kept(void **unused)
{
    (void)unused;
    const uint64_t sizes[] = {1024, 4096, 30000};
    expect_remark("s3-fifo", 20, NULL, "");
    expect_remark("s3-fifo", 19, NULL,
                  "every block is not smaller than the small queue (1 block): they are never kept");
    expect_remark("s3-fifo", 40960, sizes,
                  "2 of 3 blocks are not smaller than the small queue (4 KiB): they are never kept");
    expect_remark("2q", 65536, sizes, "1 of 3 blocks is larger than the queue of newcomers (16 KiB): it is never kept");
    expect_remark("2q", 131072, sizes, "");
    expect_remark("slru", 8192, sizes, "2 of 3 blocks are larger than a segment (2 KiB): they are never kept");
    expect_remark("slru", 3, NULL, "every block is larger than a segment (0 blocks): they are never kept");
    expect_remark("w-tinylfu", 460800, sizes,
                  "1 of 3 blocks is larger than the window (4.5 KiB): with it, the window holds nothing else");
    expect_remark("w-tinylfu", 100, NULL, "");
    expect_remark("w-tinylfu", 99, NULL,
                  "every block is larger than the window (0 blocks): the window holds only the newest block then");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lfu_evicts_the_least_used_and_among_equals_the_oldest),
        cmocka_unit_test(clock_gives_used_blocks_another_round),
        cmocka_unit_test(sieve_leaves_what_it_spares_in_place),
        cmocka_unit_test(s3_fifo_keeps_what_was_used_or_comes_back),
        cmocka_unit_test(s3_fifo_makes_room_for_nothing),
        cmocka_unit_test(two_q_keeps_what_comes_back),
        cmocka_unit_test(two_q_gives_up_what_main_may_not_hold),
        cmocka_unit_test(slru_sinks_until_it_fits),
        cmocka_unit_test(lfu_decay_forgets_old_fame),
        cmocka_unit_test(lfu_decay_keys_go_around),
        cmocka_unit_test(w_tinylfu_lets_only_better_blocks_in),
        cmocka_unit_test(dropped_prefetches_are_not_remembered),
        cmocka_unit_test(no_block_is_lost_or_named_when_it_may_not_go),
        cmocka_unit_test(remarks_say_what_can_never_be_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
