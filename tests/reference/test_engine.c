/* The engine against its naive twin: every number of every record, over random small configs; and no demand that a
 * prefetch delays by more than one command.
 *
 * POCKETLOAD_SEED=N reruns the case of one seed with the twin's log of all that happens; POCKETLOAD_CASES=N sets how
 * many cases are compared. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_engine.h"
#include "tests/reference/random_case.h"

/* Some meetings of rules come once in ten thousand cases. */
enum { CASES = 20000 };

struct field {
    const char *name;
    size_t offset;
};

#define NUMBER(field)                                                                                                  \
    {                                                                                                                  \
#field, offsetof(struct run_numbers, field)                                                                    \
    }
static const struct field number_fields[] = {
    NUMBER(tokens),
    NUMBER(accesses),
    NUMBER(hits),
    NUMBER(delayed_hits),
    NUMBER(misses),
    NUMBER(bytes_accessed),
    NUMBER(bytes_hit),
    NUMBER(evictions),
    NUMBER(bytes_read),
    NUMBER(bytes_prefetched),
    NUMBER(uncacheable),
    NUMBER(bytes_prefetch_useful),
    NUMBER(bytes_prefetch_late),
    NUMBER(bytes_prefetch_wasted),
    NUMBER(major_faults),
    NUMBER(minor_faults),
    NUMBER(load_ns),
    NUMBER(compute_ns),
    NUMBER(stall_ns),
    NUMBER(idle_ns),
    NUMBER(virtual_time_ns),
    NUMBER(peak_memory_bytes),
    NUMBER(peak_kv_bytes),
    NUMBER(peak_weights_bytes),
    NUMBER(ttft_ns),
    NUMBER(peak_activation_bytes),
    NUMBER(tpot_mean_ns),
    NUMBER(tpot_p50_ns),
    NUMBER(tpot_p95_ns),
    NUMBER(tpot_p99_ns),
    NUMBER(tpot_total_ns),
    NUMBER(tpot_count),
    NUMBER(flash_busy_ns),
    NUMBER(hot_at_ns),
    NUMBER(hot_ns),
    NUMBER(tpot_cold_total_ns),
    NUMBER(tpot_hot_total_ns),
    NUMBER(tpot_cold_count),
    NUMBER(tpot_hot_count),
    NUMBER(turns),
    NUMBER(restarts),
    NUMBER(bytes_reclaimed),
    NUMBER(drafted_tokens),
    NUMBER(accepted_tokens),
    NUMBER(turn_ttft_mean_ns),
    NUMBER(turn_ttft_max_ns),
    NUMBER(load_10_ns),
    NUMBER(load_50_ns),
    NUMBER(load_90_ns),
    NUMBER(load_100_ns),
    NUMBER(first_layer_ns),
    NUMBER(parse_ns),
    NUMBER(stage_alloc_ns),
    NUMBER(stage_init_ns),
    NUMBER(bytes_warm),
};
#define TOKEN(field)                                                                                                   \
    {                                                                                                                  \
#field, offsetof(struct token_numbers, field)                                                                  \
    }
static const struct field token_fields[] = {TOKEN(latency_ns), TOKEN(stall_ns),       TOKEN(accesses),
                                            TOKEN(hits),       TOKEN(bytes_accessed), TOKEN(bytes_read)};
#define BLOCK(field)                                                                                                   \
    {                                                                                                                  \
#field, offsetof(struct block_numbers, field)                                                                  \
    }
static const struct field block_fields[] = {BLOCK(accesses), BLOCK(hits), BLOCK(loads), BLOCK(evictions),
                                            BLOCK(bytes_read)};
#define SAMPLE(field)                                                                                                  \
    {                                                                                                                  \
#field, offsetof(struct sample_numbers, field)                                                                 \
    }
static const struct field sample_fields[] = {
    SAMPLE(time_ns),
    {"weights", offsetof(struct sample_numbers, class_bytes[MEMORY_WEIGHTS])},
    {"kv", offsetof(struct sample_numbers, class_bytes[MEMORY_KV])},
    {"activation", offsetof(struct sample_numbers, class_bytes[MEMORY_ACTIVATION])},
    {"runtime", offsetof(struct sample_numbers, class_bytes[MEMORY_RUNTIME])},
    {"os", offsetof(struct sample_numbers, class_bytes[MEMORY_OS])},
    {"other apps", offsetof(struct sample_numbers, class_bytes[MEMORY_OTHER_APPS])},
    SAMPLE(in_flight_bytes),
    SAMPLE(free_bytes),
    SAMPLE(flash_bytes),
    SAMPLE(heat_ppm),
    SAMPLE(loaded_bytes)};
#define TURN(field)                                                                                                    \
    {                                                                                                                  \
#field, offsetof(struct turn_numbers, field)                                                                   \
    }
