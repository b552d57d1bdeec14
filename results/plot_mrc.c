/* The figure of miss-ratio curves. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "results/gnuplot.h"
#include "results/mrc.h"
#include "results/plot_data.h"
#include "results/plot_scripts.h"

/* "folder/name.svg" in parts, both owned by `copy`. */
struct place {
    char *copy;
    const char *folder, *name;
};

static bool is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return name[0] != '\0' && name[0] != '-' && name[0] != '.' && name[strspn(name, letters)] == '\0' &&
           strlen(name) < GNUPLOT_NAME_MAX;
}

/* The name stands in the script and on gnuplot's command line: nothing in it may mean anything there. */
static bool split(const char *path, struct place *place, struct error *err)
{
    char *copy = strdup(path);
    *place = (struct place){.copy = copy};
    if (!copy)
        return plot_no_memory(err);
    char *slash = strrchr(copy, '/'), *name = slash ? slash + 1 : copy, *dot = strrchr(name, '.');
    const bool ends = dot && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0);
    if (ends)
        *dot = '\0';
    if (!ends || !is_plain(name)) {
        free(copy);
        return fail(err, STATUS_USAGE,
                    "\"%.200s\": expected FILE.svg or FILE.png, the name at most %d letters, digits, '_', '-' and '.'",
                    path, GNUPLOT_NAME_MAX - 1);
    }
    place->name = name;
    place->folder = !slash ? "." : slash == copy ? "/" : copy;
    if (slash)
        *slash = '\0';
    return true;
}

bool mrc_plot_check(const char *path, struct error *err)
{
    struct place place;
    if (!split(path, &place, err))
        return false;
    free(place.copy);
    return true;
}

/* The capacities' places, by size. */
static int compare_capacities(const void *a, const void *b, void *context)
{
    const struct curve_capacity *capacities = context;
    const uint64_t x = capacities[*(const size_t *)a].amount, y = capacities[*(const size_t *)b].amount;
    return x < y ? -1 : x > y;
}

static size_t *sorted_places(const struct curves *curves)
{
    size_t *places = calloc(curves->count, sizeof *places);
    for (size_t i = 0; places && i < curves->count; i++)
        places[i] = i;
    if (places)
        qsort_r(places, curves->count, sizeof *places, compare_capacities, (void *)curves->capacities);
    return places;
}

static bool write_titles(FILE *file, const struct curves *curves)
{
    char subtitle[128];
    snprintf(subtitle, sizeof subtitle, "%" PRIu64 " accesses", curves->accesses);
    putc(',', file);
    bool ok = plot_text(file, curves->trace, TITLE_CHARACTERS, false);
    putc(',', file);
    ok = ok && plot_text(file, subtitle, TITLE_CHARACTERS, false);
    putc('\n', file);
    return ok;
}

static bool write_data(FILE *file, const struct curves *curves, const size_t *places)
{
    bool ok = true;
    fputs(curves->has_bytes && !curves->capacities[0].by_objects ? "capacity_bytes" : "capacity_blocks", file);
    for (size_t i = 0; ok && i < curves->label_count; i++) {
        putc(',', file);
        ok = plot_text(file, curves->labels[i], LABEL_CHARACTERS, false);
    }
    fputs(PLOT_TITLE_HEADS, file);
    for (size_t row = 0; ok && row < curves->count; row++) {
        fprintf(file, "%" PRIu64, curves->capacities[places[row]].amount);
        for (size_t i = 0; i < curves->label_count; i++) {
            const struct curve_value *value = &curves->values[i * curves->count + places[row]];
            fputs(",", file);
            if (value->known)
                fprintf(file, "%.6f", ratio(value->misses, curves->accesses));
        }
        ok = write_titles(file, curves);
    }
    return ok;
}

/* The first curves are drawn widest, so that those that coincide are all seen; markers, on some points only, tell them
 * apart without colour. */
static void write_script(FILE *file, const char *name, const struct curves *curves, uint64_t largest)
{
    const bool bytes = curves->has_bytes && !curves->capacities[0].by_objects;
    const struct axis_unit unit = bytes ? axis_bytes(largest) : (struct axis_unit){"blocks", 1};
    const unsigned series = (unsigned)curves->label_count;
    script_begin(file, name, 3 + series, series, "", script_legend_height(series));
    fprintf(file,
            "    set title 'Misses by capacity' . \"\\n\" . heading\n"
            "    set xlabel 'capacity (%s)' offset 0,0.4\n"
            "    set ylabel 'miss ratio'\n"
            "    set xrange [0:%g]\n"
            "    nested(i) = series > 1 ? (series - i) / (series - 1.0) : 0\n"
            "    plot for [i = 1:series] data skip 1 using ($1 / %" PRId64 ".0):(column(i + 1)) with linespoints "
            "pointinterval %zu pt shape(i) ps 0.9 lw 1.5 + 5 * nested(i) lc rgb color(i) title names[i]\n",
            unit.name, (double)largest * 1.01 / (double)unit.factor, unit.factor, 1 + curves->count / 12);
    script_end(file);
}

static bool check_curves(const struct curves *curves, struct error *err)
{
    if (curves->label_count > MRC_SERIES)
        return fail(err, STATUS_USAGE, "%zu policies in one figure; expected at most %d", curves->label_count,
                    MRC_SERIES);
    for (size_t i = 1; i < curves->count; i++)
        if (curves->capacities[i].by_objects != curves->capacities[0].by_objects)
            return fail(err, STATUS_USAGE,
                        "capacities in bytes and in blocks of several sizes have no common axis; expected one kind");
    return true;
}

bool mrc_plot(const char *path, const struct curves *curves, void (*made)(void *context, const char *path),
              void *context, struct error *err)
{
    struct place place;
    struct figure figure;
    if (!check_curves(curves, err) || !split(path, &place, err))
        return false;
    size_t *places = sorted_places(curves);
    bool good = (places || plot_no_memory(err)) && figure_begin(&figure, place.folder, place.name, err);
    if (good) {
        const bool written = write_data(figure.data, curves, places) || plot_no_memory(err);
        write_script(figure.script, place.name, curves, curves->capacities[places[curves->count - 1]].amount);
        good = figure_end(&figure, written, made, context, err);
    }
    free(places);
    free(place.copy);
    return good;
}
