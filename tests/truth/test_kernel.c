/* What Linux 6.18 reads and faults for on a mapped file of 256 MiB in a memory cgroup, by the page cache and by its
 * twin, with one set of constants for all rows. POCKETLOAD_SHOW=1 prints what each gives. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/either_page_cache.h"
#include "tests/truth/truth_data.h"

#define FOLDER TRUTH_FOLDER "kernel/"
enum { ORDER, LIMIT, ADVICE, SCOPE, MAJOR_MIN, MAJOR_MAX, READ_MIN, READ_MAX, TOLERANCE, COLUMNS };

enum {
    PAGES = 65536,
    MIB_PAGES = 256,
    /* Of the cgroup's usage what is neither the file's nor its tables' and nodes': 404 KiB, measured on that machine as
     * usage less file, page tables and 576 bytes for each tree node. */
    BASE_PAGES = 101,
    CYCLES = 6,
    PASS_REGIONS_MAX = 4096,
};

/* What configs/devices/linux-cgroup.ini says: a disk image at a round 100 MB/s. Times only decide here which pages are
 * still in flight when reclaim or a fault meets them; scan_ns below is fitted to these rows with the others given (25
 * to 40 gives them all). */
static const struct flash_spec flash_spec = {.stream_bps = 100000000,
                                             .max_bps = 100000000,
                                             .queue_depth = 32,
                                             .command_bytes = 1 << 20,
                                             .hot_factor_ppm = 1000000};

struct pass {
    uint64_t major_faults, pages_read, pages;
};

/* An order of regions: of a file, one line a pass; or each region in turn, text NULL. */
struct order {
    char *text;
    uint32_t region_pages, stride, lock_pages;
};

static void order_parse(const char *name, struct order *order)
{
    struct error err;
    char path[256];
    size_t size;
    *order = (struct order){.region_pages = 8 * MIB_PAGES, .stride = 1};
    if (strncmp(name, "stride ", 7) == 0) {
        char *unit;
        order->stride = (uint32_t)strtoul(name + 7, &unit, 10) * (strncmp(unit, " MiB", 4) == 0 ? MIB_PAGES : 1);
        if (strncmp(unit, " KiB", 4) == 0)
            order->stride /= 4;
    } else if (strcmp(name, "cyclic+mlock of regions 0-1") == 0) {
        order->lock_pages = 2 * order->region_pages;
    } else if (strcmp(name, "cyclic") != 0) {
        if (strncmp(name, "moe", 3) == 0)
            order->region_pages = MIB_PAGES;
        snprintf(path, sizeof path, FOLDER "%s", name);
        if (!file_read(path, 1 << 20, false, &order->text, &size, &err))
            fail_because("%s", err.text);
    }
}

static enum page_advice advice_of(const char *name)
{
    if (strcmp(name, "normal") == 0)
        return PAGES_NORMAL;
    return strcmp(name, "sequential") == 0 ? PAGES_SEQUENTIAL : PAGES_RANDOM;
}

static void either_start(struct either *e, bool twin, const char *advice, uint64_t limit_mib, struct arena *arena)
{
    struct error err;
    const struct page_cache_spec spec = {.pages = PAGES,
                                         .processes = 1,
                                         .page_bytes = 4096,
                                         .base_bytes = 4096,
                                         .window_pages = 32,
                                         .around_pages = 16,
                                         .willneed_pages = 32,
                                         .advice = advice_of(advice),
                                         .prefault_young = true,
                                         .minor_ns = 1000,
                                         .major_ns = 2000,
                                         .scan_ns = 30,
                                         .batch_pages = 32};
    *e = (struct either){0};
    flash_init(&e->flash, &flash_spec);
    bool made = twin ? naive_page_cache_init(&e->twin, &spec, NULL, NULL, &e->flash, &e->now_ns, arena, &err)
                     : page_cache_init(&e->fast, &spec, &e->flash, &e->now_ns, arena, &err);
    if (!made)
        fail_because("%s", err.text);
    either_set_limit(e, limit_mib > 0 ? limit_mib * MIB_PAGES - BASE_PAGES : UINT64_MAX);
}

static void touch_region(struct either *e, const struct order *order, uint32_t region)
{
    struct page_walk walk = {.next = region * order->region_pages,
                             .end = (region + 1) * order->region_pages,
                             .stride = order->stride,
                             .total = order->region_pages / order->stride};
    assert_true(walk.end <= PAGES);
    assert_true(either_touch(e, 0, &walk, INT64_MAX));
}

