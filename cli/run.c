/* `pocketload run`: a config's runs, stored and ranked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/run_results.h"
#include "sim/farm.h"

enum { KEY_SET = KEY_OWN, KEY_DB, KEY_SHARD, KEY_FORCE, KEY_FAIL_ON_KILL, KEY_TIMEOUT, KEY_SUMMARY };
enum { SHARDS_MAX = 1 << 20, NOTES_RUNS_MAX = 256, NOTES_BYTES = 4096 };

struct run_options {
    struct arguments arguments;
    const char *config, *db;
    const char **overrides;
    size_t override_count;
    uint64_t jobs, shard, shards;
    int64_t timeout_ms; /* 0: none */
    bool force, fail_on_kill, quiet, summary;
    enum format format;
};

static const struct argp_option options[] = {
    {"set", KEY_SET, "SECTION.KEY=VALUE", 0, "set a value of the config, or a comma list of values (may be repeated)",
     0},
    {"db", KEY_DB, "FILE", 0, "database of runs (default results/runs.db); none: store nothing", 0},
    {"jobs", 'j', "N", 0, "runs at the same time (default: one for each processor)", 0},
    {"shard", KEY_SHARD, "I/N", 0, "only every N-th run, from the I-th (1 .. N)", 0},
    {"timeout", KEY_TIMEOUT, "TIME", 0,
     "end a run that computes for longer than this, such as 30s (default: 1min with a plug-in, else never)", 0},
    {"force", KEY_FORCE, NULL, 0, "run again what is stored already", 0},
    {"fail-on-kill", KEY_FAIL_ON_KILL, NULL, 0, "exit with 5 when the app was killed in any run", 0},
    {"summary", KEY_SUMMARY, NULL, 0,
     "one record for each policy and budget, over the seeds: means, 95 % intervals, and what differs", 0},
    {"quiet", 'q', NULL, 0, "no notes and no progress bar", 0},
    FORMAT_OPTION,
    HELP_OPTION,
    {0},
};

