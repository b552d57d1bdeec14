/* Actions that take at most one name, and options that many of them share: `device show NAME --format json`. */
#ifndef POCKETLOAD_CLI_ACTION_H
#define POCKETLOAD_CLI_ACTION_H

#include "cli/arguments.h"
#include "results/output.h"

struct action_input {
    struct arguments arguments;
    const char *what; /* what the argument is, for the error when it is missing; NULL: the action takes none */
    const char *name;
    enum format format;
};

/* The parser's part for a key that is not the action's own. */
error_t action_parse(int key, char *text, struct action_input *input);

/* An action without options of its own. False when the action is over: *status is its exit code then. */
bool action_start(int argc, char **argv, const char *what, const char *doc, struct action_input *input, int *status);

#endif
