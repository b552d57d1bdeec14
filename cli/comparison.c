/* Options, input and replays of `replay` and `mrc`. */
#include "cli/comparison.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_file.h"
#include "base/units.h"
#include "cli/command.h"
#include "workloads/workload.h"

enum { LIST_MAX = 4096, CELLS_MAX = 1 << 20 };
#define BOUND_POLICY "belady"

/* ---- Options ---- */

void comparison_defaults(struct comparison_options *options)
{
    *options = (struct comparison_options){.evict_when = EVICT_BEFORE_INSERT, .seed = 1, .jobs = farm_default_jobs()};
}

static bool parse_number(int key, const char *text, struct comparison_options *options, struct error *err)
{
    if (key == 'j')
        return parse_count(text, 1, FARM_JOBS_MAX, &options->jobs, err) || fail_in(err, "--jobs");
    return parse_count(text, 0, UINT64_MAX, &options->seed, err) || fail_in(err, "--seed");
}

static error_t check_given(const struct comparison_options *options, const char *command)
{
    struct error *err = options->arguments.err;
    if (options->trace == NULL)
        fail(err, STATUS_USAGE, "%s: which trace?", command);
    else if (options->policies == NULL)
        fail(err, STATUS_USAGE, "%s: option --policy is missing, such as --policy lru,fifo", command);
    else if (options->bounds && options->no_bounds)
        fail(err, STATUS_USAGE, "--no-bounds is given beside --bounds; expected one of them");
    else
        return 0;
    return EINVAL;
}

