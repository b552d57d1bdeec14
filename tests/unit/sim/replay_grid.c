/* Replays in worker processes: the same as alone, whatever the number of jobs, and a policy that fails ends alone. */
#include "sim/replay_grid.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/cmocka_fixed.h"
#include "workloads/workload.h"

enum { POLICIES = 4, CAPACITIES = 3, CELLS = POLICIES * CAPACITIES, LEFT_BEHIND_S = 10 };

static struct model model;
static struct trace trace;
static struct policy_choice policies[POLICIES];
static struct capacity capacities[CAPACITIES];
static struct replay_grid grid;

static int make_grid(void **state)
{
    static const char *const names[POLICIES] = {"lru", "fifo", "belady", "random"};
    static const char *const sizes[CAPACITIES] = {"2MiB", "5MiB", "9MiB"};
    struct error err;
    struct model none;
    bool own, good = model_from_blocks("list", "12 x 1MiB", &model, &err);
    struct workload_spec spec = {.kind = WORKLOAD_TRACE,
                                 .sequence = "b0 b1 b2 b3 b0 b1 b4 b5 b6 b0 b7 b8 b9 b1 b0 b10 b11 b2 b0 b1 b5 b4 b3",
                                 .compute_per_token_ns = -1,
                                 .prompt_compute_ns = -1};
    (void)state;
    good = good && workload_compile(&spec, &model, &trace, &none, &own, &err);
    for (size_t i = 0; good && i < POLICIES; i++)
        good = policy_parse(names[i], &policies[i], &err);
    for (size_t i = 0; good && i < CAPACITIES; i++)
        good = capacity_parse(sizes[i], &model, &trace, true, &capacities[i], &err);
    if (!good)
        print_error("%s\n", err.text);
    grid = (struct replay_grid){.setting = {.model = &model, .trace = &trace, .seed = 7},
                                .policies = policies,
                                .policy_count = POLICIES,
                                .capacities = capacities,
                                .capacity_count = CAPACITIES};
    return good ? 0 : -1;
}

static int free_grid(void **state)
{
    (void)state;
    trace_free(&trace);
    model_free(&model);
    return 0;
}

