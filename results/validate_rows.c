/* Rows of measured beside simulated, their errors and verdicts, and what they sum up to. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/validate_parts.h"

enum { TEXT_BYTES = 1024, QUANTITIES_MAX = 64, NUMBER_BYTES = 48 };
#define NONE ((double)NAN)
#define WHOLE 1000.0 /* from here on values are shown whole */

const char *truth_text(struct validating *validating, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return arena_strdup(&validating->validation->arena, text);
}

/* What a table shows, the same on every machine: four digits, or the whole number. */
static double shown(double value)
{
    char text[NUMBER_BYTES];
    if (!isfinite(value))
        return NONE;
    if (value >= WHOLE)
        return round(value);
    snprintf(text, sizeof text, "%.4g", value);
    return strtod(text, NULL);
}

static double shown_percent(double value)
{
    char text[NUMBER_BYTES];
    if (!isfinite(value))
        return NONE;
    snprintf(text, sizeof text, "%.2f", value);
    return strtod(text, NULL) + 0.0; /* no -0 */
}

double truth_as_printed(double value, const char *cell)
{
    char text[NUMBER_BYTES];
    const char *point = strchr(cell, '.');
    const int decimals = point != NULL ? (int)strspn(point + 1, "0123456789") : 0;
    if (!(fabs(value) < 1e15) || decimals > 9)
        return value;
    snprintf(text, sizeof text, "%.*f", decimals, value);
    return strtod(text, NULL);
}

static struct validation_row *new_row(const struct truth_place *place, const char *quantity, const char *note,
                                      struct error *err)
{
    struct validating *validating = place->validating;
    struct validation *validation = validating->validation;
    if (validation->row_count == validation->row_capacity) {
        const size_t more = validation->row_capacity == 0 ? 64 : 2 * validation->row_capacity;
        struct validation_row *rows = arena_alloc(&validation->arena, more, sizeof *rows);
        if (rows != NULL && validation->row_count > 0)
            memcpy(rows, validation->rows, validation->row_count * sizeof *rows);
        if (rows != NULL) {
            validation->rows = rows;
            validation->row_capacity = more;
        }
    }
    const char *source = truth_text(validating, "%s:%u", place->file->name, place->row->line);
    const char *subject = truth_text(validating, "%s", place->subject);
    const char *quantity_copy = truth_text(validating, "%s", quantity);
    const char *note_copy = truth_text(validating, "%s", note != NULL ? note : "");
    if (validation->row_count == validation->row_capacity || source == NULL || subject == NULL ||
        quantity_copy == NULL || note_copy == NULL) {
        fail(err, STATUS_IO, "out of memory for the table of errors");
        return NULL;
    }
    struct validation_row *row = &validation->rows[validation->row_count++];
    *row = (struct validation_row){.source = source,
                                   .family = place->file->family->name,
                                   .subject = subject,
                                   .quantity = quantity_copy,
                                   .measured = NONE,
                                   .measured_high = NONE,
                                   .simulated = NONE,
                                   .error_percent = NONE,
                                   .limit_percent = NONE,
                                   .exact_error = NONE,
                                   .line = place->row->line,
                                   .verdict = "",
                                   .note = note_copy};
    return row;
}

/* Of a number that was measured as 0 every other is off by all. */
static double error_of(double simulated, double measured)
{
    if (simulated == measured)
        return 0;
    return measured == 0 ? 100.0 : 100.0 * (simulated / measured - 1.0);
}

bool truth_add_interval(const struct truth_place *place, const char *quantity, double low, double high,
                        double simulated, double limit_percent, const char *note, struct error *err)
{
    if (isnan(low))
        return true;
    struct validation_row *row = new_row(place, quantity, note, err);
    if (row == NULL)
        return false;
    const double nearest = simulated < low ? low : isnan(high) ? low : simulated > high ? high : simulated;
    row->measured = shown(low);
    row->measured_high = high > low ? shown(high) : NONE;
    row->simulated = shown(simulated);
    row->exact_error = isfinite(simulated) ? error_of(simulated, nearest) : NONE;
    row->error_percent = shown_percent(row->exact_error);
    row->limit_percent = limit_percent;
    if (!isfinite(simulated))
        row->verdict = "off";
    else if (!isnan(limit_percent))
        row->verdict = fabs(row->exact_error) <= limit_percent ? "ok" : "off";
    return true;
}

bool truth_add(const struct truth_place *place, const char *quantity, double measured, double simulated,
               double limit_percent, const char *note, struct error *err)
{
    return truth_add_interval(place, quantity, measured, NONE, simulated, limit_percent, note, err);
}

