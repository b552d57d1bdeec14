/* Policies alone: the look-ups of a run without its clock. */
#include "sim/replay.h"

#include "sim/host.h"

struct replay {
    struct host host;
    const struct trace *trace;
    struct replay_result *out;
    const struct policy_block *sizes; /* real ones, also where the host counts objects */
    uint8_t *streamed;                /* the running step reads the block without keeping it */
    bool after_step;
};

/* Room for b, then b. */
static inline bool place(struct replay *r, block_id b, bool *kept, struct error *err)
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
    }
    r->out->misses++;
    r->out->bytes_read += r->sizes[b].bytes;
    if (!*kept) {
        r->out->uncacheable++;
        return true;
    }
    host_reserve(host, b, POLICY_RESIDENT);
    host->evict->on_insert(host->evict_self, &host->view, b);
    return true;
}

/* One access to one block: the whole of a step that uses no other. */
static inline bool access_block(struct replay *r, block_id b, bool *kept, struct error *err)
{
    struct host *host = &r->host;
    uint64_t bytes = r->sizes[b].bytes;
    r->out->bytes_accessed += bytes;
    if (host->state[b] & POLICY_RESIDENT) {
        r->out->bytes_hit += bytes;
        host_on_hit(host, b);
        return true;
    }
    host_on_miss(host, b);
    return place(r, b, kept, err);
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

/* A step of several uses, or one that evicts after itself: its blocks are marked, so that none of them is a victim. */
static bool step(struct replay *r, const uint32_t *uses, uint32_t count, struct error *err)
{
    struct host *host = &r->host;
    for (uint32_t i = 0; i < count; i++)
        host->state[uses[i] & USE_BLOCK] |= POLICY_IN_USE;
    for (uint32_t i = 0; i < count; i++) {
        block_id b = uses[i] & USE_BLOCK;
        if (uses[i] & USE_AGAIN) {
            if (!r->streamed[b])
                host_on_hit(host, b);
            continue;
        }
        r->out->accesses++;
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

/* The hot loop: steps of one use each, with room made before. No step can lose its own block, so no marks are needed.
 * Does what step() does; all that calls to the policy cannot change is kept in locals, where the compiler may trust it.
 */
static bool plain_steps(struct replay *r, const uint32_t *uses, uint32_t count, struct error *err)
{
    struct policy_view *view = &r->host.view;
    const struct evict_ops ops = *r->host.evict;
    void *self = r->host.evict_self;
    uint8_t *state = r->host.state;
    const struct policy_block *blocks = r->host.blocks; /* = r->sizes: not with a capacity in objects */
    const uint64_t budget = view->budget_bytes, evictable = budget - view->pinned_bytes;
    uint64_t held = view->held_bytes, misses = 0, hit_bytes = 0, miss_bytes = 0, streamed = 0, evictions = 0;
    bool good = true;
    for (uint32_t i = 0; i < count; i++, view->step++) {
        block_id b = uses[i] & USE_BLOCK;
        uint64_t bytes = blocks[b].bytes;
        if (state[b] & POLICY_RESIDENT) {
            hit_bytes += bytes;
            if (ops.on_hit && !(state[b] & POLICY_PINNED))
                ops.on_hit(self, view, b);
            continue;
        }
        misses++;
        miss_bytes += bytes;
        if (ops.on_miss)
            ops.on_miss(self, view, b);
        bool kept = bytes <= evictable && (!ops.admit || ops.admit(self, view, b));
        while (kept && bytes > budget - held) {
            block_id victim = ops.victim(self, view, b);
            kept = victim != BLOCK_NONE;
            if (!kept)
                break;
            if (victim >= view->block_count || !policy_may_evict(view, victim)) {
                good = host_blame(&r->host, victim, err);
                goto out;
            }
            ops.on_remove(self, view, victim, REMOVE_EVICTED);
            state[victim] = 0;
            view->held_bytes = held -= blocks[victim].bytes;
            evictions++;
        }
        if (!kept) {
            streamed++;
            continue;
        }
        state[b] = POLICY_RESIDENT;
        view->held_bytes = held += bytes;
        ops.on_insert(self, view, b);
    }
out:
    r->out->accesses += count;
    r->out->misses += misses;
    r->out->bytes_accessed += hit_bytes + miss_bytes;
    r->out->bytes_hit += hit_bytes;
    r->out->bytes_read += miss_bytes;
    r->out->uncacheable += streamed;
    r->host.evictions += evictions;
    return good;
}

static bool walk(struct replay *r, struct error *err)
{
    const struct trace *trace = r->trace;
    for (uint32_t s = 0; s < trace->segment_count; s++) {
        const struct segment *segment = &trace->segments[s];
        for (uint32_t repeat = 0; repeat < segment->repeat; repeat++, r->host.view.token++) {
            if (!trace->step_first && !r->after_step && r->host.blocks == r->sizes) {
                if (!plain_steps(r, trace->uses + segment->first_step, segment->step_count, err))
                    return false;
                continue;
            }
            for (uint32_t i = 0; i < segment->step_count; i++) {
                uint32_t begin = trace_step_begin(trace, segment->first_step + i);
                uint32_t end = trace_step_begin(trace, segment->first_step + i + 1);
                if (!step(r, trace->uses + begin, end - begin, err))
                    return false;
            }
        }
    }
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
    host->step_bytes_max = 0;
    for (uint32_t s = 0; s < spec->trace->step_count; s++) {
        uint64_t named = 0;
        for (uint32_t u = trace_step_begin(spec->trace, s); u < trace_step_begin(spec->trace, s + 1); u++)
            named += !(spec->trace->uses[u] & USE_AGAIN);
        host->step_bytes_max = named > host->step_bytes_max ? named : host->step_bytes_max;
    }
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
    };
    if (spec->by_objects && !count_objects(spec, arena, &host, err))
        return false;
    struct replay_result sums = {0};
    struct replay r = {
        .trace = spec->trace,
        .out = &sums,
        .sizes = spec->model->policy_blocks,
        .after_step = spec->evict_when == EVICT_AFTER_STEP,
    };
    if (!host_init(&r.host, &host, arena, err))
        return false;
    r.streamed = arena_alloc(arena, spec->model->block_count, sizeof *r.streamed);
    if (!r.streamed)
        return fail(err, STATUS_IO, "out of memory");
    for (uint32_t i = 0; i < r.host.pin_count; i++) {
        host_reserve(&r.host, r.host.pins[i], POLICY_RESIDENT | POLICY_PINNED);
        sums.bytes_read += r.sizes[r.host.pins[i]].bytes;
    }
    if (!walk(&r, err))
        return false;
    sums.hits = sums.accesses - sums.misses;
    sums.evictions = r.host.evictions;
    *result = sums;
    return true;
}
