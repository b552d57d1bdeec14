/* `pocketload help`. */
#include <string.h>

#include "cli/action.h"
#include "cli/command.h"
#include "cli/config_keys.h"

enum { DEPTH_MAX = 4 };

static int help_config(int argc, char **argv)
{
    struct action_input input;
    int status;
    if (!action_start(argc, argv, NULL, "Lists the keys of a config.", &input, &status))
        return status;
    struct error err;
    return show_config_keys(input.format, &err) ? STATUS_OK : report(&err);
}

int command_help(const struct command *commands, size_t count, int argc, char **argv)
{
    char program[] = "pocketload", config[] = "pocketload help config", option[] = "--help";
    if (argc >= 2 && strcmp(argv[1], "config") == 0) {
        argv[1] = config;
        return help_config(argc - 1, argv + 1);
    }
    char *words[DEPTH_MAX + 2] = {program};
    int length = 1;
    for (int i = 1; i < argc && length <= DEPTH_MAX; i++)
        words[length++] = argv[i];
    words[length++] = option;
    return command_dispatch(commands, count, length, words);
}
