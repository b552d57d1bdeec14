/* Memory pressure, from a growth to what it leads to: the app's own limits, taking back, kills. */
#include "sim/pressure.h"

#include "base/units.h"
#include "sim/apps.h"
#include "sim/pressure_state.h"

static const int64_t STALL_MAX_NS = INT64_C(1) << 61;

static uint64_t square_root(uint64_t n)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1) {
        if ((root + bit) * (root + bit) <= n)
            root += bit;
    }
    return root;
}

/* A control group of a larger machine: the machine has its own free memory. */
static bool is_bare(const struct pressure *p)
{
    const struct pressure_spec *spec = p->spec;
    return spec->rule == KILL_MEMORY_LIMITER && spec->high_bytes == 0 && spec->max_bytes >= p->ledger->ram_bytes &&
           spec->app_count == 0 && p->other_bytes == 0 && p->ledger->now_bytes[MEMORY_OS] == 0;
}

/* Linux, mm/page_alloc.c: calculate_min_free_kbytes and __setup_per_zone_wmarks. */
static void set_watermarks(struct pressure *p)
{
    if (is_bare(p))
        return;
    uint64_t ram = p->ledger->ram_bytes;
    uint64_t kib = square_root((ram >> 10) * 16);
    kib = kib < 128 ? 128 : kib > 262144 ? 262144 : kib;
    p->min_bytes = p->spec->min_free_bytes > 0 ? p->spec->min_free_bytes : kib << 10;
    uint64_t scaled = (uint64_t)((wide)ram * p->spec->watermark_scale / 10000);
    uint64_t gap = p->min_bytes / 4 > scaled ? p->min_bytes / 4 : scaled;
    p->low_bytes = p->min_bytes + gap;
    p->high_bytes = p->low_bytes + gap;
}

static bool check_spec(const struct pressure_spec *spec, struct error *err)
{
    if (spec->app_count > PRESSURE_APPS_MAX)
        return fail(err, STATUS_USAGE, "%u other apps: expected at most %d", spec->app_count, PRESSURE_APPS_MAX);
    if (spec->zram_bytes > 0 && spec->zram_ratio_ppm < 1000000)
        return fail(err, STATUS_USAGE, "a zram ratio of %u/1000000: expected at least 1", spec->zram_ratio_ppm);
    if (spec->swappiness > 200)
        return fail(err, STATUS_USAGE, "a swappiness of %u: expected at most 200", spec->swappiness);
    if (spec->thrashing_decay_ppm > 1000000)
        return fail(err, STATUS_USAGE, "a thrashing decay of %u/1000000: expected at most all",
                    spec->thrashing_decay_ppm);
    return true;
}

static bool add_apps(struct pressure *p, struct arena *arena, struct error *err)
{
    const struct pressure_spec *spec = p->spec;
    p->apps = arena_alloc(arena, spec->app_count, sizeof *p->apps);
    p->kills = arena_alloc(arena, spec->app_count, sizeof *p->kills);
    if (!p->apps || !p->kills)
        return fail(err, STATUS_IO, "out of memory");
    for (uint32_t i = 0; i < spec->app_count; i++) {
        struct app_state *app = &p->apps[i];
        app->next_ns = spec->apps[i].start_ns;
        if (app->next_ns > 0)
            continue;
        app->life = APP_RUNS;
        app->bytes = spec->apps[i].bytes;
        app->next_ns = app_step_ns(&spec->apps[i], 1);
        ledger_add(p->ledger, MEMORY_OTHER_APPS, app->bytes);
    }
    find_next(p);
    char total[UNITS_TEXT], ram[UNITS_TEXT];
    if (spec->app_count > 0 && p->ledger->total_bytes > p->ledger->ram_bytes)
        return fail(err, STATUS_USAGE, "system and other apps have %s at the start: expected at most the RAM, %s",
                    print_bytes(p->ledger->total_bytes, total), print_bytes(p->ledger->ram_bytes, ram));
    return true;
}

bool pressure_is_plain(const struct pressure_spec *spec)
{
    return spec->app_count == 0 && spec->zram_bytes == 0 && (spec->rule == KILL_NONE || spec->rule == KILL_THRESHOLD);
}

bool pressure_init(struct pressure **pressure, const struct pressure_spec *spec, struct ledger *ledger,
                   uint64_t os_bytes, uint64_t other_apps_bytes, struct arena *arena, struct error *err)
{
    if (!check_spec(spec, err))
        return false;
    struct pressure *p = arena_alloc(arena, 1, sizeof *p);
    if (!p)
        return fail(err, STATUS_IO, "out of memory");
    p->spec = spec;
    p->ledger = ledger;
    p->other_bytes = other_apps_bytes;
    ledger_add(ledger, MEMORY_OS, os_bytes);
    ledger_add(ledger, MEMORY_OTHER_APPS, other_apps_bytes);
    if (!add_apps(p, arena, err))
        return false;
    set_watermarks(p);
    p->plain = pressure_is_plain(spec);
    *pressure = p;
    return true;
}

