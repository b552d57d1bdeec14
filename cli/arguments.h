/* Options and arguments of a command, by argp, with errors as this program words them.
 *
 * Before argp reads the arguments they are checked against the command's option table: an unknown or ambiguous option,
 * a missing or an unwanted value gives one line with the nearest spelling. Every table holds HELP_OPTION. */
#ifndef POCKETLOAD_CLI_ARGUMENTS_H
#define POCKETLOAD_CLI_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>

#include "base/error.h"

/* Keys of long options that have no short form. */
enum { KEY_FIRST = 512, KEY_FORMAT = KEY_FIRST, KEY_OWN };

#define HELP_OPTION                                                                                                    \
    {                                                                                                                  \
        "help", 'h', NULL, 0, "show this help", -1                                                                     \
    }
#define FORMAT_OPTION                                                                                                  \
    {                                                                                                                  \
        "format", KEY_FORMAT, "FORMAT", 0, "table (for people), csv, json, jsonl or markdown", 0                       \
    }

/* The input of every parser: its structure begins with this. */
struct arguments {
    struct error *err;
    bool helped; /* --help was shown: the command is done */
};

/* Parses argv[1..]; argv[0] is the command's name. The argp's parser stores into `input` (which begins with struct
 * arguments), and on a bad value fills arguments.err and returns EINVAL. */
bool arguments_parse(const struct argp *argp, int argc, char **argv, struct arguments *input, struct error *err);

/* For a parser: takes the one positional argument into *value, or EINVAL with an error when there is one already. */
error_t take_argument(struct arguments *input, const char **value, const char *text);

#endif
