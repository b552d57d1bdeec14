/* Nearest spellings. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "tests/cmocka_fixed.h"

static const char *const policies[] = {"lru", "fifo", "pinned-lru", "prefetch-next"};

static void near_is(const char *word, const char *expected)
{
    const char *found = suggest(word, policies, 4);
    if (!expected) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, expected);
}

static void test_small_slips_are_found(void **state)
{
    (void)state;
    near_is("lru", "lru");
    near_is("LRU", "lru");
    near_is("lur", "lru"); /* a swap counts once */
    near_is("fif", "fifo");
    near_is("pined-lru", "pinned-lru");
    near_is("prefetchnext", "prefetch-next");
    near_is("pinnedlruu", "pinned-lru");
}

static void test_far_words_are_not(void **state)
{
    (void)state;
    near_is("", NULL);
    near_is("mru2", NULL);
    near_is("belady", NULL);
    near_is("xyz-lru-xyz", NULL);
    char longest[300];
    memset(longest, 'l', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    near_is(longest, NULL);
}

static void test_ties_go_to_the_earlier(void **state)
{
    (void)state;
    static const char *const names[] = {"aab", "aac"};
    assert_string_equal(suggest("aad", names, 2), "aab");
    assert_string_equal(suggest("aac", names, 2), "aac");
    assert_null(suggest("aad", names, 0));
}

static void test_beginnings_come_first(void **state)
{
    (void)state;
    static const char *const names[] = {"q2_k", "q4_0", "q4_k_s", "q4_k_m"};
    assert_string_equal(suggest("q4_k", names, 4), "q4_k_s");
    assert_string_equal(suggest("q4_1", names, 4), "q4_0");
    assert_string_equal(suggest("Q4_0", names, 4), "q4_0");
}

static void test_text(void **state)
{
    (void)state;
    char out[200];
    assert_string_equal(suggest_text("fifi", policies, 4, out, sizeof out), ": did you mean fifo?");
    assert_string_equal(suggest_text("clock", policies, 4, out, sizeof out),
                        "; expected lru, fifo, pinned-lru or prefetch-next");
    assert_string_equal(suggest_text("clock", policies, 1, out, sizeof out), "; expected lru");
    assert_string_equal(suggest_text("clock", policies, 0, out, sizeof out), "");
    char little[12];
    assert_string_equal(suggest_text("clock", policies, 4, little, sizeof little), "; expected ");
}

static void test_long_lists_are_cut(void **state)
{
    (void)state;
    static const char *const names[] = {"a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1", "i1", "j1", "k1", "l1", "m1"};
    char out[200];
    assert_string_equal(suggest_text("zzzz", names, 13, out, sizeof out),
                        "; expected a1, b1, c1, d1, e1, f1, g1, h1, i1, j1, k1, l1, ...");
    assert_string_equal(suggest_text("zzzz", names, 12, out, sizeof out),
                        "; expected a1, b1, c1, d1, e1, f1, g1, h1, i1, j1, k1 or l1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_slips_are_found),
        cmocka_unit_test(test_far_words_are_not),
        cmocka_unit_test(test_ties_go_to_the_earlier),
        cmocka_unit_test(test_beginnings_come_first),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_long_lists_are_cut),
    };
    return cmocka_run_group_tests_name("base/suggest", tests, NULL, NULL);
}
