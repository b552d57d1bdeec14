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

/* The row of the moment sampler->next_ns; moves next_ns on. When the table is full, it is thinned instead, which may
 * leave that moment without a row: ask again as long as next_ns is due. */
void sampler_put(struct sampler *sampler, const struct sample_numbers *row);

/* The row of the end. */
void sampler_end(struct sampler *sampler, const struct sample_numbers *state, int64_t now_ns);

#endif
