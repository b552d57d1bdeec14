/* The rate at which all cores together read memory that their caches do not hold. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "sim/calibrate_parts.h"
#include "sim/calibrate_threads.h"

/* Larger than the caches of the cores and what they share; less where memory is short. */
#define PER_CORE_MAX (UINT64_C(64) << 20)
#define PER_CORE_LEAST (UINT64_C(4) << 20)
enum { SHARE_OF_FREE = 8, UNROLL = 8 };

struct core {
    uint64_t *words;
    size_t count;
    int64_t slice_ns, ns;
    uint64_t bytes;
    volatile uint64_t sum; /* so that the reads are not optimised away */
    const volatile sig_atomic_t *stop;
};

/* Sums that do not wait for each other. */
static uint64_t sum_up(const uint64_t *words, size_t count)
{
    uint64_t sums[UNROLL] = {0}, sum = 0;
    for (size_t i = 0; i + UNROLL <= count; i += UNROLL)
        for (size_t j = 0; j < UNROLL; j++)
            sums[j] += words[i + j];
    for (size_t j = 0; j < UNROLL; j++)
        sum += sums[j];
    return sum;
}

static void read_memory(void *context)
{
    struct core *core = context;
    const int64_t start = wall_clock_ns();
    do {
        core->sum = core->sum + sum_up(core->words, core->count);
        core->bytes += core->count * sizeof *core->words;
        core->ns = wall_clock_ns() - start;
    } while (core->ns < core->slice_ns && *core->stop == 0);
}

static bool measure(struct core *cores, size_t count, double *bps, struct error *err)
{
    void *contexts[CALIBRATE_THREADS_MAX];
    for (size_t i = 0; i < count; i++) {
        cores[i].bytes = 0;
        contexts[i] = &cores[i];
    }
    if (!threads_run(read_memory, contexts, count, err))
        return false;
    *bps = 0.0;
    for (size_t i = 0; i < count; i++)
        *bps += (double)cores[i].bytes * 1e9 / (double)(cores[i].ns > 0 ? cores[i].ns : 1);
    return true;
}

bool calibrate_memory(struct calibrate_progress *progress, struct calibration *c, struct error *err)
{
    const struct calibrate_options *options = progress->options;
    const size_t count = c->machine.cores < CALIBRATE_THREADS_MAX ? (size_t)c->machine.cores : CALIBRATE_THREADS_MAX;
    uint64_t each = c->machine.available_bytes / SHARE_OF_FREE / count;
    each = each > PER_CORE_MAX ? PER_CORE_MAX : each < PER_CORE_LEAST ? PER_CORE_LEAST : each & ~UINT64_C(4095);
    struct core cores[CALIBRATE_THREADS_MAX];
    double rates[CALIBRATE_REPEATS];
    char *memory = mmap(NULL, each * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return fail(err, STATUS_IO, "out of memory");
    memset(memory, 1, each * count); /* pages that nobody wrote are one and the same page of zeros */
    for (size_t i = 0; i < count; i++)
        cores[i] = (struct core){.words = (uint64_t *)(void *)(memory + i * each),
                                 .count = (size_t)(each / sizeof(uint64_t)),
                                 .slice_ns = options->point_ns / CALIBRATE_REPEATS,
                                 .stop = options->stop};
    bool good = true;
    for (int i = 0; good && i < CALIBRATE_REPEATS; i++)
        good = measure(cores, count, &rates[i], err) && calibrate_step(progress, err);
    munmap(memory, each * count);
    if (good)
        c->memory = spread_of(rates, CALIBRATE_REPEATS);
    return good;
}
