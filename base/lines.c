/* Lines over a stream of bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/files.h"

struct lines {
    struct stream *stream;
    void *buffer; /* bytes [start, end) are not handed out yet; one byte more is kept for a NUL */
    size_t start, end, capacity;
    size_t searched; /* buffer[start .. start + searched) holds no newline */
    uint64_t number; /* of lines handed out */
    bool ended;
};

bool lines_open(struct stream *stream, struct lines **lines, struct error *err)
{
    struct lines *l = calloc(1, sizeof *l);
    if (!l)
        return fail(err, STATUS_IO, "cannot read %s: out of memory", stream_path(stream));
    l->stream = stream;
    *lines = l;
    return true;
}

/* Moves the rest to the front and appends the next chunk of the stream. */
static bool more(struct lines *l, struct error *err)
{
    const char *data;
    size_t size;
    if (!stream_next(l->stream, &data, &size, err))
        return false;
    if (size == 0) {
        l->ended = true;
        return true;
    }
    if (l->start > 0)
        memmove(l->buffer, (char *)l->buffer + l->start, l->end - l->start);
    l->end -= l->start;
    l->start = 0;
    if (!array_reserve(&l->buffer, &l->capacity, l->end + size + 1, 1, err))
        return fail_in(err, "%s", stream_path(l->stream));
    memcpy((char *)l->buffer + l->end, data, size);
    l->end += size;
    return true;
}

static bool hand_out(struct lines *l, size_t length, char **line, size_t *size, uint64_t *number, struct error *err)
{
    char *text = (char *)l->buffer + l->start;
    l->number++;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    if (length > LINE_LIMIT)
        return fail(err, STATUS_INPUT, "%s:%llu: the line is longer than %d bytes", stream_path(l->stream),
                    (unsigned long long)l->number, LINE_LIMIT);
    if (l->number == 1 && length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    text[length] = '\0';
    if (memchr(text, '\0', length))
        return fail(err, STATUS_INPUT, "%s:%llu: found a NUL byte, expected text", stream_path(l->stream),
                    (unsigned long long)l->number);
    *line = text;
    *size = length;
    *number = l->number;
    return true;
}

bool lines_next(struct lines *lines, char **line, size_t *length, uint64_t *number, struct error *err)
{
    struct lines *l = lines;
    *line = NULL;
    for (;;) {
        const size_t waiting = l->end - l->start;
        const char *from = l->buffer ? (char *)l->buffer + l->start : NULL;
        const char *newline = waiting > l->searched ? memchr(from + l->searched, '\n', waiting - l->searched) : NULL;
        if (newline || (l->ended && waiting > 0) || waiting > LINE_LIMIT + 2) {
            const size_t found = newline ? (size_t)(newline - from) : waiting;
            if (!hand_out(l, found, line, length, number, err))
                return false;
            l->start += newline ? found + 1 : found;
            l->searched = 0;
            return true;
        }
        if (l->ended)
            return true;
        l->searched = waiting;
        if (!more(l, err))
            return false;
    }
}

void lines_close(struct lines *lines)
{
    if (!lines)
        return;
    free(lines->buffer);
    free(lines);
}
