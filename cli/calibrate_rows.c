/* Rows of a calibration. */
#include "cli/calibrate_rows.h"

#include <math.h>
#include <stdlib.h>

#include "cli/common.h"

struct row {
    const char *quantity;
    int64_t lanes, block_bytes; /* -1: does not apply, as below */
    int64_t bytes_per_s, least_bytes_per_s, most_bytes_per_s;
    int64_t time_ns, least_ns, most_ns;
    int64_t fitted_bytes_per_s;
    double error; /* NAN */
};

#define CELL(name, type, help)                                                                                         \
    {                                                                                                                  \
#name, type, offsetof(struct row, name), true, help                                                            \
    }
static const struct column columns[] = {
    {"quantity", COLUMN_TEXT, offsetof(struct row, quantity), false, "what was measured"},
    CELL(lanes, COLUMN_INTEGER, "readers that each keep one read in flight"),
    CELL(block_bytes, COLUMN_INTEGER, "bytes of each read"),
    CELL(bytes_per_s, COLUMN_INTEGER, "rate: the median of all repetitions"),
    CELL(least_bytes_per_s, COLUMN_INTEGER, "the least of them"),
    CELL(most_bytes_per_s, COLUMN_INTEGER, "the most"),
    CELL(time_ns, COLUMN_INTEGER, "time: the median; of reads the mean time of each"),
    CELL(least_ns, COLUMN_INTEGER, "the least"),
    CELL(most_ns, COLUMN_INTEGER, "the most"),
    CELL(fitted_bytes_per_s, COLUMN_INTEGER, "rate by the fitted law"),
    CELL(error, COLUMN_REAL, "fitted / measured - 1; of the fit's rows that error itself"),
};
enum { COLUMNS = sizeof columns / sizeof *columns, OTHER_ROWS_MAX = 16 };

struct rows {
    struct row *list;
    size_t count;
};

static struct row *add(struct rows *rows, const char *quantity)
{
    struct row *row = &rows->list[rows->count++];
    *row = (struct row){quantity, -1, -1, -1, -1, -1, -1, -1, -1, -1, (double)NAN};
    return row;
}

static int64_t whole(double value)
{
    return (int64_t)llround(fmin(value, 9e18));
}

/* What could not be measured has no row. */
static void add_rate(struct rows *rows, const char *quantity, const struct spread *spread)
{
    if (!spread->known)
        return;
    struct row *row = add(rows, quantity);
    row->bytes_per_s = whole(spread->median);
    row->least_bytes_per_s = whole(spread->least);
    row->most_bytes_per_s = whole(spread->most);
}

static void add_time(struct rows *rows, const char *quantity, const struct spread *spread)
{
    if (!spread->known)
        return;
    struct row *row = add(rows, quantity);
    row->time_ns = whole(spread->median);
    row->least_ns = whole(spread->least);
    row->most_ns = whole(spread->most);
}

static void add_point(struct rows *rows, const char *quantity, const struct flash_point *point,
                      const struct spread *spread, const struct flash_fit *fit)
{
    double law = flash_law(fit, point->lanes, point->block_bytes);
    struct row *row = add(rows, quantity);
    row->lanes = (int64_t)point->lanes;
    row->block_bytes = (int64_t)point->block_bytes;
    row->bytes_per_s = whole(point->bps);
    if (spread != NULL) {
        row->least_bytes_per_s = whole(spread->least);
        row->most_bytes_per_s = whole(spread->most);
    }
    row->time_ns = whole((double)point->lanes * (double)point->block_bytes * 1e9 / point->bps);
    row->fitted_bytes_per_s = whole(law);
    row->error = law / point->bps - 1.0;
}

/* `c` is NULL where there is one measurement of each. */
static void add_fit(struct rows *rows, const struct flash_fit *fit, const struct calibration *c)
{
    struct row *row = add(rows, "flash_setup");
    row->time_ns = whole(fit->setup_ns);
    if (c != NULL) {
        row->least_ns = whole(c->setup.least);
        row->most_ns = whole(c->setup.most);
    }
    row = add(rows, "flash_stream");
    row->bytes_per_s = whole(fit->stream_bps);
    if (c != NULL) {
        row->least_bytes_per_s = whole(c->stream.least);
        row->most_bytes_per_s = whole(c->stream.most);
    }
    row = add(rows, fit->reaches_max ? "flash_max" : "flash_max (not reached)");
    row->bytes_per_s = whole(fit->max_bps);
    if (c != NULL) {
        row->least_bytes_per_s = whole(c->max.least);
        row->most_bytes_per_s = whole(c->max.most);
    }
    add(rows, "fit_rms")->error = fit->rms;
    add(rows, "fit_median")->error = fit->median;
    add(rows, "fit_worst")->error = fit->worst;
}

static bool rows_make(struct rows *rows, size_t points, struct error *err)
{
    *rows = (struct rows){calloc(points + OTHER_ROWS_MAX, sizeof *rows->list), 0};
    return rows->list != NULL || fail(err, STATUS_IO, "out of memory");
}

static bool rows_show(struct rows *rows, enum format format, struct error *err)
{
    bool good = show_list(format, columns, COLUMNS, rows->list, sizeof *rows->list, rows->count, err);
    free(rows->list);
    return good;
}

bool show_calibration(enum format format, const struct calibration *c, struct error *err)
{
    struct rows rows;
    if (!rows_make(&rows, c->points, err))
        return false;
    for (size_t i = 0; i < c->points; i++) {
        const struct measured_point *point = &c->point[i];
        const struct flash_point as_point = {point->lanes, point->block_bytes, point->bps.median};
        add_point(&rows, point->sequential ? "sequential_read" : "random_read", &as_point, &point->bps, &c->fit);
    }
    add_fit(&rows, &c->fit, c);
    add_time(&rows, "minor_fault_anonymous", &c->anonymous_fault);
    add_time(&rows, "minor_fault_mapped", &c->mapped_fault);
    add_time(&rows, "major_fault_whole", &c->major_whole);
    add_time(&rows, "one_page_read", &c->one_read);
    add_time(&rows, "major_fault", &c->major_fault);
    add_time(&rows, "take_back_page", &c->take_back);
    add_rate(&rows, "memory", &c->memory);
    return rows_show(&rows, format, err);
}

bool show_fit(enum format format, const struct flash_point *points, size_t count, const struct flash_fit *fit,
              struct error *err)
{
    struct rows rows;
    if (!rows_make(&rows, count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        add_point(&rows, "read", &points[i], NULL, fit);
    add_fit(&rows, fit, NULL);
    return rows_show(&rows, format, err);
}
