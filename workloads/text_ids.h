/* Texts to dense ids 0..n-1 in order of first appearance, for traces that name blocks by keys or hashes. */
#ifndef POCKETLOAD_WORKLOADS_TEXT_IDS_H
#define POCKETLOAD_WORKLOADS_TEXT_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { TEXT_ID_MAX = 255 }; /* bytes of one: file names and keys of object stores fit */

struct text_ids_slot {
    uint64_t hash;
    uint32_t id; /* + 1; 0: empty */
};

struct text_ids {
    char *texts; /* all of them, each followed by a NUL */
    size_t used, texts_capacity;
    uint64_t *offsets; /* in texts, by id */
    size_t offsets_capacity;
    uint32_t count;
    struct text_ids_slot *slots; /* open addressing, a power of two, at most half in use */
    uint32_t slot_count;
};

/* An empty map is all zeros. Finds or adds. STATUS_INPUT for a text that is empty, longer than TEXT_ID_MAX, not UTF-8
 * or with a control character, and over 2^30 of them; STATUS_IO without memory. */
bool text_ids_put(struct text_ids *ids, const char *text, uint32_t *id, struct error *err);
void text_ids_free(struct text_ids *ids);

#endif
