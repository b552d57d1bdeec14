/* A phone that is half as fast in everything takes twice as long for everything: over random small configs, with all
 * rates halved and all other times doubled, every time doubles. Exactly where quotients are whole nanoseconds;
 * elsewhere within one nanosecond for each quotient that is rounded (docs/models.md section 8). */
#include <stddef.h>
#include <stdio.h>

#include "base/rng.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/random_case.h"

enum { CASES = 4000 };
#define FIRST_SEED 300000u

static void run_case(const struct random_case *c, struct arena *arena, struct run_result *result)
{
    struct error err;
    if (!engine_run(&c->spec, arena, result, &err))
        fail_because("seed %llu: %s", (unsigned long long)c->seed, err.text);
}

/* ---- Twice as slow ---- */

enum { RATES = 9 + 2 * TENSOR_TYPES_MAX };

static void rates_of(struct random_case *c, uint64_t *rates[RATES])
{
    struct device *device = &c->spec.device;
    uint64_t *const some[] = {&device->flash.stream_bps, &device->flash.max_bps, &device->memory_bps,
                              &device->alloc_bps,        &device->parse_bps,     &device->checksum_bps,
                              &device->copy_bps,         &device->repack_bps};
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        rates[count++] = some[i];
    for (uint32_t t = 0; t < TENSOR_TYPES_MAX; t++)
        rates[count++] = &device->flops_rate[t];
    for (uint32_t t = 0; t < TENSOR_TYPES_MAX; t++)
        rates[count++] = &device->memory_rate[t];
    rates[count] = NULL;
}

static void make_slower(struct random_case *c)
{
    uint64_t *rates[RATES];
    struct device *device = &c->spec.device;
    int64_t *const times[] = {&device->flash.setup_ns,    &device->flash.hot_after_ns, &device->fs_read_ns,
                              &device->fs_fault_ns,       &device->minor_fault_ns,     &device->major_fault_ns,
                              &device->heat.hot_after_ns, &device->scan_page_ns,       &device->tlb_miss_ns};
    rates_of(c, rates);
    for (uint32_t i = 0; rates[i] != NULL; i++)
        *rates[i] /= 2;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] *= 2;
    for (uint32_t s = 0; s < c->trace.segment_count; s++)
        c->trace.segments[s].idle_ns *= 2;
    for (uint32_t w = 0; w < c->trace.work_count; w++)
        if (c->trace.works[w].fixed_ns >= 0)
            c->trace.works[w].fixed_ns *= 2;
}

/* ---- Comparison ---- */

struct field {
    const char *name;
    size_t offset;
};
#define FIELD(name)                                                                                                    \
    {                                                                                                                  \
#name, offsetof(struct run_numbers, name)                                                                      \
    }
static const struct field times[] = {
    FIELD(virtual_time_ns), FIELD(load_ns),     FIELD(compute_ns),     FIELD(stall_ns),      FIELD(idle_ns),
    FIELD(ttft_ns),         FIELD(tpot_p50_ns), FIELD(tpot_p95_ns),    FIELD(tpot_p99_ns),   FIELD(tpot_total_ns),
    FIELD(flash_busy_ns),   FIELD(load_10_ns),  FIELD(load_50_ns),     FIELD(load_90_ns),    FIELD(load_100_ns),
    FIELD(first_layer_ns),  FIELD(parse_ns),    FIELD(stage_alloc_ns), FIELD(stage_init_ns),
};
static const struct field counts[] = {
    FIELD(tokens),
    FIELD(accesses),
    FIELD(hits),
    FIELD(delayed_hits),
    FIELD(misses),
    FIELD(bytes_accessed),
    FIELD(evictions),
    FIELD(bytes_read),
    FIELD(bytes_prefetched),
    FIELD(uncacheable),
    FIELD(bytes_warm),
    FIELD(bytes_prefetch_useful),
    FIELD(major_faults),
    FIELD(minor_faults),
    FIELD(bytes_prefetch_late),
    FIELD(refaults),
    FIELD(peak_memory_bytes),
};

static int64_t field_of(const struct run_result *result, const struct field *field)
{
    return *(const int64_t *)(const void *)((const char *)&result->numbers + field->offset);
}

static bool same_counts(const struct run_result *fast, const struct run_result *slow)
{
    bool same = fast->numbers.outcome == slow->numbers.outcome && fast->token_count == slow->token_count;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        same = same && field_of(fast, &counts[i]) == field_of(slow, &counts[i]);
    return same;
}

