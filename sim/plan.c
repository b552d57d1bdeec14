/* What a prefetcher is shown of this step and the coming ones, and what it answers. */
#include "sim/run_state.h"

bool plan_init(struct run_state *run, struct arena *arena)
{
    struct host *host = &run->host;
    if (!host->prefetch)
        return true;
    const struct policy *policy = host->prefetch;
    run->reach = policy->ops.prefetch.reach(host->prefetch_self, &host->view);
    if (run->reach < 1 || run->reach > POLICY_REACH_MAX)
        return fail(run->err, STATUS_CHECK, "policy '%s' wants to see %u steps ahead: 1 to %d are shown", policy->name,
                    run->reach, POLICY_REACH_MAX);
    run->ahead = arena_alloc(arena, run->reach, run->trace->step_uses_max * sizeof *run->ahead);
    run->ahead_end = arena_alloc(arena, run->reach, sizeof *run->ahead_end);
    run->used = arena_alloc(arena, run->trace->step_uses_max, sizeof *run->used);
    run->plan = arena_alloc(arena, run->model->block_count, sizeof *run->plan);
    if (!run->ahead || !run->ahead_end || !run->used || !run->plan)
        return fail(run->err, STATUS_IO, "out of memory");
    host->view.ahead = run->ahead;
    host->view.ahead_end = run->ahead_end;
    host->view.used = run->used;
    return true;
}

struct place {
    uint32_t segment, repeat, step;
};

/* The next step of the trace after a place; false at its end. */
static bool next_step(const struct trace *trace, struct place *place)
{
    place->step++;
    while (place->segment < trace->segment_count) {
        const struct segment *segment = &trace->segments[place->segment];
        if (place->repeat < segment->repeat && place->step < segment->step_count)
            return true;
        place->step = 0;
        place->repeat++;
        if (segment->step_count == 0 || place->repeat >= segment->repeat) {
            place->repeat = 0;
            place->segment++;
        }
    }
    return false;
}

/* Appends the step's blocks to `out`, without uses that bear one of the marks; returns the new count. */
static uint32_t show_step(const struct trace *trace, const struct place *place, uint32_t without, block_id *out,
                          uint32_t count)
{
    uint32_t step = trace->segments[place->segment].first_step + place->step;
    uint32_t end = trace_step_begin(trace, step + 1);
    for (uint32_t i = trace_step_begin(trace, step); i < end; i++) {
        if (!(trace->uses[i] & without))
            out[count++] = trace->uses[i] & USE_BLOCK;
    }
    return count;
}

static void show_steps(struct run_state *run)
{
    const struct trace *trace = run->trace;
    struct policy_view *view = &run->host.view;
    struct place place = {run->at_segment, run->at_repeat, run->at_step};
    const uint32_t hidden = run->host.prefetch->needs & POLICY_NEEDS_FUTURE ? USE_AGAIN : USE_AGAIN | USE_UNSEEN;
    uint32_t count = 0;
    view->used_count = show_step(trace, &place, USE_AGAIN, run->used, 0);
    view->ahead_steps = 0;
    while (view->ahead_steps < run->reach && next_step(trace, &place)) {
        count = show_step(trace, &place, hidden, run->ahead, count);
        run->ahead_end[view->ahead_steps++] = count;
    }
}

void plan_ask(struct run_state *run)
{
    struct host *host = &run->host;
    const struct policy *policy = host->prefetch;
    run->plan_due = false;
    run->plan_next = 0;
    show_steps(run);
    uint32_t n = host->view.block_count;
    run->plan_count = policy->ops.prefetch.plan(host->prefetch_self, &host->view, run->plan, n);
    if (run->plan_count > n) {
        fail(run->err, STATUS_CHECK, "policy '%s' plans %u blocks of %u", policy->name, run->plan_count, n);
        run->failed = true;
    }
    for (uint32_t i = 0; i < run->plan_count && run->failed == false; i++) {
        if (run->plan[i] >= n) {
            fail(run->err, STATUS_CHECK, "policy '%s' plans block %u: there are %u blocks", policy->name, run->plan[i],
                 n);
            run->failed = true;
        }
    }
}
