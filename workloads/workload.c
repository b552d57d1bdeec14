/* From a [workload] section to a trace: which generator or reader, and what is the same for all readers. */
#include "workloads/workload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "workloads/reader.h"
#include "workloads/work.h"

/* In the order in which they are asked whether a file is theirs. */
static const struct trace_reader readers[] = {
    {"route", "which experts each token chose in each layer", route_matches, route_read},
    {"csv", "columns by name: block, bytes, step, token, phase, compute_ns, layer, kind", csv_matches, csv_read},
    {"passes", "a token a line: the decimal ids of its blocks in order, each a step", passes_matches, passes_read},
    {"ids", "one decimal block id a line, each a step", ids_matches, ids_read},
};
enum { READERS = sizeof readers / sizeof readers[0], HEAD_BYTES = 4096, LOOK_BYTES = 1 << 20 };

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

/* The first bytes of a stream that tell its format: from the first line with content, without a BOM, NUL-terminated.
 * *size is 0 where there is no content as far as we look; *ended tells whether that is the end. */
static bool read_head(struct stream *stream, char head[HEAD_BYTES + 1], size_t *size, uint64_t *line, bool *ended,
                      struct error *err)
{
    for (size_t wanted = HEAD_BYTES;; wanted *= 2) {
        const char *data;
        size_t begin;
        if (!stream_peek(stream, wanted, &data, size, err))
            return false;
        *ended = *size < wanted;
        const size_t mark = *size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
        const bool found = find_content(data + mark, *size - mark, &begin, line);
        *size = found ? *size - mark - begin : 0;
        if ((found && *size >= HEAD_BYTES) || *ended || wanted >= LOOK_BYTES) {
            *size = *size < HEAD_BYTES ? *size : HEAD_BYTES;
            memcpy(head, data + mark + begin, *size);
            head[*size] = '\0';
            return true;
        }
    }
}

static bool reader_by_content(struct stream *stream, const struct trace_reader **reader, struct error *err)
{
    char head[HEAD_BYTES + 1];
    size_t size;
    uint64_t line;
    bool ended;
    if (!read_head(stream, head, &size, &line, &ended, err))
        return false;
    if (size == 0 && !ended) /* only ids have such separators */
        return reader_by_name("ids", reader, err);
    if (size == 0)
        return fail(err, STATUS_INPUT, "%s: the trace is empty: it names no block", stream_path(stream));
    for (size_t i = 0; i < READERS; i++)
        if (readers[i].matches(head, size)) {
            *reader = &readers[i];
            return true;
        }
    const char *text = head + strspn(head, " \t\r*");
    head[(text - head) + (ptrdiff_t)strcspn(text, "\r\n")] = '\0';
    return fail(err, STATUS_INPUT,
                "%s:%" PRIu64 ": \"%.40s\" begins no known format: expected a block id (ids), ids with blanks between "
                "(passes), names of columns with \"block\" (csv) or \"# route_trace v1\" (route)",
                stream_path(stream), line, text);
}

/* What the config says alone is not a fault of an input. */
static bool blame_config(struct error *err)
{
    if (err->code == STATUS_INPUT)
        err->code = STATUS_USAGE;
    return false;
}

/* What is left to do when a reader has added all steps. */
static bool finish_reading(struct reading *reading, struct error *err)
{
    const struct workload_spec *spec = reading->input->spec;
    const struct model *model = reading->input->model != NULL ? reading->input->model : reading->own_model;
    struct trace *trace = reading->builder->trace;
    const char *place = reading->input->path != NULL ? reading->input->path : "the sequence";
    if (!trace->counts_tokens && (spec->compute_per_token_ns >= 0 || spec->prompt_compute_ns >= 0))
        return fail(
            err, STATUS_USAGE,
            "compute_per_token and prompt_compute need a trace that marks tokens, and %s does not: expected roofline",
            place);
    for (uint32_t s = 0; s < trace->segment_count && trace->counts_tokens; s++)
        if (!work_activation_bytes(model, trace->segments[s].context_growth, &trace->segments[s].activation_bytes, err))
            return fail_in(err, "%s", place);
    const struct step_times times = {.step_ns = reading->step_ns,
                                     .prompt_ns = spec->prompt_compute_ns,
                                     .token_ns = spec->compute_per_token_ns,
                                     .has_bytes = reading->has_bytes};
    if (work_attach(reading->builder, model, &times, err) && trace_finish(reading->builder, model, err))
        return true;
    if (reading->input->model != NULL) /* sums of its sizes */
        (void)blame_config(err);
    return fail_in(err, "%s", place);
}

