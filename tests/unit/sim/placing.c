/* Runs with an allocator: what activations, blocks and the KV cache take of its space, what gives way where no hole is
 * large enough, and what that costs. */
#include "placing_world.h"

/* 40 steps of 1 MiB of activations: once with reuse, 40 times without, and again from one in the next token; with an
 * allocator or without. */
static void activations_are_reused_or_not(void **state)
{
    (void)state;
    static const uint64_t one[] = {1000};
    for (int variant = 0; variant < 4; variant++) {
        bool reuse = variant & 1, placed = variant & 2;
        struct place place;
        make(&place, one, 1, NULL, 40, 3, MIB);
        place.world.spec.loader.allocator = placed ? ALLOCATOR_BUDDY : ALLOCATOR_NONE;
        place.world.spec.loader.arena_bytes = 64 * MIB;
        place.world.spec.loader.keep_activations = !reuse;
        const struct run_numbers *n = run(&place);
        assert_int_equal(n->outcome, OUTCOME_COMPLETED);
        assert_int_equal(n->peak_activation_bytes, reuse ? MIB : 40 * MIB);
        assert_int_equal(n->peak_memory_bytes, n->peak_activation_bytes + 1000);
        assert_int_equal(n->least_hole_bytes, !placed ? -1 : reuse ? 32 * MIB : 16 * MIB);
        assert_int_equal(n->alloc_failures, 0);
        const struct run_result *result = &place.world.result;
        assert_int_equal(result->samples[result->sample_count - 1].class_bytes[MEMORY_ACTIVATION], MIB);
        free_world(&place.world);
    }
}

/* Kept activations count like any memory: the step whose activations are too many dies. */
static void kept_activations_may_kill(void **state)
{
    (void)state;
    static const uint64_t one[] = {1000};
    for (int keep = 0; keep < 2; keep++) {
        struct place place;
        make(&place, one, 1, NULL, 40, 3, MIB);
        place.world.spec.loader.allocator = ALLOCATOR_NONE;
        place.world.spec.loader.keep_activations = keep;
        place.world.spec.device.pressure.rule = KILL_THRESHOLD;
        place.world.spec.device.pressure.threshold_bytes = 20 * MIB + 1000;
        const struct run_numbers *n = run(&place);
        assert_int_equal(n->outcome, keep ? OUTCOME_KILLED : OUTCOME_COMPLETED);
        assert_int_equal(n->accesses, keep ? 20 : 120);
        assert_int_equal(n->peak_activation_bytes, keep ? 21 * MIB : MIB);
        free_world(&place.world);
    }
}

/* What zram takes of them is theirs still: they are the segment's again when the token ends. */
static void kept_activations_go_from_zram_too(void **state)
{
    (void)state;
    static const uint64_t one[] = {1000};
    struct place place;
    make(&place, one, 1, NULL, 40, 3, MIB);
    place.world.spec.loader.allocator = ALLOCATOR_NONE;
    place.world.spec.loader.keep_activations = true;
    struct pressure_spec *pressure = &place.world.spec.device.pressure;
    place.world.spec.device.ram_bytes = 32 * MIB;
    pressure->zram_bytes = 64 * MIB;
    pressure->zram_ratio_ppm = 4000000;
    const struct run_numbers *n = run(&place);
    assert_int_equal(n->outcome, OUTCOME_COMPLETED);
    assert_true(n->bytes_swapped_out >= 10 * MIB);
    assert_true(n->peak_activation_bytes < 32 * MIB);
    assert_int_equal(n->peak_footprint_bytes, 40 * MIB + 1000);
    const struct sample_numbers *last = &place.world.result.samples[place.world.result.sample_count - 1];
    assert_int_equal(last->class_bytes[MEMORY_ACTIVATION] + last->swap_used_bytes, MIB);
    free_world(&place.world);
}

/* Four blocks fill the space; of the two used least recently each leaves a hole of half of what the last block needs.
 * Without compaction a third block has to go; with it two move, which takes the time of reading and writing them. */
