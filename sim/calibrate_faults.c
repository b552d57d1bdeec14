/* What page faults cost, and what taking a page back costs, each over a stretch of pages. All of it is time of the
 * processor (CLOCK_THREAD_CPUTIME_ID), so that neither waiting for the device nor other programs are part of it. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "sim/calibrate_parts.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21 /* Linux 5.4, include/uapi/asm-generic/mman-common.h */
#endif

/* The stretch: large enough for a clock, small enough for a small phone. */
#define STRETCH_MAX (UINT64_C(32) << 20)

struct stretch {
    const struct test_file *file;
    uint64_t bytes, page, pages;
    uint32_t *order;          /* all pages, shuffled */
    unsigned char *residents; /* for mincore */
};

/* What one repetition gives; NAN: it could not be measured. */
struct costs {
    double anonymous, mapped, around, major_whole, one_read, take_back;
};

struct faults {
    long minor, major;
};

static struct faults faults_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct faults){usage.ru_minflt, usage.ru_majflt};
}

static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static double each(int64_t ns, uint64_t count)
{
    return count > 0 ? (double)ns / (double)count : (double)NAN;
}

static void measure_anonymous(const struct stretch *s, struct costs *costs)
{
    void *map = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return;
    madvise(map, s->bytes, MADV_NOHUGEPAGE); /* where huge pages do not exist this fails, and nothing is lost */
    volatile unsigned char *bytes = map;
    const struct faults before = faults_now();
    const int64_t start = processor_ns();
    for (uint64_t at = 0; at < s->bytes; at += s->page)
        bytes[at] = 1;
    const int64_t ns = processor_ns() - start;
    costs->anonymous = each(ns, (uint64_t)(faults_now().minor - before.minor));
    munmap(map, s->bytes);
}

/* How many pages of the mapping are in memory. */
static uint64_t resident(const struct stretch *s, void *map)
{
    uint64_t count = 0;
    if (mincore(map, s->bytes, s->residents) != 0)
        return 0;
    for (uint64_t i = 0; i < s->pages; i++)
        count += s->residents[i] & 1U;
    return count;
}

/* Puts the stretch into the page cache, page by page and without readahead: file systems with large folios then use
 * single pages, which the model knows. */
static bool load(const struct stretch *s)
{
    enum { PAGE_MAX = 1 << 16 };
    char buffer[PAGE_MAX];
    bool good = s->page <= PAGE_MAX;
    test_file_drop(s->file, s->bytes);
    posix_fadvise(s->file->file, 0, 0, POSIX_FADV_RANDOM);
    for (uint64_t at = 0; good && at < s->bytes; at += s->page)
        good = pread(s->file->file, buffer, s->page, (off_t)at) == (ssize_t)s->page;
    posix_fadvise(s->file->file, 0, 0, POSIX_FADV_NORMAL);
    return good;
}

/* Pages of the file that are in the page cache: the faults that map them, and then the system takes them back. */
static void measure_mapped(const struct stretch *s, struct costs *costs)
{
    void *map = load(s) ? mmap(NULL, s->bytes, PROT_READ, MAP_SHARED, s->file->file, 0) : MAP_FAILED;
    if (map == MAP_FAILED)
        return;
    const volatile unsigned char *bytes = map;
    const struct faults before = faults_now();
    int64_t start = processor_ns();
    for (uint64_t at = 0; at < s->bytes; at += s->page)
        (void)bytes[at];
    int64_t ns = processor_ns() - start;
    const struct faults after = faults_now();
    if (after.major == before.major && after.minor > before.minor) {
        costs->mapped = each(ns, (uint64_t)(after.minor - before.minor));
        costs->around = (double)s->bytes / (double)(after.minor - before.minor);
    }
    const uint64_t there = resident(s, map);
    start = processor_ns();
    if (madvise(map, s->bytes, MADV_PAGEOUT) == 0) {
        ns = processor_ns() - start;
        const uint64_t left = resident(s, map);
        if (left < there / 2) /* else it was refused for most: in memory file systems there is nothing to take back */
            costs->take_back = each(ns, there - left);
    }
    munmap(map, s->bytes);
}

