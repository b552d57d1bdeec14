/* Runs on random phones, mapped and not: whatever happens to them, their books add up, and they come out the same
 * twice. POCKETLOAD_SEED=N reruns the case of one seed; POCKETLOAD_CASES=N sets how many there are. */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "sim/apps.h"
#include "tests/unit/sim/mapped_world.h"

enum { CASES = 1000 };

static uint64_t between(struct rng *rng, uint64_t least, uint64_t most)
{
    return least + rng_below(rng, most - least + 1);
}

static bool chance(struct rng *rng, unsigned percent)
{
    return rng_below(rng, 100) < percent;
}

static void make_pressure(struct mapped_world *world, struct rng *rng, struct app_spec *apps)
{
    struct device *device = &world->spec.device;
    struct pressure_spec *pressure = &device->pressure;
    uint64_t ram = device->ram_bytes;
    pressure->rule = (enum kill_rule)rng_below(rng, KILL_MEMORY_LIMITER + 1);
    pressure->threshold_bytes = between(rng, 1, ram);
    pressure->jetsam_limit_bytes = between(rng, 1, ram);
    pressure->max_bytes = between(rng, ram / 4, ram);
    pressure->high_bytes = chance(rng, 50) ? 0 : between(rng, 1, pressure->max_bytes);
    pressure->swap_free_low_ppm = 100000;
    pressure->thrashing_limit_ppm = (uint32_t)between(rng, 1000, 1000000);
    pressure->thrashing_decay_ppm = 100000;
    pressure->kill_timeout_ns = 1000000;
    pressure->min_free_bytes = between(rng, 4096, ram / 32);
    pressure->watermark_scale = (uint32_t)rng_below(rng, 100);
    pressure->zram_bytes = chance(rng, 50) ? 0 : between(rng, 4096, ram);
    pressure->zram_ratio_ppm = (uint32_t)between(rng, 1000000, 4000000);
    pressure->swap_in_ns = pressure->swap_out_ns = (int64_t)rng_below(rng, 10000);
    pressure->swappiness = (uint32_t)rng_below(rng, 201);
    pressure->own_adj = chance(rng, 50) ? 0 : 900;
    pressure->apps = apps;
    pressure->app_count = chance(rng, 50) ? 0 : (uint32_t)between(rng, 1, 4);
    for (uint32_t i = 0; i < pressure->app_count; i++) {
        apps[i] = (struct app_spec){.adj = (int32_t)between(rng, 0, 1500) - 500,
                                    .bytes = between(rng, 1, ram / 8),
                                    .start_ns = (int64_t)rng_below(rng, 20000000),
                                    .growth_bps = chance(rng, 50) ? 0 : between(rng, 1 << 20, 1 << 30)};
        apps[i].most_bytes = apps[i].bytes + between(rng, 0, ram / 2);
        snprintf(apps[i].name, sizeof apps[i].name, "app%u", i);
    }
}

/* Not mapped after all; or with an allocator. */
static void choose_mode(struct mapped_world *world, struct rng *rng)
{
    static const char *const policies[] = {"lru", "fifo", "lru+next(depth=2)", "lru+blocks(0,1)+next"};
    struct loader *loader = &world->spec.loader;
    loader->allocator = chance(rng, 70) ? ALLOCATOR_NONE : (enum allocator_kind)between(rng, 1, ALLOCATOR_MALLOC);
    loader->alloc_ns = (int64_t)rng_below(rng, 10000);
    loader->keep_activations = chance(rng, 50);
    world->spec.device.memory_bps = 1000000000;
    if (chance(rng, 60))
        return;
    loader->mode = chance(rng, 20) ? LOADER_READ : LOADER_CHUNKED;
    loader->budget_bytes = between(rng, 1, world->model.weights_bytes);
    loader->lanes = (uint32_t)between(rng, 1, 4);
    loader->prefetch_lanes = (uint32_t)between(rng, 1, loader->lanes);
    loader->overlap = (enum overlap)rng_below(rng, OVERLAP_BLOCKS + 1);
    loader->evict_when = chance(rng, 30) ? EVICT_AFTER_STEP : EVICT_BEFORE_INSERT;
    world->spec.pin.policy = NULL;
    mapped_world_policy(world, policies[rng_below(rng, 4)]);
}

