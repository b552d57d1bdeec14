/* Rates of reads by size and number of readers, and the flash law that fits them. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "sim/calibrate_parts.h"
#include "sim/calibrate_threads.h"

enum { ALIGN = 4096 };
#define NS_PER_S 1e9

/* What readers may hold in memory together: more than this in flight only waits for the shared rate. */
#define FLIGHT_MAX (UINT64_C(64) << 20)

static const uint64_t lane_counts[] = {1, 2, 4, 8, 16, CALIBRATE_LANES_MAX};
static const uint64_t block_sizes[] = {4 << 10, 16 << 10, 64 << 10, 128 << 10, 512 << 10, 1 << 20, 4 << 20, 8 << 20};
enum { LANE_COUNTS = sizeof lane_counts / sizeof *lane_counts, SIZES = sizeof block_sizes / sizeof *block_sizes };
_Static_assert(2 * LANE_COUNTS * SIZES <= CALIBRATE_POINTS_MAX, "room for a point of each combination");

/* What all readers of a slice share. */
struct slice {
    const struct test_file *file;
    uint64_t block_bytes, blocks;
    int64_t ns;
    bool sequential;
    const volatile sig_atomic_t *stop;
    _Atomic uint64_t next; /* block of a sequential read */
};

struct reader {
    struct slice *slice;
    struct rng rng;
    void *buffer;
    uint64_t bytes;
    int64_t ns;
    int error; /* errno; -1: the file ended too early */
};

static bool read_block(struct reader *reader, uint64_t block)
{
    const struct slice *slice = reader->slice;
    const off_t at = (off_t)(block * slice->block_bytes);
    if (!slice->file->direct)
        posix_fadvise(slice->file->reader, at, (off_t)slice->block_bytes, POSIX_FADV_DONTNEED);
    for (uint64_t done = 0; done < slice->block_bytes;) {
        ssize_t got =
            pread(slice->file->reader, (char *)reader->buffer + done, slice->block_bytes - done, at + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            reader->error = got < 0 ? errno : -1;
            return false;
        }
        done += (uint64_t)got;
    }
    return true;
}

/* Reads until the time is over, once at least. Each reader has a clock of its own, so that none is charged for waiting
 * for the slowest. */
static void run_reader(void *context)
{
    struct reader *reader = context;
    struct slice *slice = reader->slice;
    const int64_t start = wall_clock_ns();
    do {
        uint64_t block = slice->sequential ? atomic_fetch_add(&slice->next, 1) % slice->blocks
                                           : rng_below(&reader->rng, slice->blocks);
        if (!read_block(reader, block))
            return;
        reader->bytes += slice->block_bytes;
        reader->ns = wall_clock_ns() - start;
    } while (reader->ns < slice->ns && *slice->stop == 0);
}

static bool prepare(struct slice *slice, uint64_t lanes, uint64_t seed, struct reader *readers, void **contexts,
                    struct error *err)
{
    for (uint64_t i = 0; i < lanes; i++) {
        readers[i] = (struct reader){.slice = slice};
        contexts[i] = &readers[i];
    }
    for (uint64_t i = 0; i < lanes; i++) {
        rng_seed(&readers[i].rng, seed, i);
        if (posix_memalign(&readers[i].buffer, ALIGN, slice->block_bytes) != 0) {
            readers[i].buffer = NULL;
            return fail(err, STATUS_IO, "out of memory");
        }
        memset(readers[i].buffer, 0, slice->block_bytes); /* its pages come now, not with the first read */
    }
    return true;
}

static bool sum_up(const struct reader *readers, uint64_t lanes, double *bps, struct error *err)
{
    *bps = 0.0;
    for (uint64_t i = 0; i < lanes; i++) {
        if (readers[i].error != 0)
            return fail(err, STATUS_IO, "cannot read the test file: %s",
                        readers[i].error > 0 ? strerror(readers[i].error) : "it ends too early");
        *bps += (double)readers[i].bytes * NS_PER_S / (double)(readers[i].ns > 0 ? readers[i].ns : 1);
    }
    return true;
}

