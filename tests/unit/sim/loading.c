/* From file to first token, by hand: four blocks of 1 MB on a flash of 1 GB/s, so that a block's read takes 1 ms. */
#include "tests/unit/sim/mapped_world.h"

enum { MB = 1000000, MS = 1000000, GBPS = 1000000000 };

/* Blocks embed, layer1, layer2 and lm_head; a step of 5 ms for each; `mode` with one lane and whole reads. */
static void make(struct mapped_world *world, enum loader_mode mode)
{
    mapped_world_make(world, "embed:1MB layer1:1MB layer2:1MB lm_head:1MB", 2, 64);
    world->trace.works[0].fixed_ns = 5 * MS;
    world->spec.device.pressure = (struct pressure_spec){.rule = KILL_NONE};
    world->spec.device.alloc_bps = GBPS;
    world->spec.device.checksum_bps = GBPS;
    world->spec.device.copy_bps = GBPS;
    world->spec.device.repack_bps = GBPS;
    world->spec.device.parse_bps = 50 * MB;
    world->spec.loader = (struct loader){
        .mode = mode, .budget_bytes = 3 * MB, .lanes = 1, .prefetch_lanes = 1, .align_bytes = 1, .processes = 1};
    if (mode == LOADER_CHUNKED)
        mapped_world_policy(world, "lru");
}

static void compute_thread_does_one_block_after_the_other(void **state)
{
    (void)state;
    struct mapped_world world;
    make(&world, LOADER_READ);
    world.spec.loader.stages = STAGE_ALLOC | STAGE_COPY;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->load_ns, 4 * 3 * MS);
    assert_int_equal(numbers->stage_alloc_ns, 4 * MS);
    assert_int_equal(numbers->stage_init_ns, 4 * MS);
    assert_int_equal(numbers->load_10_ns, 3 * MS);
    assert_int_equal(numbers->load_50_ns, 6 * MS);
    assert_int_equal(numbers->load_100_ns, 12 * MS);
    assert_int_equal(numbers->ttft_ns, 12 * MS + 20 * MS);
    assert_int_equal(numbers->first_layer_ns, 12 * MS + 5 * MS);
    mapped_world_free(&world);
}

static void threads_work_beside_the_reads(void **state)
{
    (void)state;
    /* Reads are done at 1, 2, 3 and 4 ms; one thread is busy from 1 ms on; two take turns; three never wait. */
    static const int64_t load_ms[] = {9, 6, 6};
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct mapped_world world;
        make(&world, LOADER_READ);
        world.spec.loader.stages = STAGE_CHECKSUM | STAGE_REPACK;
        world.spec.loader.loader_threads = threads;
        const struct run_numbers *numbers = mapped_world_run(&world);
        assert_int_equal(numbers->load_ns, load_ms[threads - 1] * MS);
        assert_int_equal(numbers->load_50_ns, (threads == 1 ? 5 : 4) * MS);
        assert_int_equal(numbers->stage_init_ns, 8 * MS);
        mapped_world_free(&world);
    }
}

static void without_stages_threads_do_not_matter(void **state)
{
    (void)state;
    for (uint32_t threads = 0; threads <= 2; threads++) {
        struct mapped_world world;
        make(&world, LOADER_READ);
        world.spec.loader.loader_threads = threads;
        assert_int_equal(mapped_world_run(&world)->load_ns, 4 * MS);
        mapped_world_free(&world);
    }
}

static void rest_comes_behind_compute(void **state)
{
    (void)state;
    struct mapped_world world;
    make(&world, LOADER_READ);
    world.spec.loader.first_chunk = FIRST_LAYERS;
    world.spec.loader.first_layers = 0;
    world.spec.loader.overlap = OVERLAP_PREFETCH;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->load_ns, 1 * MS);
    assert_int_equal(numbers->stall_ns, 0);
    assert_int_equal(numbers->ttft_ns, 21 * MS);
    assert_int_equal(numbers->bytes_prefetched, 3 * MB);
    assert_int_equal(numbers->bytes_prefetch_useful, 3 * MB);
    assert_int_equal(numbers->hits, 8);
    assert_int_equal(numbers->load_100_ns, 4 * MS);
    mapped_world_free(&world);

    make(&world, LOADER_READ);
    world.spec.loader.first_chunk = FIRST_BYTES;
    world.spec.loader.first_bytes = MB + 1;
    world.spec.loader.overlap = OVERLAP_NONE; /* each comes when it is asked for */
    numbers = mapped_world_run(&world);
    assert_int_equal(numbers->load_ns, 2 * MS);
    assert_int_equal(numbers->stall_ns, 2 * MS);
    assert_int_equal(numbers->misses, 2);
    assert_int_equal(numbers->bytes_prefetched, 0);
    mapped_world_free(&world);
}

