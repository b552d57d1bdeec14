/* A compiled trace: its sums, the heat of its blocks, and its end. */
#include "workloads/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "workloads/kv.h"
#include "workloads/trace_sums.h"

const char *const phase_names[PHASES] = {"load", "prefill", "decode", "idle"};

void trace_free(struct trace *trace)
{
    free(trace->uses);
    free(trace->step_first);
    free(trace->step_work);
    free(trace->works);
    free(trace->terms);
    free(trace->segments);
    *trace = (struct trace){0};
}

bool trace_kv_checked(const struct trace *trace, uint64_t tokens, uint64_t *bytes)
{
    const struct kv_growth growth = {.bytes = trace->kv_bytes_per_token,
                                     .window_bytes = trace->kv_window_bytes_per_token,
                                     .window = trace->kv_window};
    return kv_bytes(&growth, tokens, bytes);
}

bool trace_kv_most(const struct trace *trace, uint64_t *bytes, uint64_t *context)
{
    *bytes = *context = 0;
    for (uint32_t s = 0; s < trace->segment_count; s++) {
        const struct segment *segment = &trace->segments[s];
        const uint64_t last = segment->context_first + (uint64_t)segment->repeat * segment->context_growth;
        uint64_t own;
        if (!(segment->second ? kv_bytes(&trace->second_kv, last, &own) : trace_kv_checked(trace, last, &own)) ||
            !add(own, segment->kv_beside_bytes, &own) || own > INT64_MAX)
            return false;
        *bytes = own > *bytes ? own : *bytes;
        *context = last > *context ? last : *context;
    }
    return true;
}

void trace_heat(const struct trace *trace, uint64_t *heat)
{
    for (uint32_t b = 0; b < trace->block_count; b++)
        heat[b] = 0;
    for (uint32_t i = 0; i < trace->segment_count; i++) {
        const struct segment *segment = &trace->segments[i];
        const uint32_t end = trace_step_begin(trace, segment->first_step + segment->step_count);
        for (uint32_t u = trace_step_begin(trace, segment->first_step); u < end; u++)
            if (!(trace->uses[u] & USE_AGAIN))
                heat[trace->uses[u] & USE_BLOCK] += segment->repeat;
    }
}

/* What one token of a segment touches. */
struct token_sums {
    uint64_t accesses, bytes, distinct_bytes;
};

static bool too_much(struct error *err)
{
    return fail(err, STATUS_INPUT, "the trace accesses more than 2^63 bytes");
}

static bool sum_token(struct trace *trace, const struct model *model, uint32_t s, uint32_t *last_segment,
                      struct token_sums *sums, struct error *err)
{
    const struct segment *segment = &trace->segments[s];
    for (uint32_t step = segment->first_step; step < segment->first_step + segment->step_count; step++) {
        const uint32_t end = trace_step_begin(trace, step + 1);
        const uint32_t begin = trace_step_begin(trace, step);
        uint64_t step_bytes = 0;
        if (end - begin > trace->step_uses_max)
            trace->step_uses_max = end - begin;
        for (uint32_t u = begin; u < end; u++) {
            const uint32_t b = trace->uses[u] & USE_BLOCK;
            if (b >= trace->block_count)
                return fail(err, STATUS_INPUT, "block %" PRIu32 ": the model has blocks 0 to %" PRIu32, b,
                            trace->block_count - 1);
            if (trace->uses[u] & USE_AGAIN)
                continue;
            const uint64_t bytes = model->policy_blocks[b].bytes;
            sums->accesses++;
            step_bytes += bytes; /* distinct blocks: at most model->weights_bytes, which fits */
            if (last_segment[b] != s + 1) {
                if (last_segment[b] == 0)
                    trace->working_set_bytes += bytes;
                sums->distinct_bytes += bytes;
                last_segment[b] = s + 1;
            }
        }
        if (step_bytes > trace->step_bytes_max)
            trace->step_bytes_max = step_bytes;
        if (!add(sums->bytes, step_bytes, &sums->bytes))
            return too_much(err);
    }
    return true;
}

static bool add_segments(struct trace *trace, const struct model *model, uint32_t *last_segment, struct error *err)
{
    uint64_t cycle_any = 0, cycle_decode = 0;
    bool has_decode = false;
    for (uint32_t s = 0; s < trace->segment_count; s++) {
        const struct segment *segment = &trace->segments[s];
        struct token_sums sums = {0};
        uint64_t accesses, bytes;
        if (!sum_token(trace, model, s, last_segment, &sums, err))
            return false;
        if (!multiply(sums.accesses, segment->repeat, &accesses) ||
            !add(trace->access_count, accesses, &trace->access_count) ||
            !multiply(sums.bytes, segment->repeat, &bytes) ||
            !add(trace->accessed_bytes, bytes, &trace->accessed_bytes) || trace->accessed_bytes > INT64_MAX)
            return too_much(err);
        trace->token_count += segment->repeat * (uint64_t)segment_tokens(segment); /* at most 2^32: trace_add_segment */
        if (segment->turn > trace->turn_count)
            trace->turn_count = segment->turn;
        if (sums.distinct_bytes > cycle_any)
            cycle_any = sums.distinct_bytes;
        if (segment->phase == PHASE_DECODE && segment->step_count > 0) {
            has_decode = true;
            if (sums.distinct_bytes > cycle_decode)
                cycle_decode = sums.distinct_bytes;
        }
    }
    trace->cycle_bytes = has_decode ? cycle_decode : cycle_any;
    return true;
}

bool trace_fill_sums(struct trace *trace, const struct model *model, struct error *err)
{
    if (trace->use_count == 0)
        return fail(err, STATUS_INPUT, "the trace is empty: it names no block");
    trace->block_count = model->block_count;
    trace->access_count = trace->token_count = trace->accessed_bytes = 0;
    trace->turn_count = 0;
    trace->step_uses_max = 0;
    trace->step_bytes_max = trace->cycle_bytes = trace->working_set_bytes = 0;
    uint32_t *last_segment = calloc(model->block_count, sizeof *last_segment);
    if (last_segment == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu32 " blocks", model->block_count);
    const bool ok = add_segments(trace, model, last_segment, err);
    free(last_segment);
    return ok;
}

bool trace_fill_plain_sums(struct trace *trace, const struct model *model, uint64_t bytes, struct error *err)
{
    must(trace->segment_count == 1 && trace->segments[0].repeat == 1 && trace->use_count == trace->step_count);
    if (bytes > INT64_MAX)
        return too_much(err);
    trace->block_count = model->block_count;
    trace->access_count = trace->use_count;
    trace->token_count = 1;
    trace->accessed_bytes = bytes;
    trace->step_uses_max = 1;
    trace->step_bytes_max = 0;
    for (uint32_t b = 0; b < model->block_count; b++)
        if (model->policy_blocks[b].bytes > trace->step_bytes_max)
            trace->step_bytes_max = model->policy_blocks[b].bytes;
    trace->cycle_bytes = trace->working_set_bytes = model->weights_bytes;
    return true;
}
