/* The farm: workers take the next run from a counter that all share, and send what comes out through a pipe each.
 *
 * A message is a header and the raw arrays of the result: both ends are the same program, forked, so that structures
 * and the constant texts that numbers point to are the same. What a worker sends is checked all the same, as it may die
 * at any byte. */
#include "sim/farm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"

enum { JOBS_MAX = 256, READ_BYTES = 1 << 16 };
#define NO_RUN UINT64_MAX

/* Seen by all processes. Positions count into `indices`. */
struct shared {
    atomic_ullong next;
    atomic_ullong current[JOBS_MAX]; /* the position that a worker has in hand, or NO_RUN */
};

struct message {
    uint64_t position;
    bool good;
    struct error error;
    struct run_numbers numbers;
    uint64_t token_count, sample_count, block_count;
};

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
    struct shared *shared;
    struct worker *workers;
    unsigned jobs;
    bool *done; /* by position: the callback has heard of it */
    farm_callback *callback;
    void *context;
};

/* ---- In the worker ---- */

static bool write_all(int fd, const void *data, size_t size)
{
    const char *bytes = data;
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static bool send_result(int fd, const struct message *message, const struct run_result *result)
{
    return write_all(fd, message, sizeof *message) &&
           write_all(fd, result->tokens, message->token_count * sizeof *result->tokens) &&
           write_all(fd, result->samples, message->sample_count * sizeof *result->samples) &&
           write_all(fd, result->blocks, message->block_count * sizeof *result->blocks);
}

static bool work_one(struct farm *farm, uint64_t position, struct prepared *cache, int fd)
{
    struct arena arena = {0};
    struct run_result result = {0};
    struct message message;
    memset(&message, 0, sizeof message);
    message.position = position;
    message.good =
        experiment_execute(farm->experiment, farm->indices[position], cache, &arena, &result, &message.error);
    if (message.good) {
        message.numbers = result.numbers;
        message.token_count = result.token_count;
        message.sample_count = result.sample_count;
        message.block_count = cache->model.block_count;
    }
    bool sent = send_result(fd, &message, &result);
    arena_free(&arena);
    return sent;
}

static _Noreturn void work(struct farm *farm, unsigned slot, int fd, pid_t parent)
{
    /* The parent decides what an interrupt means; workers go when it goes. */
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    struct prepared cache = {0};
    bool good = true;
    while (good) {
        uint64_t position = atomic_fetch_add(&farm->shared->next, 1);
        if (position >= farm->count)
            break;
        atomic_store(&farm->shared->current[slot], position);
        good = work_one(farm, position, &cache, fd);
        atomic_store(&farm->shared->current[slot], NO_RUN);
    }
    _exit(good ? 0 : 1); /* not exit: buffers and handlers are the parent's */
}

/* ---- In the parent ---- */

static bool start_worker(struct farm *farm, unsigned slot, struct error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail(err, STATUS_IO, "cannot make a pipe for a worker: %s", strerror(errno));
    atomic_store(&farm->shared->current[slot], NO_RUN);
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
        work(farm, slot, ends[1], parent);
    }
    close(ends[1]);
    farm->workers[slot].pid = pid;
    farm->workers[slot].fd = ends[0];
    farm->workers[slot].size = 0;
    return true;
}

static bool report_error(struct farm *farm, uint64_t position, const struct error *error, struct error *err)
{
    farm->done[position] = true;
    return farm->callback(farm->context, farm->indices[position], NULL, error, err);
}

/* The bytes of the message's arrays; false when they cannot be. */
static bool body_size(const struct message *message, uint64_t *size)
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

static bool report_result(struct farm *farm, const struct message *message, const char *body, struct error *err)
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
        farm->done[message->position] = true;
        good = farm->callback(farm->context, farm->indices[message->position], &result, NULL, err);
    } else {
        fail(err, STATUS_IO, "out of memory");
    }
    arena_free(&arena);
    return good;
}

/* Reports every whole message that has come. A message that cannot be ends the worker: its run is reported as lost when
 * the worker is gone. */
