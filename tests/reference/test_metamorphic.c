/* More of what helps never makes a run wait longer, over random small configs: more flash bandwidth, less setup, more
 * memory, smaller weights, another loader thread, a warmer start. Where it may, docs/models.md section 4 says why
 * ("Where more is worse"); here each change is held against a strict class of runs, in which it never does, and in all
 * others it may: of these the test wants to see that it does, so that the classes are as wide as they can be. */
#include <stdio.h>

#include "base/rng.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/random_case.h"

enum { CASES = 6000 };
#define FIRST_SEED 200000u

typedef bool change_fn(struct random_case *c); /* false: it does not apply */
typedef bool strict_fn(const struct random_case *before, const struct run_result results[2],
                       const struct random_case *after);

struct property {
    const char *name;
    change_fn *change;
    strict_fn *strict;
    uint64_t cases_least, worse_least; /* of the strict class, and of the others */
    bool mapped;
};

static int64_t waiting_ns(const struct run_result *result)
{
    return result->numbers.load_ns + result->numbers.stall_ns;
}

/* A run that was killed may live; one that was not is to live on, and wait no longer. */
static bool is_worse(const struct run_result *before, const struct run_result *after)
{
    return before->numbers.outcome == OUTCOME_COMPLETED &&
           (after->numbers.outcome != OUTCOME_COMPLETED || after->numbers.ttft_ns > before->numbers.ttft_ns ||
            waiting_ns(after) > waiting_ns(before));
}

static void run_case(const struct random_case *c, struct arena *arena, struct run_result *result)
{
    struct error err;
    if (!engine_run(&c->spec, arena, result, &err))
        fail_because("seed %llu: %s", (unsigned long long)c->seed, err.text);
}

/* A copy of the page cache is no slower than the flash. */
static void make_case(struct random_case *c, uint64_t seed)
{
    random_case_make(c, seed);
    if (c->spec.device.copy_bps < 4 * c->spec.device.flash.max_bps)
        c->spec.device.copy_bps = 4 * c->spec.device.flash.max_bps;
}

/* The same blocks and steps of a mapped file, in a control group that holds a part of it, or all. */
static void make_mapped(struct random_case *c, uint64_t seed)
{
    struct rng rng;
    struct device *device = &c->spec.device;
    struct loader *loader = &c->spec.loader;
    random_case_make(c, seed);
    rng_seed(&rng, seed, 2);
    c->spec.evict = c->spec.pin = c->spec.prefetch = c->spec.admit = (struct bound_part){0};
    loader->mode = LOADER_MMAP;
    loader->processes = 1;
    loader->warm_ppm = 0;
    loader->madvise = (enum madvise)rng_below(&rng, MADVISE_RANDOM + 1);
    loader->lists = rng_below(&rng, 4) == 0 ? LISTS_MGLRU : LISTS_CLASSIC;
    device->page_bytes = 4096;
    device->readahead_bytes = UINT64_C(4096) << rng_below(&rng, 6);
    device->fault_around_bytes = UINT64_C(4096) << rng_below(&rng, 5);
    device->willneed_bytes = 512 << 10;
    device->prefault_young = rng_below(&rng, 2) == 1;
    device->minor_fault_ns = (int64_t)rng_below(&rng, 2000);
    device->major_fault_ns = (int64_t)rng_below(&rng, 4000);
    device->scan_page_ns = (int64_t)rng_below(&rng, 60);
    device->memlock_bytes = device->address_space_bytes = UINT64_MAX;
    device->os_reserve_bytes = device->other_apps_bytes = 0;
    const uint64_t file_bytes = rng_below(&rng, 3) == 0 ? 5 << 20 : c->model.weights_bytes;
    device->pressure = (struct pressure_spec){.rule = KILL_MEMORY_LIMITER};
    device->pressure.max_bytes = device->runtime_bytes + 600000 + file_bytes / 4 + rng_below(&rng, file_bytes);
}

/* ---- Classes ---- */

static bool has_threads(const struct random_case *c, uint32_t least)
{
    return (c->spec.loader.stages & ~(uint32_t)STAGE_PARSE) != 0 && c->spec.loader.loader_threads >= least;
}

