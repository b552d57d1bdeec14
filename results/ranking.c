/* The ranking of policies within each budget, for people. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "results/estimate_words.h"
#include "results/grid.h"
#include "results/load_words.h"
#include "results/memory_words.h"
#include "results/output.h"
#include "results/ranking.h"
#include "results/ranking_table.h"
#include "results/summary.h"
#include "results/turn_words.h"

struct entry {
    const struct run_record *record;
    size_t index; /* in the caller's order */
};

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

int ranking_compare_settings_only(const struct run_record *a, const struct run_record *b)
{
    const char *const x[] = {a->device, a->model, a->quant, a->workload, a->loader};
    const char *const y[] = {b->device, b->model, b->quant, b->workload, b->loader};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        const int order = strcmp(x[i], y[i]);
        if (order != 0)
            return order;
    }
    return 0;
}

int ranking_compare_settings(const struct run_record *a, const struct run_record *b)
{
    const int order = ranking_compare_settings_only(a, b);
    return order != 0 ? order : COMPARE(a->seed, b->seed);
}

static int compare_groups(const struct run_record *a, const struct run_record *b)
{
    const int order = ranking_compare_settings(a, b);
    return order != 0 ? order : COMPARE(a->budget_bytes, b->budget_bytes);
}

int ranking_compare_merit(const struct run_record *a, const struct run_record *b)
{
    const struct run_numbers *x = &a->numbers, *y = &b->numbers;
    if (x->outcome != y->outcome)
        return COMPARE((int)x->outcome, (int)y->outcome);
    if (x->outcome != OUTCOME_COMPLETED)
        return COMPARE(y->tokens, x->tokens);
    const uint64_t tpot_x = (uint64_t)x->tpot_mean_ns, tpot_y = (uint64_t)y->tpot_mean_ns;
    if (tpot_x != tpot_y)
        return COMPARE(tpot_x, tpot_y);
    return COMPARE((uint64_t)x->ttft_ns, (uint64_t)y->ttft_ns);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_groups(x->record, y->record);
    if (order == 0)
        order = ranking_compare_merit(x->record, y->record);
    return order != 0 ? order : COMPARE(x->index, y->index);
}

/* group[0] is the best; `position` of this one; `length` of the group. */
static void verdict(const struct entry *group, size_t length, size_t position, char *out, size_t size)
{
    const struct run_record *record = group[position].record, *best = group[0].record;
    const struct run_numbers *n = &record->numbers;
    if (n->outcome != OUTCOME_COMPLETED) {
        const bool phase = n->outcome == OUTCOME_KILLED && n->killed_phase[0] != '\0';
        snprintf(out, size, "%s%s%s%s%s", record->outcome, n->outcome == OUTCOME_FAILED ? ": " : " by ", n->killed_by,
                 phase ? " in phase " : "", phase ? n->killed_phase : "");
    } else if (ranking_compare_merit(record, best) == 0) {
        const bool tie = length > 1 && ranking_compare_merit(best, group[1].record) == 0;
        const bool all = length > 1 && ranking_compare_merit(best, group[length - 1].record) == 0;
        snprintf(out, size, "%s", length == 1 ? "" : all ? "all tie" : tie ? "ties for best" : "best");
    } else {
        const int64_t mine = n->tpot_mean_ns, least = best->numbers.tpot_mean_ns;
        const bool later = mine > 0 && least > 0 && mine != least;
        const double factor = later ? ratio((uint64_t)mine, (uint64_t)least)
                                    : ratio((uint64_t)n->ttft_ns, (uint64_t)best->numbers.ttft_ns);
        if (n->ttft_ns < 0 || isnan(factor))
            snprintf(out, size, "slower");
        else
            snprintf(out, size, "%.2fx %s", factor, later ? "the time" : "the TTFT");
    }
}

/* Runs of one group may differ in what has no column: then the key tells them apart. */
static bool shares_its_name(const struct entry *group, size_t length, size_t position)
{
    for (size_t i = 0; i < length; i++)
        if (i != position && strcmp(group[i].record->policy, group[position].record->policy) == 0)
            return true;
    return false;
}

