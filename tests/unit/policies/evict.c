/* lru and fifo beside twins that are obviously right: an array in the order of age, searched and shifted. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "policies/registry.h"
#include "tests/cmocka_fixed.h"

enum { BLOCKS_MAX = 12, SEQUENCES = 2000, CALLS = 300 };

struct test_view {
    struct policy_view view;
    struct policy_block blocks[BLOCKS_MAX];
    uint8_t state[BLOCKS_MAX];
};

/* Oldest first. */
struct twin {
    block_id order[BLOCKS_MAX];
    uint32_t count;
    bool moves_on_hit;
};

static const struct policy *find(const char *name)
{
    size_t count = 0;
    const struct policy *const *all = policy_all(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    fail_because("no policy %s", name);
    return NULL;
}

static void setup(struct test_view *v, uint32_t block_count)
{
    memset(v, 0, sizeof *v);
    for (uint32_t b = 0; b < block_count; b++)
        v->blocks[b] = (struct policy_block){.bytes = 1 + b, .layer = -1, .kind = BLOCK_OTHER};
    v->view = (struct policy_view){
        .size = sizeof v->view,
        .block_count = block_count,
        .blocks = v->blocks,
        .state = v->state,
        .evict_mask = POLICY_RESIDENT | POLICY_LOADING | POLICY_PINNED | POLICY_IN_USE,
    };
}

static void twin_remove(struct twin *twin, block_id b)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < twin->count; i++)
        if (twin->order[i] != b)
            twin->order[kept++] = twin->order[i];
    assert_int_equal(kept + 1, twin->count);
    twin->count = kept;
}

static block_id twin_victim(const struct twin *twin, const struct test_view *v)
{
    for (uint32_t i = 0; i < twin->count; i++) {
        uint8_t state = v->state[twin->order[i]];
        bool waits = (v->view.evict_mask & POLICY_PREFETCHED) && (state & POLICY_PREFETCHED);
        if ((state & POLICY_RESIDENT) && !(state & (POLICY_LOADING | POLICY_PINNED | POLICY_IN_USE)) && !waits)
            return twin->order[i];
    }
    return BLOCK_NONE;
}

static bool listed(const struct twin *twin, block_id b)
{
    for (uint32_t i = 0; i < twin->count; i++)
        if (twin->order[i] == b)
            return true;
    return false;
}

/* One random call, to policy and twin alike. */
static void step(struct rng *rng, struct test_view *v, const struct policy *policy, void *self, struct twin *twin)
{
    const struct evict_ops *ops = &policy->ops.evict;
    block_id b = (block_id)rng_below(rng, v->view.block_count);
    switch (rng_below(rng, 4)) {
    case 0: /* use it, or bring it */
    case 1:
        if (listed(twin, b)) {
            if (ops->on_hit != NULL)
                ops->on_hit(self, &v->view, b);
            if (twin->moves_on_hit) {
                twin_remove(twin, b);
                twin->order[twin->count++] = b;
            }
        } else {
            ops->on_insert(self, &v->view, b);
            twin->order[twin->count++] = b;
            v->state[b] = POLICY_LOADING;
        }
        break;
    case 2: /* something happens that the policy sees in the view only */
        if (listed(twin, b)) {
            v->state[b] = (uint8_t)(rng_below(rng, 3) == 0 ? POLICY_LOADING : POLICY_RESIDENT);
            if (rng_below(rng, 3) == 0)
                v->state[b] |= POLICY_IN_USE;
            if (rng_below(rng, 4) == 0)
                v->state[b] |= POLICY_PREFETCHED;
        }
        v->view.evict_mask ^= POLICY_PREFETCHED;
        break;
    default:
        b = ops->victim(self, &v->view, rng_below(rng, 2) ? BLOCK_NONE : b);
        assert_int_equal(b, twin_victim(twin, v));
        if (b != BLOCK_NONE && rng_below(rng, 4) != 0) {
            v->state[b] = 0;
            ops->on_remove(self, &v->view, b, REMOVE_EVICTED);
            twin_remove(twin, b);
        }
    }
}

static void drive(const char *name, bool moves_on_hit)
{
    const struct policy *policy = find(name);
    const struct policy_args args = {0};
    struct rng rng;
    rng_seed(&rng, 1, 0);
    for (int sequence = 0; sequence < SEQUENCES; sequence++) {
        struct test_view v;
        struct twin twin = {.moves_on_hit = moves_on_hit};
        setup(&v, 1 + (uint32_t)rng_below(&rng, BLOCKS_MAX));
        /* Of exactly the size asked for, so that the sanitizer sees a step too far. */
        void *self = calloc(1, policy->state_size(&v.view, &args));
        assert_non_null(self);
        policy->init(self, &v.view, &args);
        for (int call = 0; call < CALLS; call++)
            step(&rng, &v, policy, self, &twin);
        free(self);
    }
}

static void lru_equals_its_twin(void **unused)
{
    (void)unused;
    drive("lru", true);
}

static void fifo_equals_its_twin(void **unused)
{
    (void)unused;
    drive("fifo", false);
}

/* The case by which the two are told apart: a, b, c come, a is used again, one must go. */
static block_id victim_after_reuse(const char *name)
{
    const struct policy *policy = find(name);
    const struct policy_args args = {0};
    struct test_view v;
    setup(&v, 3);
    void *self = calloc(1, policy->state_size(&v.view, &args));
    assert_non_null(self);
    policy->init(self, &v.view, &args);
    for (block_id b = 0; b < 3; b++) {
        v.state[b] = POLICY_RESIDENT;
        policy->ops.evict.on_insert(self, &v.view, b);
    }
    if (policy->ops.evict.on_hit != NULL)
        policy->ops.evict.on_hit(self, &v.view, 0);
    block_id victim = policy->ops.evict.victim(self, &v.view, BLOCK_NONE);
    free(self);
    return victim;
}

static void reuse_tells_lru_from_fifo(void **unused)
{
    (void)unused;
    assert_int_equal(victim_after_reuse("lru"), 1);
    assert_int_equal(victim_after_reuse("fifo"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lru_equals_its_twin),
        cmocka_unit_test(fifo_equals_its_twin),
        cmocka_unit_test(reuse_tells_lru_from_fifo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
