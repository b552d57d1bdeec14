/* Runs of random cases with an allocator: in an ample space they are those without one, in a tight one sums still add
 * up and runs repeat themselves.
 *
 * POCKETLOAD_SEED=N runs one case, POCKETLOAD_CASES=N sets how many. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/random_case.h"

enum { CASES = 6000 };
#define FIRST_SEED 200000u /* apart from the cases of other tests */

#define HOLDS(c, condition)                                                                                            \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            random_case_print(c, stdout);                                                                              \
            fail_because("seed %llu: not true: %s", (unsigned long long)(c)->seed, #condition);                        \
        }                                                                                                              \
    } while (0)

static void each_case(void (*check)(struct random_case *c))
{
    const char *one = getenv("POCKETLOAD_SEED"), *count = getenv("POCKETLOAD_CASES");
    uint64_t first = one ? strtoull(one, NULL, 10) : FIRST_SEED;
    uint64_t end = first + (one ? 1 : count ? strtoull(count, NULL, 10) : CASES);
    for (uint64_t seed = first; seed < end; seed++) {
        struct random_case c;
        random_case_make(&c, seed);
        check(&c);
        random_case_free(&c);
    }
}

static void run(struct random_case *c, struct arena *arena, struct run_result *result)
{
    struct error err;
    if (!engine_run(&c->spec, arena, result, &err))
        fail_because("seed %llu, allocator %d: %s", (unsigned long long)c->seed, (int)c->spec.loader.allocator,
                     err.text);
}

/* The numbers from killed_by to the peaks of memory, and from the times to flash_busy: all but the allocator's own. */
static bool same_numbers(const struct run_numbers *a, const struct run_numbers *b)
{
    const size_t from = offsetof(struct run_numbers, killed_by), to = offsetof(struct run_numbers, alloc_failures);
    return a->outcome == b->outcome && memcmp((const char *)a + from, (const char *)b + from, to - from) == 0;
}

static bool same_rows(const struct random_case *c, const struct run_result *a, const struct run_result *b)
{
    if (a->token_count != b->token_count || a->sample_count != b->sample_count)
        return false;
    for (uint32_t i = 0; i < a->sample_count; i++) {
        const size_t bytes = offsetof(struct sample_numbers, internal_fragmentation_bytes);
        if (memcmp(&a->samples[i], &b->samples[i], bytes) != 0)
            return false;
    }
    return memcmp(a->tokens, b->tokens, a->token_count * sizeof *a->tokens) == 0 &&
           memcmp(a->blocks, b->blocks, c->model.block_count * sizeof *a->blocks) == 0;
}

static void ample(struct random_case *c)
{
    struct arena arena = {0};
    struct run_result plain, placed;
    run(c, &arena, &plain);
    for (int kind = ALLOCATOR_FIXED; kind <= ALLOCATOR_MALLOC; kind++) {
        c->spec.loader.allocator = (enum allocator_kind)kind;
        c->spec.loader.arena_bytes = UINT64_C(1) << 36;
        run(c, &arena, &placed);
        HOLDS(c, placed.numbers.alloc_failures == 0 && placed.numbers.alloc_compactions == 0);
        HOLDS(c, same_numbers(&placed.numbers, &plain.numbers));
        HOLDS(c, same_rows(c, &placed, &plain));
    }
    arena_free(&arena);
}

/* How often the rare things happened. */
static struct {
    uint64_t killed, failures, compactions, unreused, streamed;
} seen;

static void make_tight(struct random_case *c, struct rng *rng)
{
    struct loader *loader = &c->spec.loader;
    uint64_t all = c->model.weights_bytes, held = loader->mode == LOADER_READ ? all : loader->budget_bytes;
    held = held < all ? held : all;
    uint64_t kind = ALLOCATOR_FIXED + rng_below(rng, 7); /* malloc more often: it alone compacts */
    loader->allocator = kind > ALLOCATOR_MALLOC ? ALLOCATOR_MALLOC : (enum allocator_kind)kind;
    uint64_t least = loader->allocator == ALLOCATOR_SLAB ? UINT64_C(1) << 20 : held / 2 + 1;
    if (rng_below(rng, 2))
        least += 200000; /* for activations */
    loader->arena_bytes = rng_below(rng, 8) == 0 ? 0 : least + rng_below(rng, 2 * held + 400000);
    loader->alloc_ns = (int64_t)(rng_below(rng, 2) * rng_below(rng, 30000));
    loader->compact = rng_below(rng, 3) > 0;
    loader->keep_activations = rng_below(rng, 2);
    if (rng_below(rng, 2))
        c->trace.kv_bytes_per_token = rng_below(rng, 200);
}

