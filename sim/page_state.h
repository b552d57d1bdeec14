/* The inside of a page cache, shared by its parts: page_cache.c (faults), readahead.c (windows and reads),
 * page_reclaim.c (lists and eviction), page_generations.c (the same with generations). docs/models.md section 11 is the
 * rule. */
#ifndef POCKETLOAD_SIM_PAGE_STATE_H
#define POCKETLOAD_SIM_PAGE_STATE_H

#include "base/error.h"
#include "sim/page_cache.h"
#include "sim/page_runs.h"

enum {
    NODE_PAGES = 64,          /* slots of an xarray node (include/linux/xarray.h, XA_CHUNK_SIZE) */
    NODE_BYTES = 576,         /* struct xa_node on 64-bit (slabinfo's radix_tree_node) */
    FIRST_PRIORITY = 12,      /* DEF_PRIORITY, mm/vmscan.c */
    SCAN_BATCH = 32,          /* SWAP_CLUSTER_MAX, include/linux/swap.h */
    HUGE_BYTES = 2 << 20,     /* what an entry of the table above the last maps, with 4 KiB pages */
    READ_BYTES_MAX = 2 << 20, /* a batch of readahead: mm/readahead.c, force_page_cache_ra */
    GENERATIONS_MIN = 2,      /* MIN_NR_GENS, include/linux/mmzone.h */
    GENERATION_BATCH = 64,    /* MAX_LRU_BATCH, mm/vmscan.c */
    MISSES_MAX = 1000,
    LOTS_OF_MISSES = 100, /* mm/filemap.c, MMAP_LOTSAMISS */
};

/* A command in flight: the pages that it brings are locked until then. */
struct page_read {
    int64_t done_ns;
    uint32_t first, end;
};

/* What the kernel keeps for a process' open file and its page tables. */
struct page_process {
    int64_t start, size, async; /* struct file_ra_state */
    uint32_t misses;            /* its mmap_miss */
    uint64_t *tables;           /* a bit for each page table that there is */
    struct page_process_counts counts;
};

/* LISTS_MGLRU: generations min_seq to max_seq have pages. */
struct page_generations {
    uint64_t min_seq, max_seq;
    uint64_t began[GENERATIONS_MAX]; /* page_cache.age when a generation became the oldest, by seq % GENERATIONS_MAX */
    bool willneed;                   /* what is read now is for WILLNEED, not for a fault */
};

struct page_cache {
    struct page_cache_spec spec;
    struct page_runs runs;
    struct page_generations generations;
    struct page_counts counts;
    struct page_process processes[PAGE_PROCESSES_MAX];
    struct flash *flash;
    int64_t *now_ns;
    uint64_t limit_pages;
    uint64_t kernel_bytes; /* page tables and nodes */
    uint64_t table_bytes;
    uint32_t table_pages; /* of one page table: its size, and the pages of the file that it maps */
    uint64_t peak_pages;
    uint64_t *nodes; /* a bit for each node that there is */
    uint64_t *marks; /* a bit for each page: PG_readahead */
    uint64_t mark_count;
    uint64_t age;            /* lruvec->nonresident_age; with generations, a count of evictions and activations */
    uint64_t snapshot;       /* activations when reclaim last ended */
    struct page_read *reads; /* in flight, ordered by done_ns */
    uint32_t read_count;
    uint32_t batch_first, batch_end; /* added and not yet issued */
    uint32_t held;                   /* the page whose fault is being served, or PAGE_NONE */
};

/* The granule is larger than the processor's page. */
static inline bool is_folio(const struct page_cache *cache)
{
    return cache->spec.base_bytes < cache->spec.page_bytes;
}

static inline uint64_t there(const struct page_cache *cache)
{
    const struct page_runs *all = &cache->runs;
    return all->pages - all->size[PAGE_ABSENT] - all->size[PAGE_EVICTED];
}

static inline uint64_t usage_with(const struct page_cache *cache, uint64_t kernel_bytes)
{
    return there(cache) + kernel_bytes / cache->spec.page_bytes;
}

/* ---- readahead.c ---- */
/* Reads what is absent of `count` pages from `first` on; the page that lies `ahead` pages before their end gets the
 * mark, unless that is 0. False: no memory. */
bool read_window(struct page_cache *cache, int64_t first, int64_t count, int64_t ahead);

/* Forgets commands that are done. */
void reads_settle(struct page_cache *cache);
static inline void reads_update(struct page_cache *cache)
{
    if (cache->read_count > 0 && cache->reads[0].done_ns <= *cache->now_ns)
        reads_settle(cache);
}

/* The first page of [first, end) that is in flight, and where that range of them ends; `end` when there is none. */
uint32_t reads_first(const struct page_cache *cache, uint32_t first, uint32_t end, uint32_t *until);

/* When the page is there: now, unless it is in flight. */
int64_t read_done_ns(const struct page_cache *cache, uint32_t page);

/* Readahead for a fault on an absent page, and on a marked one (do_sync_mmap_readahead, do_async_mmap_readahead). Where
 * memory ends, so does a window (its pages are charged with __GFP_NORETRY), unless the relief says that the app is
 * dead: false. */
bool readahead_sync(struct page_cache *cache, struct page_process *process, uint32_t page);
bool readahead_async(struct page_cache *cache, struct page_process *process, uint32_t page);

/* Marks of a range. */
void mark_set(struct page_cache *cache, uint32_t page);
bool mark_is_set(const struct page_cache *cache, uint32_t page);
uint32_t mark_next(const struct page_cache *cache, uint32_t first, uint32_t end);
void marks_clear(struct page_cache *cache, uint32_t first, uint32_t end);

/* ---- page_reclaim.c ---- */
/* Makes room for one more page, or for `bytes` more of the kernel's. False: there is none. */
bool room_for_page(struct page_cache *cache);
bool room_for_kernel(struct page_cache *cache, uint64_t bytes);

/* Is the inactive list shorter than the active one asks for? */
bool inactive_is_low(uint64_t inactive, uint64_t active, uint64_t page_bytes);

/* Takes pages from the lists until `want` are gone or nothing helps; how many went. */
uint64_t shrink(struct page_cache *cache, uint64_t want);

/* For shrink and generations_shrink. Reclaim has looked at pages: counts them, with their time. */
void pages_scanned(struct page_cache *cache, uint64_t pages);

/* The first page of [first, end) that reclaim has to keep, in flight or held, and where that range of them ends; `end`
 * when there is none. */
uint32_t kept_first(const struct page_cache *cache, uint32_t first, uint32_t end, uint32_t *until);

/* The first `count` pages of a run on a list leave memory; or go to the newest end of their attributes' list. */
void pages_evict(struct page_cache *cache, uint32_t run, uint32_t count);
void pages_requeue(struct page_cache *cache, uint32_t run, uint32_t count, uint32_t attributes);

/* ---- page_generations.c ---- */
/* The place of a generation's pages. */
static inline uint32_t generation_place(uint64_t seq)
{
    return PAGE_GENERATION + (uint32_t)(seq % GENERATIONS_MAX);
}

/* Generations 0 to 3, all empty. */
void generations_init(struct page_generations *generations);

/* As shrink, with LISTS_MGLRU. */
uint64_t generations_shrink(struct page_cache *cache, uint64_t want);

/* How many of `count` pages, absent or evicted, from the start of `run` on get the same treatment when they are added
 * one after the other, and the attributes that they get. */
uint32_t generations_refault(const struct page_cache *cache, uint32_t run, uint32_t count, uint32_t *attributes);

#endif
