/* Pin rules, prefetchers and admission rules: what they plan and let in, beside exhaustive search and counting. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "policies/registry.h"
#include "tests/cmocka_fixed.h"

enum { BLOCKS_MAX = 40 };

struct scene {
    struct policy_view view;
    struct policy_block blocks[BLOCKS_MAX];
    uint8_t state[BLOCKS_MAX];
    uint64_t heat[BLOCKS_MAX], profile[BLOCKS_MAX];
    block_id out[BLOCKS_MAX];
    struct policy_choice choice;
    void *self;
};

static void set_scene(struct scene *scene, uint32_t block_count)
{
    memset(scene, 0, sizeof *scene);
    scene->view = (struct policy_view){
        .size = sizeof scene->view,
        .block_count = block_count,
        .blocks = scene->blocks,
        .state = scene->state,
        .heat = scene->heat,
        .profile = scene->profile,
    };
    for (uint32_t b = 0; b < block_count; b++)
        scene->blocks[b] = (struct policy_block){.bytes = 100, .layer = -1, .kind = BLOCK_OTHER};
}

/* Parses "lru+TEXT" and starts the part; parameters come as a user gives them. */
static const struct policy *start(struct scene *scene, enum policy_kind kind, const char *text, const block_id *blocks,
                                  uint32_t block_count)
{
    struct error err;
    memset(&scene->choice, 0, sizeof scene->choice);
    if (!policy_parse_part(kind, text, &scene->choice, &err))
        fail_because("%s: %s", text, err.text);
    struct policy_part *part = policy_choice_part(&scene->choice, kind);
    /* The policy must copy what it keeps: the arguments are gone after init. */
    struct policy_args *args = calloc(1, sizeof *args);
    block_id *named = malloc(BLOCKS_MAX * sizeof *named);
    assert_non_null(args);
    assert_non_null(named);
    for (uint32_t i = 0; i < block_count; i++)
        named[i] = blocks[i];
    *args = (struct policy_args){.values = part->values, .blocks = named, .block_count = block_count};
    free(scene->self);
    scene->self = calloc(1, part->policy->state_size(&scene->view, args) + (kind == POLICY_ADMIT));
    assert_non_null(scene->self);
    part->policy->init(scene->self, &scene->view, args);
    free(named);
    free(args);
    return part->policy;
}

static uint32_t pin(struct scene *scene, const char *text, const block_id *blocks, uint32_t count, uint32_t max)
{
    const struct policy *policy = start(scene, POLICY_PIN, text, blocks, count);
    return policy->ops.pin.plan(scene->self, &scene->view, scene->out, max);
}

static void expect(const struct scene *scene, uint32_t count, const block_id *expected, uint32_t expected_count)
{
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(scene->out[i], expected[i]);
}

#define EXPECT(scene, count, ...)                                                                                      \
    expect(scene, count, (const block_id[]){__VA_ARGS__}, sizeof((block_id[]){__VA_ARGS__}) / sizeof(block_id))

static void hot_orders_by_heat_per_byte(void **unused)
{
    (void)unused;
    struct scene s;
    set_scene(&s, 5);
    const uint64_t heat[] = {10, 10, 30, 0, 20};
    const uint64_t bytes[] = {100, 50, 600, 1, 100};
    for (uint32_t b = 0; b < 5; b++) {
        s.heat[b] = heat[b];
        s.blocks[b].bytes = bytes[b];
    }
    /* Per byte: 0.1, 0.2, 0.05, none, 0.2; block 3 is never named, 1 and 4 are equal. */
    uint32_t count = pin(&s, "hot(1MiB)", NULL, 0, BLOCKS_MAX);
    EXPECT(&s, count, 1, 4, 0, 2);
    count = pin(&s, "hot(249B)", NULL, 0, BLOCKS_MAX);
    EXPECT(&s, count, 1, 4);
    count = pin(&s, "hot(160B)", NULL, 0, BLOCKS_MAX); /* 4 fits beside 1, nothing beside both */
    EXPECT(&s, count, 1, 4);
    count = pin(&s, "hot(149B)", NULL, 0, BLOCKS_MAX); /* neither 4 nor 0 fits beside 1 */
    EXPECT(&s, count, 1);
    count = pin(&s, "hot(1MiB)", NULL, 0, 3);
    EXPECT(&s, count, 1, 4, 0);
    assert_int_equal(pin(&s, "hot(49B)", NULL, 0, BLOCKS_MAX), 0);
    free(s.self);
}

