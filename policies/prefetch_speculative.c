/* A predictor of experts with a given quality, to ask from which accuracy prefetching pays.
 *
 * Each expert that a coming step will use is predicted with the chance `recall`. Wrong experts of the same layer are
 * added until, in expectation, the share `accuracy` of the predicted ones is right. All lots are functions of the run's
 * seed, the step and the block: a step that is seen by several plans is predicted alike by each. What is no expert
 * counts as foreseen, and comes first. */
#include "policies/lots.h"
#include "policies/ranks.h"

struct speculative {
    uint32_t depth;
    uint64_t accuracy_ppm, recall_ppm;
    uint64_t marks;    /* steps predicted so far, by all plans */
    uint64_t *mark;    /* by block: the last of them that uses it, or has it among its wrong experts */
    uint64_t *planned; /* by block: the last plan that held it */
    uint64_t plans;
    uint32_t *layer_of; /* by block: the rank of its layer, for experts */
    uint32_t *first;    /* by layer: its experts are experts[first[l]] .. experts[first[l + 1] - 1] */
    block_id *experts;
    uint64_t keys[];
};

static bool is_expert(const struct policy_view *view, block_id b)
{
    return view->blocks[b].kind == BLOCK_EXPERT && view->blocks[b].layer >= 0;
}

static size_t speculative_state_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    size_t n = view->block_count;
    return sizeof(struct speculative) + 3 * n * sizeof(uint64_t) + (3 * n + 2) * sizeof(uint32_t);
}

static void speculative_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    struct speculative *s = self;
    uint32_t n = view->block_count, known = 0;
    s->accuracy_ppm = (uint64_t)args->values[0];
    s->recall_ppm = (uint64_t)args->values[1];
    s->depth = (uint32_t)args->values[2];
    s->mark = s->keys + n;
    s->planned = s->mark + n;
    s->layer_of = (uint32_t *)(s->planned + n);
    s->first = s->layer_of + n;
    s->experts = s->first + n + 2;
    for (block_id b = 0; b < n; b++)
        if (is_expert(view, b))
            s->keys[known++] = (uint64_t)view->blocks[b].layer;
    uint32_t layers = ranks_make(s->keys, known);
    for (block_id b = 0; b < n; b++)
        if (is_expert(view, b)) {
            s->layer_of[b] = ranks_find(s->keys, layers, (uint64_t)view->blocks[b].layer);
            s->first[s->layer_of[b] + 2]++;
        }
    for (uint32_t l = 2; l < layers + 2; l++)
        s->first[l] += s->first[l - 1];
    for (block_id b = 0; b < n; b++)
        if (is_expert(view, b))
            s->experts[s->first[s->layer_of[b] + 1]++] = b;
}

static uint32_t speculative_reach(const void *self, const struct policy_view *view)
{
    (void)view;
    const struct speculative *s = self;
    return s->depth;
}

struct prediction {
    struct speculative *s;
    const struct policy_view *view;
    block_id *out;
    uint32_t count, max;
};

static void fetch(struct prediction *p, block_id b)
{
    struct speculative *s = p->s;
    if (p->view->state[b] & (POLICY_RESIDENT | POLICY_LOADING) || s->planned[b] == s->plans || p->count == p->max)
        return;
    s->planned[b] = s->plans;
    p->out[p->count++] = b;
}

/* Adds the wrong experts of one layer to a step's prediction with `right` right ones: the expected number of them is
 * right * (1 - accuracy) / accuracy, as far as the layer has experts that the step does not use. */
static void mislead(struct prediction *p, uint64_t step, uint32_t layer, uint64_t right)
{
    struct speculative *s = p->s;
    const block_id *experts = s->experts + s->first[layer];
    uint32_t experts_count = s->first[layer + 1] - s->first[layer];
    uint64_t parts = right * (1000000 - s->accuracy_ppm), wrong = parts / s->accuracy_ppm;
    uint64_t rest = parts % s->accuracy_ppm;
    wrong += lots_fall(lots_draw(p->view->seed, LOTS_WRONG_COUNT, step, layer), rest * 1000000 / s->accuracy_ppm);
    uint32_t tried = 0;
    for (uint64_t w = 0; w < wrong && tried < experts_count; w++) {
        uint32_t at = lots_below(lots_draw(p->view->seed, LOTS_WRONG, step, (uint64_t)layer << 32 | w), experts_count);
        for (tried = 0; tried < experts_count && s->mark[experts[at]] == s->marks; tried++)
            at = at + 1 < experts_count ? at + 1 : 0;
        if (tried == experts_count)
            break;
        s->mark[experts[at]] = s->marks;
        fetch(p, experts[at]);
    }
}

