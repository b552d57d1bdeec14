/* The farm's parent: starts workers, takes what they send, and buries those that die.
 *
 * Both ends of a pipe are the same program, forked, so that structures and the constant texts that numbers point to are
 * the same. What a worker sends is checked all the same, as it may die at any byte. */
#include "sim/farm_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/units.h"
#include "sim/farm_worker.h"

/* The parent looks this often whether it shall stop, or a task is late: a signal just before poll() would not wake it.
 */
enum { WAKE_MS = 50, GRACE_MS = 50, READ_BYTES = 1 << 16 };
/* So many workers in a row, and each worker once more, may end without a task's end: a machine that kills every worker
 * shall not be kept busy. */
enum { FRUITLESS_MAX = 16 };
#define MESSAGE_BYTES_MAX (UINT64_C(1) << 40)
#define MS_NS INT64_C(1000000)

struct worker {
    pid_t pid; /* 0: none */
    int fd;
    bool ended; /* by the farm, for what it did to its pipe */
    void *data;
    size_t size, capacity;
};

struct farm {
    const struct farm_tasks *tasks;
    const struct farm_options *options;
    struct farm_shared *shared;
    struct worker *workers;
    unsigned jobs;
    bool *done;    /* by task: the callback has heard of it */
    size_t *queue; /* what this round's workers take, in this order; changes only while there is no worker */
    size_t queue_count;
    unsigned fruitless; /* workers and rounds that ended without a task's end, since the last one's */
    bool stopped;
};

static bool stop_wanted(const struct farm *farm)
{
    return farm->options->stop != NULL && *farm->options->stop != 0;
}

static bool start_worker(struct farm *farm, unsigned slot, struct error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail(err, STATUS_IO, "cannot make a pipe for a worker: %s", strerror(errno));
    atomic_store(&farm->shared->slots[slot].task, FARM_NO_TASK);
    pid_t parent = getpid();
    fflush(NULL); /* what is left in a buffer here, a worker that calls exit() would write once more */
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return fail(err, STATUS_IO, "cannot start a worker: %s", strerror(errno));
    }
    if (pid == 0) {
        /* The other workers' read ends: a worker that kept them would never see that the parent is gone. */
        for (unsigned i = 0; i < farm->jobs; i++)
            if (farm->workers[i].pid)
                close(farm->workers[i].fd);
        close(ends[0]);
        farm_work(farm->tasks, farm->queue, farm->queue_count, farm->shared, slot, ends[1], parent);
    }
    close(ends[1]);
    farm->workers[slot].pid = pid;
    farm->workers[slot].fd = ends[0];
    farm->workers[slot].ended = false;
    farm->workers[slot].size = 0;
    return true;
}

/* Tells the callback how a task ended. */
static bool report(struct farm *farm, const struct farm_outcome *outcome, struct error *err)
{
    farm->done[outcome->task] = true;
    farm->fruitless = 0;
    return farm->tasks->take(farm->tasks->context, outcome, err);
}

static int64_t timeout_of(const struct farm *farm, size_t task)
{
    return farm->tasks->timeouts_ms ? farm->tasks->timeouts_ms[task] : farm->options->timeout_ms;
}

/* It has ended, and is still to be buried. */
static bool is_gone(pid_t pid)
{
    siginfo_t gone = {0};
    return waitid(P_PID, (id_t)pid, &gone, WEXITED | WNOHANG | WNOWAIT) == 0 && gone.si_pid == pid;
}

/* A worker leads a process group of its own, so that what a plug-in started goes with it. */
static void kill_group(pid_t pid)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL); /* it may not have made its group yet */
}

