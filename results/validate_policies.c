/* Policies alone, against counts of other simulators on the same traces: exact. */
#include "results/validate_policies.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "results/validate_parts.h"
#include "sim/measure_replay.h"

enum { TRACE, POLICY, PARAMS, CAPACITY, REQUESTS, MISSES, BYTES, MISSED };
enum { LIRS_TRACE, LIRS_CAPACITY, LIRS_FIRST };

/* Counts end below 2^53, which a double holds exactly. */
#define COUNT_MAX 9e15

static const struct truth_column columns[] = {
    [TRACE] = {"trace", TRUTH_TEXT, 0, 0},
    [POLICY] = {"policy", TRUTH_TEXT, 0, 0},
    [PARAMS] = {"params", TRUTH_TEXT, TRUTH_MAY_BE_EMPTY, 0},
    [CAPACITY] = {"cache_objs", TRUTH_COUNT, 0, COUNT_MAX},
    [REQUESTS] = {"requests", TRUTH_COUNT, 0, COUNT_MAX},
    [MISSES] = {"misses", TRUTH_COUNT, 0, COUNT_MAX},
};

static const struct truth_column byte_columns[] = {
    [TRACE] = {"trace", TRUTH_TEXT, 0, 0},
    [POLICY] = {"policy", TRUTH_TEXT, 0, 0},
    [PARAMS] = {"params", TRUTH_TEXT, TRUTH_MAY_BE_EMPTY, 0},
    [CAPACITY] = {"cache_bytes", TRUTH_COUNT, 0, COUNT_MAX},
    [REQUESTS] = {"requests", TRUTH_COUNT, 0, COUNT_MAX},
    [MISSES] = {"misses", TRUTH_COUNT, 0, COUNT_MAX},
    [BYTES] = {"request_bytes", TRUTH_COUNT, 0, COUNT_MAX},
    [MISSED] = {"miss_bytes", TRUTH_COUNT, 0, COUNT_MAX},
};

static const struct truth_column lirs_columns[] = {
    [LIRS_TRACE] = {"trace", TRUTH_TEXT, 0, 0},
    [LIRS_CAPACITY] = {"capacity_objects", TRUTH_COUNT, 0, COUNT_MAX},
    [LIRS_FIRST] = {"lru", TRUTH_COUNT, TRUTH_MAY_BE_EMPTY, COUNT_MAX},
    {"fifo", TRUTH_COUNT, TRUTH_MAY_BE_EMPTY, COUNT_MAX},
    {"belady", TRUTH_COUNT, TRUTH_MAY_BE_EMPTY, COUNT_MAX},
};

enum { PATH_BYTES = 4096 };

static const struct name {
    const char *policy, *params, *ours;
} names[] = {
    {"lru", "", "lru"},
    {"fifo", "", "fifo"},
    {"lfu", "", "lfu"},
    {"clock", "n-bit-counter=1", "clock(bits=1)"},
    {"clock", "n-bit-counter=2", "clock(bits=2)"},
    {"sieve", "", "sieve"},
    {"s3fifo", "fifo-size-ratio=0.10;ghost-size-ratio=0.90;move-to-main-threshold=1",
     "s3-fifo(small=10%,ghost=90%,threshold=1)"},
    {"s3fifo", "fifo-size-ratio=0.10;ghost-size-ratio=0.90;move-to-main-threshold=2",
     "s3-fifo(small=10%,ghost=90%,threshold=2)"},
    {"twoq", "Ain-size-ratio=0.25;Aout-size-ratio=0.5", "2q(in=25%,out=50%)"},
    {"arc", "", "arc"},
    {"lirs", "hirs-ratio=0.01", "lirs(hir=1%)"},
    {"slru", "n-seg=4", "slru(segments=4)"},
    {"belady", "", "belady"},
};

const char *policy_of_libcachesim(const char *policy, const char *params)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(policy, names[i].policy) == 0 && strcmp(params, names[i].params) == 0)
            return names[i].ours;
    return NULL;
}

/* ---- Traces ---- */

/* The trace that is open, as rows of one trace follow one another. */
struct open_trace {
    char name[64];
    bool there, has_bytes;
    struct trace trace;
    struct model model;
};

static void close_trace(struct open_trace *open)
{
    if (open->there) {
        trace_free(&open->trace);
        model_free(&open->model);
    }
    *open = (struct open_trace){0};
}

/* NAME.END beside the truth file. False with the reason where there is none or it cannot be read. */
static bool open_trace(const struct truth_file *file, const char *name, const char *end, struct open_trace *open,
                       char *why, size_t why_size)
{
    char path[PATH_BYTES];
    struct error err;
    if (strcmp(open->name, name) == 0 && open->name[0] != '\0') {
        snprintf(why, why_size, "the trace %.60s%s is not beside this file", name, end);
        return open->there;
    }
    close_trace(open);
    snprintf(open->name, sizeof open->name, "%.63s", name);
    const char *slash = strrchr(file->path, '/');
    const int length = snprintf(path, sizeof path, "%.*s/%s%s", slash != NULL ? (int)(slash - file->path) : 1,
                                slash != NULL ? file->path : ".", name, end);
    if (length >= (int)sizeof path || strchr(name, '/') != NULL || name[0] == '.' || access(path, R_OK) != 0) {
        snprintf(why, why_size, "the trace %.60s%s is not beside this file", name, end);
        return false;
    }
    open->there = trace_read_alone(path, "auto", &open->trace, &open->model, &open->has_bytes, &err);
    if (!open->there)
        snprintf(why, why_size, "%.190s", err.text);
    return open->there;
}

