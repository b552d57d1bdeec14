/* What the tests of mapped runs share: a list of blocks, walked over and over, in a control group with a limit. */
#ifndef POCKETLOAD_TESTS_UNIT_SIM_MAPPED_WORLD_H
#define POCKETLOAD_TESTS_UNIT_SIM_MAPPED_WORLD_H

#include <string.h>

#include "policies/registry.h"
#include "sim/engine.h"
#include "tests/cmocka_fixed.h"

enum { WORLD_STEP_NS = 50000, WORLD_RUNTIME = 64 << 10, WORLD_MIB_NS = 1048576 /* at 1 GB/s */ };

struct mapped_world {
    struct model model;
    struct trace trace;
    struct policy_choice choice;
    block_id pins[POLICY_BLOCK_NAMES_MAX];
    struct arena arena;
    struct run_spec spec;
    struct run_result result;
    struct error err;
};

/* `tokens` passes over the model, a step of WORLD_STEP_NS for each block; `limit_mib` of RAM. */
static inline void mapped_world_make(struct mapped_world *world, const char *blocks, uint32_t tokens,
                                     uint64_t limit_mib)
{
    memset(world, 0, sizeof *world);
    struct error *err = &world->err;
    assert_true(model_from_blocks("list", blocks, &world->model, err));
    struct trace_builder builder;
    uint32_t work;
    assert_true(trace_start(&builder, &world->trace, "passes", err));
    assert_true(trace_add_work(&builder, WORLD_STEP_NS, 0, 0, NULL, 0, &work, err));
    const struct segment segment = {.repeat = tokens, .phase = PHASE_DECODE};
    assert_true(trace_add_segment(&builder, &segment, err));
    for (block_id b = 0; b < world->model.block_count; b++) {
        assert_true(trace_add_step(&builder, work, err));
        assert_true(trace_add_use(&builder, b, 0, err));
    }
    assert_true(trace_finish(&builder, &world->model, err));
    world->spec = (struct run_spec){
        .model = &world->model,
        .trace = &world->trace,
        .device = {.ram_bytes = limit_mib << 20,
                   .runtime_bytes = WORLD_RUNTIME,
                   .pressure = {.rule = KILL_MEMORY_LIMITER, .max_bytes = limit_mib << 20},
                   .page_bytes = 4096,
                   .readahead_bytes = 128 << 10,
                   .fault_around_bytes = 64 << 10,
                   .willneed_bytes = 512 << 10,
                   .prefault_young = true,
                   .minor_fault_ns = 1000,
                   .major_fault_ns = 2000,
                   .scan_page_ns = 30,
                   .memlock_bytes = UINT64_MAX,
                   .address_space_bytes = UINT64_MAX,
                   .flash = {.stream_bps = 1000000000,
                             .max_bps = 1000000000,
                             .queue_depth = 32,
                             .command_bytes = 1 << 20,
                             .hot_factor_ppm = 1000000}},
        .loader = {.mode = LOADER_MMAP, .lanes = 1, .align_bytes = 1, .processes = 1},
    };
}

/* Pins as a policy's text says. */
static inline void mapped_world_pin(struct mapped_world *world, const char *text)
{
    struct bound_part *pin = &world->spec.pin;
    assert_true(policy_parse(text, &world->choice, &world->err));
    *pin = (struct bound_part){world->choice.pin.policy, {world->choice.pin.values, world->pins, 0}};
    if (pin->policy)
        assert_true(policy_bind(&world->choice.pin, model_find, &world->model, world->pins, &pin->args.block_count,
                                &world->err));
}

/* A chunked run's policy. */
static inline void mapped_world_policy(struct mapped_world *world, const char *text)
{
    const struct policy_choice *choice = &world->choice;
    mapped_world_pin(world, text);
    world->spec.evict = (struct bound_part){choice->evict.policy, {choice->evict.values, NULL, 0}};
    world->spec.prefetch = (struct bound_part){choice->prefetch.policy, {choice->prefetch.values, NULL, 0}};
}

static inline const struct run_numbers *mapped_world_run(struct mapped_world *world)
{
    if (!engine_run(&world->spec, &world->arena, &world->result, &world->err))
        fail_because("%s", world->err.text);
    return &world->result.numbers;
}

static inline void mapped_world_free(struct mapped_world *world)
{
    arena_free(&world->arena);
    trace_free(&world->trace);
    model_free(&world->model);
}

#endif