static bool parse_shard(const char *text, struct run_options *run, struct error *err)
{
    char first[24];
    const char *slash = strchr(text, '/');
    if (slash == NULL || (size_t)(slash - text) >= sizeof first)
        return fail(err, STATUS_USAGE, "--shard: \"%.80s\" is not I/N, such as 1/4", text);
    memcpy(first, text, (size_t)(slash - text));
    first[slash - text] = '\0';
    if (!parse_count(slash + 1, 1, SHARDS_MAX, &run->shards, err) ||
        !parse_count(first, 1, run->shards, &run->shard, err))
        return fail_in(err, "--shard \"%.80s\"", text);
    return true;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct run_options *run = state->input;
    struct error *err = run->arguments.err;
    bool good = true;
    switch (key) {
    case KEY_SET:
        run->overrides[run->override_count++] = text;
        break;
    case KEY_DB:
        run->db = text;
        good = text[0] != '\0' || fail(err, STATUS_USAGE, "--db: a file name is missing");
        break;
    case 'j':
        good = parse_count(text, 1, FARM_JOBS_MAX, &run->jobs, err) || fail_in(err, "--jobs");
        break;
    case KEY_SHARD:
        good = parse_shard(text, run, err);
        break;
    case KEY_TIMEOUT:
        good = parse_timeout(text, &run->timeout_ms, err);
        break;
    case KEY_FORCE:
        run->force = true;
        break;
    case KEY_FAIL_ON_KILL:
        run->fail_on_kill = true;
        break;
    case KEY_SUMMARY:
        run->summary = true;
        break;
    case 'q':
        run->quiet = true;
        break;
    case KEY_FORMAT:
        good = parse_format(text, &run->format, err);
        break;
    case ARGP_KEY_ARG:
        return take_argument(&run->arguments, &run->config, text);
    case ARGP_KEY_NO_ARGS:
        good = fail(err, STATUS_USAGE, "run: which config? For example: pocketload run configs/quickstart.ini");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return good ? 0 : EINVAL;
}

struct farm_context {
    struct run_results *results;
    const size_t *places; /* of experiment runs: where its results go */
    struct progress progress;
    size_t done;
};

static bool finished(void *context, size_t index, const struct run_result *result, const struct error *error,
                     struct error *err)
{
    struct farm_context *farm = context;
    struct run_results *results = farm->results;
    farm->done++;
    if (result != NULL) {
        if (!results_add(results, farm->places[index], result, err))
            return false;
    } else {
        results->failed++;
        if (error->code == STATUS_CHECK && !results_add_failure(results, farm->places[index], error, err))
            return false;
        if ((int)error->code > results->status)
            results->status = (int)error->code;
        progress_hide(&farm->progress);
        if (results_first_time(results, error->text, strlen(error->text)))
            report(error);
    }
    progress_show(&farm->progress, farm->done);
    return true;
}

static bool compute(const struct run_options *run, struct run_results *results, const size_t *todo, size_t count,
                    struct error *err)
{
    struct farm_context context = {.results = results};
    size_t total = experiment_run_count(results->experiment);
    size_t *places = calloc(total + 1, sizeof *places), *indices = calloc(count + 1, sizeof *indices);
    bool good = (places != NULL && indices != NULL) || fail(err, STATUS_IO, "out of memory");
    if (good) {
        for (size_t i = 0; i < count; i++) {
            indices[i] = results->indices[todo[i]];
            places[indices[i]] = todo[i];
        }
        context.places = places;
        bool stopped; /* also told by *results->stop, for the steps before and after */
        const struct farm_options farm_options = {
            .jobs = (unsigned)run->jobs, .timeout_ms = run->timeout_ms, .stop = results->stop};
        progress_start(&context.progress, count, !run->quiet);
        good = farm_run(results->experiment, indices, count, &farm_options, finished, &context, &stopped, err);
        progress_hide(&context.progress);
    }
    free(places);
    free(indices);
    return good;
}

/* Tells what a reader of the table should know; equal notes once. */
static bool print_notes(struct run_results *results, struct error *err)
{
    char text[NOTES_BYTES];
    for (size_t place = 0; place < results->count && place < NOTES_RUNS_MAX; place++) {
        if (!results->has_record[place] || results->records[place].numbers.outcome == OUTCOME_FAILED)
            continue;
        const struct run_record *record = &results->records[place];
        if (record->note[0] != '\0') {
            char remark[NOTES_BYTES];
            int length = snprintf(remark, sizeof remark, "%s: %s", record->policy, record->note);
            if (results_first_time(results, remark, (size_t)length))
                fprintf(stderr, "note: %s\n", remark);
        }
        if (!experiment_notes(results->experiment, results->indices[place], &results->prepared, text, sizeof text, err))
            return false;
        for (const char *line = text; *line != '\0';) {
            size_t length = strcspn(line, "\n");
            if (results_first_time(results, line, length))
                fprintf(stderr, "note: %.*s\n", (int)length, line);
            line += length + (line[length] == '\n');
        }
    }
    return true;
}

static bool print_results(const struct run_options *run, struct run_results *results, struct error *err)
{
    if (run->summary)
        return results_print_summary(results, run->format, err) && finish_stdout(err);
    if (run->format != FORMAT_TABLE) {
        struct output *output;
        if (!output_open(stdout, run->format, run_columns, run_column_count, NULL, 0, &output, err))
            return false;
        bool good = true;
        for (size_t i = 0; good && i < results->count; i++)
            good = !results->has_record[i] || output_record(output, &results->records[i], err);
        struct error closing;
        bool closed = output_close(output, good ? err : &closing);
        return good && closed;
    }
    return results_print_ranking(results, (unsigned)run->jobs, wants_color(stdout), err) && finish_stdout(err);
}

/* Failed runs have told why on stderr: people need no table of nothing else, machines get their records. */
static bool any_record(const struct run_options *run, const struct run_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->has_record[i] &&
            (run->format != FORMAT_TABLE || results->records[i].numbers.outcome != OUTCOME_FAILED))
            return true;
    return false;
}