static void make_case(struct mapped_world *world, struct rng *rng, struct app_spec *apps)
{
    static const char *const models[] = {"8 x 1MiB", "40 x 100001B", "a:3MiB b:5000B c:1B d:2MiB e:700KiB"};
    static const uint64_t pages[] = {0, 4096, 16384, 65536, 2 << 20};
    mapped_world_make(world, models[rng_below(rng, 3)], (uint32_t)between(rng, 1, 12), between(rng, 3, 20));
    struct device *device = &world->spec.device;
    struct loader *loader = &world->spec.loader;
    struct segment *segment = &world->trace.segments[0];
    if (chance(rng, 70))
        make_pressure(world, rng, apps);
    if (chance(rng, 30))
        mapped_world_pin(world, chance(rng, 50) ? "lru+blocks(0,1)" : "lru+blocks(3,1,4)");
    device->os_reserve_bytes = chance(rng, 50) ? 0 : between(rng, 0, device->ram_bytes / 8);
    device->runtime_bytes = between(rng, 0, device->ram_bytes / 8);
    device->memlock_bytes = chance(rng, 50) ? UINT64_MAX : between(rng, 0, 4 << 20);
    device->prefault_young = chance(rng, 50);
    device->readahead_bytes = between(rng, 0, 256 << 10);
    device->fault_around_bytes = between(rng, 0, 128 << 10);
    device->willneed_bytes = between(rng, 0, 4 << 20);
    device->scan_page_ns = (int64_t)rng_below(rng, 2000);
    device->tlb_miss_ns = (int64_t)rng_below(rng, 50);
    device->flash.queue_depth = (uint32_t)between(rng, 1, 8);
    device->flash.setup_ns = (int64_t)rng_below(rng, 100000);
    loader->madvise = (enum madvise)rng_below(rng, MADVISE_POPULATE + 1);
    loader->lists = (enum page_lists)rng_below(rng, LISTS_MGLRU + 1);
    loader->layout = chance(rng, 50) ? LAYOUT_FILE : LAYOUT_HOT_FIRST;
    loader->page_bytes = pages[rng_below(rng, chance(rng, 90) ? 4 : 5)];
    loader->stride_bytes = chance(rng, 80) ? 0 : between(rng, 1, 1 << 20);
    loader->processes = chance(rng, 70) ? 1 : (uint32_t)between(rng, 2, 4);
    world->trace.kv_bytes_per_token = rng_below(rng, 200000);
    segment->activation_bytes = rng_below(rng, 500000);
    segment->context_growth = 1;
    segment->idle_ns = chance(rng, 50) ? 0 : (int64_t)rng_below(rng, 30000000);
    choose_mode(world, rng);
}

static void check_tokens(const struct run_result *result, uint64_t load_bytes_read)
{
    const struct run_numbers *numbers = &result->numbers;
    struct token_numbers sum = {0};
    int64_t latency_ns = 0;
    for (uint64_t i = 0; i < result->token_count; i++) {
        const struct token_numbers *row = &result->tokens[i];
        latency_ns += row->latency_ns;
        sum.stall_ns += row->stall_ns;
        sum.accesses += row->accesses;
        sum.hits += row->hits;
        sum.bytes_read += row->bytes_read;
        assert_true(row->stall_ns <= row->latency_ns);
    }
    assert_int_equal(sum.accesses, numbers->accesses);
    assert_int_equal(sum.hits, numbers->hits);
    assert_int_equal(sum.stall_ns, numbers->stall_ns);
    assert_int_equal(latency_ns, numbers->stall_ns + numbers->compute_ns);
    assert_true(sum.bytes_read <= numbers->bytes_read);
    assert_true(load_bytes_read == UINT64_MAX || sum.bytes_read + load_bytes_read == numbers->bytes_read);
}

