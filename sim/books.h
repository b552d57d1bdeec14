/* What every loader's run has in common: segments and their idle times, tokens and turns and their rows, the
 * memory that grows with the context. docs/models.md sections 7 and 8. */
#ifndef POCKETLOAD_SIM_BOOKS_H
#define POCKETLOAD_SIM_BOOKS_H

#include "sim/away.h"

/* Runs the steps of one token: repetition `repeat` of the segment, with `context` tokens in the context. */
typedef void token_steps(struct run_state *run, const struct segment *segment, uint32_t repeat, uint64_t context);

/* Closes the load phase, and walks the whole trace, until its end or the run's. `load` loads once more where the app is
 * started anew. */
void books_walk(struct run_state *run, token_steps *steps, load_steps *load);

#endif