static const struct field turn_fields[] = {TURN(start_ns), TURN(idle_ns), TURN(ttft_ns),    TURN(latency_ns),
                                           TURN(stall_ns), TURN(tokens),  TURN(bytes_read), TURN(bytes_reclaimed)};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int differences(const char *what, uint64_t row, const struct field *fields, size_t count, const void *engine,
                       const void *twin)
{
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t a, b; /* all fields have 64 bits; -1 is told as -1 */
        memcpy(&a, (const char *)engine + fields[i].offset, sizeof a);
        memcpy(&b, (const char *)twin + fields[i].offset, sizeof b);
        if (a != b && ++found <= 12)
            print_message("# %s %llu %s: engine %lld, twin %lld\n", what, (unsigned long long)row, fields[i].name,
                          (long long)a, (long long)b);
    }
    return found;
}

static int differ_count(const char *what, uint64_t engine, uint64_t twin)
{
    if (engine == twin)
        return 0;
    print_message("# %s: engine %llu, twin %llu\n", what, (unsigned long long)engine, (unsigned long long)twin);
    return 1;
}

static int differ_text(const char *what, const char *engine, const char *twin)
{
    if (strcmp(engine, twin) == 0)
        return 0;
    print_message("# %s: engine \"%s\", twin \"%s\"\n", what, engine, twin);
    return 1;
}

static int compare(const struct random_case *c, const struct run_result *engine, const struct run_result *twin)
{
    const struct run_numbers *a = &engine->numbers, *b = &twin->numbers;
    int found = differ_text("outcome", outcome_names[a->outcome], outcome_names[b->outcome]) +
                differ_text("killed_by", a->killed_by, b->killed_by) +
                differ_text("killed_phase", a->killed_phase, b->killed_phase);
    found += differences("run", 0, number_fields, COUNT(number_fields), a, b);
    for (block_id i = 0; i < c->model.block_count; i++)
        found += differences("block", i, block_fields, COUNT(block_fields), &engine->blocks[i], &twin->blocks[i]);
    if (differ_count("token_count", engine->token_count, twin->token_count))
        return found + 1;
    for (uint64_t i = 0; i < twin->token_count && found < 12; i++)
        found += differ_count("token number", engine->tokens[i].token, twin->tokens[i].token) +
                 differ_count("token hot", engine->tokens[i].hot, twin->tokens[i].hot) +
                 differ_count("token turn", engine->tokens[i].turn, twin->tokens[i].turn) +
                 differ_text("token phase", phase_names[engine->tokens[i].phase], phase_names[twin->tokens[i].phase]) +
                 differences("token", i, token_fields, COUNT(token_fields), &engine->tokens[i], &twin->tokens[i]);
    if (differ_count("turn_count", engine->turn_count, twin->turn_count))
        return found + 1;
    for (uint32_t i = 0; i < twin->turn_count && found < 12; i++)
        found += differ_count("turn number", engine->turns[i].turn, twin->turns[i].turn) +
                 differ_count("turn restarted", engine->turns[i].restarted, twin->turns[i].restarted) +
                 differences("turn", i, turn_fields, COUNT(turn_fields), &engine->turns[i], &twin->turns[i]);
    if (differ_count("sample_count", engine->sample_count, twin->sample_count))
        return found + 1;
    for (uint32_t i = 0; i < twin->sample_count && found < 12; i++)
        found += differences("sample", i, sample_fields, COUNT(sample_fields), &engine->samples[i], &twin->samples[i]);
    return found;
}

struct coverage {
    uint64_t killed, rejected, delayed, uncacheable, useful, late, wasted, evictions, read_mode, halved, restarts,
        reclaimed, rounds;
    uint64_t by_compute, by_threads, parsed, warm, behind, preloaded;
    struct naive_delays delays;
};