static bool replay(const struct open_trace *open, const char *policy, double capacity, bool by_objects,
                   struct replay_result *result, struct error *err)
{
    struct policy_choice choice;
    struct arena arena = {0};
    if (!policy_parse(policy, &choice, err))
        return false;
    struct replay_spec spec = {.model = &open->model,
                               .trace = &open->trace,
                               .capacity_bytes = (uint64_t)capacity,
                               .by_objects = by_objects,
                               .evict = {choice.evict.policy, {.values = choice.evict.values}},
                               .seed = 1};
    const bool good = replay_run(&spec, &arena, result, err);
    arena_free(&arena);
    return good;
}

/* ---- libCacheSim ---- */

static bool compare_counts(const struct truth_place *place, const struct open_trace *open, const char *ours,
                           bool by_objects, struct error *err)
{
    const struct truth_cell *cells = place->row->cells;
    const double none = (double)NAN;
    struct replay_result result;
    struct error reason;
    const bool good = replay(open, ours, cells[CAPACITY].number, by_objects, &result, &reason);
    const char *note = good ? "" : reason.text;
    if ((double)open->trace.access_count != cells[REQUESTS].number)
        return truth_add(place, "requests", cells[REQUESTS].number, (double)open->trace.access_count, 0,
                         "another trace", err);
    return truth_add(place, "misses", cells[MISSES].number, good ? (double)result.misses : none, 0, note, err) &&
           (by_objects || truth_add(place, "miss_bytes", cells[MISSED].number, good ? (double)result.bytes_read : none,
                                    0, note, err));
}

static bool compare_rows(struct validating *validating, const struct truth_file *file, bool by_objects,
                         struct error *err)
{
    struct open_trace open = {0};
    bool good = true;
    for (size_t i = 0; good && i < file->row_count; i++) {
        const struct truth_cell *cells = file->rows[i].cells;
        char subject[240], why[200];
        const char *ours = policy_of_libcachesim(cells[POLICY].text, cells[PARAMS].text);
        snprintf(subject, sizeof subject, "%.60s, %.60s at %.0f%s", cells[TRACE].text,
                 ours != NULL ? ours : cells[POLICY].text, cells[CAPACITY].number, by_objects ? "" : " bytes");
        const struct truth_place place = {validating, file, &file->rows[i], subject};
        if (ours == NULL)
            good = truth_skip(&place, "no policy of ours is that one", err);
        else if (!open_trace(file, cells[TRACE].text, ".txt", &open, why, sizeof why))
            good = truth_skip(&place, why, err);
        else if (!by_objects && !open.has_bytes)
            good = truth_skip(&place, "the trace has no sizes", err);
        else
            good = compare_counts(&place, &open, ours, by_objects, err);
    }
    close_trace(&open);
    return good;
}

static bool compare_objects(struct validating *validating, const struct truth_file *file, struct error *err)
{
    return compare_rows(validating, file, true, err);
}

static bool compare_bytes(struct validating *validating, const struct truth_file *file, struct error *err)
{
    return compare_rows(validating, file, false, err);
}

/* ---- Hits on the traces of the LIRS authors ---- */

static bool compare_lirs(struct validating *validating, const struct truth_file *file, struct error *err)
{
    struct open_trace open = {0};
    bool good = true;
    for (size_t i = 0; good && i < file->row_count; i++) {
        const struct truth_cell *cells = file->rows[i].cells;
        for (size_t c = LIRS_FIRST; good && c < sizeof lirs_columns / sizeof *lirs_columns; c++) {
            char subject[160], why[200];
            struct replay_result result;
            struct error reason;
            snprintf(subject, sizeof subject, "%.60s, %s at %.0f", cells[LIRS_TRACE].text, lirs_columns[c].name,
                     cells[LIRS_CAPACITY].number);
            const struct truth_place place = {validating, file, &file->rows[i], subject};
            if (!open_trace(file, cells[LIRS_TRACE].text, ".trace", &open, why, sizeof why)) {
                good = truth_skip(&place, why, err);
                break;
            }
            const bool ran = replay(&open, lirs_columns[c].name, cells[LIRS_CAPACITY].number, true, &result, &reason);
            good = truth_add(&place, "hits", cells[c].number, ran ? (double)result.hits : (double)NAN, 0,
                             ran ? "" : reason.text, err);
        }
    }
    close_trace(&open);
    return good;
}

const struct truth_family truth_cachesim = {.name = "policies", TRUTH_COLUMN_LIST(columns), .compare = compare_objects};
const struct truth_family truth_cachesim_bytes = {
    .name = "policies", TRUTH_COLUMN_LIST(byte_columns), .compare = compare_bytes};
const struct truth_family truth_lirs = {.name = "policies", TRUTH_COLUMN_LIST(lirs_columns), .compare = compare_lirs};
