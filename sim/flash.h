/* The flash device: when does a read finish?
 *
 * A command of L bytes first waits `setup`, then moves at most at the stream rate; all commands in flight share the
 * maximum rate, which they use one after the other in the order in which they become ready. With r = issue + setup:
 *     link_start = max(r, link_free);   link_free = link_start + L / max
 *     done       = max(link_free, r + L / stream)
 * In a closed loop of q readers of equal L this gives rate(L, q) = min(max, q * L / (setup + L / stream)), the law of
 * docs/models.md, and a completion is known when the command is issued: nothing is ever rescheduled. Quotients are
 * rounded up to whole nanoseconds. */
#ifndef POCKETLOAD_SIM_FLASH_H
#define POCKETLOAD_SIM_FLASH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sim/heat.h"

enum { FLASH_QUEUE_MAX = 1024 };

struct flash_spec {
    int64_t setup_ns;
    uint64_t stream_bps, max_bps; /* stream_bps <= max_bps */
    uint32_t queue_depth;         /* commands in flight, 1 .. FLASH_QUEUE_MAX */
    uint64_t command_bytes;       /* a prefetch is cut into commands of at most this size */
    int64_t hot_after_ns;         /* busy time after which the device is hot; 0: never */
    uint32_t hot_factor_ppm;      /* maximum rate when hot, as a share of max_bps */
};

struct flash {
    struct flash_spec spec;
    int64_t link_start_ns, link_free_ns; /* when the last command issued has the shared rate */
    uint32_t in_flight;
    int64_t busy_ns, busy_since_ns; /* time with at least one command in flight */
    uint64_t moved_bytes;           /* by finished commands */
    /* Heat: what it was when the last pause of the app began or ended, and the busy time and the moment then. */
    bool always_hot;
    uint32_t cool_ppm;
    int64_t heat_ns, heat_busy_ns, heat_since_ns;
    /* The times of the last whole read, as most are of one size: at max_bps, and at the stream rate. */
    struct {
        uint64_t bytes, max_bps;
        int64_t max_ns, stream_ns;
    } last;
};

/* The slowest rate that a read may ever move at, heat included; at least 1. */
uint64_t flash_slowest_bps(const struct flash_spec *spec);

void flash_init(struct flash *flash, const struct flash_spec *spec);

/* How the device's heat behaves: without a call it begins cold, and pauses do not cool it. Right after flash_init. */
void flash_set_heat(struct flash *flash, enum heat_mode mode, uint32_t cool_ppm);

/* The app pauses; it goes on: what of the pause was not busy has cooled the device. */
void flash_pause(struct flash *flash, int64_t now_ns);
void flash_resume(struct flash *flash, int64_t now_ns);

static inline bool flash_has_slot(const struct flash *flash)
{
    return flash->in_flight < flash->spec.queue_depth;
}

/* Issues a command at now_ns and returns when it is done. before_bytes: what the same read moved in earlier commands;
 * then setup is not paid again, and the parts of a read that nothing interrupts take exactly the time of the whole
 * (parts of under some hundred bytes may round up by a nanosecond each). The caller has checked flash_has_slot. */
int64_t flash_issue_any(struct flash *flash, int64_t now_ns, uint64_t before_bytes, uint64_t bytes);
static inline int64_t flash_issue(struct flash *flash, int64_t now_ns, uint64_t before_bytes, uint64_t bytes)
{
    /* A whole read like the last one, on a device that never gets hot: its times are known. */
    if (before_bytes > 0 || bytes != flash->last.bytes || flash->spec.hot_after_ns > 0)
        return flash_issue_any(flash, now_ns, before_bytes, bytes);
    must(flash_has_slot(flash));
    if (flash->in_flight++ == 0)
        flash->busy_since_ns = now_ns;
    const int64_t ready = now_ns + flash->spec.setup_ns;
    flash->link_start_ns = ready > flash->link_free_ns ? ready : flash->link_free_ns;
    flash->link_free_ns = flash->link_start_ns + flash->last.max_ns;
    const int64_t streamed = ready + flash->last.stream_ns;
    return streamed > flash->link_free_ns ? streamed : flash->link_free_ns;
}

/* When a whole read issued at now_ns would be done. */
int64_t flash_peek(struct flash *flash, int64_t now_ns, uint64_t bytes);

/* Tells that a command of that size is done, at its time. */
static inline void flash_finish(struct flash *flash, int64_t now_ns, uint64_t bytes)
{
    must(flash->in_flight > 0);
    flash->moved_bytes += bytes;
    if (--flash->in_flight == 0)
        flash->busy_ns += now_ns - flash->busy_since_ns;
}

/* The device alone: `lanes` readers that each keep one read of `bytes` in flight, after warm-up, over many reads.
 * bytes_per_s and the mean latency (queueing for a slot included). STATUS_USAGE for 0 lanes or bytes. */
bool flash_measure(const struct flash_spec *spec, uint32_t lanes, uint64_t bytes, uint64_t *bytes_per_s,
                   int64_t *latency_ns, struct error *err);

#endif
