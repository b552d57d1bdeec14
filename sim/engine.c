/* One run: the compute thread walks the trace and waits for blocks. docs/models.md sections 5 to 8 are the rules. */
#include "sim/engine.h"

#include "base/wide.h"
#include "sim/books.h"
#include "sim/ends.h"
#include "sim/launch.h"
#include "sim/mapped.h"
#include "sim/placing.h"
#include "sim/stages.h"

const char *const outcome_names[OUTCOMES] = {"completed", "killed", "rejected", "failed"};

static inline void compute(struct run_state *run, int64_t ns)
{
    int64_t start = run->now_ns;
    if (!events_due(&run->events, start + ns))
        run_move_to(run, start + ns);
    else
        loads_advance(run, start + ns);
    run->numbers.compute_ns += run->now_ns - start;
}

/* The next event, as time in which the compute thread waits. */
static void stall(struct run_state *run)
{
    int64_t start = run->now_ns;
    loads_next_event(run);
    run->numbers.stall_ns += run->now_ns - start;
}

/* `entry`: the index in the trace of a use of b. */
static inline void count_access(struct run_state *run, uint32_t entry, block_id b, bool repeats, bool hit)
{
    uint64_t bytes = run->host.blocks[b].bytes;
    host_count_access(&run->host, entry, repeats);
    run->numbers.bytes_accessed += bytes;
    run->blocks[b].accesses++;
    if (hit) {
        run->numbers.hits++;
        run->numbers.bytes_hit += bytes;
        run->blocks[b].hits++;
    }
}

/* Waits until there is room for b; false when there will be none, or the run ends. */
static bool await_room(struct run_state *run, block_id b)
{
    enum room room;
    while ((room = room_make(run, b, false)) == ROOM_NONE) {
        bool coming, made = room_by_drops(run, b, &coming);
        if (!coming)
            return made;
        run->waits_for_room = true;
        loads_dispatch(run);
        stall(run);
        run->waits_for_room = false;
        if (!run_goes_on(run))
            return false;
    }
    return room == ROOM_MADE;
}

/* The same for a block that never leaves: its room is there. */
static void bring_for_good(struct run_state *run, block_id b)
{
    if (!run->loads[b].waits)
        load_reserve(run, b, POLICY_PINNED);
    if (run_goes_on(run))
        load_demand(run, b, 0);
}

/* Begins the load of a block that is not there, after making room for it, or streams it. */
static void bring(struct run_state *run, block_id b)
{
    struct host *host = &run->host;
    run->numbers.misses++;
    if (run->has_rest && (!host->evict || run->loads[b].waits)) {
        bring_for_good(run, b);
        return;
    }
    host_on_miss(host, b);
    room_release(run);
    if (!run_goes_on(run))
        return;
    bool keep = !host_too_large(host, b) && host_admits(host, b);
    if (keep && (run->spec->loader.evict_when == EVICT_BEFORE_INSERT || run->placing))
        keep = await_room(run, b);
    if (!run_goes_on(run))
        return;
    if (!keep) {
        run->numbers.uncacheable++;
        run_grow(run, MEMORY_STREAMED, run->ledger.now_bytes[MEMORY_STREAMED] + host->blocks[b].bytes);
        if (run_goes_on(run))
            load_demand(run, b, ROLE_STREAMED);
        return;
    }
    load_reserve(run, b, 0);
    if (!run_goes_on(run))
        return;
    host->evict->on_insert(host->evict_self, &host->view, b);
    load_demand(run, b, 0);
    room_release(run);
}

/* A use of a block that is there, or on its way. */
static void tell_hit(struct run_state *run, block_id b)
{
    if (run->host.state[b] & POLICY_PINNED)
        return;
    host_on_hit(&run->host, b);
    room_release(run);
}

