/* Each allocator against its naive twin over random sequences of calls: every answer, offset, state and count after
 * each call; and what holds of any of them.
 *
 * POCKETLOAD_SEED=N runs one sequence of each kind, POCKETLOAD_CASES=N sets how many are compared. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_allocator.h"

enum { CASES = 1000, CALLS = 100 };

static uint64_t between(struct rng *rng, uint64_t low, uint64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

/* Any magnitude up to 2^bits - 1. */
static uint64_t magnitude(struct rng *rng, unsigned bits)
{
    unsigned most = (unsigned)between(rng, 1, bits);
    return between(rng, 1, (UINT64_C(1) << most) - 1);
}

static unsigned bits_of(uint64_t x)
{
    unsigned bits = 0;
    for (; x > 0; x >>= 1)
        bits++;
    return bits;
}

static struct allocator_spec random_spec(struct rng *rng, enum allocator_kind kind)
{
    struct allocator_spec spec = {.kind = kind, .ranges_max = (uint32_t)between(rng, 1, 120)};
    switch (kind) {
    case ALLOCATOR_FIXED:
        spec.space_bytes = magnitude(rng, 40);
        spec.slot_bytes = 1 + spec.space_bytes / between(rng, 1, 150);
        break;
    case ALLOCATOR_BUDDY:
        spec.space_bytes =
            rng_below(rng, 10) == 0 ? magnitude(rng, 22) : magnitude(rng, 9) * 4096 + rng_below(rng, 4096);
        break;
    case ALLOCATOR_SLAB:
        spec.space_bytes = (magnitude(rng, 7) << 19) + rng_below(rng, 100000);
        break;
    default:
        spec.space_bytes = rng_below(rng, 2) ? magnitude(rng, 44) : 16 * magnitude(rng, 40);
        spec.compact = rng_below(rng, 2);
    }
    return spec;
}

struct coverage {
    uint64_t taken, failures, hole_failures, compactions;
};

struct pair {
    struct allocator *allocator;
    struct naive_allocator twin;
    uint32_t live[NAIVE_RANGES_MAX], twins[NAIVE_RANGES_MAX], count; /* ids of both for each live range */
    enum allocator_kind kind;
    uint64_t seed;
};

static bool same(const struct pair *pair, const char *what, uint64_t found, uint64_t expected)
{
    if (found == expected)
        return true;
    print_message("# kind %d, seed %llu, call %llu, %s: %llu, the twin says %llu\n", (int)pair->kind,
                  (unsigned long long)pair->seed, (unsigned long long)pair->twin.counts.calls, what,
                  (unsigned long long)found, (unsigned long long)expected);
    return false;
}

static bool states_agree(const struct pair *pair)
{
    struct allocator_state a = allocator_state(pair->allocator), b = pair->twin.state;
    struct allocator_counts c = allocator_counts(pair->allocator), d = pair->twin.counts;
    bool good = same(pair, "requested", a.requested_bytes, b.requested_bytes) &&
                same(pair, "taken", a.taken_bytes, b.taken_bytes) && same(pair, "free", a.free_bytes, b.free_bytes) &&
                same(pair, "largest hole", a.largest_hole_bytes, b.largest_hole_bytes) &&
                same(pair, "ranges", a.ranges, b.ranges) && same(pair, "calls", c.calls, d.calls) &&
                same(pair, "failures", c.failures, d.failures) &&
                same(pair, "hole failures", c.hole_failures, d.hole_failures) &&
                same(pair, "compactions", c.compactions, d.compactions) &&
                same(pair, "moved", c.moved_bytes, d.moved_bytes) &&
                same(pair, "internal peak", c.internal_peak_bytes, d.internal_peak_bytes) &&
                same(pair, "external peak", c.external_peak_bytes, d.external_peak_bytes) &&
                same(pair, "least largest hole", c.largest_hole_min_bytes, d.largest_hole_min_bytes);
    for (uint32_t i = 0; good && i < pair->count; i++) {
        const struct naive_range *twin = &pair->twin.ranges[pair->twins[i]];
        good = same(pair, "offset", allocator_offset(pair->allocator, pair->live[i]), twin->offset) &&
               same(pair, "range", allocator_taken(pair->allocator, pair->live[i]), twin->taken);
    }
    return good;
}

/* Live ranges lie in the space and do not overlap; a buddy's offset is a multiple of its size, a power of two. */
static bool sound(const struct pair *pair)
{
    for (uint32_t i = 0; i < pair->count; i++) {
        uint64_t begin = allocator_offset(pair->allocator, pair->live[i]);
        uint64_t taken = allocator_taken(pair->allocator, pair->live[i]);
        bool good = taken > 0 && begin + taken <= pair->twin.spec.space_bytes;
        if (pair->kind == ALLOCATOR_BUDDY)
            good = good && (taken & (taken - 1)) == 0 && begin % taken == 0;
        for (uint32_t j = 0; j < i; j++) {
            uint64_t other = allocator_offset(pair->allocator, pair->live[j]);
            good = good && (begin + taken <= other || other + allocator_taken(pair->allocator, pair->live[j]) <= begin);
        }
        if (!same(pair, "sound", good, true))
            return false;
    }
    return true;
}

static bool take_both(struct pair *pair, uint64_t bytes)
{
    uint32_t range, twin_range;
    uint64_t moved, twin_moved, largest = allocator_state(pair->allocator).largest_hole_bytes;
    bool taken = allocator_take(pair->allocator, bytes, &range, &moved);
    bool twin_taken = naive_allocator_take(&pair->twin, bytes, &twin_range, &twin_moved);
    if (!same(pair, "answer", taken, twin_taken) || !same(pair, "moved by a call", moved, twin_moved) ||
        !same(pair, "the largest hole could be had", taken || bytes != largest, true))
        return false;
    if (taken) {
        pair->live[pair->count] = range;
        pair->twins[pair->count++] = twin_range;
    }
    return same(pair, "id", taken ? range < pair->twin.spec.ranges_max : range == RANGE_NONE, true);
}

