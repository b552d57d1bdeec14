/* Policies alone: the look-ups of a run without its clock. */
#include "sim/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "sim/replay_kernels.h"

struct replay {
    struct host host;
    replay_kernel *kernel;
    const struct trace *trace;
    struct replay_result *out;
    const struct policy_block *sizes; /* real ones, also where the host counts objects */
    uint8_t *streamed;                /* the running step reads the block without keeping it */
    bool after_step, equal_sizes;
};

static bool release(struct replay *r, struct error *err)
{
    block_id victim;
    bool unused;
    enum room room;
    do
        room = host_release_one(&r->host, &victim, &unused, err);
    while (room == ROOM_MADE);
    return room == ROOM_NONE;
}

/* Room for b, then b. */
static bool place(struct replay *r, block_id b, bool *kept, struct error *err)
{
    struct host *host = &r->host;
    *kept = !host_too_large(host, b) && host_admits(host, b);
    while (*kept && !r->after_step && !host_fits(host, b)) {
        block_id victim;
        bool unused;
        enum room room = host_evict_one(host, b, &victim, &unused, err);
        if (room == ROOM_ERROR)
            return false;
        *kept = room == ROOM_MADE;
        if (!*kept && host->view.may_exceed) {
            *kept = true;
            break;
        }
    }
    r->out->misses++;
    r->out->bytes_read += r->sizes[b].bytes;
    if (!*kept) {
        r->out->uncacheable++;
        return true;
    }
    host_reserve(host, b, POLICY_RESIDENT);
    if (host->view.may_exceed && host->view.held_bytes > r->out->peak_held_bytes)
        r->out->peak_held_bytes = host->view.held_bytes;
    host->evict->on_insert(host->evict_self, &host->view, b);
    return release(r, err);
}

static bool hit(struct replay *r, block_id b, struct error *err)
{
    if (r->host.state[b] & POLICY_PINNED)
        return true;
    host_on_hit(&r->host, b);
    return release(r, err);
}

static bool access_block(struct replay *r, block_id b, bool *kept, struct error *err)
{
    struct host *host = &r->host;
    if (host->state[b] & POLICY_RESIDENT)
        return hit(r, b, err);
    host_on_miss(host, b);
    return release(r, err) && place(r, b, kept, err);
}

static bool evict_after(struct replay *r, struct error *err)
{
    struct host *host = &r->host;
    while (host->view.held_bytes > host->view.budget_bytes) {
        block_id victim;
        bool unused;
        enum room room = host_evict_one(host, BLOCK_NONE, &victim, &unused, err);
        if (room == ROOM_ERROR)
            return false;
        if (room == ROOM_NONE)
            break;
    }
    return true;
}

/* A step of several uses, or one that evicts after itself: its blocks are marked, so that none of them is a victim.
 * `repeats`: the step comes again in the next repetition of its segment. */
static bool step(struct replay *r, uint32_t begin, uint32_t end, bool repeats, struct error *err)
{
    struct host *host = &r->host;
    const uint32_t *uses = r->trace->uses + begin, count = end - begin;
    for (uint32_t i = 0; i < count; i++)
        host->state[uses[i] & USE_BLOCK] |= POLICY_IN_USE;
    for (uint32_t i = 0; i < count; i++) {
        block_id b = uses[i] & USE_BLOCK;
        if (uses[i] & USE_AGAIN) {
            if (!r->streamed[b] && !hit(r, b, err))
                return false;
            continue;
        }
        r->out->accesses++;
        host_count_access(host, begin + i, repeats);
        bool kept = true;
        if (!access_block(r, b, &kept, err))
            return false;
        r->streamed[b] = !kept;
    }
    if (r->after_step && !evict_after(r, err))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        block_id b = uses[i] & USE_BLOCK;
        host->state[b] = (uint8_t)(host->state[b] & ~(unsigned)POLICY_IN_USE);
        r->streamed[b] = 0;
    }
    host->view.step++;
    return true;
}

/* A segment whose steps have one use each, with room made before: the hot loop. */
static bool plain_steps(struct replay *r, const struct segment *segment, struct error *err)
{
    const struct future *future = r->host.future;
    struct replay_pass pass = {
        .host = &r->host,
        .out = r->out,
        .sizes = r->sizes,
        .uses = r->trace->uses + segment->first_step,
        .count = segment->step_count,
        .repeat = segment->repeat,
        .equal_sizes = r->equal_sizes,
    };
    if (future) {
        pass.gaps = future->gap + segment->first_step;
        pass.gaps_again = future->gap_again ? future->gap_again + segment->first_step : NULL;
    }
    return r->kernel(&pass, err);
}

static bool steps(struct replay *r, const struct segment *segment, struct error *err)
{
    for (uint32_t repeat = 0; repeat < segment->repeat; repeat++, r->host.view.token++)
        for (uint32_t i = 0; i < segment->step_count; i++) {
            uint32_t begin = trace_step_begin(r->trace, segment->first_step + i);
            uint32_t end = trace_step_begin(r->trace, segment->first_step + i + 1);
            if (!step(r, begin, end, repeat + 1 < segment->repeat, err))
                return false;
        }
    return true;
}

static bool walk(struct replay *r, struct error *err)
{
    const bool plain = !r->trace->step_first && !r->after_step;
    for (uint32_t s = 0; s < r->trace->segment_count; s++)
        if (!(plain ? plain_steps : steps)(r, &r->trace->segments[s], err))
            return false;
    return true;
}

