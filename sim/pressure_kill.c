/* Who dies: the rules of lmkd, of jetsam's priorities and of the out-of-memory killer. */
#include "sim/pressure_state.h"

enum {
    PERCEPTIBLE_APP_ADJ = 200, /* ProcessList.java; lmkd spares it and what is below while it can */
    OOM_SCORE_ADJ_MIN = -1000, /* include/uapi/linux/oom.h: never killed */
    CRITICAL_FACTOR = 2,       /* lmkd.cpp, update_props: thrashing_limit_critical is twice the limit */
    ONE_PAGE_BYTES = 4096,     /* lmkd adds a page to the file pages, lest it divides by 0 */
};
static const int64_t WINDOW_NS = 1000000000; /* lmkd.cpp, THRASHING_RESET_INTERVAL_MS */
static const uint64_t ALL_PPM = 1000000;

void find_next(struct pressure *p)
{
    p->next_ns = INT64_MAX;
    for (uint32_t i = 0; i < p->spec->app_count; i++) {
        if (p->apps[i].life != APP_DEAD && p->apps[i].next_ns < p->next_ns)
            p->next_ns = p->apps[i].next_ns;
    }
}

uint32_t pick_victim(const struct pressure *p, int32_t least_adj)
{
    uint32_t best = VICTIM_NOBODY;
    int32_t best_adj = 0;
    uint64_t best_bytes = 0;
    for (uint32_t i = 0; i <= p->spec->app_count; i++) {
        bool self = i == p->spec->app_count;
        int32_t adj = self ? p->spec->own_adj : p->spec->apps[i].adj;
        uint64_t bytes = self ? p->footprint : p->apps[i].bytes;
        if (adj < least_adj || (!self && (p->apps[i].life != APP_RUNS || bytes == 0)))
            continue;
        if (best == VICTIM_NOBODY || adj > best_adj || (adj == best_adj && bytes > best_bytes)) {
            best = self ? VICTIM_SELF : i;
            best_adj = adj;
            best_bytes = bytes;
        }
    }
    return best;
}

void kill_self(struct pressure *p, const char *rule, int64_t now_ns)
{
    p->killed_by = rule;
    p->died_ns = now_ns;
}

static void kill_one(struct pressure *p, uint32_t victim, const char *rule, int64_t now_ns)
{
    if (victim == VICTIM_SELF) {
        kill_self(p, rule, now_ns);
        return;
    }
    struct app_state *app = &p->apps[victim];
    p->kills[p->kill_count++] = (struct app_kill){.time_ns = now_ns, .app = victim, .bytes = app->bytes, .rule = rule};
    ledger_remove(p->ledger, MEMORY_OTHER_APPS, app->bytes - app->out_bytes);
    swap_forget(p, app->out_bytes);
    *app = (struct app_state){.life = APP_DEAD, .next_ns = INT64_MAX};
    find_next(p);
}

static uint64_t refaults(const struct pressure *p)
{
    return p->mapped && p->file.refault_bytes ? p->file.refault_bytes(p->file.host) : 0;
}

static void start_window(struct pressure *p, int64_t now_ns)
{
    struct thrashing *t = &p->thrashing;
    t->started = true;
    t->start_ns = now_ns;
    t->base_bytes = p->ledger->now_bytes[MEMORY_FILE];
    t->base_refaults = refaults(p);
}

static uint64_t growth_ppm(const struct pressure *p)
{
    const struct thrashing *t = &p->thrashing;
    wide growth = (wide)(refaults(p) - t->base_refaults) * ALL_PPM / (t->base_bytes + ONE_PAGE_BYTES);
    return growth < UINT64_MAX / 4 ? (uint64_t)growth : UINT64_MAX / 4;
}

/* A look at thrashing: what it is now, and a new window when the last one is over. */
static uint64_t thrashing_ppm(struct pressure *p, int64_t now_ns)
{
    struct thrashing *t = &p->thrashing;
    if (!t->started) {
        t->limit_ppm = p->spec->thrashing_limit_ppm;
        start_window(p, now_ns);
    }
    int64_t passed = now_ns - t->start_ns;
    if (passed <= WINDOW_NS)
        return growth_ppm(p) + t->carried_ppm;
    int64_t windows = passed / WINDOW_NS;
    uint64_t growth = growth_ppm(p);
    if (windows > 1 || growth < t->limit_ppm)
        growth = windows < 64 ? growth >> windows : 0;
    t->carried_ppm = growth;
    t->limit_ppm = p->spec->thrashing_limit_ppm;
    start_window(p, now_ns);
    return growth;
}

static bool swap_is_low(const struct pressure *p)
{
    uint64_t room = p->spec->zram_bytes - p->swap_used_bytes;
    return p->spec->zram_bytes > 0 && (wide)room * ALL_PPM < (wide)p->spec->zram_bytes * p->spec->swap_free_low_ppm;
}

static bool lmkd_kills(struct pressure *p, const struct settling *s)
{
    const struct pressure_spec *spec = p->spec;
    uint64_t thrashing = s->breached ? thrashing_ppm(p, s->now_ns) : 0;
    bool waited = !p->lmkd_has_killed || s->now_ns - p->lmkd_kill_ns >= spec->kill_timeout_ns;
    bool swap_low = swap_is_low(p), cut = false;
    int32_t least = thrashing < (uint64_t)CRITICAL_FACTOR * spec->thrashing_limit_ppm ? PERCEPTIBLE_APP_ADJ + 1 : 0;
    if (below(p, s, p->min_bytes))
        least = 0;
    else if (!waited)
        return false;
    else if (swap_low && ((s->breached && thrashing > spec->thrashing_limit_ppm) || below(p, s, p->low_bytes)))
        cut = false;
    else if (s->breached && thrashing > p->thrashing.limit_ppm)
        cut = true;
    else
        return false;
    uint32_t victim = pick_victim(p, least);
    if (victim == VICTIM_NOBODY)
        return false;
    kill_one(p, victim, "lmkd", s->now_ns);
    p->lmkd_has_killed = true;
    p->lmkd_kill_ns = s->now_ns;
    p->thrashing.carried_ppm = 0;
    start_window(p, s->now_ns);
    if (cut)
        p->thrashing.limit_ppm =
            (uint64_t)((wide)p->thrashing.limit_ppm * (ALL_PPM - spec->thrashing_decay_ppm) / ALL_PPM);
    return true;
}

bool kill_by_rule(struct pressure *p, const struct settling *s)
{
    if (p->spec->rule == KILL_LMKD)
        return lmkd_kills(p, s);
    uint32_t victim = below(p, s, p->min_bytes) ? pick_victim(p, p->spec->own_adj + 1) : VICTIM_NOBODY;
    if (victim == VICTIM_NOBODY)
        return false;
    kill_one(p, victim, p->spec->rule == KILL_JETSAM ? "jetsam" : "oom", s->now_ns);
    return true;
}

void kill_for_lack(struct pressure *p, const struct settling *s)
{
    uint32_t victim = pick_victim(p, OOM_SCORE_ADJ_MIN + 1);
    kill_one(p, victim == VICTIM_NOBODY ? VICTIM_SELF : victim, "oom", s->now_ns);
}
