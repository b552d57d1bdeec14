/* A trace for a model whose blocks were cut or merged. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/chunks.h"
#include "workloads/trace_sums.h"

/* A copy of an array of the trace, or NULL of one that it does not have. *ok is false without memory. */
static void *copied(const void *array, size_t count, size_t size, bool *ok)
{
    if (array == NULL)
        return NULL;
    void *copy = malloc(count * size + 1);
    if (copy != NULL)
        memcpy(copy, array, count * size);
    *ok = *ok && copy != NULL;
    return copy;
}

/* The uses of one step: counted, and written where `out` is not NULL. `named` has for each chunk the mark of the last
 * step that named it. */
static uint64_t translate_step(const struct trace *trace, uint32_t step, const struct chunk_map *map, uint32_t *named,
                               uint32_t mark, uint32_t *out)
{
    uint64_t count = 0;
    for (uint32_t u = trace_step_begin(trace, step); u < trace_step_begin(trace, step + 1); u++) {
        const uint32_t use = trace->uses[u];
        const block_id b = use & USE_BLOCK;
        for (uint32_t i = map->first[b]; i < map->first[b + 1]; i++) {
            const block_id chunk = map->chunks[i];
            /* A first use of one of two merged layers, where the other was named before. */
            if (!(use & USE_AGAIN) && named[chunk] == mark)
                continue;
            named[chunk] = mark;
            if (out != NULL)
                out[count] = chunk | (use & (USE_AGAIN | USE_UNSEEN));
            count++;
        }
    }
    return count;
}

/* Uses, and where each step's begin. `named` has a zero for each of so many chunks. */
static bool translate(const struct trace *trace, const struct chunk_map *map, uint32_t *named, uint32_t chunks,
                      struct trace *out, struct error *err)
{
    uint64_t count = 0;
    out->step_first = calloc((size_t)trace->step_count + 1, sizeof *out->step_first);
    if (out->step_first == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu32 " steps", trace->step_count);
    for (uint32_t s = 0; s < trace->step_count; s++) {
        out->step_first[s] = (uint32_t)count;
        count += translate_step(trace, s, map, named, s + 1, NULL);
        if (count >= UINT32_MAX)
            return fail(err, STATUS_INPUT, "more than %" PRIu32 " uses of chunks", UINT32_MAX - 1);
    }
    out->step_first[trace->step_count] = out->use_count = (uint32_t)count;
    out->uses = malloc((size_t)count * sizeof *out->uses + 1);
    if (out->uses == NULL)
        return fail(err, STATUS_IO, "out of memory: %" PRIu64 " uses of chunks", count);
    memset(named, 0, chunks * sizeof *named);
    for (uint32_t s = 0; s < trace->step_count; s++)
        translate_step(trace, s, map, named, s + 1, out->uses + out->step_first[s]);
    return true;
}

bool chunk_trace(const struct trace *trace, const struct model *chunked, const struct chunk_map *map,
                 struct trace *translated, struct error *err)
{
    bool ok = true;
    must(trace->block_count == map->block_count);
    *translated = *trace;
    translated->uses = translated->step_first = NULL;
    translated->step_work = copied(trace->step_work, trace->step_count, sizeof *trace->step_work, &ok);
    translated->works = copied(trace->works, trace->work_count, sizeof *trace->works, &ok);
    translated->terms = copied(trace->terms, trace->term_count, sizeof *trace->terms, &ok);
    translated->segments = copied(trace->segments, trace->segment_count, sizeof *trace->segments, &ok);
    uint32_t *named = calloc(chunked->block_count, sizeof *named);
    ok = (ok && named != NULL) || fail(err, STATUS_IO, "out of memory: a trace of %" PRIu32 " uses", trace->use_count);
    ok = ok && translate(trace, map, named, chunked->block_count, translated, err) &&
         trace_fill_sums(translated, chunked, err);
    free(named);
    if (!ok)
        trace_free(translated);
    return ok;
}
