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
enum { READERS = sizeof readers / sizeof readers[0], HEAD_BYTES = 4096 };

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

/* The first bytes of a file, decompressed, without a BOM, NUL-terminated. */
static bool read_head(const char *path, char head[HEAD_BYTES + 1], size_t *size, struct error *err)
{
    struct stream *stream;
    const char *data;
    size_t chunk = 1;
    *size = 0;
    if (!stream_open(path, &stream, err))
        return false;
    bool ok = true;
    while (*size < HEAD_BYTES && chunk > 0 && (ok = stream_next(stream, &data, &chunk, err))) {
        const size_t taken = chunk < HEAD_BYTES - *size ? chunk : HEAD_BYTES - *size;
        memcpy(head + *size, data, taken);
        *size += taken;
    }
    stream_close(stream);
    if (*size >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0) {
        *size -= 3;
        memmove(head, head + 3, *size);
    }
    head[*size] = '\0';
    return ok;
}

static bool reader_by_content(const char *path, const struct trace_reader **reader, struct error *err)
{
    char head[HEAD_BYTES + 1];
    size_t size;
    if (!read_head(path, head, &size, err))
        return false;
    if (head[strspn(head, " \t\r\n*")] == '\0' && strlen(head) == size)
        return fail(err, STATUS_INPUT, "%s: the trace is empty: it names no block", path);
    for (size_t i = 0; i < READERS; i++)
        if (readers[i].matches(head, size)) {
            *reader = &readers[i];
            return true;
        }
    uint64_t line = 1;
    const char *text = head + strspn(head, " \t\r\n*");
    for (const char *c = head; c < text; c++)
        line += *c == '\n';
    head[(text - head) + (ptrdiff_t)strcspn(text, "\r\n")] = '\0';
    return fail(err, STATUS_INPUT,
                "%s:%" PRIu64 ": \"%.40s\" begins no known format: expected a block id (ids), ids with blanks between "
                "(passes), names of columns with \"block\" (csv) or \"# route_trace v1\" (route)",
                path, line, text);
}

/* What is left to do when a reader has added all steps. */
static bool finish_reading(struct reading *reading, struct error *err)
{
    const struct workload_spec *spec = reading->input->spec;
    const struct model *model = reading->input->model != NULL ? reading->input->model : reading->own_model;
    struct trace *trace = reading->builder->trace;
    const char *place = reading->input->path != NULL ? reading->input->path : "sequence";
    if (!trace->counts_tokens && (spec->compute_per_token_ns >= 0 || spec->prompt_compute_ns >= 0))
        return fail(
            err, STATUS_USAGE,
            "compute_per_token and prompt_compute need a trace that marks tokens, and %s does not: expected auto",
            place);
    for (uint32_t s = 0; s < trace->segment_count && trace->counts_tokens; s++)
        if (!work_activation_bytes(model, trace->segments[s].context_growth, &trace->segments[s].activation_bytes, err))
            return fail_in(err, "%s", place);
    const struct step_times times = {.step_ns = reading->step_ns,
                                     .prompt_ns = spec->prompt_compute_ns,
                                     .token_ns = spec->compute_per_token_ns,
                                     .has_bytes = reading->has_bytes};
    return (work_attach(reading->builder, model, &times, err) && trace_finish(reading->builder, model, err)) ||
           fail_in(err, "%s", place);
}

/* Reads a file with a reader, or where it is NULL the sequence of the spec. */
static bool read_with(const struct trace_reader *reader, const struct reader_input *input, struct trace *trace,
                      struct model *own_model, bool *has_own_model, bool *has_bytes, struct error *err)
{
    struct trace_builder builder;
    struct reading reading = {.input = input, .builder = &builder, .own_model = own_model};
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

static bool find_reader(const char *path, const char *format, const struct trace_reader **reader, struct error *err)
{
    return format == NULL || strcmp(format, "auto") == 0 ? reader_by_content(path, reader, err)
                                                         : reader_by_name(format, reader, err);
}

bool workload_compile(const struct workload_spec *spec, const struct model *model, struct trace *trace,
                      struct model *own_model, bool *has_own_model, struct error *err)
{
    *has_own_model = false;
    if (spec->kind == WORKLOAD_DENSE)
        return workload_dense(spec, model, trace, err);
    if (spec->kind == WORKLOAD_MOE)
        return workload_moe(spec, model, trace, err);
    if ((spec->trace != NULL) == (spec->sequence != NULL))
        return fail(err, STATUS_USAGE, "kind = trace: expected either trace (a file) or sequence (block names)%s",
                    spec->trace != NULL ? ", not both" : "");
    const struct reader_input input = {.path = spec->trace, .model = model, .spec = spec};
    const struct trace_reader *reader = NULL;
    bool has_bytes;
    return (spec->trace == NULL || find_reader(spec->trace, spec->format, &reader, err)) &&
           read_with(reader, &input, trace, own_model, has_own_model, &has_bytes, err);
}

bool trace_read_alone(const char *path, const char *format, struct trace *trace, struct model *own_model,
                      bool *has_bytes, struct error *err)
{
    const struct workload_spec spec = {.kind = WORKLOAD_TRACE,
                                       .trace = path,
                                       .compute_per_token_ns = -1,
                                       .prompt_compute_ns = -1,
                                       .foresee = FORESEE_AUTO};
    const struct reader_input input = {.path = path, .sparse_ids = true, .spec = &spec};
    const struct trace_reader *reader;
    bool has_own_model;
    return find_reader(path, format, &reader, err) &&
           read_with(reader, &input, trace, own_model, &has_own_model, has_bytes, err);
}
