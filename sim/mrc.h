/* The miss-ratio curve of LRU: its hits at every capacity, from the stack distances of one pass.
 *
 * (Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970;
 * the sum over a tree of positions: Bennett and Kruskal, "LRU stack processing", IBM J. Res. Dev. 19(4), 1975.)
 *
 * Blocks of unequal sizes: the recency stack lists the blocks used so far, the latest first. Claim: when every block
 * fits a capacity C, LRU holds the longest prefix of the stack whose sizes sum to at most C. Proof by induction. Empty
 * at the start. Let P be what it holds, the longest such prefix, and x the block behind it, if any: P + x > C. A hit
 * moves a block within P to the front: P keeps its blocks, its sum and the x behind it. A miss of b evicts from P's end
 * until b fits, which leaves P', the longest prefix of P with P' + b <= C, and puts b in front. The new stack is b, P,
 * ... without b's old place behind P. Its longest prefix within C begins with b, and ends within P, because b + P + x
 * > C for x other than b, and b + P > C for x = b; where there is no x, the whole stack is b, P. So it is b, P'.
 * Hence an access hits if and only if the blocks used since the last use of its block, it included, sum to at most C.
 *
 * A block larger than C is never held and evicts nothing: LRU at C is LRU of the accesses to the other blocks. So
 * capacities between two neighbouring block sizes share one pass over the blocks that fit, and capacities from the
 * largest block on share one over all.
 *
 * All this holds for traces whose steps use one block each. A step of several blocks protects them from one another's
 * room, and what is held is a prefix no more. */
#ifndef POCKETLOAD_SIM_MRC_H
#define POCKETLOAD_SIM_MRC_H

#include "sim/replay.h"

/* LRU at one capacity. */
struct mrc_point {
    uint64_t capacity; /* bytes; with by_objects: blocks */
    uint64_t hits, bytes_hit;
};

/* True when the curve can be computed: no step uses several blocks. */
bool mrc_applies(const struct trace *trace);

/* Fills the hits of `count` points, whose capacities are given in ascending order, distinct and not 0. by_objects:
 * every block takes 1. O(accesses * log(blocks)) for each bracket of block sizes with a capacity in it. STATUS_USAGE
 * when mrc_applies says no, STATUS_IO without memory. */
bool mrc_lru(const struct model *model, const struct trace *trace, bool by_objects, struct mrc_point *points,
             size_t count, struct error *err);

/* All capacities at which LRU hits more than just below, from the largest block used on (smaller ones are another
 * matter each: ask mrc_lru), and that capacity itself; ascending. *points from malloc. Errors as of mrc_lru. */
bool mrc_lru_all(const struct model *model, const struct trace *trace, bool by_objects, struct mrc_point **points,
                 size_t *count, struct error *err);

#endif
