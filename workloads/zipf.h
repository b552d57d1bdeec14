/* Zipf's law in integers: the same on every machine and compiler.
 *
 * Rank r (from 1) of n has the weight r^-s in fixed point with 32 fractional bits, at least 1 of its last bit, within
 * 2^-20 of the true value (relative, for weights above 2^-8). Drawing is exact for these weights. */
#ifndef POCKETLOAD_WORKLOADS_ZIPF_H
#define POCKETLOAD_WORKLOADS_ZIPF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rng.h"

struct zipf {
    uint32_t count;
    uint64_t *start; /* start[i]: the sum of the weights of ranks 0 .. i-1; start[count]: of all. Ranks from 0 here */
};

/* `exponent_ppm` is s in parts per million; 0: all weights are equal. count is 1 .. 2^20. STATUS_IO without memory. */
bool zipf_init(struct zipf *zipf, uint32_t count, uint64_t exponent_ppm, struct error *err);
void zipf_free(struct zipf *zipf); /* all zeros is fine */

static inline uint64_t zipf_weight(const struct zipf *zipf, uint32_t rank)
{
    return zipf->start[rank + 1] - zipf->start[rank];
}

/* Draws a rank that is not among `taken` (taken_count < count distinct ranks, ascending), each with a chance in
 * proportion to its weight. This is what rejecting taken ranks would give, without the loop. */
uint32_t zipf_draw(const struct zipf *zipf, struct rng *rng, const uint32_t *taken, uint32_t taken_count);

#endif