/* Reads single pages past the page cache, as the flash points do; NAN where that cannot be. */
static double read_pages(const struct stretch *s, uint64_t count)
{
    void *buffer;
    uint64_t done = 0;
    if (posix_memalign(&buffer, s->page, s->page) != 0)
        return (double)NAN;
    const int64_t start = processor_ns();
    while (done < count && pread(s->file->reader, buffer, s->page, (off_t)(s->order[done] * s->page)) > 0)
        done++;
    const int64_t ns = processor_ns() - start;
    free(buffer);
    return done == count ? each(ns, done) : (double)NAN;
}

/* Faults that read one page each, and as many pages read one by one. */
static void measure_major(const struct stretch *s, const struct calibrate_options *options, struct costs *costs)
{
    test_file_drop(s->file, s->bytes);
    void *map = mmap(NULL, s->bytes, PROT_READ, MAP_SHARED, s->file->file, 0);
    if (map == MAP_FAILED)
        return;
    madvise(map, s->bytes, MADV_RANDOM);
    const volatile unsigned char *bytes = map;
    const struct faults before = faults_now();
    const int64_t end = wall_clock_ns() + options->point_ns / CALIBRATE_REPEATS, start = processor_ns();
    uint64_t touched = 0;
    while (touched < s->pages && wall_clock_ns() < end && *options->stop == 0)
        (void)bytes[s->order[touched++] * s->page];
    const int64_t ns = processor_ns() - start;
    const uint64_t majors = (uint64_t)(faults_now().major - before.major);
    munmap(map, s->bytes);
    if (majors > touched / 2 &&
        s->file->direct) { /* else pages were in memory still, or nothing is there to take off */
        costs->major_whole = each(ns, majors);
        costs->one_read = read_pages(s, touched);
    }
}

static void shuffle(uint32_t *order, uint64_t count)
{
    struct rng rng;
    rng_seed(&rng, 2, 0);
    for (uint64_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t j = rng_below(&rng, i + 1);
        uint32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

static struct spread spread_at(const struct costs *costs, size_t offset)
{
    double values[CALIBRATE_REPEATS];
    for (int i = 0; i < CALIBRATE_REPEATS; i++)
        values[i] = *(const double *)(const void *)((const char *)&costs[i] + offset);
    return spread_of(values, CALIBRATE_REPEATS);
}

static bool measure_all(const struct stretch *s, struct calibrate_progress *progress, struct calibration *c,
                        struct error *err)
{
    const struct calibrate_options *options = progress->options;
    struct costs costs[CALIBRATE_REPEATS];
    double major[CALIBRATE_REPEATS];
    for (int i = 0; i < CALIBRATE_REPEATS; i++) {
        costs[i] = (struct costs){NAN, NAN, NAN, NAN, NAN, NAN};
        measure_anonymous(s, &costs[i]);
        measure_mapped(s, &costs[i]);
        measure_major(s, options, &costs[i]);
        if (!calibrate_step(progress, err))
            return false;
        major[i] = costs[i].major_whole - costs[i].one_read;
        if (major[i] < 0.0)
            major[i] = 0.0;
    }
    c->anonymous_fault = spread_at(costs, offsetof(struct costs, anonymous));
    c->mapped_fault = spread_at(costs, offsetof(struct costs, mapped));
    c->fault_around = spread_at(costs, offsetof(struct costs, around));
    c->major_whole = spread_at(costs, offsetof(struct costs, major_whole));
    c->one_read = spread_at(costs, offsetof(struct costs, one_read));
    c->take_back = spread_at(costs, offsetof(struct costs, take_back));
    c->major_fault = spread_of(major, CALIBRATE_REPEATS);
    return true;
}

bool calibrate_faults(const struct test_file *file, struct calibrate_progress *progress, struct calibration *c,
                      struct error *err)
{
    struct stretch s = {.file = file, .page = c->machine.page_bytes};
    s.pages = (file->bytes < STRETCH_MAX ? file->bytes : STRETCH_MAX) / s.page;
    s.bytes = s.pages * s.page;
    s.order = calloc(s.pages, sizeof *s.order);
    s.residents = calloc(s.pages, 1);
    bool good = (s.order != NULL && s.residents != NULL) || fail(err, STATUS_IO, "out of memory");
    if (good) {
        shuffle(s.order, s.pages);
        good = measure_all(&s, progress, c, err);
    }
    free(s.order);
    free(s.residents);
    return good;
}
