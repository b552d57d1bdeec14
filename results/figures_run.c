/* The figures of one run and its rivals, over time and tokens: what each shows, as data. */
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/units.h"
#include "results/plot_data.h"
#include "results/plot_scripts.h"

struct moment {
    int64_t time_ns, classes[MOMENT_CLASSES], flash_bytes, rate;
};

/* Reads finish one at a time, so a rate is told over a hundredth of the run at least. */
static void fill_rates(struct moment *moments, size_t count)
{
    const int64_t least = count > 0 ? (moments[count - 1].time_ns - moments[0].time_ns) / 100 : 0;
    for (size_t first = 0, end; first + 1 < count; first = end) {
        end = first + 1;
        while (end + 1 < count && moments[end].time_ns - moments[first].time_ns < least)
            end++;
        const int64_t bytes = moments[end].flash_bytes - moments[first].flash_bytes;
        const int64_t time = moments[end].time_ns - moments[first].time_ns;
        const double rate = time > 0 ? (double)bytes * 1e9 / (double)time : 0;
        for (size_t i = first; i <= end; i++)
            moments[i].rate = (int64_t)rate;
    }
}

static bool read_moments(struct store *store, const char *run_key, struct moment *moments, size_t *count)
{
    static const char sql[] =
        "SELECT time_ns, runtime_bytes, kv_bytes, activation_bytes, streamed_bytes, "
        "weights_bytes - in_flight_bytes, in_flight_bytes, page_tables_bytes, file_bytes, zram_bytes, flash_bytes "
        "FROM sample WHERE run_key = ?1 ORDER BY time_ns";
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(store_handle(store), sql, -1, &stmt, NULL);
    if (code == SQLITE_OK && (code = sqlite3_bind_text(stmt, 1, run_key, -1, SQLITE_STATIC)) == SQLITE_OK)
        code = SQLITE_ROW;
    *count = 0;
    while (code == SQLITE_ROW && *count < SAMPLES_MAX + 1 && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct moment *m = &moments[(*count)++];
        m->time_ns = sqlite3_column_int64(stmt, 0);
        for (int i = 0; i < MOMENT_CLASSES; i++)
            m->classes[i] = sqlite3_column_int64(stmt, 1 + i);
        m->flash_bytes = sqlite3_column_int64(stmt, 1 + MOMENT_CLASSES);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE || code == SQLITE_ROW;
}

/* The subtitle of a figure of one run, or of those of its budget. */
static void run_subtitle(const struct plot_run *run, bool label, char *out, size_t size)
{
    const uint64_t bytes = run->record.budget_bytes;
    char budget[UNITS_TEXT];
    snprintf(out, size, "%.500s%s%s%s", label ? run->label : "", label && bytes > 0 ? PLOT_BETWEEN : "",
             bytes > 0 ? "budget " : "", bytes > 0 ? format_bytes(bytes, budget) : "");
}

static void measure_moment(struct memory_drawing *drawing, const struct moment *m)
{
    uint64_t height = 0;
    for (int k = 0; k < MOMENT_CLASSES; k++) {
        height += (uint64_t)m->classes[k];
        drawing->has_class[k] = drawing->has_class[k] || m->classes[k] > 0;
    }
    drawing->highest_bytes = height > drawing->highest_bytes ? height : drawing->highest_bytes;
    drawing->fastest = m->rate > drawing->fastest ? m->rate : drawing->fastest;
}

bool figure_memory_over_time(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                             struct error *err)
{
    struct moment *moments = calloc(SAMPLES_MAX + 1, sizeof *moments);
    size_t count = 0;
    if (!moments)
        return plot_no_memory(err);
    bool ok = read_moments(store, runs->chosen->record.run_key, moments, &count) || plot_query_failed(store, err);
    *drawn = ok && count > 1 && moments[count - 1].time_ns > 0;
    figure->missing = "the run ended as it began";
    if (*drawn) {
        char subtitle[800];
        fill_rates(moments, count);
        run_subtitle(runs->chosen, true, subtitle, sizeof subtitle);
        fputs("time_ns,runtime_bytes,kv_bytes,activation_bytes,streamed_bytes,weights_bytes,in_flight_bytes,"
              "page_tables_bytes,file_bytes,zram_bytes,flash_bytes_per_s" PLOT_TITLE_HEADS,
              figure->data);
        struct memory_drawing drawing = {.x = axis_time((double)moments[count - 1].time_ns), .highest_bytes = 1};
        for (size_t i = 0; ok && i < count; i++) {
            const struct moment *m = &moments[i];
            fprintf(figure->data, "%" PRId64, m->time_ns);
            for (int k = 0; k < MOMENT_CLASSES; k++)
                fprintf(figure->data, ",%" PRId64, m->classes[k]);
            fprintf(figure->data, ",%" PRId64, m->rate);
            ok = plot_titles(figure->data, runs, subtitle) || plot_no_memory(err);
            measure_moment(&drawing, m);
        }
        script_begin(figure->script, figure->name, MOMENT_CLASSES + 4, 0, runs->configs, SCRIPT_HEIGHT);
        script_memory(figure->script, &drawing);
        script_end(figure->script);
    }
    free(moments);
    return ok;
}

/* ---- Latency of each token ---- */

enum { LATENCY_ROWS = 2000 };

struct latencies {
    int64_t first, stride; /* token numbers of a row */
    size_t rows;
    double *ns; /* [row * RIVALS_MAX + rival], NAN: none */
    double largest;
};

/* Range of the numbers of the later tokens of all rivals; *last < 0: they have none. */
static bool token_range(struct store *store, const struct plot_runs *runs, int64_t *first, int64_t *last)
{
    sqlite3_stmt *stmt = NULL;
    bool ok = sqlite3_prepare_v2(store_handle(store), "SELECT min(token), max(token) FROM " PLOT_LATER_TOKENS, -1,
                                 &stmt, NULL) == SQLITE_OK;
    *first = INT64_MAX;
    *last = -1;
    for (size_t i = 0; ok && i < runs->rival_count; i++) {
        ok = sqlite3_bind_text(stmt, 1, runs->rivals[i]->record.run_key, -1, SQLITE_STATIC) == SQLITE_OK &&
             sqlite3_step(stmt) == SQLITE_ROW;
        if (ok && sqlite3_column_type(stmt, 0) != SQLITE_NULL) {
            const int64_t low = sqlite3_column_int64(stmt, 0), high = sqlite3_column_int64(stmt, 1);
            *first = low < *first ? low : *first;
            *last = high > *last ? high : *last;
        }
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return ok;
}

static bool read_latencies(struct store *store, const struct plot_runs *runs, struct latencies *l)
{
    sqlite3_stmt *stmt = NULL;
    bool ok = sqlite3_prepare_v2(store_handle(store),
                                 "SELECT (token - ?2) / ?3, avg(latency_ns) FROM " PLOT_LATER_TOKENS " GROUP BY 1", -1,
                                 &stmt, NULL) == SQLITE_OK;
    for (size_t i = 0; ok && i < runs->rival_count; i++) {
        ok = sqlite3_bind_text(stmt, 1, runs->rivals[i]->record.run_key, -1, SQLITE_STATIC) == SQLITE_OK &&
             sqlite3_bind_int64(stmt, 2, l->first) == SQLITE_OK && sqlite3_bind_int64(stmt, 3, l->stride) == SQLITE_OK;
        int code = ok ? SQLITE_ROW : SQLITE_ERROR;
        while (code == SQLITE_ROW && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
            const int64_t row = sqlite3_column_int64(stmt, 0);
            const double mean = sqlite3_column_double(stmt, 1);
            if (row < 0 || row >= (int64_t)l->rows)
                continue;
            l->ns[(size_t)row * RIVALS_MAX + i] = mean;
            l->largest = fmax(l->largest, mean);
        }
        ok = code == SQLITE_DONE;
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return ok;
}

/* The first token, which takes far longer, is in the legend instead of on the scale. */
static bool write_latencies(const struct plot_runs *runs, const struct latencies *l, FILE *file)
{
    char text[800], first[UNITS_TEXT];
    bool ok = true;
    fputs("token", file);
    for (size_t i = 0; ok && i < runs->rival_count; i++) {
        const struct plot_run *run = runs->rivals[i];
        const struct run_numbers *n = &run->record.numbers;
        const bool completed = n->outcome == OUTCOME_COMPLETED;
        putc(',', file);
        snprintf(text, sizeof text, "%s%s%.500s%s%s", completed ? "" : run->record.outcome, completed ? "" : ": ",
                 run->label, n->ttft_ns >= 0 ? PLOT_BETWEEN "first after " : "",
                 n->ttft_ns >= 0 ? format_time(n->ttft_ns, first) : "");
        ok = plot_text(file, text, LABEL_CHARACTERS, false);
    }
    fputs(PLOT_TITLE_HEADS, file);
    run_subtitle(runs->chosen, runs->rival_count == 1, text, sizeof text);
    for (size_t row = 0; ok && row < l->rows; row++) {
        fprintf(file, "%" PRId64, l->first + (int64_t)row * l->stride);
        for (size_t i = 0; i < runs->rival_count; i++) {
            const double ns = l->ns[row * RIVALS_MAX + i];
            if (isnan(ns))
                putc(',', file);
            else
                fprintf(file, ",%.0f", ns);
        }
        ok = plot_titles(file, runs, text);
    }
    return ok;
}

bool figure_token_latency(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                          struct error *err)
{
    struct latencies l = {0};
    int64_t last;
    bool ok = token_range(store, runs, &l.first, &last);
    *drawn = ok && last >= 0;
    figure->missing = "no run has a second token";
    if (!*drawn)
        return ok || plot_query_failed(store, err);
    const int64_t span = last - l.first + 1;
    l.stride = (span + LATENCY_ROWS - 1) / LATENCY_ROWS;
    l.rows = (size_t)((span + l.stride - 1) / l.stride);
    l.ns = malloc(l.rows * RIVALS_MAX * sizeof *l.ns);
    if (!l.ns)
        return plot_no_memory(err);
    for (size_t i = 0; i < l.rows * RIVALS_MAX; i++)
        l.ns[i] = (double)NAN;
    ok = read_latencies(store, runs, &l) ? write_latencies(runs, &l, figure->data) || plot_no_memory(err)
                                         : plot_query_failed(store, err);
    char title[96] = "Latency of each token after the first";
    if (l.stride > 1)
        snprintf(title, sizeof title, "Latency of the tokens after the first, means of %" PRId64, l.stride);
    const unsigned series = (unsigned)runs->rival_count;
    script_begin(figure->script, figure->name, series + 3, series, runs->configs, script_legend_height(series));
    script_latencies(figure->script, title, axis_time(l.largest), series, l.rows);
    script_end(figure->script);
    free(l.ns);
    return ok;
}
