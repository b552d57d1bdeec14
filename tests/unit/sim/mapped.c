/* Runs of a mapped file: what is read and when, limits, processes, mlock, what cannot be mapped; and the same run made
 * of plain walks over the page cache. */
#include <string.h>

#include "policies/registry.h"
#include "tests/unit/sim/mapped_world.h"

static void file_that_fits_is_read_once(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 3, 64);
    const struct run_numbers *numbers = mapped_world_run(&world);
    const struct token_numbers *tokens = world.result.tokens;
    assert_int_equal(numbers->outcome, OUTCOME_COMPLETED);
    assert_int_equal(world.result.token_count, 3);
    assert_int_equal(numbers->bytes_read, 8 << 20);
    /* One fault, then each window is read by a touch of the one before: never absent, but not yet there. */
    assert_int_equal(tokens[0].major_faults, 1);
    assert_true(tokens[0].minor_faults >= (8 << 20) / (64 << 10) - 1);
    assert_int_equal(tokens[0].bytes_read, 8 << 20);
    assert_true(tokens[0].stall_ns > 0);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(tokens[i].major_faults, 0);
        assert_int_equal(tokens[i].minor_faults, 0);
        assert_int_equal(tokens[i].bytes_read, 0);
        assert_int_equal(tokens[i].hits, 8);
        assert_int_equal(tokens[i].stall_ns, 0);
        assert_int_equal(tokens[i].latency_ns, 8 * WORLD_STEP_NS);
    }
    assert_int_equal(numbers->misses, 1);
    assert_int_equal(numbers->delayed_hits, 7);
    assert_int_equal(numbers->hits, 16);
    assert_int_equal(numbers->compute_ns, 3 * 8 * WORLD_STEP_NS);
    assert_int_equal(numbers->evictions, 0);
    assert_int_equal(numbers->peak_file_bytes, 8 << 20);
    /* 4 tables of 2 MiB each and 32 nodes of 576 bytes, in whole pages. */
    assert_int_equal(numbers->peak_page_tables_bytes, (4 * 4096 + 32 * 576) / 4096 * 4096);
    assert_int_equal(numbers->peak_resident_bytes,
                     numbers->peak_file_bytes + numbers->peak_page_tables_bytes + WORLD_RUNTIME);
    assert_int_equal(numbers->peak_footprint_bytes, numbers->peak_page_tables_bytes + WORLD_RUNTIME);
    assert_int_equal(world.result.blocks[0].loads, 1);
    assert_int_equal(world.result.blocks[3].accesses, 3);
    mapped_world_free(&world);
}

/* Blocks that reads wait for nowhere: the file is read before they are touched. */
static void populate_reads_before_the_first_token(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 2, 64);
    world.spec.loader.madvise = MADVISE_POPULATE;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->hits, 16);
    assert_int_equal(numbers->bytes_read, 8 << 20);
    assert_int_equal(world.result.tokens[0].bytes_read, 0);
    assert_true(numbers->load_ns >= 8 * WORLD_MIB_NS);
    assert_int_equal(numbers->stall_ns, 0);
    assert_int_equal(numbers->ttft_ns, numbers->load_ns + 8 * WORLD_STEP_NS);
    arena_free(&world.arena);

    world.spec.loader.madvise = MADVISE_WILLNEED;
    world.spec.device.willneed_bytes = 3 << 20;
    numbers = mapped_world_run(&world);
    assert_int_equal(numbers->load_ns, 0); /* nobody waits for what it asks */
    assert_int_equal(numbers->bytes_read, 8 << 20);
    assert_int_equal(world.result.tokens[0].bytes_read, 5 << 20);
    assert_int_equal(numbers->hits + numbers->delayed_hits + numbers->misses, 16);
    mapped_world_free(&world);
}

static void limit_reads_all_again_and_again(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 6, 4);
    world.spec.loader.madvise = MADVISE_RANDOM;
    const struct run_numbers *numbers = mapped_world_run(&world);
    for (uint64_t i = 0; i < world.result.token_count; i++) {
        assert_int_equal(world.result.tokens[i].major_faults, 2048);
        assert_int_equal(world.result.tokens[i].bytes_read, 8 << 20);
        assert_int_equal(world.result.tokens[i].hits, 0);
    }
    assert_int_equal(numbers->misses, 48);
    assert_int_equal(numbers->refaults, 5 * 2048);
    assert_true(numbers->evictions >= 6 * 2048 - 1024);
    assert_true(numbers->peak_resident_bytes <= 4 << 20);
    assert_true(numbers->peak_resident_bytes > (4 << 20) - (256 << 10));
    mapped_world_free(&world);
}

