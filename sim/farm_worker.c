/* A worker: takes the next task from a counter that all share, and sends what comes out through its pipe. */
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

static bool send_message(int fd, const struct farm_message *message, const struct farm_part parts[FARM_PARTS_MAX])
{
    bool good = write_all(fd, message, sizeof *message);
    for (size_t i = 0; good && message->good && i < FARM_PARTS_MAX; i++)
        good = write_all(fd, parts[i].data, parts[i].size);
    return good;
}

/* False: the task was late, or nobody reads what this worker sends. */
static bool work_one(const struct farm_tasks *tasks, size_t task, struct farm_slot *slot, int fd)
{
    struct farm_part parts[FARM_PARTS_MAX] = {{0}};
    struct farm_message message;
    memset(&message, 0, sizeof message);
    message.task = task;
    /* In this order: who sees the task sees its start. */
    atomic_store(&slot->started_ns, wall_clock_ns());
    atomic_store(&slot->task, task);
    message.good = tasks->work(tasks->context, task, parts, &message.error);
    for (size_t i = 0; message.good && i < FARM_PARTS_MAX; i++)
        message.size += parts[i].size;
    unsigned long long in_time = task;
    bool sent =
        atomic_compare_exchange_strong(&slot->task, &in_time, task | FARM_SENDING) && send_message(fd, &message, parts);
    if (sent)
        atomic_store(&slot->task, FARM_NO_TASK);
    return sent;
}

_Noreturn void farm_work(const struct farm_tasks *tasks, const size_t *queue, size_t count, struct farm_shared *shared,
                         unsigned slot, int fd, pid_t parent)
{
    /* The parent decides what these mean, also when a whole group of processes gets them; workers go when it goes. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    if (getppid() != parent)
        _exit(1);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* what a plug-in prints shall not stand between records */
    bool good = true;
    while (good) {
        uint64_t taken = atomic_fetch_add(&shared->next, 1);
        if (taken >= count)
            break;
        good = work_one(tasks, queue[taken], &shared->slots[slot], fd);
    }
    _exit(good ? 0 : 1); /* not exit: buffers and handlers are the parent's */
}
