/* The list of other apps: what it accepts, what it says of what it does not, and the timeline. */
#include "sim/apps.h"

#include <stdio.h>
#include <string.h>

#include "tests/cmocka_fixed.h"

enum { MIB = 1 << 20 };

static const int64_t SECOND = 1000000000;

static void the_example_is_read(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct app_spec *apps;
    uint32_t count;
    struct error err;
    assert_true(apps_parse(" mail:900:200MiB camera:0:900MiB@2s\tsync:-905:50MiB@1s+20MiB/s..400MiB\n", &arena, &apps,
                           &count, &err));
    assert_int_equal(count, 3);
    assert_string_equal(apps[0].name, "mail");
    assert_true(apps[0].adj == 900 && apps[0].bytes == UINT64_C(200) * MIB && apps[0].start_ns == 0);
    assert_true(apps[0].growth_bps == 0 && app_step_ns(&apps[0], 1) == INT64_MAX);
    assert_string_equal(apps[1].name, "camera");
    assert_true(apps[1].adj == 0 && apps[1].bytes == UINT64_C(900) * MIB && apps[1].start_ns == 2 * SECOND);
    assert_string_equal(apps[2].name, "sync");
    assert_true(apps[2].adj == -905 && apps[2].bytes == UINT64_C(50) * MIB && apps[2].start_ns == SECOND);
    assert_true(apps[2].growth_bps == UINT64_C(20) * MIB && apps[2].most_bytes == UINT64_C(400) * MIB);
    arena_free(&arena);
}

static void no_text_is_no_app(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct app_spec one, *apps = &one;
    uint32_t count = 7;
    struct error err;
    assert_true(apps_parse(" \t ", &arena, &apps, &count, &err));
    assert_true(count == 0 && apps == NULL);
    arena_free(&arena);
}

static void steps_are_whole_mib_and_a_rest(void **state)
{
    (void)state;
    struct app_spec app = {.bytes = 5 * MIB, .start_ns = 100, .growth_bps = 3 * MIB, .most_bytes = 7 * MIB + 1};
    assert_true(app_step_ns(&app, 1) == 100 + 333333334); /* a third of a second, rounded up */
    assert_true(app_step_ns(&app, 2) == 100 + 666666667);
    assert_true(app_step_ns(&app, 3) == 100 + SECOND);
    assert_true(app_step_ns(&app, 4) == INT64_MAX);
    assert_true(app_step_bytes(&app, 0) == 5 * MIB);
    assert_true(app_step_bytes(&app, 2) == 7 * MIB);
    assert_true(app_step_bytes(&app, 3) == 7 * MIB + 1);
    app.most_bytes = 7 * MIB; /* nothing is left over */
    assert_true(app_step_ns(&app, 2) == 100 + 666666667 && app_step_ns(&app, 3) == INT64_MAX);
    app.growth_bps = 1; /* the step lies behind the end of time */
    app.most_bytes = UINT64_C(1) << 50;
    assert_true(app_step_ns(&app, 1 << 20) == INT64_MAX);
}

/* Each text is refused, and the line has the words. */
static void errors_say_where_and_what(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"mail", "app 1 \"mail\": the adj is missing: expected NAME:ADJ:SIZE"},
        {"a:1:1MiB mail:900", "app 2 \"mail:900\": the size is missing"},
        {":900:1MiB", "app 1 \":900:1MiB\": it has no name"},
        {"a:1002:1MiB", "\"1002\" is no adj: expected a whole number from -1000 to 1001"},
        {"a:-1001:1MiB", "\"-1001\" is no adj"},
        {"a:--1:1MiB", "\"--1\" is no adj"},
        {"a:x:1MiB", "\"x\" is no adj"},
        {"a:cashed:1MiB", "or a word for one: did you mean cached?"},
        {"a:1:1mib", "app 1 \"a:1:1mib\": size: \"1mib\": did you mean 1MiB?"},
        {"a:1:1025TiB", "size: \"1025TiB\" is too large: expected at most 1024TiB"},
        {"a:1:1MiB+1GiB/s..1025GiB", "it grows to \"1025GiB\", by too much: expected at most 1TiB more"},
        {"a:1:1MiB@2", "start: \"2\" has no unit"},
        {"a:1:1MiB+1MiB/s", "has no end: expected +RATE/s..MAX"},
        {"a:1:1MiB+1MiB..2MiB", "growth: \"1MiB\""},
        {"a:1:2MiB+1MiB/s..1MiB", "it grows up to 1MiB, less than the 2MiB that it starts with"},
        {"a:1:2MiB+1MiB/s..3MiB@1s", "its start stands behind its growth"},
        {"a:1:1MiB b:1:1MiB a:2:2MiB", "app 3 \"a:2:2MiB\": app 1 has the name \"a\" already"},
        {"a@b:1:1MiB", "the name has a \"@\""},
        {"\xc3\xa4:1:1MiB", "the name has a byte 0xc3"},
        {"abcdefghijabcdefghijabcdefghijab:1:1MiB", "the name has 32 characters: expected at most 31"},
    };
    struct arena arena = {0};
    struct app_spec *apps;
    uint32_t count;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err;
        if (apps_parse(cases[i][0], &arena, &apps, &count, &err))
            fail_because("%s is accepted", cases[i][0]);
        assert_int_equal(err.code, STATUS_USAGE);
        if (!strstr(err.text, cases[i][1]))
            fail_because("%s: expected \"%s\" in \"%s\"", cases[i][0], cases[i][1], err.text);
    }
    arena_free(&arena);
}

static void there_are_at_most_64(void **state)
{
    (void)state;
    char text[2000] = "";
    struct arena arena = {0};
    struct app_spec *apps;
    uint32_t count;
    struct error err;
    for (int i = 0; i < PRESSURE_APPS_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "app%d:%d:%dMiB ", i, i, i);
    assert_true(apps_parse(text, &arena, &apps, &count, &err));
    assert_true(count == PRESSURE_APPS_MAX && apps[63].adj == 63);
    strcat(text, "more:1:1MiB");
    assert_false(apps_parse(text, &arena, &apps, &count, &err));
    assert_non_null(strstr(err.text, "app 65 \"more:1:1MiB\": too many: expected at most 64 apps"));
    memset(text, 'x', 250);
    text[250] = '\0';
    assert_false(apps_parse(text, &arena, &apps, &count, &err));
    assert_non_null(strstr(err.text, "has 200 characters or more"));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_is_read),
        cmocka_unit_test(no_text_is_no_app),
        cmocka_unit_test(steps_are_whole_mib_and_a_rest),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(there_are_at_most_64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
