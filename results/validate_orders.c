/* See validate_kernel.h. */
#include "results/validate_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/units.h"

enum { ORDER_FILE_MAX = 1 << 20, ORDER_PATH = 4096, PASSES_MAX = 10000 };

static bool is_unit(const char *text, const char *unit)
{
    const size_t length = strlen(unit);
    return strncmp(text, unit, length) == 0 && (text[length] == '\0' || text[length] == ' ');
}

/* "stride 64 KiB", "stride 1 MiB", and anything behind a blank. */
static bool read_stride(const char *text, struct kernel_order *order, struct error *err)
{
    char number[16];
    uint64_t value, bytes = 0;
    const size_t digits = strspn(text, "0123456789");
    if (digits > 0 && digits < sizeof number) {
        memcpy(number, text, digits);
        number[digits] = '\0';
        if (parse_count(number, 1, 1 << 20, &value, err))
            bytes = is_unit(text + digits, " KiB") ? value << 10 : is_unit(text + digits, " MiB") ? value << 20 : 0;
    }
    order->stride = (uint32_t)(bytes / 4096);
    if (bytes == 0 || bytes % 4096 != 0 || order->region_pages % order->stride != 0)
        return fail(err, STATUS_INPUT,
                    "order \"stride %.40s\": expected such as stride 64 KiB, of whole pages that divide 8 MiB", text);
    return true;
}

bool kernel_order_read(const char *name, const char *folder, struct kernel_order *order, struct error *err)
{
    char path[ORDER_PATH];
    size_t size;
    *order = (struct kernel_order){.region_pages = 8 * KERNEL_MIB_PAGES, .stride = 1};
    if (strncmp(name, "stride ", 7) == 0)
        return read_stride(name + 7, order, err);
    if (strcmp(name, "cyclic+mlock of regions 0-1") == 0)
        order->lock_pages = 2 * order->region_pages;
    if (strcmp(name, "cyclic") == 0 || order->lock_pages > 0)
        return true;
    const size_t length = strlen(name);
    if (length < 5 || strcmp(name + length - 4, ".txt") != 0 || strchr(name, '/') != NULL || name[0] == '.')
        return fail(err, STATUS_INPUT,
                    "order \"%.40s\": expected cyclic, cyclic+mlock of regions 0-1, stride SIZE, or a file NAME.txt "
                    "beside this one",
                    name);
    if (strncmp(name, "moe", 3) == 0)
        order->region_pages = KERNEL_MIB_PAGES;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return fail(err, STATUS_INPUT, "order \"%.40s\": its path is too long", name);
    if (!file_read(path, ORDER_FILE_MAX, false, &order->text, &size, err))
        return false;
    order->rest = order->text;
    return true;
}

void kernel_order_free(struct kernel_order *order)
{
    free(order->text);
    *order = (struct kernel_order){0};
}

bool kernel_advice(const char *name, enum page_advice *advice)
{
    static const char *const names[] = {
        [PAGES_NORMAL] = "normal", [PAGES_SEQUENTIAL] = "sequential", [PAGES_RANDOM] = "random"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *advice = (enum page_advice)i;
            return true;
        }
    return false;
}

struct page_cache_spec kernel_cache_spec(const struct device *device, enum page_advice advice)
{
    return (struct page_cache_spec){.pages = KERNEL_PAGES,
                                    .processes = 1,
                                    .page_bytes = device->page_bytes,
                                    .base_bytes = device->page_bytes,
                                    .window_pages = (uint32_t)(device->readahead_bytes / device->page_bytes),
                                    .around_pages = (uint32_t)(device->fault_around_bytes / device->page_bytes),
                                    .willneed_pages = (uint32_t)(device->willneed_bytes / device->page_bytes),
                                    .advice = advice,
                                    .prefault_young = device->prefault_young,
                                    .minor_ns = device->minor_fault_ns,
                                    .major_ns = device->major_fault_ns,
                                    .scan_ns = device->scan_page_ns,
                                    .batch_pages = 32};
}

uint64_t kernel_limit_pages(const struct device *device, uint64_t limit_mib)
{
    const uint64_t own = device->runtime_bytes / device->page_bytes, limit = limit_mib * KERNEL_MIB_PAGES;
    return limit_mib == 0 ? UINT64_MAX : limit > own ? limit - own : 0;
}

static bool touch_region(const struct kernel_order *order, uint32_t region,
                         bool (*touch)(void *host, struct page_walk *walk), void *host, struct error *err)
{
    struct page_walk walk = {.next = region * order->region_pages,
                             .end = (region + 1) * order->region_pages,
                             .stride = order->stride,
                             .total = order->region_pages / order->stride};
    return touch(host, &walk) || fail(err, STATUS_CHECK, "no memory for the pages of region %u", region);
}

bool kernel_next_pass(struct kernel_order *order, bool (*touch)(void *host, struct page_walk *walk), void *host,
                      uint64_t *pages, struct error *err)
{
    const uint32_t regions = KERNEL_PAGES / order->region_pages;
    uint64_t touched = 0;
    *pages = 0;
    if (order->text == NULL) {
        for (; order->passes < KERNEL_CYCLES && touched < regions; touched++)
            if (!touch_region(order, (uint32_t)touched, touch, host, err))
                return false;
    } else {
        char *text = order->passes < PASSES_MAX ? strsep(&order->rest, "\n") : NULL;
        for (char *word; text != NULL && (word = strsep(&text, " \r")) != NULL;) {
            uint64_t region;
            if (word[0] == '\0')
                continue;
            if (!parse_count(word, 0, regions - 1, &region, err)) {
                err->code = STATUS_INPUT;
                return fail_in(err, "pass %u of the order", order->passes + 1);
            }
            if (!touch_region(order, (uint32_t)region, touch, host, err))
                return false;
            touched++;
        }
    }
    order->passes++;
    *pages = touched * order->region_pages;
    return true;
}
