/* What the benchmarks share: a clock, repeated measurement with its spread, a table, and small cyclic traces. */
#ifndef POCKETLOAD_BENCH_MEASURE_H
#define POCKETLOAD_BENCH_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "workloads/trace.h"

enum { ROUNDS = 9 };

/* Seconds of each round; after measure_sort in ascending order. */
struct rounds {
    double seconds[ROUNDS];
};

/* Of this process's processor time: what other processes do disturbs it least. */
static inline double now_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline int compare_seconds(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static inline void sort_rounds(struct rounds *rounds)
{
    qsort(rounds->seconds, ROUNDS, sizeof *rounds->seconds, compare_seconds);
}

static inline double median_seconds(const struct rounds *rounds)
{
    return rounds->seconds[ROUNDS / 2];
}

_Noreturn static inline void give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(STATUS_CHECK);
}

/* One row: millions of accesses a second of processor time, of the slowest, the middle and the fastest round, the
 * floor's middle, and how many times the floor's time is taken. */
static inline void print_head(const char *title)
{
    printf("\n%s (%d rounds)\n", title, ROUNDS);
    printf("%-36s %9s | %8s %8s %8s | %9s %6s | %s\n", "case", "accesses", "M/s min", "median", "max", "floor M/s",
           "ratio", "hits");
}

static inline void print_row(const char *name, uint64_t accesses, struct rounds *rounds, struct rounds *floor,
                             uint64_t hits)
{
    sort_rounds(rounds);
    sort_rounds(floor);
    double millions = (double)accesses / 1e6;
    printf("%-36s %8.1fM | %8.1f %8.1f %8.1f | %9.1f %6.2f | %.1f %%\n", name, millions,
           millions / rounds->seconds[ROUNDS - 1], millions / median_seconds(rounds), millions / rounds->seconds[0],
           millions / median_seconds(floor), median_seconds(rounds) / median_seconds(floor),
           100.0 * (double)hits / (double)accesses);
    fflush(stdout);
}

/* A model of `blocks` blocks of 1 MiB each, and a trace that names the given blocks in turn, one a step, `repeat`
 * times over. compute_ns: of each step; -1: the trace computes nothing. */
static inline void make_trace(uint32_t blocks, const block_id *uses, uint32_t use_count, uint32_t repeat,
                              int64_t compute_ns, struct model *model, struct trace *trace)
{
    struct error err;
    char list[64];
    struct trace_builder builder;
    struct segment segment = {.repeat = repeat, .phase = PHASE_DECODE, .context_growth = 1};
    snprintf(list, sizeof list, "%u x 1MiB", blocks);
    uint32_t work = 0;
    bool ok = model_from_blocks("bench", list, model, &err) && trace_start(&builder, trace, "bench", &err) &&
              (compute_ns < 0 || trace_add_work(&builder, compute_ns, 0, 0, NULL, 0, &work, &err)) &&
              trace_add_segment(&builder, &segment, &err);
    for (uint32_t i = 0; ok && i < use_count; i++)
        ok = trace_add_step(&builder, work, &err) &&
             trace_add_use(&builder, uses != NULL ? uses[i] : i % blocks, 0, &err);
    if (!ok || !trace_finish(&builder, model, &err))
        give_up("trace", err.text);
}

#endif
