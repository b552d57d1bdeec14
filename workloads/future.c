/* The future of a trace, found by one walk backwards over what it stores. */
#include "workloads/future.h"

#include <inttypes.h>
#include <stdlib.h>

/* One repetition of a segment, whose first access has the number `start`, backwards. Leaves in next[b] the number of
 * the first access to b from `start` on. */
static void walk_back(const struct trace *trace, const struct segment *segment, uint64_t start, uint64_t accesses,
                      uint32_t *gap, uint32_t *next)
{
    uint64_t number = start + accesses;
    const uint32_t begin = trace_step_begin(trace, segment->first_step);
    for (uint32_t u = trace_step_begin(trace, segment->first_step + segment->step_count); u-- > begin;) {
        if (trace->uses[u] & USE_AGAIN)
            continue;
        const uint32_t b = trace->uses[u] & USE_BLOCK;
        number--;
        gap[u] = next[b] == NEXT_USE_NEVER ? 0 : next[b] - (uint32_t)number;
        next[b] = (uint32_t)number;
    }
}

static uint64_t accesses_of(const struct trace *trace, const struct segment *segment)
{
    uint64_t count = 0;
    const uint32_t end = trace_step_begin(trace, segment->first_step + segment->step_count);
    if (!trace->step_first)
        return segment->step_count;
    for (uint32_t u = trace_step_begin(trace, segment->first_step); u < end; u++)
        count += !(trace->uses[u] & USE_AGAIN);
    return count;
}

/* The first access of the repetition before the last is where the blocks of the segment are found from its first
 * repetition on, moved to the front. */
static void move_to_front(const struct trace *trace, const struct segment *segment, uint64_t start, uint64_t accesses,
                          uint32_t *next)
{
    uint64_t number = start + accesses;
    const uint32_t begin = trace_step_begin(trace, segment->first_step);
    for (uint32_t u = trace_step_begin(trace, segment->first_step + segment->step_count); u-- > begin;)
        if (!(trace->uses[u] & USE_AGAIN))
            next[trace->uses[u] & USE_BLOCK] = (uint32_t)--number;
}

bool future_make(const struct trace *trace, struct future *future, struct error *err)
{
    *future = (struct future){0};
    if (trace->access_count >= NEXT_USE_NEVER)
        return fail(err, STATUS_USAGE, "the trace has %" PRIu64 " accesses: the future is known for at most %" PRIu32,
                    trace->access_count, NEXT_USE_NEVER - 1);
    bool repeats = false;
    for (uint32_t s = 0; s < trace->segment_count; s++)
        repeats = repeats || trace->segments[s].repeat > 1;
    future->first = malloc(trace->block_count * sizeof *future->first);
    future->gap = calloc(trace->use_count, sizeof *future->gap);
    future->gap_again = repeats ? calloc(trace->use_count, sizeof *future->gap_again) : NULL;
    if (!future->first || !future->gap || (repeats && !future->gap_again)) {
        future_free(future);
        return fail(err, STATUS_IO, "out of memory: the future of %" PRIu32 " uses", trace->use_count);
    }
    uint32_t *next = future->first;
    for (uint32_t b = 0; b < trace->block_count; b++)
        next[b] = NEXT_USE_NEVER;
    uint64_t end = trace->access_count;
    for (uint32_t s = trace->segment_count; s-- > 0;) {
        const struct segment *segment = &trace->segments[s];
        const uint64_t accesses = accesses_of(trace, segment), start = end - accesses * segment->repeat;
        walk_back(trace, segment, end - accesses, accesses, future->gap, next);
        if (segment->repeat > 1) {
            walk_back(trace, segment, end - 2 * accesses, accesses, future->gap_again, next);
            move_to_front(trace, segment, start, accesses, next);
        }
        end = start;
    }
    must(end == 0);
    return true;
}

void future_free(struct future *future)
{
    free(future->first);
    free(future->gap);
    free(future->gap_again);
    *future = (struct future){0};
}
