/* The walk over a trace's segments and tokens, and a row for each token. */
#include "sim/books.h"

#include "sim/mapped.h"
#include "sim/placing.h"

static struct flow flow_now(const struct run_state *run)
{
    const struct run_numbers *now = &run->numbers;
    return (struct flow){now->bytes_read, now->major_faults, now->minor_faults, now->refaults,
                         now->bytes_readahead_wasted};
}

/* Activations are a segment's, the KV cache grows with each token. */
static void grow(struct run_state *run, const struct segment *segment, uint32_t repeat, uint64_t context)
{
    if (repeat == 0) {
        run->activation_bytes = run->processes * segment->activation_bytes;
        run_grow(run, MEMORY_ACTIVATION, run->activation_bytes);
    }
    uint64_t kv_bytes = run->processes * trace_kv_bytes(run->trace, context + segment->context_growth);
    if (run_goes_on(run) && placing_kv(run, kv_bytes))
        run_grow(run, MEMORY_KV, kv_bytes);
    if (run_goes_on(run))
        run_touch_own(run);
}

/* What the run's sums were when a token began. */
struct token_start {
    int64_t time_ns, stall_ns;
    uint64_t accesses, hits, bytes_accessed;
};

static void write_row(struct run_state *run, const struct segment *segment, uint32_t repeat,
                      const struct token_start *start)
{
    const struct run_numbers *now = &run->numbers;
    const struct flow flow = flow_now(run);
    run->tokens[now->tokens] = (struct token_numbers){
        .token = segment->token + repeat,
        .phase = segment->phase,
        .latency_ns = run->now_ns - start->time_ns,
        .stall_ns = now->stall_ns - start->stall_ns,
        .accesses = run->host.access_count - start->accesses,
        .hits = now->hits - start->hits,
        .bytes_accessed = now->bytes_accessed - start->bytes_accessed,
        .bytes_read = flow.bytes_read - run->told.bytes_read,
        .major_faults = flow.major_faults - run->told.major_faults,
        .minor_faults = flow.minor_faults - run->told.minor_faults,
        .refaults = flow.refaults - run->told.refaults,
        .bytes_readahead_wasted = flow.bytes_readahead_wasted - run->told.bytes_readahead_wasted,
        .hot = heat_is_hot(&run->heat, start->time_ns),
    };
    run->told = flow;
}

/* A later token's time, for the means: of all, and where it matters of those begun cold and hot. */
static void count_later(struct run_state *run, const struct token_numbers *row)
{
    struct run_numbers *now = &run->numbers;
    run->latencies[now->tpot_count++] = row->latency_ns;
    if (!heat_matters(&run->heat.spec))
        return;
    *(row->hot ? &now->tpot_hot_count : &now->tpot_cold_count) += 1;
    *(row->hot ? &now->tpot_hot_total_ns : &now->tpot_cold_total_ns) += row->latency_ns;
}

static void token(struct run_state *run, const struct segment *segment, uint32_t repeat, token_steps *steps)
{
    const uint64_t context = segment->context_first + (uint64_t)repeat * segment->context_growth;
    struct run_numbers *now = &run->numbers;
    const struct token_start start = {.time_ns = run->now_ns,
                                      .stall_ns = now->stall_ns,
                                      .accesses = run->host.access_count,
                                      .hits = now->hits,
                                      .bytes_accessed = now->bytes_accessed};
    grow(run, segment, repeat, context);
    if (run_goes_on(run))
        steps(run, segment, repeat, context);
    if (run_goes_on(run))
        placing_token_end(run);
    if (run->failed)
        return;
    write_row(run, segment, repeat, &start);
    run->cut_token = run->killed;
    if (run->killed)
        return;
    if (now->tokens == 0)
        now->ttft_ns = run->first_token_ns >= 0 ? run->first_token_ns : run->now_ns;
    else if (segment->phase != PHASE_PREFILL)
        count_later(run, &run->tokens[now->tokens]);
    now->tokens++;
    run->host.view.token++;
}

/* Reads of a mapped file that are done by now have to be known as done: flash heat counts busy time. */
static void settle(struct run_state *run)
{
    if (run->mapped)
        mapped_settle(run, run->now_ns);
}

static void pause_heat(struct run_state *run)
{
    settle(run);
    heat_pause(&run->heat, run->now_ns);
    flash_pause(&run->flash, run->now_ns);
}

static void resume_heat(struct run_state *run)
{
    settle(run);
    heat_resume(&run->heat, run->now_ns);
    flash_resume(&run->flash, run->now_ns);
}

void books_walk(struct run_state *run, token_steps *steps)
{
    run->numbers.load_ns = run->now_ns;
    run->told = flow_now(run);
    for (uint32_t s = 0; s < run->trace->segment_count && run_goes_on(run); s++) {
        const struct segment *segment = &run->trace->segments[s];
        run->at_segment = s;
        if (segment->idle_ns > 0) {
            int64_t start = run->now_ns;
            run->phase = PHASE_IDLE;
            pause_heat(run);
            loads_advance(run, start + segment->idle_ns);
            run->numbers.idle_ns += run->now_ns - start;
            if (!run_goes_on(run))
                return;
            resume_heat(run);
        }
        run->phase = segment->phase;
        if (segment->step_count == 0)
            continue;
        for (uint32_t repeat = 0; repeat < segment->repeat && run_goes_on(run); repeat++) {
            run->at_repeat = repeat;
            token(run, segment, repeat, steps);
        }
    }
}
