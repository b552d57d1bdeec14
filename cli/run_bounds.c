/* What Belady's policy and the infinite cache would hit in the runs of a ranking: replays of their traces, without
 * time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run_results.h"
#include "sim/replay_grid.h"

/* In a ranking of more runs nobody reads bounds, and traces take time to make. */
enum { BOUND_RUNS_MAX = 256 };
/* In a larger one models are not built again only to tell their sizes. */
enum { SIZES_MAX = 4096 };

/* The runs that are ranked against others. */
struct bound_runs {
    struct run_results *results;
    struct ranking_bounds *bounds; /* by place */
    size_t places[BOUND_RUNS_MAX];
    char trace_keys[BOUND_RUNS_MAX][RUN_KEY_TEXT];
    bool done[BOUND_RUNS_MAX];
    size_t count;
    unsigned jobs;
};

static bool has_rival(const struct run_results *results, size_t place)
{
    const struct run_record *record = &results->records[place];
    for (size_t i = 0; i < results->count; i++)
        if (i != place && results->has_record[i] && results->records[i].budget_bytes == record->budget_bytes &&
            ranking_compare_settings(&results->records[i], record) == 0)
            return true;
    return false;
}

/* *too_many: there are so many that none is listed. */
static bool list_runs(struct bound_runs *runs, bool *too_many, struct error *err)
{
    struct run_results *results = runs->results;
    *too_many = results->count > BOUND_RUNS_MAX;
    for (size_t place = 0; !*too_many && place < results->count; place++) {
        if (!results->has_record[place] || results->records[place].budget_bytes == 0 || !has_rival(results, place))
            continue;
        if (!experiment_prepare(results->experiment, results->indices[place], &results->prepared, err))
            return false;
        memcpy(runs->trace_keys[runs->count], results->prepared.trace_key, RUN_KEY_TEXT);
        runs->places[runs->count++] = place;
    }
    return true;
}

static const struct run_config *config_of(const struct bound_runs *runs, size_t i)
{
    return experiment_run(runs->results->experiment, runs->results->indices[runs->places[i]]);
}

/* Not yet done, and of the trace of the i-th and its moment of eviction. */
static bool shares(const struct bound_runs *runs, size_t i, size_t k)
{
    return !runs->done[k] && strcmp(runs->trace_keys[k], runs->trace_keys[i]) == 0 &&
           config_of(runs, k)->loader.evict_when == config_of(runs, i)->loader.evict_when;
}

/* A capacity for each budget of the runs that share the trace of the i-th. */
static size_t list_budgets(const struct bound_runs *runs, size_t i, struct capacity *capacities)
{
    size_t count = 0;
    for (size_t k = i; k < runs->count; k++) {
        const uint64_t budget = config_of(runs, k)->loader.budget_bytes;
        size_t c = 0;
        while (c < count && capacities[c].amount != budget)
            c++;
        if (c == count && shares(runs, i, k))
            capacities[count++] = (struct capacity){.text = "a budget", .amount = budget};
    }
    return count;
}

static void set_bounds(struct bound_runs *runs, size_t i, const struct trace_context *context,
                       const struct replay_result *infinite, const struct capacity *capacities,
                       const struct replay_cell *cells, size_t count)
{
    for (size_t k = runs->count; k-- > i;) { /* the i-th last: the others are held against it */
        if (!shares(runs, i, k))
            continue;
        for (size_t c = 0; c < count; c++)
            if (capacities[c].amount == config_of(runs, k)->loader.budget_bytes)
                runs->bounds[runs->places[k]] =
                    (struct ranking_bounds){.known = cells[c].error == NULL,
                                            .context = *context,
                                            .belady = ratio(cells[c].result.hits, cells[c].result.accesses),
                                            .infinite = ratio(infinite->hits, infinite->accesses)};
        runs->done[k] = true;
    }
}