static void processes_share_what_is_read(void **state)
{
    (void)state;
    struct mapped_world one, two;
    mapped_world_make(&one, "8 x 1MiB", 2, 64);
    mapped_world_make(&two, "8 x 1MiB", 2, 64);
    two.spec.loader.processes = 2;
    for (int i = 0; i < 2; i++) {
        struct trace *trace = i == 0 ? &one.trace : &two.trace;
        trace->kv_bytes_per_token = 1000;
        trace->segments[0].context_growth = 1;
        trace->segments[0].activation_bytes = 5000;
    }
    const struct run_numbers *a = mapped_world_run(&one), *b = mapped_world_run(&two);
    assert_int_equal(b->bytes_read, a->bytes_read);
    assert_int_equal(b->major_faults, 1);
    assert_true(b->minor_faults >= a->minor_faults + (8 << 20) / (64 << 10));
    assert_int_equal(a->process_count, 1);
    assert_int_equal(a->processes[0].minor_faults, a->minor_faults);
    assert_int_equal(b->process_count, 2);
    assert_int_equal(b->processes[0].major_faults, 1); /* the first reads all, the second finds it there */
    assert_int_equal(b->processes[1].major_faults, 0);
    assert_int_equal(b->processes[0].minor_faults, a->minor_faults);
    assert_int_equal(b->processes[1].minor_faults, b->minor_faults - a->minor_faults);
    for (int i = 0; i < 2; i++)
        assert_int_equal(b->processes[i].table_bytes, 4 * 4096);
    assert_int_equal(b->peak_file_bytes, a->peak_file_bytes);
    assert_int_equal(b->peak_page_tables_bytes, a->peak_page_tables_bytes + 4 * 4096);
    assert_int_equal(a->peak_kv_bytes, 2 * 1000);
    assert_int_equal(b->peak_kv_bytes, 2 * 2 * 1000);
    assert_int_equal(b->peak_activation_bytes, 2 * 5000);
    assert_int_equal(b->tokens, a->tokens);
    assert_int_equal(b->accesses, 2 * a->accesses);
    assert_int_equal(b->compute_ns, 2 * a->compute_ns);
    assert_int_equal(b->ttft_ns, a->ttft_ns); /* process 0's */
    assert_int_equal(two.result.tokens[1].accesses, 16);
    assert_int_equal(two.result.tokens[1].latency_ns, 2 * one.result.tokens[1].latency_ns);
    assert_int_equal(two.result.samples[0].class_bytes[MEMORY_RUNTIME], 2 * WORLD_RUNTIME);
    mapped_world_free(&one);
    mapped_world_free(&two);
}

static void locked_blocks_stay(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 4, 4);
    mapped_world_pin(&world, "lru+blocks(0,1)");
    world.spec.loader.madvise = MADVISE_RANDOM;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_COMPLETED);
    assert_string_equal(numbers->note, "");
    assert_true(numbers->load_ns >= 2 * WORLD_MIB_NS);
    for (uint64_t i = 0; i < world.result.token_count; i++) {
        assert_int_equal(world.result.tokens[i].bytes_read, 6 << 20);
        assert_int_equal(world.result.tokens[i].hits, 2);
    }
    arena_free(&world.arena);

    world.spec.device.memlock_bytes = 3 << 19;
    numbers = mapped_world_run(&world);
    assert_string_equal(numbers->note, "mlock: 1.50 MiB of 2.00 MiB: device.memlock");
    assert_int_equal(world.result.tokens[3].bytes_read, (8 << 20) - (3 << 19));
    mapped_world_free(&world);

    /* What lies in a page that is locked already is locked too. */
    mapped_world_make(&world, "a:1B b:2MiB c:1B d:1B", 1, 4);
    mapped_world_pin(&world, "lru+blocks(0,2,3)");
    world.spec.device.memlock_bytes = 2 * 4096;
    assert_string_equal(mapped_world_run(&world)->note, "");
    arena_free(&world.arena);
    world.spec.device.memlock_bytes = 4096;
    assert_string_equal(mapped_world_run(&world)->note, "mlock: 4.00 KiB of 8.00 KiB: device.memlock");
    mapped_world_free(&world);
}