bool read_slice(const struct test_file *file, bool sequential, uint64_t lanes, uint64_t block_bytes, int64_t ns,
                uint64_t seed, const volatile sig_atomic_t *stop, double *bps, struct error *err)
{
    struct reader readers[CALIBRATE_LANES_MAX];
    void *contexts[CALIBRATE_LANES_MAX] = {NULL};
    struct slice slice = {.file = file,
                          .block_bytes = block_bytes,
                          .blocks = file->bytes / block_bytes,
                          .ns = ns,
                          .sequential = sequential,
                          .stop = stop};
    must(lanes <= CALIBRATE_LANES_MAX && slice.blocks > 0);
    bool good = prepare(&slice, lanes, seed, readers, contexts, err) &&
                threads_run(run_reader, contexts, (size_t)lanes, err) && sum_up(readers, lanes, bps, err);
    for (uint64_t i = 0; i < lanes; i++)
        free(readers[i].buffer);
    return good;
}

size_t calibrate_flash_points(uint64_t file_bytes, struct measured_point points[CALIBRATE_POINTS_MAX])
{
    size_t count = 0;
    for (int sequential = 0; sequential < 2; sequential++)
        for (size_t i = 0; i < SIZES; i++)
            for (size_t j = 0; j < LANE_COUNTS; j++) {
                uint64_t bytes = block_sizes[i], flight = bytes * lane_counts[j];
                if (bytes > file_bytes / 2 || flight > file_bytes || flight > FLIGHT_MAX)
                    continue;
                points[count++] =
                    (struct measured_point){.sequential = sequential, .lanes = lane_counts[j], .block_bytes = bytes};
            }
    return count;
}

/* The fit of each repetition alone tells how far the constants can be trusted. */
static bool fit_all(double (*rates)[CALIBRATE_REPEATS], struct calibration *c, struct error *err)
{
    struct flash_point points[CALIBRATE_POINTS_MAX];
    double setup[CALIBRATE_REPEATS], stream[CALIBRATE_REPEATS], max[CALIBRATE_REPEATS];
    for (size_t i = 0; i < c->points; i++) {
        points[i].lanes = c->point[i].lanes;
        points[i].block_bytes = c->point[i].block_bytes;
    }
    for (int repeat = 0; repeat < CALIBRATE_REPEATS; repeat++) {
        struct flash_fit fit;
        for (size_t i = 0; i < c->points; i++)
            points[i].bps = rates[i][repeat];
        if (!flash_fit(points, c->points, &fit, err))
            return false;
        setup[repeat] = fit.setup_ns;
        stream[repeat] = fit.stream_bps;
        max[repeat] = fit.max_bps;
    }
    c->setup = spread_of(setup, CALIBRATE_REPEATS);
    c->stream = spread_of(stream, CALIBRATE_REPEATS);
    c->max = spread_of(max, CALIBRATE_REPEATS);
    for (size_t i = 0; i < c->points; i++)
        points[i].bps = c->point[i].bps.median;
    return flash_fit(points, c->points, &c->fit, err);
}

/* Repetitions are the outer loop: what changes in the course of time shows as spread, not as a difference of points. */
bool calibrate_flash(const struct test_file *file, struct calibrate_progress *progress, struct calibration *c,
                     struct error *err)
{
    const struct calibrate_options *options = progress->options;
    double rates[CALIBRATE_POINTS_MAX][CALIBRATE_REPEATS];
    c->points = calibrate_flash_points(file->bytes, c->point);
    for (int repeat = 0; repeat < CALIBRATE_REPEATS; repeat++)
        for (size_t i = 0; i < c->points; i++) {
            const struct measured_point *point = &c->point[i];
            const uint64_t seed = (uint64_t)repeat * CALIBRATE_POINTS_MAX + i;
            if (!read_slice(file, point->sequential, point->lanes, point->block_bytes,
                            options->point_ns / CALIBRATE_REPEATS, seed, options->stop, &rates[i][repeat], err) ||
                !calibrate_step(progress, err))
                return false;
        }
    for (size_t i = 0; i < c->points; i++) {
        double sorted[CALIBRATE_REPEATS];
        memcpy(sorted, rates[i], sizeof sorted);
        c->point[i].bps = spread_of(sorted, CALIBRATE_REPEATS);
    }
    return fit_all(rates, c, err);
}
