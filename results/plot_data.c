/* What the figures share: the runs to draw, their labels, and the data files. */
#include "results/plot_data.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "results/gnuplot.h"
#include "results/ranking.h"
#include "results/text.h"

static bool no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory for the figures");
}

/* ---- Runs ---- */

static bool keep(void *context, const struct run_record *record, struct error *err)
{
    struct plot_runs *runs = context;
    if (runs->count == runs->capacity) {
        const size_t capacity = runs->capacity ? 2 * runs->capacity : 64;
        struct run_record *records = arena_alloc(&runs->arena, capacity, sizeof *records);
        if (!records)
            return no_memory(err);
        if (runs->count > 0)
            memcpy(records, runs->records, runs->count * sizeof *records);
        runs->records = records;
        runs->capacity = capacity;
    }
    struct run_record *mine = &runs->records[runs->count];
    *mine = *record;
    for (size_t i = 0; i < run_column_count; i++) {
        if (run_columns[i].type != COLUMN_TEXT)
            continue;
        char *field = (char *)mine + run_columns[i].offset;
        const char *text;
        memcpy(&text, field, sizeof text);
        text = arena_strdup(&runs->arena, text);
        if (!text)
            return no_memory(err);
        memcpy(field, &text, sizeof text);
    }
    runs->count++;
    return true;
}

/* Runs are stored as they finish; figures do not depend on that, and give a policy the same colour each time. */
static int compare_runs(const void *a, const void *b)
{
    const struct run_record *x = a, *y = b;
    int order = ranking_compare_settings(x, y);
    if (order == 0)
        order = strcmp(x->policy, y->policy);
    if (order == 0)
        order = x->budget_bytes < y->budget_bytes ? -1 : x->budget_bytes > y->budget_bytes;
    return order != 0 ? order : strcmp(x->run_key, y->run_key);
}

/* ---- Labels ---- */

enum { PARTS = 5 };

static const char *part(const struct run_record *record, size_t which)
{
    const char *const texts[PARTS] = {record->model, record->quant, record->device, record->workload, record->loader};
    return texts[which];
}

static bool add_part(struct arena *arena, char **text, const char *more)
{
    const size_t size = strlen(*text) + strlen(more) + 5;
    char *joined = arena_alloc(arena, size, 1);
    if (!joined)
        return false;
    snprintf(joined, size, "%s%s%s", *text, (*text)[0] != '\0' && more[0] != '\0' ? " \xC2\xB7 " : "", more);
    *text = joined;
    return true;
}

/* What all runs share goes to the title, what differs to the labels. Repeats (seeds) are averaged, not told apart. */
static bool make_labels(struct plot_runs *runs, const char *experiment)
{
    bool ok = (runs->labels = arena_alloc(&runs->arena, runs->count, sizeof *runs->labels)) != NULL &&
              (runs->title = arena_strdup(&runs->arena, experiment)) != NULL;
    for (size_t i = 0; ok && i < runs->count; i++)
        ok = (runs->labels[i] = arena_strdup(&runs->arena, runs->records[i].policy)) != NULL;
    for (size_t which = 0; ok && which < PARTS; which++) {
        bool differs = false;
        for (size_t i = 1; i < runs->count; i++)
            differs = differs || strcmp(part(&runs->records[0], which), part(&runs->records[i], which)) != 0;
        if (!differs && strcmp(part(&runs->records[0], which), experiment) != 0)
            ok = add_part(&runs->arena, &runs->title, part(&runs->records[0], which));
        for (size_t i = 0; ok && differs && i < runs->count; i++)
            ok = add_part(&runs->arena, &runs->labels[i], part(&runs->records[i], which));
    }
    return ok;
}

const char *plot_label(const struct plot_runs *runs, const struct run_record *record)
{
    return runs->labels[record - runs->records];
}

static bool same_group(const struct run_record *a, const struct run_record *b)
{
    return a->budget_bytes == b->budget_bytes && ranking_compare_settings(a, b) == 0;
}

/* Is a rival of this run slower or faster by more than a fiftieth? Where all weights fit, no policy differs, and
 * figures of single runs would show nothing. */
static bool tells_apart(const struct plot_runs *runs, const struct run_record *record)
{
    const int64_t mine = record->numbers.tpot_mean_ns;
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_record *other = &runs->records[i];
        const int64_t theirs = other->numbers.tpot_mean_ns;
        if (theirs > 0 && mine > 0 && (theirs - mine > mine / 50 || mine - theirs > mine / 50) &&
            same_group(record, other))
            return true;
    }
    return false;
}

