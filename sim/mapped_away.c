/* A mapped file while the app is in the background, and when it is ended there. docs/models.md section 10. */
#include <string.h>

#include "base/wide.h"
#include "sim/mapped_state.h"

uint64_t mapped_reclaim(struct run_state *run, uint32_t share_ppm)
{
    struct page_cache *cache = run->mapped->cache;
    const int64_t now_ns = run->now_ns;
    mapped_settle(run, now_ns);
    const uint64_t there = page_cache_resident(cache) - page_cache_locked(cache);
    const uint64_t want = (uint64_t)((wide)there * share_ppm / 1000000);
    uint64_t taken = 0, got = 1;
    while (taken < want && got > 0) {
        got = page_cache_reclaim(cache, want - taken);
        taken += got;
    }
    run->now_ns = now_ns; /* who wants the memory looks for it */
    if (!mapped_sync(run))
        run_kill(run, pressure_killed_by(run->pressure));
    return taken * run->mapped->layout.page_bytes;
}

void mapped_restart(struct run_state *run)
{
    struct mapped *m = run->mapped;
    mapped_settle(run, run->now_ns);
    for (uint32_t process = 0; process < run->processes; process++)
        page_cache_exit(m->cache, process);
    memset(m->known, 0, (size_t)run->model->block_count * run->processes * sizeof *m->known);
    if (m->locked)
        memset(m->locked, 0, (m->layout.pages / 64 + (size_t)1) * sizeof *m->locked);
    if (!mapped_sync(run))
        run_kill(run, pressure_killed_by(run->pressure));
}
