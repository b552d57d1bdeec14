/* The inside of the mapped loader: mapped_start.c maps the file and loads, mapped.c runs the steps. */
#ifndef POCKETLOAD_SIM_MAPPED_STATE_H
#define POCKETLOAD_SIM_MAPPED_STATE_H

#include "sim/mapped.h"
#include "sim/mapped_layout.h"

struct mapped {
    struct mapped_layout layout;
    struct page_cache *cache;
    uint32_t first_page;       /* that holds weights: those before it are the file's header */
    uint64_t limit_pages;      /* as the cache knows it */
    bool below_marks;          /* the cache reclaims by itself; what it cannot get is looked for below the watermarks */
    struct page_counts counts; /* as last taken over */
    uint32_t stride;           /* of each so many pages one is touched */
    uint64_t *touches;         /* by block: pages that a step touches of it */
    /* By process and block: `epoch` when the process had last touched all of it. Only reclaim takes mappings and
     * accessed bits away, and only from pages that it looks at: as long as it has looked at none since, touching the
     * block once more changes nothing and takes no time. */
    uint64_t *known;
    uint64_t epoch;   /* pages that reclaim has looked at, and 1 */
    uint64_t *locked; /* a bit for each page of the file: mlock has it; NULL where no block is pinned */
};

/* Takes the page cache's counts over into the run's numbers. */
void mapped_take_counts(struct run_state *run);

/* Takes over its file pages and page tables too, as memory of the app. False: the app is dead of them, as pressure
 * says. */
bool mapped_sync(struct run_state *run);

/* Tells the page cache how much memory it may have now: before each call that may add pages, and when it asks for
 * relief. */
void mapped_set_limit(struct run_state *run);

/* The cache finds no room for a page: pressure takes memory from wherever it may. False: there is none, and the app is
 * dead. */
bool mapped_relieve(struct run_state *run);

/* Puts into the books what the page cache did since start_ns, of which computed_ns was computing. Then samples are
 * taken and other apps change, as far as the clock has come. `good`: the cache had the memory for it. Otherwise, where
 * there is some now, false: go on with it; and where there is none, the run is over. */
bool mapped_book(struct run_state *run, int64_t start_ns, int64_t computed_ns, bool good);

/* Walks to the end, in pieces at whose ends samples are taken and other apps change. False: the run is over. */
bool mapped_touch(struct run_state *run, uint32_t process, struct page_walk *walk);

#endif
