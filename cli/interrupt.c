/* Signals that ask a command to end. */
#include "cli/interrupt.h"

#include <stddef.h>

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* A handler can reach nothing else than what is global. */
static volatile sig_atomic_t caught;

static void note(int number)
{
    if (caught == 0)
        caught = number;
}

/* Gives each signal the new meaning, unless it is ignored: a shell's background jobs and nohup want that. */
static void set_handlers(void (*handler)(int))
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction action;
        if (sigaction(signals[i].number, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
            continue;
        action = (struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(signals[i].number, &action, NULL);
    }
}

const volatile sig_atomic_t *interrupts_catch(void)
{
    caught = 0;
    set_handlers(note);
    return &caught;
}

void interrupts_release(void)
{
    set_handlers(SIG_DFL);
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
