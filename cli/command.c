/* Finds a command, or a command's action, by name. */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/common.h"

enum { COMMANDS_MAX = 32, NAME_MAX_BYTES = 256 };

void command_list(const char *name, const struct command *commands, size_t count)
{
    printf("Usage: %s COMMAND ...\n\n", name);
    for (size_t i = 0; i < count; i++) {
        char usage[NAME_MAX_BYTES];
        snprintf(usage, sizeof usage, "%s %s", commands[i].name, commands[i].arguments);
        printf("  %-34s %s\n", usage, commands[i].summary);
    }
    printf("\n%s COMMAND --help tells more about one.\n", name);
}

int command_dispatch(const struct command *commands, size_t count, int argc, char **argv)
{
    struct error err;
    const char *names[COMMANDS_MAX];
    must(count <= COMMANDS_MAX);
    for (size_t i = 0; i < count; i++)
        names[i] = commands[i].name;
    const char *name = short_name(argv[0]), *separator = ": ";
    if (name == argv[0]) /* the program itself, which every error names */
        name = separator = "";
    char near[ERROR_PART];
    if (argc < 2) {
        fail(&err, STATUS_USAGE, "%s%sno command given%s", name, separator,
             suggest_text("", names, count, near, sizeof near));
        return report(&err);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        command_list(argv[0], commands, count);
        return STATUS_OK;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            char whole[NAME_MAX_BYTES];
            snprintf(whole, sizeof whole, "%s %s", argv[0], argv[1]);
            argv[1] = whole;
            return commands[i].run(argc - 1, argv + 1);
        }
    if (argv[1][0] == '-')
        fail(&err, STATUS_USAGE, "%s%sunknown option \"%.80s\"; expected a command, or --help", name, separator,
             argv[1]);
    else
        fail(&err, STATUS_USAGE, "%s%sunknown command \"%.80s\"%s", name, separator, argv[1],
             suggest_text(argv[1], names, count, near, sizeof near));
    return report(&err);
}
