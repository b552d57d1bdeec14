/* The policies for layers and the ones that know the future, beside twins that follow their rules by search: in a
 * made-up world with steps of several blocks, fills in flight, prefetches and dropped ones. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "policies/registry.h"
#include "tests/cmocka_fixed.h"

enum { BLOCKS_MAX = 24, STEPS = 120, STEP_BLOCKS = 4, WORLDS = 700, LAYERS_MAX = 5 };

struct world {
    struct policy_view view;
    struct policy_block blocks[BLOCKS_MAX];
    uint8_t state[BLOCKS_MAX];
    uint32_t next_use[BLOCKS_MAX];
    block_id steps[STEPS][STEP_BLOCKS];
    uint32_t step_blocks[STEPS], tokens[STEPS];
    const struct policy *policy;
    void *self;
    int64_t slots;
    int32_t stride; /* layers are 0, stride, 2 stride, ... */
    struct rng rng;
    /* What the twins go by. */
    uint64_t clock, last[BLOCKS_MAX]; /* of the last use or fill */
    uint32_t uses[BLOCKS_MAX], pass_of[BLOCKS_MAX], position[BLOCKS_MAX];
    uint32_t now, pass, token;
    block_id missed;
    uint64_t questions, answers;
};

static bool held(const struct world *w, block_id b)
{
    return (w->state[b] & (POLICY_RESIDENT | POLICY_LOADING)) && !(w->state[b] & POLICY_PINNED);
}

static bool candidate(const struct world *w, block_id b)
{
    return policy_may_evict(&w->view, b);
}

/* ---- Twins: each the page's rule, by looking at every block ---- */

static uint32_t find_position(const struct world *w, block_id b)
{
    uint32_t rank = 0, layers = 0;
    for (int32_t layer = 0; layer < LAYERS_MAX * w->stride; layer += w->stride) {
        bool there = false;
        for (block_id i = 0; i < w->view.block_count; i++)
            there |= w->blocks[i].layer == layer;
        layers += there;
        rank += there && layer < w->blocks[b].layer;
    }
    if (layers == 0)
        return b;
    if (w->blocks[b].layer >= 0)
        return 1 + rank;
    return w->blocks[b].kind == BLOCK_NORM || w->blocks[b].kind == BLOCK_OUTPUT ? layers + 1 : 0;
}

static uint32_t distance(const struct world *w, block_id b)
{
    uint32_t at = w->position[b], all = BLOCKS_MAX + 2; /* any number over the positions gives the same order */
    return at == w->now ? all : (at + all - w->now) % all;
}

static bool stale(const struct world *w, block_id b)
{
    return w->pass_of[b] != w->pass;
}

static bool is_expert(const struct world *w, block_id b)
{
    return w->blocks[b].kind == BLOCK_EXPERT && w->blocks[b].layer >= 0;
}

static uint64_t worth(const struct world *w, block_id b)
{
    if (w->next_use[b] == NEXT_USE_NEVER)
        return UINT64_MAX;
    return w->blocks[b].bytes * (w->next_use[b] - w->view.access);
}

/* True when a is to go rather than b; ids never decide: `last` is different for any two held blocks. */
static bool goes_first(const struct world *w, block_id a, block_id b)
{
    const char *name = w->policy->name;
    if (strcmp(name, "belady") == 0 || strcmp(name, "belady-bypass") == 0) {
        if (w->next_use[a] != w->next_use[b])
            return w->next_use[a] > w->next_use[b];
    } else if (strcmp(name, "belady-size") == 0) {
        if (worth(w, a) != worth(w, b))
            return worth(w, a) > worth(w, b);
        if (w->blocks[a].bytes != w->blocks[b].bytes && w->next_use[a] != NEXT_USE_NEVER)
            return w->blocks[a].bytes < w->blocks[b].bytes;
    } else if (strcmp(name, "cyclic") == 0 || strcmp(name, "least-stale") == 0) {
        if (strcmp(name, "least-stale") == 0 && stale(w, a) != stale(w, b))
            return stale(w, a);
        if (distance(w, a) != distance(w, b))
            return distance(w, a) > distance(w, b);
    } else if (strcmp(name, "layer-lfu") == 0 && is_expert(w, a) && is_expert(w, b)) {
        if (w->uses[a] != w->uses[b])
            return w->uses[a] < w->uses[b];
    }
    return w->last[a] < w->last[b];
}

static uint64_t room(const struct world *w)
{
    return w->view.budget_bytes - w->view.pinned_bytes;
}