static bool any_killed(const struct run_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->has_record[i] && (results->records[i].numbers.outcome == OUTCOME_KILLED ||
                                       results->records[i].numbers.outcome == OUTCOME_REJECTED))
            return true;
    return false;
}

/* What a user who ended it wants to know: what is kept, and how to go on. */
static void tell_stop(const struct run_options *run, const struct run_results *results)
{
    fprintf(stderr, "pocketload: stopped by %s", interrupt_name(*results->stop));
    if (results->computed == 0) {
        fprintf(stderr, " before a run was finished\n");
    } else if (results->db == NULL) {
        fprintf(stderr, ": %zu of %zu runs were finished, none is stored (--db none)\n", results->computed,
                results->count);
    } else {
        size_t stored = 0;
        for (size_t i = 0; i < results->count; i++)
            stored += results->has_record[i];
        fprintf(stderr, ": %zu of %zu runs are stored in %s; the same command%s goes on\n", stored, results->count,
                results->db, run->force ? " without --force" : "");
    }
}

static bool run_all(const struct run_options *run, struct run_results *results, struct error *err)
{
    size_t *todo = calloc(results->count + 1, sizeof *todo), todo_count = 0;
    bool good = todo != NULL || fail(err, STATUS_IO, "out of memory");
    good = good && results_known(results, run->force, todo, &todo_count, err) &&
           compute(run, results, todo, todo_count, err) && results_close(results, err);
    free(todo);
    if (!good)
        return false;
    /* All is stored: from here on, a signal may end the program where it is. */
    interrupts_release();
    if (*results->stop != 0) {
        tell_stop(run, results);
        return true;
    }
    if (run->fail_on_kill && results->status == STATUS_OK && any_killed(results))
        results->status = STATUS_KILLED;
    if (run->format == FORMAT_TABLE && !run->quiet) {
        size_t stored = results->count - todo_count;
        if (stored > 0)
            fprintf(stderr, "note: %zu of %zu runs were in %s already (--force runs them again)\n", stored,
                    results->count, results->db);
        if (!print_notes(results, err))
            return false;
    }
    /* Runs whose input failed have told why; a list without them would look like a result. */
    if (!any_record(run, results) && results->count > 0)
        return true;
    return print_results(run, results, err);
}

static int run_config(struct run_options *run)
{
    struct error err;
    struct experiment *experiment;
    struct profile_dirs dirs;
    profile_dirs_find(&dirs);
    if (!experiment_read(run->config, run->overrides, run->override_count, dirs.list, &experiment, &err))
        return report(&err);
    const char *db = strcmp(run->db, "none") == 0 ? NULL : run->db;
    struct run_results results;
    bool good = results_start(&results, experiment, db, run->shard, run->shards, interrupts_catch(), &err) &&
                run_all(run, &results, &err);
    int status = good ? results.status : report(&err);
    if (!results_finish(&results, &err) && status == STATUS_OK)
        status = report(&err);
    experiment_free(experiment);
    interrupts_raise();
    return status;
}

int command_run(int argc, char **argv)
{
    static const struct argp argp = {options,
                                     parse,
                                     "CONFIG",
                                     "Runs every combination of a config whose values may be comma lists, stores each "
                                     "run, and ranks the policies. Runs that are stored are not run again.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct run_options run = {.db = "results/runs.db", .shard = 1, .shards = 1, .jobs = farm_default_jobs()};
    struct error err;
    run.overrides = calloc((size_t)argc + 1, sizeof *run.overrides);
    if (run.overrides == NULL) {
        fail(&err, STATUS_IO, "out of memory");
        return report(&err);
    }
    int status = STATUS_OK;
    if (!arguments_parse(&argp, argc, argv, &run.arguments, &err))
        status = report(&err);
    else if (!run.arguments.helped)
        status = run_config(&run);
    free(run.overrides);
    return status;
}
