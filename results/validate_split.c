/* See validate_split.h. */
#include "results/validate_split.h"

static uint32_t use_end(const struct trace *trace, uint32_t step)
{
    return trace_step_begin(trace, step + 1);
}

/* How many uses of a step are experts, or are not. */
static uint32_t count_uses(const struct model *model, const struct trace *trace, uint32_t step, bool experts)
{
    uint32_t count = 0;
    for (uint32_t u = trace_step_begin(trace, step); u < use_end(trace, step); u++)
        count += (model->policy_blocks[trace->uses[u] & USE_BLOCK].kind == BLOCK_EXPERT) == experts;
    return count;
}

/* A step of those uses, with that much to compute; none without uses. */
static bool add_part(const struct model *model, const struct trace *trace, uint32_t step, bool experts, int64_t ns,
                     struct trace_builder *builder, struct error *err)
{
    uint32_t work;
    if (count_uses(model, trace, step, experts) == 0)
        return true;
    if (!trace_add_work(builder, ns, 0, 0, NULL, 0, &work, err) || !trace_add_step(builder, work, err))
        return false;
    for (uint32_t u = trace_step_begin(trace, step); u < use_end(trace, step); u++) {
        const block_id block = trace->uses[u] & USE_BLOCK;
        if ((model->policy_blocks[block].kind == BLOCK_EXPERT) == experts &&
            !trace_add_use(builder, block, trace->uses[u] & USE_UNSEEN, err))
            return false;
    }
    return true;
}

static bool add_segment(const struct model *model, const struct trace *trace, const struct segment *segment,
                        const int64_t part_ns[2], struct trace_builder *builder, struct error *err)
{
    const bool decode = segment->phase == PHASE_DECODE;
    uint32_t parts[2] = {0}, made[2] = {0};
    const uint32_t end = segment->first_step + segment->step_count;
    for (uint32_t s = segment->first_step; s < end; s++)
        for (unsigned experts = 0; experts < 2; experts++)
            parts[experts] += count_uses(model, trace, s, experts != 0) > 0;
    if (!trace_add_segment(builder, segment, err))
        return false;
    for (uint32_t s = segment->first_step; s < end; s++)
        for (unsigned experts = 0; experts < 2; experts++) {
            if (count_uses(model, trace, s, experts != 0) == 0)
                continue;
            const int64_t ns = decode ? trace_share_ns(part_ns[experts], made[experts]++, parts[experts]) : 0;
            if (!add_part(model, trace, s, experts != 0, ns, builder, err))
                return false;
        }
    return true;
}

bool trace_split_experts(const struct model *model, const struct trace *trace, int64_t experts_ns, int64_t rest_ns,
                         struct trace *split, struct error *err)
{
    struct trace_builder builder;
    const int64_t part_ns[2] = {rest_ns, experts_ns};
    bool good = trace_start(&builder, split, trace->name, err);
    if (!good)
        return false;
    split->counts_tokens = trace->counts_tokens;
    for (uint32_t i = 0; good && i < trace->segment_count; i++)
        good = add_segment(model, trace, &trace->segments[i], part_ns, &builder, err);
    good = good && trace_finish(&builder, model, err);
    if (!good)
        trace_abandon(&builder);
    return good;
}
