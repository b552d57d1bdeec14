/* The allocator's space of a run: how large it is, what lies in it over time, and how prefetches give it up. */
#include "placing_world.h"

/* The space is by default what is asked for at the peak, so nothing fails with buddies of 1 MiB; one byte less does. */
static void the_space_is_what_is_needed(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {MIB, MIB, MIB, MIB};
    for (int less = 0; less < 2; less++) {
        struct place place;
        make(&place, sizes, 4, NULL, 4, 2, MIB);
        place.world.spec.loader.allocator = ALLOCATOR_BUDDY;
        place.world.spec.loader.keep_activations = true;
        place.world.spec.loader.budget_bytes = 4 * MIB;
        place.world.trace.kv_bytes_per_token = MIB / 256;
        if (less)
            place.world.spec.loader.arena_bytes = 9 * MIB - 1;
        const struct run_numbers *n = run(&place);
        assert_int_equal(n->alloc_failures > 0, less);
        assert_int_equal(n->evictions > 0, less); /* one block gives way */
        free_world(&place.world);
    }
}

static uint32_t pin_all(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    (void)self;
    (void)view;
    for (block_id b = 0; b < max; b++)
        out[b] = b;
    return max;
}

static struct policy pin_rule(void)
{
    struct policy pin = evict_policy("all", NULL);
    pin.kind = POLICY_PIN;
    pin.ops.pin.plan = pin_all;
    return pin;
}

/* The budget, the KV cache in ranges of 256 tokens, and the activations, of one step or of all of a token's, with their
 * headers; where steps end above the budget, those of a step too; of a pinned block the header. One block of 1000
 * bytes, 16 bytes of KV a token, three steps. */
static void the_space_by_default(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000};
    enum { BUDGET = 4096, HEADER = 16, BLOCK = 1024 /* in its chunk */ };
    struct policy pin = pin_rule();
    for (int variant = 0; variant < 8; variant++) {
        bool after_step = variant & 1, reuse = variant & 2, pins = variant & 4;
        struct place place;
        make(&place, sizes, 1, NULL, 3, 2, MIB);
        struct loader *loader = &place.world.spec.loader;
        place.world.trace.kv_bytes_per_token = 16;
        place.world.spec.pin.policy = pins ? &pin : NULL;
        loader->budget_bytes = BUDGET;
        loader->keep_activations = !reuse;
        loader->evict_when = after_step ? EVICT_AFTER_STEP : EVICT_BEFORE_INSERT;
        const struct run_numbers *n = run(&place);
        const uint64_t step = after_step ? 1000 : 0, header = pins ? BLOCK - 1000 : 0;
        const uint64_t hole = BUDGET + step + header - BLOCK;
        assert_int_equal(n->least_hole_bytes, hole / 16 * 16 - HEADER);
        free_world(&place.world);
    }
}

/* By default nothing that has to be there fails, whatever its sizes are rounded up to: all weights of the read loader,
 * pinned ones that fill the budget, the KV cache, activations. */
static void by_default_all_fits(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {MIB + 1, 5000, 3 * MIB - 1, 700000, 100, MIB - 5};
    struct policy pin = pin_rule();
    for (int variant = 0; variant < 4 * 2 * 2; variant++) {
        struct place place;
        make(&place, sizes, 6, NULL, 6, 600, 77777);
        struct loader *loader = &place.world.spec.loader;
        loader->allocator = (enum allocator_kind)(ALLOCATOR_FIXED + variant / 4);
        loader->keep_activations = !(variant & 1);
        loader->mode = variant & 2 ? LOADER_READ : LOADER_CHUNKED;
        loader->budget_bytes = place.world.model.weights_bytes;
        place.world.spec.pin.policy = &pin;
        place.world.trace.kv_bytes_per_token = 999;
        const struct run_numbers *n = run(&place);
        assert_int_equal(n->outcome, OUTCOME_COMPLETED);
        assert_int_equal(n->alloc_failures, 0);
        assert_int_equal(n->hits, 3600);
        free_world(&place.world);
    }
}

