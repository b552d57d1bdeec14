/* `policy check` seen from the policy's side: a witness that knows the contract and traps on any call that breaks it,
 * and counts that every kind of call came. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "policies/check.h"
#include "tests/cmocka_fixed.h"

/* Seen by the child, where the policy runs, and by the test. */
struct seen {
    int line; /* of the breach */
    uint64_t hits, misses, delayed, inserts, fills, evicted, released, cancelled, reclaimed, for_fills, after_steps,
        no_victims, asked_admission, refused, pinned_views;
};
static struct seen *seen;

#define DEMAND(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            seen->line = __LINE__;                                                                                     \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (false)

enum { HELD = POLICY_RESIDENT | POLICY_LOADING, BLOCKS_MAX = 64 };

struct witness {
    uint64_t bytes, calls, access;
    block_id victim, release;      /* answered last, not yet removed */
    uint32_t expected[BLOCKS_MAX]; /* by block: the access that uses it next */
    uint32_t used_in[BLOCKS_MAX];  /* the last step that used it, from 1 */
    bool held[BLOCKS_MAX];
};

static size_t witness_size(const struct policy_view *view, const struct policy_args *args)
{
    (void)view, (void)args;
    return sizeof(struct witness);
}

static void witness_init(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)args;
    struct witness *witness = self;
    const uint8_t *zero = self;
    DEMAND((uintptr_t)self % 64 == 0 && view->block_count <= BLOCKS_MAX);
    for (size_t i = 0; i < sizeof *witness; i++)
        DEMAND(zero[i] == 0);
    witness->victim = witness->release = BLOCK_NONE;
    DEMAND(view->size == sizeof *view && view->heat == NULL && view->profile == NULL && view->next_use != NULL);
    memcpy(witness->expected, view->next_use, view->block_count * sizeof *witness->expected);
    DEMAND(view->held_bytes == 0);
}

static void look(struct witness *witness, const struct policy_view *view)
{
    witness->calls++;
    seen->pinned_views += view->pinned_bytes > 0;
    DEMAND(view->held_bytes == witness->bytes + view->pinned_bytes);
    DEMAND(witness->victim == BLOCK_NONE && witness->release == BLOCK_NONE);
}

/* The first use of b by a step has the number that was foretold; a further one comes in the same step. */
static void count_use(struct witness *witness, const struct policy_view *view, block_id b)
{
    DEMAND(view->state[b] & POLICY_IN_USE && !(view->state[b] & (POLICY_PINNED | POLICY_PREFETCHED)));
    DEMAND(view->access >= witness->access && view->next_use[b] > view->access);
    if (view->access != witness->expected[b]) {
        DEMAND(witness->used_in[b] == view->step + 1 && witness->expected[b] == view->next_use[b]);
        return;
    }
    witness->access = view->access;
    witness->expected[b] = view->next_use[b];
    witness->used_in[b] = (uint32_t)view->step + 1;
}

static void witness_hit(void *self, const struct policy_view *view, block_id b)
{
    struct witness *witness = self;
    look(witness, view);
    count_use(witness, view, b);
    DEMAND(witness->held[b] && view->state[b] & HELD);
    seen->hits++;
    seen->delayed += (view->state[b] & POLICY_LOADING) != 0;
}

static void witness_miss(void *self, const struct policy_view *view, block_id b)
{
    struct witness *witness = self;
    look(witness, view);
    count_use(witness, view, b);
    DEMAND(!witness->held[b] && !(view->state[b] & HELD));
    seen->misses++;
}

static bool witness_admit(void *self, const struct policy_view *view, block_id b)
{
    struct witness *witness = self;
    look(witness, view);
    DEMAND(!witness->held[b] && view->blocks[b].bytes <= view->budget_bytes - view->pinned_bytes);
    seen->asked_admission++;
    seen->refused += witness->calls % 11 == 0;
    return witness->calls % 11 != 0;
}

static block_id evictable(const struct witness *witness, const struct policy_view *view)
{
    for (block_id b = 0; b < view->block_count; b++)
        if (policy_may_evict(view, b)) {
            DEMAND(witness->held[b]);
            return b;
        }
    return BLOCK_NONE;
}

