/* Threads that begin together, at a gate. */
#include "sim/calibrate_threads.h"

#include <pthread.h>
#include <string.h>

enum gate { GATE_SHUT, GATE_OPEN, GATE_CALLED_OFF };

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum gate gate;
    void (*body)(void *context);
};

struct member {
    struct crew *crew;
    void *context;
};

static void *wait_and_run(void *argument)
{
    struct member *member = argument;
    struct crew *crew = member->crew;
    pthread_mutex_lock(&crew->lock);
    while (crew->gate == GATE_SHUT)
        pthread_cond_wait(&crew->changed, &crew->lock);
    bool go = crew->gate == GATE_OPEN;
    pthread_mutex_unlock(&crew->lock);
    if (go)
        crew->body(member->context);
    return NULL;
}

bool threads_run(void (*body)(void *context), void *const *contexts, size_t count, struct error *err)
{
    struct crew crew = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, GATE_SHUT, body};
    pthread_t threads[CALIBRATE_THREADS_MAX];
    struct member members[CALIBRATE_THREADS_MAX];
    size_t made = 0;
    int code = 0;
    must(count <= CALIBRATE_THREADS_MAX);
    for (; made < count; made++) {
        members[made] = (struct member){&crew, contexts[made]};
        code = pthread_create(&threads[made], NULL, wait_and_run, &members[made]);
        if (code != 0)
            break;
    }
    pthread_mutex_lock(&crew.lock);
    crew.gate = made == count ? GATE_OPEN : GATE_CALLED_OFF;
    pthread_cond_broadcast(&crew.changed);
    pthread_mutex_unlock(&crew.lock);
    for (size_t i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    pthread_cond_destroy(&crew.changed);
    pthread_mutex_destroy(&crew.lock);
    return made == count || fail(err, STATUS_IO, "cannot start %zu threads: %s", count, strerror(code));
}
