/* Each eviction policy against its naive twin over random traces, and what must hold of policies whatever the trace.
 * POCKETLOAD_SEED=N runs the case of one seed and prints it; POCKETLOAD_CASES=N sets how many cases are run. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "policies/registry.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/naive_cache_case.h"

enum { CASES = 1000, PROPERTY_CASES = 300, BLOCKS_MAX = 48, ACCESSES_MAX = 700, TEXT = 96 };

struct random_trace {
    uint32_t ids[ACCESSES_MAX];
    uint32_t count, block_count;
    struct policy_block blocks[BLOCKS_MAX];
    uint64_t capacity;
};

static uint64_t between(struct rng *rng, uint64_t low, uint64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

static bool chance(struct rng *rng, uint32_t percent)
{
    return rng_below(rng, 100) < percent;
}

/* Blocks without layers, or those of a model: an embedding, layers of experts in some order of ids, norm, output. */
static void make_blocks(struct random_trace *t, struct rng *rng, bool equal)
{
    const uint64_t common = chance(rng, 70) ? 1 : between(rng, 2, 5000), largest = chance(rng, 50) ? 5 : 100000;
    const bool few_sizes = chance(rng, 50), layered = chance(rng, 60), gaps = chance(rng, 30);
    const uint32_t layers = (uint32_t)between(rng, 1, 6), experts = (uint32_t)between(rng, 0, 100);
    uint64_t sizes[3];
    t->block_count = (uint32_t)between(rng, 1, chance(rng, 30) ? 6 : BLOCKS_MAX);
    for (int i = 0; i < 3; i++)
        sizes[i] = between(rng, 1, largest);
    for (uint32_t b = 0; b < t->block_count; b++) {
        struct policy_block *block = &t->blocks[b];
        *block = (struct policy_block){.layer = -1, .kind = BLOCK_OTHER};
        const uint64_t own_size = between(rng, 1, largest), choice = rng_below(rng, 3);
        block->bytes = equal ? common : few_sizes ? sizes[choice] : own_size;
        if (!layered)
            continue;
        block->kind = (uint32_t)rng_below(rng, BLOCK_KINDS);
        if (chance(rng, experts))
            block->kind = BLOCK_EXPERT;
        if (block->kind == BLOCK_LAYER || block->kind == BLOCK_EXPERT)
            block->layer = (int32_t)rng_below(rng, layers) * (gaps ? 7 : 1);
    }
}

/* Stretches of loops, scans, skewed and even choice, returns to what was used shortly before. */
static void make_accesses(struct random_trace *t, struct rng *rng)
{
    const uint32_t n = t->block_count, wanted = (uint32_t)between(rng, 1, chance(rng, 30) ? 40 : ACCESSES_MAX);
    t->count = 0;
    while (t->count < wanted) {
        const uint32_t length = (uint32_t)between(rng, 1, chance(rng, 50) ? 20 : 200);
        const uint32_t pattern = (uint32_t)rng_below(rng, 5), from = (uint32_t)rng_below(rng, n);
        const uint32_t width = (uint32_t)between(rng, 1, n), skew = (uint32_t)between(rng, 1, 4);
        for (uint32_t i = 0; i < length && t->count < wanted; i++) {
            uint32_t id = pattern == 0 ? from + i % width : from + i;
            if (pattern == 2 || (pattern == 3 && t->count == 0))
                id = (uint32_t)rng_below(rng, n);
            if (pattern == 3 && t->count > 0)
                id = t->ids[t->count - 1 - rng_below(rng, t->count < 12 ? t->count : 12)];
            if (pattern == 4) {
                uint32_t bound = n;
                for (uint32_t s = 0; s < skew; s++)
                    bound = 1 + (uint32_t)rng_below(rng, bound);
                id = from + bound - 1;
            }
            t->ids[t->count++] = id % n;
        }
    }
}

static void make_trace(struct random_trace *t, struct rng *rng, bool equal)
{
    uint64_t total = 0, largest = 0;
    make_blocks(t, rng, equal);
    make_accesses(t, rng);
    for (uint32_t b = 0; b < t->block_count; b++) {
        total += t->blocks[b].bytes;
        largest = t->blocks[b].bytes > largest ? t->blocks[b].bytes : largest;
    }
    const uint32_t kind = (uint32_t)rng_below(rng, 10);
    const uint64_t any = between(rng, 1, total), small = between(rng, 1, largest),
                   half = between(rng, 1, total / 2 + 1);
    t->capacity = kind == 0 ? small : kind == 1 ? total + largest : kind < 5 ? any : half;
}

