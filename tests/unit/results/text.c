/* Text from strangers: what comes out is valid, in one line, and as wide as said. */
#include "made_up.h"

#include <math.h>

#include "results/text.h"
#include "tests/cmocka_fixed.h"

static void clean_is(const char *text, bool one_line, const char *expected)
{
    char *clean = text_clean(text, one_line);
    assert_non_null(clean);
    assert_string_equal(clean, expected);
    free(clean);
}

#define LOST "\xEF\xBF\xBD"

static void bytes_that_are_no_characters_are_replaced(void **state)
{
    (void)state;
    clean_is("", false, "");
    clean_is("plain", false, "plain");
    clean_is("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", true, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    clean_is("a\xFFz", false, "a" LOST "z");
    clean_is("\xC3", false, LOST);
    clean_is("\xC0\xAF", false, LOST LOST);                   /* overlong */
    clean_is("\xED\xA0\x80", false, LOST LOST LOST);          /* surrogate */
    clean_is("\xF4\x90\x80\x80", false, LOST LOST LOST LOST); /* over U+10FFFF */
    clean_is("\xE2\x82", false, LOST LOST);
    clean_is("\xE2\x82z", false, LOST LOST "z");
    clean_is("a\n\033[31mb\tc", false, "a\n\033[31mb\tc");
    clean_is("a\n\033[31mb\tc\x7F", true, "a  [31mb c ");
    clean_is("a\xC2\x9B"
             "b\xE2\x80\xAE"
             "c",
             true, "a b c"); /* C1 control, right-to-left override */
}

static void widths(void **state)
{
    (void)state;
    assert_int_equal(text_width(""), 0);
    assert_int_equal(text_width("abc"), 3);
    assert_int_equal(text_width("\xC3\xA9"), 1);
    assert_int_equal(text_width("e\xCC\x81"), 1);                /* a combining accent */
    assert_int_equal(text_width("\xE9\x95\xBF\xE9\x95\xBF"), 4); /* two wide ones */
    assert_int_equal(text_width("\xFF"), 1);
}

static void csv_is(const char *text, const char *expected)
{
    char *data;
    size_t size;
    FILE *file = open_memstream(&data, &size);
    text_csv(file, text);
    fclose(file);
    assert_string_equal(data, expected);
    free(data);
}

static void csv_fields(void **state)
{
    (void)state;
    csv_is("", "");
    csv_is("plain text", "plain text");
    csv_is("a,b", "\"a,b\"");
    csv_is("say \"no\"", "\"say \"\"no\"\"\"");
    csv_is("two\nlines", "\"two\nlines\"");
    csv_is("cr\r", "\"cr\r\"");
    csv_is(" blank", "\" blank\"");
    csv_is("blank ", "\"blank \"");
}

static void reals_are_short_and_exact(void **state)
{
    (void)state;
    char out[REAL_TEXT];
    assert_string_equal(text_real(0.1, out), "0.1");
    assert_string_equal(text_real(0, out), "0.0");
    assert_string_equal(text_real(1, out), "1.0");
    assert_string_equal(text_real(7.0 / 11, out), "0.6363636363636364");
    assert_string_equal(text_real(1e300, out), "1e+300");
    assert_null(text_real((double)NAN, out));
    assert_null(text_real((double)INFINITY, out));
    uint64_t x = 1;
    for (int i = 0; i < 10000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        const double value = (double)(x >> 11) * 0x1p-53;
        assert_true(strtod(text_real(value, out), NULL) == value);
    }
}

/* A stranger's name and words stay one line; no words are no line. */
static void named_lines(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    assert_true(text_named_line(file, "lru\x1b[2J", "2 faults\n3 reads") && text_named_line(file, NULL, "alone") &&
                text_named_line(file, "lru", ""));
    assert_int_equal(fclose(file), 0);
    const bool same = strcmp(text, "lru [2J: 2 faults 3 reads\nalone\n") == 0;
    free(text);
    assert_true(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_lines),
        cmocka_unit_test(bytes_that_are_no_characters_are_replaced),
        cmocka_unit_test(widths),
        cmocka_unit_test(csv_fields),
        cmocka_unit_test(reals_are_short_and_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
