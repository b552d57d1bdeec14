/* The trace formats: their table, their names as users write them, and which of them a file has. */
#include <inttypes.h>
#include <string.h>

#include "base/suggest.h"
#include "workloads/csv_columns.h"
#include "workloads/reader.h"

/* In the order in which they are asked whether a file is theirs. */
static const struct trace_reader readers[] = {
    {"oracleGeneral", "records of 24 bytes: u32 time, u64 id, u32 size, i64 next access (little-endian)",
     oracle_general_matches, oracle_general_read, true},
    {"route", "which experts each token chose in each layer", route_matches, route_read, false},
    {"csv",
     "columns by name: block, bytes, step, token, phase, compute_ns, layer, kind; id,size without names; others as "
     "csv(time=1,id=2,size=3,delimiter=;,header)",
     csv_matches, csv_read, false},
    {"arc", "ranges of blocks: start count ignored ...", arc_matches, arc_read, false},
    {"passes", "a token a line: the decimal ids of its blocks in order, each a step", passes_matches, passes_read,
     false},
    {"ids", "one decimal block id a line, each a step", ids_matches, ids_read, false},
};
enum { READERS = sizeof readers / sizeof readers[0], LOOK_BYTES = 1 << 20 };

const struct trace_reader *trace_readers(size_t *count)
{
    *count = READERS;
    return readers;
}

static bool reader_by_name(const char *name, const struct trace_reader **reader, struct error *err)
{
    const char *names[READERS + 1] = {"auto"};
    char near[256];
    for (size_t i = 0; i < READERS; i++) {
        names[i + 1] = readers[i].name;
        if (strcmp(name, readers[i].name) == 0) {
            *reader = &readers[i];
            return true;
        }
    }
    return fail(err, STATUS_USAGE, "unknown trace format \"%.40s\"%s", name,
                suggest_text(name, names, READERS + 1, near, sizeof near));
}

bool trace_format_parse(const char *text, struct trace_format *format, struct error *err)
{
    *format = (struct trace_format){0};
    if (text == NULL || strcmp(text, "auto") == 0)
        return true;
    char name[41];
    const size_t length = strcspn(text, "( \t");
    const char *open = text + length + strspn(text + length, " \t");
    if (*open != '(' || length >= sizeof name)
        return reader_by_name(text, &format->reader, err);
    memcpy(name, text, length);
    name[length] = '\0';
    if (!reader_by_name(name, &format->reader, err))
        return false;
    if (strcmp(name, "csv") != 0)
        return fail(err, STATUS_USAGE, "trace format %s takes no columns: expected only csv to have them", name);
    format->has_columns = true;
    return csv_columns_parse(open, &format->columns, err);
}

/* Whether text has more than blanks and "*", and where the first such line begins and what its number is. */
static bool find_content(const char *text, size_t size, size_t *begin, uint64_t *line)
{
    *begin = 0;
    *line = 1;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n') {
            *begin = i + 1;
            ++*line;
        } else if (!is_blank(text[i]) && text[i] != '\r' && text[i] != '*') {
            return true;
        }
    }
    return false;
}

bool reader_peek_head(struct stream *stream, char text[HEAD_BYTES + 1], struct trace_head *head, uint64_t *line,
                      bool *ended, struct error *err)
{
    for (size_t wanted = HEAD_BYTES;; wanted *= 2) {
        const char *data;
        size_t begin, size;
        if (!stream_peek(stream, wanted, &data, &size, err))
            return false;
        *ended = size < wanted;
        const size_t mark = size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        const bool found = find_content(data + mark, size - mark, &begin, line);
        const size_t left = found ? size - mark - begin : 0;
        if ((found && left >= HEAD_BYTES) || *ended || wanted >= LOOK_BYTES) {
            const size_t kept = left < HEAD_BYTES ? left : HEAD_BYTES;
            if (kept > 0)
                memcpy(text, data + mark + begin, kept);
            text[kept] = '\0';
            *head = (struct trace_head){.path = stream_path(stream),
                                        .raw = (const unsigned char *)data,
                                        .raw_size = size < HEAD_BYTES ? size : HEAD_BYTES,
                                        .text = text,
                                        .text_size = kept};
            return true;
        }
    }
}

bool reader_by_content(struct stream *stream, const struct trace_reader **reader, struct error *err)
{
    char text[HEAD_BYTES + 1];
    struct trace_head head;
    uint64_t line;
    bool ended;
    if (!reader_peek_head(stream, text, &head, &line, &ended, err))
        return false;
    const bool binary = memchr(head.raw, '\0', head.raw_size) != NULL;
    for (size_t i = 0; i < READERS && head.raw_size > 0; i++)
        if ((readers[i].binary || (!binary && head.text_size > 0)) && readers[i].matches(&head)) {
            *reader = &readers[i];
            return true;
        }
    if (binary)
        return fail(err, STATUS_INPUT,
                    "%s: found binary data that does not look like records of oracleGeneral: expected text, or to be "
                    "told by --trace-format oracleGeneral that they are",
                    head.path);
    if (head.text_size == 0 && !ended) /* only ids have such separators */
        return reader_by_name("ids", reader, err);
    if (head.text_size == 0)
        return fail(err, STATUS_INPUT, "%s: the trace is empty: it names no block", head.path);
    char *begin = text + strspn(text, " \t\r*");
    begin[strcspn(begin, "\r\n")] = '\0';
    return fail(err, STATUS_INPUT,
                "%s:%" PRIu64 ": \"%.40s\" begins no known format: expected a block id (ids), ids with blanks between "
                "(passes, arc), names of columns with \"block\" (csv) or \"# route_trace v1\" (route)",
                head.path, line, begin);
}