static bool agree(uint64_t seed, FILE *log, struct coverage *coverage)
{
    struct random_case c;
    struct arena arena = {0}, twin_arena = {0};
    struct run_result engine, twin;
    struct error err;
    const uint64_t too_late = coverage->delays.too_late;
    random_case_make(&c, seed);
    if (log != NULL)
        random_case_print(&c, log);
    naive_run(&c.spec, &c.choice, &twin_arena, log, &coverage->delays, &twin);
    bool ran = engine_run(&c.spec, &arena, &engine, &err);
    int found = 0;
    if (!ran)
        print_message("# engine: %s\n", err.text);
    else
        found = compare(&c, &engine, &twin) + differ_count("demands that prefetches delay by over a command",
                                                           coverage->delays.too_late - too_late, 0);
    if (!ran || found > 0) {
        random_case_print(&c, stdout);
        print_message("# seed %llu: %d differences; POCKETLOAD_SEED=%llu shows the case\n", (unsigned long long)seed,
                      found, (unsigned long long)seed);
    }
    coverage->killed += twin.numbers.outcome == OUTCOME_KILLED;
    coverage->rejected += twin.numbers.outcome == OUTCOME_REJECTED;
    coverage->delayed += twin.numbers.delayed_hits > 0;
    coverage->uncacheable += twin.numbers.uncacheable > 0;
    coverage->useful += twin.numbers.bytes_prefetch_useful > 0;
    coverage->late += twin.numbers.bytes_prefetch_late > 0;
    coverage->wasted += twin.numbers.bytes_prefetch_wasted > 0;
    coverage->evictions += twin.numbers.evictions > 0;
    coverage->restarts += twin.numbers.restarts;
    coverage->reclaimed += twin.numbers.restarts == 0 && twin.numbers.bytes_reclaimed > 0;
    coverage->rounds += twin.numbers.drafted_tokens > 0;
    coverage->read_mode += c.spec.loader.mode == LOADER_READ;
    coverage->halved += twin.numbers.virtual_time_ns > 512 * 1000000ll;
    const struct loader *loader = &c.spec.loader;
    const bool staged = twin.numbers.stage_alloc_ns + twin.numbers.stage_init_ns > 0;
    coverage->by_compute += staged && loader->loader_threads == 0;
    coverage->by_threads += staged && loader->loader_threads > 0;
    coverage->parsed += twin.numbers.parse_ns > 0;
    coverage->warm += twin.numbers.bytes_warm > 0;
    coverage->behind += loader->mode == LOADER_READ && twin.numbers.bytes_prefetch_useful > 0;
    coverage->preloaded += loader->mode == LOADER_CHUNKED && c.choice.pin == NAIVE_PIN_NONE && twin.numbers.load_ns > 0;
    arena_free(&arena);
    arena_free(&twin_arena);
    random_case_free(&c);
    return ran && found == 0;
}

static void twin_agrees(void **state)
{
    (void)state;
    struct coverage coverage = {0};
    const char *one = getenv("POCKETLOAD_SEED"), *count = getenv("POCKETLOAD_CASES");
    if (one != NULL) {
        assert_true(agree(strtoull(one, NULL, 10), stdout, &coverage));
        return;
    }
    uint64_t cases = count != NULL ? strtoull(count, NULL, 10) : CASES, failed = 0;
    for (uint64_t seed = 1; seed <= cases && failed < 10; seed++)
        failed += !agree(seed, NULL, &coverage);
    assert_int_equal(failed, 0);
    const struct naive_delays *delays = &coverage.delays;
    print_message("# reads compared %llu (%llu promoted), %llu of them later than alone, none by over a command; "
                  "dropped %llu, %llu moving\n",
                  (unsigned long long)delays->reads, (unsigned long long)delays->promoted,
                  (unsigned long long)delays->delayed, (unsigned long long)delays->dropped,
                  (unsigned long long)delays->dropped_moving);
    /* The cases must reach the rules that are told apart only rarely. */
    if (cases >= CASES) {
        assert_true(coverage.killed >= 1000);
        assert_true(coverage.rejected >= 100);
        assert_true(coverage.delayed >= 2000);
        assert_true(coverage.uncacheable >= 2000);
        assert_true(coverage.useful >= 2000);
        assert_true(coverage.late >= 2000);
        assert_true(coverage.wasted >= 400);
        assert_true(delays->reads >= 100000 && delays->delayed >= 5000 && delays->promoted >= 1000);
        assert_true(delays->dropped >= 500 && delays->dropped_moving < delays->dropped);
        assert_true(coverage.evictions >= 3000);
        assert_true(coverage.read_mode >= 1000);
        assert_true(coverage.halved >= 200);
        assert_true(coverage.restarts >= 500 && coverage.reclaimed >= 500 && coverage.rounds >= 500);
        assert_true(coverage.by_compute >= 1500 && coverage.by_threads >= 1500 && coverage.parsed >= 1500);
        assert_true(coverage.warm >= 500 && coverage.behind >= 500 && coverage.preloaded >= 1000);
    }
}

/* docs/models.md, section 2: a step of 2^62 units or more is refused, one below is computed. */
static void endless_step_is_an_error(void **state)
{
    (void)state;
    struct random_case c;
    struct arena arena = {0};
    struct run_result result;
    struct error err = {0};
    uint64_t seed = 1;
    for (random_case_make(&c, seed); c.trace.work_count == 0 || c.spec.device.pressure.rule != KILL_NONE;
         random_case_make(&c, ++seed))
        random_case_free(&c);
    for (uint32_t w = 0; w < c.trace.work_count; w++)
        c.trace.works[w] = (struct work){.fixed_ns = -1, .bytes = 4398};
    c.spec.device.memory_bps = 1; /* 4398 s < 2^42 ns < 4399 s */
    assert_true(engine_run(&c.spec, &arena, &result, &err));
    for (uint32_t w = 0; w < c.trace.work_count; w++)
        c.trace.works[w].bytes = 4399;
    assert_false(engine_run(&c.spec, &arena, &result, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    arena_free(&arena);
    random_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twin_agrees),
        cmocka_unit_test(endless_step_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
