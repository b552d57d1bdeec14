/* Compressed memory: who goes into zram, how much of it, and what that frees. */
#include "sim/pressure_state.h"

static const uint64_t ONE_PPM = 1000000;

/* In the order in which they go. Streamed blocks are in use all the time. */
static const enum memory_class own_order[] = {MEMORY_RUNTIME, MEMORY_WEIGHTS, MEMORY_KV, MEMORY_ACTIVATION};
enum { OWN_ORDER = sizeof own_order / sizeof *own_order };

static uint64_t whole_pages(uint64_t bytes)
{
    return bytes / SWAP_PAGE_BYTES * SWAP_PAGE_BYTES;
}

static void show_zram(struct pressure *p)
{
    uint64_t ratio = p->spec->zram_ratio_ppm;
    wide compressed = ((wide)p->swap_used_bytes * ONE_PPM + ratio - 1) / ratio;
    ledger_set(p->ledger, MEMORY_ZRAM, (uint64_t)compressed); /* at most what it was, as the ratio is at least 1 */
}

static uint64_t zram_room(const struct pressure *p)
{
    return whole_pages(p->spec->zram_bytes - p->swap_used_bytes);
}

/* What of *left_bytes one holder can give goes out. */
static void move_out(struct pressure *p, enum memory_class class, uint64_t bytes, uint64_t *out_bytes,
                     uint64_t *left_bytes)
{
    uint64_t most = whole_pages(bytes - *out_bytes);
    uint64_t moved = most < *left_bytes ? most : *left_bytes;
    *out_bytes += moved;
    *left_bytes -= moved;
    ledger_remove(p->ledger, class, moved);
    p->swap_used_bytes += moved;
    p->swapped_out += moved;
}

static void move_own(struct pressure *p, uint64_t *left_bytes)
{
    uint64_t before = *left_bytes;
    for (int i = 0; i < OWN_ORDER; i++)
        move_out(p, own_order[i], p->own_bytes[own_order[i]], &p->own_out[own_order[i]], left_bytes);
    p->own_swapped_out += before - *left_bytes;
}

/* The named app that runs and goes next, after those of the mask `done`; app_count: none is left. */
static uint32_t next_victim(const struct pressure *p, uint64_t done)
{
    uint32_t best = p->spec->app_count;
    for (uint32_t i = 0; i < p->spec->app_count; i++) {
        if (p->apps[i].life != APP_RUNS || (done >> i & 1) != 0)
            continue;
        if (best == p->spec->app_count || p->spec->apps[i].adj > p->spec->apps[best].adj ||
            (p->spec->apps[i].adj == p->spec->apps[best].adj && p->apps[i].bytes > p->apps[best].bytes))
            best = i;
    }
    return best;
}

void swap_free(struct pressure *p, uint64_t bytes)
{
    uint64_t ratio = p->spec->zram_ratio_ppm, room = zram_room(p);
    if (bytes == 0 || room == 0 || ratio == ONE_PPM)
        return;
    wide frees = ((wide)bytes * ratio + ratio - ONE_PPM - 1) / (ratio - ONE_PPM);
    wide pages = (frees + SWAP_PAGE_BYTES - 1) / SWAP_PAGE_BYTES;
    uint64_t left = pages < room / SWAP_PAGE_BYTES ? (uint64_t)pages * SWAP_PAGE_BYTES : room;
    uint64_t done = 0;
    for (uint32_t i; left > 0 && (i = next_victim(p, done)) < p->spec->app_count; done |= UINT64_C(1) << i)
        move_out(p, MEMORY_OTHER_APPS, p->apps[i].bytes, &p->apps[i].out_bytes, &left);
    move_out(p, MEMORY_OTHER_APPS, p->other_bytes, &p->other_out, &left);
    move_own(p, &left);
    show_zram(p);
}

void swap_own(struct pressure *p, uint64_t bytes)
{
    uint64_t room = zram_room(p);
    uint64_t left = bytes < room ? whole_pages(bytes + SWAP_PAGE_BYTES - 1) : room;
    if (left == 0)
        return;
    move_own(p, &left);
    show_zram(p);
}

void swap_forget(struct pressure *p, uint64_t bytes)
{
    if (bytes == 0)
        return;
    p->swap_used_bytes -= bytes;
    show_zram(p);
}

uint64_t pressure_swap_out(struct pressure *pressure, enum memory_class class, uint64_t bytes)
{
    struct pressure *p = pressure;
    const uint64_t room = zram_room(p);
    uint64_t left = bytes < room ? whole_pages(bytes) : room;
    const uint64_t before = p->swapped_out;
    move_out(p, class, p->own_bytes[class], &p->own_out[class], &left);
    const uint64_t moved = p->swapped_out - before;
    p->own_swapped_out += moved;
    if (moved > 0)
        show_zram(p);
    return moved;
}
