/* The wall clock: for progress bars and time limits alone. No result depends on it. */
#ifndef POCKETLOAD_BASE_CLOCK_H
#define POCKETLOAD_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that is never set back, the same for all processes. */
static inline int64_t wall_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

#endif
