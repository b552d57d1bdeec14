/* Replays of one trace: every policy at every capacity, in worker processes that share the trace. */
#ifndef POCKETLOAD_SIM_REPLAY_GRID_H
#define POCKETLOAD_SIM_REPLAY_GRID_H

#include "sim/farm_tasks.h"
#include "sim/measure_replay.h"

/* Foreign code may hang: without a limit of the user's own, a replay with a plug-in ends after this. */
enum { REPLAY_PLUGIN_TIMEOUT_MS = 60000 };

struct replay_grid {
    struct replay_setting setting; /* without a future one is made, once for all, when a policy needs it */
    const struct policy_choice *policies;
    const struct capacity *capacities;
    size_t policy_count, capacity_count;
    const bool *left_out; /* by cell: true for those that are not to be replayed; NULL: all are */
    /* Told after each replay, for a progress bar; NULL: nobody asks. */
    void (*finished)(void *context, size_t done);
    void *context;
};

struct replay_cell {
    bool done; /* replayed, whether it went well or not */
    struct replay_result result;
    /* NULL: it went well, and result holds what came out. "POLICY at CAPACITY: ..."; STATUS_CHECK when the policy
     * crashed or hung. */
    struct error *error;
};

/* cells[c * policy_count + p], zeroed by the caller, receives policy p at capacity c. Before anything is replayed all
 * policies are checked at all capacities (replay_check). options->timeout_ms is for every replay; with 0 those with a
 * plug-in have REPLAY_PLUGIN_TIMEOUT_MS. *stopped as of farm_do. A policy that fails is not an error of the grid.
 * replay_cells_free in any case. */
bool replay_grid_run(const struct replay_grid *grid, const struct farm_options *options, struct replay_cell *cells,
                     bool *stopped, struct error *err);

/* Frees the errors of the cells, not the array. */
void replay_cells_free(struct replay_cell *cells, size_t count);

#endif
