/* The twin of sim/pressure.c: see naive_pressure.h. */
#include "tests/reference/naive_pressure.h"

#include <string.h>

#include "base/error.h"

__extension__ typedef __int128 number;

static const number MILLION = 1000000, SECOND = 1000000000, SWAP_PAGE = 4096;

static number down(number a, number unit)
{
    return a / unit * unit;
}

static number up(number a, number unit)
{
    return (a + unit - 1) / unit * unit;
}

static number least(number a, number b)
{
    return a < b ? a : b;
}

/* ---- Sums ---- */

static bool is_own(const struct naive_holder *h)
{
    return h->class < MEMORY_APP_CLASSES;
}

static number all_in_zram(const struct naive_pressure *p)
{
    number sum = 0;
    for (int i = 0; i < p->holder_count; i++)
        sum += p->holders[i].in_zram;
    return sum;
}

uint64_t naive_pressure_class(const struct naive_pressure *p, enum memory_class class)
{
    if (class == MEMORY_OS)
        return p->os;
    if (class == MEMORY_ZRAM) {
        number u = all_in_zram(p);
        return u == 0 ? 0 : (uint64_t)((u * MILLION + p->spec.zram_ratio_ppm - 1) / p->spec.zram_ratio_ppm);
    }
    uint64_t sum = 0;
    for (int i = 0; i < p->holder_count; i++)
        if (p->holders[i].class == class && p->holders[i].lives)
            sum += p->holders[i].has - p->holders[i].in_zram;
    return sum;
}

static number free_of(const struct naive_pressure *p, number extra)
{
    number left = p->ram;
    for (int class = 0; class < MEMORY_CLASSES; class ++)
        left -= naive_pressure_class(p, (enum memory_class) class);
    return left - extra;
}

static number resident(const struct naive_pressure *p)
{
    number sum = 0;
    for (int class = 0; class < MEMORY_APP_CLASSES; class ++)
        sum += naive_pressure_class(p, (enum memory_class) class);
    return sum;
}

static number footprint(const struct naive_pressure *p)
{
    number sum = 0;
    for (int i = 0; i < p->holder_count; i++)
        if (is_own(&p->holders[i]) && p->holders[i].class != MEMORY_FILE)
            sum += p->holders[i].has;
    return sum;
}

static struct naive_holder *own(struct naive_pressure *p, enum memory_class class)
{
    for (int i = 0; i < p->holder_count; i++)
        if (p->holders[i].class == class && is_own(&p->holders[i]))
            return &p->holders[i];
    must(false);
    return NULL;
}

/* ---- Taking back ---- */

static bool take_file(struct naive_pressure *p, number bytes)
{
    if (!p->mapped)
        return false;
    uint64_t got = p->file.reclaim(p->file.host, (uint64_t)bytes);
    struct naive_holder *file = own(p, MEMORY_FILE);
    file->has -= (uint64_t)least(got, file->has);
    return got > 0;
}

static int adj_of(const struct naive_pressure *p, const struct naive_holder *h)
{
    return p->spec.apps[h->app].adj;
}

/* The order of swapping: all who can be swapped, sorted. */
static int in_order(struct naive_pressure *p, bool only_own, struct naive_holder **out)
{
    static const enum memory_class classes[] = {MEMORY_RUNTIME, MEMORY_WEIGHTS, MEMORY_KV, MEMORY_ACTIVATION};
    int count = 0;
    for (int i = 0; i < p->holder_count && !only_own; i++) {
        struct naive_holder *h = &p->holders[i];
        if (h->app < 0 || !h->lives)
            continue;
        int at = count++;
        for (; at > 0; at--) {
            struct naive_holder *other = out[at - 1];
            if (adj_of(p, other) > adj_of(p, h) || (adj_of(p, other) == adj_of(p, h) && other->has >= h->has))
                break;
            out[at] = other;
        }
        out[at] = h;
    }
    for (int i = 0; i < p->holder_count && !only_own; i++)
        if (p->holders[i].class == MEMORY_OTHER_APPS && p->holders[i].app < 0)
            out[count++] = &p->holders[i];
    for (int i = 0; i < 4; i++)
        out[count++] = own(p, classes[i]);
    return count;
}

/* Moves so many bytes, a whole number of pages, a page at a time. */
static void swap(struct naive_pressure *p, number bytes, bool only_own)
{
    struct naive_holder *order[NAIVE_HOLDERS];
    int count = in_order(p, only_own, order), at = 0;
    while (bytes > 0 && at < count && (number)p->spec.zram_bytes - all_in_zram(p) >= SWAP_PAGE) {
        struct naive_holder *h = order[at];
        if (h->has - h->in_zram < (uint64_t)SWAP_PAGE) {
            at++;
            continue;
        }
        h->in_zram += (uint64_t)SWAP_PAGE;
        p->out_total += (uint64_t)SWAP_PAGE;
        if (is_own(h))
            p->own_out_total += (uint64_t)SWAP_PAGE;
        bytes -= SWAP_PAGE;
    }
}