void pressure_attach(struct pressure *pressure, const struct file_memory *file)
{
    pressure->file = *file;
    if (pressure->file.page_bytes == 0)
        pressure->file.page_bytes = SWAP_PAGE_BYTES;
    pressure->mapped = true;
    pressure->plain = false;
}

void pressure_watermarks(const struct pressure *pressure, uint64_t *min, uint64_t *low, uint64_t *high)
{
    *min = pressure->min_bytes;
    *low = pressure->low_bytes;
    *high = pressure->high_bytes;
}

bool file_reclaim(struct pressure *p, uint64_t bytes)
{
    uint64_t got = p->mapped ? p->file.reclaim(p->file.host, bytes) : 0;
    uint64_t there = p->ledger->now_bytes[MEMORY_FILE];
    uint64_t gone = got < there ? got : there;
    ledger_remove(p->ledger, MEMORY_FILE, gone);
    p->own_bytes[MEMORY_FILE] -= gone;
    return got > 0;
}

/* Brings resident memory down to a mark, as far as it can be. */
static void fit_resident(struct pressure *p, const struct settling *s, uint64_t mark_bytes)
{
    const struct ledger *ledger = p->ledger;
    while (ledger->app_bytes + s->extra_bytes > mark_bytes &&
           file_reclaim(p, ledger->app_bytes + s->extra_bytes - mark_bytes))
        continue;
    if (ledger->app_bytes + s->extra_bytes > mark_bytes)
        swap_own(p, ledger->app_bytes + s->extra_bytes - mark_bytes);
}

static void keep_own_limits(struct pressure *p, const struct settling *s)
{
    const struct pressure_spec *spec = p->spec;
    if (spec->rule == KILL_THRESHOLD && p->footprint > spec->threshold_bytes)
        kill_self(p, "threshold", s->now_ns);
    if (spec->rule == KILL_JETSAM && p->footprint > spec->jetsam_limit_bytes)
        kill_self(p, "jetsam", s->now_ns);
    if (spec->rule != KILL_MEMORY_LIMITER)
        return;
    if (spec->high_bytes > 0)
        fit_resident(p, s, spec->high_bytes);
    fit_resident(p, s, spec->max_bytes);
    if (p->ledger->app_bytes + s->extra_bytes > spec->max_bytes)
        kill_self(p, "memory_limiter", s->now_ns);
}

static void take_back(struct pressure *p, const struct settling *s)
{
    if (!below(p, s, p->low_bytes))
        return;
    uint64_t lack = lack_bytes(p, s, p->high_bytes);
    swap_free(p, (uint64_t)((wide)lack * p->spec->swappiness / 200));
    while (below(p, s, p->high_bytes) && file_reclaim(p, lack_bytes(p, s, p->high_bytes)))
        continue;
    if (below(p, s, p->high_bytes))
        swap_free(p, lack_bytes(p, s, p->high_bytes));
}

static void settle_steps(struct pressure *p, struct settling *s)
{
    keep_own_limits(p, s);
    s->breached = below(p, s, p->low_bytes);
    while (!p->killed_by) {
        take_back(p, s);
        if (kill_by_rule(p, s))
            continue;
        if (!below(p, s, 0))
            return;
        kill_for_lack(p, s);
    }
}

/* Settles what has grown since the ledger was `before`. Peaks count what is there afterwards, as the memory that makes
 * room is gone before the one that needs it comes; but a growth that kills the app shows whole. */
static bool settle(struct pressure *p, const struct ledger *before, uint64_t extra_bytes, int64_t now_ns)
{
    struct ledger *ledger = p->ledger, grown = *ledger;
    struct settling s = {.now_ns = now_ns, .extra_bytes = extra_bytes};
    p->granted_bytes = 0;
    settle_steps(p, &s);
    const struct ledger *peaks = p->killed_by ? &grown : before;
    for (int class = 0; class < MEMORY_CLASSES; class ++) {
        uint64_t now = ledger->now_bytes[class], peak = peaks->peak_bytes[class];
        ledger->peak_bytes[class] = now > peak ? now : peak;
    }
    ledger->app_peak_bytes = ledger->app_bytes > peaks->app_peak_bytes ? ledger->app_bytes : peaks->app_peak_bytes;
    return p->killed_by == NULL;
}

/* Writes what a class has now into the books. What lies in zram of it goes first. */
static void write_class(struct pressure *p, enum memory_class class, uint64_t bytes)
{
    uint64_t had = p->own_bytes[class];
    p->own_bytes[class] = bytes;
    if (class != MEMORY_FILE)
        p->footprint = p->footprint - had + bytes;
    if (p->footprint > p->footprint_peak)
        p->footprint_peak = p->footprint;
    if (p->own_out[class] > 0 && bytes < had) {
        uint64_t gone = had - bytes < p->own_out[class] ? had - bytes : p->own_out[class];
        p->own_out[class] -= gone;
        swap_forget(p, gone);
    }
    ledger_set(p->ledger, class, bytes - p->own_out[class]);
}