static bool before(const struct prediction *p, uint64_t step, block_id a, block_id b)
{
    uint64_t left = lots_draw(p->view->seed, LOTS_ORDER, step, a);
    uint64_t right = lots_draw(p->view->seed, LOTS_ORDER, step, b);
    return left != right ? left < right : a < b;
}

/* Shuffles out[from ..]: a predictor cannot tell which of its experts are right, so that neither may come first. A heap
 * sort by lot. */
static void shuffle(struct prediction *p, uint64_t step, uint32_t from)
{
    block_id *heap = p->out + from;
    uint32_t count = p->count - from;
    for (uint32_t done = count / 2 + count; done-- > 0;) {
        uint32_t at = done >= count ? done - count : 0, end = done >= count ? count : done;
        block_id moving = heap[at];
        if (done < count) {
            moving = heap[done];
            heap[done] = heap[0];
        }
        while (at < end / 2) {
            uint32_t child = 2 * at + 1;
            if (child + 1 < end && before(p, step, heap[child], heap[child + 1]))
                child++;
            if (!before(p, step, moving, heap[child]))
                break;
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = moving;
    }
}

/* One coming step: first what is foreseeable, then experts, right and wrong. A step's experts are mostly of one layer;
 * where they are of several, each run of one layer has its own wrong ones. */
static void predict(struct prediction *p, uint64_t step, const block_id *uses, uint32_t count)
{
    struct speculative *s = p->s;
    s->marks++;
    for (uint32_t i = 0; i < count; i++) {
        s->mark[uses[i]] = s->marks;
        if (!is_expert(p->view, uses[i]))
            fetch(p, uses[i]);
    }
    uint32_t from = p->count;
    uint64_t right = 0;
    for (uint32_t i = 0; i < count; i++) {
        block_id b = uses[i];
        if (!is_expert(p->view, b))
            continue;
        if (lots_fall(lots_draw(p->view->seed, LOTS_RIGHT, step, b), s->recall_ppm)) {
            right++;
            fetch(p, b);
        }
        uint32_t next = i + 1;
        while (next < count && !is_expert(p->view, uses[next]))
            next++;
        if (next == count || s->layer_of[uses[next]] != s->layer_of[b]) {
            mislead(p, step, s->layer_of[b], right);
            right = 0;
        }
    }
    shuffle(p, step, from);
}

static uint32_t speculative_plan(void *self, const struct policy_view *view, block_id *out, uint32_t max)
{
    struct speculative *s = self;
    struct prediction p = {.s = s, .view = view, .out = out, .max = max};
    uint32_t steps = s->depth < view->ahead_steps ? s->depth : view->ahead_steps;
    s->plans++;
    for (uint32_t i = 0; i < steps && p.count < max; i++) {
        uint32_t begin = i != 0 ? view->ahead_end[i - 1] : 0;
        predict(&p, view->step + 1 + i, view->ahead + begin, view->ahead_end[i] - begin);
    }
    return p.count;
}

static const struct policy_param speculative_params[] = {
    {"accuracy", POLICY_PPM, 1, 1000000, 900000, "the share of predicted experts that will be used"},
    {"recall", POLICY_PPM, 0, 1000000, 900000, "the share of experts that will be used that are predicted"},
    {"depth", POLICY_COUNT, 1, POLICY_REACH_MAX, 1, "how many steps ahead to predict"},
};

const struct policy policy_speculative_experts = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_PREFETCH,
    .name = "speculative-experts",
    .summary = "fetch predicted experts of the next steps; accuracy and recall are given",
    .needs = POLICY_NEEDS_FUTURE,
    .param_count = 3,
    .params = speculative_params,
    .state_size = speculative_state_size,
    .init = speculative_init,
    .ops.prefetch = {speculative_reach, speculative_plan},
};
