/* Policies that break the contract end their run with one line that names policy, block and reason; policies that
 * refuse are obeyed. */
#include <stdio.h>
#include <string.h>

#include "contract_world.h"
#include "policies/registry.h"
#include "sim/engine.h"
#include "sim/replay.h"
#include "tests/cmocka_fixed.h"

static block_id answer_beyond(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self;
    (void)incoming;
    return view->block_count;
}

static block_id answer_incoming(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self;
    (void)view;
    return incoming;
}

static block_id answer_pinned(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self;
    (void)incoming;
    for (block_id b = 0; b < view->block_count; b++) {
        if (view->state[b] & POLICY_PINNED)
            return b;
    }
    return BLOCK_NONE;
}

static uint32_t pin_first(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self;
    (void)view;
    (void)max;
    out[0] = 0;
    return 1;
}

static uint32_t pin_twice(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self;
    (void)view;
    (void)max;
    out[0] = out[1] = 1;
    return 2;
}

static const struct policy PIN_FIRST = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PIN,
    .name = "pin-first",
    .state_size = no_state,
    .init = no_init,
    .ops.pin = {.plan = pin_first},
};

static const struct policy PIN_TWICE = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PIN,
    .name = "pin-twice",
    .state_size = no_state,
    .init = no_init,
    .ops.pin = {.plan = pin_twice},
};

static uint32_t reach_one(const void *self, const struct policy_view *view)
{
    (void)self;
    (void)view;
    return 1;
}

static uint32_t plan_beyond(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self;
    (void)max;
    out[0] = view->block_count + 5;
    return 1;
}

static const struct policy PLAN_BEYOND = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "plan-beyond",
    .state_size = no_state,
    .init = no_init,
    .ops.prefetch = {.reach = reach_one, .plan = plan_beyond},
};

static void wrong_victims_are_named(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("beyond", answer_beyond);
    make_world(&world, &policy);
    expect_blame(&world, STATUS_CHECK, "policy 'beyond' answers victim() with block 4: there are 4 blocks");

    policy = evict_policy("incoming", answer_incoming);
    make_world(&world, &policy);
    expect_blame(&world, STATUS_CHECK, "policy 'incoming' answers victim() with block 2: it is not resident");

    policy = evict_policy("pinned", answer_pinned);
    make_world(&world, &policy);
    world.spec.pin.policy = &PIN_FIRST;
    expect_blame(&world, STATUS_CHECK, "policy 'pinned' answers victim() with block 0: it is pinned");
}

static void wrong_replay_victims_are_named(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("incoming", answer_incoming);
    make_world(&world, &policy);
    struct replay_spec spec = {
        .model = &world.model, .trace = &world.trace, .capacity_bytes = 2 << 20, .evict.policy = &policy};
    struct replay_result result;
    assert_false(replay_run(&spec, &world.arena, &result, &world.err));
    assert_string_equal(world.err.text, "policy 'incoming' answers victim() with block 2: it is not resident");
    free_world(&world);
}

static void wrong_plans_are_named(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("none", answer_none);
    make_world(&world, &policy);
    world.spec.prefetch.policy = &PLAN_BEYOND;
    expect_blame(&world, STATUS_CHECK, "policy 'plan-beyond' plans block 9: there are 4 blocks");

    make_world(&world, &policy);
    world.spec.pin.policy = &PIN_TWICE;
    expect_blame(&world, STATUS_CHECK, "policy 'pin-twice' pins block 1 twice");
}

static void wrong_tables_are_refused(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("old", answer_none);
    policy.abi = POLICY_ABI + 1;
    make_world(&world, &policy);
    char line[100];
    snprintf(line, sizeof line, "policy 'old': contract version %u, this program speaks %u", POLICY_ABI + 1,
             POLICY_ABI);
    expect_blame(&world, STATUS_USAGE, line);

    make_world(&world, &PIN_FIRST);
    expect_blame(&world, STATUS_USAGE, "policy 'pin-first' is not of the eviction kind");

    policy = evict_policy("half", answer_none);
    policy.ops.evict.on_insert = NULL;
    make_world(&world, &policy);
    expect_blame(&world, STATUS_USAGE, "policy 'half': its table lacks on_insert()");
}

static bool admit_first_two(void *self, const struct policy_view *view, block_id b)
{
    (void)self;
    (void)view;
    return b < 2;
}

static bool admit_none(void *self, const struct policy_view *view, block_id b)
{
    (void)self;
    (void)view;
    (void)b;
    return false;
}

static uint32_t plan_all(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self;
    for (block_id b = 0; b < view->block_count && b < max; b++)
        out[b] = b;
    return view->block_count;
}

/* What admit() refuses is not prefetched either; the rest of a plan is. */
static void a_refused_block_is_not_prefetched(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("refuser", answer_none);
    struct policy prefetch = PLAN_BEYOND;
    policy.ops.evict.admit = admit_first_two;
    prefetch.ops.prefetch.plan = plan_all;
    make_world(&world, &policy);
    world.spec.prefetch.policy = &prefetch;
    world.spec.loader.budget_bytes = 4 << 20;
    assert_true(engine_run(&world.spec, &world.arena, &world.result, &world.err));
    const struct run_numbers *n = &world.result.numbers;
    assert_int_equal(n->uncacheable, 4);  /* blocks 2 and 3, twice */
    assert_int_equal(n->delayed_hits, 1); /* block 1 came by the plan */
    assert_int_equal(n->peak_weights_bytes, 2 << 20);
    free_world(&world);
}

/* Refusing by admit() is asked once and streams at once, even while a prefetch is in flight that victim() would wait
 * for. */
