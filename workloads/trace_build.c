/* Building a trace: arrays that grow, repeats within a step, equal works stored once.
 *
 * The two index arrays exist only from the first step that needs them: most traces have one block a step, and one work
 * for all. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "workloads/kv.h"
#include "workloads/trace.h"
#include "workloads/trace_sums.h"

#define COUNT_MAX (UINT32_MAX - 1) /* of uses, steps, works, terms and segments */

/* Room for `need` elements in the pointer that `address` points to. The pointer's own type is not void *, so it is
 * copied out and in. */
static bool grow(void *address, size_t *capacity, size_t need, size_t size, struct error *err)
{
    void *data;
    memcpy(&data, address, sizeof data);
    if (!array_reserve(&data, capacity, need, size, err))
        return false;
    memcpy(address, &data, sizeof data);
    return true;
}

static void trim(void *address, size_t *capacity, size_t count, size_t size)
{
    void *data;
    memcpy(&data, address, sizeof data);
    if (data == NULL)
        return;
    array_trim(&data, capacity, count, size);
    memcpy(address, &data, sizeof data);
}

#define GROW(builder, member, capacity, need, err)                                                                     \
    ((need) <= (builder)->capacity ||                                                                                  \
     grow(&(builder)->trace->member, &(builder)->capacity, (need), sizeof *(builder)->trace->member, (err)))
#define TRIM(builder, member, capacity, count)                                                                         \
    trim(&(builder)->trace->member, &(builder)->capacity, (count), sizeof *(builder)->trace->member)

bool trace_start(struct trace_builder *builder, struct trace *trace, const char *name, struct error *err)
{
    *trace = (struct trace){0};
    *builder = (struct trace_builder){.trace = trace, .plain_steps = true, .plain_work = true};
    snprintf(trace->name, sizeof trace->name, "%s", name);
    return GROW(builder, uses, uses_capacity, 1, err) && GROW(builder, segments, segments_capacity, 1, err);
}

static void free_builder(struct trace_builder *builder)
{
    free(builder->seen);
    free(builder->work_slots);
    builder->seen = NULL;
    builder->work_slots = NULL;
}

void trace_abandon(struct trace_builder *builder)
{
    free_builder(builder);
    trace_free(builder->trace);
}

bool trace_add_segment(struct trace_builder *builder, const struct segment *segment, struct error *err)
{
    struct trace *trace = builder->trace;
    must(segment->phase == PHASE_PREFILL || segment->phase == PHASE_DECODE);
    must(segment->repeat > 0 && segment->idle_ns >= 0);
    must(segment->accepted <= segment->drafted && (segment->drafted == 0 || segment->repeat == 1));
    must(segment->away_ppm <= 1000000 &&
         (trace->segment_count == 0 || segment->turn >= trace->segments[trace->segment_count - 1].turn));
    if (trace->segment_count >= COUNT_MAX)
        return fail(err, STATUS_INPUT, "more than %" PRIu32 " segments", COUNT_MAX);
    if (segment->token + (uint64_t)segment->repeat * segment_tokens(segment) > UINT32_MAX)
        return fail(err, STATUS_INPUT, "more than %" PRIu32 " tokens", UINT32_MAX);
    /* Both factors fit 32 bits, so the product fits 64 and the sum cannot wrap before it exceeds 32. */
    const uint64_t grown = (uint64_t)segment->context_growth * segment->repeat;
    if (grown > UINT32_MAX || grown + segment->context_first > UINT32_MAX)
        return fail(err, STATUS_INPUT, "a context of more than %" PRIu32 " tokens", UINT32_MAX);
    if (!GROW(builder, segments, segments_capacity, (size_t)trace->segment_count + 1, err))
        return false;
    struct segment *added = &trace->segments[trace->segment_count++];
    *added = *segment;
    added->first_step = trace->step_count;
    added->step_count = 0;
    return true;
}

/* From now on steps need not have one use each: the array that says where each begins. */
static bool index_steps(struct trace_builder *builder, struct error *err)
{
    struct trace *trace = builder->trace;
    if (!GROW(builder, step_first, steps_capacity, (size_t)trace->step_count + 1, err))
        return false;
    for (uint32_t s = 0; s < trace->step_count; s++)
        trace->step_first[s] = s;
    builder->plain_steps = false;
    return true;
}

static bool index_works(struct trace_builder *builder, struct error *err)
{
    struct trace *trace = builder->trace;
    if (!GROW(builder, step_work, work_steps_capacity, (size_t)trace->step_count + 1, err))
        return false;
    memset(trace->step_work, 0, trace->step_count * sizeof *trace->step_work);
    builder->plain_work = false;
    return true;
}