static uint32_t share(const struct world *w, int32_t layer)
{
    uint64_t largest = 0, layers = 0;
    for (int32_t l = 0; l < LAYERS_MAX * w->stride; l += w->stride) {
        bool there = false;
        for (block_id b = 0; b < w->view.block_count; b++) {
            there |= is_expert(w, b) && w->blocks[b].layer == l;
            if (is_expert(w, b) && w->blocks[b].layer == layer && w->blocks[b].bytes > largest)
                largest = w->blocks[b].bytes;
        }
        layers += there;
    }
    uint64_t experts = room(w) / layers / largest;
    return experts == 0 ? 1 : (uint32_t)experts;
}

static uint32_t held_experts(const struct world *w, int32_t layer)
{
    uint32_t count = 0;
    for (block_id b = 0; b < w->view.block_count; b++)
        count += is_expert(w, b) && w->blocks[b].layer == layer && held(w, b);
    return count;
}

static uint32_t places(const struct world *w, int32_t layer)
{
    return w->slots != 0 ? (uint32_t)w->slots : share(w, layer);
}

/* The first to go of one layer's experts (-1: of what is no expert), or BLOCK_NONE. */
static block_id of_layer(const struct world *w, int32_t layer)
{
    block_id best = BLOCK_NONE;
    for (block_id b = 0; b < w->view.block_count; b++)
        if (candidate(w, b) && (is_expert(w, b) ? w->blocks[b].layer : -1) == layer &&
            (best == BLOCK_NONE || goes_first(w, b, best)))
            best = b;
    return best;
}

static block_id twin_victim(const struct world *w)
{
    block_id best = BLOCK_NONE;
    if (strncmp(w->policy->name, "layer-", 6) != 0) {
        for (block_id b = 0; b < w->view.block_count; b++)
            if (candidate(w, b) && (best == BLOCK_NONE || goes_first(w, b, best)))
                best = b;
        return best;
    }
    int64_t most = 0;
    for (int32_t layer = 0; layer < LAYERS_MAX * w->stride; layer += w->stride) {
        block_id b = of_layer(w, layer);
        int64_t over = b == BLOCK_NONE ? 0 : (int64_t)held_experts(w, layer) - share(w, layer);
        if (b != BLOCK_NONE && (best == BLOCK_NONE || over > most)) {
            best = b;
            most = over;
        }
    }
    return best != BLOCK_NONE ? best : of_layer(w, -1);
}

static block_id twin_release(const struct world *w)
{
    if (w->missed != BLOCK_NONE && is_expert(w, w->missed) && w->blocks[w->missed].bytes <= room(w)) {
        int32_t layer = w->blocks[w->missed].layer;
        if (held_experts(w, layer) >= places(w, layer) && of_layer(w, layer) != BLOCK_NONE)
            return of_layer(w, layer);
    }
    for (int32_t layer = (LAYERS_MAX - 1) * w->stride; layer >= 0; layer -= w->stride)
        if (of_layer(w, layer) != BLOCK_NONE && held_experts(w, layer) > places(w, layer))
            return of_layer(w, layer);
    return BLOCK_NONE;
}

static bool twin_admit(const struct world *w, block_id b)
{
    if (w->view.held_bytes + w->blocks[b].bytes <= w->view.budget_bytes)
        return true;
    block_id first = twin_victim(w);
    if (first == BLOCK_NONE)
        return false;
    if (strcmp(w->policy->name, "belady-bypass") == 0)
        return w->next_use[b] <= w->next_use[first];
    return worth(w, b) <= worth(w, first);
}

static void twin_use(struct world *w, block_id b)
{
    uint32_t at = w->position[b];
    if (w->view.token != w->token || (w->view.token == 0 && at < w->now))
        w->pass++;
    w->token = w->view.token;
    w->now = at;
    w->last[b] = ++w->clock;
    w->pass_of[b] = w->pass;
}

/* ---- The world ---- */

static void take_out(struct world *w, block_id b, enum remove_reason reason)
{
    w->policy->ops.evict.on_remove(w->self, &w->view, b, reason);
    w->state[b] &= POLICY_IN_USE;
    w->view.held_bytes -= w->blocks[b].bytes;
}

static void release_all(struct world *w)
{
    if (w->policy->ops.evict.release == NULL)
        return;
    for (;;) {
        block_id b = w->policy->ops.evict.release(w->self, &w->view);
        assert_int_equal(b, twin_release(w));
        w->questions++;
        if (b == BLOCK_NONE)
            break;
        w->answers++;
        take_out(w, b, REMOVE_RELEASED);
    }
}

static void arrivals(struct world *w)
{
    for (block_id b = 0; b < w->view.block_count; b++)
        if (w->state[b] & POLICY_LOADING && rng_below(&w->rng, 2)) {
            if (w->state[b] & POLICY_PREFETCHED && rng_below(&w->rng, 8) == 0)
                take_out(w, b, REMOVE_CANCELLED);
            else
                w->state[b] = (uint8_t)((w->state[b] & ~POLICY_LOADING) | POLICY_RESIDENT);
        }
}

