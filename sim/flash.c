/* The flash device: completion times of commands, and the device alone under a closed loop of readers. */
#include "sim/flash.h"

#include "base/units.h"
#include "base/wide.h"

enum { NS_PER_S = 1000000000, PPM = 1000000 };

static uint64_t hot_bps(const struct flash_spec *spec)
{
    uint64_t hot = (uint64_t)((wide)spec->max_bps * spec->hot_factor_ppm / PPM);
    return hot > 0 ? hot : 1;
}

uint64_t flash_slowest_bps(const struct flash_spec *spec)
{
    uint64_t slowest = spec->stream_bps < spec->max_bps ? spec->stream_bps : spec->max_bps;
    if (spec->hot_after_ns > 0 && hot_bps(spec) < slowest)
        slowest = hot_bps(spec);
    return slowest;
}

void flash_init(struct flash *flash, const struct flash_spec *spec)
{
    *flash = (struct flash){.spec = *spec};
}

/* bytes / rate in nanoseconds, rounded up. The 64-bit path is exact too, and serves all but huge reads. */
static inline int64_t move_ns(uint64_t bytes, uint64_t bps)
{
    if (bps < UINT64_C(1) << 62 && bytes <= ((UINT64_C(3) << 62) - 1) / NS_PER_S)
        return (int64_t)((bytes * NS_PER_S + bps - 1) / bps);
    return (int64_t)scale_up(bytes, NS_PER_S, bps);
}

/* The time of bytes that follow others of the same read, so that the parts add up to the whole. */
static inline int64_t part_ns(uint64_t before_bytes, uint64_t bytes, uint64_t bps)
{
    return move_ns(before_bytes + bytes, bps) - (before_bytes > 0 ? move_ns(before_bytes, bps) : 0);
}

/* ---- Heat ---- */

void flash_set_heat(struct flash *flash, enum heat_mode mode, uint32_t cool_ppm)
{
    flash->cool_ppm = cool_ppm;
    flash->always_hot = mode == HEAT_HOT && flash->spec.hot_after_ns > 0;
    if (mode == HEAT_OFF)
        flash->spec.hot_after_ns = 0;
}

static int64_t busy_at(const struct flash *flash, int64_t now_ns)
{
    return flash->busy_ns + (flash->in_flight > 0 ? now_ns - flash->busy_since_ns : 0);
}

/* Busy time since the last pause adds to what there was then, up to what makes the device hot. */
static int64_t heat_at(const struct flash *flash, int64_t now_ns)
{
    const int64_t heat = flash->heat_ns + busy_at(flash, now_ns) - flash->heat_busy_ns;
    return heat < flash->spec.hot_after_ns ? heat : flash->spec.hot_after_ns;
}

static bool is_hot(const struct flash *flash, int64_t now_ns)
{
    return flash->spec.hot_after_ns > 0 && (flash->always_hot || heat_at(flash, now_ns) == flash->spec.hot_after_ns);
}

static void set_heat(struct flash *flash, int64_t now_ns, int64_t heat_ns)
{
    flash->heat_ns = heat_ns;
    flash->heat_busy_ns = busy_at(flash, now_ns);
    flash->heat_since_ns = now_ns;
}

void flash_pause(struct flash *flash, int64_t now_ns)
{
    set_heat(flash, now_ns, heat_at(flash, now_ns));
}

void flash_resume(struct flash *flash, int64_t now_ns)
{
    const int64_t heat = heat_at(flash, now_ns);
    const int64_t quiet = now_ns - flash->heat_since_ns - (busy_at(flash, now_ns) - flash->heat_busy_ns);
    const wide lost = (wide)quiet * flash->cool_ppm / PPM;
    set_heat(flash, now_ns, lost < (wide)heat ? heat - (int64_t)lost : 0);
}

/* A hot device's maximum may be below the stream rate: then it alone decides, by link_free. */
static uint64_t max_bps_now(const struct flash *flash, int64_t now_ns)
{
    return is_hot(flash, now_ns) ? hot_bps(&flash->spec) : flash->spec.max_bps;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The times of a whole read, kept for the next one: most are of one size. */
static void whole_read(struct flash *flash, uint64_t bytes, uint64_t max_bps)
{
    if (bytes == flash->last.bytes && max_bps == flash->last.max_bps)
        return;
    flash->last.bytes = bytes;
    flash->last.max_bps = max_bps;
    flash->last.max_ns = move_ns(bytes, max_bps);
    flash->last.stream_ns = move_ns(bytes, flash->spec.stream_bps);
}

int64_t flash_peek(struct flash *flash, int64_t now_ns, uint64_t bytes)
{
    int64_t ready = now_ns + flash->spec.setup_ns;
    whole_read(flash, bytes, max_bps_now(flash, now_ns));
    return later(later(ready, flash->link_free_ns) + flash->last.max_ns, ready + flash->last.stream_ns);
}

int64_t flash_issue_any(struct flash *flash, int64_t now_ns, uint64_t before_bytes, uint64_t bytes)
{
    must(flash_has_slot(flash));
    uint64_t max_bps = max_bps_now(flash, now_ns);
    if (flash->in_flight++ == 0)
        flash->busy_since_ns = now_ns;

    int64_t max_ns, stream_ns, ready = now_ns;
    if (before_bytes == 0) {
        ready += flash->spec.setup_ns;
        whole_read(flash, bytes, max_bps);
        max_ns = flash->last.max_ns;
        stream_ns = flash->last.stream_ns;
    } else {
        max_ns = part_ns(before_bytes, bytes, max_bps);
        stream_ns = part_ns(before_bytes, bytes, flash->spec.stream_bps);
    }
    flash->link_start_ns = later(ready, flash->link_free_ns);
    flash->link_free_ns = flash->link_start_ns + max_ns;
    return later(flash->link_free_ns, ready + stream_ns);
}