/* Blocks may come before they are asked for: what is there, or in flight, at a moment depends on times. */
static bool may_prefetch(const struct random_case *c)
{
    const struct loader *loader = &c->spec.loader;
    bool chunked = loader->mode == LOADER_CHUNKED;
    bool rest = loader->first_chunk != FIRST_ALL && (!chunked || c->spec.pin.policy || loader->preload != PRELOAD_NONE);
    return loader->overlap != OVERLAP_NONE && ((chunked && c->spec.prefetch.policy) || rest);
}

/* The policy gives up blocks as the start-up set arrives: which of it are there by then depends on times. */
static bool may_release(const struct random_case *c)
{
    const struct loader *loader = &c->spec.loader;
    return loader->mode == LOADER_CHUNKED && loader->preload != PRELOAD_NONE && c->choice.evict == NAIVE_CAPPED;
}

/* Demands alone, initialised in the order in which they arrive by one thread at most. */
static bool on_demand(const struct random_case *before, const struct run_result results[2],
                      const struct random_case *after)
{
    (void)results;
    (void)after;
    return !may_prefetch(before) && !may_release(before) && !has_threads(before, 2);
}

static bool always(const struct random_case *before, const struct run_result results[2],
                   const struct random_case *after)
{
    (void)before;
    (void)results;
    (void)after;
    return true;
}

static bool no_prefetch(const struct random_case *before, const struct run_result results[2],
                        const struct random_case *after)
{
    (void)results;
    (void)after;
    return !may_prefetch(before) && !may_release(before);
}

/* LRU holds what was used last, of smaller blocks the same and more; but what was too large to be kept pushes others
 * out once it fits, what is loaded at the start, as far as it fits, is more, and so may be what fills the budget. */
static bool same_order(const struct random_case *before, const struct run_result results[2],
                       const struct random_case *after)
{
    const struct loader *loader = &before->spec.loader;
    if (!on_demand(before, results, after) || before->spec.device.pressure.rule != KILL_NONE)
        return false;
    if (loader->mode == LOADER_READ)
        return loader->first_chunk == FIRST_ALL;
    return before->choice.evict == NAIVE_LRU && !before->spec.pin.policy && loader->preload == PRELOAD_NONE &&
           before->choice.admit == NAIVE_ADMIT_ALL && results[0].numbers.uncacheable == 0;
}

/* The page cache's part begins inside a read: that becomes two, which take two lanes. And from one warm start to a
 * warmer one bytes move from the flash to the one copy at a time, beside which the flash would have read them. */
static bool is_cut(const struct random_case *c)
{
    const struct loader *loader = &c->spec.loader;
    uint64_t file = c->model.file_bytes, from = file - file * loader->warm_ppm / 1000000;
    for (uint32_t e = 0; e < c->model.extent_count; e++) {
        const struct extent *extent = &c->model.extents[e];
        if (from <= extent->offset_bytes || from >= extent->offset_bytes + extent->bytes)
            continue;
        if (loader->read_bytes == 0 || (from - extent->offset_bytes) % loader->read_bytes != 0)
            return true;
    }
    return false;
}

static bool uncut(const struct random_case *before, const struct run_result results[2], const struct random_case *after)
{
    return on_demand(before, results, after) && before->spec.loader.warm_ppm == 0 && !is_cut(after);
}

/* A mapped file that stays, once it is there: which pages reclaim takes depends on more than how many there are. */
static bool none_evicted(const struct random_case *before, const struct run_result results[2],
                         const struct random_case *after)
{
    (void)before;
    (void)after;
    return results[0].numbers.evictions == 0 && results[1].numbers.evictions == 0;
}

/* ---- Changes ---- */

static bool more_bandwidth(struct random_case *c)
{
    struct flash_spec *flash = &c->spec.device.flash;
    flash->stream_bps = flash->stream_bps * 5 / 4;
    flash->max_bps = flash->max_bps * 5 / 4;
    return true;
}

static bool less_setup(struct random_case *c)
{
    int64_t *setup_ns = &c->spec.device.flash.setup_ns;
    *setup_ns = *setup_ns * 3 / 4;
    return c->spec.device.flash.setup_ns > 0;
}

