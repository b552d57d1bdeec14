/* What the parts of the page cache's twin share: its state, and the lists with their reclaim. */
#ifndef POCKETLOAD_TESTS_NAIVE_PAGE_STATE_H
#define POCKETLOAD_TESTS_NAIVE_PAGE_STATE_H

#include "tests/reference/naive_page_cache.h"

enum {
    SCAN_PAGES = 32, /* pages taken from a list at once */
    PRIORITIES = 12,
    MISSES_MAX = 1000,
    MISSES_NO_WINDOW = 100,
    NODE_PAGES = 64,
    NODE_BYTES = 576,
    BATCH_BYTES = 2 << 20, /* the largest command, and a chunk of WILLNEED */
};

/* NONE: absent. Reclaim looks at INACTIVE and ACTIVE only, or at the generations: number seq is list GENERATION + seq %
 * GENERATIONS. */
enum { GENERATIONS = 4 };
enum list { NONE, INACTIVE, ACTIVE, LOCKED, GENERATION, LISTS = GENERATION + GENERATIONS };

struct page {
    uint32_t newer, older;
    enum list list;
    bool referenced, workingset, marked;
    bool shadow, shadow_workingset; /* of an absent page: it was evicted, at that age */
    uint8_t mapped, young;          /* a bit for each process */
    uint64_t age;                   /* LISTS_MGLRU: the oldest generation then */
    int64_t done_ns;                /* in flight until then */
};

struct command {
    int64_t done_ns;
    uint64_t bytes, number;
};

struct process {
    int64_t start, size, async; /* the readahead state of its open file */
    uint32_t misses;
    bool *tables; /* the page tables that it has */
    uint64_t major, minor;
};

struct naive_page_cache {
    struct page_cache_spec spec;
    naive_relief *relief;
    void *host;
    struct flash *flash;
    int64_t *now_ns;
    struct page *pages; /* behind them the head of each chain: newer is its oldest page, older its newest */
    bool *nodes;
    uint64_t size[LISTS], limit_pages, kernel_bytes, peak_resident;
    uint64_t table_pages, table_bytes;
    uint64_t age, snapshot;
    uint64_t min_seq, max_seq; /* of generations */
    bool folios;               /* a granule is larger than the processor's page */
    bool willneed;             /* what is read is not read for a fault */
    uint32_t held;             /* or PAGE_NONE */
    uint32_t batch_first, batch_pages;
    struct page_counts counts;
    struct process processes[PAGE_PROCESSES_MAX];
    struct command commands[FLASH_QUEUE_MAX];
    uint32_t command_count;
    uint64_t commands_issued;
};

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The head of a list's chain, behind the pages. */
uint32_t naive_head_of(const struct naive_page_cache *cache, enum list list);

/* A page from whatever chain it is on; it is absent then. */
void naive_take_off(struct naive_page_cache *cache, uint32_t page);

/* A page that is on no chain to the head of one. */
void naive_push_head(struct naive_page_cache *cache, uint32_t page, enum list list);

/* Pages in use: resident ones, and kernel memory, with more_bytes of it, rounded down. */
uint64_t naive_usage(const struct naive_page_cache *cache, uint64_t more_bytes);

/* A page that is on no list any more leaves memory. */
void naive_evict_page(struct naive_page_cache *cache, uint32_t page);

/* Evicts until at least `want` pages are gone or nothing helps; how many went. */
uint64_t naive_shrink(struct naive_page_cache *cache, uint64_t want);

/* The same with generations; and where a page that is read goes: `again` when it had been evicted. */
uint64_t naive_generations_shrink(struct naive_page_cache *cache, uint64_t want);
enum list naive_generation_for(struct naive_page_cache *cache, uint32_t page, bool again);
enum list naive_generation(uint64_t seq);

#endif
