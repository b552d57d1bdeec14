/* The engine once more, slow and plain: the twin of sim/engine.c, written from docs/models.md alone.
 *
 * It keeps whole lists and scans them, allocates as it goes, and calls no policy: what a policy would answer comes from
 * naive_policy.h. Time passes in one function, which also books it. */
#ifndef POCKETLOAD_TESTS_NAIVE_ENGINE_H
#define POCKETLOAD_TESTS_NAIVE_ENGINE_H

#include <stdio.h>

#include "sim/engine.h"
#include "tests/reference/naive_policy.h"

/* Runs a valid spec, with `choice` in place of its policies. The arrays of the result live in the arena. `log` (may be
 * NULL) gets a line for everything that happens. */
void naive_run(const struct run_spec *spec, const struct naive_choice *choice, struct arena *arena, FILE *log,
               struct run_result *result);

#endif