static void check_sums(struct random_case *c, const struct run_result *result)
{
    const struct run_numbers *n = &result->numbers;
    int64_t latency = 0, stall = 0;
    uint64_t accesses = 0, evictions = 0, most = 0;
    for (uint64_t i = 0; i < result->token_count; i++) {
        latency += result->tokens[i].latency_ns;
        stall += result->tokens[i].stall_ns;
        accesses += result->tokens[i].accesses;
    }
    for (block_id b = 0; b < c->model.block_count; b++)
        evictions += result->blocks[b].evictions;
    HOLDS(c, n->virtual_time_ns == n->load_ns + n->compute_ns + n->stall_ns + n->idle_ns);
    HOLDS(c, latency == n->compute_ns + n->stall_ns && stall == n->stall_ns);
    HOLDS(c, accesses == n->accesses && evictions == n->evictions);
    HOLDS(c, n->outcome != OUTCOME_COMPLETED || n->accesses == c->trace.access_count);
    if (c->spec.loader.arena_bytes > 0) {
        most = c->spec.loader.arena_bytes;
        HOLDS(c, n->peak_weights_bytes <= most && (uint64_t)n->least_hole_bytes <= most);
        HOLDS(c, n->peak_internal_fragmentation_bytes <= most && n->peak_external_fragmentation_bytes <= most);
    }
    for (uint32_t i = 0; i < result->sample_count; i++)
        HOLDS(c, result->samples[i].largest_hole_bytes >= (uint64_t)n->least_hole_bytes &&
                     result->samples[i].internal_fragmentation_bytes <= n->peak_internal_fragmentation_bytes &&
                     result->samples[i].external_fragmentation_bytes <= n->peak_external_fragmentation_bytes);
    uint64_t activations = 0;
    for (uint32_t s = 0; s < c->trace.segment_count; s++)
        if (c->trace.segments[s].activation_bytes > activations)
            activations = c->trace.segments[s].activation_bytes;
    HOLDS(c, c->spec.loader.keep_activations || n->peak_activation_bytes <= activations);
    seen.killed += strcmp(n->killed_by, "allocator") == 0;
    seen.failures += n->alloc_failures > 0;
    seen.compactions += n->alloc_compactions > 0;
    seen.unreused += n->peak_activation_bytes > activations;
    seen.streamed += n->uncacheable > 0;
}

static void tight(struct random_case *c)
{
    struct arena arena = {0};
    struct run_result first, again;
    struct rng rng;
    rng_seed(&rng, c->seed, 5);
    make_tight(c, &rng);
    run(c, &arena, &first);
    check_sums(c, &first);
    run(c, &arena, &again);
    const size_t from = offsetof(struct run_numbers, killed_by);
    HOLDS(c, memcmp((char *)&first.numbers + from, (char *)&again.numbers + from, sizeof first.numbers - from) == 0);
    HOLDS(c, same_rows(c, &first, &again));
    arena_free(&arena);
}

static void ample_spaces_change_nothing(void **state)
{
    (void)state;
    each_case(ample);
}

static void tight_spaces_add_up(void **state)
{
    (void)state;
    each_case(tight);
    print_message("# runs that failures met: %llu, compactions %llu, kills %llu, streams %llu; without reuse %llu\n",
                  (unsigned long long)seen.failures, (unsigned long long)seen.compactions,
                  (unsigned long long)seen.killed, (unsigned long long)seen.streamed,
                  (unsigned long long)seen.unreused);
    if (!getenv("POCKETLOAD_SEED") && !getenv("POCKETLOAD_CASES"))
        assert_true(seen.failures >= 500 && seen.compactions >= 20 && seen.killed >= 100 && seen.streamed >= 100 &&
                    seen.unreused >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ample_spaces_change_nothing),
        cmocka_unit_test(tight_spaces_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
