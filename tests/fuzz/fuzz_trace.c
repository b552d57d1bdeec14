/* Every trace reader on any bytes: it fails with one line, or gives a trace that keeps its promises. The first byte
 * chooses the format and whether there is a model. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workloads/workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct trace *trace, const struct model *model)
{
    uint64_t accesses = 0;
    must(trace->use_count > 0 && trace->step_count > 0 && trace->segment_count > 0);
    uint32_t step = 0;
    for (uint32_t s = 0; s < trace->segment_count; s++) {
        must(trace->segments[s].first_step == step);
        step += trace->segments[s].step_count;
    }
    must(step == trace->step_count && trace_step_begin(trace, step) == trace->use_count);
    for (uint32_t u = 0; u < trace->use_count; u++) {
        must((trace->uses[u] & USE_BLOCK) < model->block_count);
        accesses += !(trace->uses[u] & USE_AGAIN);
    }
    must(accesses == trace->access_count);
    must(trace->resized_count <= accesses && trace->working_set_bytes <= model->weights_bytes);
    for (uint32_t b = 0; b < model->block_count; b += model->block_count / 16 + 1) {
        char text[MODEL_NUMBER_TEXT];
        must(model->policy_blocks[b].bytes > 0 && model_find(model, model_write_name(model, b, text)) == b);
    }
    for (uint32_t s = 0; s < trace->step_count && trace->step_work != NULL; s++)
        must(trace->step_work[s] < trace->work_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {NULL,
                                          "ids",
                                          "csv",
                                          "passes",
                                          "route",
                                          "auto",
                                          "arc",
                                          "oracleGeneral",
                                          "csv(id=1)",
                                          "csv(time=1,id=2,size=3,delimiter=;,header)",
                                          "csv(id=2,size=1,delimiter=space,obj-id-is-num=0)"};
    enum { FORMATS = sizeof formats / sizeof formats[0], ARC_BYTES = 64 };
    struct error err = {0};
    struct trace trace;
    struct model model, own;
    bool flag;
    char path[64];
    if (size == 0)
        return 0;
    const char *format = formats[(data[0] & 0x7f) % FORMATS];
    if (size > ARC_BYTES && format != NULL && strcmp(format, "arc") == 0)
        size = ARC_BYTES; /* a line of 8 bytes may stand for 4 MiB of steps */
    const int handle = memfd_create("trace", 0);
    must(handle >= 0);
    must(write(handle, data + 1, size - 1) == (ssize_t)(size - 1));
    snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
    if (data[0] & 0x80) {
        must(model_from_blocks("fuzz", "embed:5B layer0:6B expert0.0:7B expert0.1:8B", &model, &err));
        const struct workload_spec spec = {.kind = WORKLOAD_TRACE,
                                           .trace = path,
                                           .format = format,
                                           .compute_per_token_ns = -1,
                                           .prompt_compute_ns = -1};
        if (workload_compile(&spec, &model, &trace, &own, &flag, &err)) {
            must(!flag);
            check(&trace, &model);
            trace_free(&trace);
        } else {
            must(err.code != STATUS_OK && strchr(err.text, '\n') == NULL);
        }
        model_free(&model);
    } else if (trace_read_alone(path, format, &trace, &own, &flag, &err)) {
        check(&trace, &own);
        trace_free(&trace);
        model_free(&own);
    } else {
        must(err.code != STATUS_OK && strchr(err.text, '\n') == NULL);
    }
    close(handle);
    return 0;
}