static void hot_leaves_room_for_the_largest_step(void **unused)
{
    (void)unused;
    struct scene s;
    set_scene(&s, 6);
    for (uint32_t b = 0; b < 6; b++)
        s.heat[b] = 1;
    s.view.budget_bytes = 450;
    s.view.step_bytes_max = 200;
    uint32_t count = pin(&s, "hot", NULL, 0, BLOCKS_MAX);
    EXPECT(&s, count, 0, 1);
    s.view.step_bytes_max = 450;
    assert_int_equal(pin(&s, "hot", NULL, 0, BLOCKS_MAX), 0);
    s.view.step_bytes_max = 451;
    assert_int_equal(pin(&s, "hot", NULL, 0, BLOCKS_MAX), 0);
    free(s.self);
}

/* heat * bytes over 64 bits: 2^40 / 2^62 is less than (2^40 + 1) / 2^62, by a part of the 103rd bit. */
static void hot_compares_exactly(void **unused)
{
    (void)unused;
    struct scene s;
    set_scene(&s, 2);
    s.blocks[0].bytes = s.blocks[1].bytes = UINT64_C(1) << 61;
    s.heat[0] = UINT64_C(1) << 40;
    s.heat[1] = (UINT64_C(1) << 40) + 1;
    s.view.budget_bytes = UINT64_C(1) << 63;
    uint32_t count = pin(&s, "hot", NULL, 0, BLOCKS_MAX);
    EXPECT(&s, count, 1, 0);
    free(s.self);
}

/* Repeatedly the best of all that are left; fractions are small enough for 64 bits here. */
static void hot_equals_exhaustive_search(void **unused)
{
    (void)unused;
    struct rng rng;
    rng_seed(&rng, 7, 0);
    for (int round = 0; round < 2000; round++) {
        struct scene s;
        set_scene(&s, 1 + (uint32_t)rng_below(&rng, BLOCKS_MAX));
        for (uint32_t b = 0; b < s.view.block_count; b++) {
            s.heat[b] = rng_below(&rng, 6);
            s.blocks[b].bytes = 1 + rng_below(&rng, 8);
        }
        s.view.budget_bytes = rng_below(&rng, 200);
        s.view.step_bytes_max = rng_below(&rng, 40);
        uint64_t room = s.view.budget_bytes > s.view.step_bytes_max ? s.view.budget_bytes - s.view.step_bytes_max : 0;
        block_id expected[BLOCKS_MAX];
        bool taken[BLOCKS_MAX] = {false};
        uint32_t expected_count = 0;
        for (;;) {
            block_id best = BLOCK_NONE;
            for (block_id b = 0; b < s.view.block_count; b++)
                if (!taken[b] && s.heat[b] != 0 &&
                    (best == BLOCK_NONE || s.heat[b] * s.blocks[best].bytes > s.heat[best] * s.blocks[b].bytes))
                    best = b;
            if (best == BLOCK_NONE)
                break;
            taken[best] = true;
            if (s.blocks[best].bytes <= room) {
                room -= s.blocks[best].bytes;
                expected[expected_count++] = best;
            }
        }
        uint32_t count = pin(&s, "hot", NULL, 0, BLOCKS_MAX);
        expect(&s, count, expected, expected_count);
        free(s.self);
    }
}

