/* The flash model alone, as an I/O benchmark sees it: a closed loop of readers. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/wide.h"
#include "sim/events.h"
#include "sim/flash.h"

enum { LANES_MAX = 4096, WARM_UP_READS = 64, MEASURED_READS = 256, NS_PER_S = 1000000000 };
#define READ_NS_MAX (INT64_C(1) << 40)

/* Readers that wait for a slot stand in a ring, first come first served. */
struct bench {
    struct flash flash;
    struct events events;
    uint32_t *waiting;
    int64_t *asked_ns;
    uint32_t lanes, head, waiting_count;
};

static void start_reads(struct bench *bench, int64_t now_ns, uint64_t bytes)
{
    while (bench->waiting_count > 0 && flash_has_slot(&bench->flash)) {
        uint32_t lane = bench->waiting[bench->head];
        bench->head = (bench->head + 1) % bench->lanes;
        bench->waiting_count--;
        events_push(&bench->events, flash_issue(&bench->flash, now_ns, 0, bytes), 0, (uint16_t)lane);
    }
}

static void ask(struct bench *bench, int64_t now_ns, uint32_t lane)
{
    bench->asked_ns[lane] = now_ns;
    bench->waiting[(bench->head + bench->waiting_count++) % bench->lanes] = lane;
}

static void measure(struct bench *bench, uint64_t bytes, uint64_t *bytes_per_s, int64_t *latency_ns)
{
    for (uint32_t lane = 0; lane < bench->lanes; lane++)
        ask(bench, 0, lane);
    start_reads(bench, 0, bytes);

    uint64_t warm_up = (uint64_t)WARM_UP_READS * bench->lanes;
    uint64_t measured = (uint64_t)MEASURED_READS * bench->lanes;
    wide latency_sum = 0;
    int64_t start = 0, now = 0;
    for (uint64_t done = 0; done < warm_up + measured; done++) {
        uint32_t lane = events_pop(&bench->events, &now);
        flash_finish(&bench->flash, now, bytes);
        if (done + 1 == warm_up)
            start = now;
        if (done >= warm_up)
            latency_sum += (uint64_t)(now - bench->asked_ns[lane]);
        ask(bench, now, lane);
        start_reads(bench, now, bytes);
    }
    uint64_t elapsed = (uint64_t)(now - start);
    *bytes_per_s = (uint64_t)((wide)bytes * measured * NS_PER_S / (elapsed > 0 ? elapsed : 1));
    *latency_ns = (int64_t)(latency_sum / measured);
}

bool flash_measure(const struct flash_spec *spec, uint32_t lanes, uint64_t bytes, uint64_t *bytes_per_s,
                   int64_t *latency_ns, struct error *err)
{
    if (lanes == 0 || lanes > LANES_MAX)
        return fail(err, STATUS_USAGE, "%u lanes: expected 1 to %d", lanes, LANES_MAX);
    if (bytes == 0 || bytes > UINT64_C(1) << 40)
        return fail(err, STATUS_USAGE, "a read of %llu bytes: expected 1B to 1TiB", (unsigned long long)bytes);
    /* So the whole loop, 320 reads a lane one after the other, stays within int64. */
    if ((wide)bytes * NS_PER_S / flash_slowest_bps(spec) > READ_NS_MAX || spec->setup_ns > READ_NS_MAX)
        return fail(err, STATUS_USAGE, "a read of %llu bytes takes over 18 minutes on this device",
                    (unsigned long long)bytes);

    struct arena arena = {0};
    struct bench bench = {.lanes = lanes};
    flash_init(&bench.flash, spec);
    bench.waiting = arena_alloc(&arena, lanes, sizeof *bench.waiting);
    bench.asked_ns = arena_alloc(&arena, lanes, sizeof *bench.asked_ns);
    bool ok = bench.waiting && bench.asked_ns && events_init(&bench.events, &arena, lanes);
    if (ok)
        measure(&bench, bytes, bytes_per_s, latency_ns);
    arena_free(&arena);
    return ok || fail(err, STATUS_IO, "out of memory");
}
