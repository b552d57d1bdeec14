/* xoshiro256** and splitmix64, as published by their authors (see the header). */
#include "base/rng.h"

#include "base/error.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

/* The output function of splitmix64; maps 0 to 0. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed ^ mix(stream); /* stream 0 is the generator as published */
    for (int i = 0; i < 4; i++) {
        x += UINT64_C(0x9E3779B97F4A7C15);
        rng->s[i] = mix(x); /* mix is a bijection: at most one of four different x gives 0, so the state is never 0 */
    }
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->s;
    const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
    must(n > 0);
    wide product = (wide)rng_next(rng) * n;
    if ((uint64_t)product < n) {
        const uint64_t threshold = -n % n; /* 2^64 mod n */
        while ((uint64_t)product < threshold)
            product = (wide)rng_next(rng) * n;
    }
    return (uint64_t)(product >> 64);
}