/* Why the worker did not finish the task that it had. `ended`: see struct worker. */
static void describe_loss(const struct farm *farm, uint64_t held, size_t task, bool ended, int status,
                          struct error *error)
{
    char limit[UNITS_TEXT];
    if (held & FARM_LATE)
        fail(error, STATUS_CHECK, "took longer than %s", print_time(timeout_of(farm, task) * MS_NS, limit));
    else if (ended)
        fail(error, STATUS_IO, "the worker process closed its pipe, or sent what is no result");
    else if (WIFSIGNALED(status))
        fail(error, STATUS_IO, "the worker process was ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
    else
        fail(error, STATUS_IO, "the worker process ended with exit code %d", WEXITSTATUS(status));
}

/* The worker is gone, or of no more use: its pipe is at its end, or brought what cannot be. Reports the task that it
 * had, and starts another where work is left. */
static bool bury_worker(struct farm *farm, unsigned slot, struct error *err)
{
    struct worker *worker = &farm->workers[slot];
    int status = 0;
    close(worker->fd);
    /* One that ends by itself needs a moment from its pipe's end to its own; one whose task closed the pipe and runs on
     * would be waited for without end. */
    for (int ms = 0; !worker->ended && !is_gone(worker->pid); ms++) {
        nanosleep(&(struct timespec){.tv_nsec = MS_NS}, NULL);
        worker->ended = ms >= GRACE_MS;
    }
    kill_group(worker->pid); /* also where it is gone: it is not waited for yet, so the number is still its own */
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    uint64_t held = atomic_load(&farm->shared->slots[slot].task);
    uint64_t task = held & ~(FARM_SENDING | FARM_LATE);
    if (task >= farm->tasks->count) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return true;
        farm->fruitless++; /* what it may have taken without a trace is left for the next round */
    } else if (!farm->done[task]) {
        struct error lost;
        describe_loss(farm, held, (size_t)task, worker->ended, status, &lost);
        struct farm_outcome outcome = {.task = (size_t)task, .error = &lost, .lost = true};
        if (!report(farm, &outcome, err))
            return false;
    }
    struct error ignored; /* fewer workers do the rest; without any, the next round does */
    if (farm->fruitless < FRUITLESS_MAX + farm->jobs && atomic_load(&farm->shared->next) < farm->queue_count)
        (void)start_worker(farm, slot, &ignored);
    return true;
}

/* Foreign code in a worker may write anything to the pipe. */
static bool can_be(const struct farm *farm, const struct farm_message *message)
{
    if (message->task >= farm->tasks->count || farm->done[message->task] || message->size > MESSAGE_BYTES_MAX)
        return false;
    const int code = (int)message->error.code;
    return message->good == 1 || (message->good == 0 && code > STATUS_OK && code <= STATUS_KILLED &&
                                  memchr(message->error.text, '\0', sizeof message->error.text) != NULL);
}

/* Reports every whole message that has come. A message that cannot be ends the worker; its task is reported as lost, or
 * done again. */
static bool take_messages(struct farm *farm, unsigned slot, struct error *err)
{
    struct worker *worker = &farm->workers[slot];
    struct farm_message message;
    while (worker->size >= sizeof message && !stop_wanted(farm)) {
        memcpy(&message, worker->data, sizeof message);
        worker->ended = !can_be(farm, &message);
        if (worker->ended)
            return bury_worker(farm, slot, err);
        if (worker->size - sizeof message < message.size)
            return true;
        struct farm_outcome outcome = {.task = (size_t)message.task,
                                       .bytes = message.good ? (char *)worker->data + sizeof message : NULL,
                                       .size = (size_t)message.size,
                                       .error = message.good ? NULL : &message.error};
        if (!report(farm, &outcome, err))
            return false;
        size_t used = sizeof message + (size_t)message.size;
        worker->size -= used;
        memmove(worker->data, (char *)worker->data + used, worker->size);
    }
    return true;
}

/* Kills the workers whose task takes too long; they are buried when their pipes end. */
static void end_late_tasks(struct farm *farm)
{
    for (unsigned i = 0; i < farm->jobs; i++) {
        struct farm_slot *slot = &farm->shared->slots[i];
        unsigned long long held = atomic_load(&slot->task);
        if (!farm->workers[i].pid || held >= farm->tasks->count)
            continue;
        int64_t limit_ms = timeout_of(farm, (size_t)held);
        int64_t elapsed_ns = wall_clock_ns() - atomic_load(&slot->started_ns);
        if (limit_ms > 0 && elapsed_ns / MS_NS >= limit_ms &&
            atomic_compare_exchange_strong(&slot->task, &held, held | FARM_LATE))
            kill_group(farm->workers[i].pid);
    }
}

static bool read_worker(struct farm *farm, unsigned slot, struct error *err)
{
    struct worker *worker = &farm->workers[slot];
    if (!array_reserve(&worker->data, &worker->capacity, worker->size + READ_BYTES, 1, err))
        return false;
    ssize_t got = read(worker->fd, (char *)worker->data + worker->size, worker->capacity - worker->size);
    if (got < 0)
        return errno == EINTR || fail(err, STATUS_IO, "cannot read from a worker: %s", strerror(errno));
    if (got == 0)
        return bury_worker(farm, slot, err);
    worker->size += (size_t)got;
    return take_messages(farm, slot, err);
}

/* A worker's pipe ends with it, unless a process that its task has started holds the other end: such a worker is found
 * here. What it sent before it ended is read first. */
static bool bury_the_silent(struct farm *farm, struct error *err)
{
    for (unsigned i = 0; i < farm->jobs; i++) {
        const struct worker *worker = &farm->workers[i];
        if (!worker->pid || !is_gone(worker->pid))
            continue;
        struct pollfd rest = {.fd = worker->fd, .events = POLLIN};
        if (poll(&rest, 1, 0) == 0 && !bury_worker(farm, i, err))
            return false;
    }
    return true;
}