bool truth_failed(const struct truth_place *place, const char *quantity, double measured, const char *reason,
                  struct error *err)
{
    struct validation_row *row = new_row(place, quantity, reason, err);
    if (row == NULL)
        return false;
    row->measured = shown(measured);
    row->verdict = "off";
    return true;
}

bool truth_skip(const struct truth_place *place, const char *reason, struct error *err)
{
    struct validation_row *row = new_row(place, "", reason, err);
    if (row == NULL)
        return false;
    row->verdict = "skipped";
    return true;
}

bool truth_skip_empty(struct validating *validating, const struct truth_file *file, size_t first, struct error *err)
{
    const struct validation *validation = validating->validation;
    const size_t end = validation->row_count;
    for (size_t i = 0, next = first; i < file->row_count; i++) {
        const struct truth_place place = {validating, file, &file->rows[i], ""};
        const size_t before = next;
        while (next < end && validation->rows[next].line == file->rows[i].line)
            next++;
        if (next == before && !truth_skip(&place, "nothing in it to compare", err))
            return false;
    }
    return true;
}

/* ---- The sum ---- */

static int by_size(const void *a, const void *b)
{
    double left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

/* The limit of a family's median error of that quantity, or NAN. */
static double median_limit(const struct validation_summary *summary)
{
    for (size_t f = 0; f < truth_family_count; f++) {
        const struct truth_family *family = truth_families[f];
        if (strcmp(family->name, summary->family) == 0 && family->median_quantity != NULL &&
            strcmp(family->median_quantity, summary->quantity) == 0)
            return family->median_limit_percent;
    }
    return NONE;
}

static bool belongs(const struct validation_row *row, const struct validation_summary *summary)
{
    return strcmp(row->family, summary->family) == 0 && strcmp(row->quantity, summary->quantity) == 0;
}

/* errors: room for one of each row. */
static void sum_up(const struct validation *validation, double *errors, struct validation_summary *summary)
{
    size_t count = 0;
    double worst = -1;
    summary->worst = "";
    for (size_t i = 0; i < validation->row_count; i++) {
        const struct validation_row *row = &validation->rows[i];
        if (!belongs(row, summary))
            continue;
        summary->rows++;
        summary->off += strcmp(row->verdict, "off") == 0;
        summary->skipped += strcmp(row->verdict, "skipped") == 0;
        if (isnan(row->exact_error))
            continue;
        errors[count++] = fabs(row->exact_error);
        if (errors[count - 1] > worst) {
            worst = errors[count - 1];
            summary->worst = row->source;
        }
    }
    qsort(errors, count, sizeof *errors, by_size);
    const double median = count == 0       ? NONE
                          : count % 2 == 1 ? errors[count / 2]
                                           : (errors[count / 2 - 1] + errors[count / 2]) / 2;
    summary->median_percent = shown_percent(median);
    summary->worst_percent = count == 0 ? NONE : shown_percent(worst);
    summary->limit_percent = count == 0 ? NONE : median_limit(summary);
    summary->verdict = isnan(summary->limit_percent) ? "" : median <= summary->limit_percent ? "ok" : "off";
}

bool truth_summarise(struct validation *validation, struct error *err)
{
    struct validation_summary *summaries = arena_alloc(&validation->arena, QUANTITIES_MAX, sizeof *summaries);
    double *errors = arena_alloc(&validation->arena, validation->row_count + 1, sizeof *errors);
    if (summaries == NULL || errors == NULL)
        return fail(err, STATUS_IO, "out of memory for the table of errors");
    size_t count = 0;
    const char *names[VALIDATE_FAMILIES_MAX];
    const size_t families = validate_family_names(names);
    for (size_t f = 0; f < families; f++)
        for (size_t i = 0; i < validation->row_count; i++) {
            const struct validation_row *row = &validation->rows[i];
            bool known = strcmp(row->family, names[f]) != 0;
            for (size_t s = 0; s < count && !known; s++)
                known = belongs(row, &summaries[s]);
            if (known)
                continue;
            must(count < QUANTITIES_MAX);
            summaries[count] = (struct validation_summary){.family = row->family, .quantity = row->quantity};
            sum_up(validation, errors, &summaries[count++]);
        }
    validation->summaries = summaries;
    validation->summary_count = count;
    return true;
}

bool validation_good(const struct validation *validation, size_t *off, size_t *skipped)
{
    *off = *skipped = 0;
    for (size_t s = 0; s < validation->summary_count; s++) {
        *off += validation->summaries[s].off + (strcmp(validation->summaries[s].verdict, "off") == 0);
        *skipped += validation->summaries[s].skipped;
    }
    return *off == 0;
}
