/* Many runs at once: worker processes that take runs one by one and send results back through pipes.
 *
 * A worker that dies (a crash, a kill) ends only the run that it had: that run's result is an error that says so, and
 * another worker is started. One that dies between two runs ends none: what it may have taken is handed out again,
 * unless workers do nothing but die. The first errors of such losses name their run; later ones of one reason are
 * equal, so that who folds equal lines prints few. Results arrive in any order; what they hold does not depend on the
 * number of jobs. */
#ifndef POCKETLOAD_SIM_FARM_H
#define POCKETLOAD_SIM_FARM_H

#include <signal.h>

#include "sim/experiment.h"

enum { FARM_JOBS_MAX = 256 };

struct farm_options {
    unsigned jobs; /* worker processes, 1 .. FARM_JOBS_MAX; also a single one is a process of its own */
    /* Of each run, by the wall clock, its model and trace included where it has to make them; 0: none. A run that takes
     * longer is ended within some 50 ms and is an error (STATUS_CHECK), and its worker is replaced. */
    int64_t timeout_ms;
    /* For a signal handler: once it is not zero, the farm ends within some 50 ms. NULL: nobody stops it. */
    const volatile sig_atomic_t *stop;
};

/* Called in the parent for each finished run. result is NULL when the run failed: then error tells why. Returning false
 * stops the farm, with err set by the callback. */
typedef bool farm_callback(void *context, size_t index, const struct run_result *result, const struct error *error,
                           struct error *err);

/* Runs experiment's runs indices[0..count-1]. *stopped tells that options->stop ended it: then the callback has heard
 * of those runs that were done, and of no other. All workers are gone on return. */
bool farm_run(struct experiment *experiment, const size_t *indices, size_t count, const struct farm_options *options,
              farm_callback *callback, void *context, bool *stopped, struct error *err);

#endif