static void holes_cost_an_eviction_or_a_copy(void **state)
{
    (void)state;
    enum { SMALL = MIB - 16, LARGE = 2 * MIB - 16 };
    static const uint64_t sizes[] = {SMALL, SMALL, SMALL, SMALL, LARGE};
    static const uint32_t uses[] = {0, 1, 2, 3, 1, 3, 4, 1, 3};
    int64_t stall_ns[2];
    for (int compact = 0; compact < 2; compact++) {
        struct place place;
        make(&place, sizes, 5, uses, 9, 1, 0);
        place.world.spec.loader.budget_bytes = 4 * MIB;
        place.world.spec.loader.arena_bytes = 4 * MIB;
        place.world.spec.loader.compact = compact;
        const struct run_numbers *n = run(&place);
        assert_int_equal(n->evictions, compact ? 2 : 3);
        assert_int_equal(n->misses, compact ? 5 : 6); /* block 1 comes again */
        assert_int_equal(n->alloc_compactions, compact);
        assert_int_equal(n->alloc_moved_bytes, compact ? 2 * MIB : 0);
        assert_int_equal(n->alloc_failures > 0, !compact);
        stall_ns[compact] = n->stall_ns;
        assert_int_equal(n->peak_weights_bytes <= 4 * MIB, true);
        int64_t read_ns = (int64_t)n->bytes_read; /* at 1 byte a ns, nothing computes */
        assert_int_equal(stall_ns[compact] - read_ns, compact ? 2 * 2 * MIB : 0);
        assert_int_equal(n->alloc_ns, stall_ns[compact] - read_ns);
        assert_int_equal(n->alloc_hole_failures, n->alloc_failures);
        assert_int_equal(n->alloc_calls, n->misses + n->alloc_failures);
        free_world(&place.world);
    }
}

/* A policy that gives up blocks 0 and 2 only. */
static block_id answer_even(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self;
    (void)incoming;
    for (block_id b = 0; b <= 2; b += 2)
        if (policy_may_evict(view, b))
            return b;
    return BLOCK_NONE;
}

/* The same holes, and no further victim: the block is streamed, until compaction makes it fit. */
static void without_a_victim_a_block_is_streamed(void **state)
{
    (void)state;
    enum { SMALL = MIB - 16, LARGE = 2 * MIB - 16 };
    static const uint64_t sizes[] = {SMALL, SMALL, SMALL, SMALL, LARGE};
    static const uint32_t uses[] = {0, 1, 2, 3, 4, 4};
    const struct policy policy = evict_policy("even", answer_even);
    for (int when = EVICT_BEFORE_INSERT; when <= EVICT_AFTER_STEP; when++) {
        for (int compact = 0; compact < 2; compact++) {
            struct place place;
            make(&place, sizes, 5, uses, 6, 1, 0);
            place.world.spec.evict = (struct bound_part){.policy = &policy};
            place.world.spec.loader.arena_bytes = 4 * MIB;
            place.world.spec.loader.compact = compact;
            place.world.spec.loader.evict_when = (enum evict_when)when;
            const struct run_numbers *n = run(&place);
            assert_int_equal(n->uncacheable, compact ? 0 : 2);
            assert_int_equal(n->hits, compact ? 1 : 0);
            assert_int_equal(n->evictions, 2);
            assert_int_equal(n->alloc_failures, compact ? 2 : 4); /* once for each victim, once at the end */
            assert_int_equal(n->peak_external_fragmentation_bytes >= MIB, true);
            /* Two holes of MIB, or none: of what is free, what the larger does not hold. */
            const struct run_result *result = &place.world.result;
            assert_int_equal(result->samples[result->sample_count - 1].external_fragmentation_bytes,
                             compact ? 0 : MIB + 16);
            free_world(&place.world);
        }
    }
}

/* Activations that no eviction makes room for end the run; so does a KV cache, and a block of the load phase. */
static void what_must_have_a_range_kills(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {MIB, MIB};
    struct place place;
    make(&place, sizes, 2, NULL, 2, 3, 2 * MIB);
    place.world.spec.loader.arena_bytes = 2 * MIB; /* less the header */
    const struct run_numbers *n = run(&place);
    assert_int_equal(n->outcome, OUTCOME_KILLED);
    assert_string_equal(n->killed_by, "allocator");
    assert_string_equal(n->killed_phase, "decode");
    assert_int_equal(n->alloc_failures, 1);
    assert_int_equal(n->misses, 0);
    free_world(&place.world);

    make(&place, sizes, 2, NULL, 2, 3, MIB);
    place.world.spec.loader.arena_bytes = 2 * MIB + 16; /* the activations, or a block, but never both */
    n = run(&place);
    assert_int_equal(n->outcome, OUTCOME_COMPLETED);
    assert_int_equal(n->uncacheable, 6);
    free_world(&place.world);

    make(&place, sizes, 2, NULL, 2, 600, 0); /* a third range of KV at token 513 */
    place.world.spec.loader.arena_bytes = 2 * MIB + 64;
    place.world.trace.kv_bytes_per_token = MIB / 256;
    n = run(&place);
    assert_string_equal(n->killed_by, "allocator");
    assert_int_equal(n->tokens, 512);
    assert_int_equal(n->peak_kv_bytes, 2 * MIB);
    free_world(&place.world);

    make(&place, sizes, 2, NULL, 2, 1, 0);
    place.world.spec.loader.mode = LOADER_READ;
    place.world.spec.loader.arena_bytes = 2 * MIB;
    n = run(&place);
    assert_string_equal(n->killed_by, "allocator");
    assert_string_equal(n->killed_phase, "load");
    free_world(&place.world);
}

