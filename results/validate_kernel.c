/* Faults and bytes read of a mapped file, beside what Linux counted in a memory cgroup: intervals, for the kernel
 * itself differs from run to run. One device profile for all rows, linux-cgroup. */
#include "results/validate_kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/validate_parts.h"

enum { ORDER, LIMIT_MIB, ADVICE, SCOPE, MAJOR_MIN, MAJOR_MAX, READ_MIN, READ_MAX, TOLERANCE };

static const struct truth_column columns[] = {
    [ORDER] = {"order", TRUTH_TEXT, 0, 0},
    [LIMIT_MIB] = {"limit_mib", TRUTH_COUNT, 0, 1 << 20},
    [ADVICE] = {"madvise", TRUTH_TEXT, 0, 0},
    [SCOPE] = {"scope", TRUTH_TEXT, 0, 0},
    [MAJOR_MIN] = {"majflt_min", TRUTH_COUNT, TRUTH_MAY_BE_EMPTY, 1e12},
    [MAJOR_MAX] = {"majflt_max", TRUTH_COUNT, TRUTH_MAY_BE_EMPTY, 1e12},
    [READ_MIN] = {"read_over_touched_min", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e6},
    [READ_MAX] = {"read_over_touched_max", TRUTH_NUMBER, TRUTH_MAY_BE_EMPTY, 1e6},
    [TOLERANCE] = {"tolerance", TRUTH_TEXT, TRUTH_MAY_BE_EMPTY, 0},
};

enum { FOLDER_BYTES = 4096 };

/* One page cache with its flash and clock. */
struct machine {
    struct page_cache *cache;
    struct flash flash;
    int64_t now_ns;
};

static bool touch(void *host, struct page_walk *walk)
{
    struct machine *machine = host;
    return page_cache_touch(machine->cache, 0, walk, INT64_MAX);
}

/* Of the passes of a scope, the figures that are furthest from the row; where none is outside, the last ones. */
struct figures {
    double major_faults, read;
    bool any;
};

/* How far outside [low, high] a value is. */
static double outside(double value, double low, double high)
{
    return isnan(low) ? 0 : value < low ? low - value : value > high ? value - high : 0;
}

static void worse(double *kept, double value, double low, double high, bool first)
{
    if (first || outside(value, low, high) >= outside(*kept, low, high))
        *kept = value;
}

static void add_pass(const struct truth_cell *cells, double major_faults, double read, struct figures *figures)
{
    /* Ratios were printed with four digits behind the point. */
    const double printed = truth_as_printed(read, "0.0000");
    worse(&figures->major_faults, major_faults, cells[MAJOR_MIN].number, cells[MAJOR_MAX].number, !figures->any);
    worse(&figures->read, printed, cells[READ_MIN].number, cells[READ_MAX].number, !figures->any);
    figures->any = true;
}

static bool walk(const struct truth_cell *cells, struct machine *machine, struct kernel_order *order,
                 struct figures *figures, struct error *err)
{
    const bool cold = strcmp(cells[SCOPE].text, "cold") == 0, all = strcmp(cells[SCOPE].text, "all") == 0;
    uint64_t pages, all_pages = 0;
    if (order->lock_pages > 0 && !page_cache_lock(machine->cache, 0, 0, order->lock_pages))
        return fail(err, STATUS_CHECK, "no memory for the locked pages");
    const struct page_counts start = page_cache_counts(machine->cache);
    for (uint32_t pass = 0;; pass++) {
        const struct page_counts before = page_cache_counts(machine->cache);
        if (!kernel_next_pass(order, touch, machine, &pages, err))
            return false;
        if (pages == 0)
            break;
        const struct page_counts after = page_cache_counts(machine->cache);
        all_pages += pages;
        if (!all && cold == (pass == 0))
            add_pass(cells, (double)(after.major_faults - before.major_faults),
                     (double)(after.pages_read - before.pages_read) / (double)pages, figures);
    }
    const struct page_counts end = page_cache_counts(machine->cache);
    if (all && all_pages > 0)
        add_pass(cells, (double)(end.major_faults - start.major_faults),
                 (double)(end.pages_read - start.pages_read) / (double)all_pages, figures);
    return figures->any || fail(err, STATUS_INPUT, "the order has no pass of scope %.20s", cells[SCOPE].text);
}

