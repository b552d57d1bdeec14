/* Seeds: which runs belong together, and what they say together. */
#include "results/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char SUMMARY_BEST[] = "best", SUMMARY_SLOWER[] = "slower", SUMMARY_FASTER[] = "faster",
           SUMMARY_NONE[] = "no difference shown", SUMMARY_ONE_SEED[] = "one seed", SUMMARY_KILLED[] = "killed",
           SUMMARY_FAILED[] = "failed";

#define SUMMARY(name, type, member, nullable, help)                                                                    \
    {                                                                                                                  \
        name, type, offsetof(struct summary, member), nullable, help                                                   \
    }
#define TEXT(name, nullable, help) SUMMARY(#name, COLUMN_TEXT, name, nullable, help)
#define INTERVAL(name, member, help)                                                                                   \
    SUMMARY(name, COLUMN_REAL, member.mean, true, help),                                                               \
        SUMMARY(name "_low", COLUMN_REAL, member.low, true, "lower end of its 95 % interval"),                         \
        SUMMARY(name "_high", COLUMN_REAL, member.high, true, "upper end of its 95 % interval")

const struct column summary_columns[] = {
    TEXT(device, false, "device profile"),
    TEXT(model, false, "model profile or file"),
    TEXT(quant, true, "quantisation of the weights"),
    TEXT(workload, false, "kind of workload"),
    TEXT(loader, false, "loader mode"),
    TEXT(policy, false, "composition of policies"),
    SUMMARY("budget_bytes", COLUMN_INTEGER, budget_bytes, false, "bytes that the loader may hold; 0: it has no budget"),
    SUMMARY("seeds", COLUMN_INTEGER, seeds, false, "runs that differ in the seed only"),
    SUMMARY("completed", COLUMN_INTEGER, completed, false,
            "of these, runs that were neither killed nor failed: the means are theirs"),
    INTERVAL("tokens_per_s", tokens_per_s, "later tokens a second, mean"),
    INTERVAL("tpot_mean_ns", tpot_ns, "time per later token, mean"),
    INTERVAL("ttft_ns", ttft_ns, "time from launch to the end of the first token, mean"),
    INTERVAL("hit_rate", hit_rate, "hits / accesses, mean"),
    INTERVAL("slower", slower, "time / time of the best of the same seed - 1, mean"),
    TEXT(verdict, false, "best, slower, faster, no difference shown, one seed, killed, or failed"),
};
const size_t summary_column_count = sizeof summary_columns / sizeof *summary_columns;

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

/* ---- Series: the runs of one policy ---- */

struct entry {
    const struct run_record *record;
    size_t index;   /* in the caller's order */
    size_t ordinal; /* of runs that differ in nothing that has a column: which of them */
};

static int compare_series(const struct entry *x, const struct entry *y)
{
    int order = ranking_compare_settings_only(x->record, y->record);
    order = order != 0 ? order : COMPARE(x->record->budget_bytes, y->record->budget_bytes);
    return order != 0 ? order : strcmp(x->record->policy, y->record->policy);
}

static int compare_repeats(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_series(x, y);
    order = order != 0 ? order : COMPARE(x->record->seed, y->record->seed);
    return order != 0 ? order : COMPARE(x->index, y->index);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_series(x, y);
    order = order != 0 ? order : COMPARE(x->ordinal, y->ordinal);
    return order != 0 ? order : COMPARE(x->record->seed, y->record->seed);
}

/* Series one after the other, each by seed. */
static void sort_entries(struct entry *entries, size_t count)
{
    qsort(entries, count, sizeof *entries, compare_repeats);
    for (size_t i = 1; i < count; i++)
        if (compare_series(&entries[i - 1], &entries[i]) == 0 && entries[i - 1].record->seed == entries[i].record->seed)
            entries[i].ordinal = entries[i - 1].ordinal + 1;
    qsort(entries, count, sizeof *entries, compare_entries);
}

static size_t series_length(const struct entry *entries, size_t count)
{
    size_t length = 1;
    while (length < count && compare_series(&entries[0], &entries[length]) == 0 &&
           entries[0].ordinal == entries[length].ordinal)
        length++;
    return length;
}

/* ---- Means ---- */

typedef double number_of(const struct run_record *record);

static double tokens_per_s(const struct run_record *record)
{
    return record->tokens_per_s;
}

static double tpot_ns(const struct run_record *record)
{
    return record->numbers.tpot_mean_ns < 0 ? (double)NAN : (double)record->numbers.tpot_mean_ns;
}

static double ttft_ns(const struct run_record *record)
{
    return record->numbers.ttft_ns < 0 ? (double)NAN : (double)record->numbers.ttft_ns;
}

static double hit_rate(const struct run_record *record)
{
    return record->hit_rate;
}

static double time_ns(const struct run_record *record)
{
    const double tpot = tpot_ns(record);
    return isnan(tpot) ? ttft_ns(record) : tpot;
}

struct series {
    struct summary summary; /* first: sorted and handed out alone */
    const struct entry *entries;
    size_t length;
    double time; /* mean, by which the best is found */
};

static struct interval mean_of(const struct series *series, number_of *number, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < series->length; i++) {
        const struct run_record *record = series->entries[i].record;
        const double value = number(record);
        if (record->numbers.outcome == OUTCOME_COMPLETED && !isnan(value))
            values[count++] = value;
    }
    return interval_of(values, count);
}

