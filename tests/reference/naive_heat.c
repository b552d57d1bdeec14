/* Heat by the list of pauses. */
#include "tests/reference/naive_heat.h"

#include <stdlib.h>

#include "base/error.h"

__extension__ typedef unsigned __int128 wide;

void naive_pause(struct naive_pauses *pauses, int64_t now_ns)
{
    pauses->spans = realloc(pauses->spans, (pauses->count + 1) * sizeof *pauses->spans);
    must(pauses->spans != NULL);
    pauses->spans[pauses->count][0] = now_ns;
    pauses->spans[pauses->count++][1] = INT64_MAX;
}

void naive_resume(struct naive_pauses *pauses, int64_t now_ns)
{
    pauses->spans[pauses->count - 1][1] = now_ns;
}

void naive_pauses_free(struct naive_pauses *pauses)
{
    free(pauses->spans);
    *pauses = (struct naive_pauses){NULL, 0};
}

static bool can_get_hot(const struct heat_spec *spec)
{
    return spec->mode != HEAT_OFF && spec->hot_after_ns > 0;
}

int64_t naive_heat(const struct heat_spec *spec, const struct naive_pauses *pauses, int64_t now_ns)
{
    int64_t heat = 0, time = 0;
    if (!can_get_hot(spec))
        return 0;
    if (spec->mode == HEAT_HOT)
        return spec->hot_after_ns;
    for (size_t i = 0; i <= pauses->count; i++) {
        const bool paused = i < pauses->count && pauses->spans[i][0] < now_ns;
        const int64_t from = paused ? pauses->spans[i][0] : now_ns;
        heat += from - time;
        if (heat > spec->hot_after_ns)
            heat = spec->hot_after_ns;
        if (!paused)
            break;
        const int64_t to = pauses->spans[i][1] < now_ns ? pauses->spans[i][1] : now_ns;
        const wide lost = (wide)(to - from) * spec->cool_ppm / 1000000;
        heat = lost > (wide)heat ? 0 : heat - (int64_t)lost;
        time = to;
    }
    return heat;
}

bool naive_is_hot(const struct heat_spec *spec, const struct naive_pauses *pauses, int64_t now_ns)
{
    return can_get_hot(spec) && naive_heat(spec, pauses, now_ns) == spec->hot_after_ns;
}

void naive_hot_times(const struct heat_spec *spec, const struct naive_pauses *pauses, int64_t now_ns,
                     int64_t *hot_at_ns, int64_t *hot_ns)
{
    int64_t begin = 0;
    *hot_at_ns = -1;
    *hot_ns = 0;
    for (size_t i = 0; i <= pauses->count && can_get_hot(spec); i++) {
        const int64_t end = i < pauses->count ? pauses->spans[i][0] : now_ns;
        const int64_t from = begin + spec->hot_after_ns - naive_heat(spec, pauses, begin);
        if (begin <= end && from <= end) {
            *hot_ns += end - from;
            *hot_at_ns = *hot_at_ns < 0 ? from : *hot_at_ns;
        }
        begin = i < pauses->count ? pauses->spans[i][1] : end;
    }
}
