/* The event queue against a sort: order by time, then class, then sequence. */
#include <stdlib.h>

#include "base/rng.h"
#include "sim/events.h"
#include "tests/cmocka_fixed.h"

enum { CAPACITY = 257, ROUNDS = 200 };

struct pending {
    int64_t time_ns;
    uint8_t class;
    uint64_t order;
    uint16_t slot;
};

static uint32_t first_of(const struct pending *list, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        const struct pending *a = &list[i], *b = &list[best];
        if (a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->class < b->class) ||
            (a->time_ns == b->time_ns && a->class == b->class && a->order < b->order))
            best = i;
    }
    return best;
}

static void random_orders(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 7, 0);
    struct arena arena = {0};
    struct events events;
    assert_true(events_init(&events, &arena, CAPACITY));
    struct pending list[CAPACITY];
    uint32_t count = 0;
    uint64_t order = 0;
    for (uint32_t round = 0; round < ROUNDS * CAPACITY; round++) {
        bool push = count == 0 || (count < CAPACITY && rng_below(&rng, 100) < (round / CAPACITY % 2 ? 30 : 70));
        if (push) {
            struct pending p = {(int64_t)rng_below(&rng, 40), (uint8_t)rng_below(&rng, 3), order++,
                                (uint16_t)rng_below(&rng, 65536)};
            events_push(&events, p.time_ns, p.class, p.slot);
            list[count++] = p;
            continue;
        }
        uint32_t best = first_of(list, count);
        assert_true(events_due(&events, list[best].time_ns));
        assert_false(events_due(&events, list[best].time_ns - 1));
        int64_t time_ns;
        assert_int_equal(events_pop(&events, &time_ns), list[best].slot);
        assert_true(time_ns == list[best].time_ns);
        list[best] = list[--count];
        assert_int_equal(events.count, count);
    }
    arena_free(&arena);
}

static void empty_has_nothing_due(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct events events;
    assert_true(events_init(&events, &arena, 1));
    assert_false(events_due(&events, INT64_MAX));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_orders),
        cmocka_unit_test(empty_has_nothing_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
