/* The heat of a phone's processor: active time warms it, pauses cool it, and once it is hot it computes slower.
 *
 * docs/models.md, section 3, states the rule. Time passes in stretches, each active or a pause, and heat is worked out
 * from the beginning of the stretch: no state changes within one, and asking is one comparison. */
#ifndef POCKETLOAD_SIM_HEAT_H
#define POCKETLOAD_SIM_HEAT_H

#include <stdbool.h>
#include <stdint.h>

/* How a device begins: cold, and then as its use makes it; hot, as one that was used for long, and then it stays hot;
 * off: it never gets hot. For the flash too. */
enum heat_mode { HEAT_FROM_COLD, HEAT_HOT, HEAT_OFF, HEAT_MODES };

struct heat_spec {
    enum heat_mode mode;
    int64_t hot_after_ns; /* active time from cold to hot; 0: never */
    uint32_t factor_ppm;  /* speed of compute when hot; 0: as when cold */
    uint32_t cool_ppm;    /* heat lost by a time of pause, as a share of what such a time of activity adds */
};

struct heat {
    struct heat_spec spec;
    bool pauses;                /* the stretch that runs is a pause */
    int64_t since_ns, level_ns; /* its beginning, and the heat then */
    int64_t hot_from_ns; /* since when it is hot, or when it will be if the stretch lasts; INT64_MAX: not in it */
    int64_t first_ns, before_ns; /* when it first was hot (-1: never), and how much of the stretches before */
};

/* A first stretch of activity begins at time 0. */
void heat_init(struct heat *heat, const struct heat_spec *spec);

/* Activity ends and a pause begins, or the other way round. Times never go back. */
void heat_pause(struct heat *heat, int64_t now_ns);
void heat_resume(struct heat *heat, int64_t now_ns);

/* True for a device that can get hot at all: only then are its hot and its cold time told apart. */
static inline bool heat_matters(const struct heat_spec *spec)
{
    return spec->mode != HEAT_OFF && spec->hot_after_ns > 0;
}

/* Whether it is hot, at a time of activity. */
static inline bool heat_is_hot(const struct heat *heat, int64_t now_ns)
{
    return now_ns >= heat->hot_from_ns;
}

/* What computing for ns takes when it is begun at now_ns: ceil(ns * 10^6 / factor) on a hot device. */
int64_t heat_slow_down(const struct heat *heat, int64_t ns);
static inline int64_t heat_compute_ns(const struct heat *heat, int64_t now_ns, int64_t ns)
{
    return heat_is_hot(heat, now_ns) ? heat_slow_down(heat, ns) : ns;
}

/* Heat at a time within the stretch, in parts per million of what makes the device hot, rounded down. */
uint64_t heat_ppm(const struct heat *heat, int64_t now_ns);

/* When it first was hot, -1: never; and how much of the active time it was, up to now_ns. */
void heat_numbers(const struct heat *heat, int64_t now_ns, int64_t *hot_at_ns, int64_t *hot_ns);

#endif