/* known NULL: nothing is known of the run but its record. */
static bool add_row(struct ranking_table *table, const struct entry *group, size_t length, size_t position,
                    const struct ranking_bounds *known)
{
    const struct run_record *record = group[position].record;
    char outcome[256], name[700];
    const bool key = shares_its_name(group, length, position);
    snprintf(name, sizeof name, "%.640s%s%.8s%s", record->policy, key ? " [" : "", key ? record->run_key : "",
             key ? "]" : "");
    verdict(group, length, position, outcome, sizeof outcome);
    const struct ranking_row row = {.record = record,
                                    .weights_bytes = known ? known->weights_bytes : 0,
                                    .first = position == 0,
                                    .name = name,
                                    .verdict = outcome};
    return ranking_table_add(table, &row);
}

static size_t group_length(const struct entry *entries, size_t count)
{
    size_t length = 1;
    while (length < count && compare_groups(entries[0].record, entries[length].record) == 0)
        length++;
    return length;
}

static void print_title(FILE *file, const struct run_record *record, bool seeds, bool color)
{
    char seed[UNITS_TEXT] = "";
    if (seeds)
        snprintf(seed, sizeof seed, ", seed %" PRIu64, record->seed);
    struct grid line = {.columns = 1}; /* for its cleaning of names */
    char text[1024];
    snprintf(text, sizeof text, "%.200s%s%.100s on %.200s, %.200s, %.100s%s", record->model,
             record->quant[0] ? " " : "", record->quant, record->device, record->workload, record->loader, seed);
    if (grid_add(&line, text))
        fprintf(file, "%s%s%s\n", color ? "\033[1m" : "", line.cells[0], color ? "\033[0m" : "");
    grid_free(&line);
}

static const char *paint(const struct run_record *record, const struct run_record *best)
{
    if (record->numbers.outcome != OUTCOME_COMPLETED)
        return "\033[31m";
    return ranking_compare_merit(record, best) == 0 ? "\033[32m" : "";
}

/* A group and its place in the table. */
struct group {
    const struct entry *entries;
    size_t length, row; /* its first row */
    struct ranking_bounds bounds;
};

static void print_group(FILE *file, const struct ranking_table *table, const struct group *group, bool color)
{
    const struct run_record *best = group->entries[0].record;
    const size_t rows = group->length + (group->bounds.known ? 2 : 0);
    for (size_t i = 0; i < rows; i++) {
        const bool run = i < group->length;
        const char *start = color && group->length > 1 && run ? paint(group->entries[i].record, best) : "";
        fputs(start, file);
        grid_print_row(&table->grid, file, group->row + i, table->right);
        fputs(start[0] != '\0' ? "\033[0m\n" : "\n", file);
    }
}

/* Hit rates of runs that were cut off mean nothing. */
static void print_words(FILE *file, const struct group *group, double *rates)
{
    size_t count = 0;
    for (size_t i = 0; i < group->length; i++)
        if (group->entries[i].record->numbers.outcome == OUTCOME_COMPLETED)
            rates[count++] = group->entries[i].record->hit_rate;
    ranking_print_words(file, &group->bounds, group->entries[0].record->budget_bytes, rates, count);
}

static bool any_beyond(const struct group *groups, size_t count)
{
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; groups[g].bounds.known && i < groups[g].length; i++)
            if (ranking_is_beyond(groups[g].entries[i].record))
                return true;
    return false;
}

static bool print_groups(FILE *file, const struct ranking_table *table, const struct group *groups, size_t count,
                         bool color, double *rates)
{
    bool seeds = false, rivals = false, ok = true;
    for (size_t g = 0; g < count; g++) {
        seeds = seeds || groups[g].entries[0].record->seed != groups[0].entries[0].record->seed;
        rivals = rivals || groups[g].length > 1;
    }
    for (size_t g = 0; g < count; g++) {
        const struct run_record *best = groups[g].entries[0].record;
        if (g > 0)
            putc('\n', file);
        if (g == 0 || ranking_compare_settings(groups[g - 1].entries[0].record, best) != 0) {
            print_title(file, best, seeds, color);
            if (groups[g].bounds.known) {
                char text[BOUNDS_TEXT];
                fprintf(file, "%s\n", bounds_trace_text(&groups[g].bounds.context, text));
            }
            grid_print_row(&table->grid, file, 0, table->right);
            putc('\n', file);
        }
        print_group(file, table, &groups[g], color);
        for (size_t i = 0; ok && i < groups[g].length; i++)
            ok = load_print_words(file, groups[g].entries[i].record, groups[g].length > 1) &&
                 turn_print_words(file, groups[g].entries[i].record, groups[g].length > 1) &&
                 memory_print_words(file, groups[g].entries[i].record, groups[g].length > 1);
        print_words(file, &groups[g], rates);
    }
    if (rivals)
        fputs("\none seed: differences are of this trace\n", file);
    if (any_beyond(groups, count))
        ranking_print_beyond(file);
    return ok;
}

