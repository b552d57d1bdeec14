/* The farm: the same results from any number of workers, and workers that die end only their run. */

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/farm.h"
#include "tests/cmocka_fixed.h"

/* Deaths at places between two runs, which only a replaced system call can hit. A worker calls getppid() once, before
 * it takes its first run, and clock_gettime() when it has taken one and not yet said which. */
struct deaths {
    atomic_int at_start, when_taken;       /* still to die */
    atomic_uint starts, takings, in_a_run; /* what has happened */
};
static struct deaths *deaths; /* seen by the workers, too */
static pid_t tester;

static void die_if_due(atomic_int *due)
{
    if (atomic_load(due) > 0) {
        atomic_fetch_sub(due, 1);
        raise(SIGKILL);
    }
}

pid_t getppid(void)
{
    if (deaths && getpid() != tester) {
        atomic_fetch_add(&deaths->starts, 1);
        die_if_due(&deaths->at_start);
    }
    return (pid_t)syscall(SYS_getppid);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    /* Every third, so that a worker dies that has done something. */
    if (deaths && getpid() != tester && atomic_fetch_add(&deaths->takings, 1) % 3 == 2)
        die_if_due(&deaths->when_taken);
    return (int)syscall(SYS_clock_gettime, clock, now);
}

static const char *const dirs[] = {"configs", NULL};
enum { RUNS = 48 };

static struct experiment *experiment;
static size_t indices[RUNS];

static int read_experiment(void **state)
{
    (void)state;
    static const char text[] = "[device]\nprofile = oneplus-15r\n[model]\nblocks = 12 x 1MiB\n[workload]\n"
                               "output_tokens = 40\n[loader]\nbudget = 4MiB, 6MiB, 8MiB, 12MiB\nlanes = 1, 2, 4\n"
                               "[policy]\nname = lru, fifo, pinned-lru, prefetch-next\n";
    struct error err;
    tester = getpid();
    deaths = mmap(NULL, sizeof *deaths, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (deaths == MAP_FAILED)
        return -1;
    if (!experiment_parse("farm.ini", text, strlen(text), NULL, 0, dirs, &experiment, &err))
        return -1;
    for (size_t i = 0; i < RUNS; i++)
        indices[i] = i;
    return experiment_run_count(experiment) == RUNS ? 0 : -1;
}

static int free_experiment(void **state)
{
    (void)state;
    experiment_free(experiment);
    munmap(deaths, sizeof *deaths);
    deaths = NULL;
    return 0;
}

struct gathered {
    struct run_numbers numbers[RUNS];
    uint64_t sums[RUNS];                        /* over all bytes of the arrays */
    unsigned calls[RUNS], errors, named, total; /* named: errors that tell their run */
    char error[1024];
    unsigned stop_after; /* 0: never */
};

static uint64_t sum_bytes(const void *data, size_t size, uint64_t sum)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const unsigned char *)data)[i]) * UINT64_C(1099511628211);
    return sum;
}

static bool gather(void *context, size_t index, const struct run_result *result, const struct error *error,
                   struct error *err)
{
    struct gathered *to = context;
    to->calls[index]++;
    to->total++;
    if (result) {
        to->numbers[index] = result->numbers;
        uint64_t sum = sum_bytes(result->samples, result->sample_count * sizeof *result->samples, 1);
        for (size_t i = 0; i < result->token_count; i++) /* field by field: padding is nobody's */
            sum = sum_bytes(&result->tokens[i].latency_ns, sizeof(int64_t), sum) + result->tokens[i].bytes_read;
        to->sums[index] = sum_bytes(result->blocks, 12 * sizeof *result->blocks, sum);
    } else {
        to->errors++;
        to->named += strstr(error->text, "farm: run ") != NULL;
        strcpy(to->error, error->text);
    }
    return to->total != to->stop_after || (fail)(err, STATUS_CHECK, "enough");
}

/* The farm without a limit or a stop. */
static bool farm(struct experiment *of, const size_t *which, size_t count, unsigned jobs, void *context,
                 struct error *err)
{
    const struct farm_options options = {.jobs = jobs};
    bool stopped;
    bool good = farm_run(of, which, count, &options, gather, context, &stopped, err);
    assert_false(stopped);
    return good;
}

