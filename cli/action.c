/* The arguments that list and show actions share. */
#include "cli/action.h"

#include <errno.h>

#include "cli/common.h"

error_t action_parse(int key, char *text, struct action_input *input)
{
    struct error *err = input->arguments.err;
    switch (key) {
    case KEY_FORMAT:
        return parse_format(text, &input->format, err) ? 0 : EINVAL;
    case ARGP_KEY_ARG:
        if (input->what != NULL)
            return take_argument(&input->arguments, &input->name, text);
        fail(err, STATUS_USAGE, "unexpected argument \"%.80s\"", text);
        return EINVAL;
    case ARGP_KEY_NO_ARGS:
        if (input->what == NULL)
            return 0;
        fail(err, STATUS_USAGE, "which one? %s is missing", input->what);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    return action_parse(key, text, state->input);
}

bool action_start(int argc, char **argv, const char *what, const char *doc, struct action_input *input, int *status)
{
    static const struct argp_option options[] = {FORMAT_OPTION, HELP_OPTION, {0}};
    const struct argp argp = {options, parse, what, doc, NULL, NULL, NULL};
    struct error err;
    *input = (struct action_input){.what = what};
    *status = STATUS_OK;
    if (arguments_parse(&argp, argc, argv, &input->arguments, &err))
        return !input->arguments.helped;
    *status = report(&err);
    return false;
}