static void pinned_blocks_hold_their_room_before_they_come(void **state)
{
    (void)state;
    struct mapped_world world;
    make(&world, LOADER_CHUNKED);
    mapped_world_policy(&world, "lru+blocks(layer2,lm_head)");
    world.spec.loader.first_chunk = FIRST_LAYERS;
    world.spec.loader.overlap = OVERLAP_NONE;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->load_ns, 0);
    /* Two pins of 1 MB are reserved, so one block has room beside them. */
    assert_int_equal(numbers->peak_weights_bytes, 3 * MB);
    assert_int_equal(world.result.blocks[2].loads, 1);
    assert_int_equal(world.result.blocks[3].loads, 1);
    assert_int_equal(world.result.blocks[0].loads, 2);
    assert_int_equal(world.result.blocks[1].loads, 2);
    assert_int_equal(numbers->misses, 6);
    mapped_world_free(&world);
}

static void preload_fills_the_budget_in_the_file_s_order(void **state)
{
    (void)state;
    struct mapped_world world;
    make(&world, LOADER_CHUNKED);
    world.spec.loader.preload = PRELOAD_ALL;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->load_ns, 3 * MS);
    assert_int_equal(world.result.tokens[0].hits, 3);
    assert_int_equal(numbers->first_layer_ns, 3 * MS + 5 * MS);
    mapped_world_free(&world);

    static const block_id named[] = {3, 1};
    make(&world, LOADER_CHUNKED);
    world.spec.loader.preload = PRELOAD_BLOCKS;
    world.spec.loader.preload_blocks = named;
    world.spec.loader.preload_count = 2;
    numbers = mapped_world_run(&world);
    assert_int_equal(numbers->load_ns, 2 * MS);
    assert_int_equal(world.result.tokens[0].hits, 1); /* layer2 takes the place of lm_head */
    assert_int_equal(world.result.blocks[1].hits, 1);
    mapped_world_free(&world);
}

static void prefetched_blocks_wait_for_the_compute_thread(void **state)
{
    (void)state;
    struct mapped_world world;
    make(&world, LOADER_CHUNKED);
    mapped_world_policy(&world, "lru+next");
    world.spec.loader.budget_bytes = 4 * MB;
    world.spec.loader.overlap = OVERLAP_PREFETCH;
    world.spec.loader.stages = STAGE_COPY;
    const struct run_numbers *numbers = mapped_world_run(&world);
    /* The first is read and copied; the others are read while the one before computes, and copied at their use. */
    assert_int_equal(numbers->stall_ns, 2 * MS + 3 * MS);
    assert_int_equal(numbers->misses, 1);
    assert_int_equal(numbers->hits, 7);
    assert_int_equal(numbers->stage_init_ns, 4 * MS);
    mapped_world_free(&world);
}

static void end_of_the_file_is_warm(void **state)
{
    (void)state;
    struct mapped_world world;
    make(&world, LOADER_READ);
    world.spec.loader.warm_ppm = 500000;
    world.spec.device.copy_bps = 4 * (uint64_t)GBPS;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->load_ns, 2 * MS + 2 * MS / 4);
    assert_int_equal(numbers->bytes_warm, 2 * MB);
    assert_int_equal(numbers->bytes_read, 2 * MB);
    mapped_world_free(&world);

    make(&world, LOADER_READ);
    world.spec.loader.warm_ppm = 500000;
    world.spec.loader.align_bytes = 512; /* direct I/O */
    numbers = mapped_world_run(&world);
    assert_int_equal(numbers->bytes_warm, 0);
    assert_true(numbers->load_ns >= 4 * MS);
    mapped_world_free(&world);
}

static void warm_pages_are_there_as_far_as_memory_goes(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "8 x 1MiB", 1, 64);
    world.spec.loader.warm_ppm = 1000000;
    const struct run_numbers *numbers = mapped_world_run(&world);
    assert_int_equal(numbers->bytes_warm, 8 << 20);
    assert_int_equal(numbers->bytes_read, 0);
    assert_int_equal(numbers->major_faults, 0);
    assert_int_equal(numbers->load_100_ns, 0);
    mapped_world_free(&world);

    mapped_world_make(&world, "8 x 1MiB", 1, 6);
    world.spec.loader.warm_ppm = 1000000;
    numbers = mapped_world_run(&world);
    assert_true(numbers->bytes_warm > 5 << 20 && numbers->bytes_warm < 6 << 20);
    assert_true(numbers->bytes_read >= 2 << 20 && numbers->major_faults > 0);
    assert_true(numbers->peak_resident_bytes <= 6 << 20);
    mapped_world_free(&world);
}

/* Of five MiB the last half of the first one, which is the header, and all others. */
static void header_of_a_mapped_file_is_warm(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "4 x 1MiB", 1, 64);
    world.model.file_bytes += 1 << 20;
    world.spec.loader.stages = STAGE_PARSE;
    world.spec.loader.warm_ppm = 900000;
    world.spec.device.parse_bps = 1000 * MB;
    world.spec.device.copy_bps = 2000 * MB;
    const struct run_numbers *numbers = mapped_world_run(&world);
    const int64_t half = 512 << 10;
    assert_int_equal(numbers->parse_ns, half + half / 2 + 2 * half);
    assert_int_equal(numbers->bytes_warm, 9 * half);
    assert_int_equal(numbers->bytes_read, half + half); /* and these pages, which are the first block's too */
    mapped_world_free(&world);
}

