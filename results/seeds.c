/* The summary of several seeds for people. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "results/summary.h"

enum { BUDGET, POLICY, SEEDS, HIT_RATE, PER_TOKEN, PER_SECOND, VERDICT, COLUMNS };
static const char *const headings[COLUMNS] = {"budget", "policy", "seeds", "hit rate", "per token", "tok/s", "verdict"};
static const bool right[COLUMNS] = {true, false, true, true, true, true, false};
enum { CELL_TEXT = 96 };

/* So many digits behind the point that a difference that is shown is not 0. */
static int digits_of(double percent)
{
    int digits = 1;
    for (double least = 0.1; fabs(percent) < least && digits < 6; least /= 10)
        digits++;
    return digits;
}

const char *summary_verdict_text(const struct summary *row, char out[VERDICT_TEXT])
{
    const struct interval *slower = &row->slower;
    const int digits = isnan(slower->mean) ? 1 : digits_of(100 * slower->mean);
    if (row->verdict == SUMMARY_KILLED)
        snprintf(out, VERDICT_TEXT, "killed in %" PRIu64 " of %" PRIu64, row->seeds - row->completed, row->seeds);
    else if (row->verdict == SUMMARY_FAILED)
        snprintf(out, VERDICT_TEXT, "failed in %" PRIu64 " of %" PRIu64, row->failed, row->seeds);
    else if ((row->verdict == SUMMARY_SLOWER || row->verdict == SUMMARY_FASTER) && !(slower->low < slower->high))
        snprintf(out, VERDICT_TEXT, "%s by %.*f %% with every seed: they change nothing here",
                 slower->mean > 0 ? "slower" : "faster", digits, 100 * fabs(slower->mean));
    else if (row->verdict == SUMMARY_SLOWER)
        snprintf(out, VERDICT_TEXT, "slower by %.*f %% (95 %%: %.*f .. %.*f)", digits, 100 * slower->mean, digits,
                 100 * slower->low, digits, 100 * slower->high);
    else if (row->verdict == SUMMARY_FASTER)
        snprintf(out, VERDICT_TEXT, "faster by %.*f %% (95 %%: %.*f .. %.*f)", digits, -100 * slower->mean, digits,
                 -100 * slower->high, digits, -100 * slower->low);
    else if (row->verdict == SUMMARY_ONE_SEED)
        snprintf(out, VERDICT_TEXT, "one seed in common with the best: nothing shown");
    else
        snprintf(out, VERDICT_TEXT, "%s", row->verdict);
    return out;
}

static double half_of(const struct interval *interval)
{
    return isnan(interval->low) ? (double)NAN : (interval->high - interval->low) / 2;
}

/* "45.7 % +- 0.3" */
static void share_text(const struct interval *interval, char out[CELL_TEXT])
{
    if (isnan(interval->mean))
        snprintf(out, CELL_TEXT, "-");
    else if (isnan(interval->low))
        snprintf(out, CELL_TEXT, "%.1f %%", 100 * interval->mean);
    else
        snprintf(out, CELL_TEXT, "%.1f %% \xC2\xB1 %.1f", 100 * interval->mean, 100 * half_of(interval));
}

static void time_text(const struct interval *interval, char out[CELL_TEXT])
{
    char mean[UNITS_TEXT], half[UNITS_TEXT];
    if (isnan(interval->mean))
        snprintf(out, CELL_TEXT, "-");
    else if (isnan(interval->low))
        snprintf(out, CELL_TEXT, "%s", format_time(llround(interval->mean), mean));
    else
        snprintf(out, CELL_TEXT, "%s \xC2\xB1 %s", format_time(llround(interval->mean), mean),
                 format_time(llround(half_of(interval)), half));
}

static void speed_text(const struct interval *interval, char out[CELL_TEXT])
{
    const int digits = interval->mean < 100 ? 2 : 0;
    if (isnan(interval->mean))
        snprintf(out, CELL_TEXT, "-");
    else if (isnan(interval->low))
        snprintf(out, CELL_TEXT, "%.*f", digits, interval->mean);
    else
        snprintf(out, CELL_TEXT, "%.*f \xC2\xB1 %.*f", digits, interval->mean, digits, half_of(interval));
}

static bool add_row(struct grid *grid, const struct summary *row, bool first)
{
    char budget[UNITS_TEXT], seeds[CELL_TEXT], rate[CELL_TEXT], time[CELL_TEXT], speed[CELL_TEXT];
    char verdict[VERDICT_TEXT];
    snprintf(seeds, sizeof seeds, "%" PRIu64, row->seeds);
    share_text(&row->hit_rate, rate);
    time_text(&row->tpot_ns, time);
    speed_text(&row->tokens_per_s, speed);
    return grid_add(grid, !first                   ? ""
                          : row->budget_bytes == 0 ? "none"
                                                   : format_bytes(row->budget_bytes, budget)) &&
           grid_add(grid, row->policy) && grid_add(grid, seeds) && grid_add(grid, rate) && grid_add(grid, time) &&
           grid_add(grid, speed) && grid_add(grid, summary_verdict_text(row, verdict));
}

