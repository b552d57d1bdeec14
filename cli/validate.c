/* `pocketload validate`: every model against every measured truth. */
#include "results/validate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_file.h"
#include "base/suggest.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/common.h"

enum { KEY_FAMILY = KEY_OWN, KEY_DEVICE };

struct validate_input {
    struct arguments arguments;
    const char **paths;
    size_t path_count;
    const char *families[VALIDATE_FAMILIES_MAX];
    size_t family_count;
    const char *device;
    enum format format;
};

static bool add_family(void *context, const char *text, struct error *err)
{
    struct validate_input *input = context;
    const char *names[VALIDATE_FAMILIES_MAX];
    const size_t count = validate_family_names(names);
    if (input->family_count == VALIDATE_FAMILIES_MAX)
        return fail(err, STATUS_USAGE, "more than %d families", VALIDATE_FAMILIES_MAX);
    input->families[input->family_count] = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            input->families[input->family_count] = names[i];
    if (input->families[input->family_count++] != NULL)
        return true;
    char near[ERROR_PART];
    return fail(err, STATUS_USAGE, "unknown family \"%.60s\"%s", text,
                suggest_text(text, names, count, near, sizeof near));
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct validate_input *input = state->input;
    struct error *err = input->arguments.err;
    bool good = true;
    switch (key) {
    case KEY_FAMILY:
        good = list_split(text, add_family, input, err) || fail_in(err, "--family");
        break;
    case KEY_DEVICE:
        input->device = text;
        break;
    case KEY_FORMAT:
        good = parse_format(text, &input->format, err);
        break;
    case ARGP_KEY_ARG:
        input->paths[input->path_count++] = text;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return good ? 0 : EINVAL;
}

static int run(const struct validate_input *input)
{
    struct error err;
    struct profile_dirs dirs;
    struct validation validation;
    size_t off, skipped;
    profile_dirs_find(&dirs);
    const struct validate_options options = {.paths = input->paths,
                                             .path_count = input->path_count,
                                             .families = input->families,
                                             .family_count = input->family_count,
                                             .device = input->device,
                                             .profile_dirs = dirs.list};
    const bool good =
        validate(&options, &validation, &err) && validation_print(stdout, input->format, &validation, &err);
    int status = good ? STATUS_OK : report(&err);
    if (good && !validation_good(&validation, &off, &skipped)) {
        status = STATUS_CHECK;
        fprintf(stderr, "pocketload: %zu of %zu rows and medians are outside their limits\n", off,
                validation.row_count);
    }
    validation_free(&validation);
    return status;
}

int command_validate(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"family", KEY_FAMILY, "NAME,...", 0, "only these families of measurements", 0},
        {"device", KEY_DEVICE, "PROFILE", 0, "the phone of files that name none", 0},
        FORMAT_OPTION,
        HELP_OPTION,
        {0},
    };
    static const struct argp argp = {
        options,
        parse,
        "[FILE|FOLDER...]",
        "Simulates what was measured and prints both: by default the measurements that come with the program, else "
        "those "
        "of the files and folders named. Exits with 1 when a row is outside what the project claims.",
        NULL,
        NULL,
        NULL};
    struct error err;
    struct validate_input input = {.paths = calloc((size_t)argc + 1, sizeof *input.paths)};
    if (input.paths == NULL) {
        fail(&err, STATUS_IO, "out of memory");
        return report(&err);
    }
    int status = STATUS_OK;
    if (!arguments_parse(&argp, argc, argv, &input.arguments, &err))
        status = report(&err);
    else if (!input.arguments.helped)
        status = run(&input);
    free(input.paths);
    return status;
}