/* Bounds are for policies that are compared. */
static struct ranking_bounds bounds_of(const struct entry *entries, size_t length, const struct ranking_bounds *bounds)
{
    for (size_t i = 0; bounds && length > 1 && i < length; i++)
        if (bounds[entries[i].index].known)
            return bounds[entries[i].index];
    return (struct ranking_bounds){.known = false};
}

static bool fill_groups(struct ranking_table *table, const struct entry *entries, size_t count,
                        const struct ranking_bounds *bounds, struct group *groups, size_t *group_count)
{
    bool ok = true;
    for (size_t first = 0, length; ok && first < count; first += length) {
        length = group_length(entries + first, count - first);
        struct group *group = &groups[(*group_count)++];
        *group = (struct group){.entries = entries + first,
                                .length = length,
                                .row = table->grid.count / table->grid.columns,
                                .bounds = bounds_of(entries + first, length, bounds)};
        for (size_t i = 0; ok && i < length; i++)
            ok = add_row(table, entries + first, length, i, bounds ? &bounds[entries[first + i].index] : NULL);
        ok = ok && (!group->bounds.known || ranking_add_bounds(&table->grid, &group->bounds, RANKING_HIT_RATE));
    }
    return ok && grid_measure(&table->grid);
}

/* Runs that differ in the seed alone. */
static bool has_seeds(const struct run_record *records, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (records[i].seed != records[0].seed)
            for (size_t k = 0; k < i; k++)
                if (records[i].seed != records[k].seed && records[i].budget_bytes == records[k].budget_bytes &&
                    strcmp(records[i].policy, records[k].policy) == 0 &&
                    ranking_compare_settings_only(&records[i], &records[k]) == 0)
                    return true;
    return false;
}

static bool print_ranking(FILE *file, const struct run_record *records, const struct ranking_bounds *bounds,
                          size_t count, bool color)
{
    struct entry *entries = calloc(count + 1, sizeof *entries);
    struct group *groups = calloc(count + 1, sizeof *groups);
    double *rates = calloc(count + 1, sizeof *rates);
    struct ranking_table table = {.grid = {.columns = 0}};
    size_t group_count = 0;
    bool ok = entries && groups && rates;
    for (size_t i = 0; ok && i < count; i++)
        entries[i] = (struct entry){&records[i], i};
    if (ok && count > 0)
        qsort(entries, count, sizeof *entries, compare_entries);
    ok = ok && ranking_table_start(&table, records, bounds, count);
    ok = ok && fill_groups(&table, entries, count, bounds, groups, &group_count);
    ok = ok && print_groups(file, &table, groups, group_count, color, rates);
    grid_free(&table.grid);
    free(entries);
    free(groups);
    free(rates);
    return ok;
}

bool output_ranking_bounds(FILE *file, const struct run_record *records, const struct ranking_bounds *bounds,
                           size_t count, bool color, struct error *err)
{
    if (has_seeds(records, count)) {
        if (!output_seeds(file, records, bounds, count, err))
            return false;
    } else if (!print_ranking(file, records, bounds, count, color)) {
        return fail(err, STATUS_IO, "out of memory for the ranking");
    }
    if (!estimates_print(file, records, count))
        return fail(err, STATUS_IO, "out of memory for the ranking");
    if (fflush(file) != 0 || ferror(file))
        return fail(err, STATUS_IO, "cannot write the ranking: %s", errno != 0 ? strerror(errno) : "write error");
    return true;
}

bool output_ranking(FILE *file, const struct run_record *records, size_t count, bool color, struct error *err)
{
    return output_ranking_bounds(file, records, NULL, count, color, err);
}
