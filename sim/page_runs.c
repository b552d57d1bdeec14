/* Runs of pages: finding, cutting, joining, and their lists. */
#include "sim/page_runs.h"

#include "base/error.h"

static void starts_set(struct page_runs *all, uint32_t page)
{
    for (uint32_t level = 0; level < all->levels; level++) {
        uint64_t *word = &all->starts[level][page >> 6], before = *word;
        *word = before | UINT64_C(1) << (page & 63);
        if (before)
            return;
        page >>= 6;
    }
}

static void starts_clear(struct page_runs *all, uint32_t page)
{
    for (uint32_t level = 0; level < all->levels; level++) {
        uint64_t *word = &all->starts[level][page >> 6];
        *word &= ~(UINT64_C(1) << (page & 63));
        if (*word)
            return;
        page >>= 6;
    }
}

/* The last start that is not after the page: up the tree to a word with a bit at or below it, down along the highest
 * bits. Page 0 is always a start. */
static uint32_t starts_before(const struct page_runs *all, uint32_t page)
{
    uint32_t level = 0;
    for (;; level++) {
        uint64_t word = all->starts[level][page >> 6] & (~UINT64_C(0) >> (63 - (page & 63)));
        if (word) {
            page = (page & ~63u) + 63u - (uint32_t)__builtin_clzll(word);
            break;
        }
        /* The words to the left, of which the next level knows those that are not 0. */
        must((page >> 6) > 0);
        page = (page >> 6) - 1;
    }
    while (level-- > 0)
        page = (page << 6) + 63u - (uint32_t)__builtin_clzll(all->starts[level][page]);
    return page;
}

bool page_runs_init(struct page_runs *all, uint32_t pages, struct arena *arena)
{
    *all = (struct page_runs){.pages = pages, .used = FIRST_RUN + 1, .hint = FIRST_RUN};
    all->runs = arena_alloc(arena, (size_t)pages + FIRST_RUN + 1, sizeof *all->runs);
    all->run_at = arena_alloc(arena, (size_t)pages + 1, sizeof *all->run_at);
    if (!all->runs || !all->run_at)
        return false;
    for (uint64_t bits = pages; all->levels == 0 || bits > 1; bits = (bits + 63) / 64) {
        uint64_t *words = arena_alloc(arena, (size_t)((bits + 63) / 64), sizeof *words);
        if (!words)
            return false;
        all->starts[all->levels++] = words;
    }
    struct page_run *runs = all->runs;
    for (uint32_t list = LIST_INACTIVE; list < FILE_ENDS; list++)
        runs[list] = (struct page_run){.start = UINT32_MAX, .newer = list, .older = list, .attributes = PAGE_OUTSIDE};
    runs[FILE_ENDS] =
        (struct page_run){.start = pages, .next = FIRST_RUN, .previous = FIRST_RUN, .attributes = PAGE_OUTSIDE};
    runs[FIRST_RUN] = (struct page_run){.next = FILE_ENDS, .previous = FILE_ENDS, .attributes = PAGE_ABSENT};
    all->run_at[0] = FIRST_RUN;
    starts_set(all, 0);
    all->size[PAGE_ABSENT] = pages;
    return true;
}

uint32_t page_runs_search(struct page_runs *all, uint32_t page)
{
    /* Walks go from a run to the next. */
    uint32_t run = all->runs[all->hint].next;
    if (all->runs[run].start > page || run == FILE_ENDS || page >= run_end(all, run))
        run = all->run_at[starts_before(all, page)];
    all->hint = run;
    return run;
}

static bool is_listed(uint32_t attributes)
{
    uint32_t place = attributes & PLACE_MASK;
    return place >= PAGE_INACTIVE && place < PAGE_LOCKED;
}

static void link_between(struct page_runs *all, uint32_t run, uint32_t older, uint32_t newer)
{
    all->runs[run].older = older;
    all->runs[run].newer = newer;
    all->runs[older].newer = run;
    all->runs[newer].older = run;
}

