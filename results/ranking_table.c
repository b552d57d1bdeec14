/* The cells of a ranking's table, and which columns it has. */
#include "results/ranking_table.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"

/* COLD and HOT, SIZE and PERPLEXITY are there only where runs have them. */
enum {
    BUDGET,
    POLICY,
    HIT_RATE = RANKING_HIT_RATE,
    TTFT,
    PER_TOKEN,
    PER_SECOND,
    COLD,
    HOT,
    WAITING,
    READ,
    PEAK,
    SIZE,
    PERPLEXITY,
    VERDICT,
    COLUMNS
};
static const char *const headings[COLUMNS] = {"budget",      "policy",  "hit rate",   "TTFT",    "per token",
                                              "tok/s",       "cold",    "hot",        "waiting", "read/token",
                                              "peak memory", "weights", "perplexity", "verdict"};

static void choose_columns(struct ranking_table *table, const struct run_record *records,
                           const struct ranking_bounds *bounds, size_t count)
{
    for (size_t c = 0; c < COLUMNS; c++)
        table->shown[c] = c != COLD && c != HOT && c != SIZE && c != PERPLEXITY;
    for (size_t i = 0; i < count; i++) {
        const bool heat = !isnan(records[i].tokens_per_s_cold) || !isnan(records[i].tokens_per_s_hot);
        table->shown[COLD] = table->shown[HOT] = table->shown[COLD] || heat;
        table->shown[SIZE] = table->shown[SIZE] || (bounds && bounds[i].weights_bytes > 0);
        table->shown[PERPLEXITY] = table->shown[PERPLEXITY] || !isnan(records[i].perplexity);
    }
    for (size_t c = 0; c < COLUMNS; c++)
        if (table->shown[c])
            table->right[table->grid.columns++] = c != POLICY && c != VERDICT;
}

/* A cell of the next column in order; one that is not shown is left out. */
static bool put(struct ranking_table *table, size_t column, const char *text)
{
    return !table->shown[column] || grid_add(&table->grid, text);
}

_Static_assert((int)COLUMNS <= (int)RANKING_COLUMNS_MAX, "a table holds all columns");

bool ranking_table_start(struct ranking_table *table, const struct run_record *records,
                         const struct ranking_bounds *bounds, size_t count)
{
    *table = (struct ranking_table){.grid = {.columns = 0}};
    choose_columns(table, records, bounds, count);
    bool ok = true;
    for (size_t i = 0; ok && i < COLUMNS; i++)
        ok = put(table, i, headings[i]);
    return ok;
}

static const char *share(double value, char out[UNITS_TEXT])
{
    if (isnan(value))
        return "-";
    snprintf(out, UNITS_TEXT, "%.1f %%", 100 * value);
    return out;
}

static const char *time_or_dash(int64_t ns, char out[UNITS_TEXT])
{
    return ns < 0 ? "-" : format_time(ns, out);
}

/* Tokens a second, or any number of that size. */
static const char *speed(double value, char out[UNITS_TEXT])
{
    if (isnan(value))
        return "-";
    snprintf(out, UNITS_TEXT, value < 100 ? "%.2f" : "%.0f", value);
    return out;
}

static bool add_quality(struct ranking_table *table, const struct ranking_row *row)
{
    char text[UNITS_TEXT];
    const double perplexity = row->record->perplexity;
    if (!put(table, SIZE, row->weights_bytes > 0 ? format_bytes(row->weights_bytes, text) : "-"))
        return false;
    snprintf(text, sizeof text, "%.4f", perplexity);
    return put(table, PERPLEXITY, isnan(perplexity) ? "-" : text);
}

bool ranking_table_add(struct ranking_table *table, const struct ranking_row *row)
{
    const struct run_record *record = row->record;
    const struct run_numbers *n = &record->numbers;
    char text[UNITS_TEXT];
    const bool whole = n->outcome == OUTCOME_COMPLETED; /* shares of a run that was cut off mean nothing */
    const double waiting = ratio((uint64_t)(n->load_ns + n->stall_ns), (uint64_t)n->virtual_time_ns);
    const char *budget = !row->first ? "" : record->budget_bytes == 0 ? "none" : NULL;
    return put(table, BUDGET, budget ? budget : format_bytes(record->budget_bytes, text)) &&
           put(table, POLICY, row->name) && put(table, HIT_RATE, whole ? share(record->hit_rate, text) : "-") &&
           put(table, TTFT, time_or_dash(n->ttft_ns, text)) &&
           put(table, PER_TOKEN, time_or_dash(n->tpot_mean_ns, text)) &&
           put(table, PER_SECOND, speed(record->tokens_per_s, text)) &&
           put(table, COLD, speed(record->tokens_per_s_cold, text)) &&
           put(table, HOT, speed(record->tokens_per_s_hot, text)) &&
           put(table, WAITING, whole ? share(waiting, text) : "-") &&
           put(table, READ, n->tokens == 0 ? "-" : format_bytes(n->bytes_read / n->tokens, text)) &&
           put(table, PEAK, n->outcome == OUTCOME_FAILED ? "-" : format_bytes(n->peak_memory_bytes, text)) &&
           add_quality(table, row) && put(table, VERDICT, row->verdict);
}