static uint64_t percent(struct rng *rng)
{
    static const uint64_t usual[] = {1, 10, 25, 50, 80, 90};
    return chance(rng, 50) ? usual[rng_below(rng, 6)] : rng_below(rng, 101);
}

static const char *const policy_names[] = {
    "lru",    "fifo",      "mru",       "lfu",         "clock",  "sieve",         "s3-fifo",     "2q",
    "arc",    "slru",      "lirs",      "lru-k",       "gdsf",   "lfu-decay",     "w-tinylfu",   "random",
    "cyclic", "layer-lru", "layer-lfu", "least-stale", "belady", "belady-bypass", "belady-size",
};
enum { POLICIES = sizeof policy_names / sizeof policy_names[0] };

/* The policy with parameters by lot, in an order that every compiler keeps. */
static void policy_text(const char *name, struct rng *rng, char text[TEXT])
{
    const unsigned long long a = percent(rng), b = percent(rng), c = between(rng, 1, 3), bits = between(rng, 1, 8),
                             segments = between(rng, 2, 8), k = between(rng, 1, 4), history = rng_below(rng, 30),
                             seed = rng_below(rng, 1000), slots = rng_below(rng, 5), max = between(rng, 1, 6);
    snprintf(text, TEXT, "%s", name);
    if (strcmp(name, "clock") == 0)
        snprintf(text, TEXT, "clock(bits=%llu)", bits);
    else if (strcmp(name, "s3-fifo") == 0)
        snprintf(text, TEXT, "s3-fifo(small=%llu%%,ghost=%llu%%,threshold=%llu)", a, b, c);
    else if (strcmp(name, "2q") == 0)
        snprintf(text, TEXT, "2q(in=%llu%%,out=%llu%%)", a, b);
    else if (strcmp(name, "slru") == 0)
        snprintf(text, TEXT, "slru(segments=%llu)", segments);
    else if (strcmp(name, "lirs") == 0)
        snprintf(text, TEXT, "lirs(hir=%llu%%)", a % 99 + 1);
    else if (strcmp(name, "lru-k") == 0 && c == 1)
        snprintf(text, TEXT, "lru-k(k=%llu)", k);
    else if (strcmp(name, "lru-k") == 0)
        snprintf(text, TEXT, "lru-k(k=%llu,history=%llu)", k, history);
    else if (strcmp(name, "lfu-decay") == 0 && c < 3)
        snprintf(text, TEXT, "lfu-decay(max=%llu)", max);
    else if (strcmp(name, "w-tinylfu") == 0)
        snprintf(text, TEXT, "w-tinylfu(window=%llu%%,protected=%llu%%)", a, b);
    else if (strcmp(name, "random") == 0)
        snprintf(text, TEXT, "random(seed=%llu)", seed);
    else if (strncmp(name, "layer-", 6) == 0)
        snprintf(text, TEXT, "%s(slots=%llu)", name, slots);
}

static void print_case(const struct random_trace *t)
{
    print_message("# capacity %llu, blocks (bytes, layer, kind):", (unsigned long long)t->capacity);
    for (uint32_t b = 0; b < t->block_count; b++)
        print_message(" %u(%llu,%d,%u)", b, (unsigned long long)t->blocks[b].bytes, t->blocks[b].layer,
                      t->blocks[b].kind);
    print_message("\n# accesses:");
    for (uint32_t i = 0; i < t->count; i++)
        print_message(" %u", t->ids[i]);
    print_message("\n");
}

static bool agree(uint64_t seed, bool print, struct naive_counts sums[POLICIES])
{
    struct rng rng;
    struct random_trace t;
    struct cache_case c;
    bool good = true;
    rng_seed(&rng, seed, 3);
    const bool equal = chance(&rng, 40), by_steps = chance(&rng, 40);
    make_trace(&t, &rng, equal);
    if (print)
        print_case(&t);
    cache_case_make(t.ids, t.count, t.blocks, t.block_count, by_steps, &c);
    c.seed = seed;
    for (int p = 0; p < POLICIES; p++) {
        char text[TEXT];
        struct naive_counts fast, twin;
        policy_text(policy_names[p], &rng, text);
        const bool strict = chance(&rng, 50);
        cache_case_replay(&c, text, t.capacity, strict, &fast);
        cache_case_twin(&c, text, t.capacity, strict, &twin);
        sums[p].misses += twin.misses;
        sums[p].missed_bytes += twin.missed_bytes;
        if (fast.misses == twin.misses && fast.missed_bytes == twin.missed_bytes)
            continue;
        good = false;
        print_message("# seed %llu, %s%s at %llu of %u accesses: %llu misses of %llu bytes, its twin %llu of %llu; "
                      "POCKETLOAD_SEED=%llu shows the case\n",
                      (unsigned long long)seed, text, strict ? " within the capacity" : "",
                      (unsigned long long)t.capacity, t.count, (unsigned long long)fast.misses,
                      (unsigned long long)fast.missed_bytes, (unsigned long long)twin.misses,
                      (unsigned long long)twin.missed_bytes, (unsigned long long)seed);
    }
    cache_case_free(&c);
    return good;
}