/* What the slow run takes more than twice the fast one's time; 0 where there is none (-1). */
static int64_t beyond(const struct run_result *fast, const struct run_result *slow, const struct field *field)
{
    const int64_t a = field_of(fast, field), b = field_of(slow, field);
    return a < 0 && b < 0 ? 0 : b - 2 * a;
}

static void doubles(const struct random_case *c, const struct run_result *fast, const struct run_result *slow)
{
    const unsigned long long seed = (unsigned long long)c->seed;
    if (!same_counts(fast, slow)) {
        random_case_print(c, stdout);
        fail_because("seed %llu: the slow phone counts otherwise", seed);
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (beyond(fast, slow, &times[i]) != 0) {
            random_case_print(c, stdout);
            fail_because("seed %llu: %s %lld -> %lld", seed, times[i].name, (long long)field_of(fast, &times[i]),
                         (long long)field_of(slow, &times[i]));
        }
    for (uint64_t i = 0; i < fast->token_count; i++)
        if (slow->tokens[i].latency_ns != 2 * fast->tokens[i].latency_ns ||
            slow->tokens[i].stall_ns != 2 * fast->tokens[i].stall_ns)
            fail_because("seed %llu: token %llu does not take twice the time", seed, (unsigned long long)i);
}

/* ---- Whole nanoseconds ---- */

/* All rates divide a billion, halved too, so that any number of bytes takes whole nanoseconds. */
static void make_whole(struct random_case *c)
{
    static const uint64_t whole_bps[] = {20000000, 50000000, 100000000, 200000000, 250000000, 500000000, 1000000000};
    enum { WHOLE_RATES = sizeof whole_bps / sizeof *whole_bps };
    uint64_t *rates[RATES];
    struct rng rng;
    rng_seed(&rng, c->seed, 3);
    rates_of(c, rates);
    for (uint32_t i = 0; rates[i] != NULL; i++)
        *rates[i] = whole_bps[rng_below(&rng, WHOLE_RATES)];
    struct flash_spec *flash = &c->spec.device.flash;
    flash->max_bps = flash->max_bps < flash->stream_bps ? flash->stream_bps : flash->max_bps;
    flash->hot_factor_ppm = rng_below(&rng, 2) == 0 ? 500000 : 250000;
    c->spec.device.heat.factor_ppm = rng_below(&rng, 2) == 0 ? 500000 : 250000;
    c->spec.device.heat.cool_ppm = (uint32_t)(rng_below(&rng, 4) * 1000000);
    /* Shares are rounded: of a step's compute, and of what a round of drafts takes. */
    if (c->spec.loader.overlap == OVERLAP_BLOCKS)
        c->spec.loader.overlap = OVERLAP_PREFETCH;
    for (uint32_t i = 0; i < c->trace.segment_count; i++)
        c->trace.segments[i].drafted = c->trace.segments[i].accepted = 0;
}

static void each_whole_case(void (*change)(struct random_case *c))
{
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + CASES; seed++) {
        struct random_case c;
        struct arena arenas[2] = {{0}, {0}};
        struct run_result fast, slow;
        random_case_make(&c, seed);
        make_whole(&c);
        if (change != NULL)
            change(&c);
        run_case(&c, &arenas[0], &fast);
        make_slower(&c);
        run_case(&c, &arenas[1], &slow);
        doubles(&c, &fast, &slow);
        arena_free(&arenas[0]);
        arena_free(&arenas[1]);
        random_case_free(&c);
    }
}

static void whole_times_double(void **state)
{
    (void)state;
    each_whole_case(NULL);
}

/* A mapped file under a limit, on the same phone; its steps compute nothing, as their compute is shared among pages. */
static void map(struct random_case *c)
{
    struct device *device = &c->spec.device;
    struct rng rng;
    rng_seed(&rng, c->seed, 4);
    c->spec.evict = c->spec.pin = c->spec.prefetch = c->spec.admit = (struct bound_part){0};
    c->spec.loader.mode = LOADER_MMAP;
    c->spec.loader.processes = (uint32_t)rng_below(&rng, 2) + 1;
    c->spec.loader.madvise = (enum madvise)rng_below(&rng, MADVISE_POPULATE + 1);
    device->page_bytes = 4096;
    device->readahead_bytes = UINT64_C(4096) << rng_below(&rng, 6);
    device->fault_around_bytes = UINT64_C(4096) << rng_below(&rng, 5);
    device->willneed_bytes = 512 << 10;
    device->minor_fault_ns = (int64_t)rng_below(&rng, 2000);
    device->major_fault_ns = (int64_t)rng_below(&rng, 4000);
    device->scan_page_ns = (int64_t)rng_below(&rng, 60);
    device->fs_fault_ns = (int64_t)rng_below(&rng, 9000);
    device->memlock_bytes = device->address_space_bytes = UINT64_MAX;
    device->os_reserve_bytes = device->other_apps_bytes = 0;
    device->pressure = (struct pressure_spec){.rule = KILL_MEMORY_LIMITER};
    device->pressure.max_bytes =
        2 * device->runtime_bytes + 1000000 + c->model.weights_bytes / 4 + rng_below(&rng, c->model.weights_bytes);
    for (uint32_t w = 0; w < c->trace.work_count; w++)
        c->trace.works[w].fixed_ns = 0;
}

