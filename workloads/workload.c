/* From a [workload] section to a trace: which generator or reader, and what is the same for all readers. */
#include "workloads/workload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/reader.h"
#include "workloads/work.h"

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
    for (uint32_t s = 0; s < trace->segment_count && trace->counts_tokens; s++) {
        struct segment *segment = &trace->segments[s];
        const uint64_t longest = segment->context_first + (uint64_t)segment->repeat * segment->context_growth;
        if (!work_activation_bytes(model, spec, segment->context_growth, longest, &segment->activation_bytes, err))
            return fail_in(err, "%s", place);
    }
    reading->builder->kv_type = spec->kv_type;
    const struct step_times times = {.step_ns = reading->step_ns,
                                     .prompt_ns = spec->prompt_compute_ns,
                                     .token_ns = spec->compute_per_token_ns,
                                     .has_bytes = reading->has_bytes};
    /* A replay of plain steps has no time that their work could take. */
    const bool timeless = reading->input->sparse_ids && reading->builder->summed;
    if ((timeless || work_attach(reading->builder, model, &times, err)) && trace_finish(reading->builder, model, err))
        return true;
    if (reading->input->model != NULL) /* sums of its sizes */
        (void)blame_config(err);
    return fail_in(err, "%s", place);
}

/* Reads a stream with the format's reader, or where they are NULL the sequence of the spec. */
static bool read_with(const struct trace_format *format, struct stream *stream, const struct reader_input *input,
                      struct trace *trace, struct model *own_model, bool *has_own_model, bool *has_bytes,
                      struct error *err)
{
    struct trace_builder builder;
    struct reading reading = {.input = input, .stream = stream, .builder = &builder, .own_model = own_model};
    const struct trace_reader *reader = format != NULL ? format->reader : NULL;
    if (format != NULL && format->has_columns)
        reading.columns = &format->columns;
    const char *name = reader != NULL ? reader_file_name(input->path) : "sequence";
    const bool ok =
        trace_start(&builder, trace, name, err) &&
        (reader != NULL ? reader->read(&reading, err) : sequence_read(&reading, input->spec->sequence, err)) &&
        finish_reading(&reading, err);
    numbered_free(&reading.numbered);
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
    struct trace_format known;
    struct stream *stream;
    if (!trace_format_parse(format, &known, err) || !stream_open(path, &stream, err))
        return false;
    input->path = stream_path(stream);
    const bool ok = (known.reader != NULL || reader_by_content(stream, &known.reader, err)) &&
                    read_with(&known, stream, input, trace, own_model, has_own_model, has_bytes, err);
    stream_close(stream);
    return ok;
}

bool workload_compile(const struct workload_spec *spec, const struct model *model, struct trace *trace,
                      struct model *own_model, bool *has_own_model, struct error *err)
{
    *has_own_model = false;
    if (spec->kind != WORKLOAD_TRACE)
        return workload_generate(spec, model, trace, err) || blame_config(err);
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
                                       .flash_attention = true,
                                       .foresee = FORESEE_AUTO};
    struct reader_input input = {.sparse_ids = true, .spec = &spec};
    bool has_own_model;
    return read_file(path, format, &input, trace, own_model, &has_own_model, has_bytes, err);
}