/* The best run of the largest budget at which the policies differ (else of the largest), or the one asked for. */
static bool choose(struct plot_runs *runs, const char *run_key, struct error *err)
{
    bool apart = false;
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_record *record = &runs->records[i], *best = runs->chosen;
        if (run_key) {
            if (strcmp(record->run_key, run_key) == 0)
                runs->chosen = record;
            continue;
        }
        const bool this_apart = tells_apart(runs, record);
        if (!best || this_apart > apart ||
            (this_apart == apart &&
             (record->budget_bytes > best->budget_bytes ||
              (record->budget_bytes == best->budget_bytes && ranking_compare_merit(record, best) < 0)))) {
            runs->chosen = record;
            apart = this_apart;
        }
    }
    if (!runs->chosen)
        return fail(err, STATUS_USAGE, "no run with the key %s in the experiment", run_key);
    for (size_t i = 0; i < runs->count && runs->rival_count < RIVALS_MAX; i++) {
        const struct run_record *record = &runs->records[i];
        if (run_key ? record == runs->chosen : same_group(record, runs->chosen))
            runs->rivals[runs->rival_count++] = record;
    }
    return true;
}

bool plot_runs_read(struct store *store, const struct plot_spec *spec, struct plot_runs *runs, struct error *err)
{
    *runs = (struct plot_runs){0};
    const char *experiment = spec->experiment;
    if (!experiment && spec->run_key) {
        struct run_record record;
        if (!store_get(store, spec->run_key, &runs->arena, &record, err))
            return false;
        experiment = record.experiment;
    } else if (!experiment && !store_last_experiment(store, &runs->arena, &experiment, err)) {
        return false;
    }
    if (!experiment)
        return fail(err, STATUS_IO, "the database has no run to plot");
    if (!store_each(store, experiment, keep, runs, err))
        return false;
    if (runs->count == 0)
        return fail(err, STATUS_IO, "the database has no run of an experiment \"%s\"", experiment);
    qsort(runs->records, runs->count, sizeof *runs->records, compare_runs);
    return (make_labels(runs, experiment) || no_memory(err)) && choose(runs, spec->run_key, err);
}

void plot_runs_free(struct plot_runs *runs)
{
    arena_free(&runs->arena);
}

/* ---- Files ---- */

/* Latin, Greek, Cyrillic, punctuation, arrows and signs: what every font for plots has. */
static bool is_common(uint32_t c)
{
    return c < 0x530 || (c >= 0x2000 && c <= 0x22FF);
}

bool plot_text(FILE *file, const char *text, size_t characters, bool common)
{
    char *clean = text_clean(text, true);
    if (!clean)
        return false;
    putc('"', file);
    size_t length;
    for (const char *p = clean; *p != '\0'; p += length) {
        uint32_t c;
        length = text_decode(p, &c);
        if (characters-- == 0) {
            fputs("\xE2\x80\xA6", file); /* an ellipsis */
            break;
        }
        if (length > 1 && (!common || is_common(c)))
            fwrite(p, 1, length, file);
        else
            putc(length > 1 ? '?' : c == '"' ? '\'' : c == ',' ? ' ' : c == '\\' ? '/' : *p, file);
    }
    putc('"', file);
    free(clean);
    return true;
}

static FILE *open_beside(const char *folder, const char *name, const char *ending, struct error *err)
{
    const size_t size = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = malloc(size);
    if (!path) {
        no_memory(err);
        return NULL;
    }
    snprintf(path, size, "%s/%s%s", folder, name, ending);
    FILE *file = fopen(path, "we");
    if (!file)
        fail(err, STATUS_IO, "%s: cannot write: %s", path, strerror(errno));
    free(path);
    return file;
}

bool figure_begin(struct figure *figure, const char *folder, const char *name, struct error *err)
{
    *figure = (struct figure){.folder = folder, .name = name};
    figure->data = open_beside(folder, name, ".csv", err);
    figure->script = figure->data ? open_beside(folder, name, ".gp", err) : NULL;
    return figure->script != NULL;
}

static bool close_file(FILE *file, const struct figure *figure, struct error *err)
{
    if (!file)
        return true;
    const bool bad = ferror(file) != 0;
    const bool closed = fclose(file) == 0;
    return (closed && !bad) || fail(err, STATUS_IO, "%s/%s: cannot write the figure's files: %s", figure->folder,
                                    figure->name, errno != 0 ? strerror(errno) : "write error");
}

bool figure_end(struct figure *figure, bool ok, void (*made)(void *context, const char *path), void *context,
                struct error *err)
{
    struct error close_error;
    const bool data_closed = close_file(figure->data, figure, &close_error);
    const bool script_closed = close_file(figure->script, figure, &close_error);
    if (ok && !(data_closed && script_closed)) {
        *err = close_error;
        ok = false;
    }
    ok = ok && gnuplot_run(figure->folder, figure->name, err);
    const size_t size = strlen(figure->folder) + strlen(figure->name) + 8;
    char *path = ok ? malloc(size) : NULL;
    for (int i = 0; path && i < 2; i++) {
        snprintf(path, size, "%s/%s%s", figure->folder, figure->name, i == 0 ? ".svg" : ".png");
        if (made)
            made(context, path);
    }
    free(path);
    return ok;
}

void figure_abandon(struct figure *figure)
{
    fclose(figure->data);
    fclose(figure->script);
}
