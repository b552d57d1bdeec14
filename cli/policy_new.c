/* `pocketload policy new`: a policy to start from, and the commands that build, check and run it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/arguments.h"
#include "cli/common.h"
#include "cli/policy.h"
#include "policies/plugin.h"
#include "policies/registry.h"

enum { KEY_KIND = KEY_OWN, LEVELS_UP = 3, COMMAND_TEXT = PATH_MAX * 4 + 8 };

struct new_input {
    struct arguments arguments;
    const char *name;
    enum policy_kind kind;
};

/* The templates, line by line: policies/example/template_KIND.c. */
static const char *const evict_lines[] = {
#include "template_evict.inc"
};
static const char *const pin_lines[] = {
#include "template_pin.inc"
};
static const char *const prefetch_lines[] = {
#include "template_prefetch.inc"
};
static const char *const admit_lines[] = {
#include "template_admit.inc"
};

#define LINES(lines)                                                                                                   \
    {                                                                                                                  \
        lines, sizeof(lines) / sizeof *(lines)                                                                         \
    }
static const struct {
    const char *const *lines;
    size_t count;
} templates[POLICY_KINDS_COUNT] = {
    [POLICY_EVICT] = LINES(evict_lines),
    [POLICY_PIN] = LINES(pin_lines),
    [POLICY_PREFETCH] = LINES(prefetch_lines),
    [POLICY_ADMIT] = LINES(admit_lines),
};

/* ---- Arguments ---- */

static const struct argp_option options[] = {
    {"kind", KEY_KIND, "KIND", 0, "evict (default), pin, prefetch or admit", 0},
    HELP_OPTION,
    {0},
};

