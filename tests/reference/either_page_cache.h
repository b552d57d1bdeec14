/* One page cache, the fast one or its twin, under one set of names: what tests that treat both alike call. */
#ifndef POCKETLOAD_TESTS_EITHER_PAGE_CACHE_H
#define POCKETLOAD_TESTS_EITHER_PAGE_CACHE_H

#include <stddef.h>

#include "tests/reference/naive_page_cache.h"

/* One of the two is NULL. flash and clock are its own. */
struct either {
    struct page_cache *fast;
    struct naive_page_cache *twin;
    struct flash flash;
    int64_t now_ns;
};

static inline void either_set_limit(struct either *e, uint64_t limit_pages)
{
    if (e->fast != NULL)
        page_cache_set_limit(e->fast, limit_pages);
    else
        naive_page_cache_set_limit(e->twin, limit_pages);
}

static inline uint64_t either_charged(const struct either *e)
{
    return e->fast != NULL ? page_cache_charged(e->fast) : naive_page_cache_charged(e->twin);
}

static inline uint64_t either_resident(const struct either *e)
{
    return e->fast != NULL ? page_cache_resident(e->fast) : naive_page_cache_resident(e->twin);
}

static inline uint64_t either_locked(const struct either *e)
{
    return e->fast != NULL ? page_cache_locked(e->fast) : naive_page_cache_locked(e->twin);
}

static inline uint64_t either_peak_resident(const struct either *e)
{
    return e->fast != NULL ? page_cache_peak_resident(e->fast) : naive_page_cache_peak_resident(e->twin);
}

static inline uint64_t either_table_bytes(const struct either *e)
{
    return e->fast != NULL ? page_cache_table_bytes(e->fast) : naive_page_cache_table_bytes(e->twin);
}

static inline struct page_counts either_counts(const struct either *e)
{
    return e->fast != NULL ? page_cache_counts(e->fast) : naive_page_cache_counts(e->twin);
}

static inline struct page_process_counts either_process_counts(const struct either *e, uint32_t process)
{
    return e->fast != NULL ? page_cache_process_counts(e->fast, process)
                           : naive_page_cache_process_counts(e->twin, process);
}

static inline void either_sizes(const struct either *e, uint64_t *inactive, uint64_t *active, uint64_t *locked)
{
    if (e->fast != NULL)
        page_cache_sizes(e->fast, inactive, active, locked);
    else
        naive_page_cache_sizes(e->twin, inactive, active, locked);
}

static inline bool either_touch(struct either *e, uint32_t process, struct page_walk *walk, int64_t until_ns)
{
    return e->fast != NULL ? page_cache_touch(e->fast, process, walk, until_ns)
                           : naive_page_cache_touch(e->twin, process, walk, until_ns);
}

static inline bool either_willneed(struct either *e, uint32_t process, uint32_t first, uint32_t end)
{
    return e->fast != NULL ? page_cache_willneed(e->fast, process, first, end)
                           : naive_page_cache_willneed(e->twin, process, first, end);
}

static inline bool either_lock(struct either *e, uint32_t process, uint32_t first, uint32_t end)
{
    return e->fast != NULL ? page_cache_lock(e->fast, process, first, end)
                           : naive_page_cache_lock(e->twin, process, first, end);
}

static inline void either_exit(struct either *e, uint32_t process)
{
    if (e->fast != NULL)
        page_cache_exit(e->fast, process);
    else
        naive_page_cache_exit(e->twin, process);
}

static inline uint64_t either_reclaim(struct either *e, uint64_t pages)
{
    return e->fast != NULL ? page_cache_reclaim(e->fast, pages) : naive_page_cache_reclaim(e->twin, pages);
}

static inline uint32_t either_warm(struct either *e, uint32_t pages)
{
    return e->fast != NULL ? page_cache_warm(e->fast, pages) : naive_page_cache_warm(e->twin, pages);
}

static inline uint64_t either_seen(const struct either *e, uint32_t first)
{
    return e->fast != NULL ? page_cache_seen(e->fast, first) : naive_page_cache_seen(e->twin, first);
}

static inline bool either_has(const struct either *e, uint32_t page)
{
    return e->fast != NULL ? page_cache_has(e->fast, page) : naive_page_cache_has(e->twin, page);
}

static inline int64_t either_reads_done_ns(const struct either *e)
{
    return e->fast != NULL ? page_cache_reads_done_ns(e->fast) : naive_page_cache_reads_done_ns(e->twin);
}

static inline void either_settle(struct either *e)
{
    if (e->fast != NULL)
        page_cache_settle(e->fast);
    else
        naive_page_cache_settle(e->twin);
}

#endif