/* Reads a stream with a reader, or where they are NULL the sequence of the spec. */
static bool read_with(const struct trace_reader *reader, struct stream *stream, const struct reader_input *input,
                      struct trace *trace, struct model *own_model, bool *has_own_model, bool *has_bytes,
                      struct error *err)
{
    struct trace_builder builder;
    struct reading reading = {.input = input, .stream = stream, .builder = &builder, .own_model = own_model};
    const char *name = reader != NULL ? reader_file_name(input->path) : "sequence";
    const bool ok =
        trace_start(&builder, trace, name, err) &&
        (reader != NULL ? reader->read(&reading, err) : sequence_read(&reading, input->spec->sequence, err)) &&
        finish_reading(&reading, err);
    idmap_free(&reading.ids);
    free(reading.small);
    free(reading.step_ns);
    if (ok) {
        *has_own_model = reading.has_own_model;
        *has_bytes = reading.has_bytes;
        return true;
    }
    trace_abandon(&builder);
    if (reading.has_own_model)
        model_free(own_model);
    return false;
}

/* Opens the file once: what is read from a pipe to find its format does not come again. */
static bool read_file(const char *path, const char *format, struct reader_input *input, struct trace *trace,
                      struct model *own_model, bool *has_own_model, bool *has_bytes, struct error *err)
{
    const bool by_content = format == NULL || strcmp(format, "auto") == 0;
    const struct trace_reader *reader;
    struct stream *stream;
    if ((!by_content && !reader_by_name(format, &reader, err)) || !stream_open(path, &stream, err))
        return false;
    input->path = stream_path(stream);
    const bool ok = (!by_content || reader_by_content(stream, &reader, err)) &&
                    read_with(reader, stream, input, trace, own_model, has_own_model, has_bytes, err);
    stream_close(stream);
    return ok;
}

bool workload_compile(const struct workload_spec *spec, const struct model *model, struct trace *trace,
                      struct model *own_model, bool *has_own_model, struct error *err)
{
    *has_own_model = false;
    if (spec->kind == WORKLOAD_DENSE)
        return workload_dense(spec, model, trace, err) || blame_config(err);
    if (spec->kind == WORKLOAD_MOE)
        return workload_moe(spec, model, trace, err) || blame_config(err);
    if ((spec->trace != NULL) == (spec->sequence != NULL))
        return fail(err, STATUS_USAGE, "kind = trace: expected either trace (a file) or sequence (block names)%s",
                    spec->trace != NULL ? ", not both" : "");
    struct reader_input input = {.model = model, .spec = spec};
    bool has_bytes;
    return spec->trace != NULL
               ? read_file(spec->trace, spec->format, &input, trace, own_model, has_own_model, &has_bytes, err)
               : read_with(NULL, NULL, &input, trace, own_model, has_own_model, &has_bytes, err);
}

bool trace_read_alone(const char *path, const char *format, struct trace *trace, struct model *own_model,
                      bool *has_bytes, struct error *err)
{
    const struct workload_spec spec = {.kind = WORKLOAD_TRACE,
                                       .trace = path,
                                       .compute_per_token_ns = -1,
                                       .prompt_compute_ns = -1,
                                       .foresee = FORESEE_AUTO};
    struct reader_input input = {.sparse_ids = true, .spec = &spec};
    bool has_own_model;
    return read_file(path, format, &input, trace, own_model, &has_own_model, has_bytes, err);
}
