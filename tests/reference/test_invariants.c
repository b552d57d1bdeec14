/* What holds for every run, whatever its config: over random small configs, sums add up, the budget is kept, and a run
 * repeats itself byte for byte. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "tests/reference/random_case.h"

enum { CASES = 2000 };
#define FIRST_SEED 100000u /* apart from the cases that the twin sees */

static void each_case(void (*check)(const struct random_case *c, const struct run_result *result))
{
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + CASES; seed++) {
        struct random_case c;
        struct arena arena = {0};
        struct run_result result;
        struct error err;
        random_case_make(&c, seed);
        if (!engine_run(&c.spec, &arena, &result, &err))
            fail_because("seed %llu: %s", (unsigned long long)seed, err.text);
        check(&c, &result);
        arena_free(&arena);
        random_case_free(&c);
    }
}

#define HOLDS(c, condition)                                                                                            \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            random_case_print(c, stdout);                                                                              \
            fail_because("seed %llu: not true: %s", (unsigned long long)(c)->seed, #condition);                        \
        }                                                                                                              \
    } while (0)

static void time_adds_up(const struct random_case *c, const struct run_result *result)
{
    const struct run_numbers *n = &result->numbers;
    HOLDS(c, n->load_ns >= 0 && n->compute_ns >= 0 && n->stall_ns >= 0 && n->idle_ns >= 0);
    HOLDS(c, n->virtual_time_ns == n->load_ns + n->compute_ns + n->stall_ns + n->idle_ns);
    HOLDS(c, n->flash_busy_ns >= 0 && n->flash_busy_ns <= n->virtual_time_ns);
    int64_t latency = 0, stall = 0, later = 0;
    for (uint64_t i = 0; i < result->token_count; i++) {
        latency += result->tokens[i].latency_ns;
        stall += result->tokens[i].stall_ns;
        later += i > 0 && i < n->tokens && result->tokens[i].phase != PHASE_PREFILL ? result->tokens[i].latency_ns : 0;
    }
    HOLDS(c, later == n->tpot_total_ns);
    HOLDS(c, latency == n->compute_ns + n->stall_ns);
    HOLDS(c, stall == n->stall_ns);
}

static void accesses_add_up(const struct random_case *c, const struct run_result *result)
{
    const struct run_numbers *n = &result->numbers;
    uint64_t token_accesses = 0, token_hits = 0, block_accesses = 0, block_hits = 0, evictions = 0;
    HOLDS(c, n->accesses == n->hits + n->delayed_hits + n->misses);
    HOLDS(c, n->uncacheable <= n->misses);
    HOLDS(c,
          n->tokens == result->token_count || (n->tokens + 1 == result->token_count && n->outcome == OUTCOME_KILLED));
    for (uint64_t i = 0; i < result->token_count; i++) {
        token_accesses += result->tokens[i].accesses;
        token_hits += result->tokens[i].hits;
    }
    for (block_id b = 0; b < c->model.block_count; b++) {
        block_accesses += result->blocks[b].accesses;
        block_hits += result->blocks[b].hits;
        evictions += result->blocks[b].evictions;
    }
    HOLDS(c, block_accesses == n->accesses && block_hits == n->hits && evictions == n->evictions);
    HOLDS(c, token_accesses == n->accesses && token_hits == n->hits);
    if (n->outcome == OUTCOME_COMPLETED) {
        HOLDS(c, n->accesses == c->trace.access_count && n->bytes_accessed == c->trace.accessed_bytes);
    }
}

/* What the flash reads of the file's header: of whole alignments, what the page cache does not hold. */
static uint64_t header_read(const struct random_case *c)
{
    const struct loader *loader = &c->spec.loader;
    uint64_t file = c->model.file_bytes, header = file - c->model.weights_bytes, align = loader->align_bytes;
    uint64_t cold = align > 1 ? UINT64_MAX : file - file * loader->warm_ppm / 1000000;
    header = (header + align - 1) / align * align;
    return !(loader->stages & STAGE_PARSE) ? 0 : header < cold ? header : cold;
}

