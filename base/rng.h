/* Seeded random numbers, the same on every machine: xoshiro256** 1.0 seeded through splitmix64
 * (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021). */
#ifndef POCKETLOAD_BASE_RNG_H
#define POCKETLOAD_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

/* Any seed is good, 0 too. `stream` tells apart independent uses of one seed. */
void rng_seed(struct rng *rng, uint64_t seed, uint64_t stream);

uint64_t rng_next(struct rng *rng);

/* Uniform in [0, n), without bias, by Lemire's multiply-and-reject (ACM TOMACS 29(1), 2019); n > 0. */
uint64_t rng_below(struct rng *rng, uint64_t n);

#endif
