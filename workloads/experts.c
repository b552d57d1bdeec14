/* The choice of experts: see experts.h. */
#include "workloads/experts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "workloads/zipf.h"

/* The choices of one layer, token after token. Experts are numbers 0 .. experts-1 of the layer. */
struct chooser {
    struct rng rng;
    struct zipf popularity; /* of ranks; those of chosen experts are taken */
    struct zipf slots;      /* of the token before, all alike; those with chosen experts are taken */
    uint32_t top_k, sticky_ppm;
    bool started;
    uint32_t *expert_of, *rank_of; /* the random order, and back */
    uint32_t *slot_of;             /* by expert: its slot of the token before + 1, or 0 */
    uint32_t *chosen, *before;     /* top_k each: this token's, the last one's */
    uint32_t chosen_count;
};

static void chooser_free(struct chooser *chooser)
{
    zipf_free(&chooser->popularity);
    zipf_free(&chooser->slots);
    free(chooser->expert_of); /* one allocation for all five arrays */
}

static bool chooser_init(struct chooser *chooser, const struct workload_spec *spec, uint32_t experts, uint32_t top_k,
                         uint64_t stream, struct error *err)
{
    if (!zipf_init(&chooser->popularity, experts, spec->zipf_ppm, err) || !zipf_init(&chooser->slots, top_k, 0, err))
        return false;
    chooser->expert_of = calloc(3 * (size_t)experts + 2 * (size_t)top_k, sizeof *chooser->expert_of);
    if (chooser->expert_of == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu32 " experts", experts);
    chooser->rank_of = chooser->expert_of + experts;
    chooser->slot_of = chooser->rank_of + experts;
    chooser->chosen = chooser->slot_of + experts;
    chooser->before = chooser->chosen + top_k;
    chooser->top_k = top_k;
    chooser->sticky_ppm = spec->sticky_ppm;
    rng_seed(&chooser->rng, spec->seed, stream);
    for (uint32_t i = 0; i < experts; i++) /* Fisher and Yates, inside out */
    {
        const uint32_t j = (uint32_t)rng_below(&chooser->rng, (uint64_t)i + 1);
        chooser->expert_of[i] = chooser->expert_of[j];
        chooser->expert_of[j] = i;
    }
    for (uint32_t i = 0; i < experts; i++)
        chooser->rank_of[chooser->expert_of[i]] = i;
    return true;
}

static void take(struct chooser *chooser, uint32_t expert)
{
    zipf_take(&chooser->popularity, chooser->rank_of[expert]);
    if (chooser->slot_of[expert] != 0)
        zipf_take(&chooser->slots, chooser->slot_of[expert] - 1);
    chooser->chosen[chooser->chosen_count++] = expert;
}

/* One of the last token's experts that this one has not chosen yet; false when there is none. */
static bool keep_one(struct chooser *chooser)
{
    const uint64_t weight = zipf_weight(&chooser->slots, 0); /* of each slot */
    const uint64_t left = chooser->slots.left / weight;
    if (left == 0)
        return false;
    take(chooser, chooser->before[zipf_at(&chooser->slots, rng_below(&chooser->rng, left) * weight)]);
    return true;
}

/* Nothing is chosen, and what was chosen is the token before. */
static void next_token(struct chooser *chooser)
{
    for (uint32_t i = 0; i < chooser->chosen_count; i++) {
        const uint32_t expert = chooser->chosen[i];
        zipf_put_back(&chooser->popularity, chooser->rank_of[expert]);
        if (chooser->slot_of[expert] != 0)
            zipf_put_back(&chooser->slots, chooser->slot_of[expert] - 1);
    }
    uint32_t *last = chooser->before;
    chooser->before = chooser->chosen;
    chooser->chosen = last;
    if (chooser->started)
        for (uint32_t i = 0; i < chooser->top_k; i++)
            chooser->slot_of[last[i]] = 0;
    for (uint32_t i = 0; i < chooser->chosen_count; i++)
        chooser->slot_of[chooser->before[i]] = i + 1;
    chooser->chosen_count = 0;
}

/* Fills chooser->chosen for the next token. */
static void choose(struct chooser *chooser)
{
    next_token(chooser);
    while (chooser->chosen_count < chooser->top_k) {
        const bool sticks = chooser->started && rng_below(&chooser->rng, 1000000) < chooser->sticky_ppm;
        if (sticks && keep_one(chooser))
            continue;
        take(chooser, chooser->expert_of[zipf_draw(&chooser->popularity, &chooser->rng)]);
    }
    chooser->started = true;
}

