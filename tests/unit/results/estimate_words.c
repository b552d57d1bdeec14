/* The estimates of many runs as one list. */
#include "results/estimate_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cmocka_fixed.h"

static void prints(const char *const *lists, size_t count, const char *expected)
{
    struct run_record records[4] = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    for (size_t i = 0; i < count; i++)
        records[i].estimates = lists[i];
    assert_true(estimates_print(file, records, count));
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void each_key_once_in_the_order_of_the_runs(void **state)
{
    (void)state;
    /* A key that begins like another is a key of its own. */
    static const char *const lists[] = {"device.flops_f16 device.kill", NULL, "device.kill device.flops",
                                        "device.flops_f16"};
    prints(lists, 4, "\nestimates: device.flops_f16 device.kill device.flops (nobody measured or published these)\n");
    static const char *const none[] = {"", NULL};
    prints(none, 2, "");
}

static void what_is_cut_is_said(void **state)
{
    (void)state;
    static const char *const cut[] = {"device.ram ...", "device.kill"};
    prints(cut, 2, "\nestimates: device.ram device.kill ... (nobody measured or published these)\n");
    static const char *const many[] = {"a b c d e f g h i j k l m n o p q r s t u v w"};
    prints(many, 1,
           "\nestimates: a b c d e f g h i j k l m n o p q r s t and 3 more: see the records' column estimates\n"
           "           (nobody measured or published these)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_once_in_the_order_of_the_runs),
        cmocka_unit_test(what_is_cut_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
