/* Lines over streams. */
#include "tests/unit/base/folder.h"

#include "base/files.h"
#include "tests/cmocka_fixed.h"

struct opened {
    struct stream *stream;
    struct lines *lines;
};

static struct opened open_lines(const char *path)
{
    struct opened opened;
    struct error err = {0};
    assert_true(stream_open(path, &opened.stream, &err));
    assert_true(lines_open(opened.stream, &opened.lines, &err));
    return opened;
}

static void close_lines(struct opened opened)
{
    lines_close(opened.lines);
    stream_close(opened.stream);
}

static void lines_are(const char *path, const char *const *expected, size_t count)
{
    const struct opened opened = open_lines(path);
    struct error err = {0};
    for (size_t i = 0;; i++) {
        char *line;
        size_t length;
        uint64_t number = 0;
        assert_true(lines_next(opened.lines, &line, &length, &number, &err));
        if (!line) {
            assert_int_equal(i, count);
            break;
        }
        assert_true(i < count);
        assert_string_equal(line, expected[i]);
        assert_int_equal(length, strlen(expected[i]));
        assert_int_equal(number, i + 1);
        memset(line, 'x', length); /* writable, and without effect on later lines */
    }
    close_lines(opened);
}

static void test_lines(void **state)
{
    char path[400], packed[200];
    in(state, "lines", path);
    static const char *const expected[] = {"a", "", "b c", "last"};
    static const char *const texts[] = {"a\n\nb c\nlast\n", "a\n\nb c\nlast", "a\r\n\r\nb c\r\nlast\r\n",
                                        "\357\273\277a\n\nb c\r\nlast"};
    for (size_t i = 0; i < 4; i++) {
        put(path, texts[i], strlen(texts[i]));
        lines_are(path, expected, 4);
    }
    put(path, packed, zstd_of(texts[3], strlen(texts[3]), packed, sizeof packed));
    lines_are(path, expected, 4);
    put_gzip(path, "wb", texts[2], strlen(texts[2]));
    lines_are(path, expected, 4);
    put(path, "", 0);
    lines_are(path, expected, 0);
    static const char *const inner[] = {"x\ry", "\xEF\xBB\xBFz"};
    put(path, "x\ry\n\xEF\xBB\xBFz", 8); /* only ends and beginnings are cut */
    lines_are(path, inner, 2);
}

static void test_lines_over_chunks(void **state)
{
    char path[400];
    in(state, "many", path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 200000; i++)
        fprintf(file, "%d%s", i, i % 2 ? "\n" : "\r\n");
    for (int i = 0; i < 1500000; i++)
        fputc('l', file);
    fputs("\nend", file);
    fclose(file);
    const struct opened opened = open_lines(path);
    struct error err = {0};
    char *line, text[20];
    size_t length;
    uint64_t number;
    for (int i = 0; i < 200000; i++) {
        assert_true(lines_next(opened.lines, &line, &length, &number, &err));
        assert_non_null(line);
        snprintf(text, sizeof text, "%d", i);
        assert_int_equal(strcmp(line, text), 0);
    }
    assert_true(lines_next(opened.lines, &line, &length, &number, &err));
    assert_int_equal(length, 1500000);
    assert_int_equal(number, 200001);
    assert_true(lines_next(opened.lines, &line, &length, &number, &err));
    assert_string_equal(line, "end");
    assert_true(lines_next(opened.lines, &line, &length, &number, &err));
    assert_null(line);
    close_lines(opened);
}

static void lines_fail(const char *path, uint64_t good_lines, const char *message)
{
    struct error err = {0};
    char *line, expected[500];
    size_t length;
    uint64_t number;
    const struct opened opened = open_lines(path);
    for (uint64_t i = 0; i < good_lines; i++)
        assert_true(lines_next(opened.lines, &line, &length, &number, &err));
    assert_false(lines_next(opened.lines, &line, &length, &number, &err));
    assert_int_equal(err.code, STATUS_INPUT);
    snprintf(expected, sizeof expected, "%s:%u: %s", path, (unsigned)good_lines + 1, message);
    assert_string_equal(err.text, expected);
    close_lines(opened);
}

static void test_wrong_lines(void **state)
{
    char path[400];
    in(state, "wrong", path);
    put(path, "1\n2\n3\0\n4\n", 9);
    lines_fail(path, 2, "found a NUL byte, expected text");
    char *longest = malloc(LINE_LIMIT + 10);
    assert_non_null(longest);
    memset(longest, '1', LINE_LIMIT + 10);
    memcpy(longest, "0\n", 2);
    memcpy(longest + 2 + LINE_LIMIT, "\r\n5", 3);
    put(path, longest, LINE_LIMIT + 5); /* just fits */
    struct error err = {0};
    char *line;
    size_t length;
    uint64_t number;
    const struct opened opened = open_lines(path);
    assert_true(lines_next(opened.lines, &line, &length, &number, &err));
    assert_true(lines_next(opened.lines, &line, &length, &number, &err));
    assert_int_equal(length, LINE_LIMIT);
    assert_true(lines_next(opened.lines, &line, &length, &number, &err));
    assert_string_equal(line, "5");
    close_lines(opened);
    memcpy(longest + 2 + LINE_LIMIT, "1\n", 2);
    put(path, longest, LINE_LIMIT + 4);
    lines_fail(path, 1, "the line is longer than 16777216 bytes");
    memset(longest + 2, '1', LINE_LIMIT + 8);
    put(path, longest, LINE_LIMIT + 10); /* without an end */
    lines_fail(path, 1, "the line is longer than 16777216 bytes");
    free(longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lines_over_chunks),
        cmocka_unit_test(test_wrong_lines),
    };
    return cmocka_run_group_tests_name("base/lines", tests, make_folder, remove_folder);
}
