/* See naive_cache_case.h. */
#include "tests/reference/naive_cache_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/registry.h"
#include "workloads/workload.h"

static void demand_success(bool success, const char *what, const struct error *err)
{
    if (success)
        return;
    fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

static void *array(uint64_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    must(memory != NULL);
    return memory;
}

/* What the twins see of model and trace. */
static void show_twins(struct cache_case *c)
{
    uint32_t n = c->model.block_count;
    uint32_t accesses = 0;
    must(c->trace.access_count == c->trace.step_count && c->trace.segment_count == 1 &&
         c->trace.segments[0].repeat == 1);
    c->ids = array(c->trace.access_count, sizeof *c->ids);
    c->kinds = array(n, sizeof *c->kinds);
    c->sizes = array(n, sizeof *c->sizes);
    c->layers = array(n, sizeof *c->layers);
    for (uint32_t i = 0; i < c->trace.use_count; i++)
        if (!(c->trace.uses[i] & USE_AGAIN))
            c->ids[accesses++] = c->trace.uses[i] & USE_BLOCK;
    for (uint32_t b = 0; b < n; b++) {
        c->kinds[b] = c->model.policy_blocks[b].kind;
        c->sizes[b] = c->by_objects ? 1 : c->model.policy_blocks[b].bytes;
        c->layers[b] = c->model.policy_blocks[b].layer;
    }
}

static bool add_steps(struct trace_builder *builder, const uint32_t *ids, uint32_t count, bool by_steps,
                      struct error *err)
{
    uint32_t *uses;
    if (!by_steps) {
        if (!trace_add_plain_steps(builder, count, &uses, err))
            return false;
        memcpy(uses, ids, count * sizeof *uses);
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!trace_add_step(builder, 0, err) || !trace_add_use(builder, ids[i], 0, err))
            return false;
    return trace_add_use(builder, ids[count - 1], 0, err);
}

void cache_case_make(const uint32_t *ids, uint64_t count, const struct policy_block *blocks, uint32_t block_count,
                     bool by_steps, struct cache_case *c)
{
    struct error err;
    struct trace_builder builder;
    struct segment segment = {.repeat = 1, .phase = PHASE_DECODE};
    struct policy_block *own_blocks = array(block_count, sizeof *own_blocks);
    uint64_t *keys = array(block_count, sizeof *keys);
    *c = (struct cache_case){0};
    for (uint32_t b = 0; b < block_count; b++) {
        own_blocks[b] = blocks[b];
        keys[b] = b;
    }
    must(count > 0 && count < UINT32_MAX);
    demand_success(model_numbered(&c->model, "case", own_blocks, keys, NULL, block_count, &err), "case", &err);
    demand_success(trace_start(&builder, &c->trace, "case", &err) && trace_add_segment(&builder, &segment, &err) &&
                       add_steps(&builder, ids, (uint32_t)count, by_steps, &err) &&
                       trace_finish(&builder, &c->model, &err),
                   "case", &err);
    show_twins(c);
}

void cache_case_read(const char *path, bool by_objects, struct cache_case *c)
{
    struct error err;
    bool has_bytes;
    *c = (struct cache_case){.by_objects = by_objects};
    demand_success(trace_read_alone(path, "auto", &c->trace, &c->model, &has_bytes, &err), path, &err);
    must(by_objects || has_bytes);
    show_twins(c);
}

void cache_case_free(struct cache_case *c)
{
    model_free(&c->model);
    trace_free(&c->trace);
    free(c->ids);
    free(c->kinds);
    free(c->sizes);
    free(c->layers);
}

void cache_case_replay(const struct cache_case *c, const char *policy, uint64_t capacity, bool strict,
                       struct naive_counts *counts)
{
    struct error err;
    struct policy_choice choice;
    struct replay_result result;
    struct arena arena = {0};
    demand_success(policy_parse(policy, &choice, &err), policy, &err);
    struct replay_spec spec = {.model = &c->model,
                               .trace = &c->trace,
                               .capacity_bytes = capacity,
                               .by_objects = c->by_objects,
                               .strict = strict,
                               .evict = {choice.evict.policy, {.values = choice.evict.values}},
                               .seed = c->seed};
    demand_success(replay_run(&spec, &arena, &result, &err), policy, &err);
    *counts = (struct naive_counts){.misses = result.misses, .missed_bytes = result.bytes_read};
    arena_free(&arena);
}

void cache_case_twin(const struct cache_case *c, const char *policy, uint64_t capacity, bool strict,
                     struct naive_counts *counts)
{
    struct error err;
    struct policy_choice choice;
    struct naive_request request = {.ids = c->ids,
                                    .count = c->trace.access_count,
                                    .id_count = c->model.block_count,
                                    .sizes = c->sizes,
                                    .layers = c->layers,
                                    .kinds = c->kinds,
                                    .capacity = capacity,
                                    .may_exceed = !strict,
                                    .seed = c->seed};
    demand_success(policy_parse(policy, &choice, &err), policy, &err);
    for (uint32_t i = 0; i < choice.evict.policy->param_count; i++)
        request.params[i] = choice.evict.values[i];
    must(naive_cache_run(choice.evict.policy->name, &request, counts));
}
