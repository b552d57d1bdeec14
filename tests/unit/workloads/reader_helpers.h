/* Readers of traces under test: text in, a trace or the line that is said about it. */
#ifndef POCKETLOAD_TESTS_UNIT_WORKLOADS_READER_HELPERS_H
#define POCKETLOAD_TESTS_UNIT_WORKLOADS_READER_HELPERS_H

#include "tests/cmocka_fixed.h"
#include "trace_helpers.h"

struct read {
    struct trace trace;
    struct model own;
    bool has_own, has_bytes;
    struct error err;
};

/* As `replay` reads: without a model, any ids. */
static inline bool alone(struct read *r, const char *format, const void *data, size_t size)
{
    char *path = write_file(data, size);
    *r = (struct read){0};
    const bool good = trace_read_alone(path, format, &r->trace, &r->own, &r->has_bytes, &r->err);
    r->has_own = good;
    char *name = strstr(r->err.text, path);
    if (name != NULL) /* the same in every run */
        memmove(name, name + strlen(path) - 1, strlen(name) - strlen(path) + 2), name[0] = 'F';
    remove_file(path);
    return good;
}

/* As `run` reads. */
static inline bool with_model(struct read *r, const struct workload_spec *spec, const struct model *model,
                              const char *text)
{
    char *path = write_file(text, strlen(text));
    struct workload_spec own = *spec;
    own.trace = path;
    *r = (struct read){0};
    const bool good = workload_compile(&own, model, &r->trace, &r->own, &r->has_own, &r->err);
    char *name = strstr(r->err.text, path);
    if (name != NULL)
        memmove(name, name + strlen(path) - 1, strlen(name) - strlen(path) + 2), name[0] = 'F';
    remove_file(path);
    return good;
}

static inline void drop(struct read *r)
{
    trace_free(&r->trace);
    if (r->has_own)
        model_free(&r->own);
}

static inline void reads(const char *format, const char *text, const char *steps)
{
    struct read r;
    const bool good = alone(&r, format, text, strlen(text));
    assert_string_equal(r.err.text, "");
    assert_true(good);
    steps_are(&r.trace, steps);
    drop(&r);
}

static inline void refuses(const char *format, const char *text, const char *expected)
{
    struct read r;
    assert_false(alone(&r, format, text, strlen(text)));
    assert_string_equal(r.err.text, expected);
    assert_true(r.err.code == STATUS_INPUT || r.err.code == STATUS_USAGE);
}

#endif
