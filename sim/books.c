/* The walk over a trace's segments and tokens, and a row for each token and turn. */
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
    uint64_t kv_bytes = run->processes * segment_kv_bytes(run->trace, segment, context + segment->context_growth);
    if (run_goes_on(run) && placing_kv(run, kv_bytes))
        run_grow(run, MEMORY_KV, kv_bytes);
    if (run_goes_on(run))
        run_touch_own(run);
}

/* ---- Turns ---- */

/* The turn at hand ends: with the next one, or with the run. */
static void end_turn(struct run_state *run)
{
    if (run->turn_count == 0)
        return;
    const struct run_numbers *now = &run->numbers;
    const struct turn_start *start = &run->turn_start;
    struct turn_numbers *row = &run->turns[run->turn_count - 1];
    row->restarted = now->restarts > start->restarts;
    row->idle_ns = now->idle_ns - start->idle_ns;
    row->latency_ns = run->now_ns - start->time_ns - row->idle_ns;
    row->stall_ns = now->stall_ns - start->stall_ns;
    row->tokens = now->tokens - start->tokens;
    row->bytes_read = now->bytes_read - start->bytes_read;
    row->bytes_reclaimed = now->bytes_reclaimed - start->bytes_reclaimed;
}

/* The first turn began at launch, each later one where the turn before ended, with its pause. */
static void begin_turn(struct run_state *run, uint32_t turn)
{
    const struct run_numbers *now = &run->numbers;
    end_turn(run);
    if (run->turn_count > 0)
        run->turn_start = (struct turn_start){run->now_ns,     now->idle_ns,         now->stall_ns, now->tokens,
                                              now->bytes_read, now->bytes_reclaimed, now->restarts};
    run->turns[run->turn_count++] =
        (struct turn_numbers){.turn = turn, .start_ns = run->turn_start.time_ns, .ttft_ns = -1};
}

static uint32_t turn_at_hand(const struct run_state *run)
{
    return run->turn_count > 0 ? run->turns[run->turn_count - 1].turn : 0;
}

/* A token was finished at that time. */
static void count_in_turn(struct run_state *run, int64_t end_ns)
{
    if (run->turn_count == 0)
        return;
    struct turn_numbers *row = &run->turns[run->turn_count - 1];
    if (row->ttft_ns < 0)
        row->ttft_ns = end_ns - run->turn_start.time_ns - (run->numbers.idle_ns - run->turn_start.idle_ns);
}

static void finish_turns(struct run_state *run)
{
    struct run_numbers *numbers = &run->numbers;
    int64_t total_ns = 0;
    uint64_t count = 0;
    end_turn(run);
    numbers->turns = run->turn_count - (run->killed && run->turn_count > 0);
    for (uint32_t i = 1; i < run->turn_count; i++) {
        const int64_t ns = run->turns[i].ttft_ns;
        if (ns < 0)
            continue;
        total_ns += ns; /* turns follow one another: at most the run's time */
        count++;
        if (ns > numbers->turn_ttft_max_ns)
            numbers->turn_ttft_max_ns = ns;
    }
    if (count > 0)
        numbers->turn_ttft_mean_ns = total_ns / (int64_t)count;
}

/* ---- Tokens ---- */

/* What the run's sums were when a token began. */
struct token_start {
    int64_t time_ns, stall_ns;
    uint64_t accesses, hits, bytes_accessed;
};

static uint64_t part(uint64_t all, uint32_t i, uint32_t n)
{
    return (uint64_t)trace_share_ns((int64_t)all, i, n);
}

