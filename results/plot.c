/* All figures of an experiment, one after the other. */
#include "results/plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/plot_data.h"

static const struct {
    const char *name;
    figure_write *write;
} figures[] = {
    {"hit_rate", figure_hit_rate},           {"stall_per_token", figure_stall_per_token},
    {"peak_memory", figure_peak_memory},     {"memory_over_time", figure_memory_over_time},
    {"token_latency", figure_token_latency},
};

static bool make_folder(const char *path, struct error *err)
{
    char *copy = strdup(path);
    if (!copy || path[0] == '\0') {
        free(copy);
        return fail(err, STATUS_IO, copy ? "the folder for figures has no name" : "out of memory for the figures");
    }
    bool ok = true;
    for (char *end = copy + 1; ok; end++) {
        if (*end != '/' && *end != '\0')
            continue;
        const char was = *end;
        *end = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            ok = fail(err, STATUS_IO, "%s: cannot make the folder: %s", copy, strerror(errno));
        *end = was;
        if (was == '\0')
            break;
    }
    free(copy);
    struct stat status;
    if (ok && (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)))
        ok = fail(err, STATUS_IO, "%s: not a folder", path);
    return ok;
}

/* A figure with nothing to show, or one that failed, leaves nothing, not even an older picture. */
static void remove_figure(const char *folder, const char *name)
{
    static const char *const endings[] = {".csv", ".gp", ".svg", ".png"};
    const size_t size = strlen(folder) + strlen(name) + 8;
    char *path = malloc(size);
    for (size_t i = 0; path && i < sizeof endings / sizeof *endings; i++) {
        snprintf(path, size, "%s/%s%s", folder, name, endings[i]);
        unlink(path);
    }
    free(path);
}

/* What the figures do not show. */
static void note_missing(const struct plot_spec *spec, const struct figure *figure)
{
    fprintf(spec->notes ? spec->notes : stderr, "note: %s: not drawn: %s\n", figure->name, figure->missing);
}

static void note_settings(const struct plot_spec *spec, const struct plot_runs *runs)
{
    if (runs->rival_settings > 1)
        fprintf(spec->notes ? spec->notes : stderr,
                "note: the experiment has %u configs of one name: drawn is the one %s (column setting of table run)\n",
                runs->rival_settings, spec->run_key ? "of the run asked for" : "that was asked for last");
}

bool plot_all(struct store *store, const struct plot_spec *spec, void (*made)(void *context, const char *path),
              void *context, struct error *err)
{
    struct plot_runs runs;
    bool ok = plot_runs_read(store, spec, &runs, err) && make_folder(spec->folder, err);
    if (ok)
        note_settings(spec, &runs);
    for (size_t i = 0; ok && i < sizeof figures / sizeof *figures; i++) {
        struct figure figure;
        bool drawn = false;
        ok = figure_begin(&figure, spec->folder, figures[i].name, err) &&
             figures[i].write(store, &runs, &figure, &drawn, err);
        if (ok && !drawn) {
            figure_abandon(&figure);
            remove_figure(spec->folder, figures[i].name);
            note_missing(spec, &figure);
            continue;
        }
        ok = figure_end(&figure, ok, made, context, err);
        if (!ok)
            remove_figure(spec->folder, figures[i].name);
    }
    plot_runs_free(&runs);
    return ok;
}