/* Words of a row that are none of the format's. */
static bool check_words(const struct truth_file *file, const struct truth_row *row, enum page_advice *advice,
                        double *limit_percent, struct error *err)
{
    const struct truth_cell *cells = row->cells;
    const char *scope = cells[SCOPE].text, *tolerance = cells[TOLERANCE].text;
    char *end = NULL;
    if (!kernel_advice(cells[ADVICE].text, advice))
        return fail(err, STATUS_INPUT, "%s:%u: column madvise: \"%.40s\"; expected normal, sequential or random",
                    file->name, row->line, cells[ADVICE].text);
    if (strcmp(scope, "cold") != 0 && strcmp(scope, "steady") != 0 && strcmp(scope, "all") != 0)
        return fail(err, STATUS_INPUT, "%s:%u: column scope: \"%.40s\"; expected cold, steady or all", file->name,
                    row->line, scope);
    if (isnan(cells[MAJOR_MIN].number) != isnan(cells[MAJOR_MAX].number) ||
        isnan(cells[READ_MIN].number) != isnan(cells[READ_MAX].number) ||
        cells[MAJOR_MIN].number > cells[MAJOR_MAX].number || cells[READ_MIN].number > cells[READ_MAX].number)
        return fail(err, STATUS_INPUT, "%s:%u: an interval needs its _min and its _max, the first no larger",
                    file->name, row->line);
    *limit_percent = tolerance[0] == '\0' ? (double)NAN : 0;
    if (tolerance[0] == '\0' || strcmp(tolerance, "exact") == 0)
        return true;
    *limit_percent = 100 * strtod(tolerance, &end);
    if (tolerance[strspn(tolerance, "0123456789.")] != '\0' || *end != '\0' || !(*limit_percent <= 100))
        return fail(err, STATUS_INPUT,
                    "%s:%u: column tolerance: \"%.40s\"; expected exact, a share such as 0.03, or "
                    "nothing",
                    file->name, row->line, tolerance);
    return true;
}

static void folder_of(const char *path, char folder[FOLDER_BYTES])
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, FOLDER_BYTES, "%.*s", slash != NULL ? (int)(slash - path) : 1, slash != NULL ? path : ".");
}

static bool compare_row(const struct truth_place *place, const struct device *device, struct error *err)
{
    const struct truth_cell *cells = place->row->cells;
    char folder[FOLDER_BYTES];
    enum page_advice advice;
    double limit = 0;
    struct kernel_order order;
    struct error reason;
    struct arena arena = {0};
    struct figures figures = {0};
    struct machine machine = {0};
    folder_of(place->file->path, folder);
    if (!check_words(place->file, place->row, &advice, &limit, err))
        return false;
    if (!kernel_order_read(cells[ORDER].text, folder, &order, &reason)) {
        if (reason.code == STATUS_INPUT)
            return fail(err, STATUS_INPUT, "%s:%u: %s", place->file->name, place->row->line, reason.text);
        return truth_skip(place, "the file of the order is not there", err);
    }
    const struct page_cache_spec spec = kernel_cache_spec(device, advice);
    flash_init(&machine.flash, &device->flash);
    bool good = page_cache_init(&machine.cache, &spec, &machine.flash, &machine.now_ns, &arena, &reason);
    if (good)
        page_cache_set_limit(machine.cache, kernel_limit_pages(device, (uint64_t)cells[LIMIT_MIB].number));
    good = good && walk(cells, &machine, &order, &figures, &reason);
    kernel_order_free(&order);
    arena_free(&arena);
    const double none = (double)NAN;
    const char *note = good ? "" : reason.text;
    return truth_add_interval(place, "major_faults", cells[MAJOR_MIN].number, cells[MAJOR_MAX].number,
                              good ? figures.major_faults : none, limit, note, err) &&
           truth_add_interval(place, "read_over_touched", cells[READ_MIN].number, cells[READ_MAX].number,
                              good ? figures.read : none, limit, note, err);
}

static bool compare(struct validating *validating, const struct truth_file *file, struct error *err)
{
    struct device device;
    if (!profile_read_device("linux-cgroup", validating->options->profile_dirs, &device, err))
        return false;
    for (size_t i = 0; i < file->row_count; i++) {
        const struct truth_cell *cells = file->rows[i].cells;
        char subject[160];
        snprintf(subject, sizeof subject, "%.60s, limit %.0f MiB, %.12s, %.10s", cells[ORDER].text,
                 cells[LIMIT_MIB].number, cells[ADVICE].text, cells[SCOPE].text);
        const struct truth_place place = {validating, file, &file->rows[i], subject};
        if (!compare_row(&place, &device, err))
            return false;
    }
    return true;
}

const struct truth_family truth_kernel = {.name = "page-cache", TRUTH_COLUMN_LIST(columns), .compare = compare};