bool trace_add_step(struct trace_builder *builder, uint32_t work, struct error *err)
{
    struct trace *trace = builder->trace;
    const uint32_t step = trace->step_count;
    must(trace->segment_count > 0);
    must(work < trace->work_count || (work == 0 && trace->work_count == 0));
    must(step == 0 ||
         (builder->plain_steps ? trace->use_count == step : trace->use_count > trace->step_first[step - 1]));
    if (step >= COUNT_MAX)
        return fail(err, STATUS_INPUT, "more than %" PRIu32 " steps", COUNT_MAX);
    if (!builder->plain_steps) {
        if (!GROW(builder, step_first, steps_capacity, (size_t)step + 1, err))
            return false;
        trace->step_first[step] = trace->use_count;
    }
    if (work != 0 && builder->plain_work && !index_works(builder, err))
        return false;
    if (!builder->plain_work) {
        if (!GROW(builder, step_work, work_steps_capacity, (size_t)step + 1, err))
            return false;
        trace->step_work[step] = work;
    }
    trace->step_count++;
    trace->segments[trace->segment_count - 1].step_count++;
    return true;
}

bool trace_set_work(struct trace_builder *builder, uint32_t step, uint32_t work, struct error *err)
{
    struct trace *trace = builder->trace;
    must(step < trace->step_count && work < trace->work_count);
    if (work != 0 && builder->plain_work && !index_works(builder, err))
        return false;
    if (!builder->plain_work)
        trace->step_work[step] = work;
    return true;
}

static bool grow_seen(struct trace_builder *builder, block_id block, struct error *err)
{
    if (block >= NUMBERED_BLOCKS_MAX)
        return fail(err, STATUS_INPUT, "more than %d blocks", NUMBERED_BLOCKS_MAX);
    const size_t before = builder->seen_capacity;
    if (!grow(&builder->seen, &builder->seen_capacity, (size_t)block + 1, sizeof *builder->seen, err))
        return false;
    memset(builder->seen + before, 0, (builder->seen_capacity - before) * sizeof *builder->seen);
    return true;
}

bool trace_add_use(struct trace_builder *builder, block_id block, uint32_t flags, struct error *err)
{
    struct trace *trace = builder->trace;
    must(trace->step_count > 0 && (flags & ~USE_UNSEEN) == 0);
    if (trace->use_count >= COUNT_MAX)
        return fail(err, STATUS_INPUT, "more than %" PRIu32 " uses of blocks", COUNT_MAX);
    if (block >= builder->seen_capacity && !grow_seen(builder, block, err))
        return false;
    if (builder->plain_steps && trace->use_count == trace->step_count && !index_steps(builder, err))
        return false;
    if (!GROW(builder, uses, uses_capacity, (size_t)trace->use_count + 1, err))
        return false;
    const uint32_t again = builder->seen[block] == trace->step_count ? USE_AGAIN : 0;
    builder->seen[block] = trace->step_count;
    trace->uses[trace->use_count++] = block | flags | again;
    return true;
}

bool trace_add_plain_steps(struct trace_builder *builder, uint32_t count, uint32_t **uses, struct error *err)
{
    struct trace *trace = builder->trace;
    must(trace->segment_count > 0 && count > 0 && builder->plain_steps && builder->plain_work &&
         trace->use_count == trace->step_count);
    if (count > COUNT_MAX - trace->use_count)
        return fail(err, STATUS_INPUT, "more than %" PRIu32 " uses of blocks", COUNT_MAX);
    if (!GROW(builder, uses, uses_capacity, (size_t)trace->use_count + count, err))
        return false;
    *uses = trace->uses + trace->use_count;
    trace->use_count += count;
    trace->step_count += count;
    trace->segments[trace->segment_count - 1].step_count += count;
    return true;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio: multiplicative hashing (Knuth 6.4) */
    return hash ^ (hash >> 29);
}

static uint64_t work_hash(const struct work *work, const struct work_term *terms)
{
    uint64_t hash = mix(mix(mix(work->term_count, (uint64_t)work->fixed_ns), work->bytes), work->bytes_per_context);
    hash = mix(hash, work->context_max);
    for (uint32_t i = 0; i < work->term_count; i++)
        hash = mix(mix(mix(mix(hash, terms[i].type), terms[i].flops), terms[i].flops_per_context), terms[i].bytes);
    return hash;
}

static bool works_equal(const struct work *a, const struct work_term *a_terms, const struct work *b,
                        const struct work_term *b_terms)
{
    if (a->fixed_ns != b->fixed_ns || a->bytes != b->bytes || a->bytes_per_context != b->bytes_per_context ||
        a->term_count != b->term_count || a->context_max != b->context_max)
        return false;
    for (uint32_t i = 0; i < a->term_count; i++)
        if (a_terms[i].type != b_terms[i].type || a_terms[i].flops != b_terms[i].flops ||
            a_terms[i].flops_per_context != b_terms[i].flops_per_context || a_terms[i].bytes != b_terms[i].bytes)
            return false;
    return true;
}