static void swap_until_free(struct naive_pressure *p, number n)
{
    number r = p->spec.zram_ratio_ppm;
    if (n <= 0 || p->spec.zram_bytes == 0 || r == MILLION)
        return;
    swap(p, up((n * r + r - MILLION - 1) / (r - MILLION), SWAP_PAGE), false);
}

static void step_two(struct naive_pressure *p, number extra)
{
    if (free_of(p, extra) >= (number)p->low)
        return;
    swap_until_free(p, ((number)p->high - free_of(p, extra)) * p->spec.swappiness / 200);
    while (free_of(p, extra) < (number)p->high) {
        if (!take_file(p, (number)p->high - free_of(p, extra)))
            break;
    }
    swap_until_free(p, (number)p->high - free_of(p, extra));
}

/* ---- Kills ---- */

static void die(struct naive_pressure *p, const char *rule, int64_t now)
{
    p->killed_by = rule;
    p->died_ns = now;
}

static void step_one(struct naive_pressure *p, number extra, int64_t now)
{
    const struct pressure_spec *spec = &p->spec;
    if (spec->rule == KILL_THRESHOLD && footprint(p) > spec->threshold_bytes)
        die(p, "threshold", now);
    if (spec->rule == KILL_JETSAM && footprint(p) > spec->jetsam_limit_bytes)
        die(p, "jetsam", now);
    if (spec->rule != KILL_MEMORY_LIMITER)
        return;
    uint64_t marks[2] = {spec->high_bytes, spec->max_bytes};
    for (int i = 0; i < 2; i++) {
        if (i == 0 && marks[i] == 0)
            continue;
        while (resident(p) + extra > marks[i]) {
            if (!take_file(p, resident(p) + extra - marks[i]))
                break;
        }
        if (resident(p) + extra > marks[i])
            swap(p, up(resident(p) + extra - marks[i], SWAP_PAGE), true);
    }
    if (resident(p) + extra > spec->max_bytes)
        die(p, "memory_limiter", now);
}

enum { ITSELF = -1, NOBODY = -2 };

/* The index of a holder, or ITSELF, or NOBODY. */
static int victim(const struct naive_pressure *p, int from_adj)
{
    int best = NOBODY;
    for (int i = 0; i < p->holder_count; i++) {
        const struct naive_holder *h = &p->holders[i];
        if (h->app < 0 || !h->lives || h->has == 0 || adj_of(p, h) < from_adj)
            continue;
        if (best == NOBODY || adj_of(p, h) > adj_of(p, &p->holders[best]) ||
            (adj_of(p, h) == adj_of(p, &p->holders[best]) && h->has > p->holders[best].has))
            best = i;
    }
    if (p->spec.own_adj < from_adj)
        return best;
    if (best == NOBODY || p->spec.own_adj > adj_of(p, &p->holders[best]))
        return ITSELF;
    if (p->spec.own_adj == adj_of(p, &p->holders[best]) && footprint(p) > p->holders[best].has)
        return ITSELF;
    return best;
}

static void kill_it(struct naive_pressure *p, int who, const char *rule, int64_t now)
{
    if (who == ITSELF) {
        die(p, rule, now);
        return;
    }
    struct naive_holder *h = &p->holders[who];
    p->kills[p->kill_count++] = (struct app_kill){now, (uint32_t)h->app, h->has, rule};
    h->lives = false;
    h->has = h->in_zram = 0;
}

static uint64_t refaulted(const struct naive_pressure *p)
{
    return p->mapped ? p->file.refault_bytes(p->file.host) : 0;
}

static void open_window(struct naive_pressure *p, int64_t now)
{
    p->window = true;
    p->window_start = now;
    p->window_file = naive_pressure_class(p, MEMORY_FILE);
    p->window_refaults = refaulted(p);
}

static number look(struct naive_pressure *p, int64_t now)
{
    if (!p->window) {
        open_window(p, now);
        p->limit = p->spec.thrashing_limit_ppm;
    }
    number growth = (number)(refaulted(p) - p->window_refaults) * MILLION / ((number)p->window_file + SWAP_PAGE);
    number seconds = (now - p->window_start) / SECOND;
    if (now - p->window_start <= SECOND)
        return growth + p->carried;
    if (seconds > 1 || growth < p->limit) {
        for (number i = 0; i < seconds && growth > 0; i++)
            growth /= 2;
    }
    p->carried = (uint64_t)growth;
    p->limit = p->spec.thrashing_limit_ppm;
    open_window(p, now);
    return growth;
}