static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void any_number_of_jobs_gives_the_same(void **state)
{
    (void)state;
    static const unsigned jobs[] = {1, 2, 5, 64};
    static struct gathered got[4];
    struct error err;
    for (size_t i = 0; i < 4; i++) {
        if (!farm(experiment, indices, RUNS, jobs[i], &got[i], &err))
            fail_because("%s", err.text);
        assert_int_equal(got[i].errors, 0);
        assert_no_children();
        for (size_t k = 0; k < RUNS; k++) {
            assert_int_equal(got[i].calls[k], 1);
            assert_memory_equal(&got[i].numbers[k], &got[0].numbers[k], sizeof got[0].numbers[k]);
            assert_true(got[i].sums[k] == got[0].sums[k]);
        }
    }
    assert_true(got[0].numbers[0].misses > 0);
    assert_string_equal(got[3].numbers[7].killed_by, "");
}

static void only_what_was_asked_for(void **state)
{
    (void)state;
    static struct gathered got;
    static const size_t some[] = {40, 3, 17};
    struct error err;
    assert_true(farm(experiment, some, 3, 2, &got, &err));
    assert_int_equal(got.total, 3);
    assert_int_equal(got.calls[40] + got.calls[3] + got.calls[17], 3);
    assert_true(farm(experiment, some, 0, 2, &got, &err));
    assert_int_equal(got.total, 3);
}

static void the_callback_can_stop(void **state)
{
    (void)state;
    static const unsigned jobs[] = {1, 4};
    for (size_t i = 0; i < 2; i++) {
        struct gathered *got = calloc(1, sizeof *got);
        struct error err;
        got->stop_after = 5;
        assert_false(farm(experiment, indices, RUNS, jobs[i], got, &err));
        assert_string_equal(err.text, "enough");
        assert_int_equal(got->total, 5);
        assert_no_children();
        free(got);
    }
}

static void bad_numbers_of_jobs(void **state)
{
    (void)state;
    struct error err;
    assert_false(farm(experiment, indices, RUNS, 0, NULL, &err));
    assert_false(farm(experiment, indices, RUNS, 257, NULL, &err));
    assert_int_equal(err.code, STATUS_USAGE);
}

/* An eviction policy that ends the process that runs it. */
static void die(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)self, (void)view, (void)args;
    atomic_fetch_add(&deaths->in_a_run, 1);
    raise(SIGKILL);
}

/* Gives runs another eviction policy: configs are plain memory, made before the workers are forked. */
static void set_policy(const struct policy *policy, const size_t *which, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((struct run_config *)experiment_run(experiment, which[i]))->policy.evict.policy = policy;
}

static void a_worker_that_dies_ends_only_its_run(void **state)
{
    (void)state;
    static struct gathered healthy;
    static const size_t which[] = {0, 16, 32, 44}; /* lru at four places */
    static const unsigned jobs[] = {1, 3};
    const struct policy *lru = experiment_run(experiment, 0)->policy.evict.policy;
    struct policy deadly = *lru;
    struct error err;
    deadly.init = die;
    assert_true(farm(experiment, indices, RUNS, 1, &healthy, &err));
    for (size_t i = 0; i < 2; i++) {
        struct gathered *got = calloc(1, sizeof *got);
        set_policy(&deadly, which, 4);
        bool good = farm(experiment, indices, RUNS, jobs[i], got, &err);
        set_policy(lru, which, 4);
        assert_true(good);
        assert_no_children();
        assert_int_equal(got->errors, 4);
        assert_non_null(strstr(got->error, "signal 9"));
        assert_non_null(strstr(got->error, "(lru)"));
        for (size_t k = 0; k < RUNS; k++) {
            assert_int_equal(got->calls[k], 1);
            if (k != 0 && k != 16 && k != 32 && k != 44)
                assert_memory_equal(&got->numbers[k], &healthy.numbers[k], sizeof got->numbers[k]);
        }
        free(got);
    }
}

static void all_may_die(void **state)
{
    (void)state;
    static struct gathered got;
    static const size_t which[] = {0, 4, 8, 12, 16, 20, 24, 28};
    const struct policy *lru = experiment_run(experiment, 0)->policy.evict.policy;
    struct policy deadly = *lru;
    struct error err;
    deadly.init = die;
    set_policy(&deadly, which, 8);
    bool good = farm(experiment, which, 8, 3, &got, &err);
    set_policy(lru, which, 8);
    assert_true(good);
    assert_int_equal(got.errors, 8);
    assert_int_equal(got.total, 8);
    assert_no_children();
}