/* What a prefetch read of a block pays off, at the block's first use. */
static void count_prefetch(struct run_state *run, block_id b, uint8_t state)
{
    uint64_t bytes = run->loads[b].issued_bytes;
    *(state & POLICY_RESIDENT ? &run->numbers.bytes_prefetch_useful : &run->numbers.bytes_prefetch_late) += bytes;
    run->host.state[b] = (uint8_t)(state & ~(unsigned)POLICY_PREFETCHED);
}

static void use(struct run_state *run, uint32_t entry, bool repeats)
{
    block_id b = run->trace->uses[entry] & USE_BLOCK;
    uint8_t state = run->host.state[b];
    if (run->trace->uses[entry] & USE_AGAIN) {
        if (!(run->role[b] & ROLE_STREAMED))
            tell_hit(run, b);
        return;
    }
    count_access(run, entry, b, repeats, (state & POLICY_RESIDENT) != 0);
    if (state & POLICY_PREFETCHED)
        count_prefetch(run, b, state);
    if (state & POLICY_RESIDENT) {
        tell_hit(run, b);
        if (state & POLICY_PREFETCHED && stages_by_compute(run))
            stages_add_errand(run, b, false);
    } else if (state & POLICY_LOADING && !run->loads[b].waits) {
        run->numbers.delayed_hits++;
        load_promote(run, b);
        tell_hit(run, b);
    } else {
        bring(run, b);
    }
}

static bool is_there(const struct run_state *run, block_id b)
{
    return run->host.state[b] & POLICY_RESIDENT || run->role[b] & ROLE_ARRIVED;
}

/* overlap = blocks: computes on each block as it comes, the first in order of use among those that are there. */
static void compute_by_blocks(struct run_state *run, const uint32_t *uses, uint32_t count, int64_t ns)
{
    uint64_t *before = run->bytes_before;
    uint32_t left = 0, first = 0;
    before[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool again = (uses[i] & USE_AGAIN) != 0;
        before[i + 1] = before[i] + (again ? 0 : run->host.blocks[uses[i] & USE_BLOCK].bytes);
        run->computed[i] = again;
        left += !again;
    }
    if (left == 0)
        compute(run, ns);
    while (left > 0 && run_goes_on(run)) {
        while (run->computed[first])
            first++;
        uint32_t i = first;
        while (i < count && (run->computed[i] || !is_there(run, uses[i] & USE_BLOCK)))
            i++;
        if (i == count) {
            stall(run);
            if (run_goes_on(run))
                loads_advance(run, run->now_ns);
            continue;
        }
        run->computed[i] = true;
        left--;
        compute(run,
                (int64_t)((wide)ns * before[i + 1] / before[count]) - (int64_t)((wide)ns * before[i] / before[count]));
    }
}

static void mark_in_use(struct run_state *run, const uint32_t *uses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        run->host.state[uses[i] & USE_BLOCK] |= POLICY_IN_USE;
}

static void end_step(struct run_state *run, const uint32_t *uses, uint32_t count)
{
    struct host *host = &run->host;
    for (uint32_t i = 0; i < count; i++)
        run->role[uses[i] & USE_BLOCK] = 0;
    if (run->ledger.now_bytes[MEMORY_STREAMED] > 0)
        run_shrink(run, MEMORY_STREAMED, 0);
    if (run->spec->loader.evict_when == EVICT_AFTER_STEP && host->evict)
        room_make(run, BLOCK_NONE, false);
    for (uint32_t i = 0; i < count; i++)
        host->state[uses[i] & USE_BLOCK] = (uint8_t)(host->state[uses[i] & USE_BLOCK] & ~(unsigned)POLICY_IN_USE);
}