static void header_and_file_system_cost_time(void **state)
{
    (void)state;
    static const enum loader_mode modes[] = {LOADER_READ, LOADER_MMAP};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct mapped_world world;
        mapped_world_make(&world, "4 x 1MiB", 1, 64);
        const int64_t plain_ns = mapped_world_run(&world)->load_ns;
        world.model.file_bytes += 100000;
        world.spec.loader.mode = modes[i];
        world.spec.loader.stages = STAGE_PARSE;
        world.spec.device.parse_bps = 50 * MB;
        world.spec.device.fs_read_ns = 25000;
        world.spec.device.fs_fault_ns = 15000;
        const struct run_numbers *numbers = mapped_world_run(&world);
        const int64_t header_ns = 25000 + 100000 + 2 * MS;
        assert_int_equal(plain_ns, 0);
        assert_int_equal(numbers->parse_ns, header_ns);
        if (modes[i] == LOADER_READ) {
            assert_int_equal(numbers->bytes_read, 100000 + (4 << 20));
            assert_int_equal(numbers->load_ns, header_ns + 4 * (WORLD_MIB_NS + 25000));
        } else { /* readahead goes on to the end of the file, which has 25 pages more */
            assert_int_equal(numbers->bytes_read, 100000 + (4 << 20) + 25 * 4096);
            assert_int_equal(numbers->load_ns, header_ns);
        }
        mapped_world_free(&world);
    }
}

/* The page cache outlives the app; what it does at launch comes again. */
static void app_that_is_started_anew_launches_again(void **state)
{
    (void)state;
    static const enum loader_mode modes[] = {LOADER_READ, LOADER_MMAP};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct mapped_world world;
        make(&world, modes[i]);
        world.model.file_bytes += 100000;
        world.spec.device.page_bytes = 4096;
        world.spec.loader.stages = STAGE_PARSE | STAGE_COPY;
        world.spec.loader.loader_threads = 2;
        world.spec.loader.warm_ppm = modes[i] == LOADER_MMAP ? 1000000 : 0;
        world.trace.segments[0].away = AWAY_RESTART;
        const struct run_numbers *numbers = mapped_world_run(&world);
        assert_int_equal(numbers->restarts, 1);
        assert_int_equal(numbers->parse_ns, 2 * (100000 + 2 * MS));
        if (modes[i] == LOADER_READ) {
            assert_int_equal(numbers->load_ns, 2 * (100000 + 2 * MS + 5 * MS));
            assert_int_equal(numbers->stage_init_ns, 8 * MS);
            assert_int_equal(numbers->load_100_ns, 100000 + 2 * MS + 5 * MS);
        } else {
            assert_true(numbers->bytes_warm >= 4 * MB && numbers->bytes_warm < 5 * MB);
            assert_int_equal(numbers->bytes_read, 0);
        }
        mapped_world_free(&world);
    }
}

/* Readahead for the app that was ended may have the whole queue of the flash. */
static void header_waits_for_a_place_in_the_queue(void **state)
{
    (void)state;
    struct mapped_world world;
    mapped_world_make(&world, "4 x 1MiB", 1, 64);
    world.model.file_bytes += 100000;
    world.spec.device.flash.queue_depth = 1;
    world.spec.device.parse_bps = 50 * MB;
    world.spec.loader.stages = STAGE_PARSE;
    world.spec.loader.madvise = MADVISE_WILLNEED; /* nobody waits for what it reads */
    world.trace.segments[0].away = AWAY_RESTART;
    const struct run_numbers *numbers = mapped_world_run(&world);
    /* 512 KiB are in flight after the first header; the second one comes when they are done. */
    assert_int_equal(numbers->parse_ns, 2 * (100000 + 2 * MS) + (512 << 10));
    assert_int_equal(numbers->load_ns, numbers->parse_ns);
    mapped_world_free(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compute_thread_does_one_block_after_the_other),
        cmocka_unit_test(threads_work_beside_the_reads),
        cmocka_unit_test(without_stages_threads_do_not_matter),
        cmocka_unit_test(rest_comes_behind_compute),
        cmocka_unit_test(pinned_blocks_hold_their_room_before_they_come),
        cmocka_unit_test(preload_fills_the_budget_in_the_file_s_order),
        cmocka_unit_test(prefetched_blocks_wait_for_the_compute_thread),
        cmocka_unit_test(end_of_the_file_is_warm),
        cmocka_unit_test(warm_pages_are_there_as_far_as_memory_goes),
        cmocka_unit_test(header_of_a_mapped_file_is_warm),
        cmocka_unit_test(header_and_file_system_cost_time),
        cmocka_unit_test(app_that_is_started_anew_launches_again),
        cmocka_unit_test(header_waits_for_a_place_in_the_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
