/* Signals that ask a command to end. */
#include "cli/interrupt.h"

#include <stddef.h>

#include "base/clock.h"

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};
/* An estimate: timeout(1) sends its signal twice, microseconds apart; nobody asks again that soon. */
#define SAME_NS INT64_C(20000000)
enum { SIGNALS = sizeof signals / sizeof *signals };

/* A handler can reach nothing else than what is global. */
static volatile sig_atomic_t caught;

static volatile int64_t caught_ns;

/* What SIGPIPE meant before. */
static struct sigaction pipe_before;

/* Gives each signal the new meaning, unless it is ignored: a shell's background jobs and nohup want that. */
static void set_handlers(void (*handler)(int))
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction action;
        if (sigaction(signals[i].number, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
            continue;
        action = (struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART};
        sigfillset(&action.sa_mask); /* no handler in a handler */
        sigaction(signals[i].number, &action, NULL);
    }
}

/* The one who asks again does not want to wait for what the first signal started. */
static void note(int number)
{
    if (caught == 0) {
        caught_ns = wall_clock_ns();
        caught = number;
    } else if (wall_clock_ns() - caught_ns > SAME_NS) {
        set_handlers(SIG_DFL);
        raise(number); /* comes when this handler is left */
    }
}

const volatile sig_atomic_t *interrupts_catch(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    caught = 0;
    sigaction(SIGPIPE, &ignore, &pipe_before);
    set_handlers(note);
    return &caught;
}

void interrupts_release(void)
{
    set_handlers(SIG_DFL);
    sigaction(SIGPIPE, &pipe_before, NULL);
}

const char *interrupt_name(int number)
{
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i].number == number)
            return signals[i].name;
    return "a signal";
}

void interrupts_raise(void)
{
    interrupts_release();
    if (caught != 0)
        raise(caught);
}
