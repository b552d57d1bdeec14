/* Any 64-bit ids to dense ids: a direct table for small keys, linear probing for the others. */
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"

enum { FIRST_SLOTS = 64, FIRST_SMALL = 1024, SMALL_KEYS = 1 << 22, BATCH = 256, HUGE_PAGE = 1 << 21 };
#define MOST_IDS (UINT32_C(1) << 30)

/* The finaliser of MurmurHash3 (Appleby, public domain): sequential ids and multiples of a page spread alike. */
static inline uint64_t hash(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xFF51AFD7ED558CCD);
    x ^= x >> 33;
    x *= UINT64_C(0xC4CEB9FE1A85EC53);
    return x ^ (x >> 33);
}

static bool add_key(struct idmap *map, uint64_t key, struct error *err)
{
    if (map->count >= MOST_IDS)
        return fail(err, STATUS_INPUT, "more than %u different block ids", MOST_IDS);
    void *keys = map->keys;
    if (map->count >= map->capacity &&
        !array_reserve(&keys, &map->capacity, (size_t)map->count + 1, sizeof *map->keys, err))
        return false;
    map->keys = keys;
    map->keys[map->count++] = key;
    return true;
}

/* Makes the direct table cover the key. Fresh memory and a copy, not realloc: what is never touched of it costs
 * nothing. */
static bool grow_small(struct idmap *map, uint64_t key, struct error *err)
{
    uint32_t count = map->small_count > 0 ? map->small_count : FIRST_SMALL;
    while (count <= key)
        count *= 2; /* at most SMALL_KEYS */
    uint32_t *small = calloc(count, sizeof *small);
    if (!small)
        return fail(err, STATUS_IO, "out of memory for %u block ids", count);
    if (map->small)
        memcpy(small, map->small, map->small_count * sizeof *small);
    free(map->small);
    map->small = small;
    map->small_count = count;
    return true;
}

static bool put_small(struct idmap *map, uint64_t key, uint32_t *id, struct error *err)
{
    if (key >= map->small_count && !grow_small(map, key, err))
        return false;
    if (map->small[key] == 0) {
        if (!add_key(map, key, err))
            return false;
        map->small[key] = map->count;
    }
    *id = map->small[key] - 1;
    return true;
}

/* The slot that holds the key, or the empty one where it belongs. */
static inline struct idmap_slot *find(const struct idmap *map, uint64_t key, uint64_t hashed)
{
    const uint32_t mask = map->slot_count - 1;
    uint32_t i = (uint32_t)hashed & mask;
    while (map->slots[i].id != 0 && map->slots[i].key != key)
        i = (i + 1) & mask;
    return &map->slots[i];
}

/* Zeroed; of a large table in huge pages where the system has them, because every look-up is in another page. */
static struct idmap_slot *new_slots(uint32_t count)
{
    const size_t size = count * sizeof(struct idmap_slot);
    if (size < 2 * (size_t)HUGE_PAGE)
        return calloc(count, sizeof(struct idmap_slot));
    struct idmap_slot *slots = aligned_alloc(HUGE_PAGE, size);
    if (slots) {
        (void)madvise(slots, size, MADV_HUGEPAGE); /* a hint */
        memset(slots, 0, size);
    }
    return slots;
}

static bool grow(struct idmap *map, struct error *err)
{
    struct idmap larger = *map;
    larger.slot_count = map->slot_count > 0 ? map->slot_count * 2 : FIRST_SLOTS; /* at most 2^31, by MOST_IDS */
    larger.slots = new_slots(larger.slot_count);
    if (!larger.slots)
        return fail(err, STATUS_IO, "out of memory for %u block ids", larger.slot_count / 2);
    for (uint32_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].id != 0)
            *find(&larger, map->slots[i].key, hash(map->slots[i].key)) = map->slots[i];
    free(map->slots);
    *map = larger;
    return true;
}

static bool put_hashed(struct idmap *map, uint64_t key, uint64_t hashed, uint32_t *id, struct error *err)
{
    struct idmap_slot *slot = map->slot_count > 0 ? find(map, key, hashed) : NULL;
    if (!slot || slot->id == 0) {
        if (map->slots_used >= map->slot_count / 8 * 5) {
            if (!grow(map, err))
                return false;
            slot = find(map, key, hashed);
        }
        if (!add_key(map, key, err))
            return false;
        *slot = (struct idmap_slot){key, map->count};
        map->slots_used++;
    }
    *id = slot->id - 1;
    return true;
}

bool idmap_put(struct idmap *map, uint64_t key, uint32_t *id, struct error *err)
{
    return key < SMALL_KEYS ? put_small(map, key, id, err) : put_hashed(map, key, hash(key), id, err);
}

static bool put_batch(struct idmap *map, const uint64_t *keys, uint32_t count, uint32_t *ids, struct error *err)
{
    uint64_t hashes[BATCH];
    for (uint32_t i = 0; i < count; i++) {
        if (keys[i] < SMALL_KEYS) {
            if (keys[i] < map->small_count)
                __builtin_prefetch(&map->small[keys[i]], 1);
        } else {
            hashes[i] = hash(keys[i]);
            if (map->slot_count > 0)
                __builtin_prefetch(&map->slots[(uint32_t)hashes[i] & (map->slot_count - 1)], 1);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = keys[i];
        if (key < SMALL_KEYS) {
            if (key < map->small_count && map->small[key] != 0)
                ids[i] = map->small[key] - 1;
            else if (!put_small(map, key, &ids[i], err))
                return false;
            continue;
        }
        /* Most keys are in the slot where they belong. */
        const struct idmap_slot *slot =
            map->slot_count > 0 ? &map->slots[(uint32_t)hashes[i] & (map->slot_count - 1)] : NULL;
        if (slot && slot->key == key && slot->id != 0)
            ids[i] = slot->id - 1;
        else if (!put_hashed(map, key, hashes[i], &ids[i], err))
            return false;
    }
    return true;
}

bool idmap_put_many(struct idmap *map, const uint64_t *keys, uint32_t count, uint32_t *ids, struct error *err)
{
    while (count > 0) {
        const uint32_t now = count < BATCH ? count : BATCH;
        if (!put_batch(map, keys, now, ids, err))
            return false;
        keys += now;
        ids += now;
        count -= now;
    }
    return true;
}

void idmap_free(struct idmap *map)
{
    free(map->keys);
    free(map->small);
    free(map->slots);
    *map = (struct idmap){0};
}
