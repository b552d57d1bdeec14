/* A set of small numbers that finds its next lower member fast: 64-ary, O(log64 n). Level 0 has one bit a number, and a
 * bit of each higher level says that a word below is not 0. */
#ifndef POCKETLOAD_POLICIES_BITS_H
#define POCKETLOAD_POLICIES_BITS_H

#include "policies/policy.h"

enum { BITS_LEVELS_MAX = 6 }; /* 64^6 > 2^32 */

struct bits {
    uint64_t *level[BITS_LEVELS_MAX];
    uint32_t levels;
};

static inline uint32_t bits_words_of(uint32_t count)
{
    return count / 64 + (count % 64 != 0);
}

/* Words that a set of numbers below `count` takes. */
static inline size_t bits_words(uint32_t count)
{
    size_t words = 0;
    do {
        count = bits_words_of(count);
        words += count;
    } while (count > 1);
    return words == 0 ? 1 : words;
}

/* An empty set in zeroed memory of bits_words(count) words. */
static inline void bits_init(struct bits *set, uint64_t *memory, uint32_t count)
{
    set->levels = 0;
    do {
        count = bits_words_of(count);
        set->level[set->levels++] = memory;
        memory += count;
    } while (count > 1);
}

static inline void bits_add(struct bits *set, uint32_t at)
{
    for (uint32_t level = 0; level < set->levels; level++, at /= 64) {
        uint64_t *word = &set->level[level][at / 64], before = *word;
        *word = before | UINT64_C(1) << at % 64;
        if (before != 0)
            return;
    }
}

static inline void bits_drop(struct bits *set, uint32_t at)
{
    for (uint32_t level = 0; level < set->levels; level++, at /= 64) {
        uint64_t *word = &set->level[level][at / 64];
        *word &= ~(UINT64_C(1) << at % 64);
        if (*word != 0)
            return;
    }
}

/* The largest member that is at most `at`, which is below the set's count; BLOCK_NONE without one. */
static inline uint32_t bits_at_most(const struct bits *set, uint32_t at)
{
    for (uint32_t level = 0; level < set->levels; level++) {
        uint64_t word = set->level[level][at / 64] & ~UINT64_C(0) >> (63 - at % 64);
        if (word != 0) {
            at = at / 64 * 64 + 63 - (uint32_t)__builtin_clzll(word);
            while (level-- > 0)
                at = at * 64 + 63 - (uint32_t)__builtin_clzll(set->level[level][at]);
            return at;
        }
        if (at / 64 == 0)
            return BLOCK_NONE;
        at = at / 64 - 1;
    }
    return BLOCK_NONE;
}

#endif
