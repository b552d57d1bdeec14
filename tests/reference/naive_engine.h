/* The engine once more, slow and plain: the twin of sim/engine.c, written from docs/models.md alone.
 *
 * It keeps whole lists and scans them, allocates as it goes, and calls no policy: what a policy would answer comes from
 * naive_policy.h. Time passes in one function, which also books it. */
#ifndef POCKETLOAD_TESTS_NAIVE_ENGINE_H
#define POCKETLOAD_TESTS_NAIVE_ENGINE_H

#include <stdio.h>

#include "sim/engine.h"
#include "tests/reference/naive_policy.h"

/* What prefetches cost demands: reads that steps demand, compared with the same reads on a device that does nothing
 * else (docs/models.md, section 4). Only while the device's rates do not change. */
struct naive_delays {
    uint64_t reads;                   /* compared */
    uint64_t delayed;                 /* of these, done later than on the idle device */
    uint64_t too_late;                /* of these, by more than a command's time */
    uint64_t promoted;                /* compared too: alone, with a prefetch's command in flight */
    uint64_t dropped, dropped_moving; /* prefetches that gave way, and of these, with a command in flight */
};

/* Runs a valid spec, with `choice` in place of its policies. The arrays of the result live in the arena. `log` (may be
 * NULL) gets a line for everything that happens. `delays` are added to. */
void naive_run(const struct run_spec *spec, const struct naive_choice *choice, struct arena *arena, FILE *log,
               struct naive_delays *delays, struct run_result *result);

#endif
