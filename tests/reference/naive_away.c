/* The naive engine's turns, and the app in the background between them (docs/models.md, sections 6 to 8). */
#include <stdlib.h>

#include "tests/reference/naive_state.h"

__extension__ typedef unsigned __int128 wide;

/* ---- Turns ---- */

/* Sums of the run so far, as a row. */
static struct turn_numbers sums(const struct naive_twin *twin)
{
    const struct run_numbers *now = &twin->result->numbers;
    return (struct turn_numbers){.start_ns = twin->now_ns,
                                 .idle_ns = twin->spent_ns[SPEND_IDLE],
                                 .stall_ns = twin->spent_ns[SPEND_STALL],
                                 .tokens = twin->result->token_count,
                                 .bytes_read = now->bytes_read,
                                 .bytes_reclaimed = now->bytes_reclaimed};
}

static void close_turn(struct naive_twin *twin)
{
    const struct turn_numbers now = sums(twin), *begin = &twin->turn_begin;
    if (twin->result->turn_count == 0)
        return;
    struct turn_numbers *row = &twin->turns[twin->result->turn_count - 1];
    row->idle_ns = now.idle_ns - begin->idle_ns;
    row->latency_ns = now.start_ns - begin->start_ns - row->idle_ns;
    row->stall_ns = now.stall_ns - begin->stall_ns;
    row->tokens = now.tokens - begin->tokens;
    row->bytes_read = now.bytes_read - begin->bytes_read;
    row->bytes_reclaimed = now.bytes_reclaimed - begin->bytes_reclaimed;
}

void naive_turn(struct naive_twin *twin, uint32_t turn)
{
    close_turn(twin);
    /* All before the first turn is its own, from launch on. */
    const bool first = twin->result->turn_count == 0;
    twin->turn_begin = first ? (struct turn_numbers){0} : sums(twin);
    twin->turns[twin->result->turn_count++] =
        (struct turn_numbers){.turn = turn,
                              .restarted = first && twin->result->numbers.restarts > 0,
                              .start_ns = twin->turn_begin.start_ns,
                              .ttft_ns = -1};
}

void naive_turn_times(struct naive_twin *twin)
{
    struct run_numbers *numbers = &twin->result->numbers;
    int64_t sum = 0, count = 0;
    close_turn(twin);
    for (uint32_t i = 0; i < twin->result->turn_count; i++) {
        const int64_t ttft_ns = twin->turns[i].ttft_ns;
        numbers->turns += !twin->over || i + 1 < twin->result->turn_count;
        if (i == 0 || ttft_ns < 0)
            continue;
        sum += ttft_ns;
        count++;
        numbers->turn_ttft_mean_ns = sum / count;
        numbers->turn_ttft_max_ns = ttft_ns > numbers->turn_ttft_max_ns ? ttft_ns : numbers->turn_ttft_max_ns;
    }
}

/* ---- Tokens ---- */

/* Token i of n gets what the first i + 1 have together, less what the first i have. */
static int64_t portion(int64_t all, uint32_t i, uint32_t n)
{
    return (int64_t)((wide)all * (i + 1) / n) - (int64_t)((wide)all * i / n);
}

void naive_token_rows(struct naive_twin *twin, const struct segment *segment, struct token_numbers whole)
{
    struct run_result *result = twin->result;
    const uint32_t made = twin->over ? 1 : segment->accepted + 1;
    for (uint32_t i = 0; i < made; i++) {
        struct token_numbers *row = &result->tokens[result->token_count + i];
        *row = whole;
        row->token += i;
        row->latency_ns = portion(whole.latency_ns, i, made);
        row->stall_ns = portion(whole.stall_ns, i, made);
        row->accesses = (uint64_t)portion((int64_t)whole.accesses, i, made);
        row->hits = (uint64_t)portion((int64_t)whole.hits, i, made);
        row->bytes_accessed = (uint64_t)portion((int64_t)whole.bytes_accessed, i, made);
        row->bytes_read = (uint64_t)portion((int64_t)whole.bytes_read, i, made);
    }
    if (twin->over)
        return;
    if (result->token_count == 0)
        result->numbers.ttft_ns = twin->now_ns;
    if (result->turn_count > 0 && twin->turns[result->turn_count - 1].ttft_ns < 0)
        twin->turns[result->turn_count - 1].ttft_ns =
            twin->now_ns - twin->turn_begin.start_ns - (twin->spent_ns[SPEND_IDLE] - twin->turn_begin.idle_ns);
    result->token_count += made;
    result->numbers.drafted_tokens += segment->drafted;
    result->numbers.accepted_tokens += segment->accepted;
}