/* The next pass; false after the last. */
static bool make_pass(struct either *e, const struct order *order, char **line, uint32_t number, struct pass *pass)
{
    struct page_counts before = either_counts(e);
    uint32_t regions = 0;
    if (order->text == NULL) {
        if (number == CYCLES)
            return false;
        for (; regions < PAGES / order->region_pages; regions++)
            touch_region(e, order, regions);
    } else {
        char *text = strsep(line, "\n");
        if (text == NULL || text[0] == '\0')
            return false;
        for (char *word; (word = strsep(&text, " ")) != NULL;)
            if (word[0] != '\0') {
                touch_region(e, order, (uint32_t)strtoul(word, NULL, 10));
                regions++;
            }
    }
    struct page_counts after = either_counts(e);
    *pass = (struct pass){.major_faults = after.major_faults - before.major_faults,
                          .pages_read = after.pages_read - before.pages_read,
                          .pages = (uint64_t)regions * order->region_pages};
    return true;
}

/* One figure against [min, max], widened by the row's tolerance, a share, and by half of the last digit printed. */
static bool inside(const struct truth_table *table, size_t row, size_t column, double value, double digit)
{
    char *const *cells = &table->cells[row * COLUMNS];
    if (cells[column][0] == '\0')
        return true;
    double share = strcmp(cells[TOLERANCE], "exact") == 0 ? 0.0 : truth_number(table, row, TOLERANCE);
    return value >= truth_number(table, row, column) * (1.0 - share) - digit / 2 &&
           value <= truth_number(table, row, column + 1) * (1.0 + share) + digit / 2;
}

static unsigned check_figures(const struct truth_table *table, size_t row, bool twin, uint32_t number,
                              const struct pass *pass)
{
    char *const *cells = &table->cells[row * COLUMNS];
    double read = (double)pass->pages_read / (double)pass->pages;
    bool good =
        inside(table, row, MAJOR_MIN, (double)pass->major_faults, 0.0) && inside(table, row, READ_MIN, read, 0.0001);
    if (!good || getenv("POCKETLOAD_SHOW") != NULL)
        print_message("# %s %s MiB %s %s, pass %u, %s: %llu major faults, %.4f read; measured %s to %s, %s to %s, "
                      "tolerance %s%s\n",
                      cells[ORDER], cells[LIMIT], cells[ADVICE], cells[SCOPE], number, twin ? "twin" : "page cache",
                      (unsigned long long)pass->major_faults, read, cells[MAJOR_MIN], cells[MAJOR_MAX], cells[READ_MIN],
                      cells[READ_MAX], cells[TOLERANCE], good ? "" : ": WRONG");
    return !good;
}

/* How many figures of a row are wrong. */
static unsigned check_row(const struct truth_table *table, size_t row, bool twin)
{
    char *const *cells = &table->cells[row * COLUMNS];
    struct arena arena = {0};
    struct either e;
    struct order order;
    struct pass pass, sum = {0};
    unsigned wrong = 0;
    order_parse(cells[ORDER], &order);
    either_start(&e, twin, cells[ADVICE], (uint64_t)truth_number(table, row, LIMIT), &arena);
    assert_true(either_lock(&e, 0, 0, order.lock_pages));
    char *line = order.text;
    uint32_t number = 0;
    for (; make_pass(&e, &order, &line, number, &pass); number++) {
        sum.major_faults += pass.major_faults;
        sum.pages_read += pass.pages_read;
        sum.pages += pass.pages;
        if (strcmp(cells[SCOPE], number == 0 ? "cold" : "steady") == 0)
            wrong += check_figures(table, row, twin, number, &pass);
    }
    assert_true(number > 1);
    if (strcmp(cells[SCOPE], "all") == 0)
        wrong += check_figures(table, row, twin, number, &sum);
    free(order.text);
    arena_free(&arena);
    return wrong;
}

static void check_rows(bool twin)
{
    if (!truth_available())
        skip();
    struct truth_table table;
    unsigned wrong = 0;
    truth_read(FOLDER "truth.csv", COLUMNS, &table);
    assert_int_equal(table.rows, 19);
    for (size_t row = 0; row < table.rows; row++)
        wrong += check_row(&table, row, twin);
    truth_free(&table);
    assert_int_equal(wrong, 0);
}

static void page_cache_gives_each_row(void **state)
{
    (void)state;
    check_rows(false);
}

static void its_twin_too(void **state)
{
    (void)state;
    check_rows(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(page_cache_gives_each_row), cmocka_unit_test(its_twin_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