static bool equal_sizes(const struct policy_block *blocks, uint32_t count)
{
    for (uint32_t b = 1; b < count; b++)
        if (blocks[b].bytes != blocks[0].bytes)
            return false;
    return true;
}

/* Blocks that take 1 each, for a capacity in objects, and the most that a step then names. */
static bool count_objects(const struct replay_spec *spec, struct arena *arena, struct host_spec *host,
                          struct error *err)
{
    uint32_t n = spec->model->block_count;
    struct policy_block *units = arena_alloc(arena, n, sizeof *units);
    if (!units)
        return fail(err, STATUS_IO, "out of memory");
    for (uint32_t b = 0; b < n; b++) {
        units[b] = spec->model->policy_blocks[b];
        units[b].bytes = 1;
    }
    host->blocks = units;
    host->step_bytes_max = 1;
    for (uint32_t s = 0; spec->trace->step_first && s < spec->trace->step_count; s++) {
        uint64_t named = 0;
        for (uint32_t u = trace_step_begin(spec->trace, s); u < trace_step_begin(spec->trace, s + 1); u++)
            named += !(spec->trace->uses[u] & USE_AGAIN);
        host->step_bytes_max = named > host->step_bytes_max ? named : host->step_bytes_max;
    }
    return true;
}

static bool no_block_fits(const struct replay *r)
{
    if (r->host.view.pinned_bytes > 0)
        return false;
    for (uint32_t b = 0; b < r->host.view.block_count; b++)
        if (!host_too_large(&r->host, b))
            return false;
    return true;
}

/* That a policy held more than its capacity belongs to its numbers. */
static void remark_excess(struct replay *r, const struct replay_spec *spec)
{
    char *remark = r->out->remark, excess[UNITS_TEXT];
    size_t length = strlen(remark);
    if (!r->host.view.may_exceed || r->out->peak_held_bytes <= spec->capacity_bytes)
        return;
    const uint64_t over = r->out->peak_held_bytes - spec->capacity_bytes;
    const uint64_t blocks = spec->by_objects ? over : r->equal_sizes ? over / r->sizes[0].bytes : 0;
    if (blocks > 0)
        snprintf(excess, sizeof excess, "%" PRIu64 " block%s", blocks, blocks == 1 ? "" : "s");
    else
        format_bytes(over, excess);
    snprintf(remark + length, sizeof r->out->remark - length,
             "%sby its published rule it held up to %s more than the capacity", length > 0 ? "; " : "", excess);
}

/* From the pinned blocks to the last access. */
static bool run(struct replay *r, const struct replay_spec *spec, struct arena *arena, struct error *err)
{
    uint32_t n = spec->model->block_count;
    r->streamed = arena_alloc(arena, n, sizeof *r->streamed);
    if (!r->streamed)
        return fail(err, STATUS_IO, "out of memory");
    uint64_t pinned_bytes = 0;
    r->equal_sizes = equal_sizes(r->sizes, n) && equal_sizes(r->host.blocks, n);
    for (uint32_t i = 0; i < r->host.pin_count; i++) {
        host_reserve(&r->host, r->host.pins[i], POLICY_RESIDENT | POLICY_PINNED);
        pinned_bytes += r->sizes[r->host.pins[i]].bytes;
    }
    r->out->bytes_read = pinned_bytes;
    if (no_block_fits(r))
        snprintf(r->out->remark, sizeof r->out->remark,
                 "every block is larger than the capacity: nothing is ever kept");
    else
        host_remark(&r->host, r->out->remark);
    if (!walk(r, err))
        return false;
    remark_excess(r, spec);
    r->out->hits = r->out->accesses - r->out->misses;
    r->out->bytes_accessed = r->trace->accessed_bytes;
    r->out->bytes_hit = r->out->bytes_accessed - (r->out->bytes_read - pinned_bytes);
    r->out->evictions = r->host.evictions;
    return true;
}

bool replay_run(const struct replay_spec *spec, struct arena *arena, struct replay_result *result, struct error *err)
{
    if (!spec->evict.policy)
        return fail(err, STATUS_USAGE, "a replay needs an eviction policy");
    if (spec->capacity_bytes == 0)
        return fail(err, STATUS_USAGE, "the capacity is 0");
    struct host_spec host = {
        .model = spec->model,
        .blocks = spec->model->policy_blocks,
        .trace = spec->trace,
        .budget_bytes = spec->capacity_bytes,
        .step_bytes_max = spec->trace->step_bytes_max,
        .evict = spec->evict,
        .pin = spec->pin,
        .admit = spec->admit,
        .seed = spec->seed,
        .may_exceed = !spec->strict && spec->evict_when == EVICT_BEFORE_INSERT,
        .profile = spec->profile,
        .future = spec->future,
    };
    if (spec->by_objects && !count_objects(spec, arena, &host, err))
        return false;
    *result = (struct replay_result){0};
    struct replay r = {
        .kernel = replay_kernel_of(spec->evict.policy),
        .trace = spec->trace,
        .out = result,
        .sizes = spec->model->policy_blocks,
        .after_step = spec->evict_when == EVICT_AFTER_STEP,
    };
    bool good = host_init(&r.host, &host, arena, err) && run(&r, spec, arena, err);
    host_end(&r.host);
    return good;
}
