/* The figures of a grid, against the budget: what each shows, as data. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "results/plot_data.h"
#include "results/plot_scripts.h"

/* ---- Curves against the budget ---- */

/* Sums of a quantity by series and budget, for means over seeds. */
struct cell {
    double sum;
    unsigned count;
    bool killed;
};

struct curves {
    const char *labels[SERIES_MAX];
    uint64_t *budgets;  /* ascending */
    struct cell *cells; /* [budget * SERIES_MAX + series] */
    size_t series_count, budget_count;
    double largest; /* mean; NAN: nothing to draw */
    bool left_out;  /* there are more series than can be told apart */
    bool killed;    /* some runs were */
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

/* All budgets that were asked for: also those at which every run was killed belong to the axis. */
static bool collect_budgets(const struct plot_runs *runs, struct curves *curves)
{
    curves->budgets = calloc(runs->count, sizeof *curves->budgets);
    if (!curves->budgets)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++)
        if (runs->runs[i].record.budget_bytes > 0)
            curves->budgets[count++] = runs->runs[i].record.budget_bytes;
    qsort(curves->budgets, count, sizeof *curves->budgets, compare_budgets);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || curves->budgets[i] != curves->budgets[i - 1])
            curves->budgets[curves->budget_count++] = curves->budgets[i];
    return true;
}

static bool collect(const struct plot_runs *runs, double (*value)(const struct plot_run *run), struct curves *curves)
{
    *curves = (struct curves){.largest = (double)NAN};
    if (!collect_budgets(runs, curves) ||
        !(curves->cells = calloc((curves->budget_count + 1) * SERIES_MAX, sizeof *curves->cells)))
        return false;
    for (size_t i = 0; i < runs->count; i++) {
        const struct plot_run *run = &runs->runs[i];
        const bool killed = run->record.numbers.outcome != OUTCOME_COMPLETED;
        const double here = killed ? (double)NAN : value(run);
        if (run->record.budget_bytes == 0 || (!killed && isnan(here)))
            continue;
        const size_t series = find_series(curves, run->label);
        if (series == SERIES_MAX)
            continue;
        const uint64_t *budget =
            bsearch(&run->record.budget_bytes, curves->budgets, curves->budget_count, sizeof *budget, compare_budgets);
        struct cell *cell = &curves->cells[(size_t)(budget - curves->budgets) * SERIES_MAX + series];
        cell->killed = cell->killed || killed;
        curves->killed = curves->killed || killed;
        cell->sum += killed ? 0 : here;
        cell->count += !killed;
    }
    for (size_t i = 0; i < curves->budget_count * SERIES_MAX; i++)
        if (curves->cells[i].count > 0)
            curves->largest = fmax(curves->largest, curves->cells[i].sum / curves->cells[i].count);
    return true;
}

static void curves_free(struct curves *curves)
{
    free(curves->budgets);
    free(curves->cells);
}

/* budget, the mean of each series, 1 for each series that was killed there. */
static bool write_curves(const struct plot_runs *runs, const struct curves *curves, FILE *file)
{
    fputs("budget_bytes", file);
    bool ok = true;
    for (size_t i = 0; ok && i < 2 * curves->series_count; i++) {
        char head[600];
        const bool killed = i >= curves->series_count;
        snprintf(head, sizeof head, "%s%.500s", killed ? "killed: " : "", curves->labels[i % curves->series_count]);
        putc(',', file);
        ok = plot_text(file, head, LABEL_CHARACTERS, false);
    }
    fputs(PLOT_TITLE_HEADS, file);
    for (size_t row = 0; ok && row < curves->budget_count; row++) {
        const struct cell *cells = &curves->cells[row * SERIES_MAX];
        fprintf(file, "%" PRIu64, curves->budgets[row]);
        for (size_t i = 0; i < curves->series_count; i++)
            if (cells[i].count > 0)
                fprintf(file, ",%.9g", cells[i].sum / cells[i].count);
            else
                putc(',', file);
        for (size_t i = 0; i < curves->series_count; i++)
            fputs(cells[i].killed ? ",1" : ",", file);
        ok = plot_titles(file, runs, "");
    }
    return ok;
}