void experts_free(struct experts *experts)
{
    for (uint32_t i = 0; experts->choosers != NULL && i < experts->walk->step_count; i++)
        chooser_free(&experts->choosers[i]);
    free(experts->choosers);
    free(experts->choices);
    free(experts->seen);
    *experts = (struct experts){0};
}

static bool has_experts(const struct walk *walk)
{
    for (uint32_t i = 0; i < walk->step_count; i++)
        if (walk->steps[i].expert_no != 0)
            return true;
    return false;
}

bool experts_init(struct experts *experts, const struct workload_spec *spec, const struct walk *walk, uint32_t stream,
                  struct error *err)
{
    const struct model *model = walk->model;
    const uint32_t top_k = spec->top_k != 0 ? spec->top_k : model->shape.experts_used;
    *experts = (struct experts){.spec = spec, .walk = walk};
    if (!has_experts(walk))
        return true;
    if (top_k == 0)
        return fail(err, STATUS_USAGE, "top_k: the model \"%s\" does not say how many experts a token uses: give top_k",
                    model->name);
    if (spec->sticky_ppm > 1000000)
        return fail(err, STATUS_USAGE, "sticky: expected a share of at most 100%%");
    experts->choosers = calloc(walk->step_count, sizeof *experts->choosers);
    experts->seen = calloc(model->block_count, 1);
    if (experts->choosers == NULL || experts->seen == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu32 " layers", walk->step_count);
    for (uint32_t i = 0; i < walk->step_count; i++) {
        const struct walk_step *step = &walk->steps[i];
        if (step->expert_no == 0)
            continue; /* a dense layer among others */
        if (top_k > step->expert_no)
            return fail(err, STATUS_USAGE, "top_k = %" PRIu32 ": layer %" PRId32 " of \"%s\" has %" PRIu32 " experts",
                        top_k, step->layer, model->name, step->expert_no);
        if (!chooser_init(&experts->choosers[i], spec, step->expert_no, top_k,
                          (uint64_t)stream << 32 | (uint32_t)step->layer, err))
            return false;
    }
    return true;
}

uint64_t experts_of_token(const struct experts *experts)
{
    uint64_t count = 0;
    for (uint32_t i = 0; experts->choosers != NULL && i < experts->walk->step_count; i++)
        count += experts->choosers[i].top_k; /* 0: a dense layer */
    return count;
}

/* The experts of `tokens` tokens, token after token. */
static bool choose_experts(struct experts *experts, uint32_t i, uint32_t tokens, size_t *count, struct error *err)
{
    const struct walk_step *step = &experts->walk->steps[i];
    struct chooser *chooser = &experts->choosers[i];
    const uint64_t all = (uint64_t)tokens * chooser->top_k;
    void *choices = experts->choices;
    if (all > UINT32_MAX)
        return fail(err, STATUS_USAGE, "prompt_tokens * top_k is %" PRIu64 ": expected at most %" PRIu32, all,
                    UINT32_MAX);
    if (!array_reserve(&choices, &experts->choices_capacity, (size_t)all, sizeof *experts->choices, err))
        return false;
    experts->choices = choices;
    *count = (size_t)all;
    block_id *out = experts->choices;
    for (uint32_t t = 0; t < tokens; t++) {
        choose(chooser);
        for (uint32_t k = 0; k < chooser->top_k; k++)
            *out++ = experts->walk->blocks[step->experts + chooser->chosen[k]];
    }
    return true;
}

bool experts_add_step(struct experts *experts, uint32_t i, const struct pass *pass, struct trace_builder *builder,
                      struct error *err)
{
    const struct walk *walk = experts->walk;
    const enum foresee foresee = experts->spec->foresee;
    struct work_sum sum;
    size_t count = 0;
    if (experts->choosers != NULL && experts->choosers[i].top_k > 0 &&
        !choose_experts(experts, i, pass->tokens, &count, err))
        return false;
    if (!walk_sum(walk, i, pass, &sum, err))
        return false;
    bool ok = true;
    for (size_t u = 0; u < count && ok; u++) {
        const block_id b = experts->choices[u];
        ok = work_add_block(&sum, walk->model, b, 1, experts->seen[b] != 0, err);
        experts->seen[b] = 1;
    }
    for (size_t u = 0; u < count; u++)
        experts->seen[experts->choices[u]] = 0;
    ok = ok && walk_open_step(walk, i, pass, &sum, foresee, builder, err);
    for (size_t u = 0; u < count && ok; u++)
        ok = trace_add_use(builder, walk->first + experts->choices[u], foresee_flag(foresee, BLOCK_EXPERT), err);
    return ok;
}
