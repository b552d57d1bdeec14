/* A worker: takes the next run from a counter that all share, and sends what comes out through its pipe. */
#include "sim/farm_worker.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"

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

static bool send_result(int fd, const struct farm_message *message, const struct run_result *result)
{
    return write_all(fd, message, sizeof *message) &&
           write_all(fd, result->tokens, message->token_count * sizeof *result->tokens) &&
           write_all(fd, result->samples, message->sample_count * sizeof *result->samples) &&
           write_all(fd, result->blocks, message->block_count * sizeof *result->blocks);
}

/* False: the run was late, or nobody reads what this worker sends. */
static bool work_one(struct experiment *experiment, size_t index, uint64_t position, struct farm_slot *slot,
                     struct prepared *cache, int fd)
{
    struct arena arena = {0};
    struct run_result result = {0};
    struct farm_message message;
    memset(&message, 0, sizeof message);
    message.position = position;
    /* In this order: who sees the run sees its start. */
    atomic_store(&slot->started_ns, wall_clock_ns());
    atomic_store(&slot->run, position);
    message.good = experiment_execute(experiment, index, cache, &arena, &result, &message.error);
    if (message.good) {
        message.numbers = result.numbers;
        message.token_count = result.token_count;
        message.sample_count = result.sample_count;
        message.block_count = cache->model.block_count;
    }
    unsigned long long in_time = position;
    bool sent = atomic_compare_exchange_strong(&slot->run, &in_time, position | FARM_SENDING) &&
                send_result(fd, &message, &result);
    if (sent)
        atomic_store(&slot->run, FARM_NO_RUN);
    arena_free(&arena);
    return sent;
}

_Noreturn void farm_work(struct experiment *experiment, const size_t *indices, const size_t *positions, size_t count,
                         struct farm_shared *shared, unsigned slot, int fd, pid_t parent)
{
    /* The parent decides what these mean, also when a whole group of processes gets them; workers go when it goes. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    struct prepared cache = {0};
    bool good = true;
    while (good) {
        uint64_t taken = atomic_fetch_add(&shared->next, 1);
        if (taken >= count)
            break;
        size_t position = positions[taken];
        good = work_one(experiment, indices[position], position, &shared->slots[slot], &cache, fd);
    }
    _exit(good ? 0 : 1); /* not exit: buffers and handlers are the parent's */
}