static void free_both(struct pair *pair, uint32_t i)
{
    allocator_free(pair->allocator, pair->live[i]);
    naive_allocator_free(&pair->twin, pair->twins[i]);
    pair->count--;
    pair->live[i] = pair->live[pair->count];
    pair->twins[i] = pair->twins[pair->count];
}

static uint64_t random_request(const struct pair *pair, struct rng *rng, unsigned bits)
{
    switch (rng_below(rng, 12)) {
    case 0: { /* what is said to fit just so, or is a byte too much */
        uint64_t largest = allocator_state(pair->allocator).largest_hole_bytes;
        return largest + (largest == 0 || rng_below(rng, 2));
    }
    case 1:
        return pair->kind == ALLOCATOR_FIXED ? pair->twin.spec.slot_bytes : UINT64_C(1) << rng_below(rng, bits);
    case 2: { /* all that is free, as malloc's compaction can still give */
        uint64_t free_bytes = allocator_state(pair->allocator).free_bytes / 16 * 16;
        return free_bytes > 32 ? free_bytes - 16 * between(rng, 0, 2) : 1;
    }
    case 3:
        return rng_below(rng, 20) == 0 ? UINT64_MAX - rng_below(rng, 40) : magnitude(rng, bits);
    default:
        return magnitude(rng, bits);
    }
}

static bool agree(enum allocator_kind kind, uint64_t seed, struct coverage *coverage)
{
    static struct pair pair; /* large */
    struct arena arena = {0};
    struct error err;
    struct rng rng;
    rng_seed(&rng, seed, (uint64_t)kind);
    struct allocator_spec spec = random_spec(&rng, kind);
    pair.count = 0;
    pair.kind = kind;
    pair.seed = seed;
    assert_true(allocator_init(&pair.allocator, &spec, &arena, &err));
    naive_allocator_start(&pair.twin, &spec);
    /* Requests of up to the space, or of small parts of it, so that it holds many. */
    unsigned space_bits = bits_of(kind == ALLOCATOR_FIXED ? spec.slot_bytes : spec.space_bytes);
    unsigned bits = (unsigned)between(&rng, space_bits > 8 ? space_bits - 8 : 1, space_bits);
    bool good = states_agree(&pair);
    uint32_t percent = 50;
    for (uint32_t call = 0; good && call < CALLS; call++) {
        if (call % 20 == 0) /* fills, stays about as full, or drains */
            percent = (uint32_t)rng_below(&rng, 3) * 35 + 15;
        bool take = pair.count < spec.ranges_max && (pair.count == 0 || rng_below(&rng, 100) < percent);
        if (take)
            good = take_both(&pair, random_request(&pair, &rng, bits));
        else
            free_both(&pair, (uint32_t)rng_below(&rng, pair.count));
        good = good && states_agree(&pair) && sound(&pair);
    }
    while (good && pair.count > 0)
        free_both(&pair, (uint32_t)rng_below(&rng, pair.count));
    struct allocator_counts counts = allocator_counts(pair.allocator);
    good =
        good && states_agree(&pair) && same(&pair, "left at the end", allocator_state(pair.allocator).taken_bytes, 0);
    coverage->taken += counts.calls - counts.failures;
    coverage->failures += counts.failures;
    coverage->hole_failures += counts.hole_failures;
    coverage->compactions += counts.compactions;
    arena_free(&arena);
    return good;
}

static void twins_agree(enum allocator_kind kind)
{
    struct coverage coverage = {0};
    const char *one = getenv("POCKETLOAD_SEED"), *count = getenv("POCKETLOAD_CASES");
    if (one != NULL) {
        assert_true(agree(kind, strtoull(one, NULL, 10), &coverage));
        return;
    }
    uint64_t cases = count != NULL ? strtoull(count, NULL, 10) : CASES, failed = 0;
    for (uint64_t seed = 1; seed <= cases && failed < 5; seed++)
        failed += !agree(kind, seed, &coverage);
    assert_int_equal(failed, 0);
    print_message("# kind %d: %llu taken, %llu refused, %llu of these by holes; %llu compactions\n", (int)kind,
                  (unsigned long long)coverage.taken, (unsigned long long)coverage.failures,
                  (unsigned long long)coverage.hole_failures, (unsigned long long)coverage.compactions);
    if (cases >= CASES) {
        assert_true(coverage.taken >= 20 * CASES && coverage.failures >= 5 * CASES);
        assert_true(coverage.hole_failures >= CASES);
        assert_true(coverage.compactions >= (kind == ALLOCATOR_MALLOC ? (uint64_t)CASES / 2 : 0));
    }
}

static void fixed_agrees(void **state)
{
    (void)state;
    twins_agree(ALLOCATOR_FIXED);
}

static void buddy_agrees(void **state)
{
    (void)state;
    twins_agree(ALLOCATOR_BUDDY);
}

static void slab_agrees(void **state)
{
    (void)state;
    twins_agree(ALLOCATOR_SLAB);
}

static void malloc_agrees(void **state)
{
    (void)state;
    twins_agree(ALLOCATOR_MALLOC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_agrees),
        cmocka_unit_test(buddy_agrees),
        cmocka_unit_test(slab_agrees),
        cmocka_unit_test(malloc_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
