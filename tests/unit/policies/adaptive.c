/* arc, lirs, mru, random, lru-k and gdsf: cases that one can follow by hand, blocks that may not go, and that no block
 * is ever lost. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "policies/registry.h"
#include "tests/cmocka_fixed.h"

enum { BLOCKS_MAX = 12, SEQUENCES = 600, STEPS = 200 };

/* A cache that follows the contract, for steps of one block unless a test marks more in use. */
struct cache {
    struct policy_view view;
    struct policy_block blocks[BLOCKS_MAX];
    uint8_t state[BLOCKS_MAX];
    struct policy_choice choice;
    const struct evict_ops *ops;
    void *self;
    block_id gone[BLOCKS_MAX]; /* by the last access, in order */
    uint32_t gone_count;
};

static void open_cache(struct cache *c, const char *policy, uint32_t block_count, uint64_t bytes, uint64_t budget)
{
    struct error err;
    memset(c, 0, sizeof *c);
    for (uint32_t b = 0; b < block_count; b++)
        c->blocks[b] = (struct policy_block){.bytes = bytes, .layer = -1, .kind = BLOCK_OTHER};
    c->view = (struct policy_view){
        .size = sizeof c->view,
        .block_count = block_count,
        .blocks = c->blocks,
        .state = c->state,
        .evict_mask = POLICY_RESIDENT | POLICY_LOADING | POLICY_PINNED | POLICY_IN_USE,
        .budget_bytes = budget,
        .seed = 7,
    };
    if (!policy_parse(policy, &c->choice, &err))
        fail_because("%s", err.text);
    c->ops = &c->choice.evict.policy->ops.evict;
}

/* The sizes are final: the policy may look at them. Memory of exactly the size asked for, so that the sanitizer sees a
 * step too far. */
static void start(struct cache *c)
{
    const struct policy *policy = c->choice.evict.policy;
    const struct policy_args args = {.values = c->choice.evict.values};
    c->self = calloc(1, policy->state_size(&c->view, &args));
    assert_non_null(c->self);
    policy->init(c->self, &c->view, &args);
}

static void open_units(struct cache *c, const char *policy, uint32_t block_count, uint64_t budget)
{
    open_cache(c, policy, block_count, 1, budget);
    start(c);
}

static void close_cache(struct cache *c)
{
    free(c->self);
    c->self = NULL;
}

static void take_out(struct cache *c, block_id b, enum remove_reason reason)
{
    assert_true(b < c->view.block_count);
    assert_true(reason == REMOVE_CANCELLED || policy_may_evict(&c->view, b));
    c->ops->on_remove(c->self, &c->view, b, reason);
    c->state[b] &= POLICY_IN_USE;
    c->view.held_bytes -= c->blocks[b].bytes;
    if (c->gone_count < BLOCKS_MAX)
        c->gone[c->gone_count++] = b;
}

static void release_all(struct cache *c)
{
    block_id b;
    while (c->ops->release != NULL && (b = c->ops->release(c->self, &c->view)) != BLOCK_NONE)
        take_out(c, b, REMOVE_RELEASED);
}

static bool fits(const struct cache *c, block_id b)
{
    return c->view.held_bytes + c->blocks[b].bytes <= c->view.budget_bytes;
}

/* Brings b in, if the policy lets it; `state` as it is from then on. */
static bool bring(struct cache *c, block_id b, unsigned state)
{
    if (c->ops->admit != NULL && !c->ops->admit(c->self, &c->view, b))
        return false;
    while (!fits(c, b)) {
        block_id victim = c->ops->victim(c->self, &c->view, b);
        if (victim == BLOCK_NONE)
            return false;
        take_out(c, victim, REMOVE_EVICTED);
    }
    c->state[b] = (uint8_t)(c->state[b] | state);
    c->view.held_bytes += c->blocks[b].bytes;
    c->ops->on_insert(c->self, &c->view, b);
    release_all(c);
    return true;
}

static bool held(const struct cache *c, block_id b)
{
    return (c->state[b] & (POLICY_RESIDENT | POLICY_LOADING)) != 0;
}

static void use_marked(struct cache *c, block_id b)
{
    if (held(c, b)) {
        if (c->ops->on_hit != NULL)
            c->ops->on_hit(c->self, &c->view, b);
        c->state[b] = (uint8_t)(c->state[b] & ~(unsigned)POLICY_PREFETCHED);
        release_all(c);
        return;
    }
    if (c->ops->on_miss != NULL)
        c->ops->on_miss(c->self, &c->view, b);
    release_all(c);
    if (c->blocks[b].bytes <= c->view.budget_bytes)
        bring(c, b, POLICY_RESIDENT);
}

