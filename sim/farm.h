/* Many runs of an experiment at once, each in a worker process (sim/farm_tasks.h).
 *
 * The first errors of runs that were lost with their worker name their run; later ones of one reason are equal, so that
 * who folds equal lines prints few. */
#ifndef POCKETLOAD_SIM_FARM_H
#define POCKETLOAD_SIM_FARM_H

#include "sim/experiment.h"
#include "sim/farm_tasks.h"

/* The limit of a run with a plug-in, which may hang, when the options set none. */
enum { FARM_PLUGIN_TIMEOUT_MS = 60000 };

/* Called in the parent for each finished run. result is NULL when the run failed: then error tells why, with
 * STATUS_CHECK where the policy is to blame: it answered wrongly, took too long, or is a plug-in and the worker died.
 * Returning false stops the farm, with err set by the callback. */
typedef bool farm_callback(void *context, size_t index, const struct run_result *result, const struct error *error,
                           struct error *err);

/* Runs experiment's runs indices[0..count-1]; a run's time counts with its model and trace where its worker has to make
 * them. *stopped tells that options->stop ended it: then the callback has heard of those runs that were done, and of no
 * other. All workers are gone on return. */
bool farm_run(struct experiment *experiment, const size_t *indices, size_t count, const struct farm_options *options,
              farm_callback *callback, void *context, bool *stopped, struct error *err);

#endif