error_t comparison_parse(int key, char *text, struct comparison_options *options, const char *command)
{
    struct error *err = options->arguments.err;
    switch (key) {
    case KEY_POLICY:
        options->policies = text;
        return 0;
    case KEY_CAPACITY:
        options->capacities = text;
        return 0;
    case KEY_TRACE_FORMAT:
        options->trace_format = text;
        return 0;
    case KEY_SEED:
    case 'j':
        return parse_number(key, text, options, err) ? 0 : EINVAL;
    case KEY_TIMEOUT:
        return parse_timeout(text, &options->timeout_ms, err) ? 0 : EINVAL;
    case KEY_BOUNDS:
        options->bounds = true;
        return 0;
    case KEY_NO_BOUNDS:
        options->no_bounds = true;
        return 0;
    case KEY_FORMAT:
        return parse_format(text, &options->format, err) ? 0 : EINVAL;
    case ARGP_KEY_ARG:
        return take_argument(&options->arguments, &options->trace, text);
    case ARGP_KEY_SUCCESS:
        return check_given(options, command);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Input ---- */

static bool no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory");
}

static bool add_policy(void *context, const char *text, struct error *err)
{
    struct comparison *comparison = context;
    if (comparison->policy_count == LIST_MAX)
        return fail(err, STATUS_USAGE, "--policy: more than %d policies", LIST_MAX);
    void *grown = realloc(comparison->policies, (comparison->policy_count + 1) * sizeof *comparison->policies);
    if (grown == NULL)
        return no_memory(err);
    comparison->policies = grown;
    if (!policy_parse(text, &comparison->policies[comparison->policy_count], err))
        return fail_in(err, "--policy");
    comparison->policy_count++;
    return true;
}

bool comparison_add_capacity(struct comparison *comparison, const struct capacity *capacity, struct error *err)
{
    if (comparison->capacity_count == LIST_MAX)
        return fail(err, STATUS_USAGE, "--capacity: more than %d capacities", LIST_MAX);
    void *grown = realloc(comparison->capacities, (comparison->capacity_count + 1) * sizeof *comparison->capacities);
    if (grown == NULL)
        return no_memory(err);
    comparison->capacities = grown;
    comparison->capacities[comparison->capacity_count++] = *capacity;
    return true;
}

static bool parse_capacity(void *context, const char *text, struct error *err)
{
    struct comparison *comparison = context;
    struct capacity capacity;
    if (!capacity_parse(text, &comparison->model, &comparison->trace, comparison->has_bytes, &capacity, err))
        return fail_in(err, "--capacity");
    return comparison_add_capacity(comparison, &capacity, err);
}

bool comparison_for_people(const struct comparison *comparison)
{
    return comparison->options->format == FORMAT_TABLE || comparison->options->format == FORMAT_MARKDOWN;
}

/* Where the user named the bound among others it moves to the end, so that a table always ends with the bounds. */
static bool add_bounds(struct comparison *comparison, struct error *err)
{
    struct policy_choice *policies = comparison->policies;
    comparison->named_count = comparison->policy_count;
    comparison->bounds =
        comparison->options->bounds || (comparison_for_people(comparison) && !comparison->options->no_bounds);
    if (!comparison->bounds)
        return true;
    for (size_t p = 0; p < comparison->named_count; p++) {
        if (strcmp(policies[p].label, BOUND_POLICY) != 0)
            continue;
        const struct policy_choice bound = policies[p];
        memmove(&policies[p], &policies[p + 1], (comparison->policy_count - p - 1) * sizeof bound);
        policies[comparison->policy_count - 1] = bound;
        comparison->named_count -= comparison->policy_count > 1 ? 1 : 0;
        return true;
    }
    return add_policy(comparison, BOUND_POLICY, err);
}

bool comparison_start(struct comparison *comparison, const struct comparison_options *options, struct error *err)
{
    *comparison = (struct comparison){.options = options};
    if (!list_split(options->policies, add_policy, comparison, err) || !add_bounds(comparison, err))
        return false;
    comparison->has_trace = trace_read_alone(options->trace, options->trace_format, &comparison->trace,
                                             &comparison->model, &comparison->has_bytes, err);
    if (comparison->has_trace && comparison->trace.resized_count > 0)
        fprintf(stderr, "note: %" PRIu64 " records have another size than the first of their block, which counts\n",
                comparison->trace.resized_count);
    return comparison->has_trace &&
           (options->capacities == NULL || list_split(options->capacities, parse_capacity, comparison, err)) &&
           trace_distinct(&comparison->trace, &comparison->distinct, err) &&
           trace_context_make(&comparison->trace, comparison->distinct, common_size(&comparison->model),
                              comparison->has_bytes, &comparison->context, err);
}

void comparison_free(struct comparison *comparison)
{
    if (comparison->has_trace) {
        trace_free(&comparison->trace);
        model_free(&comparison->model);
    }
    replay_cells_free(comparison->cells, comparison->policy_count * comparison->capacity_count);
    free(comparison->cells);
    free(comparison->left_out);
    free(comparison->policies);
    free(comparison->capacities);
}

/* ---- Replays ---- */

/* A composition with a prefetcher is replayed without it, so that the policies of a config can be compared here too. */
static void note_prefetchers(const struct comparison *comparison)
{
    for (size_t p = 0; p < comparison->named_count; p++) {
        const struct policy_choice *choice = &comparison->policies[p];
        if (choice->prefetch.policy != NULL)
            fprintf(stderr, "note: %s: a replay has no time, so %s is left out\n", choice->label,
                    choice->prefetch_text);
    }
}

static void show_progress(void *context, size_t done)
{
    progress_show(context, done);
}

bool comparison_run(struct comparison *comparison, struct error *err)
{
    const struct comparison_options *options = comparison->options;
    const size_t cells = comparison->policy_count * comparison->capacity_count;
    if (cells > CELLS_MAX)
        return fail(err, STATUS_USAGE, "%zu policies at %zu capacities; expected at most %d replays",
                    comparison->policy_count, comparison->capacity_count, CELLS_MAX);
    comparison->cells = calloc(cells + 1, sizeof *comparison->cells);
    if (comparison->cells == NULL)
        return no_memory(err);
    const struct replay_grid grid = {.setting = {.model = &comparison->model,
                                                 .trace = &comparison->trace,
                                                 .evict_when = options->evict_when,
                                                 .seed = options->seed},
                                     .policies = comparison->policies,
                                     .policy_count = comparison->policy_count,
                                     .capacities = comparison->capacities,
                                     .capacity_count = comparison->capacity_count,
                                     .left_out = comparison->left_out,
                                     .finished = show_progress,
                                     .context = &comparison->progress};
    const struct farm_options farm = {.jobs = (unsigned)options->jobs, .timeout_ms = options->timeout_ms};
    size_t count = cells;
    for (size_t i = 0; comparison->left_out != NULL && i < cells; i++)
        count -= comparison->left_out[i];
    bool stopped;
    progress_start(&comparison->progress, count, true);
    const bool good = replay_grid_run(&grid, &farm, comparison->cells, &stopped, err);
    progress_hide(&comparison->progress);
    if (good)
        note_prefetchers(comparison);
    return good;
}

int comparison_report(const struct comparison *comparison, bool *all)
{
    int status = STATUS_OK;
    *all = true;
    for (size_t i = 0; i < comparison->policy_count * comparison->capacity_count; i++) {
        const struct error *error = comparison->cells[i].error;
        *all = *all && (error != NULL || i % comparison->policy_count >= comparison->named_count);
        if (error != NULL) {
            report(error);
            status = (int)error->code > status ? (int)error->code : status;
        }
    }
    return status;
}

/* ---- Words ---- */

const char *comparison_label(const struct comparison *comparison, size_t policy, char out[POLICY_TEXT_MAX + 32])
{
    const bool bound = policy >= comparison->named_count && comparison_for_people(comparison);
    const char *kind = !bound ? "" : comparison->context.block_bytes > 0 ? " (bound)" : " (no bound)";
    snprintf(out, POLICY_TEXT_MAX + 32, "%s%s", comparison->policies[policy].label, kind);
    return out;
}

static const char *remark_at(const struct comparison *comparison, size_t policy, size_t capacity)
{
    const struct replay_cell *cell = &comparison->cells[capacity * comparison->policy_count + policy];
    return cell->error == NULL ? cell->result.remark : "";
}

/* The remark of a policy at capacity `first`, and at how many others it says the same. */
static void print_remark(const struct comparison *comparison, size_t policy, size_t first)
{
    const char *remark = remark_at(comparison, policy, first);
    for (size_t c = 0; c < first; c++)
        if (strcmp(remark_at(comparison, policy, c), remark) == 0)
            return;
    size_t same = 1, last = first;
    for (size_t c = first + 1; c < comparison->capacity_count; c++)
        if (strcmp(remark_at(comparison, policy, c), remark) == 0) {
            same++;
            last = c;
        }
    char others[CAPACITY_TEXT + 64] = "";
    if (same > 1)
        snprintf(others, sizeof others, " .. %s (%zu capacities)", comparison->capacities[last].text, same);
    printf("%snote: %s at %s%s: %s\n", comparison->options->format == FORMAT_MARKDOWN ? "\n" : "",
           comparison->policies[policy].label, comparison->capacities[first].text, others, remark);
}

void comparison_print_remarks(const struct comparison *comparison)
{
    for (size_t p = 0; p < comparison->policy_count; p++)
        for (size_t c = 0; c < comparison->capacity_count; c++)
            if (remark_at(comparison, p, c)[0] != '\0')
                print_remark(comparison, p, c);
}
