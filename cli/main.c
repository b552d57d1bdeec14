/* pocketload: the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/common.h"

static int help(int argc, char **argv);

static const struct command commands[] = {
    {"run", "CONFIG [OPTION...]", "run every combination of a config, store and rank the results", command_run},
    {"replay", "TRACE [OPTION...]", "policies alone, without time: hits, misses, bytes", command_replay},
    {"mrc", "TRACE [OPTION...]", "miss-ratio curves: misses by capacity", command_mrc},
    {"plot", "[DB] [OPTION...]", "figures of stored runs", command_plot},
    {"device", "list|show|flash", "phones: their profiles and their flash", command_device},
    {"calibrate", "[OPTION...]|fit FILE.csv", "measure this machine into a device profile", command_calibrate},
    {"model", "list|show", "models: their blocks and sizes", command_model},
    {"policy", "list|show|new|check|profile", "policies, your own among them", command_policy},
    {"validate", "[FILE|FOLDER...] [OPTION...]", "every model against measured truths", command_validate},
    {"trace", "list|show", "trace formats, and what is in a trace", command_trace},
    {"help", "[COMMAND ...|config]", "help on a command, or the keys of a config", help},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static int help(int argc, char **argv)
{
    return command_help(commands, COMMANDS, argc, argv);
}

static int dispatch(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        puts("pocketload " POCKETLOAD_VERSION);
        return STATUS_OK;
    }
    return command_dispatch(commands, COMMANDS, argc, argv);
}

int main(int argc, char **argv)
{
    char name[] = "pocketload";
    char *name_alone[] = {name, NULL};
    if (argc == 0) /* a caller of execve may leave even the name out */
        argv = name_alone;
    argv[0] = name;
    int status = dispatch(argc, argv);
    struct error err;
    if (!finish_stdout(&err) && status != STATUS_IO)
        status = report(&err);
    return status;
}
