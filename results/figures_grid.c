/* The figures of a grid, against the budget: what each shows, as data. */
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "results/plot_data.h"
#include "results/plot_scripts.h"

static bool no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory for the figures");
}

static bool query_failed(struct store *store, struct error *err)
{
    return fail(err, STATUS_IO, "cannot read the runs: %s", sqlite3_errmsg(store_handle(store)));
}

/* ---- Curves against the budget ---- */

/* Sums of a quantity by series and budget, for means over repeats. */
struct curves {
    const char *labels[SERIES_MAX];
    uint64_t *budgets; /* ascending */
    double *sums;      /* [budget * SERIES_MAX + series] */
    unsigned *counts;
    size_t series_count, budget_count;
    double largest; /* mean */
    bool left_out;  /* there are more series than can be told apart */
};

static int compare_budgets(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t find_series(struct curves *curves, const char *label)
{
    size_t i = 0;
    while (i < curves->series_count && strcmp(curves->labels[i], label) != 0)
        i++;
    if (i == SERIES_MAX)
        curves->left_out = true;
    else if (i == curves->series_count)
        curves->labels[curves->series_count++] = label;
    return i;
}

/* Runs that were killed, or have no budget, have no place on a curve. */
static bool on_a_curve(const struct run_record *record)
{
    return record->numbers.outcome == OUTCOME_COMPLETED && record->budget_bytes > 0;
}

static bool collect(const struct plot_runs *runs, double (*value)(const struct run_record *record),
                    struct curves *curves)
{
    *curves = (struct curves){.budgets = calloc(runs->count, sizeof *curves->budgets)};
    if (!curves->budgets)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++)
        if (on_a_curve(&runs->records[i]))
            curves->budgets[count++] = runs->records[i].budget_bytes;
    qsort(curves->budgets, count, sizeof *curves->budgets, compare_budgets);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || curves->budgets[i] != curves->budgets[i - 1])
            curves->budgets[curves->budget_count++] = curves->budgets[i];
    curves->sums = calloc((curves->budget_count + 1) * SERIES_MAX, sizeof *curves->sums);
    curves->counts = calloc((curves->budget_count + 1) * SERIES_MAX, sizeof *curves->counts);
    if (!curves->sums || !curves->counts)
        return false;
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_record *record = &runs->records[i];
        const double here = on_a_curve(record) ? value(record) : (double)NAN;
        const size_t series = isnan(here) ? SERIES_MAX : find_series(curves, plot_label(runs, record));
        if (series == SERIES_MAX)
            continue;
        const uint64_t *budget =
            bsearch(&record->budget_bytes, curves->budgets, curves->budget_count, sizeof *budget, compare_budgets);
        const size_t cell = (size_t)(budget - curves->budgets) * SERIES_MAX + series;
        curves->sums[cell] += here;
        curves->counts[cell]++;
    }
    for (size_t i = 0; i < curves->budget_count * SERIES_MAX; i++)
        if (curves->counts[i] > 0)
            curves->largest = fmax(curves->largest, curves->sums[i] / curves->counts[i]);
    return true;
}

static void curves_free(struct curves *curves)
{
    free(curves->budgets);
    free(curves->sums);
    free(curves->counts);
}

static bool write_curves(const struct plot_runs *runs, const struct curves *curves, FILE *file)
{
    fputs("budget_bytes", file);
    bool ok = true;
    for (size_t i = 0; ok && i < curves->series_count; i++) {
        putc(',', file);
        ok = plot_text(file, curves->labels[i], LABEL_CHARACTERS, false);
    }
    fputs(",title\n", file);
    for (size_t row = 0; ok && row < curves->budget_count; row++) {
        fprintf(file, "%" PRIu64, curves->budgets[row]);
        for (size_t i = 0; i < curves->series_count; i++) {
            const size_t cell = row * SERIES_MAX + i;
            if (curves->counts[cell] > 0)
                fprintf(file, ",%.9g", curves->sums[cell] / curves->counts[cell]);
            else
                putc(',', file);
        }
        putc(',', file);
        ok = plot_text(file, runs->title, TITLE_CHARACTERS, false);
        putc('\n', file);
    }
    return ok;
}

static bool draw_curves(const struct plot_runs *runs, struct figure *figure, double (*value)(const struct run_record *),
                        const char *title, const char *y_label, struct axis_unit (*unit)(double largest), bool *drawn,
                        struct error *err)
{
    struct curves curves;
    bool ok = collect(runs, value, &curves);
    *drawn = ok && curves.series_count > 0;
    if (*drawn) {
        const unsigned series = (unsigned)curves.series_count;
        char whole_title[128];
        snprintf(whole_title, sizeof whole_title, "%s%s", title, curves.left_out ? " (the first 16 series)" : "");
        ok = write_curves(runs, &curves, figure->data);
        script_begin(figure->script, figure->name, series + 2, series);
        script_lines(figure->script, whole_title, "budget for weights",
                     axis_bytes(curves.budgets[curves.budget_count - 1]), y_label, unit(curves.largest), series, true);
        script_end(figure->script);
    }
    curves_free(&curves);
    return ok || no_memory(err);
}