/* The slot of an equal work, or the empty one where it belongs. */
static size_t find_work(const struct trace_builder *builder, const struct work *work, const struct work_term *terms)
{
    const struct trace *trace = builder->trace;
    const size_t mask = builder->work_slot_count - 1;
    size_t slot = (size_t)work_hash(work, terms) & mask;
    for (; builder->work_slots[slot] != 0; slot = (slot + 1) & mask) {
        const struct work *known = &trace->works[builder->work_slots[slot] - 1];
        if (works_equal(work, terms, known, trace->terms + known->first_term))
            break;
    }
    return slot;
}

/* At most half of the slots are in use. */
static bool grow_work_slots(struct trace_builder *builder, struct error *err)
{
    const struct trace *trace = builder->trace;
    const size_t count = builder->work_slot_count > 0 ? builder->work_slot_count * 2 : 64;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return fail(err, STATUS_IO, "out of memory for %zu works", count);
    free(builder->work_slots);
    builder->work_slots = slots;
    builder->work_slot_count = count;
    for (uint32_t i = 0; i < trace->work_count; i++)
        slots[find_work(builder, &trace->works[i], trace->terms + trace->works[i].first_term)] = i + 1;
    return true;
}

bool trace_add_work(struct trace_builder *builder, int64_t fixed_ns, uint64_t bytes, uint64_t bytes_per_context,
                    const struct work_term *terms, uint32_t term_count, uint32_t *work, struct error *err)
{
    const struct work added = {.fixed_ns = fixed_ns,
                               .bytes = bytes,
                               .bytes_per_context = bytes_per_context,
                               .term_count = term_count,
                               .context_max = UINT32_MAX};
    return trace_add_capped_work(builder, &added, terms, work, err);
}

bool trace_add_capped_work(struct trace_builder *builder, const struct work *added, const struct work_term *terms,
                           uint32_t *work, struct error *err)
{
    struct trace *trace = builder->trace;
    const uint32_t term_count = added->term_count;
    must(added->fixed_ns >= -1);
    if (trace->work_count >= builder->work_slot_count / 2 && !grow_work_slots(builder, err))
        return false;
    /* Never NULL: works without terms point to it too. */
    if (!GROW(builder, terms, terms_capacity, (size_t)trace->term_count + term_count + 1, err))
        return false;
    const size_t slot = find_work(builder, added, terms);
    if (builder->work_slots[slot] != 0) {
        *work = builder->work_slots[slot] - 1;
        return true;
    }
    if (trace->work_count >= COUNT_MAX || term_count > COUNT_MAX - trace->term_count)
        return fail(err, STATUS_INPUT, "more than %" PRIu32 " different steps", COUNT_MAX);
    if (!GROW(builder, works, works_capacity, (size_t)trace->work_count + 1, err))
        return false;
    trace->works[trace->work_count] = *added;
    trace->works[trace->work_count].first_term = trace->term_count;
    for (uint32_t i = 0; i < term_count; i++)
        trace->terms[trace->term_count++] = terms[i];
    *work = trace->work_count++;
    builder->work_slots[slot] = trace->work_count;
    return true;
}

int64_t trace_share_ns(int64_t total_ns, uint32_t i, uint32_t n)
{
    must(total_ns >= 0 && i < n);
    /* floor(T*(i+1)/n) - floor(T*i/n) with T = q*n + r: both remaining products are below 2^64. */
    const uint64_t q = (uint64_t)total_ns / n, r = (uint64_t)total_ns % n;
    return (int64_t)(q + r * ((uint64_t)i + 1) / n - r * i / n);
}

bool trace_finish(struct trace_builder *builder, const struct model *model, struct error *err)
{
    struct trace *trace = builder->trace;
    if (!builder->plain_steps) {
        if (!GROW(builder, step_first, steps_capacity, (size_t)trace->step_count + 1, err))
            return false;
        trace->step_first[trace->step_count] = trace->use_count;
        TRIM(builder, step_first, steps_capacity, (size_t)trace->step_count + 1);
    }
    if (!(builder->summed ? trace_fill_plain_sums(trace, model, builder->plain_bytes, err)
                          : trace_fill_sums(trace, model, err)))
        return false;
    if (trace->counts_tokens) {
        struct kv_growth growth;
        if (!kv_growth(model, builder->kv_type, &growth, err))
            return false;
        trace->kv_bytes_per_token = growth.bytes;
        trace->kv_window_bytes_per_token = growth.window_bytes;
        trace->kv_window = growth.window;
    }
    TRIM(builder, uses, uses_capacity, trace->use_count);
    TRIM(builder, step_work, work_steps_capacity, trace->step_count);
    TRIM(builder, works, works_capacity, trace->work_count);
    TRIM(builder, terms, terms_capacity, trace->term_count);
    TRIM(builder, segments, segments_capacity, trace->segment_count);
    free_builder(builder);
    return true;
}
