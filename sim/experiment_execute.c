/* Runs of an experiment: model and trace made once for all runs that share them, the policy bound, the engine run. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "sim/experiment_parts.h"
#include "sim/host.h"
#include "sim/measure_replay.h"
#include "workloads/block_profile.h"

static void drop_trace(struct prepared *cache)
{
    if (cache->has_future)
        future_free(&cache->future);
    if (cache->has_trace)
        trace_free(&cache->trace);
    cache->has_trace = cache->has_future = false;
}

void prepared_free(struct prepared *cache)
{
    drop_trace(cache);
    if (cache->has_model)
        model_free(&cache->model);
    if (cache->is_cut) {
        model_free(&cache->whole);
        chunk_map_free(&cache->chunks);
    }
    memset(cache, 0, sizeof *cache);
}

bool fail_by_key(const struct selection *selection, const char *section, const char *key, struct error *err)
{
    const struct setting *setting = chosen_of(selection, section, key)->setting;
    char place[PLACE_TEXT];
    if (setting && setting->level > LEVEL_DEFAULT)
        return fail_in(err, "%s", setting_place(setting, place));
    return fail_in(err, "%s: %s.%s", selection->experiment->path, section, key);
}

/* The model that the config describes, unless the cache holds it. */
static bool prepare_model(struct prepared *cache, const struct selection *selection, const struct run_config *config,
                          const char *key, struct error *err)
{
    if (cache->has_model && strcmp(cache->model_key, key) == 0)
        return true;
    prepared_free(cache);
    const char *section, *at;
    if (!run_model_build(config, &cache->model, &section, &at, err)) {
        if (!config->model.file && err->code == STATUS_INPUT)
            err->code = STATUS_USAGE; /* there is no input but the config */
        return fail_by_key(selection, section, at, err);
    }
    cache->has_model = true;
    if (!cut_model(selection, config, &cache->model, &cache->whole, &cache->chunks, &cache->is_cut, err))
        return false;
    memcpy(cache->model_key, key, RUN_KEY_TEXT);
    return true;
}

/* Puts the trace of the chunks in the place of that of the whole model. */
static bool cut_trace(struct prepared *cache, const struct selection *selection, struct error *err)
{
    struct trace whole = cache->trace;
    if (!cache->is_cut)
        return true;
    if (!chunk_trace(&whole, &cache->model, &cache->chunks, &cache->trace, err)) {
        cache->trace = whole;
        err->code = err->code == STATUS_INPUT ? STATUS_USAGE : err->code;
        return fail_by_key(selection, "loader", "chunk", err);
    }
    trace_free(&whole);
    return true;
}

static bool prepare_trace(struct prepared *cache, const struct selection *selection, const struct run_config *config,
                          bool has_model, const char *key, struct error *err)
{
    if (cache->has_trace && strcmp(cache->trace_key, key) == 0)
        return true;
    if (!has_model)
        prepared_free(cache); /* the model in the cache is the old trace's own, or nobody's */
    drop_trace(cache);
    bool has_own_model = false;
    const struct model *model = !has_model ? NULL : cache->is_cut ? &cache->whole : &cache->model;
    if (!workload_compile(&config->workload, model, &cache->trace, has_model ? NULL : &cache->model, &has_own_model,
                          err)) {
        const char *blamed = config->workload.sequence ? "sequence" : config->workload.trace ? "trace" : "kind";
        return err->code == STATUS_USAGE ? fail_by_key(selection, "workload", blamed, err) : false;
    }
    cache->has_trace = true;
    cache->trace_key[0] = '\0'; /* until it is that of the run */
    if (!has_model) {
        must(has_own_model);
        cache->has_model = true;
        cache->model_key[0] = '\0'; /* no config describes it */
        if (!cut_model(selection, config, &cache->model, &cache->whole, &cache->chunks, &cache->is_cut, err))
            return false;
    }
    if (!cut_trace(cache, selection, err))
        return false;
    memcpy(cache->trace_key, key, RUN_KEY_TEXT);
    return true;
}

bool experiment_prepare(struct experiment *experiment, size_t index, struct prepared *cache, struct error *err)
{
    must(index < experiment->run_count);
    struct selection selection;
    struct run_config config;
    char model_key[RUN_KEY_TEXT], trace_key[RUN_KEY_TEXT];
    if (!combination_read(experiment, experiment->combinations[index], &selection, &config, err) ||
        !part_keys(experiment, &selection, &config, model_key, trace_key, err))
        return false;
    bool has_model = config.model.blocks || config.model.file || config.model.has_shape;
    return (!has_model || prepare_model(cache, &selection, &config, model_key, err)) &&
           prepare_trace(cache, &selection, &config, has_model, trace_key, err);
}