static double hit_percent(const struct run_record *record)
{
    return 100 * record->hit_rate;
}

static struct axis_unit percent(double largest)
{
    (void)largest;
    return (struct axis_unit){"%", 1};
}

bool figure_hit_rate(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                     struct error *err)
{
    (void)store;
    return draw_curves(runs, figure, hit_percent, "Hit rate against budget", "hit rate", percent, drawn, err);
}

static double stall_per_token(const struct run_record *record)
{
    return ratio((uint64_t)record->numbers.stall_ns, record->numbers.tokens);
}

bool figure_stall_per_token(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                            struct error *err)
{
    (void)store;
    return draw_curves(runs, figure, stall_per_token, "Time lost waiting for weights, against budget",
                       "stall per token", axis_time, drawn, err);
}

/* ---- Peak memory ---- */

struct bar {
    const struct run_record *record;
    size_t index;
};

static int compare_bars(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    if (x->record->budget_bytes != y->record->budget_bytes)
        return x->record->budget_bytes < y->record->budget_bytes ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool runtime_bytes(struct store *store, const char *run_key, int64_t *bytes)
{
    sqlite3_stmt *stmt = NULL;
    const bool ok = sqlite3_prepare_v2(store_handle(store), "SELECT max(runtime_bytes) FROM sample WHERE run_key = ?1",
                                       -1, &stmt, NULL) == SQLITE_OK &&
                    sqlite3_bind_text(stmt, 1, run_key, -1, SQLITE_STATIC) == SQLITE_OK &&
                    sqlite3_step(stmt) == SQLITE_ROW;
    *bytes = ok ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return ok;
}

/* x, label, group, group_x (on the group's first bar), the classes, title. */
static bool write_bar(const struct plot_runs *runs, const struct bar *bar, double x, double group_x, int64_t runtime,
                      FILE *file)
{
    const struct run_record *record = bar->record;
    const struct run_numbers *n = &record->numbers;
    char budget[UNITS_TEXT], label[600];
    snprintf(label, sizeof label, "%.500s%s%s", plot_label(runs, record), n->outcome == OUTCOME_COMPLETED ? "" : ": ",
             n->outcome == OUTCOME_COMPLETED ? "" : record->outcome);
    fprintf(file, "%g,", x);
    bool ok = plot_text(file, label, BAR_LABEL_CHARACTERS, true);
    if (group_x > 0)
        fprintf(file, ",\"%s\",%g",
                record->budget_bytes == 0 ? "no budget" : format_bytes(record->budget_bytes, budget), group_x);
    else
        fputs(",,", file);
    fprintf(file, ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", runtime, n->peak_kv_bytes,
            n->peak_activation_bytes, n->peak_weights_bytes);
    ok = ok && plot_text(file, runs->title, TITLE_CHARACTERS, false);
    putc('\n', file);
    return ok;
}

bool figure_peak_memory(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                        struct error *err)
{
    struct bar *bars = calloc(runs->count, sizeof *bars);
    if (!bars)
        return no_memory(err);
    for (size_t i = 0; i < runs->count; i++)
        bars[i] = (struct bar){&runs->records[i], i};
    qsort(bars, runs->count, sizeof *bars, compare_bars);
    const size_t count = runs->count < BARS_MAX ? runs->count : BARS_MAX;
    struct bars drawing = {.count = (unsigned)count, .highest_bytes = 1, .left_out = count < runs->count};
    bool ok = true;
    fputs("x,label,budget,budget_x,runtime_bytes,kv_bytes,activation_bytes,weights_bytes,title\n", figure->data);
    for (size_t i = 0; ok && i < count; i++) {
        const struct run_numbers *n = &bars[i].record->numbers;
        const uint64_t budget = bars[i].record->budget_bytes;
        const bool first = i == 0 || budget != bars[i - 1].record->budget_bytes;
        size_t length = 1;
        while (first && i + length < count && bars[i + length].record->budget_bytes == budget)
            length++;
        const double x = drawing.last_x + (first && i > 0 ? 2 : 1);
        int64_t runtime;
        ok = runtime_bytes(store, bars[i].record->run_key, &runtime)
                 ? write_bar(runs, &bars[i], x, first ? x + (double)(length - 1) / 2 : 0, runtime, figure->data) ||
                       no_memory(err)
                 : query_failed(store, err);
        const uint64_t height = (uint64_t)runtime + n->peak_kv_bytes + n->peak_activation_bytes + n->peak_weights_bytes;
        const size_t label = strlen(plot_label(runs, bars[i].record));
        drawing.last_x = x;
        if (height > drawing.highest_bytes)
            drawing.highest_bytes = height;
        if (label > drawing.longest_label)
            drawing.longest_label = label < BAR_LABEL_CHARACTERS ? (unsigned)label : BAR_LABEL_CHARACTERS;
    }
    free(bars);
    script_begin(figure->script, figure->name, 9, 1);
    script_bars(figure->script, &drawing);
    script_end(figure->script);
    *drawn = ok;
    return ok;
}