/* A step that uses b. Returns the one block that went for it, or BLOCK_NONE. */
static block_id use(struct cache *c, block_id b)
{
    c->gone_count = 0;
    c->state[b] |= POLICY_IN_USE;
    use_marked(c, b);
    c->state[b] = (uint8_t)(c->state[b] & ~(unsigned)POLICY_IN_USE);
    assert_true(c->gone_count <= 1);
    return c->gone_count == 1 ? c->gone[0] : BLOCK_NONE;
}

/* A prefetch that has arrived. */
static block_id fill(struct cache *c, block_id b)
{
    c->gone_count = 0;
    assert_true(bring(c, b, POLICY_RESIDENT | POLICY_PREFETCHED));
    return c->gone_count == 1 ? c->gone[0] : BLOCK_NONE;
}

/* Uses `ids` in turn and compares what goes each time; '.': nothing. Ids are digits. */
static void walk(struct cache *c, const char *ids, const char *expected)
{
    char gone[64] = "";
    for (size_t i = 0; ids[i] != '\0'; i++) {
        block_id b = use(c, (block_id)(ids[i] - '0'));
        gone[i] = b == BLOCK_NONE ? '.' : (char)('0' + b);
    }
    assert_string_equal(gone, expected);
}

static void mru_gives_the_newest(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "mru", 6, 3);
    walk(&c, "012", "...");
    walk(&c, "3", "2");
    walk(&c, "0", ".");
    walk(&c, "4", "0");
    c.state[4] |= POLICY_IN_USE;
    walk(&c, "5", "3");
    close_cache(&c);
}

static void random_is_uniform_among_what_may_go(void **unused)
{
    (void)unused;
    struct cache c;
    uint32_t drawn[6] = {0};
    open_units(&c, "random", 6, 6);
    for (block_id b = 0; b < 6; b++)
        use(&c, b);
    c.state[1] |= POLICY_IN_USE;
    c.state[4] |= POLICY_LOADING;
    for (int i = 0; i < 4000; i++)
        drawn[c.ops->victim(c.self, &c.view, BLOCK_NONE)]++;
    assert_int_equal(drawn[1] + drawn[4], 0);
    for (block_id b = 0; b < 6; b++)
        assert_true(b == 1 || b == 4 || (drawn[b] > 900 && drawn[b] < 1100));
    for (block_id b = 0; b < 6; b++)
        c.state[b] |= POLICY_IN_USE;
    assert_int_equal(c.ops->victim(c.self, &c.view, BLOCK_NONE), BLOCK_NONE);
    close_cache(&c);
}

/* The victims of 40 misses, as a number. */
static uint64_t lots(const char *policy, uint64_t seed)
{
    struct cache c;
    uint64_t sum = 0;
    open_cache(&c, policy, 8, 1, 4);
    c.view.seed = seed;
    start(&c);
    for (block_id i = 0; i < 40; i++) {
        block_id b = 0;
        while (held(&c, b))
            b++;
        sum = sum * 31 + use(&c, b);
    }
    close_cache(&c);
    return sum;
}

static void random_follows_its_seeds(void **unused)
{
    (void)unused;
    assert_true(lots("random", 1) == lots("random", 1));
    assert_true(lots("random", 1) != lots("random", 2));
    assert_true(lots("random", 1) != lots("random(seed=1)", 1));
}

/* LRU would give up 0 for 2; and the references of an evicted block count when it returns. */
static void lru_k_looks_at_the_second_last_use(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "lru-k", 4, 2);
    walk(&c, "0012", "...1");
    walk(&c, "13", "20");
    close_cache(&c);
    open_units(&c, "lru-k(history=0)", 4, 2);
    walk(&c, "001213", "...121");
    close_cache(&c);
    open_units(&c, "lru-k(k=1)", 4, 2);
    walk(&c, "0012", "...0");
    close_cache(&c);
}

/* 1 and 2 are evicted, 1 first. When 1 returns it has two references, or is as new. */
static void lru_k_forgets_the_first_evicted(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "lru-k", 6, 2);
    walk(&c, "0012314", "...1230");
    close_cache(&c);
    open_units(&c, "lru-k(history=1)", 6, 2);
    walk(&c, "0012314", "...1231");
    close_cache(&c);
}

static void lru_k_counts_no_fill(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "lru-k", 4, 2);
    walk(&c, "00", "..");
    fill(&c, 1);
    walk(&c, "12", ".1");
    close_cache(&c);
}