static void sizes_of_no_class_are_lost_inside(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {MIB + 1, MIB + 1, MIB + 1};
    static const uint64_t lost[] = {
        [ALLOCATOR_FIXED] = 0, [ALLOCATOR_BUDDY] = MIB - 1, [ALLOCATOR_SLAB] = MIB / 8 - 1, [ALLOCATOR_MALLOC] = 31};
    for (int kind = ALLOCATOR_FIXED; kind <= ALLOCATOR_MALLOC; kind++) {
        struct place place;
        make(&place, sizes, 3, NULL, 3, 1, 0);
        place.world.spec.loader.allocator = (enum allocator_kind)kind;
        place.world.spec.loader.arena_bytes = 16 * MIB;
        const struct run_numbers *n = run(&place);
        assert_int_equal(n->peak_internal_fragmentation_bytes, 3 * lost[kind]);
        const struct sample_numbers *last = &place.world.result.samples[place.world.result.sample_count - 1];
        assert_int_equal(last->internal_fragmentation_bytes, 3 * lost[kind]);
        assert_int_equal(last->largest_hole_bytes, n->least_hole_bytes);
        free_world(&place.world);
    }
}

/* A block over the budget is never held, and does not make the slots of a pool larger. */
static void slots_are_for_what_is_held(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000, 5000, 900};
    struct place place;
    make(&place, sizes, 3, NULL, 3, 1, 0);
    place.world.spec.loader.allocator = ALLOCATOR_FIXED;
    place.world.spec.loader.budget_bytes = 2000;
    const struct run_numbers *n = run(&place);
    assert_int_equal(n->uncacheable, 1);
    assert_int_equal(n->peak_internal_fragmentation_bytes, 100);
    free_world(&place.world);
}

/* A segment that needs less does not make it smaller; of a mapped file, each process has its steps. */
static void every_segment_and_process_fits(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {4096};
    static const uint32_t uses[] = {0, 0, 0, 0 | NEW_TOKEN};
    for (uint32_t processes = 0; processes < 3; processes++) {
        struct place place;
        make(&place, sizes, 1, uses, 4, 1, MIB);
        place.world.trace.segments[1].activation_bytes = 1000;
        place.world.trace.kv_bytes_per_token = 16;
        struct loader *loader = &place.world.spec.loader;
        loader->keep_activations = true;
        loader->budget_bytes = 4096;
        if (processes > 0) {
            loader->mode = LOADER_MMAP;
            loader->processes = processes;
            loader->page_bytes = place.world.spec.device.page_bytes = 4096;
            place.world.spec.device.address_space_bytes = UINT64_MAX;
            place.world.spec.device.readahead_bytes = place.world.spec.device.fault_around_bytes = 65536;
        }
        const struct run_numbers *n = run(&place);
        assert_int_equal(n->outcome, OUTCOME_COMPLETED);
        assert_int_equal(n->alloc_failures, 0);
        assert_int_equal(n->peak_activation_bytes, 3 * MIB * (processes > 1 ? processes : 1));
        free_world(&place.world);
    }
}

static const struct sample_numbers *last_sample(const struct place *place)
{
    return &place->world.result.samples[place->world.result.sample_count - 1];
}

/* A token's activations are gone when it ends, but for what the segment has; a shorter context frees ranges of the KV
 * cache. */
static void what_is_not_needed_goes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000};
    static const uint32_t uses[] = {0, 0, 0, 0 | NEW_TOKEN};
    struct place place;
    make(&place, sizes, 1, uses, 4, 1, MIB);
    place.world.spec.loader.arena_bytes = 64 * MIB;
    place.world.spec.loader.keep_activations = true;
    place.world.trace.kv_bytes_per_token = 16;
    place.world.trace.segments[0].context_growth = 1000; /* 4 ranges */
    place.world.trace.segments[1].activation_bytes = 2 * MIB;
    const struct run_numbers *n = run(&place);
    assert_int_equal(n->peak_activation_bytes, 3 * MIB);
    assert_int_equal(n->peak_kv_bytes, 16000);
    assert_int_equal(last_sample(&place)->class_bytes[MEMORY_ACTIVATION], 2 * MIB);
    /* Two ranges of KV with a header of 16 bytes each, and the block with 24 of header and rounding. */
    assert_int_equal(last_sample(&place)->internal_fragmentation_bytes, 2 * 16 + 24);
    free_world(&place.world);
}

/* A prefetch in flight holds the last slot, and nothing is evicted: it is dropped, its command ends, then the demand
 * has the slot. */
