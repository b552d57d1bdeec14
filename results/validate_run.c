/* Runs of the simulator for rows of truth files: from a config written as text, like a user's. */
#include <string.h>

#include "results/validate_parts.h"
#include "results/validate_split.h"

static bool parse(const struct validating *validating, const char *config, const char *set, struct truth_run *run,
                  struct experiment **experiment, struct error *err)
{
    *run = (struct truth_run){0};
    if (!experiment_parse("validate", config, strlen(config), &set, set != NULL, validating->options->profile_dirs,
                          experiment, err))
        return false;
    must(experiment_run_count(*experiment) == 1);
    return true;
}

bool truth_prepare(const struct validating *validating, const char *config, struct truth_run *run, struct error *err)
{
    struct experiment *experiment;
    if (!parse(validating, config, NULL, run, &experiment, err))
        return false;
    const bool good = experiment_prepare(experiment, 0, &run->prepared, err);
    experiment_free(experiment);
    return good;
}

/* The prepared trace with its experts in steps of their own: what runs next takes it from the cache. */
static bool split(struct experiment *experiment, const struct truth_split *by, struct prepared *prepared,
                  struct error *err)
{
    struct trace trace;
    if (!experiment_prepare(experiment, 0, prepared, err) ||
        !trace_split_experts(&prepared->model, &prepared->trace, by->experts_ns, by->rest_ns, &trace, err))
        return false;
    trace_free(&prepared->trace);
    prepared->trace = trace;
    return true;
}

bool truth_simulate(const struct validating *validating, const char *config, const char *set,
                    const struct truth_split *by, struct truth_run *run, struct error *err)
{
    struct experiment *experiment;
    if (!parse(validating, config, set, run, &experiment, err))
        return false;
    const bool good = (by == NULL || split(experiment, by, &run->prepared, err)) &&
                      experiment_execute(experiment, 0, &run->prepared, &run->arena, &run->result, err);
    experiment_free(experiment);
    const struct run_numbers *numbers = &run->result.numbers;
    return good && (numbers->outcome == OUTCOME_COMPLETED || fail(err, STATUS_CHECK, "the simulated run was %s (%s)",
                                                                  outcome_names[numbers->outcome], numbers->killed_by));
}

void truth_run_free(struct truth_run *run)
{
    prepared_free(&run->prepared);
    arena_free(&run->arena);
}