static bool more_memory(struct random_case *c)
{
    struct pressure_spec *pressure = &c->spec.device.pressure;
    pressure->threshold_bytes += pressure->threshold_bytes / 2;
    pressure->max_bytes += 64 << 12;
    return pressure->rule == KILL_THRESHOLD || pressure->rule == KILL_MEMORY_LIMITER;
}

static bool smaller_weights(struct random_case *c)
{
    struct model *model = &c->model;
    uint64_t header = model->file_bytes - model->weights_bytes;
    model->weights_bytes = 0;
    for (block_id b = 0; b < model->block_count; b++) {
        struct block *block = &model->blocks[b];
        block->bytes = 0;
        for (uint32_t e = block->first_extent; e < block->first_extent + block->extent_count; e++) {
            model->extents[e].bytes = (model->extents[e].bytes + 1) / 2;
            block->bytes += model->extents[e].bytes;
        }
        model->policy_blocks[b].bytes = block->bytes;
        model->weights_bytes += block->bytes;
    }
    model->file_bytes = model->weights_bytes + header;
    c->spec.loader.warm_ppm = 0; /* where the page cache's part begins, moves */
    return true;
}

static bool another_thread(struct random_case *c)
{
    c->spec.loader.loader_threads++;
    return has_threads(c, 2);
}

static bool warmer(struct random_case *c)
{
    c->spec.loader.warm_ppm = c->spec.loader.warm_ppm / 2 + 500000;
    return c->spec.loader.align_bytes == 1 || c->spec.loader.mode == LOADER_MMAP;
}

/* ---- Runs ---- */

static const struct property properties[] = {
    {"more bandwidth", more_bandwidth, on_demand, 1800, 1, false},
    {"less setup", less_setup, on_demand, 1500, 1, false},
    {"more memory", more_memory, always, 1200, 0, false},
    {"smaller weights", smaller_weights, same_order, 600, 100, false},
    {"another loader thread", another_thread, no_prefetch, 300, 0, false},
    {"warmer start", warmer, uncut, 600, 3, false},
    {"more bandwidth, mapped", more_bandwidth, none_evicted, 3000, 0, true},
    {"less setup, mapped", less_setup, none_evicted, 3000, 0, true},
    {"more memory, mapped", more_memory, none_evicted, 3000, 10, true},
    {"warmer start, mapped", warmer, none_evicted, 500, 100, true},
};

/* Holds the change against one case: counts it, or says what is wrong with it. */
static void hold(const struct property *property, uint64_t seed, uint64_t *cases, uint64_t *others, uint64_t *worse)
{
    struct random_case before, after;
    struct arena arenas[2] = {{0}, {0}};
    struct run_result results[2];
    (property->mapped ? make_mapped : make_case)(&before, seed);
    (property->mapped ? make_mapped : make_case)(&after, seed);
    if (property->change == smaller_weights)
        before.spec.loader.warm_ppm = 0;
    if (property->change(&after)) {
        run_case(&before, &arenas[0], &results[0]);
        run_case(&after, &arenas[1], &results[1]);
        bool strict = property->strict(&before, results, &after), longer = is_worse(&results[0], &results[1]);
        *cases += strict;
        *others += !strict;
        *worse += longer && !strict;
        if (longer && strict) {
            random_case_print(&before, stdout);
            fail_because("seed %llu: %s is worse: first token %lld -> %lld, waiting %lld -> %lld ns",
                         (unsigned long long)seed, property->name, (long long)results[0].numbers.ttft_ns,
                         (long long)results[1].numbers.ttft_ns, (long long)waiting_ns(&results[0]),
                         (long long)waiting_ns(&results[1]));
        }
    }
    for (int i = 0; i < 2; i++)
        arena_free(&arenas[i]);
    random_case_free(&before);
    random_case_free(&after);
}

static void more_is_never_worse(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof properties / sizeof *properties; p++) {
        const struct property *property = &properties[p];
        uint64_t cases = 0, others = 0, worse = 0;
        for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + CASES; seed++)
            hold(property, seed, &cases, &others, &worse);
        print_message("# %s: never worse in %llu cases; worse in %llu of %llu others\n", property->name,
                      (unsigned long long)cases, (unsigned long long)worse, (unsigned long long)others);
        assert_true(cases >= property->cases_least && worse >= property->worse_least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_is_never_worse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