static block_id witness_victim(void *self, const struct policy_view *view, block_id incoming)
{
    struct witness *witness = self;
    look(witness, view);
    uint64_t more = incoming == BLOCK_NONE ? 0 : view->blocks[incoming].bytes;
    DEMAND(incoming == BLOCK_NONE || view->held_bytes + more > view->budget_bytes); /* others ask for no budget */
    DEMAND(incoming == BLOCK_NONE || !witness->held[incoming]);
    witness->victim = evictable(witness, view);
    seen->for_fills += (view->evict_mask & POLICY_PREFETCHED) != 0;
    seen->after_steps += incoming == BLOCK_NONE;
    seen->no_victims += witness->victim == BLOCK_NONE;
    return witness->victim;
}

static void witness_insert(void *self, const struct policy_view *view, block_id b)
{
    struct witness *witness = self;
    DEMAND(!witness->held[b] && view->state[b] & HELD);
    witness->held[b] = true;
    witness->bytes += view->blocks[b].bytes;
    look(witness, view);
    seen->inserts++;
    seen->fills += (view->state[b] & POLICY_PREFETCHED) != 0;
}

static void witness_remove(void *self, const struct policy_view *view, block_id b, enum remove_reason reason)
{
    struct witness *witness = self;
    DEMAND(witness->held[b] && view->state[b] & HELD);
    if (reason == REMOVE_EVICTED || reason == REMOVE_RECLAIMED)
        DEMAND(b == witness->victim);
    if (reason == REMOVE_RELEASED)
        DEMAND(b == witness->release);
    if (reason == REMOVE_CANCELLED)
        DEMAND(view->state[b] & POLICY_LOADING && view->state[b] & POLICY_PREFETCHED);
    seen->evicted += reason == REMOVE_EVICTED;
    seen->released += reason == REMOVE_RELEASED;
    seen->cancelled += reason == REMOVE_CANCELLED;
    seen->reclaimed += reason == REMOVE_RECLAIMED;
    witness->victim = witness->release = BLOCK_NONE;
    look(witness, view);
    witness->held[b] = false;
    witness->bytes -= view->blocks[b].bytes;
}

/* Two in a row now and then: the question comes until there is no answer. */
static block_id witness_release(void *self, const struct policy_view *view)
{
    struct witness *witness = self;
    look(witness, view);
    if (witness->calls % 13 < 3)
        witness->release = evictable(witness, view);
    return witness->release;
}

static const struct policy witness = {
    .abi = POLICY_ABI,
    .size = sizeof(struct policy),
    .kind = POLICY_EVICT,
    .name = "witness",
    .summary = "looks at the driver",
    .needs = POLICY_NEEDS_FUTURE,
    .state_size = witness_size,
    .init = witness_init,
    .ops.evict = {.on_hit = witness_hit,
                  .on_miss = witness_miss,
                  .victim = witness_victim,
                  .on_insert = witness_insert,
                  .on_remove = witness_remove,
                  .admit = witness_admit,
                  .release = witness_release},
};

static void the_driver_keeps_the_contract(void **unused)
{
    (void)unused;
    const struct policy_part part = {.policy = &witness};
    struct check_report report;
    struct error err;
    assert_true(policy_check(&part, &report, &err));
    if (seen->line != 0)
        fail_because("the witness objects in line %d: %s", seen->line, report.rules[CHECK_RETURNS].why);
    for (int rule = 0; rule < CHECK_RULES; rule++)
        if (report.rules[rule].verdict == CHECK_BROKEN)
            fail_because("%s: %s", report.rules[rule].rule, report.rules[rule].why);
    const uint64_t *counts = &seen->hits;
    for (size_t i = 0; i < (sizeof *seen - offsetof(struct seen, hits)) / sizeof *counts; i++)
        if (counts[i] < 100)
            fail_because("count %zu of struct seen is %llu, expected 100 and more", i, (unsigned long long)counts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_driver_keeps_the_contract)};
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return seen == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
