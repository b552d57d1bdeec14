/* The heat of docs/models.md, section 3, worked out from the list of all pauses: the twin of sim/heat.c and of the heat
 * in sim/flash.c. */
#ifndef POCKETLOAD_TESTS_NAIVE_HEAT_H
#define POCKETLOAD_TESTS_NAIVE_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/heat.h"

/* All pauses so far, in order; of one that goes on the end is INT64_MAX. */
struct naive_pauses {
    int64_t (*spans)[2];
    size_t count;
};

void naive_pause(struct naive_pauses *pauses, int64_t now_ns);
void naive_resume(struct naive_pauses *pauses, int64_t now_ns);
void naive_pauses_free(struct naive_pauses *pauses);

/* Heat at a time, by the rule from the start. */
int64_t naive_heat(const struct heat_spec *spec, const struct naive_pauses *pauses, int64_t now_ns);
bool naive_is_hot(const struct heat_spec *spec, const struct naive_pauses *pauses, int64_t now_ns);

/* When it first was hot in an active time before now_ns (-1: never), and how much of that it was. */
void naive_hot_times(const struct heat_spec *spec, const struct naive_pauses *pauses, int64_t now_ns,
                     int64_t *hot_at_ns, int64_t *hot_ns);

#endif
