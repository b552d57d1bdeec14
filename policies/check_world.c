/* Scenes and traces for `policy check`. */
#include "policies/check_drive.h"

#include <string.h>

const struct check_scene check_scenes[] = {
    {.name = "equal blocks", .blocks = 24, .budget_percent = 40, .uses_max = 4, .fills_max = 2},
    {.name = "blocks of different sizes",
     .blocks = 30,
     .sizes = SIZES_MIXED,
     .budget_percent = 30,
     .uses_max = 5,
     .fills_max = 3},
    {.name = "a replay, one block a step",
     .blocks = 40,
     .sizes = SIZES_MIXED,
     .budget_percent = 25,
     .uses_max = 1,
     .instant = true},
    {.name = "a model of layers and experts",
     .blocks = 40,
     .sizes = SIZES_MODEL,
     .budget_percent = 50,
     .uses_max = 6,
     .fills_max = 3,
     .pin_percent = 10},
    {.name = "eviction after the step",
     .blocks = 20,
     .sizes = SIZES_MIXED,
     .budget_percent = 40,
     .uses_max = 6,
     .after_step = true},
    {.name = "steps that use all that is there", .blocks = 16, .budget_percent = 30, .uses_max = 12, .fills_max = 4},
    {.name = "many prefetches",
     .blocks = 24,
     .sizes = SIZES_MIXED,
     .budget_percent = 35,
     .uses_max = 3,
     .fills_max = 12},
    {.name = "one block", .blocks = 1, .budget_percent = 100, .uses_max = 3, .fills_max = 1},
    {.name = "one place", .blocks = 8, .budget_bytes = 1, .uses_max = 2, .fills_max = 2},
    {.name = "no block fits", .blocks = 6, .sizes = SIZES_MODEL, .budget_bytes = 1, .uses_max = 3, .fills_max = 2},
    {.name = "room for all", .blocks = 12, .sizes = SIZES_MIXED, .budget_percent = 100, .uses_max = 4, .fills_max = 2},
    {.name = "half is pinned",
     .blocks = 20,
     .sizes = SIZES_MIXED,
     .budget_percent = 70,
     .uses_max = 5,
     .fills_max = 2,
     .pin_percent = 50},
    {.name = "all is pinned", .blocks = 6, .budget_percent = 100, .uses_max = 3, .fills_max = 1, .pin_percent = 100},
};
const uint32_t check_scene_count = sizeof check_scenes / sizeof *check_scenes;

static uint64_t size_of(enum check_sizes sizes, uint32_t kind, struct rng *rng)
{
    const uint64_t mib = 1 << 20;
    switch (sizes) {
    case SIZES_UNIT:
        return 1;
    case SIZES_MIXED:
        return rng_below(rng, 8) == 0 ? 200 + rng_below(rng, 400) : 1 + rng_below(rng, 50);
    default:
        return kind == BLOCK_EXPERT ? 9 * mib : kind == BLOCK_LAYER ? 40 * mib + rng_below(rng, mib) : 250 * mib;
    }
}

/* The first block is an embedding, the last the output head; between them layers of a shared block and three experts.
 */
static void make_blocks(struct check_world *world, struct rng *rng)
{
    struct check_shown *shown = &world->shown;
    uint64_t sum = 0;
    uint32_t n = world->scene.blocks;
    for (uint32_t b = 0; b < n; b++) {
        uint32_t kind = b == 0 ? BLOCK_EMBEDDING : b + 1 == n ? BLOCK_OUTPUT : b % 4 == 1 ? BLOCK_LAYER : BLOCK_EXPERT;
        bool in_layer = kind == BLOCK_LAYER || kind == BLOCK_EXPERT;
        shown->blocks[b] = (struct policy_block){
            .bytes = size_of(world->scene.sizes, kind, rng),
            .layer = in_layer ? (int32_t)(b - 1) / 4 : -1,
            .kind = kind,
        };
        sum += shown->blocks[b].bytes;
        shown->profile[b] = rng_below(rng, 100);
    }
    uint64_t budget = world->scene.budget_bytes;
    if (world->scene.budget_percent > 0)
        budget = sum * world->scene.budget_percent / 100;
    shown->view.budget_bytes = budget > 0 ? budget : 1;
}

/* Half of the uses come again soon, the others go through the blocks in turn. */
static void make_steps(struct check_world *world, struct rng *rng)
{
    uint32_t n = world->scene.blocks, turn = 0;
    for (uint32_t s = 0; s < CHECK_STEPS; s++) {
        struct check_step *step = &world->steps[s];
        step->count = 1 + (uint32_t)rng_below(rng, world->scene.uses_max);
        uint64_t bytes = 0;
        uint8_t seen[CHECK_BLOCKS] = {0};
        for (uint32_t i = 0; i < step->count; i++) {
            block_id b = (block_id)rng_below(rng, n < 6 ? n : 6);
            if (rng_below(rng, 2) == 0)
                b = turn++ % n;
            step->uses[i] = b;
            if (seen[b]++)
                continue;
            bytes += world->shown.blocks[b].bytes;
            world->shown.heat[b]++;
        }
        if (bytes > world->shown.view.step_bytes_max)
            world->shown.view.step_bytes_max = bytes;
    }
}

static void make_future(struct check_world *world)
{
    uint32_t access = 0;
    static const uint32_t none = NEXT_USE_NEVER;
    uint32_t last[CHECK_BLOCKS];
    for (uint32_t b = 0; b < CHECK_BLOCKS; b++)
        last[b] = world->shown.next_use[b] = none;
    for (uint32_t s = 0; s < CHECK_STEPS; s++) {
        uint64_t seen = 0;
        for (uint32_t i = 0; i < world->steps[s].count; i++) {
            block_id b = world->steps[s].uses[i];
            if (seen >> b & 1)
                continue;
            seen |= UINT64_C(1) << b;
            *(last[b] == none ? &world->shown.next_use[b] : &world->next[last[b]]) = access;
            world->next[access] = none;
            last[b] = access++;
        }
    }
}

void check_world_make(const struct check_scene *scene, uint64_t seed, struct check_world *world)
{
    struct rng rng;
    memset(world, 0, sizeof *world);
    rng_seed(&rng, seed, 1);
    world->scene = *scene;
    world->shown.view.size = sizeof world->shown.view;
    world->shown.view.block_count = scene->blocks;
    world->shown.view.seed = seed;
    make_blocks(world, &rng);
    make_steps(world, &rng);
    make_future(world);
}
