/* The page cache page by page, after the rules of docs/models.md section 11: the twin of sim/page_cache.c. Each
 * function does what the one without the prefix does (sim/page_cache.h); every page is an entry of its own, every list
 * a chain of pages, and every touch, scan and readahead looks at one page after the other. */
#ifndef POCKETLOAD_TESTS_NAIVE_PAGE_CACHE_H
#define POCKETLOAD_TESTS_NAIVE_PAGE_CACHE_H

#include "sim/page_cache.h"

struct naive_page_cache;

/* As page_relief, for the twin. */
typedef bool naive_relief(void *host, struct naive_page_cache *cache);

/* As page_cache_init; of the spec, `relief` and `host` are not used, as they know the other cache: these are. */
bool naive_page_cache_init(struct naive_page_cache **cache, const struct page_cache_spec *spec, naive_relief *relief,
                           void *host, struct flash *flash, int64_t *now_ns, struct arena *arena, struct error *err);

void naive_page_cache_set_limit(struct naive_page_cache *cache, uint64_t limit_pages);
uint64_t naive_page_cache_charged(const struct naive_page_cache *cache);
uint64_t naive_page_cache_resident(const struct naive_page_cache *cache);
uint64_t naive_page_cache_locked(const struct naive_page_cache *cache);
uint64_t naive_page_cache_peak_resident(const struct naive_page_cache *cache);
uint64_t naive_page_cache_table_bytes(const struct naive_page_cache *cache);
struct page_counts naive_page_cache_counts(const struct naive_page_cache *cache);
struct page_process_counts naive_page_cache_process_counts(const struct naive_page_cache *cache, uint32_t process);
void naive_page_cache_sizes(const struct naive_page_cache *cache, uint64_t *inactive, uint64_t *active,
                            uint64_t *locked);
bool naive_page_cache_touch(struct naive_page_cache *cache, uint32_t process, struct page_walk *walk, int64_t until_ns);
bool naive_page_cache_willneed(struct naive_page_cache *cache, uint32_t process, uint32_t first, uint32_t end);
bool naive_page_cache_lock(struct naive_page_cache *cache, uint32_t process, uint32_t first, uint32_t end);
void naive_page_cache_exit(struct naive_page_cache *cache, uint32_t process);
uint64_t naive_page_cache_reclaim(struct naive_page_cache *cache, uint64_t pages);
uint32_t naive_page_cache_warm(struct naive_page_cache *cache, uint32_t pages);
uint64_t naive_page_cache_seen(const struct naive_page_cache *cache, uint32_t first);
bool naive_page_cache_has(const struct naive_page_cache *cache, uint32_t page);
int64_t naive_page_cache_reads_done_ns(const struct naive_page_cache *cache);
void naive_page_cache_settle(struct naive_page_cache *cache);

#endif