static void kinds_and_blocks_pin_what_they_name(void **unused)
{
    (void)unused;
    struct scene s;
    set_scene(&s, 7);
    const enum block_kind kinds[] = {BLOCK_EMBEDDING, BLOCK_LAYER,  BLOCK_EXPERT, BLOCK_LAYER,
                                     BLOCK_NORM,      BLOCK_OUTPUT, BLOCK_OTHER};
    for (uint32_t b = 0; b < 7; b++)
        s.blocks[b].kind = kinds[b];
    uint32_t count = pin(&s, "kinds", NULL, 0, BLOCKS_MAX);
    EXPECT(&s, count, 0, 4, 5);
    count = pin(&s, "kinds(layer,other)", NULL, 0, BLOCKS_MAX);
    EXPECT(&s, count, 1, 3, 6);
    count = pin(&s, "kinds(layer,other)", NULL, 0, 2);
    EXPECT(&s, count, 1, 3);
    const block_id named[] = {1, 5, 6};
    count = pin(&s, "blocks(a,b,c)", named, 3, BLOCKS_MAX);
    EXPECT(&s, count, 1, 5, 6);
    count = pin(&s, "blocks(a,b,c)", named, 3, 1);
    EXPECT(&s, count, 1);
    free(s.self);
}

static uint32_t prefetch(struct scene *scene, const struct policy *policy, uint32_t max)
{
    return policy->ops.prefetch.plan(scene->self, &scene->view, scene->out, max);
}

static void next_fetches_what_is_absent(void **unused)
{
    (void)unused;
    struct scene s;
    set_scene(&s, 8);
    /* Three steps ahead: {1, 2}, {3, 2}, {4, 1, 5}; 2 is on its way, 5 is there. */
    const block_id ahead[] = {1, 2, 3, 2, 4, 1, 5};
    const uint32_t ahead_end[] = {2, 4, 7};
    s.view.ahead = ahead;
    s.view.ahead_end = ahead_end;
    s.view.ahead_steps = 3;
    s.state[2] = POLICY_LOADING;
    s.state[5] = POLICY_RESIDENT | POLICY_PREFETCHED;

    const struct policy *policy = start(&s, POLICY_PREFETCH, "next", NULL, 0);
    assert_int_equal(policy->ops.prefetch.reach(s.self, &s.view), 1);
    uint32_t count = prefetch(&s, policy, BLOCKS_MAX);
    EXPECT(&s, count, 1);

    policy = start(&s, POLICY_PREFETCH, "next(depth=64)", NULL, 0);
    assert_int_equal(policy->ops.prefetch.reach(s.self, &s.view), 64);
    count = prefetch(&s, policy, BLOCKS_MAX);
    EXPECT(&s, count, 1, 3, 4);
    count = prefetch(&s, policy, BLOCKS_MAX); /* a new plan starts anew */
    EXPECT(&s, count, 1, 3, 4);
    count = prefetch(&s, policy, 2);
    EXPECT(&s, count, 1, 3);
    s.state[2] = 0;
    count = prefetch(&s, policy, BLOCKS_MAX); /* 2 once, although two steps want it */
    EXPECT(&s, count, 1, 2, 3, 4);

    policy = start(&s, POLICY_PREFETCH, "next(depth=2)", NULL, 0);
    count = prefetch(&s, policy, BLOCKS_MAX);
    EXPECT(&s, count, 1, 2, 3);
    s.view.ahead_steps = 0;
    assert_int_equal(prefetch(&s, policy, BLOCKS_MAX), 0);
    free(s.self);
}

static void oracle_needs_the_future(void **unused)
{
    (void)unused;
    struct scene s;
    set_scene(&s, 6);
    const block_id ahead[] = {1, 2, 3, 2, 4};
    const uint32_t ahead_end[] = {2, 5};
    s.view.ahead = ahead;
    s.view.ahead_end = ahead_end;
    s.view.ahead_steps = 2;
    s.state[3] = POLICY_RESIDENT;
    const struct policy *policy = start(&s, POLICY_PREFETCH, "oracle(2)", NULL, 0);
    assert_int_equal(policy->needs, POLICY_NEEDS_FUTURE);
    assert_int_equal(policy->ops.prefetch.reach(s.self, &s.view), 2);
    uint32_t count = prefetch(&s, policy, BLOCKS_MAX);
    EXPECT(&s, count, 1, 2, 4);
    free(s.self);
}

