/* What the tests of placing share: models and traces of a few steps, run by the chunked loader with an allocator. */
#ifndef POCKETLOAD_TESTS_UNIT_SIM_PLACING_WORLD_H
#define POCKETLOAD_TESTS_UNIT_SIM_PLACING_WORLD_H

#include "contract_world.h"
#include "policies/registry.h"
#include "tests/cmocka_fixed.h"

enum { MIB = 1 << 20 };
#define SAME_STEP USE_AGAIN   /* a use that belongs to the step of the one before */
#define NEW_TOKEN 0x20000000u /* a use that begins another segment, with 256 tokens in the context before it */

/* A model of blocks of the given sizes, one step for each of `uses`, all of one token, that runs `repeat` times. */
struct place {
    struct world world;
    struct policy_choice choice;
};

static inline void make(struct place *place, const uint64_t *sizes, uint32_t blocks, const uint32_t *uses,
                        uint32_t count, uint32_t repeat, uint64_t activation_bytes)
{
    struct world *world = &place->world;
    struct error err;
    struct trace_builder builder;
    memset(place, 0, sizeof *place);
    model_start(&world->model, "placed", "");
    uint64_t offset = 0;
    for (uint32_t b = 0; b < blocks; b++) {
        char name[] = {'b', (char)('0' + b), '\0'};
        assert_true(model_add_block(&world->model, name, BLOCK_LAYER, (int32_t)b, -1, &err));
        assert_true(model_add_extent(&world->model, offset, sizes[b], &err));
        offset += sizes[b];
    }
    assert_true(model_finish(&world->model, &err));
    assert_true(trace_start(&builder, &world->trace, "placed", &err));
    world->trace.counts_tokens = true;
    struct segment segment = {
        .repeat = repeat, .phase = PHASE_DECODE, .context_growth = 1, .activation_bytes = activation_bytes};
    assert_true(trace_add_segment(&builder, &segment, &err));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t use = uses ? uses[i] : i % blocks;
        if (use & NEW_TOKEN) {
            segment.token++;
            segment.context_first = 256;
            assert_true(trace_add_segment(&builder, &segment, &err));
        }
        if (!(use & SAME_STEP))
            assert_true(trace_add_step(&builder, 0, &err));
        assert_true(trace_add_use(&builder, use & USE_BLOCK & ~NEW_TOKEN, use & USE_UNSEEN, &err));
    }
    assert_true(trace_finish(&builder, &world->model, &err));
    assert_true(policy_parse("lru", &place->choice, &err));
    world->spec = (struct run_spec){
        .model = &world->model,
        .trace = &world->trace,
        .device = {.ram_bytes = UINT64_C(1) << 34,
                   .memory_bps = 1000000000,
                   .flash = {.stream_bps = 1000000000,
                             .max_bps = 1000000000,
                             .queue_depth = 4,
                             .command_bytes = 1 << 20,
                             .hot_factor_ppm = 1000000}},
        .loader = {.budget_bytes = UINT64_C(1) << 32,
                   .lanes = 1,
                   .prefetch_lanes = 1,
                   .align_bytes = 1,
                   .overlap = OVERLAP_PREFETCH,
                   .allocator = ALLOCATOR_MALLOC},
        .evict = {.policy = place->choice.evict.policy, .args = {place->choice.evict.values, NULL, 0}},
    };
}

static inline const struct run_numbers *run(struct place *place)
{
    struct world *world = &place->world;
    if (!engine_run(&world->spec, &world->arena, &world->result, &world->err))
        fail_because("%s", world->err.text);
    return &world->result.numbers;
}

static inline void bind_prefetch(struct place *place, const char *policy)
{
    struct error err;
    assert_true(policy_parse(policy, &place->choice, &err));
    place->world.spec.evict = (struct bound_part){place->choice.evict.policy, {place->choice.evict.values, NULL, 0}};
    place->world.spec.prefetch =
        (struct bound_part){place->choice.prefetch.policy, {place->choice.prefetch.values, NULL, 0}};
}

#endif
