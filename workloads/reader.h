/* What the trace readers share: numbers with bounds, rows of fields, ids to blocks. */
#ifndef POCKETLOAD_WORKLOADS_READER_H
#define POCKETLOAD_WORKLOADS_READER_H

#include <stddef.h>

#include "workloads/workload.h"

/* The readers: rows of the table in formats.c. */
bool route_matches(const struct trace_head *head);
bool route_read(struct reading *reading, struct error *err);
bool csv_matches(const struct trace_head *head);
bool csv_read(struct reading *reading, struct error *err);
bool passes_matches(const struct trace_head *head);
bool passes_read(struct reading *reading, struct error *err);
bool ids_matches(const struct trace_head *head);
bool ids_read(struct reading *reading, struct error *err);
bool arc_matches(const struct trace_head *head);
bool arc_read(struct reading *reading, struct error *err);
bool oracle_general_matches(const struct trace_head *head);
bool oracle_general_read(struct reading *reading, struct error *err);

/* "step1 step2 ..." of the config, without a file. Errors are STATUS_USAGE. */
bool sequence_read(struct reading *reading, const char *text, struct error *err);

/* Reads decimal digits at *text and moves it behind them; false when there are none or the value is over 2^64-1. */
static inline bool read_number(const char **text, uint64_t *value)
{
    const char *c = *text;
    uint64_t v = 0;
    while (*c >= '0' && *c <= '9') {
        const uint64_t digit = (uint64_t)(*c - '0');
        if (v > UINT64_MAX / 10 || v * 10 > UINT64_MAX - digit)
            return false;
        v = v * 10 + digit;
        c++;
    }
    if (c == *text)
        return false;
    *text = c;
    *value = v;
    return true;
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Fails for a name that the model lacks, with the nearest that it has. */
bool reader_unknown_block(const struct model *model, const char *name, enum status code, struct error *err);

/* A format without sizes needs a model unless ids are sparse. */
bool reader_needs_model(const struct reading *reading, const char *format, struct error *err);

/* Adds a step of one block with that number. */
static inline bool reader_add_numbered(struct reading *reading, uint64_t number, struct error *err)
{
    const struct model *model = reading->input->model;
    block_id block;
    if (!numbered_block(reading, number, &block, err))
        return false;
    const enum block_kind kind = model != NULL ? (enum block_kind)model->policy_blocks[block].kind : BLOCK_OTHER;
    return trace_add_step(reading->builder, 0, err) &&
           trace_add_use(reading->builder, block, foresee_flag(reading->input->spec->foresee, kind), err);
}

/* Calls back for each line of the file; errors of the callback get path:line in front. */
bool reader_each_line(struct reading *reading,
                      bool (*each)(struct reading *reading, void *context, char *line, struct error *err),
                      void *context, struct error *err);

/* The segment of a trace that marks no tokens, and that of a decode token with `context` tokens before it. */
bool reader_open_unmarked(struct reading *reading, struct error *err);
bool reader_open_token(struct reading *reading, enum phase phase, uint32_t token, uint32_t context, uint32_t growth,
                       int64_t idle_ns, struct error *err);

/* The last part of a path. */
const char *reader_file_name(const char *path);

/* Cuts a line at its delimiters, commas as a rule, in place: fields point into it, without quotes (RFC 4180: a field in
 * double quotes may hold delimiters, and a double quote written twice) and without blanks around an unquoted one. A
 * quoted field ends on its line. Fails when there are more than `max` fields. */
enum { FIELDS_MAX = 64 };
bool split_fields(char *line, char delimiter, char *fields[], uint32_t max, uint32_t *count, struct error *err);

/* Whether a path ends in one of the names (NULL ends the list), in any case of letters, and perhaps in ".zst" or ".gz"
 * behind it. */
bool reader_path_ends(const char *path, const char *const names[]);

/* The first bytes of a stream that tell its format, without taking them. head->text is in `text` and has no BOM; it is
 * empty where there is no content as far as we look, *line its line; *ended tells whether that is the end. */
enum { HEAD_BYTES = 4096 };
bool reader_peek_head(struct stream *stream, char text[HEAD_BYTES + 1], struct trace_head *head, uint64_t *line,
                      bool *ended, struct error *err);

/* The reader whose format the stream's first bytes look like. */
bool reader_by_content(struct stream *stream, const struct trace_reader **reader, struct error *err);

/* For the detection of formats: whether the first line that is not blank and not "*" begins with a digit, and whether a
 * line has two numbers that blanks separate. */
struct head_shape {
    bool digits, pairs;
};
struct head_shape reader_head_shape(const char *head);

#endif
