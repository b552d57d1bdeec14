/* A warm start: the page cache holds the end of the file when the app starts. docs/models.md sections 4 and 10.
 *
 * A buffered read of that part is copied out of the page cache, one copy at a time, without the flash; of a mapped file
 * its pages are resident, and its header is read so. */
#ifndef POCKETLOAD_SIM_WARM_H
#define POCKETLOAD_SIM_WARM_H

#include "sim/run_state.h"

/* Sets run->warm, after the checks of the spec. Direct I/O (align above 1) passes the page cache by: nothing is; of a
 * mapped file nothing is until warm_pages. */
bool warm_init(struct run_state *run);

/* True when a read that begins there is a copy. */
static inline bool warm_has(const struct run_state *run, uint64_t position)
{
    return position >= run->warm.from_bytes;
}

/* How many of the bytes from `position` on are all warm, or all not: a read is cut there. */
static inline uint64_t warm_cut(const struct run_state *run, uint64_t position, uint64_t bytes)
{
    const uint64_t cold = run->warm.from_bytes - position; /* past the end of all files where warm_has */
    return warm_has(run, position) || bytes <= cold ? bytes : cold;
}

/* Copies bytes of a read that has copied before_bytes already, and returns when that is done. */
int64_t warm_copy(struct run_state *run, uint64_t before_bytes, uint64_t bytes);

/* Of a mapped file: its last pages are in memory, as many as there is room for; run->warm is these. */
void warm_pages(struct run_state *run);

#endif