static void a_refused_block_is_streamed_at_once(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("refuser", answer_none);
    policy.ops.evict.admit = admit_first_two;
    make_world(&world, &policy);
    assert_true(engine_run(&world.spec, &world.arena, &world.result, &world.err));
    const struct run_numbers *n = &world.result.numbers;
    assert_int_equal(n->hits, 2);
    assert_int_equal(n->uncacheable, 4);
    assert_int_equal(n->peak_weights_bytes, 2 << 20);
    /* What is streamed takes memory all the same. */
    assert_int_equal(n->peak_memory_bytes, 3 << 20);
    struct replay_spec spec = {
        .model = &world.model, .trace = &world.trace, .capacity_bytes = 4 << 20, .evict.policy = &policy};
    struct replay_result result;
    assert_true(replay_run(&spec, &world.arena, &result, &world.err));
    assert_int_equal(result.hits, 2);
    assert_int_equal(result.uncacheable, 4);
    spec.evict_when = EVICT_AFTER_STEP;
    assert_true(replay_run(&spec, &world.arena, &result, &world.err));
    assert_int_equal(result.hits, 2);
    assert_int_equal(result.uncacheable, 4);
    free_world(&world);
}

/* A streamed block counts for the kill rule. */
static void streaming_can_kill(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("refuser", answer_none);
    policy.ops.evict.admit = admit_first_two;
    make_world(&world, &policy);
    world.spec.device.pressure.rule = KILL_THRESHOLD;
    world.spec.device.pressure.threshold_bytes = (3 << 20) - 1;
    assert_true(engine_run(&world.spec, &world.arena, &world.result, &world.err));
    assert_int_equal(world.result.numbers.outcome, OUTCOME_KILLED);
    assert_int_equal(world.result.numbers.accesses, 3);
    assert_int_equal(world.result.token_count, 1);
    assert_int_equal(world.result.numbers.tokens, 0);
    free_world(&world);
}

/* A table built against a header without the functions that came last. */
static void a_shorter_table_is_completed(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("short", answer_none);
    policy.ops.evict.admit = admit_none;
    policy.size = (uint32_t)(offsetof(struct policy, ops) + offsetof(struct evict_ops, admit));
    make_world(&world, &policy);
    assert_true(engine_run(&world.spec, &world.arena, &world.result, &world.err));
    assert_int_equal(world.result.numbers.uncacheable, 4); /* by victim(); with admit it would be 8 */
    free_world(&world);

    policy.size = 8;
    make_world(&world, &policy);
    char line[100];
    snprintf(line, sizeof line, "a policy's table says it has 8 bytes: expected at least %zu",
             offsetof(struct policy, ops));
    expect_blame(&world, STATUS_USAGE, line);
}

/* The clock that a policy sees is that of the event it hears of. */
struct clock_state {
    int64_t last_ns;
    uint64_t pinned_bytes;
};

static size_t clock_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    (void)args;
    return sizeof(struct clock_state);
}

static void clock_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct clock_state *state = self;
    (void)args;
    state->pinned_bytes = view->pinned_bytes;
}

static void clock_on_miss(void *self, const struct policy_view *view, block_id b)
{
    struct clock_state *state = self;
    /* 1 MiB at 1 GB/s a miss, and block 0 pinned. */
    must(b == 0 || view->now_ns == state->last_ns + 1048576);
    must(state->pinned_bytes == 1 << 20 && view->pinned_bytes == state->pinned_bytes);
    state->last_ns = view->now_ns;
}

static void policies_see_the_time_and_the_pins(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("clock-watcher", answer_none);
    policy.state_size = clock_size;
    policy.init = clock_init;
    policy.ops.evict.on_miss = clock_on_miss;
    make_world(&world, &policy);
    world.spec.pin.policy = &PIN_FIRST;
    assert_true(engine_run(&world.spec, &world.arena, &world.result, &world.err));
    assert_int_equal(world.result.numbers.hits, 3); /* the pinned one twice, and the one that fills the budget */
    free_world(&world);
}

/* Reads that could run past the end of virtual time are refused before anything runs. */
static void endless_reads_are_refused(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("none", answer_none);
    make_world(&world, &policy);
    world.model.extents[3].bytes = UINT64_C(1) << 50;
    world.spec.device.flash.stream_bps = world.spec.device.flash.max_bps = 1000;
    expect_blame(&world, STATUS_USAGE, "reading all weights once takes over 18 years at 1000 B/s");
}

/* A policy that never evicts keeps the first two blocks; the others are streamed each time. */
static void refusing_is_an_answer(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("keeper", answer_none);
    make_world(&world, &policy);
    assert_true(engine_run(&world.spec, &world.arena, &world.result, &world.err));
    const struct run_numbers *n = &world.result.numbers;
    assert_int_equal(n->hits, 2);
    assert_int_equal(n->misses, 6);
    assert_int_equal(n->uncacheable, 4);
    assert_int_equal(n->evictions, 0);
    assert_int_equal(n->bytes_read, 6 << 20);
    assert_int_equal(n->peak_weights_bytes, 2 << 20);
    assert_true(n->virtual_time_ns == 6 * INT64_C(1048576));
    free_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_victims_are_named),
        cmocka_unit_test(wrong_replay_victims_are_named),
        cmocka_unit_test(wrong_plans_are_named),
        cmocka_unit_test(wrong_tables_are_refused),
        cmocka_unit_test(refusing_is_an_answer),
        cmocka_unit_test(a_refused_block_is_streamed_at_once),
        cmocka_unit_test(a_refused_block_is_not_prefetched),
        cmocka_unit_test(streaming_can_kill),
        cmocka_unit_test(endless_reads_are_refused),
        cmocka_unit_test(a_shorter_table_is_completed),
        cmocka_unit_test(policies_see_the_time_and_the_pins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