static bool draw_curves(const struct plot_runs *runs, struct figure *figure, double (*value)(const struct plot_run *),
                        const char *title, const char *y_label, struct axis_unit (*unit)(double largest), bool *drawn,
                        struct error *err)
{
    struct curves curves;
    bool ok = collect(runs, value, &curves);
    *drawn = ok && !isnan(curves.largest);
    if (*drawn) {
        const uint64_t largest = curves.budgets[curves.budget_count - 1];
        const struct curves_drawing drawing = {.title = title,
                                               .y_label = y_label,
                                               .x = axis_bytes(largest),
                                               .y = unit(curves.largest),
                                               .largest_x = (double)largest,
                                               .series = (unsigned)curves.series_count,
                                               .left_out = curves.left_out,
                                               .killed = curves.killed};
        ok = write_curves(runs, &curves, figure->data);
        script_begin(figure->script, figure->name, 2 * drawing.series + 3, drawing.series, runs->configs,
                     script_legend_height(drawing.series));
        script_curves(figure->script, &drawing);
        script_end(figure->script);
    }
    curves_free(&curves);
    return ok || plot_no_memory(err);
}

static double hit_percent(const struct plot_run *run)
{
    return 100 * run->record.hit_rate;
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
    figure->missing = "no run with a budget was completed";
    return draw_curves(runs, figure, hit_percent, "Hit rate against budget", "hit rate", percent, drawn, err);
}

static double later_stall(const struct plot_run *run)
{
    return run->later_stall_ns;
}

bool figure_stall_per_token(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                            struct error *err)
{
    (void)store;
    figure->missing = "no run with a budget was completed and has a second token";
    return draw_curves(runs, figure, later_stall, "Waiting for weights, mean of the tokens after the first",
                       "stall per later token", axis_time, drawn, err);
}

/* ---- Peak memory ---- */

static uint64_t mapped_bytes(const struct run_numbers *n)
{
    return n->peak_file_bytes + n->peak_page_tables_bytes;
}

/* x, group_x (on the group's first bar), the classes from below, the peak of all together, label, group. */
static bool write_bar(const struct plot_runs *runs, const struct plot_run *run, double x, double group_x, FILE *file)
{
    const struct run_record *record = &run->record;
    const struct run_numbers *n = &record->numbers;
    char budget[UNITS_TEXT], label[600];
    const bool completed = n->outcome == OUTCOME_COMPLETED;
    snprintf(label, sizeof label, "%s%s%.500s", completed ? "" : record->outcome, completed ? "" : ": ", run->label);
    fprintf(file, "%g,", x);
    if (group_x > 0)
        fprintf(file, "%g", group_x);
    fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
            run->runtime_bytes, n->peak_kv_bytes, n->peak_activation_bytes, run->streamed_bytes, n->peak_weights_bytes,
            mapped_bytes(n), n->peak_memory_bytes);
    const bool ok = plot_text(file, label, BAR_LABEL_CHARACTERS, true);
    fprintf(file, ",\"%s\"", record->budget_bytes == 0 ? "no budget" : format_bytes(record->budget_bytes, budget));
    return ok && plot_titles(file, runs, "");
}

/* That all runs share, else 0. */
static uint64_t shared_threshold(const struct plot_runs *runs)
{
    for (size_t i = 1; i < runs->count; i++)
        if (runs->runs[i].kill_threshold != runs->runs[0].kill_threshold)
            return 0;
    return (uint64_t)runs->runs[0].kill_threshold;
}

static void measure_bar(struct bars *drawing, const struct plot_run *run)
{
    const struct run_numbers *n = &run->record.numbers;
    const uint64_t height = run->runtime_bytes + run->streamed_bytes + n->peak_kv_bytes + n->peak_activation_bytes +
                            n->peak_weights_bytes + mapped_bytes(n);
    const size_t label = strlen(run->label) + (n->outcome == OUTCOME_COMPLETED ? 0 : strlen(run->record.outcome) + 2);
    drawing->mapped = drawing->mapped || mapped_bytes(n) > 0;
    if (height > drawing->highest_bytes)
        drawing->highest_bytes = height;
    if (label > drawing->longest_label)
        drawing->longest_label = label < BAR_LABEL_CHARACTERS ? (unsigned)label : BAR_LABEL_CHARACTERS;
}

