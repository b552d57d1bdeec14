/* The format `csv`: a line of column names in any order, then one use of a block a line (RFC 4180).
 *
 * - block: a block of the model (name or id), or without a model any name.
 * - bytes: its size. Needed without a model, at least where the block appears first, and always the same.
 * - step: a number that does not decrease within a token. Lines with the same number are one step; without the column
 *   each line is a step.
 * - token: a number that does not decrease. When it changes, a token begins.
 * - phase: prefill, decode (also when empty), or idle: a pause before the next token, as long as compute_ns, without a
 *   block. Without the column token, each stretch of lines of one phase is a token, and a pause ends a stretch.
 * - compute_ns: what the step computes; the lines of a step add up. Without it by the roofline.
 * - layer, kind: of the block, where it appears first; with a model they are the model's.
 *
 * Files whose columns have no such names are read by csv_columns.c: where the user says which column is which, and
 * where the first line has two numbers, which are id and size. */
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/suggest.h"
#include "policies/registry.h"
#include "workloads/csv_blocks.h"
#include "workloads/csv_columns.h"
#include "workloads/reader.h"

enum column { COL_BLOCK, COL_BYTES, COL_STEP, COL_TOKEN, COL_PHASE, COL_COMPUTE, COL_LAYER, COL_KIND, COLS };
static const char *const column_names[COLS] = {"block", "bytes",      "step",  "token",
                                               "phase", "compute_ns", "layer", "kind"};

#define TIME_MAX (INT64_C(1) << 62)

struct csv {
    struct csv_blocks blocks;
    bool has_header;
    uint32_t field_count;
    uint32_t place[COLS]; /* in the fields; FIELDS_MAX: no such column */
    char *fields[FIELDS_MAX];
    bool any_token, any_step, paused;
    uint64_t step;
    uint32_t token, tokens; /* the open one's number, and how many there were */
    enum phase phase;
    int64_t idle_ns;
};

static bool has(const struct csv *csv, enum column column)
{
    return csv->place[column] < FIELDS_MAX;
}

/* The text of a field, "" where there is no such column. */
static const char *field(const struct csv *csv, enum column column)
{
    return has(csv, column) ? csv->fields[csv->place[column]] : "";
}

static bool number(const struct csv *csv, enum column column, uint64_t max, uint64_t *value, struct error *err)
{
    const char *text = field(csv, column), *end = text;
    if (!read_number(&end, value) || *end != '\0' || *value > max)
        return fail(err, STATUS_INPUT, "%s \"%.40s\": expected a whole number from 0 to %" PRIu64, column_names[column],
                    text, max);
    return true;
}

static bool is_data(const struct csv *csv)
{
    for (uint32_t i = 0; i < csv->field_count; i++)
        if (csv->fields[i][0] == '\0' || csv->fields[i][strspn(csv->fields[i], "0123456789")] != '\0')
            return false;
    return true;
}

static bool check_columns(const struct reading *reading, const struct csv *csv, struct error *err)
{
    if (!has(csv, COL_BLOCK))
        return fail(err, STATUS_INPUT, "no column \"block\": expected it among the names of the columns");
    if (!has(csv, COL_BYTES) && reading->input->model == NULL && !reading->input->sparse_ids)
        return fail(err, STATUS_USAGE, "no column \"bytes\": expected it, or a [model] that has these blocks");
    return true;
}

/* A name that is near none of ours is most likely in another simulator's file. */
static bool fail_column(const char *name, struct error *err)
{
    char near[512];
    suggest_text(name, column_names, COLS, near, sizeof near);
    return fail(
        err, STATUS_INPUT, "unknown column \"%.40s\"%s%s", name, near,
        strstr(near, "did you mean") != NULL
            ? ""
            : "; where columns have other names, say their places: --trace-format 'csv(time=1,id=2,size=3,header)'");
}

static bool read_header(struct reading *reading, struct csv *csv, struct error *err)
{
    for (uint32_t c = 0; c < COLS; c++)
        csv->place[c] = FIELDS_MAX;
    if (is_data(csv))
        return fail(err, STATUS_INPUT,
                    "found numbers, expected the names of the columns: put a line \"%s\" above it, or say which column "
                    "is which: --trace-format 'csv(id=1,size=2)'",
                    csv->field_count == 1 ? "block" : "block,bytes,step,token");
    for (uint32_t i = 0; i < csv->field_count; i++) {
        uint32_t c = 0;
        while (c < COLS && strcmp(csv->fields[i], column_names[c]) != 0)
            c++;
        if (c == COLS)
            return fail_column(csv->fields[i], err);
        if (csv->place[c] != FIELDS_MAX)
            return fail(err, STATUS_INPUT, "two columns \"%s\"", column_names[c]);
        csv->place[c] = i;
    }
    csv->has_header = true;
    csv->blocks.sized = has(csv, COL_BYTES);
    reading->builder->trace->counts_tokens = has(csv, COL_TOKEN) || has(csv, COL_PHASE);
    reading->has_bytes = has(csv, COL_BYTES) || reading->input->model != NULL;
    return check_columns(reading, csv, err) &&
           (reading->builder->trace->counts_tokens || reader_open_unmarked(reading, err));
}

