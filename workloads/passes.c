/* The format `passes`: each line is a token, the decimal ids of its blocks in order, each a step. Empty lines are
 * skipped. */
#include "workloads/reader.h"

static bool add_line(struct reading *reading, void *context, char *line, struct error *err)
{
    uint32_t *tokens = context;
    const char *c = line;
    while (is_blank(*c))
        c++;
    if (*c == '\0')
        return true;
    if (!reader_open_token(reading, PHASE_DECODE, *tokens, *tokens, 1, 0, err))
        return false;
    (*tokens)++;
    while (*c != '\0') {
        uint64_t number;
        const char *word = c;
        if (!read_number(&c, &number) || (*c != '\0' && !is_blank(*c)))
            return fail(err, STATUS_INPUT,
                        "\"%.40s\": expected block ids, decimal numbers below 2^64, with blanks between", word);
        if (!reader_add_numbered(reading, number, err))
            return false;
        while (is_blank(*c))
            c++;
    }
    return true;
}

bool passes_read(struct reading *reading, struct error *err)
{
    uint32_t tokens = 0;
    reading->builder->trace->counts_tokens = true;
    return reader_needs_model(reading, "passes", err) && reader_each_line(reading, add_line, &tokens, err) &&
           numbered_finish(reading, err);
}

bool passes_matches(const struct trace_head *head)
{
    const struct head_shape shape = reader_head_shape(head->text);
    return shape.digits && shape.pairs;
}
