/* Cycle, working set, capacity and noise, in words. */
#include "results/bounds.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "sim/record.h"

/* Hit rates that differ by less, in percentage points, are called equal: a trace is one sample of what could have been
 * asked for. An estimate: runs of one workload with other seeds differ by about as much. */
#define NOISE_POINTS 0.5

/* The accesses so far, held against a sequence that repeats. */
struct loop {
    uint32_t *sequence;
    uint64_t length; /* 0: the first block has not come again */
    uint64_t count;  /* accesses so far */
    uint32_t distinct;
};

/* False: this is no loop. */
static bool loop_access(struct loop *loop, uint32_t block)
{
    if (loop->length == 0 && loop->count > 0 && block == loop->sequence[0])
        loop->length = loop->count;
    if (loop->length == 0) {
        if (loop->count == loop->distinct)
            return false;
        loop->sequence[loop->count++] = block;
        return true;
    }
    return loop->length == loop->distinct && loop->sequence[loop->count++ % loop->length] == block;
}

static bool is_loop(const struct trace *trace, struct loop *loop)
{
    for (uint32_t s = 0; s < trace->segment_count; s++) {
        const struct segment *segment = &trace->segments[s];
        const uint32_t first = trace_step_begin(trace, segment->first_step);
        const uint32_t end = trace_step_begin(trace, segment->first_step + segment->step_count);
        for (uint32_t repeat = 0; repeat < segment->repeat; repeat++)
            for (uint32_t u = first; u < end; u++)
                if (!(trace->uses[u] & USE_AGAIN) && !loop_access(loop, trace->uses[u] & USE_BLOCK))
                    return false;
    }
    return loop->length > 0;
}

bool trace_context_make(const struct trace *trace, uint32_t distinct, uint64_t block_bytes, bool has_bytes,
                        struct trace_context *context, struct error *err)
{
    struct loop loop = {.sequence = malloc(distinct * sizeof *loop.sequence), .distinct = distinct};
    if (!loop.sequence)
        return fail(err, STATUS_IO, "out of memory");
    *context = (struct trace_context){.accesses = trace->access_count,
                                      .distinct = distinct,
                                      .cycle_bytes = trace->cycle_bytes,
                                      .working_set_bytes = trace->working_set_bytes,
                                      .in_blocks = !has_bytes,
                                      .marks_tokens = trace->counts_tokens,
                                      .is_loop = is_loop(trace, &loop),
                                      .block_bytes = block_bytes};
    free(loop.sequence);
    return true;
}

/* "32 blocks", "32 MiB (32 blocks)", "32 MiB" */
static const char *size_text(const struct trace_context *context, uint64_t bytes, char out[UNITS_TEXT + 32])
{
    char text[UNITS_TEXT];
    if (context->in_blocks)
        snprintf(out, UNITS_TEXT + 32, "%" PRIu64 " block%s", bytes, bytes == 1 ? "" : "s");
    else if (context->block_bytes > 0)
        snprintf(out, UNITS_TEXT + 32, "%s, %" PRIu64 " blocks", format_bytes(bytes, text),
                 bytes / context->block_bytes);
    else
        snprintf(out, UNITS_TEXT + 32, "%s", format_bytes(bytes, text));
    return out;
}

const char *bounds_trace_text(const struct trace_context *context, char out[BOUNDS_TEXT])
{
    char working_set[UNITS_TEXT + 32], cycle[UNITS_TEXT + 32];
    const char *kind = context->is_loop        ? "a pure loop"
                       : context->marks_tokens ? "what one token touches"
                                               : "the trace marks no tokens: all of it";
    snprintf(out, BOUNDS_TEXT, "%" PRIu64 " accesses to %" PRIu64 " blocks; working set %s; cycle %s (%s)",
             context->accesses, context->distinct, size_text(context, context->working_set_bytes, working_set),
             size_text(context, context->cycle_bytes, cycle), kind);
    return out;
}

/* Three digits for shares, two behind the point for small factors. */
static const char *factor_text(double factor, char out[UNITS_TEXT])
{
    snprintf(out, UNITS_TEXT, factor < 0.1 ? "%.2g" : factor < 100 ? "%.2f" : "%.0f", factor);
    return out;
}

const char *bounds_capacity_text(const struct trace_context *context, const char *what, uint64_t bytes,
                                 char out[BOUNDS_TEXT])
{
    char factor[UNITS_TEXT], cycle[UNITS_TEXT + 32];
    out[0] = '\0';
    if (context->cycle_bytes == 0)
        return out;
    factor_text(ratio(bytes, context->cycle_bytes), factor);
    size_text(context, context->cycle_bytes, cycle);
    if (!context->is_loop && !context->marks_tokens)
        snprintf(out, BOUNDS_TEXT, "%s is %s of the working set", what, factor);
    else if (bytes >= context->cycle_bytes)
        snprintf(out, BOUNDS_TEXT, "%s is %s of the cycle", what, factor);
    else if (context->is_loop)
        snprintf(out, BOUNDS_TEXT, "%s is %s of the cycle (%s): LRU and FIFO hit nothing on a pure loop", what, factor,
                 cycle);
    else
        snprintf(out, BOUNDS_TEXT, "%s is %s of the cycle (%s): what one token touches does not fit", what, factor,
                 cycle);
    return out;
}

const char *bounds_noise_text(const double *hit_rates, size_t count, const char *where, char out[BOUNDS_TEXT])
{
    double least = INFINITY, most = -INFINITY;
    size_t known = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        known += isnan(hit_rates[i]) ? 0 : 1;
        least = fmin(least, hit_rates[i]);
        most = fmax(most, hit_rates[i]);
    }
    const double points = 100 * (most - least);
    if (known < 2 || !(points <= NOISE_POINTS))
        return out;
    char all[UNITS_TEXT] = "both";
    if (known > 2)
        snprintf(all, sizeof all, "all %zu", known);
    /* Rounded up, but not for the last bits of a difference of two quotients. */
    const double unit = points < 0.1 ? 100 : 10;
    if (points < 0.005)
        snprintf(out, BOUNDS_TEXT, "%s policies hit the same at %s: none is better here", all, where);
    else
        snprintf(out, BOUNDS_TEXT, "%s policies are within %.*f points at %s: none is better here", all,
                 points < 0.1 ? 2 : 1, ceil(points * unit - 1e-6) / unit, where);
    return out;
}