static bool read_phase(const struct csv *csv, enum phase *phase, struct error *err)
{
    const char *text = field(csv, COL_PHASE);
    char near[512];
    *phase = PHASE_DECODE;
    if (*text == '\0')
        return true;
    for (int p = PHASE_PREFILL; p < PHASES; p++)
        if (strcmp(text, phase_names[p]) == 0) {
            *phase = (enum phase)p;
            return true;
        }
    return fail(err, STATUS_INPUT, "phase \"%.40s\"%s", text,
                suggest_text(text, &phase_names[PHASE_PREFILL], PHASES - PHASE_PREFILL, near, sizeof near));
}

static bool add_pause(struct csv *csv, struct error *err)
{
    uint64_t ns;
    if (*field(csv, COL_BLOCK) != '\0')
        return fail(err, STATUS_INPUT, "phase idle: found the block \"%.40s\", expected none", field(csv, COL_BLOCK));
    if (!number(csv, COL_COMPUTE, (uint64_t)(TIME_MAX - csv->idle_ns), &ns, err))
        return fail_in(err, "phase idle");
    csv->idle_ns += (int64_t)ns;
    csv->paused = true;
    return true;
}

/* The token of a line: the number in its column, else one more wherever a stretch of one phase begins. */
static bool token_of(const struct csv *csv, enum phase phase, uint64_t *token, struct error *err)
{
    if (has(csv, COL_TOKEN))
        return number(csv, COL_TOKEN, UINT32_MAX - 1, token, err);
    const bool goes_on = csv->any_token && phase == csv->phase && !csv->paused;
    *token = goes_on ? csv->token : csv->tokens;
    return true;
}

/* Begins a token where the number changes. */
static bool follow_token(struct reading *reading, struct csv *csv, enum phase phase, bool *begun, struct error *err)
{
    uint64_t token;
    *begun = false;
    if (!reading->builder->trace->counts_tokens)
        return true;
    if (!token_of(csv, phase, &token, err))
        return false;
    if (csv->any_token && token < csv->token)
        return fail(err, STATUS_INPUT,
                    "token %" PRIu64 " behind token %" PRIu32 ": expected numbers that do not decrease", token,
                    csv->token);
    if (csv->any_token && token == csv->token) {
        if (csv->paused)
            return fail(err, STATUS_INPUT, "a pause inside token %" PRIu64 ": expected it between tokens", token);
        if (phase != csv->phase)
            return fail(err, STATUS_INPUT, "token %" PRIu64 " is %s and %s: expected one phase", token,
                        phase_names[csv->phase], phase_names[phase]);
        return true;
    }
    *begun = true;
    csv->any_token = true;
    csv->token = (uint32_t)token;
    csv->phase = phase;
    const int64_t idle_ns = csv->idle_ns;
    csv->idle_ns = 0;
    csv->paused = false;
    return reader_open_token(reading, phase, csv->token, csv->tokens++, 1, idle_ns, err);
}

static bool follow_step(struct reading *reading, struct csv *csv, bool token_begun, struct error *err)
{
    uint64_t step = 0;
    if (has(csv, COL_STEP) && !number(csv, COL_STEP, UINT64_MAX, &step, err))
        return false;
    if (csv->any_step && has(csv, COL_STEP) && !token_begun) {
        /* Lines out of order would silently become other steps than those that were meant. */
        if (step < csv->step)
            return fail(err, STATUS_INPUT,
                        "step %" PRIu64 " behind step %" PRIu64 ": expected numbers that do not decrease%s", step,
                        csv->step, reading->builder->trace->counts_tokens ? " within a token" : "");
        if (step == csv->step)
            return true;
    }
    csv->any_step = true;
    csv->step = step;
    if (!trace_add_step(reading->builder, 0, err))
        return false;
    if (!has(csv, COL_COMPUTE))
        return true;
    const uint32_t count = reading->builder->trace->step_count;
    void *times = reading->step_ns;
    if (!array_reserve(&times, &reading->step_ns_capacity, count, sizeof *reading->step_ns, err))
        return false;
    reading->step_ns = times;
    reading->step_ns[count - 1] = -1;
    return true;
}

