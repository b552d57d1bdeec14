/* What the tests of the contract share: policies that do nothing, to be given one function that matters, and a small
 * world for them to run in. */
#ifndef POCKETLOAD_TESTS_UNIT_SIM_CONTRACT_WORLD_H
#define POCKETLOAD_TESTS_UNIT_SIM_CONTRACT_WORLD_H

#include <string.h>

#include "policies/policy.h"
#include "sim/engine.h"
#include "tests/cmocka_fixed.h"

static inline size_t no_state(const struct policy_view *view, const struct policy_args *args)
{
    (void)view;
    (void)args;
    return 0;
}

static inline void no_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)self;
    (void)view;
    (void)args;
}

static inline void on_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)self;
    (void)view;
    (void)b;
}

static inline void on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)self;
    (void)view;
    (void)b;
    (void)reason;
}

static inline block_id answer_none(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self;
    (void)view;
    (void)incoming;
    return BLOCK_NONE;
}

static inline struct policy evict_policy(const char *name,
                                         block_id (*victim)(void *, const struct policy_view *, block_id))
{
    return (struct policy){
        .abi = POLICY_ABI,
        .size = sizeof(struct policy),
        .kind = POLICY_EVICT,
        .name = name,
        .summary = "for a test",
        .state_size = no_state,
        .init = no_init,
        .ops.evict = {.victim = victim, .on_insert = on_insert, .on_remove = on_remove},
    };
}

/* Four blocks of 1 MiB, walked twice, with room for two. */
struct world {
    struct model model;
    struct trace trace;
    struct arena arena;
    struct run_spec spec;
    struct run_result result;
    struct error err;
};

static inline void make_world(struct world *world, const struct policy *evict)
{
    memset(world, 0, sizeof *world);
    struct error err;
    assert_true(model_from_blocks("four", "4 x 1MiB", &world->model, &err));
    struct trace_builder builder;
    assert_true(trace_start(&builder, &world->trace, "twice", &err));
    const struct segment segment = {.repeat = 2, .phase = PHASE_DECODE};
    assert_true(trace_add_segment(&builder, &segment, &err));
    for (block_id b = 0; b < 4; b++) {
        assert_true(trace_add_step(&builder, 0, &err));
        assert_true(trace_add_use(&builder, b, 0, &err));
    }
    assert_true(trace_finish(&builder, &world->model, &err));
    world->spec = (struct run_spec){
        .model = &world->model,
        .trace = &world->trace,
        .device = {.ram_bytes = 1 << 30,
                   .flash = {.stream_bps = 1000000000,
                             .max_bps = 1000000000,
                             .queue_depth = 4,
                             .command_bytes = 1 << 20,
                             .hot_factor_ppm = 1000000}},
        .loader =
            {.budget_bytes = 2 << 20, .lanes = 1, .prefetch_lanes = 1, .align_bytes = 1, .overlap = OVERLAP_PREFETCH},
        .evict.policy = evict,
    };
}

static inline void free_world(struct world *world)
{
    arena_free(&world->arena);
    trace_free(&world->trace);
    model_free(&world->model);
}

static inline void expect_blame(struct world *world, enum status code, const char *line)
{
    assert_false(engine_run(&world->spec, &world->arena, &world->result, &world->err));
    assert_string_equal(world->err.text, line);
    assert_int_equal(world->err.code, code);
    free_world(world);
}

#endif