/* Room for b, then b, as far as the policy lets it in. */
static void bring(struct world *w, block_id b, bool demand)
{
    const struct evict_ops *ops = &w->policy->ops.evict;
    w->view.evict_mask =
        POLICY_RESIDENT | POLICY_LOADING | POLICY_PINNED | POLICY_IN_USE | (demand ? 0 : POLICY_PREFETCHED);
    if (w->blocks[b].bytes > room(w))
        return;
    if (ops->admit != NULL) {
        bool admitted = ops->admit(w->self, &w->view, b);
        assert_int_equal(admitted, twin_admit(w, b));
        if (!admitted)
            return;
    }
    while (w->view.held_bytes + w->blocks[b].bytes > w->view.budget_bytes) {
        block_id victim = ops->victim(w->self, &w->view, b);
        assert_int_equal(victim, twin_victim(w));
        w->questions++;
        if (victim == BLOCK_NONE)
            return;
        w->answers++;
        take_out(w, victim, REMOVE_EVICTED);
    }
    w->state[b] |= (uint8_t)(rng_below(&w->rng, 3) ? POLICY_RESIDENT : POLICY_LOADING);
    if (!demand)
        w->state[b] |= POLICY_PREFETCHED;
    w->view.held_bytes += w->blocks[b].bytes;
    ops->on_insert(w->self, &w->view, b);
    w->last[b] = ++w->clock;
    w->pass_of[b] = w->pass;
    w->uses[b] = w->missed == b;
    w->missed = BLOCK_NONE;
    release_all(w);
}

static void find_next_use(struct world *w, uint32_t step, uint32_t index)
{
    block_id b = w->steps[step][index];
    uint32_t access = (uint32_t)w->view.access;
    for (uint32_t s = step, i = index + 1; s < STEPS; s++, i = 0)
        for (; i < w->step_blocks[s]; i++) {
            access++;
            if (w->steps[s][i] == b) {
                w->next_use[b] = access;
                return;
            }
        }
    w->next_use[b] = NEXT_USE_NEVER;
}

static void use(struct world *w, block_id b, bool again)
{
    const struct evict_ops *ops = &w->policy->ops.evict;
    if (w->state[b] & POLICY_PINNED)
        return;
    if (held(w, b)) {
        w->state[b] &= (uint8_t)~POLICY_PREFETCHED;
        if (ops->on_hit != NULL)
            ops->on_hit(w->self, &w->view, b);
        twin_use(w, b);
        w->uses[b]++;
        w->missed = BLOCK_NONE;
        release_all(w);
    } else if (!again) {
        if (ops->on_miss != NULL)
            ops->on_miss(w->self, &w->view, b);
        twin_use(w, b);
        w->missed = b;
        release_all(w);
        bring(w, b, true);
    }
}

static void run_step(struct world *w, uint32_t step)
{
    const block_id *blocks = w->steps[step];
    uint32_t count = w->step_blocks[step];
    w->view.token = w->tokens[step];
    w->view.step = step;
    for (uint32_t i = 0; i < count; i++)
        w->state[blocks[i]] |= POLICY_IN_USE;
    for (uint32_t i = 0; i < count; i++) {
        w->view.access += i != 0 || step != 0;
        find_next_use(w, step, i);
        use(w, blocks[i], false);
        if (rng_below(&w->rng, 5) == 0)
            use(w, blocks[rng_below(&w->rng, i + 1)], true);
        if (rng_below(&w->rng, 3) == 0)
            arrivals(w);
    }
    for (uint32_t i = 0; i < count; i++)
        w->state[blocks[i]] &= (uint8_t)~POLICY_IN_USE;
    if (w->slots == 2 || rng_below(&w->rng, 3) == 0) {
        block_id b = (block_id)rng_below(&w->rng, w->view.block_count);
        if (!(w->state[b] & (POLICY_RESIDENT | POLICY_LOADING)))
            bring(w, b, false);
    }
}

/* Blocks: none with a layer, one a layer, or a shared one and experts a layer; sizes equal or of four kinds. */
static void make_blocks(struct world *w)
{
    uint64_t shape = rng_below(&w->rng, 4), sizes = rng_below(&w->rng, 2) ? 4 : 1;
    uint32_t layers = 1 + (uint32_t)rng_below(&w->rng, LAYERS_MAX);
    w->stride = 1 + (int32_t)rng_below(&w->rng, 100);
    for (block_id b = 0; b < w->view.block_count; b++) {
        struct policy_block *block = &w->blocks[b];
        *block = (struct policy_block){.bytes = 3 + rng_below(&w->rng, sizes), .layer = -1, .kind = BLOCK_OTHER};
        if (shape == 0)
            continue;
        block->layer = (int32_t)(b % layers) * w->stride;
        block->kind = shape != 1 && b >= layers ? BLOCK_EXPERT : BLOCK_LAYER;
        static const enum block_kind ends[] = {BLOCK_EMBEDDING, BLOCK_OUTPUT, BLOCK_NORM, BLOCK_EXPERT};
        if (rng_below(&w->rng, 6) == 0)
            *block = (struct policy_block){block->bytes, -1, ends[rng_below(&w->rng, 4)]};
    }
}

