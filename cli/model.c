/* `pocketload model`: the model profiles, and what a model holds and needs. */
#include "workloads/model.h"

#include <stdlib.h>

#include "cli/action.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/model_quants.h"
#include "cli/model_row.h"
#include "cli/model_show.h"
#include "sim/experiment.h"

static int list(int argc, char **argv)
{
    struct action_input input;
    int status;
    if (!action_start(argc, argv, NULL, "Lists the model profiles.", &input, &status))
        return status;
    struct profile_dirs dirs;
    struct error err;
    char **names = NULL;
    size_t count = 0;
    profile_dirs_find(&dirs);
    bool good = profile_list("model", dirs.list, &names, &count, &err);
    struct model_row *rows = good ? calloc(count + 1, sizeof *rows) : NULL;
    if (good && rows == NULL)
        good = fail(&err, STATUS_IO, "out of memory");
    for (size_t i = 0; good && i < count; i++) {
        struct shape shape;
        char label[MODEL_NAME_BYTES];
        good = profile_read_model(names[i], dirs.list, &shape, label, &err);
        if (good)
            model_row_shape(names[i], &shape, &rows[i]);
    }
    good = good && show_records(input.format, model_columns, MODEL_SHAPE_COLUMNS, rows, sizeof *rows, count, &err);
    free(rows);
    free(names);
    return good ? STATUS_OK : report(&err);
}

int command_model(int argc, char **argv)
{
    static const struct command actions[] = {
        {"list", "", "the model profiles", list},
        {"show", "PROFILE|FILE", "shape, blocks and sizes of one", model_show},
        {"quants", "PROFILE|config.json", "the sizes of one in every quantisation", model_quants},
    };
    return command_dispatch(actions, sizeof actions / sizeof actions[0], argc, argv);
}
