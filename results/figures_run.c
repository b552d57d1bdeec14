/* The figures of one run and its rivals, over time and tokens: what each shows, as data. */
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/units.h"
#include "results/plot_data.h"
#include "results/plot_scripts.h"

static bool no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory for the figures");
}

static bool query_failed(struct store *store, struct error *err)
{
    return fail(err, STATUS_IO, "cannot read the runs: %s", sqlite3_errmsg(store_handle(store)));
}

struct moment {
    int64_t time_ns, classes[5], flash_bytes, rate;
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
    static const char sql[] = "SELECT time_ns, runtime_bytes, kv_bytes, activation_bytes, weights_bytes - "
                              "in_flight_bytes, in_flight_bytes, flash_bytes FROM sample WHERE run_key = ?1 "
                              "ORDER BY time_ns";
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(store_handle(store), sql, -1, &stmt, NULL);
    if (code == SQLITE_OK && (code = sqlite3_bind_text(stmt, 1, run_key, -1, SQLITE_STATIC)) == SQLITE_OK)
        code = SQLITE_ROW;
    *count = 0;
    while (code == SQLITE_ROW && *count < SAMPLES_MAX + 1 && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct moment *m = &moments[(*count)++];
        m->time_ns = sqlite3_column_int64(stmt, 0);
        for (int i = 0; i < 5; i++)
            m->classes[i] = sqlite3_column_int64(stmt, 1 + i);
        m->flash_bytes = sqlite3_column_int64(stmt, 6);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE || code == SQLITE_ROW;
}

/* The title of a figure of one run names the run. */
static void run_title(const struct plot_runs *runs, bool policy, char *out, size_t size)
{
    const struct run_record *record = runs->chosen;
    char budget[UNITS_TEXT];
    snprintf(out, size, "%.400s%s%.200s%s%s", runs->title, policy ? " \xC2\xB7 " : "",
             policy ? plot_label(runs, record) : "", record->budget_bytes > 0 ? " \xC2\xB7 budget " : "",
             record->budget_bytes > 0 ? format_bytes(record->budget_bytes, budget) : "");
}

bool figure_memory_over_time(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                             struct error *err)
{
    struct moment *moments = calloc(SAMPLES_MAX + 1, sizeof *moments);
    size_t count = 0;
    if (!moments)
        return no_memory(err);
    bool ok = read_moments(store, runs->chosen->run_key, moments, &count) || query_failed(store, err);
    *drawn = ok && count > 1 && moments[count - 1].time_ns > 0;
    if (*drawn) {
        char title[800];
        fill_rates(moments, count);
        run_title(runs, true, title, sizeof title);
        fputs("time_ns,runtime_bytes,kv_bytes,activation_bytes,weights_bytes,in_flight_bytes,flash_bytes_per_s,title\n",
              figure->data);
        for (size_t i = 0; ok && i < count; i++) {
            const struct moment *m = &moments[i];
            fprintf(figure->data, "%" PRId64, m->time_ns);
            for (int k = 0; k < 5; k++)
                fprintf(figure->data, ",%" PRId64, m->classes[k]);
            fprintf(figure->data, ",%" PRId64 ",", m->rate);
            ok = plot_text(figure->data, title, TITLE_CHARACTERS, false) || no_memory(err);
            putc('\n', figure->data);
        }
        script_begin(figure->script, figure->name, 8, 1);
        int64_t fastest = 0;
        for (size_t i = 0; i < count; i++)
            fastest = moments[i].rate > fastest ? moments[i].rate : fastest;
        script_memory(figure->script, axis_time((double)moments[count - 1].time_ns),
                      axis_bytes(runs->chosen->numbers.peak_memory_bytes), fastest);
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

/* Range of the token numbers of all rivals, of one phase or (NULL) of all. */
static bool token_range(struct store *store, const struct plot_runs *runs, const char *phase, int64_t *first,
                        int64_t *last)
{
    sqlite3_stmt *stmt = NULL;
    bool ok = sqlite3_prepare_v2(store_handle(store),
                                 "SELECT min(token), max(token) FROM token WHERE run_key = ?1 AND phase = "
                                 "coalesce(?2, phase)",
                                 -1, &stmt, NULL) == SQLITE_OK;
    *first = INT64_MAX;
    *last = -1;
    for (size_t i = 0; ok && i < runs->rival_count; i++) {
        ok = sqlite3_bind_text(stmt, 1, runs->rivals[i]->run_key, -1, SQLITE_STATIC) == SQLITE_OK &&
             sqlite3_bind_text(stmt, 2, phase, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW;
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

static bool read_latencies(struct store *store, const struct plot_runs *runs, const char *phase, struct latencies *l)
{
    sqlite3_stmt *stmt = NULL;
    bool ok = sqlite3_prepare_v2(store_handle(store),
                                 "SELECT (token - ?3) / ?4, avg(latency_ns) FROM token WHERE run_key = ?1 AND "
                                 "phase = coalesce(?2, phase) GROUP BY 1",
                                 -1, &stmt, NULL) == SQLITE_OK;
    for (size_t i = 0; ok && i < runs->rival_count; i++) {
        ok = sqlite3_bind_text(stmt, 1, runs->rivals[i]->run_key, -1, SQLITE_STATIC) == SQLITE_OK &&
             sqlite3_bind_text(stmt, 2, phase, -1, SQLITE_STATIC) == SQLITE_OK &&
             sqlite3_bind_int64(stmt, 3, l->first) == SQLITE_OK && sqlite3_bind_int64(stmt, 4, l->stride) == SQLITE_OK;
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
static bool write_latencies(const struct plot_runs *runs, const struct latencies *l, bool decode, FILE *file)
{
    char text[800], first[UNITS_TEXT];
    bool ok = true;
    fputs("token", file);
    for (size_t i = 0; ok && i < runs->rival_count; i++) {
        const struct run_record *record = runs->rivals[i];
        const bool told = decode && record->numbers.ttft_ns >= 0;
        putc(',', file);
        snprintf(text, sizeof text, "%.500s%s%s%s", plot_label(runs, record), told ? " (first: " : "",
                 told ? format_time(record->numbers.ttft_ns, first) : "", told ? ")" : "");
        ok = plot_text(file, text, LABEL_CHARACTERS, false);
    }
    fputs(",title\n", file);
    run_title(runs, false, text, sizeof text);
    for (size_t row = 0; ok && row < l->rows; row++) {
        fprintf(file, "%" PRId64, l->first + (int64_t)row * l->stride);
        for (size_t i = 0; i < runs->rival_count; i++) {
            const double ns = l->ns[row * RIVALS_MAX + i];
            if (isnan(ns))
                putc(',', file);
            else
                fprintf(file, ",%.0f", ns);
        }
        putc(',', file);
        ok = plot_text(file, text, TITLE_CHARACTERS, false);
        putc('\n', file);
    }
    return ok;
}

bool figure_token_latency(struct store *store, const struct plot_runs *runs, struct figure *figure, bool *drawn,
                          struct error *err)
{
    const char *phase = "decode";
    struct latencies l = {0};
    int64_t last;
    bool ok = token_range(store, runs, phase, &l.first, &last);
    if (ok && last < 0) {
        phase = NULL;
        ok = token_range(store, runs, phase, &l.first, &last);
    }
    *drawn = ok && last >= 0;
    if (!*drawn)
        return ok || query_failed(store, err);
    const int64_t span = last - l.first + 1;
    l.stride = (span + LATENCY_ROWS - 1) / LATENCY_ROWS;
    l.rows = (size_t)((span + l.stride - 1) / l.stride);
    l.ns = malloc(l.rows * RIVALS_MAX * sizeof *l.ns);
    if (!l.ns)
        return no_memory(err);
    for (size_t i = 0; i < l.rows * RIVALS_MAX; i++)
        l.ns[i] = (double)NAN;
    ok = read_latencies(store, runs, phase, &l)
             ? write_latencies(runs, &l, phase != NULL, figure->data) || no_memory(err)
             : query_failed(store, err);
    char title[96];
    snprintf(title, sizeof title, "Latency of each %stoken", phase ? "decoded " : "");
    if (l.stride > 1)
        snprintf(title, sizeof title, "Latency of %stokens, means of %" PRId64, phase ? "decoded " : "", l.stride);
    script_begin(figure->script, figure->name, (unsigned)runs->rival_count + 2, (unsigned)runs->rival_count);
    script_lines(figure->script, title, "token", (struct axis_unit){"", 1}, "latency", axis_time(l.largest),
                 (unsigned)runs->rival_count, false);
    script_end(figure->script);
    free(l.ns);
    return ok;
}