/* Where workers die between two runs, the rest is run all the same, and what kills its worker is run once. */
static void deaths_between_runs_lose_none(void **state)
{
    (void)state;
    static struct gathered healthy;
    static const size_t which[] = {0, 16};
    static const struct {
        unsigned jobs;
        int at_start, when_taken;
    } cases[] = {{1, 1, 0}, {1, 16, 0}, {1, 0, 1}, {1, 0, 9}, {3, 5, 9}, {64, 70, 0}, {64, 0, 16}};
    const struct policy *lru = experiment_run(experiment, 0)->policy.evict.policy;
    struct policy deadly = *lru;
    struct error err;
    deadly.init = die;
    assert_true(farm(experiment, indices, RUNS, 1, &healthy, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gathered *got = calloc(1, sizeof *got);
        memset(deaths, 0, sizeof *deaths);
        deaths->at_start = cases[i].at_start;
        deaths->when_taken = cases[i].when_taken;
        set_policy(&deadly, which, 2);
        bool good = farm(experiment, indices, RUNS, cases[i].jobs, got, &err);
        set_policy(lru, which, 2);
        assert_true(good);
        assert_no_children();
        assert_true(deaths->at_start <= 0 && deaths->when_taken <= 0);
        assert_int_equal(deaths->in_a_run, 2);
        assert_int_equal(got->errors, 2);
        for (size_t k = 0; k < RUNS; k++) {
            assert_int_equal(got->calls[k], 1);
            if (k != 0 && k != 16) {
                assert_memory_equal(&got->numbers[k], &healthy.numbers[k], sizeof got->numbers[k]);
                assert_true(got->sums[k] == healthy.sums[k]);
            }
        }
        free(got);
    }
}

static void workers_that_only_die_are_given_up(void **state)
{
    (void)state;
    static const unsigned jobs[] = {1, 3};
    for (size_t i = 0; i < 2; i++) {
        struct gathered *got = calloc(1, sizeof *got);
        struct error err;
        memset(deaths, 0, sizeof *deaths);
        deaths->at_start = 1 << 20;
        bool good = farm(experiment, indices, RUNS, jobs[i], got, &err);
        deaths->at_start = 0;
        assert_true(good);
        assert_no_children();
        assert_int_equal(got->errors, RUNS);
        assert_non_null(strstr(got->error, "no worker process was left"));
        assert_in_range(deaths->starts, 16, 32);
        free(got);
    }
}

/* Many losses for one reason are at most 16 lines and one. */
static void lost_runs_are_named_up_to_a_number(void **state)
{
    (void)state;
    static struct gathered got;
    size_t lru_and_fifo[RUNS / 2];
    const struct policy *saved[RUNS / 2];
    struct policy deadly = *experiment_run(experiment, 0)->policy.evict.policy;
    struct error err;
    deadly.init = die;
    for (size_t i = 0; i < RUNS / 2; i++) {
        lru_and_fifo[i] = i / 2 * 4 + i % 2;
        saved[i] = experiment_run(experiment, lru_and_fifo[i])->policy.evict.policy;
    }
    set_policy(&deadly, lru_and_fifo, RUNS / 2);
    bool good = farm(experiment, lru_and_fifo, RUNS / 2, 2, &got, &err);
    for (size_t i = 0; i < RUNS / 2; i++)
        set_policy(saved[i], &lru_and_fifo[i], 1);
    assert_true(good);
    assert_int_equal(got.errors, RUNS / 2);
    assert_int_equal(got.named, 16);
    assert_string_equal(got.error, "farm: further runs: the worker process was ended by signal 9 (Killed)");
}

/* An eviction policy that ends its process as if all were well. */
static void leave(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)self, (void)view, (void)args;
    _exit(0);
}

static void a_run_that_leaves_ends_alone(void **state)
{
    (void)state;
    static struct gathered got;
    static const size_t which[] = {4};
    const struct policy *lru = experiment_run(experiment, 0)->policy.evict.policy;
    struct policy leaving = *lru;
    struct error err;
    leaving.init = leave;
    set_policy(&leaving, which, 1);
    bool good = farm(experiment, indices, RUNS, 1, &got, &err);
    set_policy(lru, which, 1);
    assert_true(good);
    assert_int_equal(got.total, RUNS);
    assert_int_equal(got.errors, 1);
    assert_non_null(strstr(got.error, "run 5 (lru): the worker process ended with exit code 0"));
}

/* An eviction policy that never ends. */
static void hang(void *self, const struct policy_view *view, const struct policy_args *args)
{
    (void)self, (void)view, (void)args;
    for (;;)
        pause();
}