/* Whatever the kill rule. */
static void a_runtime_above_all_memory_is_rejected(void **state)
{
    (void)state;
    static const enum kill_rule rules[] = {KILL_NONE, KILL_THRESHOLD, KILL_LMKD, KILL_JETSAM, KILL_MEMORY_LIMITER};
    static const char *const killers[] = {"oom", "threshold", "lmkd", "jetsam", "memory_limiter"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct mapped_world world;
        mapped_world_make(&world, "8 x 1MiB", 1, 4);
        world.spec.device.pressure.rule = rules[i];
        world.spec.device.pressure.threshold_bytes = world.spec.device.pressure.jetsam_limit_bytes = 4 << 20;
        world.spec.device.runtime_bytes = (4 << 20) + 1;
        const struct run_numbers *numbers = mapped_world_run(&world);
        assert_int_equal(numbers->outcome, OUTCOME_REJECTED);
        assert_string_equal(numbers->killed_by, killers[i]);
        assert_string_equal(numbers->killed_phase, "");
        assert_int_equal(numbers->peak_memory_bytes, (4 << 20) + 1);
        mapped_world_free(&world);
    }
}

static void locking_more_than_there_is_kills(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 4, 4);
    mapped_world_pin(&world, "lru+blocks(0,1,2,3,4,5)");
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_KILLED);
    assert_string_equal(numbers->killed_by, "memory_limiter");
    assert_string_equal(numbers->killed_phase, "load");
    assert_int_equal(world.result.token_count, 0);
    mapped_world_free(&world);

    /* On a phone, by its out-of-memory killer. */
    mapped_world_make(&world, "8 x 1MiB", 4, 4);
    mapped_world_pin(&world, "lru+blocks(0,1,2,3,4,5)");
    world.spec.device.pressure.rule = KILL_NONE;
    world.spec.device.pressure.min_free_bytes = 65536;
    numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_KILLED);
    assert_string_equal(numbers->killed_by, "oom");
    assert_true(numbers->peak_resident_bytes > (4 << 20) - (64 << 10));
    mapped_world_free(&world);
}

static void too_large_a_map_is_rejected(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 1, 64);
    world.spec.device.address_space_bytes = (8 << 20) - 1;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_REJECTED);
    assert_string_equal(numbers->killed_by, "map_failed");
    assert_string_equal(numbers->killed_phase, "");
    assert_int_equal(numbers->accesses, 0);
    arena_free(&world.arena);
    world.spec.device.address_space_bytes++;
    assert_int_equal(mapped_world_run(&world)->outcome, OUTCOME_COMPLETED);
    mapped_world_free(&world);
}

static void stride_and_granule(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "4 x 1MiB", 2, 64);
    world.spec.loader.madvise = MADVISE_RANDOM;
    world.spec.loader.stride_bytes = (64 << 10) - 1; /* rounded up to pages */
    world.spec.device.tlb_miss_ns = 7;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->major_faults, 4 * 16);
    assert_int_equal(numbers->bytes_read, 4 * 16 * 4096);
    assert_int_equal(numbers->compute_ns, 2 * 4 * (WORLD_STEP_NS + 16 * 7));
    arena_free(&world.arena);

    world.spec.loader.stride_bytes = 0;
    world.spec.loader.page_bytes = 64 << 10;
    numbers = mapped_world_run(&world);
    assert_int_equal(numbers->major_faults, 4 * 16);
    assert_int_equal(numbers->bytes_read, 4 << 20);
    assert_int_equal(numbers->compute_ns, 2 * 4 * (WORLD_STEP_NS + 16 * 7));
    mapped_world_free(&world);
}

static void growing_context_takes_pages_and_then_kills(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 12, 10);
    world.trace.kv_bytes_per_token = 1 << 20;
    world.trace.segments[0].context_growth = 1;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->outcome, OUTCOME_KILLED);
    assert_string_equal(numbers->killed_by, "memory_limiter");
    /* 10 MiB less the runtime hold 9 MiB of it and nothing else; a token needs some page. */
    assert_true(world.result.token_count == 10 || world.result.token_count == 9);
    assert_true(world.result.tokens[0].bytes_read == 8 << 20);
    assert_true(numbers->evictions > 0);
    assert_true(numbers->peak_resident_bytes <= 11 << 20);
    mapped_world_free(&world);
}

