/* Evicts a block drawn by lot, each that may go with the same chance.
 *
 * The held blocks stand in an array without gaps, in no order that means anything. A drawn block that may not go is put
 * behind the part that is drawn from: drawing without replacement, which stays uniform and ends. */
#include "policies/policy.h"

__extension__ typedef unsigned __int128 uint128;

struct random_slot {
    block_id block; /* of the array of held blocks: what stands at this place */
    uint32_t place; /* of a held block, by its id */
};

struct random {
    uint64_t draws; /* state of the generator */
    uint32_t held;
    struct random_slot slots[];
};

/* splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). */
static inline uint64_t random_draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline void random_put(struct random *random, uint32_t place, block_id b)
{
    random->slots[place].block = b;
    random->slots[b].place = place;
}

static size_t random_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    return sizeof(struct random) + (size_t)view->block_count * sizeof(struct random_slot);
}

/* The parameter is added to a draw, so that no pair of seeds cancels out. */
static void random_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct random *random = self;
    uint64_t run = view->seed;
    random->draws = random_draw(&run) + (uint64_t)args->values[0];
    random->held = 0;
}

/* A product instead of a remainder (Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019):
 * of 2^64 draws no block gets more than one above its share, too little to be worth a second draw. */
static block_id random_victim(void *self, const struct policy_view *view, block_id incoming)
{
    (void)incoming;
    struct random *random = self;
    for (uint32_t left = random->held; left > 0; left--) {
        uint32_t place = (uint32_t)((uint128)random_draw(&random->draws) * left >> 64);
        block_id b = random->slots[place].block;
        if (policy_may_evict(view, b))
            return b;
        random_put(random, place, random->slots[left - 1].block);
        random_put(random, left - 1, b);
    }
    return BLOCK_NONE;
}

static void random_on_insert(void *self, const struct policy_view *view, block_id b)
{
    (void)view;
    struct random *random = self;
    random_put(random, random->held++, b);
}

static void random_on_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    (void)view, (void)reason;
    struct random *random = self;
    random_put(random, random->slots[b].place, random->slots[--random->held].block);
}

static const struct policy_param random_params[] = {
    {"seed", POLICY_COUNT, 0, INT64_MAX, 0, "another lot with the same seed of the run"},
};

const struct policy policy_random = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "random",
    .summary = "evict a block drawn by lot",
    .param_count = sizeof random_params / sizeof *random_params,
    .params = random_params,
    .state_size = random_state_size,
    .init = random_init,
    .ops.evict =
        {
            .victim = random_victim,
            .on_insert = random_on_insert,
            .on_remove = random_on_remove,
        },
};