static uint32_t after(struct scene *s, const struct policy *policy, const block_id *used, uint32_t count)
{
    s->view.used = used;
    s->view.used_count = count;
    return prefetch(s, policy, BLOCKS_MAX);
}
#define AFTER(scene, policy, ...)                                                                                      \
    after(scene, policy, (const block_id[]){__VA_ARGS__}, sizeof((block_id[]){__VA_ARGS__}) / sizeof(block_id))

static void sequence_learns_what_follows(void **unused)
{
    (void)unused;
    struct scene s;
    set_scene(&s, 10);
    const struct policy *policy = start(&s, POLICY_PREFETCH, "sequence", NULL, 0);
    assert_int_equal(AFTER(&s, policy, 7), 0); /* nothing is known yet */
    assert_int_equal(AFTER(&s, policy, 3, 4), 0);
    assert_int_equal(AFTER(&s, policy, 1), 0);
    uint32_t count = AFTER(&s, policy, 7);
    EXPECT(&s, count, 3, 4);
    count = AFTER(&s, policy, 3, 4);
    EXPECT(&s, count, 1);
    s.state[3] = POLICY_RESIDENT | POLICY_IN_USE;
    count = AFTER(&s, policy, 3, 4); /* the step repeats itself: 4 is followed by 3, which is held, and by 4 again */
    EXPECT(&s, count, 4);
    s.state[3] = 0;

    policy = start(&s, POLICY_PREFETCH, "sequence(2)", NULL, 0);
    for (int round = 0; round < 2; round++) {
        AFTER(&s, policy, 7);
        AFTER(&s, policy, 3, 4);
        AFTER(&s, policy, 1);
    }
    count = AFTER(&s, policy, 7);
    EXPECT(&s, count, 3, 4, 1);
    AFTER(&s, policy, 5); /* 7 is followed by 5, of which nothing is known */
    count = AFTER(&s, policy, 7);
    EXPECT(&s, count, 5, 7); /* 5, 7, then 5 again, where the walk ends */

    policy = start(&s, POLICY_PREFETCH, "sequence", NULL, 0);
    AFTER(&s, policy, 1, 3, 2);
    count = AFTER(&s, policy, 1, 2, 3); /* 2 and 3 follow each other, and begin no step */
    EXPECT(&s, count, 2, 3);
    free(s.self);
}

static void static_hot_follows_the_profile(void **unused)
{
    (void)unused;
    struct scene s;
    set_scene(&s, 6);
    const uint64_t profile[] = {10, 10, 30, 0, 20, 99};
    const uint64_t bytes[] = {100, 50, 600, 1, 100, 10};
    for (uint32_t b = 0; b < 6; b++) {
        s.profile[b] = profile[b];
        s.blocks[b].bytes = bytes[b];
    }
    s.state[5] = POLICY_RESIDENT | POLICY_PINNED;
    s.view.pinned_bytes = 10;
    s.view.step_bytes_max = 40;
    s.view.budget_bytes = 10 + 40 + 249;
    const struct policy *policy = start(&s, POLICY_PREFETCH, "static-hot", NULL, 0);
    assert_int_equal(policy->needs, POLICY_NEEDS_PROFILE);
    uint32_t count = prefetch(&s, policy, BLOCKS_MAX);
    EXPECT(&s, count, 1, 4);
    s.view.budget_bytes++;
    policy = start(&s, POLICY_PREFETCH, "static-hot", NULL, 0);
    count = prefetch(&s, policy, BLOCKS_MAX);
    EXPECT(&s, count, 1, 4, 0); /* 0.2, 0.2, 0.1 a byte; 600 bytes do not fit; 3 was never used */
    s.state[4] = POLICY_LOADING;
    count = prefetch(&s, policy, BLOCKS_MAX);
    EXPECT(&s, count, 1, 0);
    count = prefetch(&s, policy, 1);
    EXPECT(&s, count, 1);
    s.state[4] = 0;
    policy = start(&s, POLICY_PREFETCH, "static-hot(count=2)", NULL, 0);
    count = prefetch(&s, policy, BLOCKS_MAX);
    EXPECT(&s, count, 1, 4);
    s.view.budget_bytes = 50;
    policy = start(&s, POLICY_PREFETCH, "static-hot", NULL, 0);
    assert_int_equal(prefetch(&s, policy, BLOCKS_MAX), 0);
    free(s.self);
}

