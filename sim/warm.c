/* What the page cache holds of the file at launch. See warm.h. */
#include "sim/warm.h"

#include "base/units.h"
#include "base/wide.h"
#include "sim/mapped_state.h"

enum { NS_PER_S = 1000000000, PPM = 1000000 };

bool warm_init(struct run_state *run)
{
    const struct loader *loader = &run->spec->loader;
    const uint64_t file_bytes = run->model->file_bytes, bps = run->spec->device.copy_bps;
    run->warm = (struct warm_part){.from_bytes = UINT64_MAX, .copy_bps = bps};
    const bool mapped = loader->mode == LOADER_MMAP; /* of which the header alone is read */
    if (loader->warm_ppm == 0 || (mapped ? !(loader->stages & STAGE_PARSE) : loader->align_bytes > 1))
        return true;
    if (bps == 0 || (wide)file_bytes * NS_PER_S / bps >= (wide)1 << 59)
        return fail(run->err, STATUS_USAGE, "copying the file takes over 18 years at %llu B/s",
                    (unsigned long long)bps);
    if (!mapped)
        run->warm.from_bytes = file_bytes - (uint64_t)((wide)file_bytes * loader->warm_ppm / PPM);
    return true;
}

int64_t warm_copy(struct run_state *run, uint64_t before_bytes, uint64_t bytes)
{
    struct warm_part *warm = &run->warm;
    const int64_t start_ns = run->now_ns > warm->copy_free_ns ? run->now_ns : warm->copy_free_ns;
    warm->copy_free_ns = start_ns + (int64_t)scale_up(before_bytes + bytes, NS_PER_S, warm->copy_bps) -
                         (int64_t)scale_up(before_bytes, NS_PER_S, warm->copy_bps);
    if (!run->mapped) /* whose pages are counted already */
        run->numbers.bytes_warm += bytes;
    return warm->copy_free_ns;
}

void warm_pages(struct run_state *run)
{
    struct mapped *m = run->mapped;
    const uint32_t pages = (uint32_t)((wide)m->layout.pages * run->spec->loader.warm_ppm / PPM);
    if (pages == 0)
        return;
    mapped_set_limit(run);
    const uint32_t warm = page_cache_warm(m->cache, pages);
    run->numbers.bytes_warm += warm * m->layout.page_bytes;
    run->warm.from_bytes = (m->layout.pages - warm) * m->layout.page_bytes;
    mapped_sync(run);
}
