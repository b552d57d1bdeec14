/* The pages of a file as runs: neighbouring pages that share everything, in the file and in their list's order.
 *
 * Invariants: the runs cover the file without gaps; in a list, the pages of a run lie from older to newer as they lie
 * in the file; of evicted pages, each is one younger than the page before it. A run's end is the start of the next one,
 * so pages pass from a run to its neighbour by one store. Finding the run of a page takes a few loads: the starts are
 * bits of a tree with 64 branches. */
#ifndef POCKETLOAD_SIM_PAGE_RUNS_H
#define POCKETLOAD_SIM_PAGE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

enum { GENERATIONS_MAX = 4 }; /* MAX_NR_GENS, include/linux/mmzone.h */

/* Where pages are: bits 0 to 3 of page_run.attributes. */
enum page_place {
    PAGE_ABSENT,  /* never read */
    PAGE_EVICTED, /* read once, and evicted at page_run.age */
    PAGE_INACTIVE,
    PAGE_ACTIVE,
    PAGE_GENERATION, /* the first of GENERATIONS_MAX; generation `seq` is at seq % GENERATIONS_MAX from it */
    PAGE_LOCKED = PAGE_GENERATION + GENERATIONS_MAX,
    PAGE_OUTSIDE, /* beyond the file's ends */
};
enum {
    PLACE_MASK = 15,
    PAGE_REFERENCED = 1 << 4,
    PAGE_WORKINGSET = 1 << 5,
    MAPPED_SHIFT = 8, /* a bit for each process */
    MAPPED_MASK = 0xff << MAPPED_SHIFT,
    YOUNG_SHIFT = 16,
    YOUNG_MASK = 0xff << YOUNG_SHIFT,
};

struct page_run {
    uint32_t start, next, previous; /* in the file */
    uint32_t newer, older;          /* in its list; unused where there is none */
    uint32_t attributes;
    uint64_t age; /* of the first page, where evicted */
};

/* Ids of runs that are none: the ends of the lists, in the order of their places, and of the file. */
enum { LIST_INACTIVE, LIST_ACTIVE, LIST_GENERATION, FILE_ENDS = LIST_GENERATION + GENERATIONS_MAX, FIRST_RUN };

enum { START_LEVELS = 5 };

struct page_runs {
    struct page_run *runs;
    uint32_t *run_at;               /* by page: the run that starts there */
    uint64_t *starts[START_LEVELS]; /* a bit for each start; above it, for each word that is not 0 */
    uint32_t levels;
    uint32_t pages, used, spare; /* spare: a chain of unused runs by `next`, 0: none */
    uint32_t hint;               /* a run that was found */
    uint64_t size[PAGE_OUTSIDE]; /* pages by place */
};

/* All pages absent: one run. False without memory. */
bool page_runs_init(struct page_runs *runs, uint32_t pages, struct arena *arena);

static inline uint32_t run_end(const struct page_runs *all, uint32_t run)
{
    return all->runs[all->runs[run].next].start;
}

static inline uint32_t run_pages(const struct page_runs *all, uint32_t run)
{
    return run_end(all, run) - all->runs[run].start;
}

static inline enum page_place run_place(const struct page_runs *all, uint32_t run)
{
    return (enum page_place)(all->runs[run].attributes & PLACE_MASK);
}

static inline bool place_is_there(enum page_place place)
{
    return place >= PAGE_INACTIVE && place <= PAGE_LOCKED;
}

/* The list that pages of a place are on; only for places that have one. */
static inline uint32_t list_of(uint32_t place)
{
    return place - PAGE_INACTIVE;
}

/* The run that a page is in. */
uint32_t page_runs_search(struct page_runs *all, uint32_t page);
static inline uint32_t page_runs_find(struct page_runs *all, uint32_t page)
{
    uint32_t run = all->hint;
    if (all->runs[run].start <= page && page < run_end(all, run))
        return run;
    return page_runs_search(all, page);
}

/* Cuts a run before `at`, which is inside it or at one of its ends; the run that then starts at `at` (for its end: the
 * next one). */
uint32_t page_runs_cut(struct page_runs *all, uint32_t run, uint32_t at);

/* Takes a run off its list, where it is on one, and counts its pages out of their place; page_runs_put gives it a place
 * and other attributes: in a list as the newest. It joins its neighbours in the file where they now are the same;
 * returns the run that it is part of. */
void page_runs_take(struct page_runs *all, uint32_t run);
uint32_t page_runs_put(struct page_runs *all, uint32_t run, uint32_t attributes, uint64_t age);

/* Changes the attributes of a run that keeps its place, and joins; returns the run that it is part of. */
uint32_t page_runs_change(struct page_runs *all, uint32_t run, uint32_t attributes);

/* The first `count` pages of a run, not all of them, become the last ones of the run before it, whose attributes (and
 * age, and place in the list) they then have to have by the caller's knowledge. */
void page_runs_pass(struct page_runs *all, uint32_t run, uint32_t count);

#endif
