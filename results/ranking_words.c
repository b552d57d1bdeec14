/* Bounds and words beside a ranking. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "results/ranking.h"

struct ranking_bounds ranking_bounds_mean(const struct run_record *records, const struct ranking_bounds *bounds,
                                          size_t count, const struct run_record *of)
{
    struct ranking_bounds mean = {.known = false};
    double belady = 0, infinite = 0;
    size_t found = 0;
    for (size_t i = 0; bounds && i < count; i++) {
        if (!bounds[i].known || records[i].budget_bytes != of->budget_bytes ||
            ranking_compare_settings_only(&records[i], of) != 0)
            continue;
        if (found++ == 0)
            mean = bounds[i];
        belady += bounds[i].belady;
        infinite += bounds[i].infinite;
    }
    if (found > 0) {
        mean.belady = belady / (double)found;
        mean.infinite = infinite / (double)found;
    }
    return mean;
}

static bool add_line(struct grid *grid, const char *name, double hit_rate, size_t rate)
{
    char text[UNITS_TEXT];
    if (isnan(hit_rate))
        snprintf(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, "%.1f %%", 100 * hit_rate);
    bool ok = true;
    for (size_t i = 0; ok && i < grid->columns; i++)
        ok = grid_add(grid, i == 1 ? name : i == rate ? text : i == grid->columns - 1 ? "by counts, without time" : "");
    return ok;
}

bool ranking_add_bounds(struct grid *grid, const struct ranking_bounds *bounds, size_t rate)
{
    const char *belady = bounds->context.block_bytes > 0 ? "belady (bound)" : "belady (no bound: sizes differ)";
    return add_line(grid, belady, bounds->belady, rate) && add_line(grid, "infinite (bound)", bounds->infinite, rate);
}

bool ranking_is_beyond(const struct run_record *record)
{
    return (record->prefetch && record->prefetch[0] != '\0' && strcmp(record->prefetch, "none") != 0) ||
           (record->pin && record->pin[0] != '\0' && strcmp(record->pin, "none") != 0);
}

void ranking_print_words(FILE *file, const struct ranking_bounds *bounds, uint64_t budget_bytes,
                         const double *hit_rates, size_t count)
{
    char what[UNITS_TEXT + 16], size[UNITS_TEXT], text[BOUNDS_TEXT];
    if (!bounds->known)
        return;
    snprintf(what, sizeof what, "budget %s", format_bytes(budget_bytes, size));
    if (bounds_capacity_text(&bounds->context, what, budget_bytes, text)[0] != '\0')
        fprintf(file, "%s\n", text);
    if (bounds_noise_text(hit_rates, count, what, text)[0] != '\0')
        fprintf(file, "%s (by hit rate)\n", text);
}

void ranking_print_beyond(FILE *file)
{
    fputs("bounds are of loading on demand: a prefetcher or a pin rule, which load before a miss, may pass them\n",
          file);
}
