/* The mixture-of-experts workload: like dense, and at each layer every token chooses top_k distinct experts.
 *
 * Each slot of a token takes an expert of the token before again with chance `sticky` (one of those not yet chosen, all
 * alike), else draws from the layer's popularity: Zipf's law over a random order of its experts. Every layer has random
 * numbers of its own, so its choices do not depend on the other layers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/walk.h"
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

struct moe {
    const struct workload_spec *spec;
    struct walk walk;
    struct chooser *choosers; /* one a step of the walk; those of steps without experts stay all zeros */
};

static void chooser_free(struct chooser *chooser)
{
    zipf_free(&chooser->popularity);
    zipf_free(&chooser->slots);
    free(chooser->expert_of); /* one allocation for all five arrays */
}

static bool chooser_init(struct chooser *chooser, const struct workload_spec *spec, uint32_t experts, uint32_t top_k,
                         uint32_t layer, struct error *err)
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
    rng_seed(&chooser->rng, spec->seed, layer);
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

static void moe_free(struct moe *moe)
{
    if (moe->choosers != NULL)
        for (uint32_t i = 0; i < moe->walk.step_count; i++)
            chooser_free(&moe->choosers[i]);
    free(moe->choosers);
    walk_free(&moe->walk);
}

static bool moe_init(struct moe *moe, const struct workload_spec *spec, const struct model *model, struct error *err)
{
    const uint32_t top_k = spec->top_k != 0 ? spec->top_k : model->shape.experts_used;
    *moe = (struct moe){.spec = spec};
    if (top_k == 0)
        return fail(err, STATUS_USAGE, "top_k: the model \"%s\" does not say how many experts a token uses: give top_k",
                    model->name);
    if (spec->sticky_ppm > 1000000)
        return fail(err, STATUS_USAGE, "sticky: expected a share of at most 100%%");
    if (!walk_init(&moe->walk, model, err))
        return false;
    moe->choosers = calloc(moe->walk.step_count, sizeof *moe->choosers);
    if (moe->choosers == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu32 " layers", moe->walk.step_count);
    for (uint32_t i = 0; i < moe->walk.step_count; i++) {
        const struct walk_step *step = &moe->walk.steps[i];
        if (step->expert_no == 0)
            continue; /* a dense layer among others */
        if (top_k > step->expert_no)
            return fail(err, STATUS_USAGE, "top_k = %" PRIu32 ": layer %" PRId32 " of \"%s\" has %" PRIu32 " experts",
                        top_k, step->layer, model->name, step->expert_no);
        if (!chooser_init(&moe->choosers[i], spec, step->expert_no, top_k, (uint32_t)step->layer, err))
            return false;
    }
    return true;
}

/* The experts of `tokens` tokens into `out`, token after token. */
static void choose_experts(struct moe *moe, uint32_t i, uint32_t tokens, block_id *out)
{
    const struct walk_step *step = &moe->walk.steps[i];
    struct chooser *chooser = &moe->choosers[i];
    for (uint32_t t = 0; t < tokens; t++) {
        choose(chooser);
        for (uint32_t k = 0; k < chooser->top_k; k++)
            *out++ = moe->walk.blocks[step->experts + chooser->chosen[k]];
    }
}

/* One step with its choices. `seen` has a byte a block, all 0 before and after. */
static bool add_step(struct moe *moe, uint32_t i, const struct pass *pass, block_id *choices, uint8_t *seen,
                     struct trace_builder *builder, struct error *err)
{
    const struct model *model = moe->walk.model;
    struct work_sum sum;
    const size_t count = (size_t)pass->tokens * moe->choosers[i].top_k;
    choose_experts(moe, i, moe->choosers[i].top_k > 0 ? pass->tokens : 0, choices);
    if (!walk_sum(&moe->walk, i, pass, &sum, err))
        return false;
    bool ok = true;
    for (size_t u = 0; u < count && ok; u++) {
        ok = work_add_block(&sum, model, choices[u], 1, seen[choices[u]] != 0, err);
        seen[choices[u]] = 1;
    }
    for (size_t u = 0; u < count; u++)
        seen[choices[u]] = 0;
    ok = ok && walk_open_step(&moe->walk, i, pass, &sum, moe->spec->foresee, builder, err);
    for (size_t u = 0; u < count && ok; u++)
        ok = trace_add_use(builder, choices[u], foresee_flag(moe->spec->foresee, BLOCK_EXPERT), err);
    return ok;
}

static bool add_pass(struct moe *moe, const struct pass *pass, uint32_t token, uint32_t context, block_id *choices,
                     uint8_t *seen, struct trace_builder *builder, struct error *err)
{
    if (!walk_open_segment(&moe->walk, pass, builder, token, context, 1, err))
        return false;
    for (uint32_t i = 0; i < moe->walk.step_count; i++)
        if (!add_step(moe, i, pass, choices, seen, builder, err))
            return false;
    return true;
}

static bool add_passes(struct moe *moe, struct trace_builder *builder, struct error *err)
{
    const struct workload_spec *spec = moe->spec;
    const struct pass prefill = walk_prefill(spec), decode = walk_decode(spec);
    const bool prompt = spec->prompt_tokens > 0;
    const uint32_t decoded = spec->output_tokens - prompt;
    uint32_t top_k = 0;
    for (uint32_t i = 0; i < moe->walk.step_count; i++)
        if (moe->choosers[i].top_k > top_k)
            top_k = moe->choosers[i].top_k;
    const uint64_t most = (uint64_t)(prompt ? spec->prompt_tokens : 1) * top_k;
    if (most > UINT32_MAX)
        return fail(err, STATUS_USAGE, "prompt_tokens * top_k is %" PRIu64 ": expected at most %" PRIu32, most,
                    UINT32_MAX);
    block_id *choices = malloc((size_t)most * sizeof *choices);
    uint8_t *seen = calloc(moe->walk.model->block_count, 1);
    bool ok = choices != NULL && seen != NULL;
    if (!ok)
        (void)fail(err, STATUS_IO, "out of memory: the experts of %" PRIu32 " tokens", spec->prompt_tokens);
    ok = ok && (!prompt || add_pass(moe, &prefill, 0, 0, choices, seen, builder, err));
    for (uint32_t t = 0; t < decoded && ok; t++)
        ok = add_pass(moe, &decode, t + prompt, spec->prompt_tokens + t, choices, seen, builder, err);
    free(choices);
    free(seen);
    return ok;
}

bool workload_moe(const struct workload_spec *spec, const struct model *model, struct trace *trace, struct error *err)
{
    struct moe moe;
    struct trace_builder builder;
    if (!walk_check(spec, model, err))
        return false;
    if (!moe_init(&moe, spec, model, err)) {
        moe_free(&moe);
        return false;
    }
    bool ok = trace_start(&builder, trace, "moe", err);
    if (ok) {
        trace->counts_tokens = true;
        builder.kv_type = spec->kv_type;
        ok = add_passes(&moe, &builder, err) && trace_finish(&builder, model, err);
    }
    if (!ok)
        trace_abandon(&builder);
    moe_free(&moe);
    return ok;
}
