/* What a run holds, placed in the allocator's address space. See placing.h. */
#include "sim/placing.h"

#include "base/wide.h"
#include "sim/placing_layout.h"

enum { NS_PER_S = 1000000000 };
static const int64_t OWED_MAX_NS = INT64_C(1) << 61; /* past the end of virtual time, run_state.c */

struct placing {
    struct allocator *allocator;
    uint32_t *block_range, *drop_range; /* by block, by drop; RANGE_NONE */
    /* Of activations: one, freed after its step; with reuse = no all of the token's. */
    uint32_t *step_ranges, step_range_count;
    uint64_t step_bytes; /* of these together */
    uint32_t *kv_ranges, kv_range_count;
    uint64_t kv_range_bytes;
    int64_t owed_ns, paid_ns; /* by the compute thread */
    bool holds_lanes;
};

static uint32_t *no_ranges(struct arena *arena, uint64_t count)
{
    uint32_t *ranges = arena_alloc(arena, (size_t)count, sizeof *ranges);
    for (uint64_t i = 0; ranges && i < count; i++)
        ranges[i] = RANGE_NONE;
    return ranges;
}

bool placing_init(struct run_state *run, struct arena *arena)
{
    const struct loader *loader = &run->spec->loader;
    struct placing_layout layout;
    run->follows_steps = loader->allocator != ALLOCATOR_NONE || loader->keep_activations;
    if (!placing_check_steps(run))
        return false;
    if (loader->allocator == ALLOCATOR_NONE)
        return true;
    if (loader->compact && run->spec->device.memory_bps == 0)
        return fail(run->err, STATUS_USAGE, "the device has no rate for memory: expected one, compaction copies");
    if (!placing_lay_out(run, &layout))
        return false;
    struct placing *placing = arena_alloc(arena, 1, sizeof *placing);
    if (!placing)
        return fail(run->err, STATUS_IO, "out of memory");
    placing->kv_range_bytes = layout.kv_range_bytes;
    placing->block_range = no_ranges(arena, run->model->block_count);
    placing->drop_range = no_ranges(arena, run->drop_limit);
    placing->step_ranges = no_ranges(arena, layout.step_ranges);
    placing->kv_ranges = no_ranges(arena, layout.kv_ranges);
    if (!placing->block_range || !placing->drop_range || !placing->step_ranges || !placing->kv_ranges)
        return fail(run->err, STATUS_IO, "out of memory");
    if (!allocator_init(&placing->allocator, &layout.spec, arena, run->err))
        return fail_in(run->err, "loader.arena");
    run->placing = placing;
    return true;
}

/* ---- Calls and what they cost ---- */

static void owe(struct placing *placing, int64_t ns)
{
    placing->owed_ns = ns < OWED_MAX_NS - placing->owed_ns ? placing->owed_ns + ns : OWED_MAX_NS;
}

/* A range of the allocator, or none. The compute thread owes the call where it makes it, and every copy: what moves
 * is what it computes with. */
static bool take(struct run_state *run, uint64_t bytes, bool prefetch, uint32_t *range)
{
    struct placing *placing = run->placing;
    uint64_t moved;
    bool taken = allocator_take(placing->allocator, bytes, range, &moved);
    if (!prefetch)
        owe(placing, run->spec->loader.alloc_ns);
    if (moved > 0) { /* read and written */
        uint64_t bps = run->spec->device.memory_bps;
        wide ns = ((wide)moved * 2 * NS_PER_S + bps - 1) / bps;
        owe(placing, ns < (wide)OWED_MAX_NS ? (int64_t)ns : OWED_MAX_NS);
    }
    return taken;
}

bool placing_pay_in(struct run_state *run)
{
    struct placing *placing = run->placing;
    int64_t start_ns = run->now_ns, owed_ns = placing->owed_ns;
    if (owed_ns == 0 || !run_goes_on(run))
        return run_goes_on(run);
    placing->owed_ns = 0;
    placing->holds_lanes = run->outstanding > 0;
    loads_advance(run, start_ns + owed_ns);
    placing->holds_lanes = false;
    placing->paid_ns += run->now_ns - start_ns;
    run_book_stall(run, start_ns);
    return run_goes_on(run);
}

bool placing_holds_lanes_in(const struct run_state *run)
{
    return run->placing->holds_lanes;
}

/* A range that the run cannot do without. */
static bool take_or_end(struct run_state *run, uint64_t bytes, uint32_t *range)
{
    while (!take(run, bytes, false, range)) {
        if (room_any(run))
            continue;
        if (run_goes_on(run))
            run_kill(run, "allocator");
        return false;
    }
    return true;
}

static void give_back(struct placing *placing, uint32_t *range)
{
    if (*range != RANGE_NONE)
        allocator_free(placing->allocator, *range);
    *range = RANGE_NONE;
}

/* ---- Blocks ---- */

bool placing_block_in(struct run_state *run, block_id b, bool prefetch)
{
    uint32_t *range = &run->placing->block_range[b];
    return *range != RANGE_NONE || take(run, run->host.blocks[b].bytes, prefetch, range);
}