/* A step in full: blocks may be missing, a prefetcher may plan, room may have to be made. */
static void step_in_full(struct run_state *run, uint32_t begin, uint32_t count, bool repeats, int64_t ns)
{
    const uint32_t *uses = run->trace->uses + begin;
    mark_in_use(run, uses, count);
    for (uint32_t i = 0; i < count && run_goes_on(run); i++)
        use(run, begin + i, repeats);
    if (!run_goes_on(run) || !placing_pay(run))
        return;
    if (stages_by_compute(run))
        stages_run_errands(run);
    if (begin == run->layer_use && run_goes_on(run)) {
        run->layer_due = run->outstanding > 0;
        if (!run->layer_due)
            run_layer_is_there(run);
    }
    enum overlap overlap = run->spec->loader.overlap;
    if (run->host.prefetch && overlap != OVERLAP_NONE) {
        if (run->outstanding > 0)
            run->plan_due = true;
        else
            plan_ask(run);
    }
    loads_dispatch(run);
    if (overlap == OVERLAP_BLOCKS && run_goes_on(run)) {
        compute_by_blocks(run, uses, count, ns);
    } else {
        while (run->outstanding > 0 && run_goes_on(run))
            stall(run);
        if (run_goes_on(run))
            compute(run, ns);
    }
    if (run_goes_on(run))
        end_step(run, uses, count);
}

/* A step whose blocks are all there and that nothing can ask a question about. */
static inline bool step_of_hits(struct run_state *run, uint32_t begin, uint32_t count, bool repeats)
{
    struct host *host = &run->host;
    const uint32_t *uses = run->trace->uses + begin;
    if (!(host->state[uses[0] & USE_BLOCK] & POLICY_RESIDENT))
        return false;
    if (count == 1) { /* most steps of most workloads */
        count_access(run, begin, uses[0] & USE_BLOCK, repeats, true);
        host_on_hit(host, uses[0] & USE_BLOCK);
        return true;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (!(host->state[uses[i] & USE_BLOCK] & POLICY_RESIDENT))
            return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        block_id b = uses[i] & USE_BLOCK;
        if (!(uses[i] & USE_AGAIN))
            count_access(run, begin + i, b, repeats, true);
        host_on_hit(host, b);
    }
    return true;
}

static void chunked_token(struct run_state *run, const struct segment *segment, uint32_t repeat, uint64_t context)
{
    const struct trace *trace = run->trace;
    const struct evict_ops *evict = run->host.evict;
    bool quiet = run->host.prefetch == NULL && (!evict || !evict->release) && !run->streams;
    bool repeats = repeat + 1 < segment->repeat;
    for (uint32_t i = 0; i < segment->step_count; i++) {
        uint32_t step = segment->first_step + i;
        uint32_t begin = trace_step_begin(trace, step);
        uint32_t count = trace_step_begin(trace, step + 1) - begin;
        int64_t ns = heat_compute_ns(&run->heat, run->now_ns, run_step_ns(run, step, context));
        run->at_step = i;
        if (run->follows_steps && !placing_step_begin(run, segment->activation_bytes))
            return;
        if (quiet && begin != run->layer_use && run->host.view.held_bytes <= run->host.view.budget_bytes &&
            step_of_hits(run, begin, count, repeats))
            compute(run, ns);
        else
            step_in_full(run, begin, count, repeats, ns);
        if (!run_goes_on(run))
            return;
        placing_step_end(run);
        run->host.view.step++;
    }
}

/* False when the run failed. */
static bool run_whole(struct run_state *run, const struct run_spec *spec, struct arena *arena)
{
    if (!run_init(run, spec, arena))
        return false;
    if (run->killed) {
        run->numbers.outcome = OUTCOME_REJECTED;
    } else {
        launch(run);
        books_walk(run, run->mapped ? mapped_token : chunked_token, launch);
        if (run->killed) {
            run->numbers.outcome = OUTCOME_KILLED;
            run->numbers.killed_phase = phase_names[run->phase];
        }
    }
    return !run->failed && run_check_time(run, run->now_ns);
}

bool engine_run(const struct run_spec *spec, struct arena *arena, struct run_result *result, struct error *err)
{
    struct run_state *run = arena_alloc(arena, 1, sizeof *run);
    if (!run)
        return fail(err, STATUS_IO, "out of memory");
    run->err = err;
    bool good = run_whole(run, spec, arena);
    if (good)
        run_finish(run, result);
    host_end(&run->host);
    return good;
}
