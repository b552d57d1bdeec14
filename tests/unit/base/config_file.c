/* The config reader: what it takes, and the line that it says about everything else. Comma lists. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_file.h"
#include "tests/cmocka_fixed.h"

static void parse(const char *text, size_t size, struct config_file *file)
{
    struct error err = {0};
    const bool good = config_file_parse("a.ini", text, size, file, &err);
    assert_string_equal(err.text, "");
    assert_true(good);
}

static void entry_is(const struct config_file *file, size_t i, const char *section, const char *key, const char *value,
                     unsigned line)
{
    assert_true(i < file->count);
    assert_string_equal(file->entries[i].section, section);
    assert_string_equal(file->entries[i].key, key);
    assert_string_equal(file->entries[i].value, value);
    assert_int_equal(file->entries[i].line, line);
}

static void test_plain_config(void **state)
{
    (void)state;
    static const char text[] = "; the smallest case\n"
                               "[experiment]\n"
                               "name = quickstart\n"
                               "\n"
                               "# another comment\n"
                               "[ loader ]   ; where it loads\n"
                               "budget=512MiB, 1GiB\t; two\n"
                               "mode   =   chunked\n"
                               "empty =\n"
                               "[policy]\n"
                               "name = lru,;not a comment\n"
                               "evict : fifo\n";
    struct config_file file;
    parse(text, sizeof text - 1, &file);
    assert_int_equal(file.count, 6);
    entry_is(&file, 0, "experiment", "name", "quickstart", 3);
    entry_is(&file, 1, "loader", "budget", "512MiB, 1GiB", 7);
    entry_is(&file, 2, "loader", "mode", "chunked", 8);
    entry_is(&file, 3, "loader", "empty", "", 9);
    entry_is(&file, 4, "policy", "name", "lru,;not a comment", 11);
    entry_is(&file, 5, "policy", "evict", "fifo", 12);
    assert_string_equal(file.path, "a.ini");
    config_file_free(&file);
    assert_int_equal(file.count, 0);
}

static void test_values_go_on(void **state)
{
    (void)state;
    static const char text[] = "[model]\n"
                               "blocks = embed:512MB   layer1:768MB ; first\n"
                               "\n"
                               "  ; between\n"
                               "\tlayer2:768MB\n"
                               "    lm_head:256MB   ; last\n"
                               "next =\n"
                               " clock(bits=2), lru\n";
    struct config_file file;
    parse(text, sizeof text - 1, &file);
    assert_int_equal(file.count, 2);
    entry_is(&file, 0, "model", "blocks", "embed:512MB   layer1:768MB layer2:768MB lm_head:256MB", 2);
    entry_is(&file, 1, "model", "next", "clock(bits=2), lru", 7);
    config_file_free(&file);
}

static void test_line_ends_and_marks(void **state)
{
    (void)state;
    static const char *const texts[] = {"[a]\nx = 1\ny = 2,\n  3\n", "[a]\r\nx = 1\r\ny = 2,\r\n  3\r\n",
                                        "[a]\nx = 1\ny = 2,\n  3", "\xEF\xBB\xBF[a]\nx = 1\ny = 2,\n  3",
                                        "[a]  \nx = 1 \t\r\ny = 2,  \n  3  "};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct config_file file;
        parse(texts[i], strlen(texts[i]), &file);
        assert_int_equal(file.count, 2);
        entry_is(&file, 0, "a", "x", "1", 2);
        entry_is(&file, 1, "a", "y", "2, 3", 3);
        config_file_free(&file);
    }
    struct config_file file;
    parse("", 0, &file);
    assert_int_equal(file.count, 0);
    config_file_free(&file);
}

static void refused_bytes(const char *text, size_t size, const char *message)
{
    struct config_file file;
    struct error err = {0};
    assert_false(config_file_parse("a.ini", text, size, &file, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.code, STATUS_USAGE);
}

static void refused(const char *text, const char *message)
{
    refused_bytes(text, strlen(text), message);
}

static void test_refusals(void **state)
{
    (void)state;
    refused("[a]\nx = 1\ny = 2\nx = 3\n", "a.ini:4: a.x stands here a second time, first in line 2");
    refused("[a]\nx = 1\n[b]\nx = 1\n[ a]\n", "a.ini:5: section [a] stands here a second time: join the two");
    refused("x = 1\n[a]\n", "a.ini:1: found the key \"x\" before any [section]");
    refused("[a]\n\nbudget 5\n", "a.ini:3: found \"budget 5\", expected [section] or key = value");
    refused("[a]\n= 5\n", "a.ini:2: found \"= 5\", expected a key before it");
    refused("[a\n", "a.ini:1: found \"[a\", expected \"]\" at the end of the section's name");
    refused("[a ;]\n", "a.ini:1: found \"[a\", expected \"]\" at the end of the section's name");
    refused("[a] x = 1\n", "a.ini:1: found \" x = 1\" behind the section's name, expected nothing");
    refused("[ ]\n", "a.ini:1: a section has no name");
    refused("[a]\nx = 1\n  y = 2\n",
            "a.ini:3: \"y = 2\" is indented: sections and keys start at the margin, only lists "
            "go on indented");
    refused("[a]\n  x=2\n", "a.ini:2: \"x=2\" is indented: sections and keys start at the margin, only lists go on "
                            "indented");
    refused("[a]\nx = 1\n [b]\n",
            "a.ini:3: \"[b]\" is indented: sections and keys start at the margin, only lists go on "
            "indented");
    refused("[a]\n  lru, fifo\n", "a.ini:2: \"lru, fifo\" is indented, but there is no key that it goes on with");
    refused("[a]\nx = 1\n[b]\n  2\n", "a.ini:4: \"2\" is indented, but there is no key that it goes on with");
    refused_bytes("[a]\nx = 1\0 2\n", 13, "a.ini:2: found a NUL byte, expected text");
    refused("[a]\n\rx", "a.ini:2: \"x\" is indented, but there is no key that it goes on with");
}

static void test_lengths(void **state)
{
    (void)state;
    char text[600];
    struct config_file file;
    struct error err = {0};
    /* 198 bytes and a line end are taken, with every byte; one more is refused, whatever the line end. */
    for (size_t length = 198; length <= 260; length++) {
        for (int style = 0; style < 3; style++) {
            memcpy(text, "[a]\nx =", 7);
            memset(text + 7, 'v', sizeof text - 7);
            snprintf(text + 4 + length, 20, "%s", style == 0 ? "\ny=1" : style == 1 ? "\r\ny=1" : "");
            const bool good = config_file_parse("a.ini", text, strlen(text), &file, &err);
            assert_int_equal(good, length == 198);
            if (good) {
                assert_int_equal(strlen(file.entries[0].value), 195);
                assert_int_equal(file.count, style == 2 ? 1 : 2);
                config_file_free(&file);
            } else {
                char expected[200];
                snprintf(expected, sizeof expected,
                         "a.ini:2: the line is too long: found %zu bytes, expected at most 198; a list may go on, "
                         "indented, on the next line",
                         length);
                assert_string_equal(err.text, expected);
            }
        }
    }
    static const char fifty[] = "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij";
    snprintf(text, sizeof text, "[%.49s]\n%.49s = 1\n  2\n", fifty, fifty);
    parse(text, strlen(text), &file);
    assert_int_equal(strlen(file.entries[0].section), 49);
    assert_int_equal(strlen(file.entries[0].key), 49);
    assert_string_equal(file.entries[0].value, "1 2");
    config_file_free(&file);
    snprintf(text, sizeof text, "[%s]\n", fifty);
    refused(text, "a.ini:1: the section name \"abcdefghijabcdefghijabcdefghij...\" is too long: at most 49 bytes");
    snprintf(text, sizeof text, "[a]\n%s = 1\n", fifty);
    refused(text, "a.ini:2: the key \"abcdefghijabcdefghijabcdefghij...\" is too long: at most 49 bytes");
}

