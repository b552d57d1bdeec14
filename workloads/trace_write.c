/* A trace as csv, for readers of other programs and for this one's csv reader. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policies/registry.h"
#include "workloads/workload.h"

struct writer {
    FILE *file;
    const struct trace *trace;
    const struct model *model;
    bool has_times;
    uint64_t step; /* number of the next, repetitions counted */
};

/* Times are written where one is measured, or where there is a pause, which csv gives as a time. */
static bool find_times(const struct trace *trace)
{
    for (uint32_t w = 0; w < trace->work_count; w++)
        if (trace->works[w].fixed_ns >= 0)
            return true;
    for (uint32_t s = 0; s < trace->segment_count; s++)
        if (trace->segments[s].idle_ns > 0)
            return true;
    return false;
}

/* RFC 4180: in double quotes where a comma, a quote or an outer blank would mislead a reader. */
static void write_text(FILE *file, const char *text)
{
    const size_t length = strlen(text);
    if (strpbrk(text, ",\"") == NULL && text[0] != ' ' && (length == 0 || text[length - 1] != ' ')) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void write_header(const struct writer *w)
{
    fprintf(w->file, "step,%sblock,bytes,layer,kind%s\n", w->trace->counts_tokens ? "token,phase," : "",
            w->has_times ? ",compute_ns" : "");
}

static void write_pause(const struct writer *w, int64_t ns)
{
    if (w->trace->counts_tokens) /* without token marks csv has no place for a pause */
        fprintf(w->file, ",,idle,,,,,%" PRId64 "\n", ns);
}

static void write_step(struct writer *w, const struct segment *segment, uint32_t token, uint32_t step)
{
    const struct trace *trace = w->trace;
    const uint32_t begin = trace_step_begin(trace, step), end = trace_step_begin(trace, step + 1);
    for (uint32_t u = begin; u < end; u++) {
        const block_id b = trace->uses[u] & USE_BLOCK;
        const struct policy_block *block = &w->model->policy_blocks[b];
        char number[MODEL_NUMBER_TEXT];
        fprintf(w->file, "%" PRIu64 ",", w->step);
        if (trace->counts_tokens)
            fprintf(w->file, "%" PRIu32 ",%s,", token, phase_names[segment->phase]);
        write_text(w->file, model_write_name(w->model, b, number));
        fprintf(w->file, ",%" PRIu64 ",%" PRId32 ",%s", block->bytes, block->layer, block_kind_names[block->kind]);
        if (w->has_times) {
            fputc(',', w->file);
            const uint32_t work = trace->step_work != NULL ? trace->step_work[step] : 0;
            if (u == begin && work < trace->work_count && trace->works[work].fixed_ns >= 0)
                fprintf(w->file, "%" PRId64, trace->works[work].fixed_ns);
        }
        fputc('\n', w->file);
    }
    w->step++;
}

static void write_all(struct writer *w)
{
    write_header(w);
    for (uint32_t s = 0; s < w->trace->segment_count; s++) {
        const struct segment *segment = &w->trace->segments[s];
        if (segment->idle_ns > 0)
            write_pause(w, segment->idle_ns);
        /* A full disk shows at the first failed write: no use to format the rest. */
        for (uint32_t r = 0; r < segment->repeat && !ferror(w->file); r++)
            for (uint32_t i = 0; i < segment->step_count; i++)
                write_step(w, segment, segment->token + r, segment->first_step + i);
    }
}

static bool write_stdout(struct writer *w, struct error *err)
{
    w->file = stdout;
    write_all(w);
    return (fflush(stdout) == 0 && !ferror(stdout)) ||
           fail(err, STATUS_IO, "cannot write to standard output: %s", strerror(errno));
}

bool trace_write_csv(const struct trace *trace, const struct model *model, const char *path, struct error *err)
{
    struct writer w = {.trace = trace, .model = model, .has_times = find_times(trace)};
    char *temporary;
    if (strcmp(path, "-") == 0)
        return write_stdout(&w, err);
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return fail(err, STATUS_IO, "cannot write %s: out of memory", path);
    const int handle = mkstemp(temporary);
    w.file = handle >= 0 ? fdopen(handle, "w") : NULL;
    bool ok = w.file != NULL;
    if (!ok && handle >= 0)
        close(handle);
    if (ok) {
        write_all(&w);
        ok = fflush(w.file) == 0 && !ferror(w.file) && fsync(fileno(w.file)) == 0;
        ok = fclose(w.file) == 0 && ok && rename(temporary, path) == 0;
    }
    if (!ok) {
        (void)fail(err, STATUS_IO, "cannot write %s: %s", path, strerror(errno));
        if (handle >= 0)
            unlink(temporary);
    }
    free(temporary);
    return ok;
}