/* What the policy wants to know of the future, and of an earlier run. */
static bool find_needs(struct prepared *cache, const struct run_config *config, struct arena *arena,
                       struct run_spec *spec, struct error *err)
{
    const struct bound_part *parts[POLICY_KINDS_COUNT] = {&spec->evict, &spec->pin, &spec->prefetch, &spec->admit};
    if (host_needs_future(parts) && !cache->has_future) {
        if (!future_make(&cache->trace, &cache->future, err))
            return false;
        cache->has_future = true;
    }
    spec->future = cache->has_future ? &cache->future : NULL;
    if (!config->profile)
        return true;
    uint64_t *accesses = arena_alloc(arena, cache->model.block_count, sizeof *accesses);
    spec->profile = accesses;
    return accesses ? block_profile_read(config->profile, &cache->model, accesses, err)
                    : fail(err, STATUS_IO, "out of memory");
}

bool experiment_execute(struct experiment *experiment, size_t index, struct prepared *cache, struct arena *arena,
                        struct run_result *result, struct error *err)
{
    if (!experiment_prepare(experiment, index, cache, err))
        return false;
    const struct run_config *config = experiment_run(experiment, index);
    struct run_spec spec = {.model = &cache->model,
                            .trace = &cache->trace,
                            .device = config->device,
                            .loader = config->loader,
                            .seed = config->seed};
    if (preload_bind(config, &cache->model, arena, &spec.loader, err) &&
        part_bind(&config->policy.evict, &cache->model, arena, &spec.evict, err) &&
        part_bind(&config->policy.pin, &cache->model, arena, &spec.pin, err) &&
        part_bind(&config->policy.prefetch, &cache->model, arena, &spec.prefetch, err) &&
        part_bind(&config->policy.admit, &cache->model, arena, &spec.admit, err) &&
        find_needs(cache, config, arena, &spec, err) && engine_run(&spec, arena, result, err))
        return true;
    if (err->code == STATUS_CHECK)
        fail_in(err, "%s", config->policy.label);
    return fail_in(err, "%s", experiment->path); /* not which run: what many runs fail for is said once */
}

/* A mapped file whose cycle is larger than all memory that could hold its pages. */
static void note_mapped(const struct run_config *config, uint64_t cycle, char *out, size_t size)
{
    const struct device *device = &config->device;
    char cycle_text[UNITS_TEXT], rest_text[UNITS_TEXT];
    uint64_t rest = device->ram_bytes - device->os_reserve_bytes - device->other_apps_bytes;
    if (device->pressure.rule == KILL_MEMORY_LIMITER && device->pressure.max_bytes < rest)
        rest = device->pressure.max_bytes;
    rest = rest > device->runtime_bytes ? rest - device->runtime_bytes : 0;
    if (cycle > rest)
        snprintf(out, size, "the cycle of %s is above the %s that can hold its pages: each token reads from flash\n",
                 format_bytes(cycle, cycle_text), format_bytes(rest, rest_text));
}

/* A phone that is asked to be hot and cannot be. Returns the line's length. */
static size_t note_heat(const struct device *device, char *out, size_t size)
{
    static const char text[] = "device.heat = hot has no effect: neither soc_hot_after nor hot_after says when this "
                               "phone gets hot\n";
    const bool gets_hot = device->heat.hot_after_ns > 0 || device->flash.hot_after_ns > 0;
    if (device->heat.mode != HEAT_HOT || gets_hot || size < sizeof text)
        return 0;
    memcpy(out, text, sizeof text);
    return sizeof text - 1;
}

bool experiment_notes(struct experiment *experiment, size_t index, struct prepared *cache, char *out, size_t size,
                      struct error *err)
{
    must(size > 0);
    *out = '\0';
    if (!experiment_prepare(experiment, index, cache, err))
        return false;
    const struct run_config *config = experiment_run(experiment, index);
    uint64_t cycle = cache->trace.cycle_bytes;
    if (config->loader.mode == LOADER_MMAP)
        note_mapped(config, cycle, out, size);
    size_t length = strlen(out);
    length += note_heat(&config->device, out + length, size - length);
    length += note_loading(config, out + length, size - length);
    if (config->loader.mode != LOADER_CHUNKED)
        return true;
    if (config->loader.budget_bytes < cycle) {
        char budget_text[UNITS_TEXT], cycle_text[UNITS_TEXT];
        const char *meaning = config->workload.kind == WORKLOAD_DENSE
                                  ? "LRU and FIFO evict every layer before its next use"
                              : cache->trace.counts_tokens ? "what one token touches does not fit"
                                                           : "what the trace touches does not fit";
        length += (size_t)snprintf(out + length, size - length, "budget %s is below the cycle of %s: %s\n",
                                   format_bytes(config->loader.budget_bytes, budget_text),
                                   format_bytes(cycle, cycle_text), meaning);
    }
    if (length < size && config->policy.prefetch.policy && config->loader.overlap == OVERLAP_NONE)
        snprintf(out + length, size - length, "prefetcher %s never runs: loader.overlap = none\n",
                 config->policy.prefetch_text);
    return true;
}
