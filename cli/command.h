/* The commands of the program, and how one is found by its name. */
#ifndef POCKETLOAD_CLI_COMMAND_H
#define POCKETLOAD_CLI_COMMAND_H

#include <stddef.h>

struct command {
    const char *name;
    const char *arguments; /* as the usage line shows them */
    const char *summary;
    /* argv[0] is the whole name, "pocketload device show". Prints its own errors; returns the exit code. */
    int (*run)(int argc, char **argv);
};

/* Runs the command that argv[1] names. argv[0] is the name so far; --help lists the commands. */
int command_dispatch(const struct command *commands, size_t count, int argc, char **argv);

/* Writes the list of commands to stdout. */
void command_list(const char *name, const struct command *commands, size_t count);

int command_run(int argc, char **argv);
int command_replay(int argc, char **argv);
int command_mrc(int argc, char **argv);
int command_plot(int argc, char **argv);
int command_calibrate(int argc, char **argv);
int command_device(int argc, char **argv);
int command_model(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_validate(int argc, char **argv);

/* "help", "help COMMAND ...": what --help says there; "help config": the keys of a config. */
int command_help(const struct command *commands, size_t count, int argc, char **argv);

#endif