static bool take_messages(struct farm *farm, struct worker *worker, struct error *err)
{
    struct message message;
    while (worker->size >= sizeof message) {
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

static void describe_death(int status, struct error *error)
{
    if (WIFSIGNALED(status))
        fail(error, STATUS_IO, "the worker process was ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
    else
        fail(error, STATUS_IO, "the worker process ended with exit code %d", WEXITSTATUS(status));
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
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    uint64_t position = atomic_load(&farm->shared->current[slot]);
    if (position >= farm->count)
        return true; /* it died without a run: another one would, too */
    struct error lost;
    describe_death(status, &lost);
    if (!farm->done[position] && !report_error(farm, position, &lost, err))
        return false;
    struct error ignored; /* fewer workers do the rest; without any, it is reported at the end */
    if (atomic_load(&farm->shared->next) < farm->count)
        (void)start_worker(farm, slot, &ignored);
    return true;
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

static bool supervise(struct farm *farm, struct error *err)
{
    struct pollfd polls[JOBS_MAX];
    unsigned slots[JOBS_MAX];
    for (;;) {
        nfds_t open = 0;
        for (unsigned i = 0; i < farm->jobs; i++)
            if (farm->workers[i].pid) {
                slots[open] = i;
                polls[open++] = (struct pollfd){.fd = farm->workers[i].fd, .events = POLLIN};
            }
        if (open == 0)
            break;
        if (poll(polls, open, -1) < 0) {
            if (errno == EINTR)
                continue;
            return fail(err, STATUS_IO, "cannot wait for workers: %s", strerror(errno));
        }
        for (nfds_t i = 0; i < open; i++)
            if (polls[i].revents && !read_worker(farm, slots[i], err))
                return false;
    }
    struct error lost;
    fail(&lost, STATUS_IO, "no worker process was left to run it");
    for (size_t i = 0; i < farm->count; i++)
        if (!farm->done[i] && !report_error(farm, i, &lost, err))
            return false;
    return true;
}

static bool run_workers(struct farm *farm, struct error *err)
{
    unsigned started = 0;
    struct error first;
    while (started < farm->jobs && start_worker(farm, started, &first))
        started++;
    bool good = started > 0;
    if (good)
        good = supervise(farm, err);
    else
        *err = first;
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

/* ---- One process ---- */

static bool run_here(struct farm *farm, struct error *err)
{
    struct prepared cache = {0};
    bool good = true;
    for (size_t i = 0; good && i < farm->count; i++) {
        struct arena arena = {0};
        struct run_result result;
        struct error error;
        size_t index = farm->indices[i];
        if (experiment_execute(farm->experiment, index, &cache, &arena, &result, &error))
            good = farm->callback(farm->context, index, &result, NULL, err);
        else
            good = farm->callback(farm->context, index, NULL, &error, err);
        arena_free(&arena);
    }
    prepared_free(&cache);
    return good;
}

bool farm_run(struct experiment *experiment, const size_t *indices, size_t count, unsigned jobs,
              farm_callback *callback, void *context, struct error *err)
{
    if (jobs < 1 || jobs > JOBS_MAX)
        return fail(err, STATUS_USAGE, "%u jobs; expected 1 to %d", jobs, JOBS_MAX);
    struct farm farm = {.experiment = experiment,
                        .indices = indices,
                        .count = count,
                        .jobs = jobs < count ? jobs : (unsigned)count,
                        .callback = callback,
                        .context = context};
    if (count == 0)
        return true;
    if (farm.jobs == 1)
        return run_here(&farm, err);
    farm.shared = mmap(NULL, sizeof *farm.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    farm.workers = calloc(farm.jobs, sizeof *farm.workers);
    farm.done = calloc(count, sizeof *farm.done);
    bool good = farm.shared != MAP_FAILED && farm.workers && farm.done;
    good = good ? run_workers(&farm, err) : fail(err, STATUS_IO, "no memory for the workers");
    if (farm.shared != MAP_FAILED)
        munmap(farm.shared, sizeof *farm.shared);
    free(farm.workers);
    free(farm.done);
    return good;
}