/* Values in units of the smallest block's 1 / size: block 0 has 1, block 1 has 1/4 a use. */
static void gdsf_weighs_use_by_size_and_ages(void **unused)
{
    (void)unused;
    struct cache c;
    open_cache(&c, "gdsf", 6, 4, 6);
    c.blocks[0].bytes = 1;
    start(&c);
    walk(&c, "0111", "....");
    walk(&c, "2", "1"); /* 3/4 goes before 1; the newcomer has 3/4 + 1/4 */
    c.gone_count = 0;
    use_marked(&c, 3); /* of equals the older one, and both have to go */
    assert_int_equal(c.gone_count, 2);
    assert_int_equal(c.gone[0], 0);
    assert_int_equal(c.gone[1], 2);
    close_cache(&c);
}

static void gdsf_ties_go_to_the_least_recent(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "gdsf", 6, 3);
    walk(&c, "0120", "....");
    walk(&c, "3", "1");
    walk(&c, "4", "2");
    fill(&c, 1); /* 3 went for it: 1 + 1 against 4's 2, which came later */
    assert_int_equal(c.gone[0], 0);
    close_cache(&c);
    open_units(&c, "gdsf", 6, 3);
    walk(&c, "0", ".");
    fill(&c, 1); /* its first use is the first that counts */
    walk(&c, "1234", "..01");
    close_cache(&c);
}

static void arc_follows_its_ghosts(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "arc", 8, 2);
    walk(&c, "1213", "...2"); /* 1 seen again; the target is 0, so T1 gives 2 */
    walk(&c, "2", "1");       /* its ghost raises the target to 1, which T1 has: T2 gives 1 */
    walk(&c, "1", "3");       /* 1's ghost lowers it again: T1 gives 3 */
    walk(&c, "45", "24");     /* both came back into T2; so did not 4 */
    close_cache(&c);
    /* T1 alone fills the room: what goes leaves no ghost, so that 1 comes back as new and 3 goes before it. */
    open_units(&c, "arc", 8, 2);
    walk(&c, "12314", "..123");
    close_cache(&c);
}

static void arc_passes_over_what_may_not_go(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "arc", 8, 2);
    walk(&c, "121", "...");
    c.state[2] |= POLICY_IN_USE;
    walk(&c, "3", "1");
    close_cache(&c);
}

/* 2 is a ghost of T1, but a fill is no use: it comes in as new and the target stays 0, so that T1 gives. */
static void arc_forgets_the_ghost_of_a_fill(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "arc", 8, 2);
    walk(&c, "1213", "...2");
    assert_int_equal(fill(&c, 2), 3);
    walk(&c, "4", "2");
    close_cache(&c);
}

/* Room for two LIRs and one HIR. */
static void lirs_swaps_a_returning_block_in(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "lirs", 8, 3);
    walk(&c, "123", "...");
    walk(&c, "4", "3"); /* the HIR makes room and stays in S as a ghost */
    walk(&c, "3", "4"); /* it becomes a LIR, 1 a HIR; 4 goes from Q */
    walk(&c, "1", "."); /* demotes 2 and so leaves Q itself: nothing counts it, but there is room */
    assert_true(held(&c, 1));
    c.view.may_exceed = true; /* where the budget need not hold, it stays */
    assert_int_equal(c.ops->victim(c.self, &c.view, 5), BLOCK_NONE);
    c.view.may_exceed = false;
    walk(&c, "5", "1");   /* elsewhere until the next one comes */
    walk(&c, "2", ".");   /* demotes 3 and leaves Q itself */
    walk(&c, "35", ".2"); /* at the bottom of S it is pruned, and then nothing knows it */
    close_cache(&c);
}

static void lirs_keeps_what_is_in_use_for_later(void **unused)
{
    (void)unused;
    struct cache c;
    open_units(&c, "lirs", 8, 4);
    walk(&c, "123", "...");
    c.state[4] |= POLICY_IN_USE;
    walk(&c, "4", ".");
    c.state[4] |= POLICY_IN_USE; /* the one HIR */
    walk(&c, "5", "1");          /* so a LIR goes, the lowest */
    assert_true(held(&c, 4));
    close_cache(&c);
}

static void lirs_says_what_it_never_keeps(void **unused)
{
    (void)unused;
    struct cache c;
    char line[128];
    open_cache(&c, "lirs", 4, 10, 1000);
    c.blocks[2].bytes = 11;
    start(&c);
    c.ops->remark(c.self, &c.view, line, sizeof line);
    assert_string_equal(line, "1 of 4 blocks is larger than the HIR share (10 B): it is never kept");
    assert_false(c.ops->admit(c.self, &c.view, 2));
    assert_true(c.ops->admit(c.self, &c.view, 1));
    close_cache(&c);
    open_units(&c, "lirs", 4, 1);
    c.ops->remark(c.self, &c.view, line, sizeof line);
    assert_string_equal(line, "every block is larger than the LIR share (0 blocks): they are never kept");
    close_cache(&c);
    open_units(&c, "lirs", 4, 2);
    c.ops->remark(c.self, &c.view, line, sizeof line);
    assert_string_equal(line, "");
    close_cache(&c);
}

