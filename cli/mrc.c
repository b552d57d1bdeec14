/* `pocketload mrc`: misses by capacity, for the whole range of capacities. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/comparison.h"
#include "results/mrc.h"
#include "sim/mrc.h"

enum { KEY_POINTS = KEY_COMPARISON_OWN, KEY_PLOT };
enum { POINTS_DEFAULT = 50, POINTS_MAX = 4096 };

struct mrc_options {
    struct comparison_options shared;
    uint64_t points; /* 0: none given */
    bool all;        /* every capacity at which LRU changes */
    const char *plot;
};

static const struct argp_option options[] = {
    COMPARISON_OPTIONS,
    {"points", KEY_POINTS, "N", 0,
     "so many capacities, evenly up to all of the trace's distinct bytes (default 50); all: for lru, each at which its "
     "misses change",
     0},
    {"plot", KEY_PLOT, "FILE", 0, "draw the curves: FILE.svg or FILE.png, with script and data beside it", 0},
    FORMAT_OPTION,
    HELP_OPTION,
    {0},
};

static bool parse_points(const char *text, struct mrc_options *mrc, struct error *err)
{
    mrc->all = strcmp(text, "all") == 0;
    return mrc->all || parse_count(text, 1, POINTS_MAX, &mrc->points, err) || fail_in(err, "--points");
}

static error_t check_given(const struct mrc_options *mrc)
{
    struct error *err = mrc->shared.arguments.err;
    if ((mrc->all || mrc->points > 0) && mrc->shared.capacities != NULL)
        fail(err, STATUS_USAGE, "--points is given beside --capacity; expected one of them");
    else if (mrc->all && mrc->shared.bounds)
        fail(err, STATUS_USAGE, "--bounds is given beside --points all, which is of lru alone");
    else if (mrc->plot == NULL || mrc_plot_check(mrc->plot, err) || fail_in(err, "--plot"))
        return 0;
    return EINVAL;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct mrc_options *mrc = state->input;
    switch (key) {
    case KEY_POINTS:
        return parse_points(text, mrc, mrc->shared.arguments.err) ? 0 : EINVAL;
    case KEY_PLOT:
        mrc->plot = text;
        return 0;
    default:
        break;
    }
    const error_t status = comparison_parse(key, text, &mrc->shared, "mrc");
    return key == ARGP_KEY_SUCCESS && status == 0 ? check_given(mrc) : status;
}

/* ---- Capacities ---- */

static bool add_points(struct comparison *mrc, uint64_t points, struct error *err)
{
    const uint64_t whole = mrc->trace.working_set_bytes;
    uint64_t before = 0;
    for (uint64_t i = 1; i <= points; i++) {
        struct capacity capacity = {.amount = whole / points * i + whole % points * i / points};
        if (capacity.amount == before)
            continue;
        before = capacity.amount;
        if (mrc->has_bytes)
            print_bytes(capacity.amount, capacity.text);
        else
            snprintf(capacity.text, sizeof capacity.text, "%lluobj", (unsigned long long)capacity.amount);
        if (!comparison_add_capacity(mrc, &capacity, err))
            return false;
    }
    return true;
}

static double share_of(const struct comparison *mrc, uint64_t amount, bool by_objects)
{
    return ratio(amount, by_objects ? mrc->distinct : mrc->trace.working_set_bytes);
}

/* ---- The curve of LRU ---- */

static bool is_lru(const struct comparison *mrc, size_t policy)
{
    return strcmp(mrc->policies[policy].label, "lru") == 0 && mrc_applies(&mrc->trace);
}

static int compare_points(const void *a, const void *b)
{
    const uint64_t x = ((const struct mrc_point *)a)->capacity, y = ((const struct mrc_point *)b)->capacity;
    return x < y ? -1 : x > y;
}

static void set_cell(const struct comparison *mrc, struct replay_cell *cell, const struct mrc_point *point)
{
    cell->done = true;
    cell->result = (struct replay_result){.accesses = mrc->trace.access_count,
                                          .hits = point->hits,
                                          .misses = mrc->trace.access_count - point->hits,
                                          .bytes_accessed = mrc->trace.accessed_bytes,
                                          .bytes_hit = point->bytes_hit};
}

