/* Tables of measured rates: what is read, and the line that is said of what is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/calibrate_table.h"
#include "tests/cmocka_fixed.h"

static char path[64];

static bool read_text(const char *text, struct flash_table *table, struct error *err)
{
    strcpy(path, "/tmp/pocketload-unit-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    bool good = flash_table_read(path, table, err);
    unlink(path);
    return good;
}

static void check_point(const struct flash_point *point, uint64_t lanes, uint64_t bytes, double bps)
{
    assert_true(point->lanes == lanes && point->block_bytes == bytes);
    assert_true(point->bps > bps * (1 - 1e-12) && point->bps < bps * (1 + 1e-12));
}

static void reads_tables(void **state)
{
    (void)state;
    struct flash_table table;
    struct error err;
    if (!read_text(
            "# fio, phone of mine\n\nlanes,block_kib,mib_per_s,latency_ms\n1,4096,1810,2.21\r\n 2 , 0.5, 954.25,\n"
            "4,128,12\n# end\n",
            &table, &err))
        fail_because("%s", err.text);
    assert_int_equal(table.count, 3);
    check_point(&table.points[0], 1, 4194304, 1810.0 * 1048576);
    check_point(&table.points[1], 2, 512, 954.25 * 1048576);
    check_point(&table.points[2], 4, 131072, 12.0 * 1048576);
    flash_table_free(&table);
    assert_true(read_text("mib_per_s,lanes,block_kib\n7,3,64", &table, &err));
    check_point(&table.points[0], 3, 65536, 7.0 * 1048576);
    flash_table_free(&table);
}

static void refuses(const char *text, const char *said)
{
    struct flash_table table;
    struct error err = {0};
    if (read_text(text, &table, &err))
        fail_because("read: %s", text);
    flash_table_free(&table);
    size_t length = strlen(path);
    assert_int_equal(err.code, STATUS_INPUT);
    assert_memory_equal(err.text, path, length);
    if (strcmp(err.text + length, said) != 0)
        fail_because("said \"%s\", expected \"%s\"", err.text + length, said);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    static const char header[] = "lanes,block_kib,mib_per_s,latency_ms\n";
    char text[256];
    refuses("", ": no table in it: expected a line lanes,block_kib,mib_per_s");
    refuses("# nothing\n", ": no table in it: expected a line lanes,block_kib,mib_per_s");
    refuses("lanes,block_kb,mib_per_s\n", ":1: unknown column \"block_kb\": did you mean block_kib?");
    refuses("lanes,lanes,mib_per_s\n", ":1: column lanes stands there twice");
    refuses("\nlanes,mib_per_s\n",
            ":2: column block_kib is missing: expected lanes,block_kib,mib_per_s and perhaps latency_ms");
    snprintf(text, sizeof text, "%s1,4\n", header);
    refuses(text, ":2: 2 cells: expected 4");
    snprintf(text, sizeof text, "%s1,4,5,6,7\n", header);
    refuses(text, ":2: more cells than the 4 of the header");
    snprintf(text, sizeof text, "%s1,4,0,\n", header);
    refuses(text, ":2: mib_per_s: \"0\": expected more than 0");
    snprintf(text, sizeof text, "%s1,0.0001,7,\n", header);
    refuses(text, ":2: block_kib: \"0.0001\" KiB are no whole number of bytes");
    snprintf(text, sizeof text, "latency_ms,lanes,block_kib,mib_per_s\n1,1,4\n");
    refuses(text, ":2: 3 cells: expected 4");
    static const char *const cells[] = {"x,4,5",   "0,4,5",   "5000,4,5", "1,4,-5",
                                        "1,4,nan", "1,4,1e9", "1,,5",     "1,4,5,x"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct flash_table table;
        struct error err = {0};
        snprintf(text, sizeof text, "%s%s\n", header, cells[i]);
        if (read_text(text, &table, &err))
            fail_because("read: %s", cells[i]);
        flash_table_free(&table);
        assert_int_equal(err.code, STATUS_INPUT);
        assert_memory_equal(err.text + strlen(path), ":2: ", 4);
    }
}

static void refuses_too_many(void **state)
{
    (void)state;
    char *text = calloc(FLASH_POINTS_MAX + 2, 16);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "lanes,block_kib,mib_per_s\n");
    for (int i = 0; i <= FLASH_POINTS_MAX; i++)
        used += (size_t)sprintf(text + used, "1,4,5\n");
    refuses(text, ":4098: more than 4096 rows");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tables),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(refuses_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