static void bytes_add_up(const struct random_case *c, const struct run_result *result)
{
    const struct run_numbers *n = &result->numbers;
    block_id pins[64];
    uint64_t tokens = 0, blocks = 0, load = 0, held = 0;
    HOLDS(c, n->bytes_prefetched == n->bytes_prefetch_useful + n->bytes_prefetch_late + n->bytes_prefetch_wasted);
    HOLDS(c, n->bytes_prefetched <= n->bytes_read);
    for (block_id b = 0; b < c->model.block_count; b++)
        blocks += result->blocks[b].bytes_read;
    /* Of an app that dies as it is started anew, the last header is not read. */
    const uint64_t headers = header_read(c) * (1 + n->restarts);
    HOLDS(c, n->bytes_read <= blocks + headers &&
                 (n->outcome == OUTCOME_KILLED || n->outcome == OUTCOME_REJECTED || n->bytes_read == blocks + headers));
    HOLDS(c, n->bytes_warm == 0 || (c->spec.loader.warm_ppm > 0 && c->spec.loader.align_bytes == 1));
    if (n->outcome != OUTCOME_COMPLETED)
        return;
    for (uint64_t i = 0; i < result->token_count; i++)
        tokens += result->tokens[i].bytes_read;
    if (c->spec.loader.mode == LOADER_READ) {
        HOLDS(c, tokens == 0 || c->spec.loader.first_chunk != FIRST_ALL);
        return;
    }
    if (c->spec.loader.first_chunk != FIRST_ALL || c->spec.loader.preload != PRELOAD_NONE)
        return;
    load = headers;
    uint32_t count = naive_pins(&c->choice, &c->model, &c->trace, c->spec.loader.budget_bytes, pins);
    for (uint32_t i = 0; i < count; i++)
        if (held + c->model.blocks[pins[i]].bytes <= c->spec.loader.budget_bytes) {
            held += c->model.blocks[pins[i]].bytes;
            load += result->blocks[pins[i]].bytes_read;
            HOLDS(c, result->blocks[pins[i]].loads == 1 + n->restarts);
        }
    /* Reads in an idle time count for the token that follows; after an idle time at the end none does, nor after a
     * restart. */
    if (c->trace.segments[c->trace.segment_count - 1].step_count > 0 && n->restarts == 0)
        HOLDS(c, n->bytes_read == load + tokens);
    else
        HOLDS(c, n->bytes_read >= load + tokens);
}

static void turns_add_up(const struct random_case *c, const struct run_result *result)
{
    const struct run_numbers *n = &result->numbers;
    int64_t time_ns = 0, stall_ns = 0;
    uint64_t tokens = 0, read = 0, reclaimed = 0, restarts = 0, in_turns = 0;
    for (uint32_t i = 0; i < result->turn_count; i++) {
        const struct turn_numbers *turn = &result->turns[i];
        HOLDS(c, i == 0 || (turn->turn > turn[-1].turn && turn->start_ns >= turn[-1].start_ns));
        HOLDS(c, turn->ttft_ns <= turn->latency_ns);
        time_ns += turn->idle_ns + turn->latency_ns;
        stall_ns += turn->stall_ns;
        tokens += turn->tokens;
        read += turn->bytes_read;
        reclaimed += turn->bytes_reclaimed;
        restarts += turn->restarted;
    }
    HOLDS(c, n->turns == result->turn_count - (result->turn_count > 0 && n->outcome == OUTCOME_KILLED));
    if (result->turn_count == 0)
        return;
    HOLDS(c, time_ns == n->virtual_time_ns && stall_ns == n->stall_ns && tokens == n->tokens);
    HOLDS(c, read == n->bytes_read && reclaimed == n->bytes_reclaimed && restarts <= n->restarts);
    for (uint64_t i = 0; i < n->tokens; i++)
        in_turns += result->tokens[i].turn >= result->turns[0].turn;
    HOLDS(c, in_turns <= tokens);
}

/* From file to first token: shares of the weights come in order, and the last sample has what the marks say. */
static void progress_adds_up(const struct random_case *c, const struct run_result *result)
{
    const struct run_numbers *n = &result->numbers;
    const int64_t marks[] = {n->load_10_ns, n->load_50_ns, n->load_90_ns, n->load_100_ns};
    const uint64_t percents[] = {10, 50, 90, 100}, all = c->model.weights_bytes;
    const uint64_t loaded = result->samples[result->sample_count - 1].loaded_bytes;
    uint64_t ever = 0;
    for (block_id b = 0; b < c->model.block_count; b++)
        ever += result->blocks[b].loads > 0 ? c->model.blocks[b].bytes : 0;
    HOLDS(c, loaded <= ever);
    for (int i = 0; i < 4; i++) {
        HOLDS(c, (marks[i] >= 0) == (loaded * 100 >= percents[i] * all));
        HOLDS(c, marks[i] <= n->virtual_time_ns && (i == 0 || marks[i] < 0 || marks[i] >= marks[i - 1]));
    }
    HOLDS(c, n->first_layer_ns <= n->virtual_time_ns && n->parse_ns <= n->virtual_time_ns);
    HOLDS(c, n->first_layer_ns < 0 || n->restarts > 0 || n->first_layer_ns >= n->load_ns);
    if (c->spec.loader.loader_threads == 0 && n->outcome == OUTCOME_COMPLETED)
        HOLDS(c, n->stage_alloc_ns + n->stage_init_ns + n->parse_ns <= n->load_ns + n->stall_ns);
}

