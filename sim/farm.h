/* Many runs at once: worker processes that take runs one by one and send results back through pipes.
 *
 * A worker that dies (a crash, a kill) ends only the run that it had: that run's result is an error that says so, and
 * another worker is started. Results arrive in any order; what they hold does not depend on the number of jobs. */
#ifndef POCKETLOAD_SIM_FARM_H
#define POCKETLOAD_SIM_FARM_H

#include "sim/experiment.h"

/* Called in the parent for each finished run. result is NULL when the run failed: then error tells why. Returning false
 * stops the farm, with err set by the callback. */
typedef bool farm_callback(void *context, size_t index, const struct run_result *result, const struct error *error,
                           struct error *err);

/* Runs experiment's runs indices[0..count-1] with `jobs` worker processes (1: in this process; at most 256). All
 * workers are gone on return. */
bool farm_run(struct experiment *experiment, const size_t *indices, size_t count, unsigned jobs,
              farm_callback *callback, void *context, struct error *err);

#endif
