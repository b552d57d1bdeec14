/* Checks the arguments of a command against its option table, then lets argp read them. */
#include "cli/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/common.h"

enum { OPTIONS_MAX = 32 };

static bool is_end(const struct argp_option *option)
{
    return option->name == NULL && option->key == 0;
}

/* The option of that spelling; getopt accepts an unambiguous beginning of a name as well. */
static const struct argp_option *find_long(const struct argp *argp, const char *text, size_t length,
                                           const char *command, struct error *err)
{
    const struct argp_option *found = NULL;
    const char *names[OPTIONS_MAX];
    size_t count = 0;
    for (const struct argp_option *o = argp->options; !is_end(o); o++) {
        if (o->name == NULL)
            continue;
        must(count < OPTIONS_MAX);
        names[count++] = o->name;
        if (strncmp(o->name, text, length) != 0)
            continue;
        if (o->name[length] == '\0')
            return o;
        if (found != NULL) {
            fail(err, STATUS_USAGE, "%s: option --%.*s could be --%s or --%s", command, (int)length, text, found->name,
                 o->name);
            return NULL;
        }
        found = o;
    }
    if (found != NULL && length > 0)
        return found;
    char word[64];
    snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, text);
    const char *near = suggest(word, names, count);
    if (near != NULL)
        fail(err, STATUS_USAGE, "%s: unknown option --%s: did you mean --%s?", command, word, near);
    else
        fail(err, STATUS_USAGE, "%s: unknown option --%s; pocketload %s --help lists the options", command, word,
             command);
    return NULL;
}

static const struct argp_option *find_short(const struct argp *argp, char letter)
{
    for (const struct argp_option *o = argp->options; !is_end(o); o++)
        if (o->key == letter)
            return o;
    return NULL;
}

/* Checks the options of one argument; *skip is set when the next argument is an option's value. */
static bool check_argument(const struct argp *argp, const char *command, const char *text, bool last, bool *skip,
                           bool *help, struct error *err)
{
    const struct argp_option *option;
    if (text[1] == '-') {
        const char *name = text + 2, *equals = strchr(name, '=');
        size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
        option = find_long(argp, name, length, command, err);
        if (option == NULL)
            return false;
        if (option->arg == NULL && equals != NULL)
            return fail(err, STATUS_USAGE, "%s: option --%s takes no value", command, option->name);
        *skip = option->arg != NULL && equals == NULL;
    } else {
        const char *letter = text + 1;
        for (option = NULL; *letter != '\0'; letter++) {
            option = find_short(argp, *letter);
            if (option == NULL)
                return fail(err, STATUS_USAGE, "%s: unknown option -%c; pocketload %s --help lists the options",
                            command, *letter, command);
            if (option->arg != NULL)
                break;
        }
        *skip = option->arg != NULL && letter[1] == '\0';
    }
    if (*skip && last)
        return fail(err, STATUS_USAGE, "%s: option --%s needs a value (%s)", command, option->name, option->arg);
    *help = *help || option->key == 'h';
    return true;
}

bool arguments_parse(const struct argp *argp, int argc, char **argv, struct arguments *input, struct error *err)
{
    const char *command = short_name(argv[0]);
    input->err = err;
    bool skip = false;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (skip) {
            skip = false;
            continue;
        }
        if (argv[i][0] == '-' && argv[i][1] != '\0' &&
            !check_argument(argp, command, argv[i], i + 1 == argc, &skip, &input->helped, err))
            return false;
    }
    if (input->helped) {
        setenv("ARGP_HELP_FMT", "no-dup-args-note", 0); /* leaves out a note that says little */
        argp_help(argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, argv[0]);
        return true;
    }
    err->text[0] = '\0';
    error_t code = argp_parse(argp, argc, argv, ARGP_SILENT, NULL, input);
    if (code == 0)
        return true;
    if (err->text[0] == '\0')
        fail(err, STATUS_USAGE, "%s: %s", command, strerror(code));
    return false;
}

error_t take_argument(struct arguments *input, const char **value, const char *text)
{
    if (*value != NULL) {
        fail(input->err, STATUS_USAGE, "unexpected argument \"%.80s\": \"%.80s\" was given already", text, *value);
        return EINVAL;
    }
    *value = text;
    return 0;
}