/* The same run, made of nothing but walks: every page of every step, whatever is known of it. */
static void walk_plainly(struct mapped_world *world, const struct page_cache_spec *spec, uint64_t limit_pages,
                         struct page_counts *counts, int64_t *now_ns)
{
    struct page_cache *cache;
    struct flash flash;
    const struct model *model = &world->model;
    *now_ns = 0;
    flash_init(&flash, &world->spec.device.flash);
    assert_true(page_cache_init(&cache, spec, &flash, now_ns, &world->arena, &world->err));
    page_cache_set_limit(cache, limit_pages);
    for (uint32_t repeat = 0; repeat < world->trace.segments[0].repeat; repeat++) {
        for (uint32_t q = 0; q < spec->processes; q++) {
            for (uint32_t b = 0; b < model->block_count; b++) {
                const struct extent *extent = &model->extents[model->blocks[b].first_extent];
                struct page_walk walk = {.next = (uint32_t)(extent->offset_bytes / 4096), .stride = 1};
                walk.end = (uint32_t)((extent->offset_bytes + extent->bytes + 4095) / 4096);
                walk.total = walk.end - walk.next;
                walk.compute_ns = WORLD_STEP_NS;
                assert_true(page_cache_touch(cache, q, &walk, INT64_MAX));
            }
        }
    }
    *counts = page_cache_counts(cache);
}

static void as_plain_walks(void **state)
{
    (void)state;
    static const enum madvise advices[] = {MADVISE_NORMAL, MADVISE_SEQUENTIAL, MADVISE_RANDOM};
    static const char *const models[] = {"8 x 1MiB", "40 x 100001B", "a:3MiB b:5000B c:1B d:2MiB e:700KiB"};
    for (unsigned i = 0; i < 144; i++) {
        struct mapped_world world;
        mapped_world_make(&world, models[i % 3], 5, 2 + i / 18 % 4 * 3);
        world.spec.loader.lists = (enum page_lists)(i / 72);
        world.spec.loader.madvise = advices[i / 3 % 3];
        world.spec.loader.processes = 1 + i / 9 % 2;
        uint64_t limit = (world.spec.device.ram_bytes - world.spec.loader.processes * WORLD_RUNTIME) / 4096;
        const struct page_cache_spec spec = {.pages = (uint32_t)((world.model.file_bytes + 4095) / 4096),
                                             .processes = world.spec.loader.processes,
                                             .page_bytes = 4096,
                                             .base_bytes = 4096,
                                             .window_pages = 32,
                                             .around_pages = 16,
                                             .willneed_pages = 32,
                                             .advice = (enum page_advice)(i / 3 % 3),
                                             .lists = world.spec.loader.lists,
                                             .prefault_young = true,
                                             .minor_ns = world.spec.device.minor_fault_ns,
                                             .major_ns = world.spec.device.major_fault_ns,
                                             .scan_ns = world.spec.device.scan_page_ns,
                                             .batch_pages = 32};
        const struct run_numbers *numbers = mapped_world_run(&world);
        struct page_counts counts;
        int64_t now_ns;
        walk_plainly(&world, &spec, limit, &counts, &now_ns);
        assert_int_equal(numbers->outcome, OUTCOME_COMPLETED);
        assert_int_equal(numbers->major_faults, counts.major_faults);
        assert_int_equal(numbers->minor_faults, counts.minor_faults);
        assert_int_equal(numbers->bytes_read, counts.pages_read * 4096);
        assert_int_equal(numbers->evictions, counts.evicted);
        assert_int_equal(numbers->refaults, counts.refaults);
        assert_int_equal(numbers->virtual_time_ns, now_ns);
        mapped_world_free(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_that_fits_is_read_once),
        cmocka_unit_test(populate_reads_before_the_first_token),
        cmocka_unit_test(limit_reads_all_again_and_again),
        cmocka_unit_test(processes_share_what_is_read),
        cmocka_unit_test(locked_blocks_stay),
        cmocka_unit_test(a_runtime_above_all_memory_is_rejected),
        cmocka_unit_test(locking_more_than_there_is_kills),
        cmocka_unit_test(too_large_a_map_is_rejected),
        cmocka_unit_test(stride_and_granule),
        cmocka_unit_test(growing_context_takes_pages_and_then_kills),
        cmocka_unit_test(as_plain_walks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