static void sum_up(struct series *series, double *values)
{
    const struct run_record *first = series->entries[0].record;
    series->summary = (struct summary){.device = first->device,
                                       .model = first->model,
                                       .quant = first->quant,
                                       .workload = first->workload,
                                       .loader = first->loader,
                                       .policy = first->policy,
                                       .budget_bytes = first->budget_bytes,
                                       .seeds = series->length,
                                       .tokens_per_s = mean_of(series, tokens_per_s, values),
                                       .tpot_ns = mean_of(series, tpot_ns, values),
                                       .ttft_ns = mean_of(series, ttft_ns, values),
                                       .hit_rate = mean_of(series, hit_rate, values)};
    for (size_t i = 0; i < series->length; i++) {
        series->summary.completed += series->entries[i].record->numbers.outcome == OUTCOME_COMPLETED;
        series->summary.failed += series->entries[i].record->numbers.outcome == OUTCOME_FAILED;
    }
    series->time = mean_of(series, time_ns, values).mean;
}

/* ---- Against the best ---- */

int summary_compare_groups(const struct summary *a, const struct summary *b)
{
    const char *const x[] = {a->device, a->model, a->quant, a->workload, a->loader};
    const char *const y[] = {b->device, b->model, b->quant, b->workload, b->loader};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        const int order = strcmp(x[i], y[i]);
        if (order != 0)
            return order;
    }
    return COMPARE(a->budget_bytes, b->budget_bytes);
}

/* Within a group those that were never killed come first, and of these the fastest. */
static int compare_merit(const void *a, const void *b)
{
    const struct series *x = a, *y = b;
    int order = summary_compare_groups(&x->summary, &y->summary);
    const uint64_t killed_x = x->summary.seeds - x->summary.completed;
    const uint64_t killed_y = y->summary.seeds - y->summary.completed;
    order = order != 0 ? order : COMPARE(killed_x, killed_y);
    order = order != 0 ? order : COMPARE(isnan(x->time), isnan(y->time));
    order = order != 0 ? order : COMPARE(x->time, y->time);
    return order != 0 ? order : COMPARE(x->entries, y->entries); /* one array: the order of the series */
}

static struct interval compare_with(const struct series *best, const struct series *other, double *values)
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < best->length && k < other->length;) {
        const struct run_record *a = best->entries[i].record, *b = other->entries[k].record;
        if (a->seed != b->seed) {
            if (a->seed < b->seed)
                i++;
            else
                k++;
            continue;
        }
        const double factor = time_ns(b) / time_ns(a);
        if (a->numbers.outcome == OUTCOME_COMPLETED && b->numbers.outcome == OUTCOME_COMPLETED && !isnan(factor))
            values[count++] = factor - 1;
        i++;
        k++;
    }
    return interval_of(values, count);
}

static void judge(struct series *series, const struct series *best, double *values)
{
    struct summary *summary = &series->summary;
    summary->slower = (struct interval){(double)NAN, (double)NAN, (double)NAN};
    if (series != best)
        summary->slower = compare_with(best, series, values);
    if (summary->completed < summary->seeds)
        summary->verdict = summary->failed > 0 ? SUMMARY_FAILED : SUMMARY_KILLED;
    else if (series == best)
        summary->verdict = SUMMARY_BEST;
    else if (isnan(summary->slower.low))
        summary->verdict = SUMMARY_ONE_SEED;
    else if (summary->slower.low > 0)
        summary->verdict = SUMMARY_SLOWER;
    else
        summary->verdict = summary->slower.high < 0 ? SUMMARY_FASTER : SUMMARY_NONE;
}

bool summary_make(const struct run_record *records, size_t count, struct summary **rows, size_t *row_count,
                  struct error *err)
{
    struct entry *entries = calloc(count + 1, sizeof *entries);
    struct series *series = calloc(count + 1, sizeof *series);
    double *values = calloc(count + 1, sizeof *values);
    *rows = calloc(count + 1, sizeof **rows);
    *row_count = 0;
    bool good = (entries && series && values && *rows) || fail(err, STATUS_IO, "out of memory for the summary");
    if (good) {
        for (size_t i = 0; i < count; i++)
            entries[i] = (struct entry){.record = &records[i], .index = i};
        sort_entries(entries, count);
        size_t series_count = 0;
        for (size_t first = 0; first < count; first += series[series_count++].length) {
            series[series_count].entries = entries + first;
            series[series_count].length = series_length(entries + first, count - first);
            sum_up(&series[series_count], values);
        }
        qsort(series, series_count, sizeof *series, compare_merit);
        for (size_t i = 0, best = 0; i < series_count; i++) {
            if (summary_compare_groups(&series[best].summary, &series[i].summary) != 0)
                best = i;
            judge(&series[i], &series[best], values);
            (*rows)[(*row_count)++] = series[i].summary;
        }
    } else {
        free(*rows);
        *rows = NULL;
    }
    free(entries);
    free(series);
    free(values);
    return good;
}

bool output_summary(FILE *file, enum format format, const struct run_record *records, size_t count, struct error *err)
{
    struct summary *rows;
    size_t row_count;
    struct output *output;
    if (!summary_make(records, count, &rows, &row_count, err))
        return false;
    bool good = output_open(file, format, summary_columns, summary_column_count, NULL, 0, &output, err);
    if (good) {
        for (size_t i = 0; good && i < row_count; i++)
            good = output_record(output, &rows[i], err);
        struct error closing;
        const bool closed = output_close(output, good ? err : &closing);
        good = good && closed;
    }
    free(rows);
    return good;
}
