/* The app in the background: what other apps take from it while its user is away, and what a restart costs.
 * docs/models.md section 7. */
#ifndef POCKETLOAD_SIM_AWAY_H
#define POCKETLOAD_SIM_AWAY_H

#include "sim/run_state.h"

/* The load phase of an app that was just started: nothing of it is in memory but its runtime. */
typedef void load_steps(struct run_state *run);

/* The pause before the segment is over: what has happened to the app in it happens now. A restart loads again, which is
 * load time. May end the run. */
void away_return(struct run_state *run, const struct segment *segment, load_steps *load);

#endif
