/* Stack distances of a sequence that one can follow by hand. */
#include "sim/mrc.h"

#include <stdlib.h>
#include <string.h>

#include "sim/mrc_stack.h"
#include "tests/cmocka_fixed.h"
#include "workloads/workload.h"

struct world {
    struct model model;
    struct trace trace;
    struct error err;
};

static void make_world(struct world *world, const char *blocks, const char *sequence)
{
    struct workload_spec spec = {
        .kind = WORKLOAD_TRACE, .sequence = sequence, .compute_per_token_ns = -1, .prompt_compute_ns = -1};
    struct model none;
    bool own;
    assert_true(model_from_blocks("list", blocks, &world->model, &world->err));
    if (!workload_compile(&spec, &world->model, &world->trace, &none, &own, &world->err))
        fail_because("%s", world->err.text);
}

static void free_world(struct world *world)
{
    trace_free(&world->trace);
    model_free(&world->model);
}

static void distances(void **state)
{
    (void)state;
    static const struct policy_block sizes[] = {{.bytes = 1}, {.bytes = 2}, {.bytes = 4}};
    struct arena arena = {0};
    struct mrc_stack stack;
    assert_true(mrc_stack_init(&stack, sizes, 3, &arena));
    for (int round = 0; round < 2; round++) {
        assert_int_equal(mrc_stack_access(&stack, 0), MRC_FIRST_USE);
        assert_int_equal(mrc_stack_access(&stack, 0), 1);
        assert_int_equal(mrc_stack_access(&stack, 1), MRC_FIRST_USE);
        assert_int_equal(mrc_stack_access(&stack, 2), MRC_FIRST_USE);
        assert_int_equal(mrc_stack_access(&stack, 0), 7);
        assert_int_equal(mrc_stack_access(&stack, 2), 5);
        assert_int_equal(mrc_stack_access(&stack, 1), 7);
        assert_int_equal(mrc_stack_access(&stack, 1), 2);
        /* Round the line many times. */
        for (int i = 0; i < 10000; i++) {
            assert_int_equal(mrc_stack_access(&stack, 2), 6);
            assert_int_equal(mrc_stack_access(&stack, 1), 6);
        }
        assert_int_equal(mrc_stack_access(&stack, 0), 7);
        mrc_stack_clear(&stack);
    }
    arena_free(&arena);
}

/* a:1 b:2 c:4 bytes; a b a c b a: distances a 3, b 7, a 7. */
static void hits_by_capacity(void **state)
{
    (void)state;
    struct world world;
    make_world(&world, "a:1B b:2B c:4B", "a b a c b a");
    struct mrc_point points[] = {{.capacity = 1}, {.capacity = 2}, {.capacity = 3},  {.capacity = 4},
                                 {.capacity = 6}, {.capacity = 7}, {.capacity = 100}};
    static const uint64_t hits[] = {2, 0, 3, 1, 1, 3, 3}, bytes[] = {2, 0, 4, 1, 1, 4, 4};
    assert_true(mrc_lru(&world.model, &world.trace, false, points, 7, &world.err));
    for (size_t i = 0; i < 7; i++)
        assert_true(points[i].hits == hits[i] && points[i].bytes_hit == bytes[i]);
    struct mrc_point *all;
    size_t count;
    assert_true(mrc_lru_all(&world.model, &world.trace, false, &all, &count, &world.err));
    assert_int_equal(count, 2);
    assert_true(all[0].capacity == 4 && all[0].hits == 1 && all[1].capacity == 7 && all[1].hits == 3);
    free(all);
    assert_true(mrc_lru_all(&world.model, &world.trace, true, &all, &count, &world.err));
    assert_int_equal(count, 3);
    assert_true(all[0].capacity == 1 && all[0].hits == 0 && all[1].capacity == 2 && all[1].hits == 1 &&
                all[2].capacity == 3 && all[2].hits == 3);
    free(all);
    free_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances),
        cmocka_unit_test(hits_by_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
