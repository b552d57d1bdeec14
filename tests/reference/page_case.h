/* A random case for the page cache and its twin: file, kernel, flash, and who gives memory. The steps are drawn from
 * the case's random numbers too, by the test. */
#ifndef POCKETLOAD_TESTS_PAGE_CASE_H
#define POCKETLOAD_TESTS_PAGE_CASE_H

#include "base/rng.h"
#include "tests/reference/either_page_cache.h"

enum {
    LARGE_EVERY = 300, /* of the cases, those with lists of over LARGE_LIST pages */
    LARGE_LIST = 131072,
    MGLRU_EVERY = 8, /* of the cases, those with generations */
};

/* What the steps of a case are: a mix of all; one process around a file larger than the limit, pass after pass; hot
 * pages between cold ones, so that pages come back and stay. */
enum case_kind { CASE_MIXED, CASE_CYCLIC, CASE_HOT };

/* What is asked for memory in a case with a relief: shares of the file, and a limit that is raised now and then. */
struct host {
    struct either *e;
    uint64_t limit_pages, amounts[4], raise_pages;
    uint32_t calls, raise_every;
};

struct page_case {
    uint64_t seed;
    struct rng rng;
    struct page_cache_spec spec;
    struct flash_spec flash;
    enum case_kind kind;
    bool relieved, large;
    uint64_t least_pages; /* a limit that holds what may have to be there at once */
    uint32_t lock_pages;  /* that may still be locked */
    struct arena arena;
    struct either sides[2]; /* the page cache, its twin */
    struct host hosts[2];
    bool log, failed;
    uint32_t steps;
};

uint64_t between(struct rng *rng, uint64_t low, uint64_t high);
bool chance(struct rng *rng, uint32_t percent);

/* From low to high, each doubling of low a fifth less likely than the one before. */
uint64_t scaled(struct rng *rng, uint64_t low, uint64_t high);

/* The lists of a seed's case where nothing asks for others. */
static inline enum page_lists page_case_lists(uint64_t seed)
{
    return seed % MGLRU_EVERY == 3 ? LISTS_MGLRU : LISTS_CLASSIC;
}

/* Both caches, without a limit. All but the lists follows from the seed. The case must not be moved: hosts and clocks
 * are pointed to. Freed with arena_free(&c->arena). */
void page_case_make(struct page_case *c, uint64_t seed, enum page_lists lists);
void page_case_print(const struct page_case *c);

/* For both, and for their hosts. */
void page_case_limit(struct page_case *c, uint64_t limit_pages);

#endif