/* A call takes its time from the compute thread: of each block that is missed, each step's activations, each range of
 * the KV cache; the load phase takes it as load time. */
static void calls_take_time(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000, 1000};
    struct place place;
    make(&place, sizes, 2, NULL, 4, 2, MIB);
    place.world.spec.loader.arena_bytes = 1024 * MIB;
    place.world.spec.loader.alloc_ns = 7;
    place.world.trace.kv_bytes_per_token = 10;
    const struct run_numbers *n = run(&place);
    assert_int_equal(n->stall_ns, 2 * 1000 + 7 * (2 + 8 + 1));
    free_world(&place.world);

    make(&place, sizes, 2, NULL, 4, 2, 0);
    place.world.spec.loader.mode = LOADER_READ;
    place.world.spec.loader.arena_bytes = 1024 * MIB;
    place.world.spec.loader.alloc_ns = 7;
    n = run(&place);
    assert_int_equal(n->load_ns, 2 * 1000 + 7 * 2);
    assert_int_equal(n->stall_ns, 0);
    free_world(&place.world);
}

/* Prefetches are placed by other threads; a step's demands are read when all of its calls are done, even where a lane
 * comes free before. */
static void prefetches_do_not_wait_for_calls(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000, 1000, 1000, 1000};
    struct place place;
    make(&place, sizes, 4, NULL, 4, 1, 0);
    bind_prefetch(&place, "prefetch-next");
    place.world.spec.loader.alloc_ns = 7;
    const struct run_numbers *n = run(&place);
    assert_int_equal(n->delayed_hits, 3);
    assert_int_equal(n->stall_ns, 4 * 1000 + 7);
    free_world(&place.world);

    static const uint32_t uses[] = {0, 2 | USE_UNSEEN, 1 | SAME_STEP};
    make(&place, sizes, 4, uses, 3, 1, 0);
    bind_prefetch(&place, "prefetch-next");
    place.world.spec.loader.alloc_ns = 5000;
    n = run(&place);
    assert_int_equal(n->delayed_hits, 1); /* block 1, which comes while the call for block 2 goes on */
    assert_int_equal(n->stall_ns, 2 * (5000 + 1000));
    free_world(&place.world);
}

/* What a prefetch's compaction copies is under the compute thread's hands: it waits, at the next step, while the block
 * is read. */
static void copies_for_prefetches_are_waited_for(void **state)
{
    (void)state;
    enum { SMALL = MIB - 16, LARGE = 2 * MIB - 16 };
    static const uint64_t sizes[] = {SMALL, SMALL, SMALL, SMALL, LARGE};
    static const uint32_t uses[] = {0, 1, 2, 3, 1, 3, 4, 1};
    for (int fast = 0; fast < 2; fast++) {
        struct place place;
        make(&place, sizes, 5, uses, 8, 1, 0);
        bind_prefetch(&place, "prefetch-next");
        place.world.spec.loader.budget_bytes = 4 * MIB;
        place.world.spec.loader.arena_bytes = 4 * MIB;
        place.world.spec.loader.compact = true;
        place.world.spec.device.memory_bps = fast ? UINT64_C(4000000000) : 1000000000;
        const struct run_numbers *n = run(&place);
        assert_int_equal(n->misses, 1);
        assert_int_equal(n->delayed_hits, fast ? 4 : 3);
        assert_int_equal(n->alloc_compactions, 1);
        assert_int_equal(n->alloc_moved_bytes, 2 * MIB);
        assert_int_equal(n->stall_ns, 4 * SMALL + (fast ? LARGE : 2 * 2 * MIB)); /* the longer of read and copy */
        free_world(&place.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_are_reused_or_not),
        cmocka_unit_test(kept_activations_may_kill),
        cmocka_unit_test(kept_activations_go_from_zram_too),
        cmocka_unit_test(holes_cost_an_eviction_or_a_copy),
        cmocka_unit_test(without_a_victim_a_block_is_streamed),
        cmocka_unit_test(what_must_have_a_range_kills),
        cmocka_unit_test(calls_take_time),
        cmocka_unit_test(prefetches_do_not_wait_for_calls),
        cmocka_unit_test(copies_for_prefetches_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
