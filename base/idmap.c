/* Open addressing with linear probing over the keys' dense ids; at most half of the slots are in use. */
#include "base/idmap.h"

#include <stdlib.h>

#include "base/array.h"

enum { FIRST_SLOTS = 64 };
#define MOST_IDS (UINT32_C(1) << 30)

/* The finaliser of MurmurHash3 (Appleby, public domain): sequential ids and multiples of a page spread alike. */
static uint64_t hash(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xFF51AFD7ED558CCD);
    x ^= x >> 33;
    x *= UINT64_C(0xC4CEB9FE1A85EC53);
    return x ^ (x >> 33);
}

/* The slot that holds the key, or the empty one where it belongs. */
static uint32_t find(const struct idmap *map, uint64_t key)
{
    const uint32_t mask = map->slot_count - 1;
    uint32_t slot = (uint32_t)hash(key) & mask;
    while (map->slots[slot] != 0 && map->keys[map->slots[slot] - 1] != key)
        slot = (slot + 1) & mask;
    return slot;
}

static bool grow(struct idmap *map, struct error *err)
{
    struct idmap larger = *map;
    larger.slot_count = map->slot_count > 0 ? map->slot_count * 2 : FIRST_SLOTS; /* at most 2^31, by MOST_IDS */
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (!larger.slots)
        return fail(err, STATUS_IO, "out of memory for %u block ids", larger.slot_count / 2);
    for (uint32_t id = 0; id < map->count; id++)
        larger.slots[find(&larger, map->keys[id])] = id + 1;
    free(map->slots);
    *map = larger;
    return true;
}

bool idmap_put(struct idmap *map, uint64_t key, uint32_t *id, struct error *err)
{
    if (map->slot_count == 0 && !grow(map, err))
        return false;
    uint32_t slot = find(map, key);
    if (map->slots[slot] != 0) {
        *id = map->slots[slot] - 1;
        return true;
    }
    if (map->count >= MOST_IDS)
        return fail(err, STATUS_INPUT, "more than %u different block ids", MOST_IDS);
    if (map->count >= map->slot_count / 2) {
        if (!grow(map, err))
            return false;
        slot = find(map, key);
    }
    void *keys = map->keys;
    size_t capacity = (size_t)map->capacity;
    if (!array_reserve(&keys, &capacity, (size_t)map->count + 1, sizeof *map->keys, err))
        return false;
    map->keys = keys;
    map->capacity = capacity;
    map->keys[map->count] = key;
    *id = map->count++;
    map->slots[slot] = map->count;
    return true;
}

void idmap_free(struct idmap *map)
{
    free(map->keys);
    free(map->slots);
    *map = (struct idmap){0};
}
