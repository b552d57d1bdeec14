/* Any 64-bit ids to dense ids 0..n-1 in order of first appearance: used while reading, never while simulating.
 *
 * Keys below 2^22 are found in a direct table, which grows to the largest of them; others by open addressing, in slots
 * that hold key and id together, so that a look-up touches one line of the cache. */
#ifndef POCKETLOAD_BASE_IDMAP_H
#define POCKETLOAD_BASE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct idmap_slot {
    uint64_t key;
    uint32_t id; /* + 1; 0: empty */
};

struct idmap {
    uint64_t *keys; /* by dense id, in order of first appearance */
    uint32_t count;
    size_t capacity; /* of keys */
    uint32_t *small; /* by key: dense id + 1, 0 = not seen */
    uint32_t small_count;
    struct idmap_slot *slots; /* a power of two of them, at most 5/8 in use */
    uint32_t slot_count, slots_used;
};

/* An empty map is all zeros. Finds or adds; fails with STATUS_INPUT over 2^30 ids, STATUS_IO without memory. */
bool idmap_put(struct idmap *map, uint64_t key, uint32_t *id, struct error *err);

/* The same for `count` keys in their order; faster than one by one, because the memory of all is asked for before any
 * is looked up. After a failure some may have been added. */
bool idmap_put_many(struct idmap *map, const uint64_t *keys, uint32_t count, uint32_t *ids, struct error *err);

void idmap_free(struct idmap *map);

#endif