/* LRU at the capacities that count blocks, or bytes: one pass for all of them. */
static bool fill_lru(struct comparison *mrc, size_t policy, bool by_objects, struct error *err)
{
    struct mrc_point *points = calloc(mrc->capacity_count, sizeof *points);
    size_t count = 0, kept = 0;
    if (points == NULL)
        return fail(err, STATUS_IO, "out of memory");
    for (size_t c = 0; c < mrc->capacity_count; c++)
        if (mrc->capacities[c].by_objects == by_objects)
            points[count++].capacity = mrc->capacities[c].amount;
    if (count > 0)
        qsort(points, count, sizeof *points, compare_points);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || points[i].capacity != points[kept - 1].capacity)
            points[kept++] = points[i];
    const bool good = kept == 0 || mrc_lru(&mrc->model, &mrc->trace, by_objects, points, kept, err);
    for (size_t c = 0; good && c < mrc->capacity_count; c++) {
        const struct mrc_point key = {.capacity = mrc->capacities[c].amount};
        if (mrc->capacities[c].by_objects == by_objects)
            set_cell(mrc, &mrc->cells[c * mrc->policy_count + policy],
                     bsearch(&key, points, kept, sizeof key, compare_points));
    }
    free(points);
    return good;
}

static bool leave_out_lru(struct comparison *mrc, struct error *err)
{
    mrc->left_out = calloc(mrc->capacity_count * mrc->policy_count + 1, sizeof *mrc->left_out);
    if (mrc->left_out == NULL)
        return fail(err, STATUS_IO, "out of memory");
    for (size_t i = 0; i < mrc->capacity_count * mrc->policy_count; i++)
        mrc->left_out[i] = is_lru(mrc, i % mrc->policy_count);
    return true;
}

static bool run_all(struct comparison *mrc, struct error *err)
{
    if (!leave_out_lru(mrc, err) || !comparison_run(mrc, err))
        return false;
    for (size_t p = 0; p < mrc->policy_count; p++) {
        if (is_lru(mrc, p) && (!fill_lru(mrc, p, false, err) || !fill_lru(mrc, p, true, err)))
            return false;
        if (!mrc_applies(&mrc->trace) && strcmp(mrc->policies[p].label, "lru") == 0)
            fprintf(stderr, "note: lru: steps of this trace use several blocks, so it is replayed at each capacity\n");
    }
    return true;
}

/* ---- Output ---- */

static void made(void *context, const char *path)
{
    (void)context;
    fprintf(stderr, "note: drew %s\n", path);
}

static void say_context(const struct comparison *mrc)
{
    char text[BOUNDS_TEXT];
    const char *end = mrc->options->format == FORMAT_MARKDOWN ? "\n\n" : "\n";
    printf("%s%s", bounds_trace_text(&mrc->context, text), end);
    if (mrc->context.is_loop)
        printf("below the cycle LRU and FIFO hit nothing on a pure loop%s", end);
    if (mrc->bounds && mrc->context.block_bytes == 0)
        printf("block sizes differ: belady evicts what is used last again, whatever its size, and is no bound%s", end);
    if (mrc->options->format == FORMAT_TABLE)
        putchar('\n');
}

static bool print_curves(const struct comparison *mrc, const char *plot, const struct curves *curves, struct error *err)
{
    if (!comparison_for_people(mrc)) {
        if (!mrc_print_records(stdout, mrc->options->format, curves, err))
            return false;
    } else {
        size_t rows;
        say_context(mrc);
        if (!mrc_print_table(stdout, mrc->options->format, curves, &rows, err))
            return false;
        if (rows < curves->count)
            printf("%smiss ratios at %zu of %zu capacities: --format csv tells all\n",
                   mrc->options->format == FORMAT_TABLE ? "" : "\n", rows, curves->count);
    }
    return plot == NULL || mrc_plot(plot, curves, made, NULL, err) || fail_in(err, "--plot");
}

/* From cells to curves: that of the infinite cache is the last. */
static void fill_curves(const struct comparison *mrc, struct curve_capacity *capacities, struct curve_value *values)
{
    struct replay_result infinite;
    replay_infinite(&mrc->trace, mrc->distinct, &infinite);
    for (size_t c = 0; c < mrc->capacity_count; c++) {
        const struct capacity *from = &mrc->capacities[c];
        capacities[c] =
            (struct curve_capacity){from->amount, from->by_objects, share_of(mrc, from->amount, from->by_objects)};
        for (size_t p = 0; p <= mrc->policy_count; p++) {
            const struct replay_cell *cell = &mrc->cells[c * mrc->policy_count + (p < mrc->policy_count ? p : 0)];
            const struct replay_result *result = p < mrc->policy_count ? &cell->result : &infinite;
            const bool infinite_one = p == mrc->policy_count;
            values[p * mrc->capacity_count + c] =
                (struct curve_value){.known = infinite_one || (cell->done && cell->error == NULL),
                                     .misses = result->misses,
                                     .bytes_missed = result->bytes_accessed - result->bytes_hit,
                                     .note = infinite_one  ? NULL
                                             : cell->error ? cell->error->text
                                             : cell->done  ? result->remark
                                                           : NULL};
        }
    }
}

static struct curves curves_of(const struct comparison *mrc)
{
    return (struct curves){.trace = mrc->options->trace,
                           .has_bytes = mrc->has_bytes,
                           .accesses = mrc->trace.access_count,
                           .bytes_accessed = mrc->trace.accessed_bytes};
}