void placing_block_gone_in(struct run_state *run, block_id b)
{
    must(run->placing->block_range[b] != RANGE_NONE);
    give_back(run->placing, &run->placing->block_range[b]);
}

void placing_block_dropped_in(struct run_state *run, block_id b, uint16_t drop)
{
    struct placing *placing = run->placing;
    must(placing->block_range[b] != RANGE_NONE && placing->drop_range[drop] == RANGE_NONE);
    placing->drop_range[drop] = placing->block_range[b];
    placing->block_range[b] = RANGE_NONE;
}

void placing_drop_done_in(struct run_state *run, uint16_t drop)
{
    give_back(run->placing, &run->placing->drop_range[drop]);
}

/* ---- Activations and the KV cache ---- */

/* Of a step, whose activations stay beside those of the token's steps before it. */
static void keep(struct run_state *run, uint64_t activation_bytes)
{
    run->kept_bytes += activation_bytes;
    if (run->kept_bytes > run->activation_bytes)
        run_grow(run, MEMORY_ACTIVATION, run->kept_bytes);
}

bool placing_step_begin_in(struct run_state *run, uint64_t activation_bytes)
{
    struct placing *placing = run->placing;
    if (placing && activation_bytes > 0) {
        if (!take_or_end(run, activation_bytes, &placing->step_ranges[placing->step_range_count]))
            return false;
        placing->step_range_count++;
        placing->step_bytes += activation_bytes;
    }
    if (run->spec->loader.keep_activations)
        keep(run, activation_bytes);
    return placing ? placing_pay_in(run) : run_goes_on(run);
}

static void free_steps(struct placing *placing)
{
    while (placing->step_range_count > 0)
        give_back(placing, &placing->step_ranges[--placing->step_range_count]);
    placing->step_bytes = 0;
}

void placing_step_end_in(struct run_state *run)
{
    if (!run->spec->loader.keep_activations)
        free_steps(run->placing);
}

void placing_token_end_in(struct run_state *run)
{
    if (run->placing)
        free_steps(run->placing);
    if (run->kept_bytes > run->activation_bytes)
        run_shrink(run, MEMORY_ACTIVATION, run->activation_bytes);
    run->kept_bytes = 0;
}

bool placing_kv_in(struct run_state *run, uint64_t kv_bytes)
{
    struct placing *placing = run->placing;
    uint64_t wanted = kv_bytes > 0 ? (kv_bytes - 1) / placing->kv_range_bytes + 1 : 0;
    while (placing->kv_range_count > wanted)
        give_back(placing, &placing->kv_ranges[--placing->kv_range_count]);
    while (placing->kv_range_count < wanted) {
        if (!take_or_end(run, placing->kv_range_bytes, &placing->kv_ranges[placing->kv_range_count]))
            return false;
        placing->kv_range_count++;
    }
    return placing_pay_in(run);
}

void placing_restart(struct run_state *run)
{
    struct placing *placing = run->placing;
    run->kept_bytes = 0;
    if (!placing)
        return;
    for (uint32_t b = 0; b < run->model->block_count; b++)
        give_back(placing, &placing->block_range[b]);
    for (uint32_t i = 0; i < run->drop_limit; i++)
        give_back(placing, &placing->drop_range[i]);
    free_steps(placing);
    while (placing->kv_range_count > 0)
        give_back(placing, &placing->kv_ranges[--placing->kv_range_count]);
    placing->owed_ns = 0;
}

/* ---- Numbers ---- */

void placing_numbers(const struct run_state *run, struct run_numbers *numbers)
{
    if (!run->placing)
        return;
    const struct placing *placing = run->placing;
    struct allocator_counts counts = allocator_counts(placing->allocator);
    must(allocator_state(placing->allocator).requested_bytes ==
         run->host.view.held_bytes + placing->kv_range_count * placing->kv_range_bytes + placing->step_bytes);
    numbers->alloc_failures = counts.failures;
    numbers->alloc_calls = counts.calls;
    numbers->alloc_hole_failures = counts.hole_failures;
    numbers->alloc_ns = placing->paid_ns;
    numbers->alloc_compactions = counts.compactions;
    numbers->alloc_moved_bytes = counts.moved_bytes;
    numbers->peak_internal_fragmentation_bytes = counts.internal_peak_bytes;
    numbers->peak_external_fragmentation_bytes = counts.external_peak_bytes;
    numbers->least_hole_bytes = (int64_t)counts.largest_hole_min_bytes;
}

void placing_sample(const struct run_state *run, struct sample_numbers *row)
{
    if (!run->placing)
        return;
    struct allocator_state state = allocator_state(run->placing->allocator);
    row->internal_fragmentation_bytes = state.taken_bytes - state.requested_bytes;
    if (state.ranges > 0 && state.free_bytes > state.largest_hole_bytes)
        row->external_fragmentation_bytes = state.free_bytes - state.largest_hole_bytes;
    row->largest_hole_bytes = state.largest_hole_bytes;
}