/* True: somebody died. */
static bool lmkd(struct naive_pressure *p, number extra, bool breached, int64_t now)
{
    const struct pressure_spec *spec = &p->spec;
    number t = breached ? look(p, now) : 0;
    number room = (number)spec->zram_bytes - all_in_zram(p);
    bool low_swap = spec->zram_bytes > 0 && room * MILLION < (number)spec->swap_free_low_ppm * spec->zram_bytes;
    bool late = p->last_kill < 0 || now - p->last_kill >= spec->kill_timeout_ns;
    int line = 0;
    if (free_of(p, extra) < (number)p->min)
        line = 1;
    else if (late && breached && low_swap && t > spec->thrashing_limit_ppm)
        line = 2;
    else if (late && free_of(p, extra) < (number)p->low && low_swap)
        line = 3;
    else if (late && breached && t > p->limit)
        line = 4;
    if (line == 0)
        return false;
    int who = victim(p, line == 1 || t >= 2 * (number)spec->thrashing_limit_ppm ? 0 : 201);
    if (who == NOBODY)
        return false;
    kill_it(p, who, "lmkd", now);
    p->last_kill = now;
    if (who != ITSELF) {
        p->carried = 0;
        open_window(p, now);
        if (line == 4)
            p->limit = (uint64_t)(p->limit * (MILLION - spec->thrashing_decay_ppm) / MILLION);
    }
    return true;
}

static bool step_three(struct naive_pressure *p, number extra, bool breached, int64_t now)
{
    if (p->spec.rule == KILL_LMKD)
        return lmkd(p, extra, breached, now);
    if (free_of(p, extra) >= (number)p->min)
        return false;
    int who = victim(p, p->spec.own_adj + 1);
    if (who == NOBODY)
        return false;
    kill_it(p, who, p->spec.rule == KILL_JETSAM ? "jetsam" : "oom", now);
    return true;
}

/* ---- Settling ---- */

static bool only_threshold(const struct naive_pressure *p)
{
    return !p->mapped && p->spec.zram_bytes == 0 && p->spec.app_count == 0 &&
           (p->spec.rule == KILL_NONE || p->spec.rule == KILL_THRESHOLD);
}

static void note_peaks(struct naive_pressure *p)
{
    for (int class = 0; class < MEMORY_CLASSES; class ++) {
        uint64_t now = naive_pressure_class(p, (enum memory_class) class);
        if (now > p->peak[class])
            p->peak[class] = now;
    }
    if (resident(p) > p->app_peak)
        p->app_peak = (uint64_t)resident(p);
}

static bool settle(struct naive_pressure *p, number extra, int64_t now)
{
    struct naive_pressure grown = *p;
    p->granted = 0;
    bool breached = false;
    if (only_threshold(p)) {
        if (p->spec.rule == KILL_THRESHOLD && footprint(p) > p->spec.threshold_bytes)
            die(p, "threshold", now);
    } else {
        step_one(p, extra, now);
        breached = free_of(p, extra) < (number)p->low;
        while (!p->killed_by) {
            step_two(p, extra);
            if (step_three(p, extra, breached, now))
                continue;
            if (free_of(p, extra) >= 0)
                break;
            int who = victim(p, -999);
            kill_it(p, who == NOBODY ? ITSELF : who, "oom", now);
        }
    }
    if (p->killed_by) { /* the growth shows whole */
        note_peaks(&grown);
        memcpy(p->peak, grown.peak, sizeof p->peak);
        p->app_peak = grown.app_peak;
    }
    note_peaks(p);
    return !p->killed_by;
}

static number root(number n)
{
    number r = 0;
    while ((r + 1) * (r + 1) <= n)
        r++;
    return r;
}

void naive_pressure_start(struct naive_pressure *p, const struct pressure_spec *spec, uint64_t ram, uint64_t os,
                          uint64_t other_apps, const struct file_memory *file)
{
    *p = (struct naive_pressure){.spec = *spec, .ram = ram, .os = os, .last_kill = -1};
    p->mapped = file != NULL;
    if (file)
        p->file = *file;
    for (int class = 0; class < MEMORY_APP_CLASSES; class ++)
        p->holders[p->holder_count++] = (struct naive_holder){(enum memory_class) class, -1, true, 0, 0};
    p->holders[p->holder_count++] = (struct naive_holder){MEMORY_OTHER_APPS, -1, true, other_apps, 0};
    for (uint32_t i = 0; i < spec->app_count; i++) {
        bool now = spec->apps[i].start_ns == 0;
        p->holders[p->holder_count++] =
            (struct naive_holder){MEMORY_OTHER_APPS, (int)i, now, now ? spec->apps[i].bytes : 0, 0};
        p->done[i] = now;
    }
    note_peaks(p);
    if (spec->rule == KILL_MEMORY_LIMITER && spec->high_bytes == 0 && spec->max_bytes >= ram && os == 0 &&
        other_apps == 0 && spec->app_count == 0)
        return;
    number kib = root((number)(ram / 1024) * 16);
    kib = kib < 128 ? 128 : least(kib, 256 * 1024);
    p->min = spec->min_free_bytes > 0 ? spec->min_free_bytes : (uint64_t)kib * 1024;
    number by_scale = (number)ram * spec->watermark_scale / 10000;
    number gap = p->min / 4 > by_scale ? (number)(p->min / 4) : by_scale;
    p->low = p->min + (uint64_t)gap;
    p->high = p->low + (uint64_t)gap;
}

