/* The other apps' timeline of the twin: see naive_pressure.h. */
#include "tests/reference/naive_pressure.h"

__extension__ typedef __int128 number;

static const number SECOND = 1000000000, MIB = 1 << 20;

static number least(number a, number b)
{
    return a < b ? a : b;
}

/* When the n-th change of a named app comes (0: its start) and what it then has; false: it has no such change. */
static bool change(const struct app_spec *app, uint64_t n, int64_t *at, uint64_t *bytes)
{
    *at = app->start_ns;
    *bytes = app->bytes;
    for (uint64_t k = 1; k <= n; k++) {
        if (app->growth_bps == 0 || *bytes == app->most_bytes)
            return false;
        *bytes = (uint64_t)least((number)*bytes + MIB, app->most_bytes);
        number after = ((number)k * MIB * SECOND + app->growth_bps - 1) / app->growth_bps;
        *at = (int64_t)least(after + app->start_ns, INT64_MAX);
    }
    return *at < INT64_MAX;
}

bool naive_pressure_change(const struct naive_pressure *p, int *which, int64_t *at, uint64_t *bytes)
{
    bool found = false;
    for (int i = 0; i < p->holder_count; i++) {
        int64_t time;
        uint64_t size;
        const struct naive_holder *h = &p->holders[i];
        if (h->app < 0 || (!h->lives && p->done[h->app] > 0) ||
            !change(&p->spec.apps[h->app], p->done[h->app], &time, &size) || (found && time >= *at))
            continue;
        found = true;
        *which = i;
        *at = time;
        *bytes = size;
    }
    return found;
}

int64_t naive_pressure_next(const struct naive_pressure *p)
{
    int which;
    int64_t at;
    uint64_t bytes;
    return naive_pressure_change(p, &which, &at, &bytes) ? at : INT64_MAX;
}