static void twins_agree(void **state)
{
    (void)state;
    struct naive_counts sums[POLICIES] = {0};
    const char *one = getenv("POCKETLOAD_SEED"), *count = getenv("POCKETLOAD_CASES");
    if (one != NULL) {
        assert_true(agree(strtoull(one, NULL, 10), true, sums));
        return;
    }
    uint64_t cases = count != NULL ? strtoull(count, NULL, 10) : CASES, failed = 0;
    for (uint64_t seed = 1; seed <= cases && failed < 10; seed++)
        failed += !agree(seed, false, sums);
    assert_int_equal(failed, 0);
    /* No two policies do the same on all cases: the cases tell them apart. */
    for (int p = 0; p < POLICIES; p++)
        for (int q = 0; q < p && cases >= CASES; q++)
            if (sums[p].misses == sums[q].misses && sums[p].missed_bytes == sums[q].missed_bytes)
                fail_because("%s and %s missed the same", policy_names[p], policy_names[q]);
}

/* Every eviction policy that is built in has a twin here. */
static void all_have_twins(void **state)
{
    (void)state;
    size_t count;
    const struct policy *const *all = policy_all(&count);
    for (size_t i = 0; i < count; i++) {
        bool found = all[i]->kind != POLICY_EVICT;
        for (int p = 0; p < POLICIES; p++)
            found |= strcmp(all[i]->name, policy_names[p]) == 0;
        if (!found)
            fail_because("%s has no naive twin", all[i]->name);
    }
}

static uint64_t misses(const struct cache_case *c, const char *policy, uint64_t capacity)
{
    struct naive_counts counts;
    cache_case_replay(c, policy, capacity, true, &counts);
    return counts.misses;
}

/* At equal sizes, what Belady's policy and LRU promise. Policies that refuse single blocks may do better than the
 * forced one; all others here refuse all blocks of that size or none. */
static void check_bounds(uint64_t seed, const struct cache_case *c, const struct random_trace *t, struct rng *rng)
{
    const uint64_t forced = misses(c, "belady", t->capacity), bypass = misses(c, "belady-bypass", t->capacity);
    if (bypass > forced)
        fail_because("seed %llu: bypass misses more than forced admission", (unsigned long long)seed);
    for (int p = 0; p < POLICIES; p++) {
        char text[TEXT];
        policy_text(policy_names[p], rng, text);
        const uint64_t others = misses(c, text, t->capacity);
        if (others < bypass || (others < forced && strncmp(text, "belady-", 7) != 0))
            fail_because("seed %llu: %s misses %llu, belady %llu, belady-bypass %llu", (unsigned long long)seed, text,
                         (unsigned long long)others, (unsigned long long)forced, (unsigned long long)bypass);
        if (misses(c, text, t->capacity) != others)
            fail_because("seed %llu: %s does not repeat itself", (unsigned long long)seed, text);
    }
}

static void check_rising_budget(uint64_t seed, const struct cache_case *c, const struct random_trace *t)
{
    static const char *const stack_policies[] = {"lru", "belady", "belady-bypass"};
    for (int p = 0; p < 3; p++) {
        uint64_t before = UINT64_MAX;
        for (uint64_t blocks = 1; blocks <= t->block_count + 1; blocks++) {
            const uint64_t now = misses(c, stack_policies[p], blocks * t->blocks[0].bytes);
            if (now > before)
                fail_because("seed %llu: %s misses %llu with %llu blocks, %llu with one less", (unsigned long long)seed,
                             stack_policies[p], (unsigned long long)now, (unsigned long long)blocks,
                             (unsigned long long)before);
            before = now;
        }
    }
}

static void promises_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= PROPERTY_CASES; seed++) {
        struct rng rng;
        struct random_trace t;
        struct cache_case c;
        rng_seed(&rng, seed, 4);
        make_trace(&t, &rng, true);
        cache_case_make(t.ids, t.count, t.blocks, t.block_count, false, &c);
        c.seed = seed;
        check_bounds(seed, &c, &t, &rng);
        check_rising_budget(seed, &c, &t);
        cache_case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_have_twins),
        cmocka_unit_test(twins_agree),
        cmocka_unit_test(promises_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
