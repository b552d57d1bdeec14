/* The dense workload: a prompt in one pass over the model, then a pass for each later token. */
#include "workloads/walk.h"

static bool add_pass(const struct walk *walk, const struct pass *pass, enum foresee foresee,
                     struct trace_builder *builder, struct error *err)
{
    struct work_sum sum;
    for (uint32_t i = 0; i < walk->step_count; i++)
        if (!walk_sum(walk, i, pass, &sum, err) || !walk_open_step(walk, i, pass, &sum, foresee, builder, err))
            return false;
    return true;
}

static bool add_passes(const struct workload_spec *spec, const struct walk *walk, struct trace_builder *builder,
                       struct error *err)
{
    const struct pass prefill = walk_prefill(spec), decode = walk_decode(spec);
    const bool prompt = spec->prompt_tokens > 0;
    /* The first token comes out of the prompt's pass. */
    const uint32_t decoded = spec->output_tokens - prompt;
    if (prompt && (!walk_open_segment(walk, &prefill, builder, 0, 0, 1, err) ||
                   !add_pass(walk, &prefill, spec->foresee, builder, err)))
        return false;
    return decoded == 0 || (walk_open_segment(walk, &decode, builder, prompt, spec->prompt_tokens, decoded, err) &&
                            add_pass(walk, &decode, spec->foresee, builder, err));
}

bool workload_dense(const struct workload_spec *spec, const struct model *model, struct trace *trace, struct error *err)
{
    struct walk walk;
    struct trace_builder builder;
    if (!walk_check(spec, model, err) || !walk_init(&walk, model, err))
        return false;
    bool ok = trace_start(&builder, trace, "dense", err);
    if (ok) {
        trace->counts_tokens = true;
        builder.kv_type = spec->kv_type;
        ok = add_passes(spec, &walk, &builder, err) && trace_finish(&builder, model, err);
    }
    if (!ok)
        trace_abandon(&builder);
    walk_free(&walk);
    return ok;
}
