/* What the trace readers share. */
#include "workloads/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"

bool reader_needs_model(const struct reading *reading, const char *format, struct error *err)
{
    return reading->input->model != NULL || reading->input->sparse_ids ||
           fail(err, STATUS_USAGE,
                "%s: a trace of format %s brings no block sizes: expected a [model], for example blocks = 256 x 1MiB",
                reading->input->path, format);
}

enum { SUGGESTED_FROM = 4096 }; /* names that a typing error is compared with */

bool reader_unknown_block(const struct model *model, const char *name, enum status code, struct error *err)
{
    const char *names[SUGGESTED_FROM];
    char near[512];
    const uint32_t count = model->block_count < SUGGESTED_FROM ? model->block_count : SUGGESTED_FROM;
    for (uint32_t b = 0; b < count; b++)
        names[b] = model_block_name(model, b);
    return fail(err, code, "block \"%.80s\": the model \"%s\" has no such block%s", name, model->name,
                suggest_text(name, names, count, near, sizeof near));
}

bool reader_open_unmarked(struct reading *reading, struct error *err)
{
    const struct segment segment = {.repeat = 1, .phase = PHASE_DECODE};
    return trace_add_segment(reading->builder, &segment, err);
}

bool reader_open_token(struct reading *reading, enum phase phase, uint32_t token, uint32_t context, uint32_t growth,
                       int64_t idle_ns, struct error *err)
{
    const struct segment segment = {.repeat = 1,
                                    .token = token,
                                    .phase = phase,
                                    .context_first = context,
                                    .context_growth = growth,
                                    .idle_ns = idle_ns};
    return trace_add_segment(reading->builder, &segment, err);
}

const char *reader_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* A quoted field at *c, unquoted in place; *c ends behind the closing quote. */
static bool cut_quoted(char **c, char delimiter, char **field, struct error *err)
{
    char *read = *c + 1, *write = read;
    *field = read;
    for (;; read++) {
        if (*read == '\0')
            return fail(err, STATUS_INPUT, "a field in quotes does not end on its line: expected a closing \"");
        if (*read == '"') {
            if (read[1] != '"')
                break;
            read++;
        }
        *write++ = *read;
    }
    *c = read + 1;
    while (is_blank(**c) && **c != delimiter)
        (*c)++;
    if (**c != delimiter && **c != '\0')
        return fail(err, STATUS_INPUT, "found \"%.20s\" behind a field in quotes: expected a %s", *c,
                    delimiter == ',' ? "comma" : "delimiter");
    *write = '\0';
    return true;
}

bool split_fields(char *line, char delimiter, char *fields[], uint32_t max, uint32_t *count, struct error *err)
{
    char *c = line;
    for (*count = 0;;) {
        if (*count == max)
            return fail(err, STATUS_INPUT, "more than %" PRIu32 " fields", max);
        while (is_blank(*c) && *c != delimiter)
            c++;
        char *end;
        if (*c == '"') {
            if (!cut_quoted(&c, delimiter, &fields[*count], err))
                return false;
            end = c;
        } else {
            fields[*count] = c;
            while (*c != delimiter && *c != '\0')
                c++;
            end = c;
            while (end > fields[*count] && is_blank(end[-1]))
                end--;
        }
        (*count)++;
        const bool last = *c == '\0'; /* before `end` is cut: it may be that delimiter */
        *end = '\0';
        if (last)
            return true;
        c++;
    }
}

bool reader_each_line(struct reading *reading,
                      bool (*each)(struct reading *reading, void *context, char *line, struct error *err),
                      void *context, struct error *err)
{
    struct lines *lines;
    char *line;
    size_t length;
    uint64_t number;
    if (!lines_open(reading->stream, &lines, err))
        return false;
    bool ok = true;
    while (ok && (ok = lines_next(lines, &line, &length, &number, err)) && line != NULL) {
        ok = each(reading, context, line, err);
        if (!ok)
            (void)fail_in(err, "%s:%" PRIu64, reading->input->path, number);
    }
    lines_close(lines);
    return ok;
}

struct head_shape reader_head_shape(const char *head)
{
    struct head_shape shape = {0};
    bool first = true;
    for (const char *c = head; *c != '\0';) {
        while (is_blank(*c))
            c++;
        const bool content = *c != '\n' && *c != '\r' && *c != '*' && *c != '\0';
        if (content && first)
            shape.digits = *c >= '0' && *c <= '9';
        first = first && !content;
        uint64_t number;
        if (content && read_number(&c, &number) && is_blank(*c)) {
            while (is_blank(*c))
                c++;
            shape.pairs = shape.pairs || (*c >= '0' && *c <= '9');
        }
        c += strcspn(c, "\n");
        c += *c == '\n';
    }
    return shape;
}

bool reader_path_ends(const char *path, const char *const names[])
{
    static const char *const packed[] = {".zst", ".zstd", ".gz", ""};
    const size_t length = strlen(path);
    for (; *names != NULL; names++)
        for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
            const size_t tail = strlen(packed[i]), name = strlen(*names);
            if (length > name + tail && strcasecmp(path + length - tail, packed[i]) == 0 &&
                strncasecmp(path + length - tail - name, *names, name) == 0)
                return true;
        }
    return false;
}
