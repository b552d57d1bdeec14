/* What Linux 6.18 reads and faults for on a mapped file of 256 MiB in a memory cgroup, by the page cache and by its
 * twin, with the constants of configs/devices/linux-cgroup.ini for all rows. POCKETLOAD_SHOW=1 prints what each gives.
 * Its scan_page is fitted to these rows with the others given (25 to 40 ns give them all): times only decide here which
 * pages are still in flight when reclaim or a fault meets them. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/validate_kernel.h"
#include "tests/cmocka_fixed.h"
#include "tests/reference/either_page_cache.h"
#include "tests/truth/truth_data.h"

#define FOLDER TRUTH_FOLDER "kernel"
enum { ORDER, LIMIT, ADVICE, SCOPE, MAJOR_MIN, MAJOR_MAX, READ_MIN, READ_MAX, TOLERANCE, COLUMNS };

struct pass {
    uint64_t major_faults, pages_read, pages;
};

static void either_start(struct either *e, bool twin, const struct device *device, const char *advice_name,
                         uint64_t limit_mib, struct arena *arena)
{
    struct error err;
    enum page_advice advice;
    assert_true(kernel_advice(advice_name, &advice));
    const struct page_cache_spec spec = kernel_cache_spec(device, advice);
    *e = (struct either){0};
    flash_init(&e->flash, &device->flash);
    bool made = twin ? naive_page_cache_init(&e->twin, &spec, NULL, NULL, &e->flash, &e->now_ns, arena, &err)
                     : page_cache_init(&e->fast, &spec, &e->flash, &e->now_ns, arena, &err);
    if (!made)
        fail_because("%s", err.text);
    either_set_limit(e, kernel_limit_pages(device, limit_mib));
}

static bool touch(void *host, struct page_walk *walk)
{
    return either_touch(host, 0, walk, INT64_MAX);
}

/* The next pass; false after the last. */
static bool make_pass(struct either *e, struct kernel_order *order, struct pass *pass)
{
    struct error err;
    struct page_counts before = either_counts(e);
    uint64_t pages;
    if (!kernel_next_pass(order, touch, e, &pages, &err))
        fail_because("%s", err.text);
    struct page_counts after = either_counts(e);
    *pass = (struct pass){.major_faults = after.major_faults - before.major_faults,
                          .pages_read = after.pages_read - before.pages_read,
                          .pages = pages};
    return pages > 0;
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
    struct kernel_order order;
    struct error err;
    struct device device;
    struct pass pass, sum = {0};
    unsigned wrong = 0;
    truth_device("linux-cgroup", &device);
    if (!kernel_order_read(cells[ORDER], FOLDER, &order, &err))
        fail_because("%s", err.text);
    either_start(&e, twin, &device, cells[ADVICE], (uint64_t)truth_number(table, row, LIMIT), &arena);
    assert_true(either_lock(&e, 0, 0, order.lock_pages));
    uint32_t number = 0;
    for (; make_pass(&e, &order, &pass); number++) {
        sum.major_faults += pass.major_faults;
        sum.pages_read += pass.pages_read;
        sum.pages += pass.pages;
        if (strcmp(cells[SCOPE], number == 0 ? "cold" : "steady") == 0)
            wrong += check_figures(table, row, twin, number, &pass);
    }
    assert_true(number > 1);
    if (strcmp(cells[SCOPE], "all") == 0)
        wrong += check_figures(table, row, twin, number, &sum);
    kernel_order_free(&order);
    arena_free(&arena);
    return wrong;
}

static void check_rows(bool twin)
{
    if (!truth_available())
        skip();
    struct truth_table table;
    unsigned wrong = 0;
    truth_read(FOLDER "/truth.csv", COLUMNS, &table);
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
