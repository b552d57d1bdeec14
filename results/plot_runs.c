/* Which runs the figures draw, and what each is called. */
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "results/plot_data.h"
#include "results/ranking.h"

bool plot_no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory for the figures");
}

bool plot_query_failed(struct store *store, struct error *err)
{
    return fail(err, STATUS_IO, "cannot read the runs: %s", sqlite3_errmsg(store_handle(store)));
}

/* ---- Runs ---- */

/* The array with room for one more, in the arena; NULL without memory. */
static void *room(struct arena *arena, void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    const size_t more = *capacity ? 2 * *capacity : 64;
    void *grown = arena_alloc(arena, more, size);
    if (grown && count > 0)
        memcpy(grown, array, count * size);
    *capacity = more;
    return grown;
}

static bool keep(void *context, const struct run_record *record, struct error *err)
{
    struct plot_runs *runs = context;
    struct plot_run *grown = room(&runs->arena, runs->runs, runs->count, &runs->capacity, sizeof *runs->runs);
    if (!grown)
        return plot_no_memory(err);
    runs->runs = grown;
    struct plot_run *mine = &runs->runs[runs->count];
    *mine = (struct plot_run){.record = *record};
    if (!record_keep(&mine->record, &runs->arena))
        return plot_no_memory(err);
    runs->count++;
    return true;
}

/* The number of a setting, one more than the last for a new one. */
static bool number_of(struct plot_runs *runs, const char *setting, size_t *number)
{
    for (*number = 0; *number < runs->setting_count; ++*number)
        if (strcmp(runs->settings[*number], setting) == 0)
            return true;
    const char **grown =
        room(&runs->arena, runs->settings, runs->setting_count, &runs->setting_capacity, sizeof *runs->settings);
    if (!grown)
        return false;
    runs->settings = grown;
    return (runs->settings[runs->setting_count++] = arena_strdup(&runs->arena, setting)) != NULL;
}

/* What is not in the record. */
static bool read_facts(struct store *store, struct plot_runs *runs, const char *experiment, struct error *err)
{
    static const char sql[] =
        "SELECT setting, member.id, (SELECT max(runtime_bytes) FROM sample WHERE run_key = ?1), "
        "(SELECT max(streamed_bytes) FROM sample WHERE run_key = ?1), "
        "CASE json_extract(config, '$.device.kill') WHEN 'threshold' THEN "
        "json_extract(config, '$.device.kill_threshold') END, (SELECT avg(stall_ns) FROM " PLOT_LATER_TOKENS ") "
        "FROM run JOIN member USING (run_key) WHERE run_key = ?1 AND member.experiment = ?2";
    sqlite3_stmt *stmt = NULL;
    bool ok = sqlite3_prepare_v2(store_handle(store), sql, -1, &stmt, NULL) == SQLITE_OK &&
              sqlite3_bind_text(stmt, 2, experiment, -1, SQLITE_STATIC) == SQLITE_OK;
    bool memory = true;
    for (size_t i = 0; ok && memory && i < runs->count; i++) {
        struct plot_run *run = &runs->runs[i];
        ok = sqlite3_bind_text(stmt, 1, run->record.run_key, -1, SQLITE_STATIC) == SQLITE_OK &&
             sqlite3_step(stmt) == SQLITE_ROW;
        if (!ok)
            break;
        const char *setting = (const char *)sqlite3_column_text(stmt, 0);
        memory = setting && number_of(runs, setting, &run->setting);
        run->asked = sqlite3_column_int64(stmt, 1);
        run->runtime_bytes = (uint64_t)sqlite3_column_int64(stmt, 2);
        run->streamed_bytes = (uint64_t)sqlite3_column_int64(stmt, 3);
        run->kill_threshold = sqlite3_column_int64(stmt, 4);
        run->later_stall_ns =
            sqlite3_column_type(stmt, 5) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(stmt, 5);
        sqlite3_reset(stmt);
    }
    if (!ok)
        plot_query_failed(store, err);
    sqlite3_finalize(stmt);
    return ok && (memory || plot_no_memory(err));
}

