/* The farm's parent: starts workers, takes what they send, and buries those that die.
 *
 * Both ends of a pipe are the same program, forked, so that structures and the constant texts that numbers point to are
 * the same. What a worker sends is checked all the same, as it may die at any byte. */
#include "sim/farm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/units.h"
#include "sim/farm_worker.h"

/* The parent looks this often whether it shall stop, or a run is late: a signal just before poll() would not wake it.
 */
enum { WAKE_MS = 50, READ_BYTES = 1 << 16 };
/* So many workers in a row, and each worker once more, may end without a run's end: a machine that kills every worker
 * shall not be kept busy. */
enum { FRUITLESS_MAX = 16 };
/* So many lost runs are named in their errors. */
enum { NAMED_LOSSES_MAX = 16 };
#define MS_NS INT64_C(1000000)

struct worker {
    pid_t pid; /* 0: none */
    int fd;
    void *data;
    size_t size, capacity;
};

struct farm {
    struct experiment *experiment;
    const size_t *indices;
    size_t count;
    const struct farm_options *options;
    struct farm_shared *shared;
    struct worker *workers;
    unsigned jobs;
    bool *done;        /* by position: the callback has heard of it */
    size_t *positions; /* what this round's workers take, in this order; changes only while there is no worker */
    size_t position_count;
    unsigned fruitless; /* workers and rounds that ended without a run's end, since the last one's */
    unsigned losses;
    farm_callback *callback;
    void *context;
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
    atomic_store(&farm->shared->slots[slot].run, FARM_NO_RUN);
    pid_t parent = getpid();
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
        farm_work(farm->experiment, farm->indices, farm->positions, farm->position_count, farm->shared, slot, ends[1],
                  parent);
    }
    close(ends[1]);
    farm->workers[slot].pid = pid;
    farm->workers[slot].fd = ends[0];
    farm->workers[slot].size = 0;
    return true;
}

static void finish_position(struct farm *farm, uint64_t position)
{
    farm->done[position] = true;
    farm->fruitless = 0;
}

static bool report_error(struct farm *farm, uint64_t position, const struct error *error, struct error *err)
{
    finish_position(farm, position);
    return farm->callback(farm->context, farm->indices[position], NULL, error, err);
}

/* The bytes of the message's arrays; false when they cannot be. */
static bool body_size(const struct farm_message *message, uint64_t *size)
{
    const uint64_t most = UINT64_C(1) << 40;
    if (message->token_count > most || message->sample_count > SAMPLES_MAX || message->block_count > MODEL_BLOCKS_MAX)
        return false;
    *size = message->token_count * sizeof(struct token_numbers) +
            message->sample_count * sizeof(struct sample_numbers) + message->block_count * sizeof(struct block_numbers);
    return true;
}

static bool copy_array(struct arena *arena, const char **from, uint64_t count, size_t size, void **to)
{
    *to = arena_alloc(arena, count, size);
    if (!*to)
        return false;
    memcpy(*to, *from, count * size);
    *from += count * size;
    return true;
}

static bool report_result(struct farm *farm, const struct farm_message *message, const char *body, struct error *err)
{
    if (!message->good)
        return report_error(farm, message->position, &message->error, err);
    struct arena arena = {0};
    void *tokens, *samples, *blocks;
    bool good = copy_array(&arena, &body, message->token_count, sizeof(struct token_numbers), &tokens) &&
                copy_array(&arena, &body, message->sample_count, sizeof(struct sample_numbers), &samples) &&
                copy_array(&arena, &body, message->block_count, sizeof(struct block_numbers), &blocks);
    if (good) {
        struct run_result result = {.numbers = message->numbers,
                                    .tokens = tokens,
                                    .token_count = message->token_count,
                                    .samples = samples,
                                    .sample_count = (uint32_t)message->sample_count,
                                    .blocks = blocks};
        finish_position(farm, message->position);
        good = farm->callback(farm->context, farm->indices[message->position], &result, NULL, err);
    } else {
        fail(err, STATUS_IO, "out of memory");
    }
    arena_free(&arena);
    return good;
}

/* Reports every whole message that has come. A message that cannot be ends the worker; its run is reported as lost, or
 * run again, when the worker is gone. */
static bool take_messages(struct farm *farm, struct worker *worker, struct error *err)
{
    struct farm_message message;
    while (worker->size >= sizeof message && !stop_wanted(farm)) {
        memcpy(&message, worker->data, sizeof message);
        uint64_t body;
        if (message.position >= farm->count || farm->done[message.position] || !body_size(&message, &body)) {
            kill(worker->pid, SIGKILL);
            worker->size = 0;
            return true;
        }
        if (worker->size - sizeof message < body)
            return true;
        if (!report_result(farm, &message, (char *)worker->data + sizeof message, err))
            return false;
        size_t used = sizeof message + (size_t)body;
        worker->size -= used;
        memmove(worker->data, (char *)worker->data + used, worker->size);
    }
    return true;
}

