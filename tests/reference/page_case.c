/* See page_case.h. */
#include "tests/reference/page_case.h"

#include <stdio.h>

#include "tests/cmocka_fixed.h"

enum { MIB = 1 << 20 };

uint64_t between(struct rng *rng, uint64_t low, uint64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

bool chance(struct rng *rng, uint32_t percent)
{
    return rng_below(rng, 100) < percent;
}

uint64_t scaled(struct rng *rng, uint64_t low, uint64_t high)
{
    uint64_t top = low;
    while (top < high && !chance(rng, 20))
        top = 2 * top < high ? 2 * top : high;
    return between(rng, low, top);
}

/* ---- The host ---- */

static bool relieve(struct host *host)
{
    uint64_t got = 0, amount = host->amounts[host->calls % 4];
    host->calls++;
    if (amount > 0)
        got = either_reclaim(host->e, amount);
    bool raised = host->raise_every > 0 && host->calls % host->raise_every == 0;
    if (raised)
        host->limit_pages += host->raise_pages;
    either_set_limit(host->e, host->limit_pages);
    return got > 0 || raised;
}

static bool fast_relief(void *host, struct page_cache *cache)
{
    must(((struct host *)host)->e->fast == cache);
    return relieve(host);
}

static bool twin_relief(void *host, struct naive_page_cache *cache)
{
    must(((struct host *)host)->e->twin == cache);
    return relieve(host);
}

void page_case_limit(struct page_case *c, uint64_t limit_pages)
{
    for (int i = 0; i < 2; i++) {
        c->hosts[i].limit_pages = limit_pages;
        either_set_limit(&c->sides[i], limit_pages);
    }
}

/* ---- Cases ---- */

static void make_flash(struct page_case *c)
{
    struct rng *rng = &c->rng;
    uint64_t bps = UINT64_C(1000000) << between(rng, 0, chance(rng, 30) ? 24 : 13);
    c->flash = (struct flash_spec){.setup_ns = chance(rng, 50) ? 0 : (int64_t)between(rng, 1, 300000),
                                   .stream_bps = bps,
                                   .max_bps = chance(rng, 50) ? bps : bps + between(rng, 1, 2 * bps),
                                   .queue_depth = (uint32_t)(chance(rng, 60) ? between(rng, 1, 4) : 32),
                                   .command_bytes = MIB,
                                   .hot_after_ns = chance(rng, 20) ? (int64_t)between(rng, 1, 100000000) : 0,
                                   .hot_factor_ppm = (uint32_t)between(rng, 100000, 1000000)};
}

static void make_spec(struct page_case *c)
{
    static const uint64_t sizes[] = {4096, 4096, 4096, 16384, 65536, 2 * MIB};
    struct rng *rng = &c->rng;
    struct page_cache_spec *spec = &c->spec;
    spec->pages = (uint32_t)(c->kind == CASE_CYCLIC ? scaled(rng, 200, 6000) : scaled(rng, 1, 6000));
    if (c->large)
        spec->pages = (uint32_t)between(rng, LARGE_LIST + 20000, LARGE_LIST + 100000);
    if (c->kind == CASE_HOT)
        spec->pages = (uint32_t)between(rng, 20, 2500);
    spec->processes = c->kind == CASE_CYCLIC || chance(rng, 60) ? 1 : (uint32_t)between(rng, 2, 3);
    spec->page_bytes = sizes[rng_below(rng, 6)];
    spec->base_bytes = spec->page_bytes >= 16384 && chance(rng, 50) ? 16384 : 4096;
    spec->window_pages = (uint32_t)(chance(rng, 60) ? UINT64_C(1) << between(rng, 0, 6) : between(rng, 1, 64));
    spec->around_pages = 1U << between(rng, 0, 4);
    spec->willneed_pages = (uint32_t)scaled(rng, 1, 2000);
    spec->advice = chance(rng, 60) ? PAGES_NORMAL : (enum page_advice)rng_below(rng, 3);
    if (c->kind == CASE_HOT && chance(rng, 40)) { /* many misses: no neighbours are read or mapped */
        spec->advice = PAGES_NORMAL;
        spec->window_pages = (uint32_t)between(rng, 1, chance(rng, 50) ? 2 : 8);
        spec->around_pages = 1U << between(rng, 0, 1);
    }
    spec->prefault_young = chance(rng, 50);
    spec->minor_ns = chance(rng, 30) ? 0 : (int64_t)between(rng, 1, 3000);
    spec->major_ns = chance(rng, 30) ? 0 : (int64_t)between(rng, 1, 6000);
    spec->scan_ns = chance(rng, 40) ? 0 : (int64_t)scaled(rng, 1, 20000);
    spec->batch_pages = chance(rng, 70) ? 32 : (uint32_t)between(rng, 1, 200);
}

/* How many pages the limit has to hold so that a touch rarely finds all of memory locked or in flight. */
static uint64_t least_limit(const struct page_case *c)
{
    const struct page_cache_spec *spec = &c->spec;
    uint64_t table_bytes = spec->base_bytes;
    uint64_t table_pages =
        spec->page_bytes == 2 * MIB ? 16 : table_bytes / 8 / (spec->page_bytes / table_bytes); /* or more */
    uint64_t kernel_bytes =
        (spec->pages / table_pages + 1) * table_bytes * spec->processes + (uint64_t)(spec->pages / 64 + 1) * 576;
    return kernel_bytes / spec->page_bytes + c->lock_pages + 3 * (uint64_t)spec->window_pages + 36;
}

void page_case_make(struct page_case *c, uint64_t seed, enum page_lists lists)
{
    struct rng *rng = &c->rng;
    struct error err;
    *c = (struct page_case){.seed = seed};
    rng_seed(rng, seed, 0);
    c->large = seed % LARGE_EVERY == 0;
    c->kind = c->large || seed % 8 == 0 ? CASE_CYCLIC : seed % 4 == 1 ? CASE_HOT : CASE_MIXED;
    make_flash(c);
    make_spec(c);
    c->spec.lists = lists;
    c->relieved = chance(rng, 25);
    c->lock_pages = chance(rng, 25) ? (uint32_t)rng_below(rng, c->spec.pages / 4 + 1) : 0;
    c->least_pages = least_limit(c);
    struct host host = {.raise_every = chance(rng, 30) ? (uint32_t)between(rng, 2, 9) : 0,
                        .raise_pages = between(rng, 1, 3)};
    for (int i = 0; i < 4; i++)
        host.amounts[i] = chance(rng, 20) ? scaled(rng, 1, 500) : between(rng, 1, 40);
    if (c->relieved) {
        c->spec.relief = fast_relief;
        c->spec.host = &c->hosts[0];
    }
    for (int i = 0; i < 2; i++) {
        struct either *e = &c->sides[i];
        c->hosts[i] = host;
        c->hosts[i].e = e;
        flash_init(&e->flash, &c->flash);
        bool made = i == 0 ? page_cache_init(&e->fast, &c->spec, &e->flash, &e->now_ns, &c->arena, &err)
                           : naive_page_cache_init(&e->twin, &c->spec, c->relieved ? twin_relief : NULL, &c->hosts[1],
                                                   &e->flash, &e->now_ns, &c->arena, &err);
        if (!made)
            fail_because("seed %llu: %s", (unsigned long long)seed, err.text);
    }
}

void page_case_print(const struct page_case *c)
{
    static const char *const advices[] = {"normal", "sequential", "random"};
    const struct page_cache_spec *s = &c->spec;
    print_message(
        "# seed %llu: %u pages of %llu bytes%s, %u processes, %s, window %u, around %u%s, willneed %u, minor %lld, "
        "major %lld, scan %lld ns, batch %u%s, flash setup %lld, %llu and %llu B/s, depth %u, hot after %lld\n",
        (unsigned long long)c->seed, s->pages, (unsigned long long)s->page_bytes,
        s->lists == LISTS_MGLRU ? ", generations" : "", s->processes, advices[s->advice], s->window_pages,
        s->around_pages, s->prefault_young ? " young" : "", s->willneed_pages, (long long)s->minor_ns,
        (long long)s->major_ns, (long long)s->scan_ns, s->batch_pages, c->relieved ? ", relief" : "",
        (long long)c->flash.setup_ns, (unsigned long long)c->flash.stream_bps, (unsigned long long)c->flash.max_bps,
        c->flash.queue_depth, (long long)c->flash.hot_after_ns);
}