/* Runs are stored as they finish; figures do not depend on that, and give a policy the same colour each time. */
static int compare_runs(const void *a, const void *b)
{
    const struct run_record *x = &((const struct plot_run *)a)->record, *y = &((const struct plot_run *)b)->record;
    int order = ranking_compare_settings(x, y);
    if (order == 0)
        order = strcmp(x->policy, y->policy);
    if (order == 0)
        order = x->budget_bytes < y->budget_bytes ? -1 : x->budget_bytes > y->budget_bytes;
    return order != 0 ? order : strcmp(x->run_key, y->run_key);
}

/* ---- Labels ---- */

/* The policy is the first part of a label, and the last of a title. */
enum { POLICY = 5, PARTS };

static const char *part(const struct plot_run *run, size_t which)
{
    const struct run_record *r = &run->record;
    const char *const texts[PARTS] = {r->model, r->quant, r->device, r->workload, r->loader, r->policy};
    return texts[which];
}

/* Do only policy and budget tell them apart? */
static bool same_names(const struct plot_run *a, const struct plot_run *b)
{
    for (size_t i = 0; i < POLICY; i++)
        if (strcmp(part(a, i), part(b, i)) != 0)
            return false;
    return true;
}

/* Of runs whose configs differ in what no name tells, those with the config asked for last are drawn, or with that of
 * the run that was asked for: a mean over different configs would be none of them. */
static bool keep_last_settings(struct plot_runs *runs, const char *run_key)
{
    struct last {
        const struct plot_run *run; /* one of the setting's; NULL: it has none */
        int64_t asked;
        bool kept;
    } *last = calloc(runs->setting_count, sizeof *last);
    if (!last)
        return false;
    for (size_t i = 0; i < runs->count; i++) {
        const struct plot_run *run = &runs->runs[i];
        struct last *mine = &last[run->setting];
        const int64_t asked = run_key && strcmp(run->record.run_key, run_key) == 0 ? INT64_MAX : run->asked;
        if (!mine->run || asked > mine->asked)
            *mine = (struct last){run, asked, true};
    }
    for (size_t i = 0; i < runs->setting_count; i++) {
        unsigned alike = 0;
        for (size_t k = 0; k < runs->setting_count; k++)
            if (same_names(last[i].run, last[k].run)) {
                alike++;
                last[i].kept = last[i].kept && last[k].asked <= last[i].asked;
            }
        runs->rival_settings = alike > runs->rival_settings ? alike : runs->rival_settings;
    }
    if (runs->rival_settings > 1)
        snprintf(runs->configs, sizeof runs->configs, " (1 of %u configs: %s)", runs->rival_settings,
                 run_key ? "of the run" : "the last");
    /* Only now may runs move: `last` points to them. */
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++)
        if (last[runs->runs[i].setting].kept)
            runs->runs[count++] = runs->runs[i];
    runs->count = count;
    free(last);
    return true;
}

static bool add_part(struct arena *arena, char **text, const char *more)
{
    const size_t size = strlen(*text) + strlen(more) + sizeof PLOT_BETWEEN;
    char *joined = arena_alloc(arena, size, 1);
    if (!joined)
        return false;
    snprintf(joined, size, "%s%s%s", *text, (*text)[0] != '\0' && more[0] != '\0' ? PLOT_BETWEEN : "", more);
    *text = joined;
    return true;
}

/* The length of what stands before the parenthesis, when it is the same in all runs and each has one at its end:
 * "dense" of "dense(prompt_tokens=64)" and "dense(prompt_tokens=128)". 0: not so. */
static size_t common_name(const struct plot_runs *runs, size_t which)
{
    const char *first = part(&runs->runs[0], which);
    const size_t length = strcspn(first, "(");
    for (size_t i = 0; i < runs->count; i++) {
        const char *text = part(&runs->runs[i], which);
        if (strcspn(text, "(") != length || strncmp(text, first, length) != 0 || text[strlen(text) - 1] != ')')
            return 0;
    }
    return length;
}

/* Adds the part of each run to its label; of those that a common name begins, only what is in parentheses. */
static bool add_to_labels(struct plot_runs *runs, size_t which, size_t common)
{
    for (size_t i = 0; i < runs->count; i++) {
        const char *text = part(&runs->runs[i], which);
        char *own = arena_strdup(&runs->arena, common > 0 ? text + common + 1 : text);
        if (!own)
            return false;
        if (common > 0)
            own[strlen(own) - 1] = '\0';
        if (!add_part(&runs->arena, &runs->runs[i].label, own))
            return false;
    }
    return true;
}