static void test_counts(void **state)
{
    (void)state;
    char *text = malloc(1 << 20);
    assert_non_null(text);
    size_t used = 0;
    for (int i = 0; i <= CONFIG_MOST_SECTIONS; i++)
        used += (size_t)sprintf(text + used, "[s%d]\n", i);
    refused_bytes(text, used, "a.ini:257: more than 256 sections");
    used = (size_t)sprintf(text, "[a]\n");
    for (int i = 0; i <= CONFIG_MOST_KEYS; i++)
        used += (size_t)sprintf(text + used, "k%d=\n", i);
    refused_bytes(text, used, "a.ini:4098: more than 4096 keys");

    /* A long list over many lines stays whole. */
    used = (size_t)sprintf(text, "[a]\nx =");
    for (int i = 0; i < 20000; i++)
        used += (size_t)sprintf(text + used, " %d,\n", i);
    struct config_file file;
    parse(text, used, &file);
    const char *at = file.entries[0].value;
    for (int i = 0; i < 20000; i++) {
        char *end;
        assert_int_equal(strtol(at, &end, 10), i);
        assert_int_equal(*end, ',');
        at = end + 1;
    }
    assert_string_equal(at, "");
    config_file_free(&file);
    free(text);
}

static void test_files(void **state)
{
    (void)state;
    struct config_file file;
    struct error err = {0};
    assert_false(config_file_read("/nonexistent/a.ini", &file, &err));
    assert_string_equal(err.text, "cannot read /nonexistent/a.ini: No such file or directory");
    assert_int_equal(err.code, STATUS_USAGE);
    assert_false(config_file_read("/", &file, &err));
    assert_int_equal(err.code, STATUS_USAGE);
    char path[] = "/tmp/pocketload-config-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    fputs("[a]\nx = 1\n", out);
    fclose(out);
    assert_true(config_file_read(path, &file, &err));
    entry_is(&file, 0, "a", "x", "1", 2);
    assert_string_equal(file.path, path);
    config_file_free(&file);
    remove(path);
}

