/* Rows at multiples of an interval that doubles as time goes on. */
#include "sim/sampler.h"

enum { FIRST_INTERVAL_NS = 1000000 };

bool sampler_init(struct sampler *sampler, struct arena *arena)
{
    *sampler = (struct sampler){.interval_ns = FIRST_INTERVAL_NS};
    sampler->rows = arena_alloc(arena, SAMPLES_MAX + 1, sizeof *sampler->rows);
    return sampler->rows != NULL;
}

/* Row i stands at i * interval, so the rows with even i stay. */
static void thin(struct sampler *sampler)
{
    for (uint32_t i = 0; 2 * i < sampler->count; i++)
        sampler->rows[i] = sampler->rows[2 * i];
    sampler->count = (sampler->count + 1) / 2;
    sampler->interval_ns *= 2;
    sampler->next_ns = (int64_t)sampler->count * sampler->interval_ns;
}

void sampler_put(struct sampler *sampler, const struct sample_numbers *row)
{
    if (sampler->count == SAMPLES_MAX - 1) {
        thin(sampler);
        return;
    }
    sampler->rows[sampler->count] = *row;
    sampler->rows[sampler->count].time_ns = sampler->next_ns;
    sampler->count++;
    sampler->next_ns += sampler->interval_ns;
}

void sampler_end(struct sampler *sampler, const struct sample_numbers *state, int64_t now_ns)
{
    sampler->rows[sampler->count] = *state;
    sampler->rows[sampler->count].time_ns = now_ns;
    sampler->count++;
}
