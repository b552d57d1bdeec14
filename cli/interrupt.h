/* Signals that ask a command to end (SIGINT, SIGTERM, SIGHUP): noted, so that the command can clean up first, and
 * raised again when it has, so that its caller sees what ended it. A signal that was ignored at the start stays
 * ignored. A second one ends the program where it is. Meanwhile a reader that goes away (SIGPIPE) is a write error. */
#ifndef POCKETLOAD_CLI_INTERRUPT_H
#define POCKETLOAD_CLI_INTERRUPT_H

#include <signal.h>

/* From now on the first signal is only noted. The flag holds the number of the first one; 0: none came. */
const volatile sig_atomic_t *interrupts_catch(void);

/* From now on signals end the program again; SIGPIPE means what it did before. */
void interrupts_release(void);

/* "SIGINT" */
const char *interrupt_name(int number);

/* Ends the program by the signal that was noted; returns when there was none. */
void interrupts_raise(void);

#endif
