/* The time series of a run in a bounded table: when it is full, every second row goes and the interval doubles. */
#ifndef POCKETLOAD_SIM_SAMPLER_H
#define POCKETLOAD_SIM_SAMPLER_H

#include <stdbool.h>

#include "base/arena.h"
#include "sim/engine.h"

struct sampler {
    struct sample_numbers *rows; /* SAMPLES_MAX + 1: the last is for the end */
    uint32_t count;
    int64_t interval_ns, next_ns;
};

bool sampler_init(struct sampler *sampler, struct arena *arena);

/* Rows for all moments up to, but without, until_ns; `state` holds what was true in between (its time is ignored). Call
 * only when sampler->next_ns < until_ns. */
void sampler_take(struct sampler *sampler, const struct sample_numbers *state, int64_t until_ns);

/* The row of the end. */
void sampler_end(struct sampler *sampler, const struct sample_numbers *state, int64_t now_ns);

#endif
