/* Chance for policies: numbers that are a function of the run's seed and of what is asked, never of how often or in
 * which order. */
#ifndef POCKETLOAD_POLICIES_LOTS_H
#define POCKETLOAD_POLICIES_LOTS_H

#include <stdbool.h>
#include <stdint.h>

/* What is drawn for: the same question of another purpose has another lot. */
enum lots_purpose { LOTS_ADMISSION, LOTS_RIGHT, LOTS_WRONG_COUNT, LOTS_WRONG, LOTS_ORDER };

/* The mixing steps of splitmix64: G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators,
 * OOPSLA 2014; constants of D. Stafford's variant 13, as S. Vigna publishes them. */
static inline uint64_t lots_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 64 even bits for the question (a, b) of a purpose. */
static inline uint64_t lots_draw(uint64_t seed, enum lots_purpose purpose, uint64_t a, uint64_t b)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = lots_mix(seed + golden * ((uint64_t)purpose + 1));
    z = lots_mix(z + golden * (a + 1));
    return lots_mix(z + golden * (b + 1));
}

/* True for `ppm` millionths of all draws; never for 0, always for a million. */
static inline bool lots_fall(uint64_t draw, uint64_t ppm)
{
    return (draw >> 32) * 1000000 >> 32 < ppm;
}

/* Below n, which is at least 1. */
static inline uint32_t lots_below(uint64_t draw, uint32_t n)
{
    return (uint32_t)((draw >> 32) * n >> 32);
}

#endif