/* ---- Groups of a setting and a budget ---- */

struct seeds {
    const struct run_record *records;
    const struct ranking_bounds *bounds;
    size_t count;
    const struct summary *rows;
    size_t row_count;
    struct grid grid;
    double *rates; /* room for the hit rates of a group */
};

static struct run_record key_of(const struct summary *row)
{
    return (struct run_record){.device = row->device,
                               .model = row->model,
                               .quant = row->quant,
                               .workload = row->workload,
                               .loader = row->loader,
                               .budget_bytes = row->budget_bytes};
}

static struct ranking_bounds bounds_of(const struct seeds *seeds, const struct summary *row, size_t length)
{
    const struct run_record key = key_of(row);
    return length > 1 ? ranking_bounds_mean(seeds->records, seeds->bounds, seeds->count, &key)
                      : (struct ranking_bounds){.known = false};
}

static size_t group_length(const struct seeds *seeds, size_t first)
{
    size_t length = 1;
    while (first + length < seeds->row_count &&
           summary_compare_groups(&seeds->rows[first], &seeds->rows[first + length]) == 0)
        length++;
    return length;
}

static bool fill(struct seeds *seeds)
{
    bool ok = true;
    for (size_t i = 0; ok && i < COLUMNS; i++)
        ok = grid_add(&seeds->grid, headings[i]);
    for (size_t first = 0, length; ok && first < seeds->row_count; first += length) {
        length = group_length(seeds, first);
        const struct ranking_bounds bounds = bounds_of(seeds, &seeds->rows[first], length);
        for (size_t i = 0; ok && i < length; i++)
            ok = add_row(&seeds->grid, &seeds->rows[first + i], i == 0);
        ok = ok && (!bounds.known || ranking_add_bounds(&seeds->grid, &bounds, HIT_RATE));
    }
    return ok && grid_measure(&seeds->grid);
}

static bool print_title(FILE *file, const struct summary *row)
{
    char text[1024];
    struct grid line = {.columns = 1}; /* for its cleaning of names */
    snprintf(text, sizeof text, "%.200s%s%.100s on %.200s, %.200s, %.100s", row->model, row->quant[0] ? " " : "",
             row->quant, row->device, row->workload, row->loader);
    const bool ok = grid_add(&line, text);
    if (ok)
        fprintf(file, "%s\n", line.cells[0]);
    grid_free(&line);
    return ok;
}

static bool print_groups(FILE *file, const struct seeds *seeds)
{
    size_t row = 1;
    bool any_bounds = false, beyond = false;
    for (size_t first = 0, length; first < seeds->row_count; first += length) {
        const struct summary *best = &seeds->rows[first];
        length = group_length(seeds, first);
        const struct ranking_bounds bounds = bounds_of(seeds, best, length);
        struct summary before = first > 0 ? seeds->rows[first - 1] : *best;
        before.budget_bytes = best->budget_bytes;
        if (first > 0)
            putc('\n', file);
        if (first == 0 || summary_compare_groups(&before, best) != 0) {
            if (!print_title(file, best))
                return false;
            grid_print_row(&seeds->grid, file, 0, right);
            putc('\n', file);
        }
        for (size_t i = 0; i < length + (bounds.known ? 2 : 0); i++) {
            grid_print_row(&seeds->grid, file, row++, right);
            putc('\n', file);
        }
        for (size_t i = 0; i < length; i++)
            seeds->rates[i] = seeds->rows[first + i].hit_rate.mean;
        ranking_print_words(file, &bounds, best->budget_bytes, seeds->rates, length);
        any_bounds = any_bounds || bounds.known;
    }
    fputs("\nmeans over seeds \xC2\xB1 half a 95 % interval; policies are compared seed by seed with the best\n", file);
    for (size_t i = 0; i < seeds->count; i++)
        beyond = beyond || ranking_is_beyond(&seeds->records[i]);
    if (any_bounds && beyond)
        ranking_print_beyond(file);
    return true;
}

bool output_seeds(FILE *file, const struct run_record *records, const struct ranking_bounds *bounds, size_t count,
                  struct error *err)
{
    struct summary *rows;
    struct seeds seeds = {.records = records, .bounds = bounds, .count = count, .grid = {.columns = COLUMNS}};
    if (!summary_make(records, count, &rows, &seeds.row_count, err))
        return false;
    seeds.rows = rows;
    seeds.rates = calloc(seeds.row_count + 1, sizeof *seeds.rates);
    const bool ok = seeds.rates && fill(&seeds) && print_groups(file, &seeds);
    grid_free(&seeds.grid);
    free(seeds.rates);
    free(rows);
    return ok || fail(err, STATUS_IO, "out of memory for the summary");
}
