/* Error lines: codes, context in front, cutting and cleaning. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tests/cmocka_fixed.h"

static void test_fail_sets_code_and_text(void **state)
{
    (void)state;
    struct error err = {0};
    assert_false(fail(&err, STATUS_INPUT, "line %d: found \"%s\"", 7, "x"));
    assert_int_equal(err.code, STATUS_INPUT);
    assert_string_equal(err.text, "line 7: found \"x\"");
}

static void test_context_goes_in_front_and_keeps_the_code(void **state)
{
    (void)state;
    struct error err = {0};
    fail(&err, STATUS_USAGE, "bad value");
    assert_false(fail_in(&err, "%s.%s", "loader", "budget"));
    assert_false(fail_in(&err, "a.ini:%d", 3));
    assert_int_equal(err.code, STATUS_USAGE);
    assert_string_equal(err.text, "a.ini:3: loader.budget: bad value");
}

static void test_an_error_may_quote_itself(void **state)
{
    (void)state;
    struct error err = {0};
    fail(&err, STATUS_USAGE, "inner");
    fail(&err, STATUS_IO, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
    assert_int_equal(err.code, STATUS_IO);
}

static void test_control_characters_are_replaced(void **state)
{
    (void)state;
    struct error err = {0};
    fail(&err, STATUS_USAGE, "a\nb\x1b[31mc\x7f\tz\xC3\xA9");
    assert_string_equal(err.text, "a?b?[31mc??z\xC3\xA9");
    fail(&err, STATUS_USAGE,
         "a\xC2\x9B"
         "31mb\xC2\x80"
         "c\xC2\x9F"
         "d\xC2\xA0"
         "e\x9B"
         "f");
    assert_string_equal(err.text, "a?31mb?c?d\xC2\xA0"
                                  "e?f");
    fail_in(&err, "\xC2\x85");
    assert_string_equal(err.text, "?: a?31mb?c?d\xC2\xA0"
                                  "e?f");
}

static void test_invalid_utf8_is_replaced(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF", NULL}, /* well-formed: as it is */
        {"\xFF\xFE", "??"},
        {"a\xC3", "a?"},
        {"\xE2\x82z", "??z"},
        {"\xC1\xBF", "??"},           /* longer than it must be */
        {"\xE0\x9F\xBF", "???"},      /* the same */
        {"\xED\xA0\x80", "???"},      /* a surrogate */
        {"\xF4\x90\x80\x80", "????"}, /* beyond U+10FFFF */
        {"\xF8\x88\x80\x80\x80", "?????"},
    };
    struct error err = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fail(&err, STATUS_USAGE, "%s", texts[i][0]);
        assert_string_equal(err.text, texts[i][1] != NULL ? texts[i][1] : texts[i][0]);
    }
}

static void test_long_text_is_cut_at_a_character(void **state)
{
    (void)state;
    char longest[3000];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    struct error err = {0};
    fail(&err, STATUS_USAGE, "%s", longest);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + sizeof err.text - 5, "a...");
    fail_in(&err, "here");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_memory_equal(err.text, "here: aaa", 9);
    assert_string_equal(err.text + sizeof err.text - 4, "...");

    longest[sizeof err.text - 1] = '\0'; /* just fits */
    fail(&err, STATUS_USAGE, "%s", longest);
    assert_string_equal(err.text, longest);

    for (size_t shift = 0; shift < 2; shift++) { /* the cut falls into a two-byte character in one of the two cases */
        char accents[3000];
        accents[0] = 'x';
        for (size_t i = 0; i < 1400; i++)
            memcpy(accents + shift + 2 * i, "\xC3\xA9", 2);
        accents[shift + 2800] = '\0';
        fail(&err, STATUS_USAGE, "%s", accents);
        const size_t length = strlen(err.text);
        assert_true(length >= sizeof err.text - 2);
        assert_string_equal(err.text + length - 5, "\xC3\xA9...");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail_sets_code_and_text),
        cmocka_unit_test(test_context_goes_in_front_and_keeps_the_code),
        cmocka_unit_test(test_an_error_may_quote_itself),
        cmocka_unit_test(test_control_characters_are_replaced),
        cmocka_unit_test(test_invalid_utf8_is_replaced),
        cmocka_unit_test(test_long_text_is_cut_at_a_character),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