/* Collects items with '|' between them; refuses the item "stop". */
static bool collect(void *context, const char *text, struct error *err)
{
    if (strcmp(text, "stop") == 0)
        return fail(err, STATUS_USAGE, "stopped");
    strcat(context, text);
    strcat(context, "|");
    return true;
}

static void split_is(const char *text, const char *expected)
{
    char items[200] = "";
    struct error err = {0};
    assert_true(list_split(text, collect, items, &err));
    assert_string_equal(items, expected);
}

static void split_fails(const char *text, const char *message)
{
    char items[200] = "";
    struct error err = {0};
    assert_false(list_split(text, collect, items, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.code, STATUS_USAGE);
}

static void test_lists(void **state)
{
    (void)state;
    split_is("lru", "lru|");
    split_is(" lru ,fifo,\tpinned-lru", "lru|fifo|pinned-lru|");
    split_is("a(x=1,y=(2,3)), b", "a(x=1,y=(2,3))|b|");
    split_is("two words, x", "two words|x|");
    split_fails("", "item 1 of the list \"\" is empty");
    split_fails("a,,b", "item 2 of the list \"a,,b\" is empty");
    split_fails("a, b,", "item 3 of the list \"a, b,\" is empty");
    split_fails("a(1,b", "\"a(1,b\" has a \"(\" without a \")\"");
    split_fails("x, a),b", "\"x, a),b\" has a \")\" without a \"(\"");
    split_fails("a, stop, b", "stopped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_config),
        cmocka_unit_test(test_values_go_on),
        cmocka_unit_test(test_line_ends_and_marks),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests_name("base/config_file", tests, NULL, NULL);
}
