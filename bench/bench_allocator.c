/* How many calls a second each allocator answers with many ranges live. */
#include "base/rng.h"
#include "bench/measure.h"
#include "sim/allocator.h"

enum { LIVE = 40000, CALLS = 400000 };

/* Sizes from 4 KiB to 1 MiB, every magnitude as often as any other. */
static uint64_t random_bytes(struct rng *rng)
{
    uint64_t least = UINT64_C(4096) << rng_below(rng, 8);
    return least + rng_below(rng, least);
}

/* Fills the space to LIVE ranges, then frees one and takes another at random. Returns the seconds of the second part.
 */
static double churn(enum allocator_kind kind, uint64_t space_bytes, struct allocator_counts *counts)
{
    static uint32_t live[LIVE];
    struct arena arena = {0};
    struct allocator *allocator;
    struct error err;
    struct rng rng;
    const struct allocator_spec spec = {
        .kind = kind, .space_bytes = space_bytes, .slot_bytes = 1 << 20, .ranges_max = LIVE, .compact = false};
    uint64_t moved;
    rng_seed(&rng, 1, 0);
    if (!allocator_init(&allocator, &spec, &arena, &err))
        give_up("allocator", err.text);
    for (uint32_t i = 0; i < LIVE; i++)
        allocator_take(allocator, random_bytes(&rng), &live[i], &moved);
    double start = now_seconds();
    for (uint32_t i = 0; i < CALLS / 2; i++) {
        uint32_t slot = (uint32_t)rng_below(&rng, LIVE);
        if (live[slot] != RANGE_NONE)
            allocator_free(allocator, live[slot]);
        allocator_take(allocator, random_bytes(&rng), &live[slot], &moved);
    }
    double seconds = now_seconds() - start;
    *counts = allocator_counts(allocator);
    arena_free(&arena);
    return seconds;
}

int main(void)
{
    static const char *const names[] = {[ALLOCATOR_FIXED] = "fixed",
                                        [ALLOCATOR_BUDDY] = "buddy",
                                        [ALLOCATOR_SLAB] = "slab",
                                        [ALLOCATOR_MALLOC] = "malloc"};
    printf("\nallocators: %d live ranges, one freed and one taken in turn (%d rounds)\n", LIVE, ROUNDS);
    printf("%-36s %9s | %8s %8s %8s | %s\n", "case", "calls", "M/s min", "median", "max", "refused");
    for (int kind = ALLOCATOR_FIXED; kind <= ALLOCATOR_MALLOC; kind++) {
        struct rounds rounds;
        struct allocator_counts counts = {0};
        for (int round = 0; round < ROUNDS; round++)
            rounds.seconds[round] = churn((enum allocator_kind)kind, UINT64_C(1) << 36, &counts);
        sort_rounds(&rounds);
        double millions = CALLS / 1e6;
        printf("%-36s %8.1fM | %8.2f %8.2f %8.2f | %.1f %%\n", names[kind], millions,
               millions / rounds.seconds[ROUNDS - 1], millions / median_seconds(&rounds), millions / rounds.seconds[0],
               100.0 * (double)counts.failures / (double)counts.calls);
    }
    return 0;
}
