/* The twin of sim/flash.c: see naive_flash.h. */
#include "tests/reference/naive_flash.h"

#include <stdlib.h>

#include "base/error.h"

__extension__ typedef unsigned __int128 wide;

void naive_flash_start(struct naive_flash *flash, const struct flash_spec *spec)
{
    *flash = (struct naive_flash){.spec = *spec};
}

void naive_flash_free(struct naive_flash *flash)
{
    free(flash->history);
    flash->history = NULL;
}

int64_t naive_ceil(uint64_t a, uint64_t b, uint64_t c)
{
    wide product = (wide)a * b;
    return (int64_t)(product / c + (product % c != 0));
}

int64_t naive_flash_busy(const struct naive_flash *flash, int64_t now_ns)
{
    /* The union of intervals that are sorted by their beginnings, up to now. */
    int64_t busy = 0, covered = 0;
    for (size_t i = 0; i < flash->count; i++) {
        int64_t from = flash->history[i].issue_ns, to = flash->history[i].done_ns;
        if (to > now_ns)
            to = now_ns;
        if (from < covered)
            from = covered;
        if (to > from) {
            busy += to - from;
            covered = to;
        }
    }
    return busy;
}

uint64_t naive_flash_moved(const struct naive_flash *flash, int64_t now_ns)
{
    uint64_t moved = 0;
    for (size_t i = 0; i < flash->count; i++) {
        const struct naive_interval *c = &flash->history[i];
        if (now_ns >= c->link_free_ns)
            moved += c->bytes;
        else if (now_ns > c->link_start_ns)
            moved += (uint64_t)((wide)c->bytes * (uint64_t)(now_ns - c->link_start_ns) /
                                (uint64_t)(c->link_free_ns - c->link_start_ns));
    }
    return moved;
}

/* P(rate) of the page. */
static int64_t part_ns(uint64_t before_bytes, uint64_t bytes, uint64_t rate)
{
    return naive_ceil(before_bytes + bytes, 1000000000, rate) - naive_ceil(before_bytes, 1000000000, rate);
}

/* Busy time warms, what of a pause is not busy cools, once the pause is over. */
static bool is_hot(const struct naive_flash *flash, int64_t now_ns)
{
    const int64_t most = flash->spec.hot_after_ns;
    int64_t heat = 0, busy = 0;
    if (most == 0 || flash->mode != HEAT_FROM_COLD)
        return most > 0 && flash->mode == HEAT_HOT;
    for (size_t i = 0; flash->pauses != NULL && i < flash->pauses->count; i++) {
        const int64_t from = flash->pauses->spans[i][0], to = flash->pauses->spans[i][1];
        const int64_t before = naive_flash_busy(flash, from);
        heat += before - busy;
        busy = before;
        heat = heat > most ? most : heat;
        if (to > now_ns)
            continue;
        const int64_t within = naive_flash_busy(flash, to) - before;
        const wide lost = (wide)(to - from - within) * flash->cool_ppm / 1000000;
        heat = heat + within > most ? most : heat + within;
        heat = lost > (wide)heat ? 0 : heat - (int64_t)lost;
        busy += within;
    }
    return heat + naive_flash_busy(flash, now_ns) - busy >= most;
}

int64_t naive_flash_issue(struct naive_flash *flash, int64_t now_ns, uint64_t before_bytes, uint64_t bytes)
{
    uint64_t max = flash->spec.max_bps, stream = flash->spec.stream_bps;
    if (is_hot(flash, now_ns)) {
        max = (uint64_t)((wide)max * flash->spec.hot_factor_ppm / 1000000);
        if (max < stream)
            stream = max;
    }
    int64_t ready = now_ns + (before_bytes == 0 ? flash->spec.setup_ns : 0);
    int64_t link_start = ready > flash->link_free_ns ? ready : flash->link_free_ns;
    int64_t link_free = link_start + part_ns(before_bytes, bytes, max);
    int64_t streamed = ready + part_ns(before_bytes, bytes, stream);
    int64_t done = link_free > streamed ? link_free : streamed;
    flash->link_free_ns = link_free;

    if (flash->count == flash->capacity) {
        flash->capacity = flash->capacity ? 2 * flash->capacity : 64;
        flash->history = realloc(flash->history, flash->capacity * sizeof *flash->history);
        must(flash->history != NULL);
    }
    flash->history[flash->count++] = (struct naive_interval){now_ns, done, link_start, link_free, bytes};
    return done;
}
