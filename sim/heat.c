/* Heat, stretch by stretch. */
#include "sim/heat.h"

#include "base/error.h"
#include "base/units.h"
#include "base/wide.h"

enum { PPM = 1000000 };

/* An active stretch begins, with the level as it is. */
static void begin_activity(struct heat *heat)
{
    heat->pauses = false;
    heat->hot_from_ns = INT64_MAX;
    if (!heat_matters(&heat->spec))
        return;
    const int64_t left_ns = heat->spec.hot_after_ns - heat->level_ns; /* what is missing */
    if (heat->since_ns <= INT64_MAX - left_ns)
        heat->hot_from_ns = heat->since_ns + left_ns;
}

void heat_init(struct heat *heat, const struct heat_spec *spec)
{
    *heat = (struct heat){.spec = *spec, .first_ns = -1};
    if (spec->mode == HEAT_HOT && heat_matters(spec)) {
        heat->level_ns = spec->hot_after_ns;
        heat->spec.cool_ppm = 0; /* it stays hot */
    }
    begin_activity(heat);
}

/* Heat at a time within the stretch. */
static int64_t level_at(const struct heat *heat, int64_t now_ns)
{
    const int64_t past_ns = now_ns - heat->since_ns, most_ns = heat->spec.hot_after_ns;
    if (!heat->pauses)
        return past_ns < most_ns - heat->level_ns ? heat->level_ns + past_ns : most_ns;
    const wide lost_ns = (wide)past_ns * heat->spec.cool_ppm / PPM;
    return lost_ns < (wide)heat->level_ns ? heat->level_ns - (int64_t)lost_ns : 0;
}

void heat_pause(struct heat *heat, int64_t now_ns)
{
    must(!heat->pauses && now_ns >= heat->since_ns);
    heat_numbers(heat, now_ns, &heat->first_ns, &heat->before_ns);
    heat->level_ns = level_at(heat, now_ns);
    heat->since_ns = now_ns;
    heat->hot_from_ns = INT64_MAX;
    heat->pauses = true;
}

void heat_resume(struct heat *heat, int64_t now_ns)
{
    must(heat->pauses && now_ns >= heat->since_ns);
    heat->level_ns = level_at(heat, now_ns);
    heat->since_ns = now_ns;
    begin_activity(heat);
}

int64_t heat_slow_down(const struct heat *heat, int64_t ns)
{
    if (heat->spec.factor_ppm == 0)
        return ns;
    return (int64_t)scale_up((uint64_t)ns, PPM, heat->spec.factor_ppm);
}

uint64_t heat_ppm(const struct heat *heat, int64_t now_ns)
{
    if (!heat_matters(&heat->spec))
        return 0;
    return (uint64_t)((wide)level_at(heat, now_ns) * PPM / (uint64_t)heat->spec.hot_after_ns);
}

void heat_numbers(const struct heat *heat, int64_t now_ns, int64_t *hot_at_ns, int64_t *hot_ns)
{
    const bool hot = !heat->pauses && heat_is_hot(heat, now_ns);
    *hot_at_ns = heat->first_ns < 0 && hot ? heat->hot_from_ns : heat->first_ns;
    *hot_ns = heat->before_ns + (hot ? now_ns - heat->hot_from_ns : 0);
}
