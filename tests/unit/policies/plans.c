/* Pin rules and the prefetcher: what they plan, beside plans made by exhaustive search. */
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
    uint64_t heat[BLOCKS_MAX];
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
    struct policy_part *part = kind == POLICY_PIN ? &scene->choice.pin : &scene->choice.prefetch;
    /* The policy must copy what it keeps: the arguments are gone after init. */
    struct policy_args *args = calloc(1, sizeof *args);
    block_id *named = malloc(BLOCKS_MAX * sizeof *named);
    assert_non_null(args);
    assert_non_null(named);
    for (uint32_t i = 0; i < block_count; i++)
        named[i] = blocks[i];
    *args = (struct policy_args){.values = part->values, .blocks = named, .block_count = block_count};
    free(scene->self);
    scene->self = calloc(1, part->policy->state_size(&scene->view, args));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hot_orders_by_heat_per_byte),
        cmocka_unit_test(hot_leaves_room_for_the_largest_step),
        cmocka_unit_test(hot_compares_exactly),
        cmocka_unit_test(hot_equals_exhaustive_search),
        cmocka_unit_test(kinds_and_blocks_pin_what_they_name),
        cmocka_unit_test(next_fetches_what_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
