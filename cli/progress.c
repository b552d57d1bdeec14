/* The progress bar. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"

enum { BAR_CELLS = 30 };
#define SECOND_NS INT64_C(1000000000)
#define REFRESH_NS (SECOND_NS / 5)

void progress_start(struct progress *progress, size_t total, bool wanted)
{
    *progress = (struct progress){
        .total = total, .unit = "runs", .wanted = wanted && isatty(STDERR_FILENO) == 1, .start_ns = wall_clock_ns()};
    progress->shown_ns = progress->start_ns + SECOND_NS - REFRESH_NS;
}

void progress_show(struct progress *progress, size_t done)
{
    if (!progress->wanted || done == 0 || done > progress->total)
        return;
    int64_t now = wall_clock_ns();
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
    fprintf(stderr, "\r\033[K[%s] %zu/%zu %s, %s left", bar, done, progress->total, progress->unit,
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
