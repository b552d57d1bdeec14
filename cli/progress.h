/* A progress bar with the time that is left, on stderr: only on a terminal, and only once a second has gone by. */
#ifndef POCKETLOAD_CLI_PROGRESS_H
#define POCKETLOAD_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    bool visible; /* something is on the line now */
    bool wanted;
    const char *unit; /* what is counted: "runs" unless the caller sets it after the start */
    size_t total;
    int64_t start_ns, shown_ns;
};

void progress_start(struct progress *progress, size_t total, bool wanted);
/* `done` of the total are finished. Cheap: may be called for each. */
void progress_show(struct progress *progress, size_t done);
/* Takes the bar away, before other output and at the end. */
void progress_hide(struct progress *progress);

#endif
