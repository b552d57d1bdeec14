/* The heap of blocks whose keys grow unnoticed, beside a search through all of them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/rng.h"
#include "policies/heap.h"
#include "tests/cmocka_fixed.h"

enum { BLOCKS = 40, SEQUENCES = 300, CALLS = 400 };

struct world {
    struct policy_view view;
    uint8_t state[BLOCKS]; /* absent, or RESIDENT and perhaps IN_USE */
    struct heap_key keys[BLOCKS];
    struct heap_entry entries[BLOCKS];
    uint32_t places[BLOCKS];
    struct heap heap;
};

static struct heap_key key_of(const void *self, block_id b)
{
    return ((const struct world *)self)->keys[b];
}

static block_id least_by_search(const struct world *w)
{
    block_id least = BLOCK_NONE;
    for (block_id b = 0; b < BLOCKS; b++)
        if (policy_may_evict(&w->view, b) &&
            (least == BLOCK_NONE || w->keys[b].key < w->keys[least].key ||
             (w->keys[b].key == w->keys[least].key && w->keys[b].tie < w->keys[least].tie)))
            least = b;
    return least;
}

static void call(struct world *w, struct rng *rng, uint32_t now)
{
    block_id b = (block_id)rng_below(rng, BLOCKS);
    switch (rng_below(rng, 6)) {
    case 0:
    case 1:
        if (w->state[b] == 0) {
            w->keys[b] = (struct heap_key){rng_below(rng, 30), now};
            w->state[b] = POLICY_RESIDENT;
            heap_add(&w->heap, b, w->keys[b]);
        }
        break;
    case 2:
        w->keys[b] = (struct heap_key){w->keys[b].key + rng_below(rng, 10), now};
        break;
    case 3:
        if (w->state[b] != 0)
            w->state[b] ^= POLICY_IN_USE;
        break;
    case 4:
        if (w->state[b] != 0 && rng_below(rng, 3) == 0) {
            heap_remove(&w->heap, b);
            w->state[b] = 0;
        }
        break;
    default:
        b = heap_least(&w->heap, &w->view, w, key_of);
        assert_int_equal(b, least_by_search(w));
        if (b != BLOCK_NONE && rng_below(rng, 2)) {
            heap_remove(&w->heap, b);
            w->state[b] = 0;
        }
    }
}

static void least_equals_a_search(void **unused)
{
    (void)unused;
    struct rng rng;
    rng_seed(&rng, 1, 0);
    for (int sequence = 0; sequence < SEQUENCES; sequence++) {
        struct world w;
        memset(&w, 0, sizeof w);
        w.heap = (struct heap){.entries = w.entries, .places = w.places};
        w.view = (struct policy_view){
            .block_count = BLOCKS,
            .state = w.state,
            .evict_mask = POLICY_RESIDENT | POLICY_IN_USE,
        };
        for (uint32_t now = 1; now <= CALLS; now++)
            call(&w, &rng, now);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_equals_a_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
