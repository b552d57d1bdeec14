/* What the twins of eviction policies are made of: lines of blocks, a few numbers for each block, and the one loop that
 * all share. */
#ifndef POCKETLOAD_TESTS_NAIVE_CACHE_PARTS_H
#define POCKETLOAD_TESTS_NAIVE_CACHE_PARTS_H

#include "tests/reference/naive_cache.h"

enum { NAIVE_LINES = 8, NAIVE_TIMES = 4 };
#define NAIVE_NONE UINT32_MAX

/* Distinct blocks, the oldest first. */
struct naive_line {
    uint32_t *ids;
    uint32_t count;
    uint64_t bytes;
};

struct naive_cache {
    const struct naive_request *request;
    uint64_t capacity;
    uint32_t now;       /* the number of the access that is looked up */
    uint32_t now_next;  /* the number of the next access to the same block, NAIVE_NEVER: none */
    bool *resident;     /* by id */
    uint64_t held;      /* bytes of resident blocks */
    uint32_t *last;     /* by id: the number of its last access */
    uint32_t *next;     /* by id: the number of its next access; of blocks that were accessed */
    uint64_t *uses;     /* by id: hits since it came in, or what the policy makes of it */
    bool *mark, *mark2; /* by id: the policy's */
    uint64_t *number;   /* by id: the policy's */
    uint64_t *times;    /* by id, NAIVE_TIMES each: the policy's */
    uint8_t *sketch;    /* 32 counters an id: W-TinyLFU's */
    struct naive_line line[NAIVE_LINES], ghost[NAIVE_LINES];
    uint64_t limit[NAIVE_LINES]; /* of lines, in bytes */
    uint64_t counter, counter2;  /* the policy's */
    double target;               /* ARC's p */
    uint32_t hand;               /* SIEVE: a block, or NAIVE_NONE */
};

/* The steps of a policy in the common loop. */
struct naive_policy {
    const char *name;
    void (*start)(struct naive_cache *cache);                   /* optional */
    bool (*find)(struct naive_cache *cache, uint32_t id);       /* a hit? with all that the look-up changes */
    bool (*can_insert)(struct naive_cache *cache, uint32_t id); /* optional; sizes above the capacity are never asked */
    void (*evict)(struct naive_cache *cache, uint32_t id);      /* one step towards room for id */
    void (*insert)(struct naive_cache *cache, uint32_t id);
    void (*end)(struct naive_cache *cache); /* optional: after every access, hit or miss */
};

/* Each ends with {0}. */
extern const struct naive_policy naive_plain[], naive_queues[], naive_lirs[], naive_future[], naive_scored[],
    naive_tinylfu[], naive_layers[];

uint64_t naive_size(const struct naive_cache *cache, uint32_t id);
/* bytes * ppm / 1000000 in doubles, cut: as libCacheSim rounds shares */
uint64_t naive_share(uint64_t bytes, int64_t ppm);

/* The block counts as held from now on, or no longer. */
void naive_keep(struct naive_cache *cache, uint32_t id);
void naive_drop(struct naive_cache *cache, uint32_t id);

bool naive_has(const struct naive_line *line, uint32_t id);
void naive_push(struct naive_cache *cache, struct naive_line *line, uint32_t id);   /* as the newest */
bool naive_remove(struct naive_cache *cache, struct naive_line *line, uint32_t id); /* false: it was not there */
uint32_t naive_oldest(const struct naive_line *line);                               /* NAIVE_NONE: empty */
uint32_t naive_newest(const struct naive_line *line);
uint32_t naive_pop(struct naive_cache *cache, struct naive_line *line); /* removes the oldest, which there must be */
/* A line of ghosts takes a block as its newest and forgets its oldest to stay within the limit; one that is larger than
 * the limit it ignores. */
void naive_remember(struct naive_cache *cache, struct naive_line *ghosts, uint64_t limit, uint32_t id);

#endif
