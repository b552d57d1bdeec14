/* Any 64-bit ids to dense ids 0..n-1 in order of first appearance: used while reading, never while simulating. */
#ifndef POCKETLOAD_BASE_IDMAP_H
#define POCKETLOAD_BASE_IDMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct idmap {
    uint64_t *keys;  /* by dense id, in order of first appearance */
    uint32_t *slots; /* open addressing, 0 = empty, else dense id + 1 */
    uint32_t count;
    uint32_t slot_count;
    uint64_t capacity;
};

/* An empty map is all zeros. Finds or adds; fails with STATUS_INPUT over 2^30 ids, STATUS_IO without memory. */
bool idmap_put(struct idmap *map, uint64_t key, uint32_t *id, struct error *err);
void idmap_free(struct idmap *map);

#endif
