/* Threads that begin together: what a calibration measures with. */
#ifndef POCKETLOAD_SIM_CALIBRATE_THREADS_H
#define POCKETLOAD_SIM_CALIBRATE_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { CALIBRATE_THREADS_MAX = 256 };

/* Runs body(contexts[i]) for each i in a thread of its own and waits for all. None begins before all threads are there;
 * when one cannot be made none begins: STATUS_IO. At most CALIBRATE_THREADS_MAX. */
bool threads_run(void (*body)(void *context), void *const *contexts, size_t count, struct error *err);

#endif
