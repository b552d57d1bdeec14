/* The format `arc`, of the traces of Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache" (FAST
 * 2003): a line "start count ignored request" asks for the blocks start .. start+count-1, each of which is a step here.
 * What follows the second number is not looked at. */
#include <inttypes.h>
#include <string.h>

#include "workloads/reader.h"

/* Blocks of one line: 512 MiB in the blocks of 512 bytes that these traces have. */
#define RANGE_MAX (UINT64_C(1) << 20)

/* A number and the blanks around it. */
static bool take_number(const char **c, uint64_t *number)
{
    while (is_blank(**c))
        (*c)++;
    if (!read_number(c, number) || (**c != '\0' && !is_blank(**c)))
        return false;
    while (is_blank(**c))
        (*c)++;
    return true;
}

/* *count is 0 for an empty line. */
static bool read_range(const char *line, uint64_t *start, uint64_t *count, struct error *err)
{
    const char *c = line;
    *count = 0;
    if (line[strspn(line, " \t")] == '\0')
        return true;
    if (!take_number(&c, start) || !take_number(&c, count))
        return fail(err, STATUS_INPUT, "\"%.40s\": expected \"start count ...\", decimal numbers below 2^64", line);
    if (*count < 1 || *count > RANGE_MAX)
        return fail(err, STATUS_INPUT, "a range of %" PRIu64 " blocks: expected 1 to %" PRIu64, *count, RANGE_MAX);
    if (*start > UINT64_MAX - (*count - 1))
        return fail(err, STATUS_INPUT, "%" PRIu64 " blocks from %" PRIu64 " on: expected them to end below 2^64",
                    *count, *start);
    return true;
}

static bool read_lines(struct numbered_batch *batch, struct lines *lines, struct error *err)
{
    char *line;
    size_t length;
    uint64_t number, start = 0, count;
    while (lines_next(lines, &line, &length, &number, err)) {
        if (line == NULL)
            return numbered_flush(batch, err);
        if (!read_range(line, &start, &count, err))
            return fail_in(err, "%s:%" PRIu64, batch->reading->input->path, number);
        for (uint64_t i = 0; i < count; i++)
            if (!numbered_put(batch, start + i, 1, number, err))
                return false;
    }
    return false;
}

bool arc_read(struct reading *reading, struct error *err)
{
    struct numbered_batch batch = {.reading = reading};
    struct lines *lines;
    if (!reader_needs_model(reading, "arc", err) || !reader_open_unmarked(reading, err) ||
        !lines_open(reading->stream, &lines, err))
        return false;
    const bool ok = read_lines(&batch, lines, err);
    lines_close(lines);
    return ok && numbered_finish(reading, err);
}

/* The name that these traces have; or two lines and more, all of four numbers, the third 0 and the fourth counting up:
 * tokens of four blocks each would not do that. */
bool arc_matches(const struct trace_head *head)
{
    static const char *const names[] = {".lis", ".arc", NULL};
    if (reader_path_ends(head->path, names) && reader_head_shape(head->text).pairs)
        return true;
    uint64_t numbers[4], before = 0;
    uint32_t lines = 0;
    const char *c = head->text;
    for (const char *end; (end = strchr(c, '\n')) != NULL; c = end + 1) {
        for (uint32_t i = 0; i < 4; i++) {
            while (is_blank(*c))
                c++;
            if (!read_number(&c, &numbers[i]) || (!is_blank(*c) && *c != '\r' && *c != '\n'))
                return false;
        }
        c += strspn(c, " \t\r");
        if (c != end || numbers[2] != 0 || (lines > 0 && numbers[3] != before + 1))
            return false;
        before = numbers[3];
        lines++;
    }
    return lines >= 2;
}