static int compare_bars(const void *a, const void *b)
{
    const struct plot_run *x = a, *y = b;
    if (x->record.budget_bytes != y->record.budget_bytes)
        return x->record.budget_bytes < y->record.budget_bytes ? -1 : 1;
    const int order = strcmp(x->label, y->label);
    return order != 0 ? order : (int)x->record.numbers.outcome - (int)y->record.numbers.outcome;
}

static void raise_to(uint64_t *peak, uint64_t other)
{
    if (other > *peak)
        *peak = other;
}

/* One bar for all seeds, with the most of each class; killed ones have a bar of their own. Returns how many. */
static size_t merge_seeds(struct plot_run *bars, size_t count)
{
    size_t merged = 0;
    for (size_t i = 0; i < count; i++) {
        if (merged == 0 || compare_bars(&bars[merged - 1], &bars[i]) != 0) {
            bars[merged++] = bars[i];
            continue;
        }
        struct plot_run *bar = &bars[merged - 1];
        struct run_numbers *n = &bar->record.numbers, *other = &bars[i].record.numbers;
        raise_to(&bar->runtime_bytes, bars[i].runtime_bytes);
        raise_to(&bar->streamed_bytes, bars[i].streamed_bytes);
        raise_to(&n->peak_kv_bytes, other->peak_kv_bytes);
        raise_to(&n->peak_activation_bytes, other->peak_activation_bytes);
        raise_to(&n->peak_weights_bytes, other->peak_weights_bytes);
        raise_to(&n->peak_file_bytes, other->peak_file_bytes);
        raise_to(&n->peak_page_tables_bytes, other->peak_page_tables_bytes);
        raise_to(&n->peak_memory_bytes, other->peak_memory_bytes);
    }
    return merged;
}

bool figure_peak_memory(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                        struct error *err)
{
    (void)store;
    struct plot_run *bars = calloc(runs->count, sizeof *bars);
    if (!bars)
        return plot_no_memory(err);
    memcpy(bars, runs->runs, runs->count * sizeof *bars);
    qsort(bars, runs->count, sizeof *bars, compare_bars);
    const size_t all = merge_seeds(bars, runs->count);
    const size_t count = all < BARS_MAX ? all : BARS_MAX;
    struct bars drawing = {.count = (unsigned)count, .highest_bytes = 1, .left_out = count < all};
    bool ok = true;
    fputs("x,budget_x,runtime_bytes,kv_bytes,activation_bytes,streamed_bytes,weights_bytes,mapped_bytes,"
          "peak_memory_bytes,label,"
          "budget" PLOT_TITLE_HEADS,
          figure->data);
    for (size_t i = 0; ok && i < count; i++) {
        const uint64_t budget = bars[i].record.budget_bytes;
        const bool first = i == 0 || budget != bars[i - 1].record.budget_bytes;
        size_t length = 1;
        while (first && i + length < count && bars[i + length].record.budget_bytes == budget)
            length++;
        const double x = drawing.last_x + (first && i > 0 ? 2 : 1);
        ok = write_bar(runs, &bars[i], x, first ? x + (double)(length - 1) / 2 : 0, figure->data);
        measure_bar(&drawing, &bars[i]);
        drawing.last_x = x;
    }
    free(bars);
    const uint64_t threshold = shared_threshold(runs);
    drawing.kill_bytes = threshold / 2 <= drawing.highest_bytes ? threshold : 0;
    script_begin(figure->script, figure->name, 13, 0, runs->configs, script_bars_height(&drawing));
    script_bars(figure->script, &drawing);
    script_end(figure->script);
    *drawn = ok;
    return ok || plot_no_memory(err);
}
