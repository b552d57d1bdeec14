/* Texts to dense ids: linear probing over their hashes; texts are compared where hashes are equal. */
#include "workloads/text_ids.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/utf8.h"

enum { FIRST_SLOTS = 64 };
#define MOST_IDS (UINT32_C(1) << 30)

void text_ids_free(struct text_ids *ids)
{
    free(ids->texts);
    free(ids->offsets);
    free(ids->slots);
    *ids = (struct text_ids){0};
}

static bool check(const char *text, size_t length, struct error *err)
{
    if (length == 0 || length > TEXT_ID_MAX)
        return fail(err, STATUS_INPUT, "block \"%.80s\" has a name of %zu bytes: expected 1 to %d", text, length,
                    TEXT_ID_MAX);
    for (const char *c = text; *c != '\0';) {
        uint32_t code;
        const size_t size = utf8_character(c, &code);
        if (size == 0)
            return fail(err, STATUS_INPUT, "block \"%.80s\": byte %zu of its name is not UTF-8", text,
                        (size_t)(c - text) + 1);
        if (utf8_is_control(code))
            return fail(err, STATUS_INPUT, "block \"%.80s\": its name holds a control character", text);
        c += size;
    }
    return true;
}

/* The slot that holds the text, or the empty one where it belongs. */
static struct text_ids_slot *find(const struct text_ids *ids, const char *text, uint64_t hash)
{
    const uint32_t mask = ids->slot_count - 1;
    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        struct text_ids_slot *slot = &ids->slots[i];
        if (slot->id == 0 || (slot->hash == hash && strcmp(ids->texts + ids->offsets[slot->id - 1], text) == 0))
            return slot;
    }
}

static bool grow_slots(struct text_ids *ids, struct error *err)
{
    const uint32_t count = ids->slot_count > 0 ? ids->slot_count * 2 : FIRST_SLOTS; /* at most 2^31, by MOST_IDS */
    struct text_ids_slot *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return fail(err, STATUS_IO, "out of memory: the names of %u blocks", ids->count);
    for (uint32_t i = 0; i < ids->slot_count; i++) {
        uint32_t to = (uint32_t)ids->slots[i].hash & (count - 1);
        if (ids->slots[i].id == 0)
            continue;
        while (slots[to].id != 0)
            to = (to + 1) & (count - 1);
        slots[to] = ids->slots[i];
    }
    free(ids->slots);
    ids->slots = slots;
    ids->slot_count = count;
    return true;
}

static bool append(struct text_ids *ids, const char *text, size_t length, struct error *err)
{
    void *texts = ids->texts, *offsets = ids->offsets;
    if (ids->count >= MOST_IDS)
        return fail(err, STATUS_INPUT, "more than %u different blocks", MOST_IDS);
    if (!array_reserve(&texts, &ids->texts_capacity, ids->used + length + 1, 1, err))
        return false;
    ids->texts = texts;
    if (!array_reserve(&offsets, &ids->offsets_capacity, (size_t)ids->count + 1, sizeof *ids->offsets, err))
        return false;
    ids->offsets = offsets;
    memcpy(ids->texts + ids->used, text, length + 1);
    ids->offsets[ids->count++] = ids->used;
    ids->used += length + 1;
    return true;
}

bool text_ids_put(struct text_ids *ids, const char *text, uint32_t *id, struct error *err)
{
    const size_t length = strlen(text);
    const uint64_t hash = XXH3_64bits(text, length);
    if (ids->count >= ids->slot_count / 2 && !grow_slots(ids, err))
        return false;
    struct text_ids_slot *slot = find(ids, text, hash);
    if (slot->id == 0) {
        if (!check(text, length, err) || !append(ids, text, length, err))
            return false;
        *slot = (struct text_ids_slot){hash, ids->count};
    }
    *id = slot->id - 1;
    return true;
}
