/* Prints the blocks of a stored run, as a config's policy.profile reads them. */
#include "cli/policy_profile.h"

#include <errno.h>

#include "cli/arguments.h"
#include "cli/common.h"
#include "results/block_rows.h"

enum { KEY_RUN = KEY_OWN };

struct profile_options {
    struct arguments arguments;
    const char *db, *run;
    enum format format;
};

static const struct argp_option options[] = {
    {"run", KEY_RUN, "KEY", 0,
     "the run, by its key or the first digits of it, at least 6 (see `pocketload run --format csv`)", 0},
    {"format", KEY_FORMAT, "FORMAT", 0, "csv (default, what policy.profile reads), table, json, jsonl or markdown", 0},
    HELP_OPTION,
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct profile_options *given = state->input;
    switch (key) {
    case KEY_RUN:
        given->run = text;
        return 0;
    case KEY_FORMAT:
        return parse_format(text, &given->format, given->arguments.err) ? 0 : EINVAL;
    case ARGP_KEY_ARG:
        return take_argument(&given->arguments, &given->db, text);
    case ARGP_KEY_SUCCESS:
        if (given->run != NULL)
            return 0;
        fail(given->arguments.err, STATUS_USAGE,
             "policy profile: option --run is missing; `pocketload run --format csv` prints the keys of runs");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool print_row(void *context, const struct block_row *row, struct error *err)
{
    return output_record(context, row, err);
}

static bool print_blocks(struct store *store, const struct profile_options *given, struct error *err)
{
    struct arena arena = {0};
    struct run_record record;
    struct output *output;
    bool good = store_get(store, given->run, &arena, &record, err) &&
                output_open(stdout, given->format, block_columns, block_column_count, NULL, 0, &output, err);
    if (good) {
        good = store_each_block(store, record.run_key, print_row, output, err);
        struct error closing;
        good = output_close(output, good ? err : &closing) && good;
    }
    arena_free(&arena);
    return good;
}

int policy_profile(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[DB]",
        "How often a stored run used each block (DB: results/runs.db): a profile for a config's "
        "policy.profile, which the prefetcher static-hot reads.",
        NULL,
        NULL,
        NULL};
    struct profile_options given = {.format = FORMAT_CSV, .db = NULL};
    struct error err, closing;
    if (!arguments_parse(&argp, argc, argv, &given.arguments, &err))
        return report(&err);
    if (given.arguments.helped)
        return STATUS_OK;
    struct store *store;
    if (!store_open_read(given.db ? given.db : "results/runs.db", &store, &err))
        return report(&err);
    bool good = print_blocks(store, &given, &err);
    bool closed = store_close(store, good ? &err : &closing);
    return good && closed ? STATUS_OK : report(&err);
}