/* ---- KV caches ---- */

uint64_t naive_caches(const struct trace *trace, const struct segment *segment, uint64_t tokens)
{
    const struct kv_growth first = {trace->kv_bytes_per_token, trace->kv_window_bytes_per_token, trace->kv_window};
    const struct kv_growth kv = segment->second ? trace->second_kv : first;
    uint64_t bytes = segment->kv_beside_bytes;
    for (uint64_t token = 1; token <= tokens; token++)
        bytes += kv.bytes + (token <= kv.window ? kv.window_bytes : 0);
    return bytes;
}

/* ---- The background ---- */

/* Of what is resident and may go, the share, in the policy's order. */
static void lose_share(struct naive_twin *twin, uint32_t ppm)
{
    uint64_t all = 0, gone = 0;
    if (twin->spec->loader.mode == LOADER_READ)
        return;
    for (block_id b = 0; b < twin->spec->model->block_count; b++)
        if (twin->blocks[b].where == NAIVE_RESIDENT && !twin->blocks[b].pinned)
            all += twin->spec->model->blocks[b].bytes;
    const uint64_t wanted = (uint64_t)((wide)all * ppm / 1000000);
    while (gone < wanted) {
        const uint64_t held = twin->held;
        if (!naive_evict(twin, false))
            break;
        gone += held - twin->held;
    }
    twin->result->numbers.bytes_reclaimed += gone;
}

/* All of the app's blocks and reads are nobody's. */
static void lose_blocks(struct naive_twin *twin)
{
    struct run_numbers *numbers = &twin->result->numbers;
    for (block_id b = 0; b < twin->spec->model->block_count; b++) {
        struct naive_block *block = &twin->blocks[b];
        if (block->where == NAIVE_RESIDENT)
            numbers->bytes_reclaimed += twin->spec->model->blocks[b].bytes;
        if (block->unused)
            numbers->bytes_prefetch_wasted += block->read_of_load;
        for (uint32_t r = 0; r < block->read_count; r++)
            block->reads[r] = (struct naive_read){.bytes = block->reads[r].bytes, .warm = block->reads[r].warm};
        *block = (struct naive_block){.reads = block->reads, .read_count = block->read_count, .seen = block->seen};
    }
    /* Commands in flight keep their lanes; like those of dropped blocks, but no room waits for them. */
    twin->drops++;
    for (uint32_t i = 0; i < twin->command_count; i++) {
        struct naive_command *command = &twin->commands[i];
        command->drop = twin->drops;
        command->drop_room = 0;
        command->prefetch = command->rest_due = false;
        command->orphan = true;
    }
    for (uint32_t i = 0; i < twin->job_count; i++) {
        twin->jobs[i].drop = twin->drops;
        twin->jobs[i].drop_room = 0;
    }
    twin->demand_count = twin->plan_count = twin->rest_count = twin->errand_count = 0;
    twin->rest_comes = false;
    twin->drop_room = twin->held = twin->pinned = twin->in_flight_bytes = 0;
    twin->order.count = 0;
    /* The load phase that follows is no step. */
    *twin->shadow = (struct naive_shadow){.follows = false, .lone = BLOCK_NONE};
}

static void start_anew(struct naive_twin *twin)
{
    naive_log(twin, "restart", BLOCK_NONE, 0);
    twin->result->numbers.restarts++;
    if (twin->result->turn_count > 0)
        twin->turns[twin->result->turn_count - 1].restarted = true;
    lose_blocks(twin);
    for (int class = 0; class < MEMORY_APP_CLASSES; class ++)
        naive_memory(twin, (enum memory_class) class, 0);
    twin->phase = PHASE_LOAD;
    naive_memory(twin, MEMORY_RUNTIME, twin->spec->device.runtime_bytes);
    if (!twin->over)
        naive_launch(twin);
    twin->read_before = twin->result->numbers.bytes_read;
}

void naive_pause_over(struct naive_twin *twin, const struct segment *segment)
{
    /* The first turn began at launch. */
    if (twin->result->turn_count > 1 && twin->result->token_count == twin->turn_begin.tokens)
        twin->turns[twin->result->turn_count - 1].start_ns = twin->now_ns;
    if (twin->over)
        return;
    if (segment->away == AWAY_RECLAIM)
        lose_share(twin, segment->away_ppm);
    else if (segment->away == AWAY_RESTART)
        start_anew(twin);
}
