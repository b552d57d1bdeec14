/* Steady streaming: a walk through pages that are absent, one readahead window after the other. */
#ifndef POCKETLOAD_SIM_PAGE_STREAM_H
#define POCKETLOAD_SIM_PAGE_STREAM_H

#include "sim/page_state.h"

/* Does as many touches of the walk as are alike, with the same results as one by one; false: none, go on with the next
 * fault. */
bool page_stream(struct page_cache *cache, uint32_t process, struct page_walk *walk, int64_t until_ns);

/* The same for a walk through absent pages in which nothing is read ahead of it: under RANDOM each page, under
 * SEQUENTIAL (away from the file's start) each window is a major fault that waits for its own read. */
bool page_stream_misses(struct page_cache *cache, uint32_t process, struct page_walk *walk, int64_t until_ns);

/* ---- What both share ---- */

/* What a round changes. */
struct numbers {
    uint64_t inactive, room, age; /* of the cache */
    uint64_t ahead_pages, ahead_age;
    uint64_t oldest_pages;
    uint64_t evicted, peak_inactive, waits, faults;
    int64_t now_ns, arrives_ns; /* when the window at hand is there */
    uint64_t rest;              /* of the computing: what is left over by the floors, in 1 / total ns */
};

struct stream {
    struct page_cache *cache;
    const struct page_walk *walk;
    uint32_t process, window, around_shift;
    uint32_t before, ours, ahead; /* runs: touched, the window at hand, what is absent behind it */
    uint32_t oldest, gone;        /* the tail of the inactive list, and the evicted run that it is added to */
    bool straddles;               /* where groups divide the windows: the windows' ends are not groups' ends */
    bool refaults;                /* what lies ahead was evicted, not never read */
    int64_t compute_ns;           /* of a window, rounded down */
    uint64_t rest_step;
    uint64_t rounds, most_rounds;
    uint64_t worst_pages; /* the most that reclaim may take for one window */
    bool in_flight;       /* the window's read, as the flash knows it */
    struct numbers now;
};

/* Fills in what reclaim and the cache's sizes say, with room for so many pages; ahead and ours are set. */
void stream_start(struct stream *s, uint64_t room);

/* How many windows can be walked: whole ones, whose page tables are there, and that the page cache has had nodes for,
 * with `further` windows behind the last one. */
uint64_t stream_rounds(const struct stream *s, uint32_t further);

/* How many pages reclaim can take from the oldest run alone, evicting all that it looks at. */
uint64_t stream_to_evict(struct stream *s);

/* Adds a window of pages, with the reclaim that this takes and its time. There is room for it, or oldest_pages is above
 * worst_pages. */
void stream_read(const struct stream *s, struct numbers *n);

/* Moves the runs, and books what the rounds have counted. */
void stream_commit(struct stream *s, struct page_walk *walk);

#endif