static void budget_is_kept(const struct random_case *c, const struct run_result *result)
{
    const struct loader *loader = &c->spec.loader;
    uint64_t most = loader->mode == LOADER_READ ? c->model.weights_bytes : loader->budget_bytes;
    /* A step adds its blocks to those that the step before could not give up. */
    if (loader->mode == LOADER_CHUNKED && loader->evict_when == EVICT_AFTER_STEP)
        most += 2 * c->trace.step_bytes_max;
    HOLDS(c, result->numbers.peak_weights_bytes <= most);
    HOLDS(c, result->sample_count >= 1 && result->sample_count <= SAMPLES_MAX);
    for (uint32_t i = 0; i < result->sample_count; i++) {
        const struct sample_numbers *sample = &result->samples[i];
        HOLDS(c, sample->class_bytes[MEMORY_WEIGHTS] <= result->numbers.peak_weights_bytes);
        HOLDS(c, sample->in_flight_bytes <= sample->class_bytes[MEMORY_WEIGHTS]);
        HOLDS(c, i == 0 || sample->time_ns > result->samples[i - 1].time_ns);
        HOLDS(c, i == 0 || sample->flash_bytes >= result->samples[i - 1].flash_bytes);
        HOLDS(c, sample->flash_bytes <= result->numbers.bytes_read);
    }
    HOLDS(c, result->samples[result->sample_count - 1].time_ns == result->numbers.virtual_time_ns);
    if (c->spec.device.pressure.rule == KILL_THRESHOLD && result->numbers.outcome == OUTCOME_COMPLETED)
        HOLDS(c, result->numbers.peak_memory_bytes <= c->spec.device.pressure.threshold_bytes);
}

static void run_repeats_itself(const struct random_case *c, const struct run_result *result)
{
    struct arena arena = {0};
    struct run_result again;
    struct error err;
    /* The numbers without the enum in front, which has padding behind it. */
    size_t skip = offsetof(struct run_numbers, killed_by), size = sizeof again.numbers - skip;
    HOLDS(c, engine_run(&c->spec, &arena, &again, &err));
    HOLDS(c, again.numbers.outcome == result->numbers.outcome);
    HOLDS(c, memcmp((const char *)&again.numbers + skip, (const char *)&result->numbers + skip, size) == 0);
    HOLDS(c, again.token_count == result->token_count && again.sample_count == result->sample_count);
    HOLDS(c, memcmp(again.tokens, result->tokens, again.token_count * sizeof *again.tokens) == 0);
    HOLDS(c, memcmp(again.samples, result->samples, again.sample_count * sizeof *again.samples) == 0);
    HOLDS(c, memcmp(again.blocks, result->blocks, c->model.block_count * sizeof *again.blocks) == 0);
    arena_free(&arena);
}

#define FOR_EACH_CASE(check)                                                                                           \
    static void all_##check(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        each_case(check);                                                                                              \
    }
FOR_EACH_CASE(time_adds_up)
FOR_EACH_CASE(accesses_add_up)
FOR_EACH_CASE(bytes_add_up)
FOR_EACH_CASE(turns_add_up)
FOR_EACH_CASE(progress_adds_up)
FOR_EACH_CASE(budget_is_kept)
FOR_EACH_CASE(run_repeats_itself)

/* The n-th built-in policy of a kind, counted round, at its defaults. */
static struct bound_part built_in(enum policy_kind kind, uint64_t n, int64_t values[POLICY_PARAMS_MAX])
{
    size_t count, of_kind = 0;
    const struct policy *const *all = policy_all(&count);
    for (size_t i = 0; i < count; i++)
        of_kind += all[i]->kind == kind;
    n %= of_kind;
    for (size_t i = 0;; i++) {
        if (all[i]->kind != kind || n-- > 0)
            continue;
        for (uint32_t v = 0; v < all[i]->param_count; v++)
            values[v] = all[i]->params[v].fallback;
        return (struct bound_part){all[i], {.values = values}};
    }
}

/* Every eviction policy beside every prefetcher and admission rule: releases, dropped prefetches and all. */
static void all_built_ins_keep_the_rules(void **state)
{
    (void)state;
    static const uint64_t profile[64] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + 3 * CASES; seed++) {
        struct random_case c;
        struct arena arena = {0};
        struct run_result result;
        struct error err;
        int64_t values[3][POLICY_PARAMS_MAX];
        random_case_make(&c, seed);
        if (c.spec.loader.mode == LOADER_CHUNKED) {
            c.spec.evict = built_in(POLICY_EVICT, seed, values[0]);
            c.spec.prefetch = built_in(POLICY_PREFETCH, seed / 64, values[1]);
            if (seed % 4 == 0)
                c.spec.admit = built_in(POLICY_ADMIT, seed / 4, values[2]);
            c.spec.profile = profile;
            c.spec.seed = seed;
        }
        if (!engine_run(&c.spec, &arena, &result, &err)) {
            random_case_print(&c, stdout);
            fail_because("seed %llu, %s and %s: %s", (unsigned long long)seed, c.spec.evict.policy->name,
                         c.spec.prefetch.policy->name, err.text);
        }
        time_adds_up(&c, &result);
        accesses_add_up(&c, &result);
        bytes_add_up(&c, &result);
        turns_add_up(&c, &result);
        progress_adds_up(&c, &result);
        budget_is_kept(&c, &result);
        run_repeats_itself(&c, &result);
        arena_free(&arena);
        random_case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_time_adds_up),       cmocka_unit_test(all_accesses_add_up),
        cmocka_unit_test(all_bytes_add_up),       cmocka_unit_test(all_turns_add_up),
        cmocka_unit_test(all_progress_adds_up),   cmocka_unit_test(all_budget_is_kept),
        cmocka_unit_test(all_run_repeats_itself), cmocka_unit_test(all_built_ins_keep_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