/* Why the worker did not finish the run that it had. */
static void describe_loss(struct farm *farm, uint64_t run, uint64_t position, int status, struct error *error)
{
    char limit[UNITS_TEXT];
    if (run & FARM_LATE)
        fail(error, STATUS_CHECK, "took longer than %s", print_time(farm->options->timeout_ms * MS_NS, limit));
    else if (WIFSIGNALED(status))
        fail(error, STATUS_IO, "the worker process was ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
    else
        fail(error, STATUS_IO, "the worker process ended with exit code %d", WEXITSTATUS(status));
    if (farm->losses >= NAMED_LOSSES_MAX) {
        fail_in(error, "%s: further runs", experiment_name(farm->experiment));
        return;
    }
    farm->losses++;
    size_t index = farm->indices[position];
    fail_in(error, "%s: run %zu (%s)", experiment_name(farm->experiment), index + 1,
            experiment_run(farm->experiment, index)->policy.label);
}

/* The worker's pipe is at its end: it is gone. Reports the run that it had, and starts another where work is left. */
static bool bury_worker(struct farm *farm, unsigned slot, struct error *err)
{
    struct worker *worker = &farm->workers[slot];
    int status = 0;
    close(worker->fd);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    uint64_t run = atomic_load(&farm->shared->slots[slot].run);
    uint64_t position = run & ~(FARM_SENDING | FARM_LATE);
    if (position >= farm->count) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return true;
        farm->fruitless++; /* what it may have taken without a trace is left for the next round */
    } else if (!farm->done[position]) {
        struct error lost;
        describe_loss(farm, run, position, status, &lost);
        if (!report_error(farm, position, &lost, err))
            return false;
    }
    struct error ignored; /* fewer workers do the rest; without any, the next round does */
    if (farm->fruitless < FRUITLESS_MAX + farm->jobs && atomic_load(&farm->shared->next) < farm->position_count)
        (void)start_worker(farm, slot, &ignored);
    return true;
}

/* Kills the workers whose run takes too long; they are buried when their pipes end. */
static void end_late_runs(struct farm *farm)
{
    if (farm->options->timeout_ms == 0)
        return;
    for (unsigned i = 0; i < farm->jobs; i++) {
        struct farm_slot *slot = &farm->shared->slots[i];
        unsigned long long run = atomic_load(&slot->run);
        if (!farm->workers[i].pid || run >= FARM_SENDING)
            continue;
        int64_t elapsed_ns = wall_clock_ns() - atomic_load(&slot->started_ns);
        if (elapsed_ns / MS_NS >= farm->options->timeout_ms &&
            atomic_compare_exchange_strong(&slot->run, &run, run | FARM_LATE))
            kill(farm->workers[i].pid, SIGKILL);
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
    return take_messages(farm, worker, err);
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
        end_late_runs(farm);
    }
}

/* All workers are gone: the positions of the next round are those that nothing was heard of. */
static void collect_positions(struct farm *farm)
{
    farm->position_count = 0;
    for (size_t i = 0; i < farm->count; i++)
        if (!farm->done[i])
            farm->positions[farm->position_count++] = i;
    atomic_store(&farm->shared->next, 0);
}

/* False: not even one could be started. */
static bool start_workers(struct farm *farm, struct error *err)
{
    unsigned started = 0;
    while (started < farm->jobs && started < farm->position_count && start_worker(farm, started, err))
        started++;
    return started > 0;
}

/* Round after round until all is done: there is a second one only when a worker died between two runs. */
static bool run_rounds(struct farm *farm, struct error *err)
{
    collect_positions(farm);
    if (!start_workers(farm, err))
        return false;
    for (;;) {
        if (!supervise(farm, err))
            return false;
        collect_positions(farm);
        farm->stopped = farm->stopped || (farm->position_count > 0 && stop_wanted(farm));
        if (farm->stopped || farm->position_count == 0)
            return true;
        struct error ignored;
        if (++farm->fruitless > FRUITLESS_MAX + farm->jobs || !start_workers(farm, &ignored))
            break;
    }
    struct error lost;
    fail(&lost, STATUS_IO, "no worker process was left to run it");
    for (size_t i = 0; i < farm->position_count; i++)
        if (!report_error(farm, farm->positions[i], &lost, err))
            return false;
    return true;
}

static bool run_workers(struct farm *farm, struct error *err)
{
    bool good = run_rounds(farm, err);
    for (unsigned i = 0; i < farm->jobs; i++) {
        struct worker *worker = &farm->workers[i];
        if (worker->pid) {
            kill(worker->pid, SIGKILL);
            close(worker->fd);
            while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        }
        free(worker->data);
    }
    return good;
}

bool farm_run(struct experiment *experiment, const size_t *indices, size_t count, const struct farm_options *options,
              farm_callback *callback, void *context, bool *stopped, struct error *err)
{
    *stopped = false;
    if (options->jobs < 1 || options->jobs > FARM_JOBS_MAX)
        return fail(err, STATUS_USAGE, "%u jobs; expected 1 to %d", options->jobs, FARM_JOBS_MAX);
    if (count == 0)
        return true;
    struct farm farm = {.experiment = experiment,
                        .indices = indices,
                        .count = count,
                        .options = options,
                        .jobs = options->jobs < count ? options->jobs : (unsigned)count,
                        .callback = callback,
                        .context = context};
    farm.shared = mmap(NULL, sizeof *farm.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    farm.workers = calloc(farm.jobs, sizeof *farm.workers);
    farm.done = calloc(count, sizeof *farm.done);
    farm.positions = calloc(count, sizeof *farm.positions);
    bool good = farm.shared != MAP_FAILED && farm.workers && farm.done && farm.positions;
    good = good ? run_workers(&farm, err) : fail(err, STATUS_IO, "no memory for the workers");
    if (farm.shared != MAP_FAILED)
        munmap(farm.shared, sizeof *farm.shared);
    free(farm.workers);
    free(farm.done);
    free(farm.positions);
    *stopped = farm.stopped;
    return good;
}
