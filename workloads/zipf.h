/* Zipf's law in integers: the same on every machine and compiler.
 *
 * Rank r (from 1) of n has the weight r^-s in fixed point with 32 fractional bits, at least 1 of its last bit, within
 * 2^-20 of the true value (relative, for weights above 2^-8). Drawing is exact for these weights.
 *
 * Drawing is without replacement: ranks are taken and put back, each in the logarithm of their number. */
#ifndef POCKETLOAD_WORKLOADS_ZIPF_H
#define POCKETLOAD_WORKLOADS_ZIPF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rng.h"

struct zipf {
    uint32_t count;
    uint64_t *start; /* start[i]: the sum of the weights of ranks 0 .. i-1; start[count]: of all. Ranks from 0 here */
    uint64_t *tree;  /* sums of the weights that are left (Fenwick 1994), from 1; in the allocation of start */
    uint64_t left;   /* the sum of them all */
};

/* `exponent_ppm` is s in parts per million; 0: all weights are equal. count is 1 .. 2^20. STATUS_IO without memory. */
bool zipf_init(struct zipf *zipf, uint32_t count, uint64_t exponent_ppm, struct error *err);
void zipf_free(struct zipf *zipf); /* all zeros is fine */

static inline uint64_t zipf_weight(const struct zipf *zipf, uint32_t rank)
{
    return zipf->start[rank + 1] - zipf->start[rank];
}

/* A rank that is taken is not drawn until it is put back. */
void zipf_take(struct zipf *zipf, uint32_t rank);
void zipf_put_back(struct zipf *zipf, uint32_t rank);

/* The rank at a point, below `left`, of the line on which the weights that are left lie one after the other. */
uint32_t zipf_at(const struct zipf *zipf, uint64_t point);

/* Draws a rank that is not taken, each with a chance in proportion to its weight. This is what rejecting taken ranks
 * would give, without the loop. Not all are taken. */
uint32_t zipf_draw(const struct zipf *zipf, struct rng *rng);

#endif