static bool add_time(struct reading *reading, const struct csv *csv, struct error *err)
{
    uint64_t ns;
    if (*field(csv, COL_COMPUTE) == '\0')
        return true;
    int64_t *time = &reading->step_ns[reading->builder->trace->step_count - 1];
    const int64_t before = *time < 0 ? 0 : *time;
    if (!number(csv, COL_COMPUTE, (uint64_t)(TIME_MAX - before), &ns, err))
        return false;
    *time = before + (int64_t)ns;
    return true;
}

static bool read_about(const struct csv *csv, struct csv_about *about, struct error *err)
{
    const char *kind = field(csv, COL_KIND), *layer = field(csv, COL_LAYER);
    char near[512];
    uint64_t value;
    *about = (struct csv_about){.layer = -1, .kind = BLOCK_OTHER};
    if (*field(csv, COL_BYTES) != '\0') {
        if (!number(csv, COL_BYTES, INT64_MAX, &about->bytes, err))
            return false;
        if (about->bytes == 0)
            return fail(err, STATUS_INPUT, "bytes 0: expected at least 1");
    }
    if (*layer != '\0' && strcmp(layer, "-1") != 0) {
        if (!number(csv, COL_LAYER, MODEL_BLOCKS_MAX - 1, &value, err))
            return false;
        about->layer = (int32_t)value;
    }
    if (*kind == '\0')
        return true;
    uint32_t k = 0;
    while (k < BLOCK_KINDS && strcmp(kind, block_kind_names[k]) != 0)
        k++;
    if (k == BLOCK_KINDS)
        return fail(err, STATUS_INPUT, "kind \"%.40s\"%s", kind,
                    suggest_text(kind, block_kind_names, BLOCK_KINDS, near, sizeof near));
    about->kind = (enum block_kind)k;
    return true;
}

static bool add_line(struct reading *reading, void *context, char *line, struct error *err)
{
    struct csv *csv = context;
    enum phase phase;
    bool token_begun;
    block_id block;
    uint32_t count;
    struct csv_about about;
    if (line[strspn(line, " \t")] == '\0')
        return true;
    if (!split_fields(line, ',', csv->fields, FIELDS_MAX, &count, err))
        return false;
    if (!csv->has_header) {
        csv->field_count = count;
        return read_header(reading, csv, err);
    }
    if (count != csv->field_count)
        return fail(err, STATUS_INPUT, "found %" PRIu32 " fields, expected %" PRIu32 " as in the line of column names",
                    count, csv->field_count);
    if (!read_phase(csv, &phase, err))
        return false;
    if (phase == PHASE_IDLE)
        return add_pause(csv, err);
    if (!follow_token(reading, csv, phase, &token_begun, err) || !follow_step(reading, csv, token_begun, err) ||
        !add_time(reading, csv, err) || !read_about(csv, &about, err) ||
        !csv_block(&csv->blocks, field(csv, COL_BLOCK), &about, &block, err))
        return false;
    const struct model *model = csv->blocks.given != NULL ? csv->blocks.given : csv->blocks.own;
    return trace_add_use(reading->builder, block,
                         foresee_flag(reading->input->spec->foresee, model->blocks[block].kind), err);
}

static bool read_named(struct reading *reading, struct error *err)
{
    struct csv csv = {.blocks = {.given = reading->input->model}};
    if (csv.blocks.given == NULL) {
        csv.blocks.own = reading->own_model;
        model_start(reading->own_model, reader_file_name(reading->input->path), "");
        reading->has_own_model = true;
    }
    bool ok = reader_each_line(reading, add_line, &csv, err);
    csv_blocks_free(&csv.blocks);
    if (!ok)
        return false;
    if (csv.paused)
        return fail(err, STATUS_INPUT, "%s: the last line is a pause: expected a token behind it",
                    reading->input->path);
    if (reading->builder->trace->use_count == 0)
        return fail(err, STATUS_INPUT, "%s: the trace is empty: it names no block", reading->input->path);
    return csv.blocks.own == NULL || model_finish(csv.blocks.own, err) || fail_in(err, "%s", reading->input->path);
}

bool csv_read(struct reading *reading, struct error *err)
{
    static const struct csv_columns id_and_size = {.id = 1, .size = 2, .delimiter = ','};
    char text[HEAD_BYTES + 1];
    struct trace_head head;
    uint64_t line;
    bool ended;
    if (reading->columns != NULL)
        return csv_columns_read(reading, reading->columns, err);
    if (!reader_peek_head(reading->stream, text, &head, &line, &ended, err))
        return false;
    return csv_columns_plain(text) ? csv_columns_read(reading, &id_and_size, err) : read_named(reading, err);
}

bool csv_matches(const struct trace_head *head)
{
    const size_t line = strcspn(head->text, "\r\n");
    return memchr(head->text, ',', line) != NULL || (line == 5 && memcmp(head->text, "block", 5) == 0);
}