/* What all runs share goes to the title, what differs to the labels. Repeats (seeds) are averaged, not told apart. */
static bool make_labels(struct plot_runs *runs, const char *experiment)
{
    const struct plot_run *first = &runs->runs[0];
    bool differs[PARTS] = {false}, any = false;
    for (size_t which = 0; which < PARTS; which++) {
        for (size_t i = 1; i < runs->count; i++)
            differs[which] = differs[which] || strcmp(part(first, which), part(&runs->runs[i], which)) != 0;
        any = any || differs[which];
    }
    differs[POLICY] = differs[POLICY] || !any; /* a label is never empty */
    bool ok = (runs->title = arena_strdup(&runs->arena, experiment)) != NULL;
    for (size_t i = 0; ok && i < runs->count; i++)
        ok = (runs->runs[i].label = arena_strdup(&runs->arena, "")) != NULL;
    ok = ok && (!differs[POLICY] || add_to_labels(runs, POLICY, 0));
    for (size_t which = 0; ok && which < PARTS; which++) {
        const size_t common = !differs[which]   ? strlen(part(first, which))
                              : which == POLICY ? 0
                                                : common_name(runs, which);
        char *shared = arena_strdup(&runs->arena, part(first, which));
        if (!shared)
            return false;
        shared[common] = '\0';
        if (strcmp(shared, experiment) != 0)
            ok = add_part(&runs->arena, &runs->title, shared);
        if (ok && differs[which] && which != POLICY)
            ok = add_to_labels(runs, which, common);
    }
    return ok;
}

/* ---- The runs of the figures of single runs ---- */

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
        const struct run_record *other = &runs->runs[i].record;
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
        const struct plot_run *run = &runs->runs[i], *best = runs->chosen;
        if (run_key) {
            if (strcmp(run->record.run_key, run_key) == 0)
                runs->chosen = run;
            continue;
        }
        const bool this_apart = tells_apart(runs, &run->record);
        const uint64_t budget = run->record.budget_bytes, best_budget = best ? best->record.budget_bytes : 0;
        if (!best || this_apart > apart ||
            (this_apart == apart &&
             (budget > best_budget ||
              (budget == best_budget && ranking_compare_merit(&run->record, &best->record) < 0)))) {
            runs->chosen = run;
            apart = this_apart;
        }
    }
    if (!runs->chosen)
        return fail(err, STATUS_USAGE, "no run with the key %s in the experiment", run_key);
    for (size_t i = 0; i < runs->count && runs->rival_count < RIVALS_MAX; i++) {
        const struct plot_run *run = &runs->runs[i];
        if (run_key ? run == runs->chosen : same_group(&run->record, &runs->chosen->record))
            runs->rivals[runs->rival_count++] = run;
    }
    return true;
}

bool plot_runs_read(struct store *store, const struct plot_spec *spec, struct plot_runs *runs, struct error *err)
{
    *runs = (struct plot_runs){0};
    const char *experiment = spec->experiment, *run_key = NULL;
    if (spec->run_key) {
        struct run_record record;
        if (!store_get(store, spec->run_key, &runs->arena, &record, err))
            return false;
        run_key = record.run_key;
        experiment = experiment ? experiment : record.experiment;
    } else if (!experiment && !store_last_experiment(store, &runs->arena, &experiment, err)) {
        return false;
    }
    if (!experiment)
        return fail(err, STATUS_IO, "the database has no run to plot");
    if (!store_each(store, experiment, keep, runs, err))
        return false;
    if (runs->count == 0)
        return fail(err, STATUS_IO, "the database has no run of an experiment \"%s\"", experiment);
    if (!read_facts(store, runs, experiment, err))
        return false;
    qsort(runs->runs, runs->count, sizeof *runs->runs, compare_runs);
    return ((keep_last_settings(runs, run_key) && make_labels(runs, experiment)) || plot_no_memory(err)) &&
           choose(runs, run_key, err);
}

void plot_runs_free(struct plot_runs *runs)
{
    arena_free(&runs->arena);
}
