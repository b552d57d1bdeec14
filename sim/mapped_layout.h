/* Where a model's blocks lie in a mapped file: ranges of pages, in the file's order or with the most used blocks first.
 * docs/models.md section 10. */
#ifndef POCKETLOAD_SIM_MAPPED_LAYOUT_H
#define POCKETLOAD_SIM_MAPPED_LAYOUT_H

#include "sim/engine.h"
#include "workloads/model.h"

/* Pages [first, end) of the file, in granules of loader.page_bytes. */
struct page_range {
    uint32_t first, end;
};

struct mapped_layout {
    uint64_t page_bytes;
    uint32_t pages;            /* of the whole file */
    struct page_range *ranges; /* of block b: ranges[first[b]] .. ranges[first[b + 1] - 1], ascending, apart */
    uint32_t *first;           /* block_count + 1 of them */
};

/* Lays the model out in pages of page_bytes (a power of two). LAYOUT_FILE: extents where the file has them.
 * LAYOUT_HOT_FIRST: behind the file's header the blocks one after the other, those that the trace's steps name most
 * often first and of equals the one with the lower id, each in one piece at a multiple of 32 bytes (GGUF's alignment).
 * All arrays are the arena's. STATUS_USAGE for a file of more than PAGES_MAX pages, STATUS_IO without memory. */
bool mapped_layout_make(struct mapped_layout *layout, const struct model *model, const struct trace *trace,
                        enum file_layout order, uint64_t page_bytes, struct arena *arena, struct error *err);

/* How many pages a walk over the block's ranges touches, when it touches those of the file whose number is a multiple
 * of `stride`. */
uint64_t mapped_layout_touches(const struct mapped_layout *layout, block_id b, uint32_t stride);

/* The first such page that is not before `page`; it may lie beyond the file. */
static inline uint64_t mapped_layout_next(uint32_t page, uint32_t stride)
{
    return (page + stride - UINT64_C(1)) / stride * stride;
}

#endif