static bool parse_kind(const char *text, enum policy_kind *kind, struct error *err)
{
    for (int k = 0; k < POLICY_KINDS_COUNT; k++)
        if (strcmp(text, policy_kind_names[k]) == 0) {
            *kind = (enum policy_kind)k;
            return true;
        }
    char near[ERROR_PART];
    return fail(err, STATUS_USAGE, "--kind: unknown kind \"%.80s\"%s", text,
                suggest_text(text, policy_kind_names, POLICY_KINDS_COUNT, near, sizeof near));
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct new_input *input = state->input;
    switch (key) {
    case KEY_KIND:
        return parse_kind(text, &input->kind, input->arguments.err) ? 0 : EINVAL;
    case ARGP_KEY_ARG:
        return take_argument(&input->arguments, &input->name, text);
    case ARGP_KEY_NO_ARGS:
        fail(input->arguments.err, STATUS_USAGE, "which name? NAME is missing");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool check_name(const char *name, struct error *err)
{
    size_t length = strlen(name);
    bool good = length >= 1 && length <= POLICY_NAME_MAX && name[0] >= 'a' && name[0] <= 'z' &&
                strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
    return good ||
           fail(err, STATUS_USAGE,
                "policy new: \"%.40s\" is no name; expected a letter, then letters, digits and '-', at most %d, "
                "all small",
                name, POLICY_NAME_MAX);
}

/* ---- Places ---- */

struct places {
    char program[COMMAND_TEXT], include[COMMAND_TEXT], config[COMMAND_TEXT]; /* as a shell reads them; "": not found */
};

/* A path as a word of a shell command, from here when it is below this folder. */
static void shell_word(const char *path, char out[COMMAND_TEXT])
{
    char here[PATH_MAX];
    size_t length = getcwd(here, sizeof here) != NULL ? strlen(here) : 0;
    if (length > 1 && strncmp(path, here, length) == 0 && path[length] == '/')
        path += length + 1;
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-=@%:";
    bool quoted = path[strspn(path, plain)] != '\0';
    char *to = out;
    if (quoted)
        *to++ = '\'';
    for (; *path != '\0' && to < out + COMMAND_TEXT - 8; path++) {
        if (*path == '\'')
            to = stpcpy(to, "'\\''");
        else
            *to++ = *path;
    }
    if (quoted)
        *to++ = '\'';
    *to = '\0';
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Takes FOLDER/SUB for the include folder if the contract is there, and FOLDER/CONFIG for the example. */
static bool take_places(struct places *places, const char *folder, const char *sub, const char *config)
{
    char include[PATH_MAX], file[PATH_MAX + 32];
    if (snprintf(include, sizeof include, "%s%s", folder, sub) >= (int)sizeof include)
        return false;
    snprintf(file, sizeof file, "%s/policies/policy.h", include);
    if (!is_file(file))
        return false;
    shell_word(include, places->include);
    snprintf(file, sizeof file, "%s/%s", folder, config);
    if (is_file(file))
        shell_word(file, places->config);
    return true;
}

/* "pocketload" when the shell finds this program by that name. */
static void name_program(struct places *places, const char *program)
{
    char path[PATH_MAX], real[PATH_MAX];
    const char *folders = getenv("PATH");
    shell_word(program, places->program);
    while (folders != NULL && *folders != '\0') {
        int length = (int)strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/pocketload", length, folders);
        if (access(path, X_OK) == 0) { /* the first one is what a shell would run */
            if (realpath(path, real) != NULL && strcmp(real, program) == 0)
                strcpy(places->program, "pocketload");
            return;
        }
        folders += length + (folders[length] == ':');
    }
}

static bool find_places(struct places *places, struct error *err)
{
    static const char installed[] = "share/pocketload/examples/quickstart.ini", own[] = "configs/quickstart.ini";
    char folder[PATH_MAX];
    *places = (struct places){.program = "pocketload"};
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    bool found = false;
    if (length > 0) {
        folder[length] = '\0';
        name_program(places, folder);
        for (int level = 0; !found && level <= LEVELS_UP; level++) {
            char *slash = strrchr(folder, '/');
            if (slash == NULL || slash == folder)
                break;
            *slash = '\0';
            found = (level == 1 && take_places(places, folder, "/include/pocketload", installed)) ||
                    take_places(places, folder, "", own);
        }
    }
    return found || take_places(places, ".", "", own) ||
           take_places(places, POCKETLOAD_PREFIX, "/include/pocketload", installed) ||
           fail(err, STATUS_IO, "cannot find policies/policy.h near the program or in %s/include/pocketload",
                POCKETLOAD_PREFIX);
}

/* ---- The file ---- */

/* The template with the policy's name in place of "template". */
static bool write_template(const char *path, const struct new_input *input, struct error *err)
{
    static const char mark[] = "\"template\"";
    FILE *file = fopen(path, "wx");
    if (file == NULL)
        return errno == EEXIST ? fail(err, STATUS_USAGE, "%s is there already; expected a name that is not taken", path)
                               : fail(err, STATUS_IO, "%s: cannot be written: %s", path, strerror(errno));
    for (size_t i = 0; i < templates[input->kind].count; i++) {
        const char *line = templates[input->kind].lines[i], *at = strstr(line, mark);
        if (at != NULL)
            fprintf(file, "%.*s\"%s\"%s", (int)(at - line), line, input->name, at + strlen(mark));
        else
            fputs(line, file);
    }
    bool good = ferror(file) == 0;
    good = fclose(file) == 0 && good;
    if (!good) {
        fail(err, STATUS_IO, "%s: cannot be written: %s", path, strerror(errno));
        unlink(path);
    }
    return good;
}

static void print_commands(const struct new_input *input, const struct places *places)
{
    const char *name = input->name, *others = input->kind == POLICY_EVICT ? "" : "lru+";
    printf("%s.c is %s %s that works. Change it, then build, check and run it:\n\n", name,
           input->kind == POLICY_EVICT || input->kind == POLICY_ADMIT ? "an" : "a", policy_kind_titles[input->kind]);
    printf("  cc -std=c17 -O2 -Wall -fPIC -shared -I %s %s.c -o %s.so\n", places->include, name, name);
    printf("  %s policy check ./%s.so\n", places->program, name);
    if (places->config[0] != '\0')
        printf("  %s run %s --db none --set policy.name=lru,%s./%s.so\n", places->program, places->config, others,
               name);
    else
        printf("  %s replay TRACE --policy lru,%s./%s.so --capacity 10%%\n", places->program, others, name);
}

int policy_new(int argc, char **argv)
{
    static const struct argp argp = {options,
                                     parse,
                                     "NAME",
                                     "Writes NAME.c, a policy that works and that you change into your own, and prints "
                                     "the commands that build it, check it and run it beside LRU.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct new_input input = {.kind = POLICY_EVICT};
    struct places places;
    struct error err;
    char path[POLICY_NAME_MAX + 4];
    if (!arguments_parse(&argp, argc, argv, &input.arguments, &err))
        return report(&err);
    if (input.arguments.helped)
        return STATUS_OK;
    if (!check_name(input.name, &err) || !find_places(&places, &err))
        return report(&err);
    snprintf(path, sizeof path, "%s.c", input.name);
    if (!write_template(path, &input, &err))
        return report(&err);
    print_commands(&input, &places);
    return STATUS_OK;
}
