/* `pocketload plot`: figures of what is stored. */
#include "results/plot.h"

#include <errno.h>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/common.h"

enum { KEY_EXPERIMENT = KEY_OWN, KEY_RUN };

struct plot_options {
    struct arguments arguments;
    const char *db;
    struct plot_spec spec;
};

static const struct argp_option options[] = {
    {"out", 'o', "FOLDER", 0, "where the figures go (default results/plots)", 0},
    {"experiment", KEY_EXPERIMENT, "NAME", 0, "which experiment (default: the one stored last)", 0},
    {"run", KEY_RUN, "KEY", 0,
     "the run whose memory and tokens are drawn, by its key or the first digits of it, at least 6 (default: the best "
     "at the largest budget at which policies differ)",
     0},
    HELP_OPTION,
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct plot_options *plot = state->input;
    switch (key) {
    case 'o':
        plot->spec.folder = text;
        return 0;
    case KEY_EXPERIMENT:
        plot->spec.experiment = text;
        return 0;
    case KEY_RUN:
        plot->spec.run_key = text;
        return 0;
    case ARGP_KEY_ARG:
        return take_argument(&plot->arguments, &plot->db, text);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void made(void *context, const char *path)
{
    (void)context;
    puts(path);
}

int command_plot(int argc, char **argv)
{
    static const struct argp argp = {options,
                                     parse,
                                     "[DB]",
                                     "Draws figures of a database (default results/runs.db) with gnuplot. Each leaves "
                                     "its script and its data beside it, to restyle it.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct plot_options plot = {.spec.folder = "results/plots"};
    struct error err;
    if (!arguments_parse(&argp, argc, argv, &plot.arguments, &err))
        return report(&err);
    if (plot.arguments.helped)
        return STATUS_OK;
    struct store *store;
    if (!store_open_read(plot.db != NULL ? plot.db : "results/runs.db", &store, &err))
        return report(&err);
    bool good = plot_all(store, &plot.spec, made, NULL, &err);
    struct error closing;
    bool closed = store_close(store, good ? &err : &closing);
    return good && closed ? STATUS_OK : report(&err);
}