/* One random step: uses of up to three blocks, or a prefetch that flies, arrives or is dropped. */
static void random_step(struct rng *rng, struct cache *c, uint32_t usable)
{
    block_id b = (block_id)rng_below(rng, usable);
    c->gone_count = 0;
    switch (rng_below(rng, 5)) {
    case 0:
        c->view.evict_mask |= POLICY_PREFETCHED;
        if (!held(c, b) && c->blocks[b].bytes <= c->view.budget_bytes)
            bring(c, b, POLICY_LOADING | POLICY_PREFETCHED);
        c->view.evict_mask &= ~(uint32_t)POLICY_PREFETCHED;
        break;
    case 1:
        if ((c->state[b] & (POLICY_LOADING | POLICY_PREFETCHED)) == (POLICY_LOADING | POLICY_PREFETCHED))
            take_out(c, b, REMOVE_CANCELLED);
        break;
    default: {
        block_id uses[3];
        for (int i = 0; i < 3; i++)
            c->state[uses[i] = (block_id)rng_below(rng, usable)] |= POLICY_IN_USE;
        for (int i = 0; i < 3; i++)
            use_marked(c, uses[i]);
        for (int i = 0; i < 3; i++) /* they arrived */
            if (held(c, uses[i]))
                c->state[uses[i]] = POLICY_RESIDENT;
            else
                c->state[uses[i]] = 0;
    }
    }
}

/* Whatever happened, victim() names each held block once when all may go. The last block is never used: it is what
 * comes in at the end. */
static void no_block_is_lost(const char *policy)
{
    struct rng rng;
    rng_seed(&rng, 3, 0);
    for (int sequence = 0; sequence < SEQUENCES; sequence++) {
        struct cache c;
        uint32_t n = 2 + (uint32_t)rng_below(&rng, BLOCKS_MAX - 1);
        open_cache(&c, policy, n, 1, 1 + rng_below(&rng, 2 * n));
        bool equal = rng_below(&rng, 2);
        for (block_id b = 0; b < n && !equal; b++)
            c.blocks[b].bytes = 1 + rng_below(&rng, 4);
        start(&c);
        for (int step = 0; step < STEPS; step++)
            random_step(&rng, &c, n - 1);
        for (block_id b = 0; b < n; b++)
            c.state[b] = held(&c, b) ? POLICY_RESIDENT : 0;
        while (c.view.held_bytes > 0) {
            block_id victim = c.ops->victim(c.self, &c.view, n - 1);
            if (victim == BLOCK_NONE)
                fail_because("%s lost a block", policy);
            take_out(&c, victim, REMOVE_EVICTED);
        }
        assert_int_equal(c.ops->victim(c.self, &c.view, n - 1), BLOCK_NONE);
        close_cache(&c);
    }
}

static void blocks_are_never_lost(void **unused)
{
    (void)unused;
    static const char *const policies[] = {
        "arc",    "lirs",  "lirs(hir=40%)",        "lirs(hir=99%)", "mru",
        "random", "lru-k", "lru-k(k=1,history=2)", "lru-k(k=4)",    "lru-k(k=3,history=0)",
        "gdsf"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        no_block_is_lost(policies[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mru_gives_the_newest),
        cmocka_unit_test(random_is_uniform_among_what_may_go),
        cmocka_unit_test(random_follows_its_seeds),
        cmocka_unit_test(lru_k_looks_at_the_second_last_use),
        cmocka_unit_test(lru_k_forgets_the_first_evicted),
        cmocka_unit_test(lru_k_counts_no_fill),
        cmocka_unit_test(gdsf_weighs_use_by_size_and_ages),
        cmocka_unit_test(gdsf_ties_go_to_the_least_recent),
        cmocka_unit_test(arc_follows_its_ghosts),
        cmocka_unit_test(arc_passes_over_what_may_not_go),
        cmocka_unit_test(arc_forgets_the_ghost_of_a_fill),
        cmocka_unit_test(lirs_swaps_a_returning_block_in),
        cmocka_unit_test(lirs_keeps_what_is_in_use_for_later),
        cmocka_unit_test(lirs_says_what_it_never_keeps),
        cmocka_unit_test(blocks_are_never_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
