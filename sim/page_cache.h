/* The page cache of one file that processes map: what faults, readahead and reclaim do to its pages, as Linux with the
 * classic active and inactive lists does it (docs/models.md section 11 states every rule with its kernel source).
 *
 * LISTS_MGLRU puts generations in the place of the two lists: after the multi-gen LRU of mm/vmscan.c, but simpler, and
 * not validated against a kernel. All else is the same. A page read for a fault on a NORMAL mapping joins the
 * generation before the newest, one read otherwise the oldest; one that comes back while fewer than four generations
 * have begun since joins the newest. Reclaim takes the oldest generation's pages, but moves those that were accessed
 * (NORMAL) to the newest one; when only two generations are left, it first moves all accessed pages to the newest one
 * and begins another.
 *
 * It works on runs of pages, and gives the counts, the resident set and the times of a page-by-page twin
 * (tests/reference/naive_page_cache.c). A cache is a value; all memory comes from the arena it was made in. */
#ifndef POCKETLOAD_SIM_PAGE_CACHE_H
#define POCKETLOAD_SIM_PAGE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "sim/flash.h"

enum {
    PAGE_PROCESSES_MAX = 8,
    PAGES_MAX = 1 << 28,
};

#define PAGE_NONE UINT32_MAX

/* How the mapping was advised. WILLNEED and POPULATE are calls made once, on a mapping that is NORMAL. */
enum page_advice { PAGES_NORMAL, PAGES_SEQUENTIAL, PAGES_RANDOM };

/* Which kernel's lists: active and inactive, or generations (multi-gen LRU, not validated). */
enum page_lists { LISTS_CLASSIC, LISTS_MGLRU };

struct page_cache;

/* Asked when a page is to be added and limit_pages is reached: takes memory from wherever it may, calling
 * page_cache_reclaim for this file's share, and sets the limit anew (page_cache_set_limit). False: there is no memory;
 * the touch ends with false. NULL in the spec: the cache itself reclaims batch_pages. */
typedef bool page_relief(void *host, struct page_cache *cache);

struct page_cache_spec {
    uint32_t pages, processes;
    uint64_t page_bytes;     /* 4 KiB, 16 KiB, 64 KiB or 2 MiB */
    uint64_t base_bytes;     /* of the processor's page, at most page_bytes: what one entry of a page table maps */
    uint32_t window_pages;   /* readahead: at least 1, at most 2^15; of folios (base_bytes < page_bytes) at least 2 */
    uint32_t around_pages;   /* fault-around: a power of two, 1: none */
    uint32_t willneed_pages; /* the most that one MADV_WILLNEED reads */
    enum page_advice advice;
    enum page_lists lists;
    bool prefault_young;        /* pages mapped by fault-around count as accessed: so on x86, not on arm64 */
    int64_t minor_ns, major_ns; /* time of a fault, without its I/O */
    int64_t scan_ns;            /* time of one page that reclaim looks at */
    uint32_t batch_pages;       /* what one reclaim asks for: 32 */
    page_relief *relief;
    void *host;
};

/* Counts since the start. */
struct page_counts {
    uint64_t major_faults, minor_faults;
    uint64_t pages_read;
    uint64_t refaults;    /* pages read that had been evicted before */
    uint64_t activations; /* of these, which came back soon enough to start active, or in the newest generation */
    uint64_t evicted;
    uint64_t unused_evicted; /* of these, which no process had mapped: readahead in vain */
    uint64_t scanned;
    uint64_t waits; /* faults that waited for a read */
};

/* Of one process: its share of the faults, and the page tables that it has. */
struct page_process_counts {
    uint64_t major_faults, minor_faults, table_bytes;
};

/* A range of pages touched in ascending order while the compute thread computes: page i of its `total` pages is touched
 * after floor(compute_ns * i / total) of computing. */
struct page_walk {
    uint32_t next, end, stride; /* touches next, next + stride ... below end */
    int64_t compute_ns;         /* of all `total` touches, of which `done` are done */
    uint64_t done, total;
};

/* Makes the cache: nothing is resident. flash and now_ns are the caller's and must outlive it: reads are issued there,
 * and the clock is moved on by faults, waits and computing. STATUS_USAGE for a spec out of range, STATUS_IO without
 * memory. */
bool page_cache_init(struct page_cache **cache, const struct page_cache_spec *spec, struct flash *flash,
                     int64_t *now_ns, struct arena *arena, struct error *err);

/* How many pages this file may hold, the memory that comes with them included: see page_cache_charged. */
void page_cache_set_limit(struct page_cache *cache, uint64_t limit_pages);

/* Resident pages, page tables and tree nodes, in pages (nodes rounded down). Never above the limit after a touch. */
uint64_t page_cache_charged(const struct page_cache *cache);
uint64_t page_cache_resident(const struct page_cache *cache);
uint64_t page_cache_locked(const struct page_cache *cache);
uint64_t page_cache_peak_resident(const struct page_cache *cache);
uint64_t page_cache_table_bytes(const struct page_cache *cache); /* page tables and tree nodes */
struct page_counts page_cache_counts(const struct page_cache *cache);
struct page_process_counts page_cache_process_counts(const struct page_cache *cache, uint32_t process);
/* Pages on the inactive, active and locked lists; with LISTS_MGLRU the oldest generation is inactive, the others are
 * active. */
void page_cache_sizes(const struct page_cache *cache, uint64_t *inactive, uint64_t *active, uint64_t *locked);

/* Touches on behalf of a process, until the walk is done or the clock reaches until_ns (then it can go on later).
 * Faults, waits for reads, and computing move the clock. False: no memory could be had (the relief said so, or reclaim
 * found nothing). */
bool page_cache_touch(struct page_cache *cache, uint32_t process, struct page_walk *walk, int64_t until_ns);

/* Before anything is touched: the last `pages` pages of the file are in memory, on the inactive list in the file's
 * order (with generations: the oldest), as many of them as the limit has room for; how many those are. They count as
 * read by nobody, and no time passes. */
uint32_t page_cache_warm(struct page_cache *cache, uint32_t pages);

/* How many pages from `first` on have ever been in memory, or are on their way. */
uint64_t page_cache_seen(struct page_cache *cache, uint32_t first);

/* MADV_WILLNEED on [first, end): reads up to willneed_pages of it, without waiting. */
bool page_cache_willneed(struct page_cache *cache, uint32_t process, uint32_t first, uint32_t end);

/* mlock: touches each page of [first, end) and takes those there off the lists for good. False as page_cache_touch. */
bool page_cache_lock(struct page_cache *cache, uint32_t process, uint32_t first, uint32_t end);

/* A process ends, and with it its mappings, page tables and the state of its open file; a locked page that no process
 * maps any more is locked no more. Faults stay counted. Another process may map the file in its place. */
void page_cache_exit(struct page_cache *cache, uint32_t process);

/* Takes up to about `pages` of the file from memory (whole reclaim batches: it may be somewhat more); how many it was.
 */
uint64_t page_cache_reclaim(struct page_cache *cache, uint64_t pages);

/* True when the page is in memory or on its way. For tests and reports. */
bool page_cache_has(struct page_cache *cache, uint32_t page);

/* When the last read in flight is done; at most now: none is. */
int64_t page_cache_reads_done_ns(const struct page_cache *cache);

/* Tells the flash of reads that are done by the clock's time, and forgets them. Call at a run's end and for samples. */
void page_cache_settle(struct page_cache *cache);

#endif
