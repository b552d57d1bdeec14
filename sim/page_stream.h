/* Steady streaming: a walk through pages that are absent, one readahead window after the other, in closed form. */
#ifndef POCKETLOAD_SIM_PAGE_STREAM_H
#define POCKETLOAD_SIM_PAGE_STREAM_H

#include "sim/page_state.h"

/* Does as many touches of the walk as are alike, with the same results as one by one; false: none, go on with the next
 * fault. */
bool page_stream(struct page_cache *cache, uint32_t process, struct page_walk *walk, int64_t until_ns);

#endif
