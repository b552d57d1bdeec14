/* The progress bar. Wall-clock time is used here alone: no result depends on it. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

enum { BAR_CELLS = 30 };
#define SECOND_NS INT64_C(1000000000)
#define REFRESH_NS (SECOND_NS / 5)

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

void progress_start(struct progress *progress, size_t total, bool wanted)
{
    *progress = (struct progress){.total = total, .wanted = wanted && isatty(STDERR_FILENO) == 1, .start_ns = now_ns()};
    progress->shown_ns = progress->start_ns + SECOND_NS - REFRESH_NS;
}

void progress_show(struct progress *progress, size_t done)
{
    if (!progress->wanted || done == 0 || done > progress->total)
        return;
    int64_t now = now_ns();
    if (now - progress->shown_ns < REFRESH_NS)
        return;
    progress->shown_ns = now;
    progress->visible = true;
    char bar[BAR_CELLS + 1], left[UNITS_TEXT];
    size_t full = done * BAR_CELLS / progress->total;
    memset(bar, '#', full);
    memset(bar + full, '.', BAR_CELLS - full);
    bar[BAR_CELLS] = '\0';
    double rest = (double)(now - progress->start_ns) / (double)done * (double)(progress->total - done);
    int64_t rest_s = (int64_t)(rest / (double)SECOND_NS + 0.5);
    fprintf(stderr, "\r\033[K[%s] %zu/%zu runs, %s left", bar, done, progress->total,
            format_time(rest_s * SECOND_NS, left));
    fflush(stderr);
}

void progress_hide(struct progress *progress)
{
    if (!progress->visible)
        return;
    progress->visible = false;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
