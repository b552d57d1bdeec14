/* What a policy is told and shown, and when: releases, admission, dropped prefetches, the arrays of the view. */
#include <stdio.h>
#include <string.h>

#include "contract_world.h"
#include "tests/cmocka_fixed.h"

/* All that the parts were told, in order: a letter a call. */
static char told[512];

static void tell(char letter, block_id b)
{
    size_t length = strlen(told);
    if (length + 8 < sizeof told)
        snprintf(told + length, sizeof told - length, "%c%u ", letter, b);
}

static void tell_hit(void *self, const struct policy_view *view, block_id b)
{
    (void)self, (void)view;
    tell('h', b);
}

static void tell_miss(void *self, const struct policy_view *view, block_id b)
{
    (void)self, (void)view;
    tell('m', b);
}

static void tell_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)self;
    must(view->state[b] & POLICY_LOADING);
    tell('i', b);
}

static void tell_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)self;
    must(view->state[b] & (reason == REMOVE_CANCELLED ? POLICY_LOADING : POLICY_RESIDENT));
    tell(reason == REMOVE_CANCELLED ? 'c' : reason == REMOVE_RELEASED ? 'r' : 'e', b);
}

static bool tell_admit(void *self, const struct policy_view *view, block_id b)
{
    (void)self, (void)view;
    tell('A', b);
    return b != 1;
}

static bool tell_own_admit(void *self, const struct policy_view *view, block_id b)
{
    (void)self, (void)view;
    tell('a', b);
    return true;
}

static block_id first_evictable(const struct policy_view *view)
{
    for (block_id b = 0; b < view->block_count; b++)
        if (policy_may_evict(view, b))
            return b;
    return BLOCK_NONE;
}

/* Keeps nothing longer than it must. */
static block_id release_all(void *self, const struct policy_view *view)
{
    (void)self;
    return first_evictable(view);
}

static block_id release_missing(void *self, const struct policy_view *view)
{
    (void)self, (void)view;
    return 3;
}

static struct policy teller(void)
{
    struct policy policy = evict_policy("teller", answer_none);
    policy.ops.evict.on_hit = tell_hit;
    policy.ops.evict.on_miss = tell_miss;
    policy.ops.evict.on_insert = tell_insert;
    policy.ops.evict.on_remove = tell_remove;
    told[0] = '\0';
    return policy;
}

static void run_world(struct world *world)
{
    if (!engine_run(&world->spec, &world->arena, &world->result, &world->err))
        fail_because("%s", world->err.text);
}

static void releases_are_evictions(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = teller();
    policy.ops.evict.release = release_all;
    make_world(&world, &policy);
    run_world(&world);
    assert_string_equal(told, "m0 i0 m1 r0 i1 m2 r1 i2 m3 r2 i3 m0 r3 i0 m1 r0 i1 m2 r1 i2 m3 r2 i3 ");
    assert_int_equal(world.result.numbers.evictions, 7);
    assert_int_equal(world.result.numbers.peak_weights_bytes, 1 << 20);
    assert_int_equal(world.result.blocks[3].evictions, 1);
    assert_int_equal(world.result.blocks[0].evictions, 2);
    free_world(&world);

    policy = teller();
    policy.ops.evict.release = release_missing;
    make_world(&world, &policy);
    expect_blame(&world, STATUS_CHECK, "policy 'teller' answers release() with block 3: it is not resident");
}

static const struct policy admission = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_ADMIT,
    .name = "not-1",
    .state_size = no_state,
    .init = no_init,
    .ops.admit = {tell_admit},
};

/* The rule is asked first; what it refuses the policy is not asked for. */
static void the_admission_rule_is_asked_first(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = teller();
    policy.ops.evict.admit = tell_own_admit;
    make_world(&world, &policy);
    world.spec.admit.policy = &admission;
    run_world(&world);
    assert_string_equal(told, "m0 A0 a0 i0 m1 A1 m2 A2 a2 i2 m3 A3 a3 h0 m1 A1 h2 m3 A3 a3 ");
    assert_int_equal(world.result.numbers.uncacheable, 4);
    free_world(&world);
}

static uint32_t plan_last(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self, (void)max;
    out[0] = view->block_count - 1;
    return 1;
}

static uint32_t reach_three(const void *self, const struct policy_view *view)
{
    (void)self, (void)view;
    return 3;
}

static struct policy fetcher(uint32_t (*plan)(void *, const struct policy_view *, block_id *, uint32_t))
{
    return (struct policy){
        .abi = POLICY_ABI,
        .size = sizeof(struct policy),
        .kind = POLICY_PREFETCH,
        .name = "fetcher",
        .state_size = no_state,
        .init = no_init,
        .ops.prefetch = {reach_three, plan},
    };
}