/* Until all workers are gone, or the farm is stopped. */
static bool supervise(struct farm *farm, struct error *err)
{
    struct pollfd polls[FARM_JOBS_MAX];
    unsigned slots[FARM_JOBS_MAX];
    for (;;) {
        nfds_t open = 0;
        for (unsigned i = 0; i < farm->jobs; i++)
            if (farm->workers[i].pid) {
                slots[open] = i;
                polls[open++] = (struct pollfd){.fd = farm->workers[i].fd, .events = POLLIN};
            }
        if (open == 0)
            return true;
        farm->stopped = stop_wanted(farm);
        if (farm->stopped)
            return true;
        int ready = poll(polls, open, WAKE_MS);
        if (ready < 0 && errno != EINTR)
            return fail(err, STATUS_IO, "cannot wait for workers: %s", strerror(errno));
        for (nfds_t i = 0; ready > 0 && i < open; i++)
            if (polls[i].revents && !read_worker(farm, slots[i], err))
                return false;
        if (ready == 0 && !bury_the_silent(farm, err))
            return false;
        end_late_tasks(farm);
    }
}

/* All workers are gone: the next round has the tasks that nothing was heard of. */
static void fill_queue(struct farm *farm)
{
    farm->queue_count = 0;
    for (size_t i = 0; i < farm->tasks->count; i++)
        if (!farm->done[i])
            farm->queue[farm->queue_count++] = i;
    atomic_store(&farm->shared->next, 0);
}

/* False: not even one could be started. */
static bool start_workers(struct farm *farm, struct error *err)
{
    unsigned started = 0;
    while (started < farm->jobs && started < farm->queue_count && start_worker(farm, started, err))
        started++;
    return started > 0;
}

/* Round after round until all is done: there is a second one only when a worker died between two tasks. */
static bool do_rounds(struct farm *farm, struct error *err)
{
    fill_queue(farm);
    if (!start_workers(farm, err))
        return false;
    for (;;) {
        if (!supervise(farm, err))
            return false;
        fill_queue(farm);
        farm->stopped = farm->stopped || (farm->queue_count > 0 && stop_wanted(farm));
        if (farm->stopped || farm->queue_count == 0)
            return true;
        struct error ignored;
        if (++farm->fruitless > FRUITLESS_MAX + farm->jobs || !start_workers(farm, &ignored))
            break;
    }
    struct error none_left;
    fail(&none_left, STATUS_IO, "no worker process was left to run it");
    for (size_t i = 0; i < farm->queue_count; i++) {
        struct farm_outcome outcome = {.task = farm->queue[i], .error = &none_left};
        if (!report(farm, &outcome, err))
            return false;
    }
    return true;
}

static bool employ_workers(struct farm *farm, struct error *err)
{
    bool good = do_rounds(farm, err);
    for (unsigned i = 0; i < farm->jobs; i++) {
        struct worker *worker = &farm->workers[i];
        if (worker->pid) {
            kill_group(worker->pid);
            close(worker->fd);
            while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        }
        free(worker->data);
    }
    return good;
}

unsigned farm_default_jobs(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : processors > FARM_JOBS_MAX ? FARM_JOBS_MAX : (unsigned)processors;
}

bool farm_do(const struct farm_tasks *tasks, const struct farm_options *options, bool *stopped, struct error *err)
{
    const size_t count = tasks->count;
    *stopped = false;
    if (options->jobs < 1 || options->jobs > FARM_JOBS_MAX)
        return fail(err, STATUS_USAGE, "%u jobs; expected 1 to %d", options->jobs, FARM_JOBS_MAX);
    if (count == 0)
        return true;
    struct farm farm = {
        .tasks = tasks, .options = options, .jobs = options->jobs < count ? options->jobs : (unsigned)count};
    farm.shared = mmap(NULL, sizeof *farm.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    farm.workers = calloc(farm.jobs, sizeof *farm.workers);
    farm.done = calloc(count, sizeof *farm.done);
    farm.queue = calloc(count, sizeof *farm.queue);
    bool good = farm.shared != MAP_FAILED && farm.workers && farm.done && farm.queue;
    good = good ? employ_workers(&farm, err) : fail(err, STATUS_IO, "no memory for the workers");
    if (farm.shared != MAP_FAILED)
        munmap(farm.shared, sizeof *farm.shared);
    free(farm.workers);
    free(farm.done);
    free(farm.queue);
    *stopped = farm.stopped;
    return good;
}
