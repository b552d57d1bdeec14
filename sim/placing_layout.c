/* The address space of a run: see placing_layout.h. docs/models.md section 13 states the default size. */
#include "sim/placing_layout.h"

#include "base/units.h"

enum {
    KV_RANGE_TOKENS = 256, /* llama.cpp pads its context to as many: src/llama-context.cpp, GGML_PAD(n_ctx, 256) */
    RANGES_MAX = 1 << 24,  /* that one run may hold at once */
};
static const uint64_t BYTES_MAX = UINT64_C(1) << 50; /* 1 PiB: of activations, and of 256 tokens' KV cache */

static bool too_large(const char *what, const char *reason, struct error *err)
{
    return fail(err, STATUS_USAGE, "%s over 1 PiB: expected less for %s", what, reason);
}

/* Activations: one range at a time; with reuse = no, one for each step of a token, and of each process. */
static uint64_t step_ranges(const struct run_state *run, const struct segment *segment)
{
    return run->spec->loader.keep_activations ? (uint64_t)segment->step_count * run->processes : 1;
}

bool placing_check_steps(const struct run_state *run)
{
    bool placed = run->spec->loader.allocator != ALLOCATOR_NONE;
    for (uint32_t s = 0; run->follows_steps && s < run->trace->segment_count; s++) {
        const struct segment *segment = &run->trace->segments[s];
        uint64_t all;
        if (!multiply(segment->activation_bytes, step_ranges(run, segment), &all) || all > BYTES_MAX)
            return too_large("the activations of a token are", placed ? "an allocator" : "loader.reuse = no", run->err);
    }
    return true;
}

static void fit_slot(struct placing_layout *layout, uint64_t bytes)
{
    if (bytes > layout->spec.slot_bytes)
        layout->spec.slot_bytes = bytes;
}

static void lay_out_steps(const struct run_state *run, struct placing_layout *layout)
{
    for (uint32_t s = 0; s < run->trace->segment_count; s++) {
        const struct segment *segment = &run->trace->segments[s];
        uint64_t ranges = segment->activation_bytes > 0 ? step_ranges(run, segment) : 0;
        if (ranges > layout->step_ranges)
            layout->step_ranges = ranges;
        fit_slot(layout, segment->activation_bytes);
    }
}

/* The KV cache, in ranges of as many bytes as KV_RANGE_TOKENS tokens add before any window is full. */
static bool lay_out_kv(const struct run_state *run, struct placing_layout *layout)
{
    const struct trace *trace = run->trace;
    uint64_t token_bytes, bytes, context_max;
    if (!add(trace->kv_bytes_per_token, trace->kv_window_bytes_per_token, &token_bytes) ||
        token_bytes > BYTES_MAX / KV_RANGE_TOKENS)
        return too_large("the KV cache of 256 tokens is", "an allocator", run->err);
    must(trace_kv_most(trace, &bytes, &context_max)); /* init_costs has found it below 1 PiB */
    bytes *= run->processes;
    /* Caches of other models are part of the ranges; alone they are one. */
    layout->kv_range_bytes = token_bytes > 0 ? token_bytes * KV_RANGE_TOKENS : bytes;
    if (bytes == 0)
        return true;
    layout->kv_ranges = (bytes - 1) / layout->kv_range_bytes + 1;
    fit_slot(layout, layout->kv_range_bytes);
    return true;
}

/* A slot holds any block that is ever held: those within the budget. */
static bool lay_out_ranges(const struct run_state *run, struct placing_layout *layout)
{
    bool held = run->spec->loader.mode != LOADER_MMAP;
    for (uint32_t b = 0; held && b < run->model->block_count; b++) {
        if (run->host.blocks[b].bytes <= run->host.view.budget_bytes)
            fit_slot(layout, run->host.blocks[b].bytes);
    }
    uint64_t blocks = held ? run->model->block_count + (uint64_t)run->drop_limit : 0; /* dropped ones too */
    uint64_t ranges = blocks + layout->kv_ranges + layout->step_ranges;
    if (ranges > RANGES_MAX)
        return fail(run->err, STATUS_USAGE,
                    "the run may hold %llu ranges at once: expected at most %d with an allocator",
                    (unsigned long long)ranges, RANGES_MAX);
    layout->spec.ranges_max = (uint32_t)ranges;
    return true;
}

/* Adds what `count` ranges take; false when the sum is over ALLOCATOR_SPACE_MAX. */
static bool add_ranges(const struct placing_layout *layout, uint64_t bytes, uint64_t count, uint64_t *space)
{
    uint64_t taken;
    return (count == 0 || allocator_space_of(&layout->spec, bytes, count, &taken)) &&
           (count == 0 || add(*space, taken, space)) && *space <= ALLOCATOR_SPACE_MAX;
}

/* Weights: all of them, or the budget and what pinned blocks take beyond their bytes, as they never make way. */
static bool add_weights(const struct run_state *run, const struct placing_layout *layout, uint64_t *space)
{
    const struct loader *loader = &run->spec->loader;
    if (loader->mode == LOADER_READ) {
        for (uint32_t b = 0; b < run->model->block_count; b++) {
            if (!add_ranges(layout, run->host.blocks[b].bytes, 1, space))
                return false;
        }
    }
    if (loader->mode != LOADER_CHUNKED)
        return true;
    uint64_t after_step = loader->evict_when == EVICT_AFTER_STEP ? run->trace->step_bytes_max : 0;
    if (!add(*space, loader->budget_bytes, space) || !add(*space, after_step, space))
        return false;
    for (uint32_t i = 0; i < run->host.pin_count; i++) {
        uint64_t bytes = run->host.blocks[run->host.pins[i]].bytes;
        if (!add_ranges(layout, bytes, 1, space))
            return false;
        *space -= bytes;
    }
    return true;
}

/* All that the run holds at its peak, with its rounding and headers; at most ALLOCATOR_SPACE_MAX. */
static uint64_t space_needed(const struct run_state *run, const struct placing_layout *layout)
{
    uint64_t space = 0, steps = 0;
    for (uint32_t s = 0; s < run->trace->segment_count; s++) {
        const struct segment *segment = &run->trace->segments[s];
        uint64_t own = 0, ranges = segment->activation_bytes > 0 ? step_ranges(run, segment) : 0;
        if (!add_ranges(layout, segment->activation_bytes, ranges, &own))
            return ALLOCATOR_SPACE_MAX;
        steps = own > steps ? own : steps;
    }
    if (!add_weights(run, layout, &space) || !add_ranges(layout, layout->kv_range_bytes, layout->kv_ranges, &space) ||
        !add(space, steps, &space) || space > ALLOCATOR_SPACE_MAX)
        return ALLOCATOR_SPACE_MAX;
    return space > 0 ? space : 1;
}

bool placing_lay_out(const struct run_state *run, struct placing_layout *layout)
{
    const struct loader *loader = &run->spec->loader;
    *layout = (struct placing_layout){.spec = {.kind = loader->allocator, .slot_bytes = 1, .compact = loader->compact}};
    lay_out_steps(run, layout);
    if (!lay_out_kv(run, layout) || !lay_out_ranges(run, layout))
        return false;
    layout->spec.space_bytes = loader->arena_bytes > 0 ? loader->arena_bytes : space_needed(run, layout);
    return true;
}