static void whole_times_of_mapped_runs_double(void **state)
{
    (void)state;
    each_whole_case(map);
}

/* ---- Any rates ---- */

/* Quotients that a run rounds: of each command (a read's, or a piece of a prefetch), each stage of a load, each copy,
 * each step, and one for each block of a step whose compute is shared. */
static uint64_t roundings(const struct random_case *c, const struct run_result *result)
{
    const struct loader *loader = &c->spec.loader;
    uint64_t count = 2 + result->numbers.accesses;
    for (uint32_t s = 0; s < c->trace.segment_count; s++)
        count += (uint64_t)c->trace.segments[s].repeat * c->trace.segments[s].step_count;
    for (block_id b = 0; b < c->model.block_count; b++) {
        const struct block *block = &c->model.blocks[b];
        uint64_t reads = 5; /* the stages of a load, and one read that is cut where the page cache's part begins */
        for (uint32_t e = block->first_extent; e < block->first_extent + block->extent_count; e++)
            reads += loader->read_bytes > 0
                         ? (c->model.extents[e].bytes + 2 * loader->align_bytes) / loader->read_bytes + 1
                         : 1;
        count += result->blocks[b].loads * reads;
    }
    const uint64_t header = c->model.file_bytes - c->model.weights_bytes;
    return count + (loader->read_bytes > 0 ? header / loader->read_bytes + 3 : 3);
}

/* Without prefetches what a run does depends on the trace alone, however long it takes; with them, an event that comes
 * a nanosecond sooner may come before another. */
static bool is_smooth(const struct random_case *c)
{
    const struct loader *loader = &c->spec.loader;
    bool rest = loader->first_chunk != FIRST_ALL || loader->preload != PRELOAD_NONE;
    bool prefetches = loader->overlap != OVERLAP_NONE && (c->spec.prefetch.policy || rest);
    return !prefetches && loader->preload == PRELOAD_NONE;
}

static void any_time_doubles_within_its_roundings(void **state)
{
    (void)state;
    uint64_t cases = 0, exact = 0;
    int64_t most = 0;
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + 3 * CASES; seed++) {
        struct random_case c;
        struct arena arenas[2] = {{0}, {0}};
        struct run_result fast, slow;
        uint64_t *rates[RATES];
        random_case_make(&c, seed);
        c.spec.device.heat.mode = HEAT_OFF; /* a device that gets hot does so before one step, or the next */
        rates_of(&c, rates);
        for (uint32_t i = 0; rates[i] != NULL; i++)
            *rates[i] = (*rates[i] + 1) / 2 * 2;
        run_case(&c, &arenas[0], &fast);
        make_slower(&c);
        run_case(&c, &arenas[1], &slow);
        if (is_smooth(&c)) {
            const int64_t bound = (int64_t)roundings(&c, &fast);
            int64_t off = 0;
            assert_true(same_counts(&fast, &slow));
            for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
                const int64_t one = beyond(&fast, &slow, &times[i]);
                off = one > off ? one : -one > off ? -one : off;
            }
            if (off > bound) {
                random_case_print(&c, stdout);
                fail_because("seed %llu: %lld ns off twice the time, with %lld roundings", (unsigned long long)seed,
                             (long long)off, (long long)bound);
            }
            most = off > most ? off : most;
            cases++;
            exact += off == 0;
        }
        arena_free(&arenas[0]);
        arena_free(&arenas[1]);
        random_case_free(&c);
    }
    print_message("# %llu cases, %llu exact, %lld ns off at most\n", (unsigned long long)cases,
                  (unsigned long long)exact, (long long)most);
    assert_true(cases >= 1000 && exact < cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_times_double),
        cmocka_unit_test(whole_times_of_mapped_runs_double),
        cmocka_unit_test(any_time_doubles_within_its_roundings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
