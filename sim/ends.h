/* The two ends of a run: from a spec to its initial state, and from its final state to numbers. */
#ifndef POCKETLOAD_SIM_ENDS_H
#define POCKETLOAD_SIM_ENDS_H

#include "sim/run_state.h"

/* Checks the spec and lays the run out. run->killed when not even the runtime fits, or the file cannot be mapped. */
bool run_init(struct run_state *run, const struct run_spec *spec, struct arena *arena);

/* Sums, percentiles, the last sample. */
void run_finish(struct run_state *run, struct run_result *result);

#endif