static void check_result(const struct mapped_world *world)
{
    const struct run_result *result = &world->result;
    const struct run_numbers *numbers = &result->numbers;
    const bool mapped = world->spec.loader.mode == LOADER_MMAP;
    const bool eager = world->spec.loader.mode == LOADER_READ || world->spec.loader.madvise == MADVISE_WILLNEED ||
                       world->spec.loader.madvise == MADVISE_POPULATE || world->spec.pin.policy;
    uint64_t accesses = 0, loads = 0, block_bytes = 0;
    check_tokens(result, eager ? UINT64_MAX : 0);
    for (uint32_t b = 0; b < world->model.block_count; b++) {
        accesses += result->blocks[b].accesses;
        loads += result->blocks[b].loads;
        block_bytes += result->blocks[b].bytes_read;
    }
    assert_int_equal(accesses, numbers->accesses);
    if (mapped)
        assert_int_equal(loads, numbers->misses);
    assert_true(block_bytes <= numbers->bytes_read);
    assert_true(numbers->refaults <= numbers->evictions);
    assert_true(numbers->peak_memory_bytes == numbers->peak_resident_bytes);
    assert_int_equal(numbers->outcome == OUTCOME_COMPLETED, strlen(numbers->killed_by) == 0);
    assert_int_equal(numbers->apps_killed, result->kill_count);
    for (uint32_t i = 1; i < result->kill_count; i++)
        assert_true(result->kills[i].time_ns >= result->kills[i - 1].time_ns);
    for (uint32_t i = 0; i < result->sample_count; i++) {
        const struct sample_numbers *row = &result->samples[i];
        uint64_t sum = 0;
        for (int class = 0; class < MEMORY_CLASSES; class ++)
            sum += row->class_bytes[class];
        uint64_t ram = world->spec.device.ram_bytes;
        assert_int_equal(row->free_bytes, sum < ram ? ram - sum : 0);
        assert_true(numbers->outcome != OUTCOME_COMPLETED || !mapped || sum <= ram);
        assert_true(row->flash_bytes <= numbers->bytes_read);
        assert_true(i == 0 || row->flash_bytes >= row[-1].flash_bytes);
    }
}

static void books_add_up(void **state)
{
    (void)state;
    const char *seed_text = getenv("POCKETLOAD_SEED"), *cases_text = getenv("POCKETLOAD_CASES");
    uint64_t first = seed_text ? strtoull(seed_text, NULL, 10) : 1, outcomes[OUTCOMES] = {0}, evicted = 0, killed = 0;
    uint64_t cases = seed_text ? 1 : cases_text ? strtoull(cases_text, NULL, 10) : CASES;
    for (uint64_t seed = first; seed < first + cases; seed++) {
        struct mapped_world world;
        struct app_spec apps[4];
        struct rng rng;
        rng_seed(&rng, seed, 0);
        make_case(&world, &rng, apps);
        if (seed_text || cases_text)
            print_message("# seed %llu\n", (unsigned long long)seed);
        if (engine_run(&world.spec, &world.arena, &world.result, &world.err)) {
            struct run_numbers numbers = world.result.numbers;
            check_result(&world);
            arena_free(&world.arena);
            mapped_world_run(&world);
            assert_memory_equal(&numbers, &world.result.numbers, sizeof numbers);
            outcomes[numbers.outcome]++;
            evicted += numbers.evictions > 0;
            killed += numbers.apps_killed > 0;
        } else {
            assert_non_null(strstr(world.err.text, "at the start")); /* apps that do not fit */
        }
        mapped_world_free(&world);
    }
    if (cases == CASES) /* the cases are of all kinds */
        assert_true(outcomes[OUTCOME_COMPLETED] > 100 && outcomes[OUTCOME_KILLED] > 20 &&
                    outcomes[OUTCOME_REJECTED] > 0 && evicted > 50 && killed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(books_add_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