/* Two layers of 16 experts behind a shared block each; the next step uses layer 1's shared block and 4 experts. */
static void set_experts(struct scene *s)
{
    static const block_id ahead[] = {1, 20, 23, 27, 30};
    static const uint32_t ahead_end[] = {5};
    set_scene(s, 34);
    for (block_id b = 0; b < 34; b++) {
        s->blocks[b].kind = b < 2 ? BLOCK_LAYER : BLOCK_EXPERT;
        s->blocks[b].layer = b < 2 ? (int32_t)b : (int32_t)(b - 2) / 16;
    }
    s->view.ahead = ahead;
    s->view.ahead_end = ahead_end;
    s->view.ahead_steps = 1;
}

static bool right_expert(block_id b)
{
    return b == 20 || b == 23 || b == 27 || b == 30;
}

static void count_speculation(const char *text, uint64_t *right, uint64_t *wrong, uint64_t *right_first)
{
    struct scene s;
    set_experts(&s);
    const struct policy *policy = start(&s, POLICY_PREFETCH, text, NULL, 0);
    *right = *wrong = *right_first = 0;
    for (uint64_t step = 0; step < 20000; step++) {
        bool seen[BLOCKS_MAX] = {false};
        s.view.step = step;
        s.view.seed = 5;
        uint32_t count = prefetch(&s, policy, BLOCKS_MAX);
        assert_true(count >= 1);
        assert_int_equal(s.out[0], 1); /* no expert: foreseeable */
        for (uint32_t i = 1; i < count; i++) {
            assert_in_range(s.out[i], 18, 33); /* of that layer */
            assert_false(seen[s.out[i]]);
            seen[s.out[i]] = true;
            *right += right_expert(s.out[i]);
            *wrong += !right_expert(s.out[i]);
            *right_first += i == 1 && right_expert(s.out[i]);
        }
    }
    free(s.self);
}

static void speculation_is_as_good_as_asked(void **unused)
{
    (void)unused;
    uint64_t right, wrong, right_first;
    count_speculation("speculative-experts(accuracy=100%,recall=100%)", &right, &wrong, &right_first);
    assert_int_equal(right, 80000);
    assert_int_equal(wrong, 0);
    count_speculation("speculative-experts(recall=0%)", &right, &wrong, &right_first);
    assert_int_equal(right + wrong, 0);
    /* 80,000 chances of 3/4, then 1.5 wrong ones for each right one: within 5 standard deviations. */
    count_speculation("speculative-experts(accuracy=40%,recall=75%)", &right, &wrong, &right_first);
    assert_in_range(right, 60000 - 613, 60000 + 613);
    assert_in_range(wrong * 40, right * 60 - 40 * 400, right * 60 + 40 * 400);
    /* Right and wrong ones come in no order that tells them apart. */
    assert_in_range(right_first, 20000 * 40 / 100 - 600, 20000 * 40 / 100 + 600);
    /* So few are right that all wrong ones of the layer are not enough. */
    count_speculation("speculative-experts(accuracy=1%,recall=100%)", &right, &wrong, &right_first);
    assert_int_equal(right, 80000);
    assert_int_equal(wrong, 20000 * 12);
}

