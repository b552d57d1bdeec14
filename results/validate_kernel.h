/* Orders in which regions of a mapped file were touched while a real kernel was counted, for any page cache. */
#ifndef POCKETLOAD_RESULTS_VALIDATE_KERNEL_H
#define POCKETLOAD_RESULTS_VALIDATE_KERNEL_H

#include "sim/device.h"
#include "sim/page_cache.h"

/* The file that was mapped has 256 MiB; "cyclic" and strides were walked so many times. */
enum { KERNEL_PAGES = 65536, KERNEL_MIB_PAGES = 256, KERNEL_CYCLES = 6 };

/* An order of regions: of a file, one line a pass; or each region in turn, text NULL. */
struct kernel_order {
    char *text, *rest; /* rest: the passes still to come */
    uint32_t region_pages, stride, lock_pages;
    uint32_t passes; /* made */
};

/* From a name of a truth file: "cyclic" (32 regions of 8 MiB), "cyclic+mlock of regions 0-1", "stride 64 KiB ..." (one
 * page touched each), or a file of `folder`, whose lines are passes and whose numbers are regions, of 1 MiB where the
 * name begins with "moe", else of 8 MiB. STATUS_INPUT for another name, STATUS_IO where the file cannot be read. Free
 * with kernel_order_free. */
bool kernel_order_read(const char *name, const char *folder, struct kernel_order *order, struct error *err);
void kernel_order_free(struct kernel_order *order);

/* "normal", "sequential", "random"; false for another word. */
bool kernel_advice(const char *name, enum page_advice *advice);

/* The page cache of that file on that device, and how many pages the limit of a control group leaves it (0 MiB: none).
 */
struct page_cache_spec kernel_cache_spec(const struct device *device, enum page_advice advice);
uint64_t kernel_limit_pages(const struct device *device, uint64_t limit_mib);

/* Touches the regions of the next pass through `touch`, which fails where there is no memory (STATUS_CHECK then).
 * *pages: how many pages the touched regions have; 0 behind the last pass. STATUS_INPUT for a region that the file
 * lacks. */
bool kernel_next_pass(struct kernel_order *order, bool (*touch)(void *host, struct page_walk *walk), void *host,
                      uint64_t *pages, struct error *err);

#endif
