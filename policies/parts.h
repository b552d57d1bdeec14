/* Parts of a cache: their sizes, and the remark of a policy whose part is too small for some blocks. */
#ifndef POCKETLOAD_POLICIES_PARTS_H
#define POCKETLOAD_POLICIES_PARTS_H

#include <inttypes.h>
#include <stdio.h>

#include "policies/policy.h"

enum { PART_TEXT = 64 };

/* What the eviction policy has to share out, in bytes: the budget less the pinned blocks. */
static inline uint64_t part_whole(const struct policy_view *view)
{
    return view->budget_bytes - view->pinned_bytes;
}

/* A share of `bytes` in parts per million, rounded down as libCacheSim does: the product of doubles, cast. (29 % of 100
 * is 28 so, as 0.29 is a little less than that.) IEEE 754 gives the same everywhere. Exact for less than 2^53 bytes. */
static inline uint64_t part_share(uint64_t bytes, int64_t ppm)
{
    return ppm >= 1000000 ? bytes : (uint64_t)((double)bytes * ((double)ppm / 1e6));
}

/* The size of all blocks where they are all alike, else 0: whoever has it need not look a size up. */
static inline uint64_t part_equal_bytes(const struct policy_view *view)
{
    uint64_t bytes = view->block_count > 0 ? view->blocks[0].bytes : 0;
    for (block_id b = 1; b < view->block_count && bytes > 0; b++)
        bytes = view->blocks[b].bytes == bytes ? bytes : 0;
    return bytes;
}

static inline uint64_t part_bytes(const struct policy_view *view, uint64_t equal_bytes, block_id b)
{
    return equal_bytes > 0 ? equal_bytes : view->blocks[b].bytes;
}

/* How many blocks are larger than `bytes`. */
static inline uint32_t part_larger(const struct policy_view *view, uint64_t bytes)
{
    uint32_t larger = 0;
    for (block_id b = 0; b < view->block_count; b++)
        larger += view->blocks[b].bytes > bytes;
    return larger;
}

/* A part's size for people: "12.5 KiB", or "3 blocks" where each block takes 1. */
static inline const char *part_text(const struct policy_view *view, uint64_t bytes, char out[PART_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    if (part_larger(view, 1) == 0) {
        snprintf(out, PART_TEXT, "%" PRIu64 " block%s", bytes, bytes == 1 ? "" : "s");
        return out;
    }
    unsigned unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && bytes >> (10 * unit) >= 1024)
        unit++;
    uint64_t one = (uint64_t)1 << (10 * unit), tenths = bytes % one * 10 / one;
    if (tenths == 0)
        snprintf(out, PART_TEXT, "%" PRIu64 " %s", bytes / one, units[unit]);
    else
        snprintf(out, PART_TEXT, "%" PRIu64 ".%" PRIu64 " %s", bytes / one, tenths, units[unit]);
    return out;
}

/* "3 of 100 blocks are COMPARED (12 KiB): TAILS" about blocks larger than `limit_bytes`; "" without any. `shown_bytes`
 * is the size named; `tail` says what becomes of one such block, `tails` of several. */
static inline void part_remark_of(const struct policy_view *view, uint64_t limit_bytes, const char *compared,
                                  uint64_t shown_bytes, const char *tail, const char *tails, char *line, size_t size)
{
    char text[PART_TEXT];
    uint32_t larger = part_larger(view, limit_bytes), n = view->block_count;
    part_text(view, shown_bytes, text);
    if (size > 0)
        line[0] = '\0';
    if (larger > 0 && larger == n)
        snprintf(line, size, "every block is %s (%s): %s", compared, text, tails);
    else if (larger > 0)
        snprintf(line, size, "%" PRIu32 " of %" PRIu32 " blocks %s %s (%s): %s", larger, n, larger == 1 ? "is" : "are",
                 compared, text, larger == 1 ? tail : tails);
}

/* The same about blocks that are larger than a part: "... larger than PART (12 KiB): ...". */
static inline void part_remark(const struct policy_view *view, const char *part, uint64_t bytes, const char *tail,
                               const char *tails, char *line, size_t size)
{
    char compared[64];
    snprintf(compared, sizeof compared, "larger than %s", part);
    part_remark_of(view, bytes, compared, bytes, tail, tails, line, size);
}

#endif