bool pressure_set(struct pressure *pressure, enum memory_class class, uint64_t bytes, int64_t now_ns)
{
    struct pressure *p = pressure;
    must(class < MEMORY_APP_CLASSES);
    bool grows = bytes > p->own_bytes[class];
    if (p->plain || p->killed_by || !grows) {
        write_class(p, class, bytes);
        if (grows && !p->killed_by && p->spec->rule == KILL_THRESHOLD && p->footprint > p->spec->threshold_bytes)
            kill_self(p, "threshold", now_ns);
        return p->killed_by == NULL;
    }
    struct ledger before = *p->ledger;
    write_class(p, class, bytes);
    return settle(p, &before, 0, now_ns);
}

int64_t pressure_next_ns(const struct pressure *pressure)
{
    return pressure->next_ns;
}

/* The next change of one app, at its time. */
static void change_app(struct pressure *p, uint32_t index)
{
    struct app_state *app = &p->apps[index];
    const struct app_spec *spec = &p->spec->apps[index];
    if (app->life == APP_RUNS)
        app->steps++;
    app->life = APP_RUNS;
    uint64_t bytes = app_step_bytes(spec, app->steps);
    ledger_add(p->ledger, MEMORY_OTHER_APPS, bytes - app->bytes);
    app->bytes = bytes;
    app->next_ns = app_step_ns(spec, app->steps + 1);
}

bool pressure_advance(struct pressure *pressure, int64_t now_ns, int64_t *died_ns)
{
    struct pressure *p = pressure;
    while (!p->killed_by && p->next_ns <= now_ns) {
        uint32_t index = 0;
        while (p->apps[index].next_ns != p->next_ns)
            index++;
        int64_t time_ns = p->next_ns;
        struct ledger before = *p->ledger;
        change_app(p, index);
        find_next(p);
        settle(p, &before, 0, time_ns);
    }
    if (p->killed_by)
        *died_ns = p->died_ns;
    return p->killed_by == NULL;
}

bool pressure_touch_own(struct pressure *pressure, int64_t now_ns, int64_t *stall_ns)
{
    struct pressure *p = pressure;
    *stall_ns = 0;
    uint64_t back = 0, out = p->own_swapped_out;
    struct ledger before = *p->ledger;
    for (int class = 0; class < MEMORY_APP_CLASSES; class ++) {
        back += p->own_out[class];
        ledger_add(p->ledger, (enum memory_class) class, p->own_out[class]);
        p->own_out[class] = 0;
    }
    if (back == 0 || p->killed_by)
        return p->killed_by == NULL;
    swap_forget(p, back);
    p->swapped_in += back;
    bool lives = settle(p, &before, 0, now_ns);
    out = p->own_swapped_out - out;
    wide stall = (wide)((back + SWAP_PAGE_BYTES - 1) / SWAP_PAGE_BYTES) * (uint64_t)p->spec->swap_in_ns +
                 (wide)(out / SWAP_PAGE_BYTES) * (uint64_t)p->spec->swap_out_ns;
    *stall_ns = stall < (wide)STALL_MAX_NS ? (int64_t)stall : STALL_MAX_NS;
    return lives;
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

uint64_t pressure_file_room(const struct pressure *pressure)
{
    const struct pressure *p = pressure;
    const struct pressure_spec *spec = p->spec;
    uint64_t room = more(ledger_free_bytes(p->ledger), p->low_bytes);
    if (spec->rule == KILL_MEMORY_LIMITER) {
        uint64_t rest = more(spec->high_bytes > 0 ? spec->high_bytes : spec->max_bytes, p->ledger->app_bytes);
        room = rest < room ? rest : room;
    }
    return room > p->granted_bytes ? room : p->granted_bytes;
}

bool pressure_relieve(struct pressure *pressure, int64_t now_ns)
{
    struct pressure *p = pressure;
    must(p->mapped);
    struct ledger before = *p->ledger;
    if (p->killed_by || !settle(p, &before, p->file.page_bytes, now_ns))
        return false;
    p->granted_bytes = p->file.page_bytes;
    return true;
}

const char *pressure_killed_by(const struct pressure *pressure)
{
    return pressure->killed_by;
}

const struct app_kill *pressure_kills(const struct pressure *pressure, uint32_t *count)
{
    *count = pressure->kill_count;
    return pressure->kills;
}

struct pressure_numbers pressure_numbers(const struct pressure *pressure)
{
    const struct pressure *p = pressure;
    struct pressure_numbers numbers = {
        .footprint_bytes = p->footprint,
        .footprint_peak_bytes = p->footprint_peak,
        .resident_bytes = p->ledger->app_bytes,
        .resident_peak_bytes = p->ledger->app_peak_bytes,
        .swapped_out_bytes = p->swapped_out,
        .swapped_in_bytes = p->swapped_in,
        .swap_used_bytes = p->swap_used_bytes,
    };
    for (int class = 0; class < MEMORY_APP_CLASSES; class ++)
        numbers.own_swapped_bytes += p->own_out[class];
    return numbers;
}