/* Of tokens made at once, each has an equal part of all that they took. */
static void split_row(struct token_numbers *rows, uint32_t made)
{
    const struct token_numbers all = rows[0];
    for (uint32_t i = 0; i < made; i++) {
        rows[i] = all;
        rows[i].token += i;
        rows[i].latency_ns = trace_share_ns(all.latency_ns, i, made);
        rows[i].stall_ns = trace_share_ns(all.stall_ns, i, made);
        rows[i].accesses = part(all.accesses, i, made);
        rows[i].hits = part(all.hits, i, made);
        rows[i].bytes_accessed = part(all.bytes_accessed, i, made);
        rows[i].bytes_read = part(all.bytes_read, i, made);
        rows[i].major_faults = part(all.major_faults, i, made);
        rows[i].minor_faults = part(all.minor_faults, i, made);
        rows[i].refaults = part(all.refaults, i, made);
        rows[i].bytes_readahead_wasted = part(all.bytes_readahead_wasted, i, made);
    }
}

static void write_rows(struct run_state *run, const struct segment *segment, uint32_t repeat, uint32_t made,
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
        .turn = segment->turn,
        .hot = heat_is_hot(&run->heat, start->time_ns),
    };
    run->told = flow;
    if (made > 1)
        split_row(&run->tokens[now->tokens], made);
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

/* The tokens of a row's segment are finished: `made` of them. */
static void count_tokens(struct run_state *run, const struct segment *segment, uint32_t made)
{
    struct run_numbers *now = &run->numbers;
    const int64_t end_ns = run->first_token_ns >= 0 ? run->first_token_ns : run->now_ns;
    uint32_t later = 0;
    if (now->tokens == 0) {
        now->ttft_ns = end_ns;
        later = 1;
    }
    for (uint32_t i = later; i < made && segment->phase != PHASE_PREFILL; i++)
        count_later(run, &run->tokens[now->tokens + i]);
    count_in_turn(run, end_ns);
    now->tokens += made;
    run->host.view.token += made;
    now->drafted_tokens += segment->drafted;
    now->accepted_tokens += segment->accepted;
}

static void token(struct run_state *run, const struct segment *segment, uint32_t repeat, token_steps *steps)
{
    const uint64_t context = segment->context_first + (uint64_t)repeat * segment->context_growth;
    const struct run_numbers *now = &run->numbers;
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
    const uint32_t made = run->killed ? 1 : segment_tokens(segment);
    write_rows(run, segment, repeat, made, &start);
    run->cut_token = run->killed;
    if (!run->killed)
        count_tokens(run, segment, made);
}

/* ---- The walk ---- */

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

/* What comes before a segment's first token. */
static void pause_before(struct run_state *run, const struct segment *segment, load_steps *load)
{
    const int64_t start = run->now_ns;
    if (segment->idle_ns > 0) {
        run->phase = PHASE_IDLE;
        pause_heat(run);
        loads_advance(run, start + segment->idle_ns);
        run->numbers.idle_ns += run->now_ns - start;
        if (run_goes_on(run))
            resume_heat(run);
    }
    if (run->turn_count > 1 && run->numbers.tokens == run->turn_start.tokens)
        run->turns[run->turn_count - 1].start_ns = run->now_ns;
    if (run_goes_on(run) && segment->away != AWAY_NONE) {
        run->phase = PHASE_IDLE;
        away_return(run, segment, load);
        if (segment->away == AWAY_RESTART)
            run->told = flow_now(run); /* what a load phase reads is no token's */
    }
}

void books_walk(struct run_state *run, token_steps *steps, load_steps *load)
{
    run->numbers.load_ns = run->now_ns;
    run->told = flow_now(run);
    for (uint32_t s = 0; s < run->trace->segment_count && run_goes_on(run); s++) {
        const struct segment *segment = &run->trace->segments[s];
        run->at_segment = s;
        if (segment->turn != turn_at_hand(run))
            begin_turn(run, segment->turn);
        pause_before(run, segment, load);
        if (!run_goes_on(run))
            break;
        run->phase = segment->phase;
        for (uint32_t repeat = 0; segment->step_count > 0 && repeat < segment->repeat && run_goes_on(run); repeat++) {
            run->at_repeat = repeat;
            token(run, segment, repeat, steps);
        }
    }
    finish_turns(run);
}