/* Replays the trace of the i-th run at all budgets of runs that share it. */
static bool replay_trace(struct bound_runs *runs, size_t i, const struct policy_choice *belady, struct error *err)
{
    struct prepared *prepared = &runs->results->prepared;
    struct capacity *capacities = calloc(runs->count, sizeof *capacities);
    struct replay_cell *cells = calloc(runs->count, sizeof *cells);
    struct trace_context context;
    struct replay_result infinite;
    uint32_t distinct;
    bool good = (capacities != NULL && cells != NULL) || fail(err, STATUS_IO, "out of memory");
    good = good &&
           experiment_prepare(runs->results->experiment, runs->results->indices[runs->places[i]], prepared, err) &&
           trace_distinct(&prepared->trace, &distinct, err);
    const uint64_t block_bytes = good ? common_size(&prepared->model) : 0;
    good = good && trace_context_make(&prepared->trace, distinct, block_bytes, block_bytes != 1, &context, err);
    if (good) {
        const size_t count = list_budgets(runs, i, capacities);
        const struct replay_grid grid = {.setting = {.model = &prepared->model,
                                                     .trace = &prepared->trace,
                                                     .evict_when = config_of(runs, i)->loader.evict_when},
                                         .policies = belady,
                                         .policy_count = 1,
                                         .capacities = capacities,
                                         .capacity_count = count};
        const struct farm_options farm = {.jobs = runs->jobs, .stop = runs->results->stop};
        bool stopped;
        good = replay_grid_run(&grid, &farm, cells, &stopped, err);
        replay_infinite(&prepared->trace, distinct, &infinite);
        if (good && !stopped)
            set_bounds(runs, i, &context, &infinite, capacities, cells, count);
    }
    if (cells != NULL)
        replay_cells_free(cells, runs->count);
    free(capacities);
    free(cells);
    return good;
}

bool results_bounds(struct run_results *results, unsigned jobs, struct ranking_bounds *bounds, struct error *err)
{
    struct policy_choice belady;
    bool too_many;
    struct bound_runs *runs = calloc(1, sizeof *runs);
    if (runs == NULL)
        return fail(err, STATUS_IO, "out of memory");
    *runs = (struct bound_runs){.results = results, .bounds = bounds, .jobs = jobs};
    bool good = policy_parse("belady", &belady, err) && list_runs(runs, &too_many, err);
    for (size_t i = 0; good && !too_many && i < runs->count; i++)
        if (!runs->done[i])
            good = replay_trace(runs, i, &belady, err);
    free(runs);
    return good;
}

/* The size of the weights, where runs differ in their quantisation, or where its quality is known. */
static bool fill_weights(struct run_results *results, struct ranking_bounds *bounds, struct error *err)
{
    const struct run_record *first = NULL;
    bool wanted = false;
    for (size_t i = 0; i < results->count; i++) {
        if (!results->has_record[i])
            continue;
        first = first ? first : &results->records[i];
        wanted =
            wanted || strcmp(results->records[i].quant, first->quant) != 0 || !isnan(results->records[i].perplexity);
    }
    bool good = true;
    for (size_t i = 0; good && wanted && results->count <= SIZES_MAX && i < results->count; i++)
        good = !results->has_record[i] || results_weights(results, i, &bounds[i].weights_bytes, err);
    return good;
}

bool results_print_ranking(struct run_results *results, unsigned jobs, bool color, struct error *err)
{
    struct run_record *records = calloc(results->count + 1, sizeof *records);
    struct ranking_bounds *bounds = calloc(results->count + 1, sizeof *bounds);
    bool good = (records != NULL && bounds != NULL) || fail(err, STATUS_IO, "out of memory");
    good = good && results_bounds(results, jobs, bounds, err) && fill_weights(results, bounds, err);
    size_t count = 0;
    for (size_t i = 0; good && i < results->count; i++)
        if (results->has_record[i]) {
            bounds[count] = bounds[i]; /* in place: count never passes i */
            records[count++] = results->records[i];
        }
    good = good && (count == 0 || output_ranking_bounds(stdout, records, bounds, count, color, err));
    free(records);
    free(bounds);
    return good;
}
