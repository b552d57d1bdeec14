/* For the tests of traces: models from lists, trace files from text, and what a step uses. */
#ifndef POCKETLOAD_TESTS_UNIT_WORKLOADS_TRACE_HELPERS_H
#define POCKETLOAD_TESTS_UNIT_WORKLOADS_TRACE_HELPERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cmocka_fixed.h"
#include "workloads/workload.h"

static inline void make_list(struct model *model, const char *blocks)
{
    struct error err = {0};
    const bool good = model_from_blocks("list", blocks, model, &err);
    assert_string_equal(err.text, "");
    assert_true(good);
}

/* A file of that content; the name is the caller's to unlink and free. */
static inline char *write_file(const void *data, size_t size)
{
    char *path = strdup("/tmp/pocketload-trace-XXXXXX");
    assert_non_null(path);
    const int handle = mkstemp(path);
    assert_true(handle >= 0);
    assert_int_equal(write(handle, data, size), (ssize_t)size);
    close(handle);
    return path;
}

static inline void remove_file(char *path)
{
    unlink(path);
    free(path);
}

static inline struct workload_spec trace_spec(const char *path)
{
    return (struct workload_spec){.kind = WORKLOAD_TRACE,
                                  .trace = path,
                                  .compute_per_token_ns = -1,
                                  .prompt_compute_ns = -1,
                                  .flash_attention = true};
}

/* Steps as text, "0 1,2 3": blocks of a step joined by commas, with '=' for a further use and '?' for one that cannot
 * be foreseen. */
static inline const char *steps_text(const struct trace *trace, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t s = 0; s < trace->step_count; s++)
        for (uint32_t u = trace_step_begin(trace, s); u < trace_step_begin(trace, s + 1); u++) {
            const char *gap = u > trace_step_begin(trace, s) ? "," : s > 0 ? " " : "";
            used += (size_t)snprintf(out + used, size - used, "%s%u%s%s", gap, trace->uses[u] & USE_BLOCK,
                                     trace->uses[u] & USE_AGAIN ? "=" : "", trace->uses[u] & USE_UNSEEN ? "?" : "");
            assert_true(used < size);
        }
    return out;
}

static inline void steps_are(const struct trace *trace, const char *expected)
{
    char text[4096];
    assert_string_equal(steps_text(trace, text, sizeof text), expected);
}

static inline const struct work *work_of(const struct trace *trace, uint32_t step)
{
    const uint32_t work = trace->step_work != NULL ? trace->step_work[step] : 0;
    assert_true(work < trace->work_count);
    return &trace->works[work];
}

/* Flops of a type in a work, per_context or not. */
static inline uint64_t flops_of(const struct trace *trace, const struct work *work, uint32_t type, bool per_context)
{
    for (uint32_t i = work->first_term; i < work->first_term + work->term_count; i++)
        if (trace->terms[i].type == type)
            return per_context ? trace->terms[i].flops_per_context : trace->terms[i].flops;
    return 0;
}

/* Bytes that a work reads whatever the context: those of one type, or all. */
static inline uint64_t bytes_of_type(const struct trace *trace, const struct work *work, uint32_t type)
{
    for (uint32_t i = work->first_term; i < work->first_term + work->term_count; i++)
        if (trace->terms[i].type == type)
            return trace->terms[i].bytes;
    return 0;
}

static inline uint64_t bytes_of(const struct trace *trace, const struct work *work)
{
    uint64_t bytes = work->bytes;
    for (uint32_t i = work->first_term; i < work->first_term + work->term_count; i++)
        bytes += trace->terms[i].bytes;
    return bytes;
}

/* A small transformer of f16 weights, all numbers distinct. */
static inline struct shape small_shape(uint32_t experts)
{
    return (struct shape){.layers = 3,
                          .width = 64,
                          .vocab = 100,
                          .heads = 4,
                          .kv_heads = 2,
                          .head_size = 16,
                          .ffn = experts > 0 ? 0 : 96,
                          .experts = experts,
                          .experts_used = experts > 0 ? 2 : 0,
                          .expert_ffn = experts > 0 ? 32 : 0,
                          .gated = true};
}

static inline void make_shape(struct model *model, const struct shape *shape)
{
    struct error err = {0};
    const bool good = model_from_shape("small", shape, QUANT_F16, model, &err);
    assert_string_equal(err.text, "");
    assert_true(good);
}

#endif