static void run(struct replay_cell *cells, unsigned jobs, int64_t timeout_ms)
{
    const struct farm_options options = {.jobs = jobs, .timeout_ms = timeout_ms};
    struct error err;
    bool stopped;
    if (!replay_grid_run(&grid, &options, cells, &stopped, &err))
        fail_because("%s", err.text);
    assert_false(stopped);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void any_number_of_jobs_gives_the_same_as_alone(void **state)
{
    (void)state;
    static const unsigned jobs[] = {1, 2, 7, 64};
    for (size_t i = 0; i < 4; i++) {
        struct replay_cell cells[CELLS] = {{0}};
        run(cells, jobs[i], 0);
        for (size_t place = 0; place < CELLS; place++) {
            struct replay_result alone;
            struct error err;
            assert_true(cells[place].done && !cells[place].error);
            assert_true(replay_measure(&grid.setting, &policies[place % POLICIES], &capacities[place / POLICIES],
                                       &alone, &err));
            assert_memory_equal(&cells[place].result, &alone, sizeof alone);
        }
        assert_true(cells[2].result.hits > cells[0].result.hits);
    }
}

static unsigned told;

static void tell(void *context, size_t done)
{
    (void)context;
    assert_int_equal(done, ++told);
}

static void what_is_left_out_is_not_replayed(void **state)
{
    (void)state;
    bool left_out[CELLS] = {false};
    struct replay_cell cells[CELLS] = {{0}};
    left_out[1] = left_out[11] = true;
    grid.left_out = left_out;
    grid.finished = tell;
    told = 0;
    run(cells, 2, 0);
    grid.left_out = NULL;
    grid.finished = NULL;
    for (size_t place = 0; place < CELLS; place++)
        assert_int_equal(cells[place].done, place != 1 && place != 11);
    assert_int_equal(told, CELLS - 2);
}

static block_id die(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self, (void)view, (void)incoming;
    raise(SIGKILL);
    return BLOCK_NONE;
}

static block_id hang(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self, (void)view, (void)incoming;
    while (pause() != 0)
        ;
    return BLOCK_NONE;
}

static block_id leave(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self, (void)view, (void)incoming;
    _exit(0);
}

/* A process that it leaves behind holds the worker's end of the pipe. */
static block_id leave_a_child(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self, (void)view, (void)incoming;
    if (fork() == 0) {
        alarm(LEFT_BEHIND_S);
        pause();
    }
    _exit(0);
}

static block_id lie(void *self, const struct policy_view *view, block_id incoming)
{
    (void)self, (void)view;
    return incoming;
}

/* A policy that fails does so at all capacities; the others have what they always have. */
static void fails_alone(block_id (*victim)(void *, const struct policy_view *, block_id), const char *reason,
                        unsigned jobs)
{
    struct replay_cell good[CELLS] = {{0}}, cells[CELLS] = {{0}};
    run(good, 1, 0);
    struct policy bad = *policies[1].evict.policy;
    const struct policy *saved = policies[1].evict.policy;
    bad.ops.evict.victim = victim;
    policies[1].evict.policy = &bad;
    run(cells, jobs, victim == hang ? 1000 : 0);
    policies[1].evict.policy = saved;
    for (size_t place = 0; place < CELLS; place++) {
        assert_true(cells[place].done);
        if (place % POLICIES != 1) {
            assert_null(cells[place].error);
            assert_memory_equal(&cells[place].result, &good[place].result, sizeof good[place].result);
            continue;
        }
        const struct error *error = cells[place].error;
        assert_non_null(error);
        assert_int_equal(error->code, STATUS_CHECK);
        if (!strstr(error->text, reason))
            fail_because("\"%s\" not in \"%s\"", reason, error->text);
    }
    assert_ptr_equal(strstr(cells[1].error->text, "fifo at 2MiB: "), cells[1].error->text);
    assert_ptr_equal(strstr(cells[9].error->text, "fifo at 9MiB: "), cells[9].error->text);
    replay_cells_free(cells, CELLS);
}

static void a_policy_that_fails_ends_alone(void **state)
{
    (void)state;
    for (unsigned jobs = 1; jobs <= 3; jobs += 2) {
        fails_alone(die, "signal 9", jobs);
        fails_alone(hang, "took longer than 1s", jobs);
        fails_alone(leave, "exit code 0", jobs);
        const int64_t start_ns = wall_clock_ns();
        fails_alone(leave_a_child, "exit code 0", jobs);
        assert_true(wall_clock_ns() - start_ns < LEFT_BEHIND_S * INT64_C(500000000));
        fails_alone(lie, "answers victim() with block", jobs);
    }
}

/* Nothing runs when a policy cannot be bound. */
static void bad_parameters_are_told_before(void **state)
{
    (void)state;
    struct policy_choice saved = policies[3];
    struct replay_cell cells[CELLS] = {{0}};
    const struct farm_options options = {.jobs = 2};
    struct error err;
    bool stopped;
    assert_true(policy_parse("lru+blocks(nobody)", &policies[3], &err));
    assert_false(replay_grid_run(&grid, &options, cells, &stopped, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_non_null(strstr(err.text, "nobody"));
    for (size_t place = 0; place < CELLS; place++)
        assert_false(cells[place].done);
    policies[3] = saved;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_jobs_gives_the_same_as_alone),
        cmocka_unit_test(what_is_left_out_is_not_replayed),
        cmocka_unit_test(a_policy_that_fails_ends_alone),
        cmocka_unit_test(bad_parameters_are_told_before),
    };
    return cmocka_run_group_tests(tests, make_grid, free_grid);
}