static void a_demand_takes_a_prefetch_s_range(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000, 1000, 1000};
    static const uint32_t uses[] = {0, 2 | USE_UNSEEN, 1};
    const struct policy policy = evict_policy("none", answer_none);
    for (int when = EVICT_BEFORE_INSERT; when <= EVICT_AFTER_STEP; when++) {
        struct place place;
        make(&place, sizes, 3, uses, 3, 1, 0);
        bind_prefetch(&place, "prefetch-next(depth=2)");
        place.world.spec.evict = (struct bound_part){.policy = &policy};
        place.world.spec.loader.allocator = ALLOCATOR_FIXED;
        place.world.spec.loader.arena_bytes = 2000;
        place.world.spec.loader.evict_when = (enum evict_when)when;
        const struct run_numbers *n = run(&place);
        assert_int_equal(n->misses, 3);
        assert_int_equal(n->bytes_prefetch_wasted, 1000);
        assert_int_equal(n->uncacheable, 1); /* block 1, at last: blocks 0 and 2 hold the slots */
        assert_int_equal(n->stall_ns, 1000 + (1000 + 1000) + 1000);
        assert_int_equal(n->alloc_failures, 2 + 2); /* block 2, again after the drop; block 1's prefetch, and block 1 */
        free_world(&place.world);
    }
}

/* The same for a range of the KV cache: while the drop is awaited, no other prefetch takes the slot. */
static void a_token_takes_a_prefetch_s_range(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000, 1000, 1000};
    static const uint32_t uses[] = {0, 1 | NEW_TOKEN, 2 | NEW_TOKEN};
    const struct policy policy = evict_policy("none", answer_none);
    struct place place;
    make(&place, sizes, 3, uses, 3, 1, 0);
    bind_prefetch(&place, "prefetch-next(depth=2)");
    place.world.spec.evict = (struct bound_part){.policy = &policy};
    place.world.spec.loader.allocator = ALLOCATOR_FIXED;
    place.world.spec.loader.arena_bytes = 3000;
    place.world.trace.kv_bytes_per_token = 3; /* 768 bytes for 256 tokens */
    const struct run_numbers *n = run(&place);
    assert_int_equal(n->outcome, OUTCOME_COMPLETED);
    assert_int_equal(n->bytes_prefetch_wasted, 1000);
    assert_int_equal(n->uncacheable, 2);
    assert_int_equal(n->stall_ns, 1000 + 1000 + 1000 + 1000);
    assert_int_equal(place.world.result.tokens[1].latency_ns, 2000); /* the wait is the token's */
    free_world(&place.world);
}

static void what_cannot_be_placed_is_an_error(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000};
    struct place place;
    make(&place, sizes, 1, NULL, 1, 1, 0);
    place.world.spec.loader.arena_bytes = UINT64_C(1) << 63;
    expect_blame(&place.world, STATUS_USAGE,
                 "loader.arena: the allocator's space has 9223372036854775808 bytes: expected 1 to "
                 "4611686018427387904");
    make(&place, sizes, 1, NULL, 1, 1, 0);
    place.world.spec.loader.compact = true;
    place.world.spec.device.memory_bps = 0;
    expect_blame(&place.world, STATUS_USAGE, "the device has no rate for memory: expected one, compaction copies");
    make(&place, sizes, 1, NULL, 2, 1, UINT64_C(1) << 50);
    place.world.spec.loader.keep_activations = true;
    expect_blame(&place.world, STATUS_USAGE,
                 "the activations of a token are over 1 PiB: expected less for an allocator");
    make(&place, sizes, 1, NULL, 2, 1, UINT64_C(1) << 50);
    place.world.spec.loader.allocator = ALLOCATOR_NONE;
    place.world.spec.loader.keep_activations = true;
    expect_blame(&place.world, STATUS_USAGE,
                 "the activations of a token are over 1 PiB: expected less for loader.reuse = no");
}

static void too_many_ranges_are_an_error(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000};
    struct place place;
    make(&place, sizes, 1, NULL, 1, 1, 0);
    place.world.trace.kv_bytes_per_token = 1;
    place.world.trace.segments[0].context_growth = UINT32_MAX;
    expect_blame(&place.world, STATUS_USAGE,
                 "the run may hold 16777218 ranges at once: expected at most 16777216 with an allocator");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_space_is_what_is_needed),
        cmocka_unit_test(the_space_by_default),
        cmocka_unit_test(by_default_all_fits),
        cmocka_unit_test(sizes_of_no_class_are_lost_inside),
        cmocka_unit_test(slots_are_for_what_is_held),
        cmocka_unit_test(every_segment_and_process_fits),
        cmocka_unit_test(too_many_ranges_are_an_error),
        cmocka_unit_test(what_is_not_needed_goes),
        cmocka_unit_test(a_demand_takes_a_prefetch_s_range),
        cmocka_unit_test(a_token_takes_a_prefetch_s_range),
        cmocka_unit_test(what_cannot_be_placed_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