static void a_run_that_takes_too_long_ends_alone(void **state)
{
    (void)state;
    static const size_t which[] = {0, 16, 32};
    static const unsigned jobs[] = {1, 4};
    const struct policy *lru = experiment_run(experiment, 0)->policy.evict.policy;
    struct policy endless = *lru;
    endless.init = hang;
    for (size_t i = 0; i < 2; i++) {
        struct gathered *got = calloc(1, sizeof *got);
        const struct farm_options options = {.jobs = jobs[i], .timeout_ms = 500};
        struct error err;
        bool stopped;
        set_policy(&endless, which, 3);
        bool good = farm_run(experiment, indices, RUNS, &options, gather, got, &stopped, &err);
        set_policy(lru, which, 3);
        assert_true(good);
        assert_false(stopped);
        assert_no_children();
        assert_int_equal(got->errors, 3);
        assert_int_equal(got->total, RUNS);
        assert_non_null(strstr(got->error, "took longer than 500ms"));
        assert_non_null(strstr(got->error, "run "));
        for (size_t k = 0; k < RUNS; k++)
            assert_int_equal(got->calls[k], 1);
        free(got);
    }
}

static volatile sig_atomic_t stop;

static void stop_now(int number)
{
    stop = number;
}

/* Runs that never end are ended by a stop, with what was done before it. */
static void a_stop_ends_all(void **state)
{
    (void)state;
    static const size_t all[] = {4, 8, 12, 0, 16, 32}, endless_ones[] = {0, 16, 32};
    static const unsigned jobs[] = {1, 2};
    const struct policy *lru = experiment_run(experiment, 0)->policy.evict.policy;
    struct policy endless = *lru;
    endless.init = hang;
    signal(SIGALRM, stop_now);
    for (size_t i = 0; i < 2; i++) {
        struct gathered *got = calloc(1, sizeof *got);
        const struct farm_options options = {.jobs = jobs[i], .stop = &stop};
        struct error err;
        bool stopped;
        stop = 0;
        set_policy(&endless, endless_ones, 3);
        alarm(1);
        bool good = farm_run(experiment, all, 6, &options, gather, got, &stopped, &err);
        set_policy(lru, endless_ones, 3);
        assert_true(good);
        assert_true(stopped);
        assert_no_children();
        assert_int_equal(got->total, 3);
        assert_int_equal(got->errors, 0);
        assert_int_equal(got->calls[4] + got->calls[8] + got->calls[12], 3);
        /* It is still wanted: nothing is run at all. */
        assert_true(farm_run(experiment, all, 6, &options, gather, got, &stopped, &err));
        assert_true(stopped);
        assert_int_equal(got->total, 3);
        free(got);
    }
    signal(SIGALRM, SIG_DFL);
}

/* Input that cannot be read is a run's error, told by its worker. */
static void a_failing_run_ends_alone(void **state)
{
    (void)state;
    char path[] = "/tmp/pocketload-farm-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char good[] = "block,bytes\n1,100\n2,100\n", bad[] = "block,bytes\n1,100\nx\n";
    assert_int_equal(write(fd, good, sizeof good - 1), (ssize_t)(sizeof good - 1));
    char text[512] = "[device]\nprofile = oneplus-15r\n[workload]\nkind = trace\ntrace = ";
    strcat(text, path);
    strcat(text, "\n[loader]\nbudget = 200B, 300B\n");
    struct experiment *broken;
    struct error err;
    if (!experiment_parse("farm.ini", text, strlen(text), NULL, 0, dirs, &broken, &err))
        fail_because("%s", err.text);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, bad, sizeof bad - 1, 0), (ssize_t)(sizeof bad - 1));
    static struct gathered got;
    assert_true(farm(broken, indices, 2, 2, &got, &err));
    assert_int_equal(got.errors, 2);
    assert_non_null(strstr(got.error, ":3: "));
    experiment_free(broken);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_jobs_gives_the_same),
        cmocka_unit_test(only_what_was_asked_for),
        cmocka_unit_test(the_callback_can_stop),
        cmocka_unit_test(bad_numbers_of_jobs),
        cmocka_unit_test(a_failing_run_ends_alone),
        cmocka_unit_test(a_worker_that_dies_ends_only_its_run),
        cmocka_unit_test(all_may_die),
        cmocka_unit_test(deaths_between_runs_lose_none),
        cmocka_unit_test(workers_that_only_die_are_given_up),
        cmocka_unit_test(lost_runs_are_named_up_to_a_number),
        cmocka_unit_test(a_run_that_leaves_ends_alone),
        cmocka_unit_test(a_run_that_takes_too_long_ends_alone),
        cmocka_unit_test(a_stop_ends_all),
    };
    return cmocka_run_group_tests(tests, read_experiment, free_experiment);
}