static void unlink_run(struct page_runs *all, uint32_t run)
{
    const struct page_run *r = &all->runs[run];
    all->runs[r->older].newer = r->newer;
    all->runs[r->newer].older = r->older;
}

uint32_t page_runs_cut(struct page_runs *all, uint32_t run, uint32_t at)
{
    struct page_run *runs = all->runs;
    if (at == runs[run].start)
        return run;
    if (at == run_end(all, run))
        return runs[run].next;
    must(at > runs[run].start && at < run_end(all, run));
    uint32_t id = all->spare;
    if (id != 0)
        all->spare = runs[id].next;
    else
        id = all->used++;
    runs[id] = runs[run];
    runs[id].start = at;
    runs[id].previous = run;
    runs[id].age += at - runs[run].start;
    runs[runs[run].next].previous = id;
    runs[run].next = id;
    if (is_listed(runs[id].attributes))
        link_between(all, id, run, runs[run].newer);
    all->run_at[at] = id;
    starts_set(all, at);
    return id;
}

static void drop(struct page_runs *all, uint32_t run)
{
    struct page_run *r = &all->runs[run];
    starts_clear(all, r->start);
    all->runs[r->previous].next = r->next;
    all->runs[r->next].previous = r->previous;
    if (all->hint == run)
        all->hint = r->previous == FILE_ENDS ? r->next : r->previous;
    r->next = all->spare;
    all->spare = run;
}

/* Are the last pages of a run and the first of the next one like neighbours of one run? */
static bool alike(const struct page_runs *all, uint32_t run, uint32_t next)
{
    const struct page_run *a = &all->runs[run], *b = &all->runs[next];
    if (a->attributes != b->attributes || run == FILE_ENDS || next == FILE_ENDS)
        return false;
    if ((a->attributes & PLACE_MASK) == PAGE_EVICTED)
        return a->age + (b->start - a->start) == b->age;
    return !is_listed(a->attributes) || a->newer == next;
}

static uint32_t join(struct page_runs *all, uint32_t run)
{
    uint32_t next = all->runs[run].next, previous = all->runs[run].previous;
    if (alike(all, run, next)) {
        if (is_listed(all->runs[next].attributes))
            unlink_run(all, next);
        drop(all, next);
    }
    if (alike(all, previous, run)) {
        if (is_listed(all->runs[run].attributes))
            unlink_run(all, run);
        drop(all, run);
        return previous;
    }
    return run;
}

void page_runs_take(struct page_runs *all, uint32_t run)
{
    uint32_t attributes = all->runs[run].attributes;
    if (is_listed(attributes))
        unlink_run(all, run);
    all->size[attributes & PLACE_MASK] -= run_pages(all, run);
    all->runs[run].attributes = PAGE_OUTSIDE; /* like nothing beside it */
}

uint32_t page_runs_put(struct page_runs *all, uint32_t run, uint32_t attributes, uint64_t age)
{
    struct page_run *r = &all->runs[run];
    all->size[attributes & PLACE_MASK] += run_pages(all, run);
    r->attributes = attributes;
    r->age = age;
    if (is_listed(attributes)) {
        uint32_t list = list_of(attributes & PLACE_MASK);
        link_between(all, run, all->runs[list].older, list);
    }
    return join(all, run);
}

uint32_t page_runs_change(struct page_runs *all, uint32_t run, uint32_t attributes)
{
    must(((attributes ^ all->runs[run].attributes) & PLACE_MASK) == 0);
    all->runs[run].attributes = attributes;
    return join(all, run);
}

void page_runs_pass(struct page_runs *all, uint32_t run, uint32_t count)
{
    struct page_run *r = &all->runs[run];
    must(count < run_pages(all, run));
    all->size[r->attributes & PLACE_MASK] -= count;
    all->size[all->runs[r->previous].attributes & PLACE_MASK] += count;
    starts_clear(all, r->start);
    r->start += count;
    r->age += count;
    all->run_at[r->start] = run;
    starts_set(all, r->start);
}