/* Block 3 is fetched in vain and gives way to block 1, once the command that it has in flight is done. */
static void a_prefetch_gives_way_to_a_demand(void **state)
{
    (void)state;
    const int64_t load_ns = 1048576; /* of 1 MiB at 1 GB/s */
    struct world world;
    struct policy policy = teller(), fetch = fetcher(plan_last);
    make_world(&world, &policy);
    world.trace.segments[0].repeat = 1;
    world.spec.prefetch.policy = &fetch;
    run_world(&world);
    const struct run_numbers *n = &world.result.numbers;
    assert_string_equal(told, "m0 i0 i3 m1 c3 i1 m2 m3 ");
    assert_true(n->stall_ns == 5 * load_ns && n->virtual_time_ns == 5 * load_ns);
    assert_int_equal(n->peak_weights_bytes, 2 << 20);
    assert_int_equal(n->evictions, 0);
    assert_int_equal(n->uncacheable, 2);
    assert_true(n->bytes_prefetched == 1 << 20 && n->bytes_prefetch_wasted == 1 << 20);
    assert_int_equal(world.result.blocks[3].loads, 2);
    free_world(&world);

    /* In quarters, only the first of which had begun: the rest is never read. */
    policy = teller();
    make_world(&world, &policy);
    world.trace.segments[0].repeat = 1;
    world.spec.prefetch.policy = &fetch;
    world.spec.device.flash.command_bytes = 1 << 18;
    run_world(&world);
    assert_string_equal(told, "m0 i0 i3 m1 c3 i1 m2 m3 ");
    assert_true(n->stall_ns == 4 * load_ns + load_ns / 4);
    assert_true(n->bytes_prefetched == 1 << 18 && n->bytes_prefetch_wasted == 1 << 18);
    free_world(&world);
}

/* A block that could not come in whatever gives way: nothing does. */
static void nothing_gives_way_in_vain(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = teller(), fetch = fetcher(plan_last);
    make_world(&world, &policy);
    world.trace.segments[0].repeat = 1;
    world.spec.prefetch.policy = &fetch;
    world.model.policy_blocks[1].bytes = world.model.blocks[1].bytes = (1 << 20) + 1;
    run_world(&world);
    assert_string_equal(told, "m0 i0 i3 m1 m2 h3 "); /* block 1 is streamed beside both */
    assert_int_equal(world.result.numbers.uncacheable, 2);
    assert_int_equal(world.result.numbers.bytes_prefetch_useful, 1 << 20);
    free_world(&world);
}

/* ---- The view ---- */

static uint32_t check_plan_view(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self, (void)out, (void)max;
    const block_id now = (block_id)(view->step % 4);
    must(view->used_count == 1 && view->used[0] == now);
    must(view->seed == 77 && view->access == view->step);
    must(view->profile && view->profile[2] == 1002);
    const uint64_t left = 7 - view->step;
    must(view->ahead_steps == (left < 3 ? left : 3));
    for (uint32_t i = 0; i < view->ahead_steps; i++)
        must(view->ahead_end[i] == i + 1 && view->ahead[i] == (now + 1 + i) % 4);
    /* Each block comes again after four accesses, and no longer after the second time. */
    for (block_id b = 0; b < 4; b++)
        must(view->next_use[b] == (view->access < b ? b : view->access < b + 4u ? b + 4u : NEXT_USE_NEVER));
    return 0;
}

static void check_access(void *self, const struct policy_view *view, block_id b)
{
    (void)self;
    must(view->access == view->step && view->access % 4 == b);
    must(view->next_use[b] == (view->access < 4 ? b + 4u : NEXT_USE_NEVER));
    tell('x', b);
}

static void the_view_shows_what_was_asked_for(void **state)
{
    (void)state;
    static const uint64_t profile[] = {1000, 1001, 1002, 1003};
    struct world world;
    struct policy policy = evict_policy("watcher", answer_none), fetch = fetcher(check_plan_view);
    told[0] = '\0';
    policy.ops.evict.on_hit = policy.ops.evict.on_miss = check_access;
    fetch.needs = POLICY_NEEDS_FUTURE | POLICY_NEEDS_PROFILE;
    make_world(&world, &policy);
    for (uint32_t i = 0; i < world.trace.use_count; i++)
        world.trace.uses[i] |= USE_UNSEEN; /* the future is known all the same */
    world.spec.prefetch.policy = &fetch;
    world.spec.profile = profile;
    world.spec.seed = 77;
    run_world(&world);
    assert_string_equal(told, "x0 x1 x2 x3 x0 x1 x2 x3 ");
    free_world(&world);
}

static void remark(const void *self, const struct policy_view *view, char *line, size_t size)
{
    (void)self;
    snprintf(line, size, "holds %llu bytes", (unsigned long long)view->budget_bytes);
}

static void the_remark_is_the_runs_note(void **state)
{
    (void)state;
    struct world world;
    struct policy policy = evict_policy("talker", answer_none);
    policy.ops.evict.remark = remark;
    make_world(&world, &policy);
    run_world(&world);
    assert_string_equal(world.result.numbers.note, "holds 2097152 bytes");
    free_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(releases_are_evictions),
        cmocka_unit_test(the_admission_rule_is_asked_first),
        cmocka_unit_test(a_prefetch_gives_way_to_a_demand),
        cmocka_unit_test(nothing_gives_way_in_vain),
        cmocka_unit_test(the_view_shows_what_was_asked_for),
        cmocka_unit_test(the_remark_is_the_runs_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
