/* Dense numbers for sparse keys (layers, sizes): made once, by sorting. */
#ifndef POCKETLOAD_POLICIES_RANKS_H
#define POCKETLOAD_POLICIES_RANKS_H

#include "policies/policy.h"

static inline void ranks_sift(uint64_t *keys, uint32_t count, uint32_t at)
{
    uint64_t moving = keys[at];
    while (at < count / 2) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < count && keys[child + 1] > keys[child])
            child++;
        if (keys[child] <= moving)
            break;
        keys[at] = keys[child];
        at = child;
    }
    keys[at] = moving;
}

/* Ascending, in place. */
static inline void ranks_sort(uint64_t *keys, uint32_t count)
{
    for (uint32_t at = count / 2; at-- > 0;)
        ranks_sift(keys, count, at);
    for (uint32_t last = count; last-- > 1;) {
        uint64_t largest = keys[0];
        keys[0] = keys[last];
        keys[last] = largest;
        ranks_sift(keys, last, 0);
    }
}

/* Leaves the distinct keys, ascending, and returns how many. A key's index is its rank. */
static inline uint32_t ranks_make(uint64_t *keys, uint32_t count)
{
    uint32_t kept = 0;
    ranks_sort(keys, count);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || keys[i] != keys[kept - 1])
            keys[kept++] = keys[i];
    return kept;
}

/* The rank of a key that is there. */
static inline uint32_t ranks_find(const uint64_t *keys, uint32_t count, uint64_t key)
{
    uint32_t low = 0;
    while (count > 1) {
        uint32_t half = count / 2;
        if (keys[low + half] <= key)
            low += half;
        count -= half;
    }
    return low;
}

#endif