static void make_steps(struct world *w)
{
    bool loop = rng_below(&w->rng, 2), tokens = rng_below(&w->rng, 2);
    uint32_t token = 0, width = 1 + (uint32_t)rng_below(&w->rng, STEP_BLOCKS);
    for (uint32_t s = 0; s < STEPS; s++) {
        uint32_t wanted = 1 + (uint32_t)rng_below(&w->rng, width);
        for (uint32_t i = 0; i < wanted; i++) {
            block_id b = (block_id)(loop && i == 0 ? s % w->view.block_count : rng_below(&w->rng, w->view.block_count));
            bool there = false;
            for (uint32_t k = 0; k < w->step_blocks[s]; k++)
                there |= w->steps[s][k] == b;
            if (!there)
                w->steps[s][w->step_blocks[s]++] = b;
        }
        w->tokens[s] = token;
        token += tokens && rng_below(&w->rng, 6) == 0;
    }
}

static void start(struct world *w, const struct policy *policy, uint64_t seed)
{
    uint64_t sum = 0;
    memset(w, 0, sizeof *w);
    rng_seed(&w->rng, seed, 0);
    w->policy = policy;
    w->missed = BLOCK_NONE;
    w->view = (struct policy_view){.size = sizeof w->view,
                                   .block_count = 1 + (uint32_t)rng_below(&w->rng, BLOCKS_MAX),
                                   .blocks = w->blocks,
                                   .state = w->state,
                                   .next_use = w->next_use};
    make_blocks(w);
    make_steps(w);
    for (block_id b = 0; b < w->view.block_count; b++) {
        w->next_use[b] = NEXT_USE_NEVER;
        w->position[b] = find_position(w, b);
        sum += w->blocks[b].bytes;
    }
    for (uint32_t s = STEPS, access = 0; s-- > 0; access = 0) { /* a block is prefetched before its first use, too */
        for (uint32_t before = 0; before < s; before++)
            access += w->step_blocks[before];
        for (uint32_t i = w->step_blocks[s]; i-- > 0;)
            w->next_use[w->steps[s][i]] = access + i;
    }
    w->view.budget_bytes = 1 + rng_below(&w->rng, sum + 4);
    for (block_id b = 0; b < w->view.block_count; b++)
        if (rng_below(&w->rng, 10) == 0 && w->view.pinned_bytes + w->blocks[b].bytes <= w->view.budget_bytes) {
            w->state[b] = POLICY_RESIDENT | POLICY_PINNED;
            w->view.pinned_bytes += w->blocks[b].bytes;
        }
    w->view.held_bytes = w->view.pinned_bytes;
    w->slots = policy->param_count != 0 ? (int64_t)rng_below(&w->rng, 4) : 0;
    const struct policy_args args = {.values = &w->slots};
    /* Of exactly the size asked for, so that the sanitizer sees a step too far. */
    w->self = calloc(1, policy->state_size(&w->view, &args));
    assert_non_null(w->self);
    policy->init(w->self, &w->view, &args);
}

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

static void equals_its_twin(void **name)
{
    const struct policy *policy = find(*name);
    uint64_t questions = 0, answers = 0;
    for (uint64_t seed = 0; seed < WORLDS; seed++) {
        struct world w;
        start(&w, policy, seed);
        for (uint32_t step = 0; step < STEPS; step++)
            run_step(&w, step);
        questions += w.questions;
        answers += w.answers;
        free(w.self);
    }
    assert_true(answers > 10 * WORLDS);
    assert_true(questions > answers);
}

int main(void)
{
    static char belady[] = "belady", bypass[] = "belady-bypass", size[] = "belady-size", cyclic[] = "cyclic",
                stale_[] = "least-stale", lru[] = "layer-lru", lfu[] = "layer-lfu";
#define TWIN(name)                                                                                                     \
    {                                                                                                                  \
#name "_equals_its_twin", equals_its_twin, NULL, NULL, name                                                    \
    }
    const struct CMUnitTest tests[] = {
        TWIN(belady), TWIN(bypass), TWIN(size), TWIN(cyclic), TWIN(stale_), TWIN(lru), TWIN(lfu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
