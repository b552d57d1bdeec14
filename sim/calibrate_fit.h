/* The three constants of the flash law from measured rates.
 *
 * The law is that of sim/flash.h: rate(L, q) = min(max, q * L / (setup + L / stream)). Its constants are the least
 * squares of ln(measured) - ln(law) over all points, so that a point that is off by a factor weighs the same at any
 * rate. This is about a real machine, so it is done in floating point; the same points give the same constants. */
#ifndef POCKETLOAD_SIM_CALIBRATE_FIT_H
#define POCKETLOAD_SIM_CALIBRATE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { FLASH_POINTS_MAX = 4096 };

struct flash_point {
    uint64_t lanes, block_bytes; /* that many readers, each with one read of so many bytes in flight */
    double bps;                  /* bytes a second of all of them together */
};

struct flash_fit {
    double setup_ns, stream_bps, max_bps; /* stream_bps <= max_bps */
    bool reaches_max;                     /* some point is held by max; else max_bps is the highest rate of the law */
    double rms;                           /* root of the mean square of ln(law) - ln(measured) */
    double median, worst;                 /* of |law / measured - 1|; worst with its sign */
};

/* Bytes a second by the law. */
double flash_law(const struct flash_fit *fit, uint64_t lanes, uint64_t block_bytes);

/* Fits all points; their order does not matter but for rounding. At most FLASH_POINTS_MAX points; STATUS_INPUT when
 * there are fewer than three or all have one size: setup and stream cannot be told apart then. */
bool flash_fit(const struct flash_point *points, size_t count, struct flash_fit *fit, struct error *err);

#endif
