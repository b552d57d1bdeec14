/* Runs of the simulator for rows of truth files: from a config written as text, like a user's. */
#include <string.h>

#include "results/validate_parts.h"

static bool with_experiment(const struct validating *validating, const char *config, const char *set,
                            struct truth_run *run, bool execute, struct error *err)
{
    struct experiment *experiment;
    *run = (struct truth_run){0};
    if (!experiment_parse("validate", config, strlen(config), &set, set != NULL, validating->options->profile_dirs,
                          &experiment, err))
        return false;
    must(experiment_run_count(experiment) == 1);
    const bool good = execute ? experiment_execute(experiment, 0, &run->prepared, &run->arena, &run->result, err)
                              : experiment_prepare(experiment, 0, &run->prepared, err);
    experiment_free(experiment);
    return good;
}

bool truth_simulate(const struct validating *validating, const char *config, const char *set, struct truth_run *run,
                    struct error *err)
{
    if (!with_experiment(validating, config, set, run, true, err))
        return false;
    const struct run_numbers *numbers = &run->result.numbers;
    return numbers->outcome == OUTCOME_COMPLETED || fail(err, STATUS_CHECK, "the simulated run was %s (%s)",
                                                         outcome_names[numbers->outcome], numbers->killed_by);
}

bool truth_prepare(const struct validating *validating, const char *config, struct truth_run *run, struct error *err)
{
    return with_experiment(validating, config, NULL, run, false, err);
}

void truth_run_free(struct truth_run *run)
{
    prepared_free(&run->prepared);
    arena_free(&run->arena);
}