bool naive_pressure_set(struct naive_pressure *p, enum memory_class class, uint64_t bytes, int64_t now_ns)
{
    struct naive_holder *h = own(p, class);
    bool grows = bytes > h->has;
    uint64_t gone = grows ? 0 : h->has - bytes;
    h->in_zram -= (uint64_t)least(gone, h->in_zram);
    h->has = bytes;
    if (footprint(p) > p->footprint_peak)
        p->footprint_peak = (uint64_t)footprint(p);
    if (grows && !p->killed_by)
        return settle(p, 0, now_ns);
    note_peaks(p);
    return !p->killed_by;
}

bool naive_pressure_advance(struct naive_pressure *p, int64_t now_ns, int64_t *died_ns)
{
    int which;
    int64_t at;
    uint64_t bytes;
    while (!p->killed_by && naive_pressure_change(p, &which, &at, &bytes) && at <= now_ns) {
        struct naive_holder *h = &p->holders[which];
        h->lives = true;
        h->has = bytes;
        p->done[h->app]++;
        settle(p, 0, at);
    }
    *died_ns = p->killed_by ? p->died_ns : *died_ns;
    return !p->killed_by;
}

bool naive_pressure_touch(struct naive_pressure *p, int64_t now_ns, int64_t *stall_ns)
{
    number back = 0, out = p->own_out_total;
    *stall_ns = 0;
    for (int i = 0; i < p->holder_count; i++)
        back += is_own(&p->holders[i]) ? p->holders[i].in_zram : 0;
    if (back == 0 || p->killed_by)
        return !p->killed_by;
    for (int i = 0; i < p->holder_count; i++)
        if (is_own(&p->holders[i]))
            p->holders[i].in_zram = 0;
    p->in_total += (uint64_t)back;
    bool lives = settle(p, 0, now_ns);
    out = p->own_out_total - out;
    *stall_ns = (int64_t)(up(back, SWAP_PAGE) / SWAP_PAGE * p->spec.swap_in_ns +
                          down(out, SWAP_PAGE) / SWAP_PAGE * p->spec.swap_out_ns);
    return lives;
}

uint64_t naive_pressure_swap_out(struct naive_pressure *p, enum memory_class class, uint64_t bytes)
{
    struct naive_holder *h = own(p, class);
    number moved = 0;
    for (; moved + SWAP_PAGE <= (number)bytes && h->in_zram + (uint64_t)SWAP_PAGE <= h->has &&
           all_in_zram(p) + SWAP_PAGE <= (number)p->spec.zram_bytes;
         moved += SWAP_PAGE)
        h->in_zram += (uint64_t)SWAP_PAGE;
    p->out_total += (uint64_t)moved;
    p->own_out_total += (uint64_t)moved;
    note_peaks(p);
    return (uint64_t)moved;
}

uint64_t naive_pressure_room(const struct naive_pressure *p)
{
    number room = free_of(p, 0) - (number)p->low;
    uint64_t mark = p->spec.high_bytes > 0 ? p->spec.high_bytes : p->spec.max_bytes;
    if (p->spec.rule == KILL_MEMORY_LIMITER)
        room = least(room, mark - resident(p));
    return room < (number)p->granted ? p->granted : (uint64_t)room;
}

bool naive_pressure_relieve(struct naive_pressure *p, int64_t now_ns)
{
    if (p->killed_by || !settle(p, p->file.page_bytes, now_ns))
        return false;
    p->granted = p->file.page_bytes;
    return true;
}

struct pressure_numbers naive_pressure_numbers(const struct naive_pressure *p)
{
    struct pressure_numbers n = {
        .footprint_bytes = (uint64_t)footprint(p),
        .footprint_peak_bytes = p->footprint_peak,
        .resident_bytes = (uint64_t)resident(p),
        .resident_peak_bytes = p->app_peak,
        .swapped_out_bytes = p->out_total,
        .swapped_in_bytes = p->in_total,
        .swap_used_bytes = (uint64_t)all_in_zram(p),
    };
    for (int i = 0; i < p->holder_count; i++)
        n.own_swapped_bytes += is_own(&p->holders[i]) ? p->holders[i].in_zram : 0;
    return n;
}
