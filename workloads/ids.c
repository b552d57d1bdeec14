/* The format `ids`: one decimal block id a line, each a step. A line "*" separates sections and is skipped, an empty
 * line too. It marks no tokens.
 *
 * Such traces have many millions of lines, so the bytes are read as they come, without cutting lines first. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "workloads/reader.h"

enum place { LINE_START, IN_NUMBER, LINE_END };
enum { SHOWN = 40 }; /* bytes of a line that an error quotes */

struct cursor {
    struct numbered_batch batch;
    enum place place;
    uint64_t number; /* IN_NUMBER */
    uint64_t line;   /* from 1 */
    size_t kept;     /* the line's bytes in earlier chunks, as many as an error may quote */
    char head[SHOWN];
};

/* Keeps what the line at hand has in this chunk, for an error in the next. */
static void keep_head(struct cursor *cursor, const char *line, const char *end)
{
    const size_t room = SHOWN - cursor->kept, length = (size_t)(end - line);
    const size_t more = length < room ? length : room;
    memcpy(cursor->head + cursor->kept, line, more);
    cursor->kept += more;
}

/* The line at hand begins at `line` in this chunk, or in an earlier one. It is quoted without blanks at its ends. */
static bool misplaced(struct cursor *cursor, const char *line, const char *end, const char *expected, struct error *err)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    keep_head(cursor, line, newline != NULL ? newline : end);
    const char *text = cursor->head, *last = text + cursor->kept;
    while (text < last && is_blank(*text))
        text++;
    while (last > text && (is_blank(last[-1]) || last[-1] == '\r'))
        last--;
    return fail(err, STATUS_INPUT, "%s:%" PRIu64 ": found \"%.*s\", expected %s", cursor->batch.reading->input->path,
                cursor->line, (int)(last - text), text, expected);
}

static bool end_number(struct cursor *cursor, struct error *err)
{
    cursor->place = LINE_END;
    return numbered_put(&cursor->batch, cursor->number, 1, cursor->line, err);
}

/* Whether the eight bytes at c are digits, and their value: pairs of neighbours are put together three times over
 * (Lemire, "Number Parsing at a Gigabyte per Second", 2021). */
static inline bool take_eight(const char *c, uint64_t *value)
{
    uint64_t v;
    memcpy(&v, c, sizeof v);
    v = le64toh(v) - UINT64_C(0x3030303030303030);
    if (((v | (v + UINT64_C(0x0606060606060606))) & UINT64_C(0xF0F0F0F0F0F0F0F0)) != 0)
        return false;
    v = v * 10 + (v >> 8);
    *value = ((v & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) +
              (v >> 16 & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >>
             32;
    return true;
}

/* Lines of a number below 2^64 and a newline, as nearly all are. Returns where others begin. */
static const char *take_plain_lines(struct cursor *cursor, const char *c, const char *end, struct error *err)
{
    for (;;) {
        const char *digit = c;
        uint64_t number = 0, before = 0, eight; /* before: without the last digit */
        for (; end - digit >= 8 && digit - c <= 8 && take_eight(digit, &eight); digit += 8)
            number = number * 100000000 + eight;
        for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
            before = number;
            number = number * 10 + (uint64_t)(*digit - '0');
        }
        /* 19 digits always fit 64 bits; of 20, those whose product did not wrap: its tenth is what came before. */
        if (digit == end || *digit != '\n' || digit == c || digit - c > 20 ||
            (digit - c == 20 && (before > UINT64_MAX / 10 || number < before)))
            return c;
        if (!numbered_put(&cursor->batch, number, 1, cursor->line, err))
            return NULL;
        cursor->line++;
        c = digit + 1;
    }
}

/* The digits at c, more of which may follow in the next chunk; returns the end of them, NULL when there are too many.
 */
static const char *take_digits(struct cursor *cursor, const char *c, const char *end)
{
    uint64_t number = cursor->number;
    for (; c < end && *c >= '0' && *c <= '9'; c++) {
        const uint64_t digit = (uint64_t)(*c - '0');
        if (number > UINT64_MAX / 10 || number * 10 > UINT64_MAX - digit)
            return NULL;
        number = number * 10 + digit;
    }
    cursor->number = number;
    return c;
}

static bool take_chunk(struct cursor *cursor, const char *c, const char *end, struct error *err)
{
    const char *line = c;
    while (c < end) {
        if (cursor->place == LINE_START) {
            line = c = take_plain_lines(cursor, c, end, err);
            if (c == NULL)
                return false;
            if (c == end)
                break;
        }
        if (*c >= '0' && *c <= '9' && cursor->place != LINE_END) {
            if (cursor->place == LINE_START)
                cursor->number = 0;
            cursor->place = IN_NUMBER;
            const char *behind = take_digits(cursor, c, end);
            if (behind == NULL)
                return misplaced(cursor, line, end, "a block id below 2^64", err);
            c = behind;
            continue;
        }
        const bool separator = *c == '*' && cursor->place == LINE_START;
        if (*c != '\n' && *c != '\r' && !is_blank(*c) && !separator)
            return misplaced(cursor, line, end, "one block id a line, a decimal number", err);
        if (cursor->place == IN_NUMBER && !end_number(cursor, err))
            return false;
        c++;
        if (c[-1] == '\n') {
            cursor->line++;
            cursor->place = LINE_START;
            cursor->kept = 0;
            line = c;
        } else if (separator) {
            cursor->place = LINE_END;
        }
    }
    keep_head(cursor, line, end);
    return true;
}

static bool take_stream(struct cursor *cursor, struct error *err)
{
    const char *data;
    size_t size;
    for (bool first = true;; first = false) {
        if (!stream_next(cursor->batch.reading->stream, &data, &size, err))
            return false;
        if (size == 0)
            return (cursor->place != IN_NUMBER || end_number(cursor, err)) && numbered_flush(&cursor->batch, err);
        const bool bom = first && size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0;
        if (!take_chunk(cursor, data + (bom ? 3 : 0), data + size, err))
            return false;
    }
}

bool ids_read(struct reading *reading, struct error *err)
{
    struct cursor cursor = {.batch = {.reading = reading}, .line = 1};
    return reader_needs_model(reading, "ids", err) && reader_open_unmarked(reading, err) && take_stream(&cursor, err) &&
           numbered_finish(reading, err);
}

bool ids_matches(const struct trace_head *head)
{
    return reader_head_shape(head->text).digits;
}