static bool print_grid(const struct comparison *mrc, const char *plot, struct error *err)
{
    const size_t count = mrc->policy_count + 1;
    struct curve_capacity *capacities = calloc(mrc->capacity_count, sizeof *capacities);
    struct curve_value *values = calloc(mrc->capacity_count * count, sizeof *values);
    char(*texts)[POLICY_TEXT_MAX + 32] = calloc(count, sizeof *texts);
    const char **labels = calloc(count, sizeof *labels);
    bool good = (capacities && values && texts && labels) || fail(err, STATUS_IO, "out of memory");
    if (good) {
        for (size_t p = 0; p < mrc->policy_count; p++)
            labels[p] = comparison_label(mrc, p, texts[p]);
        labels[mrc->policy_count] = comparison_for_people(mrc) ? "infinite (bound)" : "infinite";
        fill_curves(mrc, capacities, values);
        struct curves curves = curves_of(mrc);
        curves.capacities = capacities;
        curves.count = mrc->capacity_count;
        curves.labels = labels;
        curves.label_count = mrc->policy_count + (mrc->bounds ? 1 : 0);
        curves.values = values;
        good = print_curves(mrc, plot, &curves, err);
    }
    free(capacities);
    free(values);
    free(texts);
    free(labels);
    return good;
}

/* ---- Every capacity that makes a difference ---- */

static bool print_points(const struct comparison *mrc, const char *plot, const struct mrc_point *points, size_t count,
                         struct error *err)
{
    static const char *const label[] = {"lru"};
    struct curve_capacity *capacities = calloc(count, sizeof *capacities);
    struct curve_value *values = calloc(count, sizeof *values);
    bool good = (capacities && values) || fail(err, STATUS_IO, "out of memory");
    for (size_t i = 0; good && i < count; i++) {
        capacities[i] = (struct curve_capacity){points[i].capacity, false, share_of(mrc, points[i].capacity, false)};
        values[i] = (struct curve_value){.known = true,
                                         .misses = mrc->trace.access_count - points[i].hits,
                                         .bytes_missed = mrc->trace.accessed_bytes - points[i].bytes_hit};
    }
    if (good) {
        struct curves curves = curves_of(mrc);
        curves.capacities = capacities;
        curves.count = count;
        curves.labels = label;
        curves.label_count = 1;
        curves.values = values;
        good = print_curves(mrc, plot, &curves, err);
    }
    free(capacities);
    free(values);
    return good;
}

static bool run_every_point(struct comparison *mrc, const char *plot, struct error *err)
{
    if (mrc->policy_count != 1 || strcmp(mrc->policies[0].label, "lru") != 0)
        return fail(err, STATUS_USAGE,
                    "--points all is of lru alone: other policies are replayed at each capacity; "
                    "expected a number, such as --points 200");
    struct mrc_point *points;
    size_t count;
    if (!mrc_lru_all(&mrc->model, &mrc->trace, false, &points, &count, err))
        return fail_in(err, "--points all");
    if (mrc->context.block_bytes == 0)
        fprintf(stderr, "note: the curve begins at the largest block; --capacity tells of smaller sizes\n");
    const bool good = print_points(mrc, plot, points, count, err);
    free(points);
    return good;
}

static int run_grid(struct comparison *mrc, const struct mrc_options *given)
{
    struct error err;
    bool all_failed;
    const uint64_t points = given->points > 0 ? given->points : POINTS_DEFAULT;
    if ((mrc->capacity_count == 0 && !add_points(mrc, points, &err)) || !run_all(mrc, &err))
        return report(&err);
    const int status = comparison_report(mrc, &all_failed);
    if (all_failed)
        return status;
    if (!print_grid(mrc, given->plot, &err))
        return report(&err);
    if (comparison_for_people(mrc))
        comparison_print_remarks(mrc);
    return status;
}

int command_mrc(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "TRACE",
        "Miss-ratio curves: misses by capacity. That of lru is exact at all capacities "
        "from one pass; other policies are replayed at each point, Belady's too (--no-bounds saves that time).",
        NULL,
        NULL,
        NULL};
    struct mrc_options given = {.points = 0};
    struct error err;
    comparison_defaults(&given.shared);
    if (!arguments_parse(&argp, argc, argv, &given.shared.arguments, &err))
        return report(&err);
    if (given.shared.arguments.helped)
        return STATUS_OK;
    if (given.all)
        given.shared.no_bounds = true;
    struct comparison mrc;
    int status = STATUS_OK;
    if (!comparison_start(&mrc, &given.shared, &err))
        status = report(&err);
    else if (!given.all)
        status = run_grid(&mrc, &given);
    else if (!run_every_point(&mrc, given.plot, &err))
        status = report(&err);
    comparison_free(&mrc);
    return status;
}
