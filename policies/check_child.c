/* Starting a child, waiting for it, and telling how it ended. */
#include "policies/check_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { WAKE_MS = 50 };
#define MS_NS INT64_C(1000000)

struct child_shared *child_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void child_memory_free(struct child_shared *shared, size_t size)
{
    munmap(shared, size);
}

/* Signals do what they do by themselves, also where a sanitizer or the program has handlers, and leave no core. */
static void be_a_child(pid_t parent, bool quiet)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGALRM, SIGINT, SIGTERM};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (!quiet) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        return;
    }
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
}

/* True when the child is gone, with its status; false when its limit has passed. */
static bool wait_for(pid_t pid, int fd, struct child_shared *shared, int limit_ms, int *status)
{
    uint64_t beats = atomic_load(&shared->beats);
    int64_t since_ns = wall_clock_ns();
    for (;;) {
        /* The pipe ends with the child, unless a process that the policy has started holds it: then by the clock. */
        struct pollfd ends = {.fd = fd, .events = POLLIN};
        poll(&ends, 1, WAKE_MS);
        pid_t gone = waitpid(pid, status, WNOHANG);
        if (gone == pid || (gone < 0 && errno != EINTR))
            return true;
        if (ends.revents != 0)
            nanosleep(&(struct timespec){.tv_nsec = MS_NS}, NULL);
        if (atomic_load(&shared->beats) != beats) {
            beats = atomic_load(&shared->beats);
            since_ns = wall_clock_ns();
        }
        if (wall_clock_ns() - since_ns > limit_ms * MS_NS)
            return false;
    }
}

static void describe(int status, const struct child_shared *shared, char end[CHILD_END_TEXT])
{
    if (WIFSIGNALED(status))
        snprintf(end, CHILD_END_TEXT, "crashed: signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (!atomic_load(&shared->finished))
        snprintf(end, CHILD_END_TEXT, "ended the process (exit code %d)", WEXITSTATUS(status));
}

bool child_run(void (*work)(struct child_shared *shared), struct child_shared *shared, bool quiet, int limit_ms,
               char end[CHILD_END_TEXT], struct error *err)
{
    int ends[2], status = 0;
    end[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail(err, STATUS_IO, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return fail(err, STATUS_IO, "cannot start a process: %s", strerror(errno));
    }
    if (pid == 0) {
        be_a_child(parent, quiet);
        work(shared);
        atomic_store(&shared->finished, true);
        fflush(NULL);
        _exit(0);
    }
    close(ends[1]);
    if (wait_for(pid, ends[0], shared, limit_ms, &status)) {
        describe(status, shared, end);
    } else {
        kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        snprintf(end, CHILD_END_TEXT, "took longer than %d.%d s", limit_ms / 1000, limit_ms % 1000 / 100);
    }
    close(ends[0]);
    return true;
}
