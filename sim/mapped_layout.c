/* From extents in bytes to ranges of pages. */
#include "sim/mapped_layout.h"

#include <stdlib.h>

#include "base/units.h"

enum { GGUF_ALIGNMENT = 32 }; /* gguf.md of ggml: general.alignment, default 32 */

static int by_first(const void *a, const void *b)
{
    const struct page_range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

struct hot {
    uint64_t heat, block;
};

static int by_heat(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;
    if (x->heat != y->heat)
        return (x->heat < y->heat) - (x->heat > y->heat);
    return (x->block > y->block) - (x->block < y->block);
}

/* The pages that hold bytes [begin, begin + bytes). False: beyond what can be counted. */
static bool add_range(struct mapped_layout *layout, uint64_t begin, uint64_t bytes, struct page_range *range,
                      struct error *err)
{
    uint64_t end, last, page = layout->page_bytes;
    if (!add(begin, bytes, &end) || !add(end, page - 1, &last) || last / page > PAGES_MAX)
        return fail(err, STATUS_USAGE, "the mapped file has more than %d pages of %llu bytes", PAGES_MAX,
                    (unsigned long long)page);
    *range = (struct page_range){(uint32_t)(begin / page), (uint32_t)(last / page)};
    if (range->end > layout->pages)
        layout->pages = range->end;
    return true;
}

static bool in_file_order(struct mapped_layout *layout, const struct model *model, struct error *err)
{
    uint32_t count = 0;
    for (block_id b = 0; b < model->block_count; b++) {
        const struct block *block = &model->blocks[b];
        struct page_range *own = layout->ranges + count;
        layout->first[b] = count;
        for (uint32_t e = 0; e < block->extent_count; e++) {
            const struct extent *extent = &model->extents[block->first_extent + e];
            if (!add_range(layout, extent->offset_bytes, extent->bytes, &own[e], err))
                return false;
        }
        qsort(own, block->extent_count, sizeof *own, by_first);
        uint32_t kept = 0;
        for (uint32_t e = 1; e < block->extent_count; e++) {
            if (own[e].first > own[kept].end)
                own[++kept] = own[e];
            else if (own[e].end > own[kept].end)
                own[kept].end = own[e].end;
        }
        count += kept + 1;
    }
    layout->first[model->block_count] = count;
    return true;
}

static uint64_t header_bytes(const struct model *model)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t e = 0; e < model->extent_count; e++) {
        if (model->extents[e].offset_bytes < first)
            first = model->extents[e].offset_bytes;
    }
    return first;
}

static bool hot_first(struct mapped_layout *layout, const struct model *model, const struct trace *trace,
                      struct arena *arena, struct error *err)
{
    const uint32_t n = model->block_count;
    uint64_t *heat = arena_alloc(arena, n, sizeof *heat), at = header_bytes(model);
    struct hot *order = arena_alloc(arena, n, sizeof *order);
    if (!heat || !order)
        return fail(err, STATUS_IO, "out of memory");
    trace_heat(trace, heat);
    for (block_id b = 0; b < n; b++)
        order[b] = (struct hot){heat[b], b};
    qsort(order, n, sizeof *order, by_heat);
    for (uint32_t i = 0; i < n; i++) {
        block_id b = (block_id)order[i].block;
        if (at <= UINT64_MAX - GGUF_ALIGNMENT)
            at = (at + GGUF_ALIGNMENT - 1) / GGUF_ALIGNMENT * GGUF_ALIGNMENT;
        layout->first[b] = b;
        if (!add_range(layout, at, model->blocks[b].bytes, &layout->ranges[b], err))
            return false;
        at += model->blocks[b].bytes;
    }
    layout->first[n] = n;
    return true;
}

bool mapped_layout_make(struct mapped_layout *layout, const struct model *model, const struct trace *trace,
                        enum file_layout order, uint64_t page_bytes, struct arena *arena, struct error *err)
{
    must(page_bytes > 0 && (page_bytes & (page_bytes - 1)) == 0);
    *layout = (struct mapped_layout){.page_bytes = page_bytes};
    layout->ranges = arena_alloc(arena, model->extent_count, sizeof *layout->ranges);
    layout->first = arena_alloc(arena, model->block_count + UINT64_C(1), sizeof *layout->first);
    if (!layout->ranges || !layout->first)
        return fail(err, STATUS_IO, "out of memory");
    struct page_range file;
    bool good = order == LAYOUT_FILE
                    ? in_file_order(layout, model, err) && add_range(layout, 0, model->file_bytes, &file, err)
                    : hot_first(layout, model, trace, arena, err);
    return good;
}

uint64_t mapped_layout_touches(const struct mapped_layout *layout, block_id b, uint32_t stride)
{
    uint64_t touches = 0;
    for (uint32_t r = layout->first[b]; r < layout->first[b + 1]; r++)
        touches += (layout->ranges[r].end + stride - UINT64_C(1)) / stride -
                   (layout->ranges[r].first + stride - UINT64_C(1)) / stride;
    return touches;
}