static void speculation_repeats_itself(void **unused)
{
    (void)unused;
    struct scene s;
    set_experts(&s);
    const char *text = "speculative-experts(accuracy=50%,recall=50%)";
    const struct policy *policy = start(&s, POLICY_PREFETCH, text, NULL, 0);
    block_id first[BLOCKS_MAX];
    s.view.step = 7;
    uint32_t count = prefetch(&s, policy, BLOCKS_MAX);
    memcpy(first, s.out, sizeof first);
    s.view.step = 8;
    prefetch(&s, policy, BLOCKS_MAX);
    s.view.step = 7;
    expect(&s, prefetch(&s, policy, BLOCKS_MAX), first, count);
    /* Held blocks are predicted as well, and not fetched: nothing else changes. */
    assert_true(count > 2);
    s.state[first[1]] = POLICY_RESIDENT;
    assert_int_equal(prefetch(&s, policy, BLOCKS_MAX), count - 1);
    assert_int_equal(prefetch(&s, policy, 1), 1);
    s.state[first[1]] = 0;
    uint32_t different = 0;
    for (s.view.seed = 1; s.view.seed <= 20; s.view.seed++)
        different += prefetch(&s, policy, BLOCKS_MAX) != count || memcmp(first, s.out, count * sizeof *first) != 0;
    assert_true(different > 10);
    free(s.self);
}

static bool admits(struct scene *s, const struct policy *policy, uint64_t bytes)
{
    s->blocks[0].bytes = bytes;
    return policy->ops.admit.admit(s->self, &s->view, 0);
}

static void admission_rules_let_in_what_they_say(void **unused)
{
    (void)unused;
    struct scene s;
    set_scene(&s, 1);
    s.view.budget_bytes = 1100;
    s.view.pinned_bytes = 100;
    const struct policy *policy = start(&s, POLICY_ADMIT, "always", NULL, 0);
    assert_true(admits(&s, policy, 1000));
    policy = start(&s, POLICY_ADMIT, "bypass-large", NULL, 0);
    assert_true(admits(&s, policy, 500));
    assert_false(admits(&s, policy, 501));
    policy = start(&s, POLICY_ADMIT, "bypass-large(100%)", NULL, 0);
    assert_true(admits(&s, policy, 1000));
    policy = start(&s, POLICY_ADMIT, "bypass-large", NULL, 0);
    s.view.pinned_bytes = 0;
    s.view.budget_bytes = UINT64_MAX;
    assert_true(admits(&s, policy, UINT64_MAX / 2));
    assert_false(admits(&s, policy, UINT64_MAX / 2 + 1));

    static const char *const texts[] = {"probabilistic(0%)", "probabilistic(25%)", "probabilistic(100%)"};
    for (uint32_t i = 0; i < 3; i++) {
        static const uint32_t expected[] = {0, 10000, 40000};
        uint32_t count = 0;
        policy = start(&s, POLICY_ADMIT, texts[i], NULL, 0);
        for (uint32_t question = 0; question < 40000; question++)
            count += admits(&s, policy, 1);
        assert_in_range(count + 500, expected[i] + (i == 1 ? 0 : 500), expected[i] + (i == 1 ? 1000 : 500));
    }
    free(s.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hot_orders_by_heat_per_byte),
        cmocka_unit_test(hot_leaves_room_for_the_largest_step),
        cmocka_unit_test(hot_compares_exactly),
        cmocka_unit_test(hot_equals_exhaustive_search),
        cmocka_unit_test(kinds_and_blocks_pin_what_they_name),
        cmocka_unit_test(next_fetches_what_is_absent),
        cmocka_unit_test(oracle_needs_the_future),
        cmocka_unit_test(sequence_learns_what_follows),
        cmocka_unit_test(static_hot_follows_the_profile),
        cmocka_unit_test(speculation_is_as_good_as_asked),
        cmocka_unit_test(speculation_repeats_itself),
        cmocka_unit_test(admission_rules_let_in_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
