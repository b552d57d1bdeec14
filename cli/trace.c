/* `pocketload trace`: the formats that are read, and what is in a trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/action.h"
#include "cli/command.h"
#include "cli/common.h"
#include "sim/record.h"
#include "workloads/workload.h"

enum { KEY_TRACE_FORMAT = KEY_OWN };

struct format_row {
    const char *name, *summary;
};

static int list(int argc, char **argv)
{
    static const struct column columns[] = {
        {"format", COLUMN_TEXT, offsetof(struct format_row, name), false, "name"},
        {"summary", COLUMN_TEXT, offsetof(struct format_row, summary), false, "what it looks like"},
    };
    struct action_input input;
    int status;
    if (!action_start(argc, argv, NULL, "Lists the trace formats; each may be compressed by zstd or gzip.", &input,
                      &status))
        return status;
    size_t count;
    const struct trace_reader *readers = trace_readers(&count);
    struct error err;
    struct format_row *rows = calloc(count + 1, sizeof *rows);
    if (rows == NULL) {
        fail(&err, STATUS_IO, "out of memory");
        return report(&err);
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct format_row){readers[i].name, readers[i].summary};
    bool good = show_records(input.format, columns, 2, rows, sizeof *rows, count, &err);
    free(rows);
    return good ? STATUS_OK : report(&err);
}

struct trace_row {
    const char *trace;
    uint64_t steps, accesses;
    int64_t tokens;
    uint64_t blocks, cycle_blocks;
    int64_t working_set_bytes, cycle_bytes, accessed_bytes, step_bytes_max;
};

static const struct column columns[] = {
    {"trace", COLUMN_TEXT, offsetof(struct trace_row, trace), false, "file"},
    {"steps", COLUMN_INTEGER, offsetof(struct trace_row, steps), false, "units of computation"},
    {"accesses", COLUMN_INTEGER, offsetof(struct trace_row, accesses), false, "look-ups of a distinct block by a step"},
    {"tokens", COLUMN_INTEGER, offsetof(struct trace_row, tokens), true, "none when the trace marks no tokens"},
    {"blocks", COLUMN_INTEGER, offsetof(struct trace_row, blocks), false, "distinct blocks"},
    {"cycle_blocks", COLUMN_INTEGER, offsetof(struct trace_row, cycle_blocks), false,
     "most distinct blocks that one decoded token touches; without tokens: all"},
    {"working_set_bytes", COLUMN_INTEGER, offsetof(struct trace_row, working_set_bytes), true, "all distinct blocks"},
    {"cycle_bytes", COLUMN_INTEGER, offsetof(struct trace_row, cycle_bytes), true,
     "most bytes that one decoded token touches: below it LRU and FIFO hit nothing on a cyclic trace"},
    {"accessed_bytes", COLUMN_INTEGER, offsetof(struct trace_row, accessed_bytes), true, "sum over all accesses"},
    {"largest_step_bytes", COLUMN_INTEGER, offsetof(struct trace_row, step_bytes_max), true,
     "most bytes that one step needs at once"},
};

/* Distinct blocks of the steps of one segment; `seen` holds the number of the segment that met a block last. */
static uint64_t distinct_blocks(const struct trace *trace, const struct segment *segment, uint32_t *seen, uint32_t mark)
{
    uint64_t count = 0;
    uint32_t begin = trace_step_begin(trace, segment->first_step);
    uint32_t end = trace_step_begin(trace, segment->first_step + segment->step_count);
    for (uint32_t use = begin; use < end; use++) {
        uint32_t block = trace->uses[use] & USE_BLOCK;
        count += seen[block] != mark;
        seen[block] = mark;
    }
    return count;
}

static bool fill_row(const struct trace *trace, bool has_bytes, struct trace_row *row, struct error *err)
{
    uint32_t *seen = calloc((size_t)trace->block_count + 1, sizeof *seen);
    uint64_t *heat = calloc((size_t)trace->block_count + 1, sizeof *heat);
    bool good = (seen != NULL && heat != NULL) || fail(err, STATUS_IO, "out of memory");
    if (good) {
        trace_heat(trace, heat);
        for (uint32_t i = 0; i < trace->block_count; i++)
            row->blocks += heat[i] > 0;
        bool decodes = false;
        for (uint32_t i = 0; i < trace->segment_count; i++) {
            const struct segment *segment = &trace->segments[i];
            row->steps += (uint64_t)segment->step_count * segment->repeat;
            if (segment->phase != PHASE_DECODE || !trace->counts_tokens)
                continue;
            decodes = true;
            uint64_t count = distinct_blocks(trace, segment, seen, i + 1);
            if (count > row->cycle_blocks)
                row->cycle_blocks = count;
        }
        if (!decodes)
            row->cycle_blocks = row->blocks;
        row->accesses = trace->access_count;
        row->tokens = trace->counts_tokens ? (int64_t)trace->token_count : -1;
        row->working_set_bytes = has_bytes ? (int64_t)trace->working_set_bytes : -1;
        row->cycle_bytes = has_bytes ? (int64_t)trace->cycle_bytes : -1;
        row->accessed_bytes = has_bytes ? (int64_t)trace->accessed_bytes : -1;
        row->step_bytes_max = has_bytes ? (int64_t)trace->step_bytes_max : -1;
    }
    free(seen);
    free(heat);
    return good;
}

struct show_input {
    struct action_input action;
    const char *trace_format;
};

static error_t parse_show(int key, char *text, struct argp_state *state)
{
    struct show_input *input = state->input;
    if (key != KEY_TRACE_FORMAT)
        return action_parse(key, text, &input->action);
    input->trace_format = text;
    return 0;
}

static int show(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"trace-format", KEY_TRACE_FORMAT, "FORMAT", 0,
         "format of the trace (default: by its content); csv(time=1,id=2,size=3,delimiter=;,header) for columns by "
         "place",
         0},
        FORMAT_OPTION,
        HELP_OPTION,
        {0},
    };
    static const struct argp argp = {options, parse_show, "FILE", "Shows what is in a trace.", NULL, NULL, NULL};
    struct show_input input = {.action.what = "FILE"};
    struct error err;
    if (!arguments_parse(&argp, argc, argv, &input.action.arguments, &err))
        return report(&err);
    if (input.action.arguments.helped)
        return STATUS_OK;
    struct trace trace;
    struct model model;
    bool has_bytes;
    if (!trace_read_alone(input.action.name, input.trace_format, &trace, &model, &has_bytes, &err))
        return report(&err);
    struct trace_row row = {.trace = input.action.name};
    if (trace.resized_count > 0)
        fprintf(stderr, "note: %" PRIu64 " records have another size than the first of their block, which counts\n",
                trace.resized_count);
    bool good = fill_row(&trace, has_bytes, &row, &err) &&
                show_record(input.action.format, columns, sizeof columns / sizeof columns[0], &row, &err);
    trace_free(&trace);
    model_free(&model);
    return good ? STATUS_OK : report(&err);
}

int command_trace(int argc, char **argv)
{
    static const struct command actions[] = {
        {"list", "", "the formats that are read", list},
        {"show", "FILE", "steps, accesses, blocks and cycle of a trace", show},
    };
    return command_dispatch(actions, sizeof actions / sizeof actions[0], argc, argv);
}
