/* Which values of a run nobody measured or published, and of these, which matter to it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/experiment_parts.h"
#include "sim/perplexity.h"
#include "workloads/kv.h"
#include "workloads/work.h"

enum mark mark_of(const struct selection *selection, size_t option)
{
    const struct setting *setting = selection->chosen[option].setting;
    if (setting && setting->level != LEVEL_DEFAULT)
        return setting->mark;
    return selection->experiment->reader.options[option].estimated ? MARK_ESTIMATED : MARK_NONE;
}

static bool is(const struct option *option, const char *section, const char *key)
{
    return strcmp(option->key, key) == 0 && strcmp(option->section, section) == 0;
}

/* ---- Rates by type ---- */

/* Some step's time follows from rates: not all are measured. */
static bool has_roofline(const struct workload_spec *workload)
{
    if (workload->kind == WORKLOAD_TRACE)
        return workload->prompt_compute_ns < 0 || workload->compute_per_token_ns < 0;
    return (workload->prompt_tokens > 0 && workload->prompt_compute_ns < 0) ||
           ((workload->prompt_tokens == 0 || workload->output_tokens > 1) && workload->compute_per_token_ns < 0);
}

static bool has_weights(const struct run_config *config, const struct model *model, uint32_t type)
{
    for (uint32_t i = 0; has_roofline(&config->workload) && i < model->matter_count; i++)
        if (model->matters[i].type == type)
            return true;
    return false;
}

/* The run multiplies with operands of that type: weights, or the KV cache. */
static bool has_type(const struct run_config *config, const struct model *model, uint32_t type)
{
    if (has_weights(config, model, type))
        return true;
    return has_roofline(&config->workload) && work_has_shape(model) && kv_tensor_type(config->workload.kv_type) == type;
}

/* A type of the run takes the common rate. */
static bool any_common(const struct selection *selection, const struct run_config *config, const struct model *model,
                       const char *key)
{
    for (uint32_t type = 0; type < tensor_type_count; type++)
        if (has_type(config, model, type) && common_rate(selection, key, type))
            return true;
    return false;
}

/* The rate of one type: an estimate where its own key says so, or where it follows from a common rate that is none. A
 * common rate that is an estimate is told by its own key. */
static bool rate_estimated(const struct selection *selection, size_t option, const char *key, uint32_t type)
{
    const struct chosen *common = common_rate(selection, key, type);
    if (!common)
        return mark_of(selection, option) == MARK_ESTIMATED;
    return common->setting->level == LEVEL_PROFILE && common->setting->mark != MARK_ESTIMATED;
}

/* ---- Keys that matter beside others only ---- */

static bool kill_key_matters(const struct run_config *config, const struct option *option)
{
    const bool jetsam = config->device.pressure.rule == KILL_JETSAM;
    if (strcmp(option->key, "kill_threshold") == 0)
        return config->device.pressure.rule == KILL_THRESHOLD;
    if (strcmp(option->key, "jetsam_by_os") == 0)
        return jetsam && config->limit_by_version;
    if (strcmp(option->key, "jetsam_limit_entitled") == 0)
        return jetsam && config->entitled && !config->limit_by_version;
    if (strcmp(option->key, "jetsam_limit") == 0)
        return jetsam && !config->entitled && !config->limit_by_version;
    return true;
}

/* Rates of stages that the run has, and what a file system adds where there is one. */
static bool loading_key_matters(const struct run_config *config, const char *key)
{
    static const struct {
        const char *key;
        uint32_t stage;
    } rates[] = {{"alloc_rate", STAGE_ALLOC},
                 {"parse_rate", STAGE_PARSE},
                 {"checksum_rate", STAGE_CHECKSUM},
                 {"copy_rate", STAGE_COPY},
                 {"repack_rate", STAGE_REPACK}};
    const struct loader *loader = &config->loader;
    const bool copies = loader->warm_ppm > 0 && loader->align_bytes == 1 &&
                        (loader->mode != LOADER_MMAP || (loader->stages & STAGE_PARSE) != 0);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (strcmp(key, rates[i].key) == 0)
            return (loader->stages & rates[i].stage) != 0 || (rates[i].stage == STAGE_COPY && copies);
    return config->device.fs != FS_NONE || strncmp(key, "fs_", 3) != 0;
}

static bool device_key_matters(const struct selection *selection, const struct run_config *config,
                               const struct model *model, const struct option *option)
{
    const struct device *device = &config->device;
    const bool flash_heat = device->heat.mode != HEAT_OFF && device->flash.hot_after_ns > 0;
    const char *key = option->key;
    if (strcmp(key, "command") == 0)
        return config->loader.mode == LOADER_CHUNKED && strcmp(config->policy.prefetch_text, "none") != 0;
    if (strcmp(key, "willneed_max") == 0)
        return config->loader.madvise == MADVISE_WILLNEED;
    if (strcmp(key, "hot_after") == 0 || strcmp(key, "soc_hot_after") == 0)
        return device->heat.mode == HEAT_FROM_COLD;
    if (strcmp(key, "hot_factor") == 0)
        return flash_heat;
    if (strcmp(key, "soc_hot_factor") == 0)
        return heat_matters(&device->heat);
    if (strcmp(key, "cool") == 0) /* these workloads have no pauses */
        return config->workload.kind != WORKLOAD_DENSE && config->workload.kind != WORKLOAD_MOE &&
               device->heat.mode == HEAT_FROM_COLD && (flash_heat || heat_matters(&device->heat));
    if (strcmp(key, "memory") == 0)
        return has_roofline(&config->workload) || config->loader.compact;
    if (strcmp(key, "flops") == 0)
        return any_common(selection, config, model, key);
    return kill_key_matters(config, option) && loading_key_matters(config, key);
}

static bool is_estimate(const struct selection *selection, const struct run_config *config, const struct model *model,
                        size_t index)
{
    const struct experiment *experiment = selection->experiment;
    const struct option *option = &experiment->reader.options[index];
    if (!selection->chosen[index].used)
        return false;
    if (index >= experiment->at.flops_types && index < experiment->at.flops_types + tensor_type_count) {
        const uint32_t type = (uint32_t)(index - experiment->at.flops_types);
        return has_type(config, model, type) && rate_estimated(selection, index, "flops", type);
    }
    if (index >= experiment->at.memory_types && index < experiment->at.memory_types + tensor_type_count) {
        const uint32_t type = (uint32_t)(index - experiment->at.memory_types);
        return has_weights(config, model, type) && rate_estimated(selection, index, "memory", type);
    }
    if (mark_of(selection, index) != MARK_ESTIMATED)
        return false;
    if (strcmp(option->section, "device") == 0)
        return device_key_matters(selection, config, model, option);
    if (is(option, "model", "perplexity"))
        return !isnan(perplexity_of(config->perplexity, model->quant));
    if (is(option, "model", "window_layers"))
        return config->model.shape.window > 0;
    return true;
}

bool run_estimates(const struct selection *selection, const struct run_config *config, const struct model *model,
                   struct arena *arena, const char **text, struct error *err)
{
    static const char more[] = " ...";
    const struct settings_reader *reader = &selection->experiment->reader;
    char list[ESTIMATES_TEXT + 1];
    size_t length = 0;
    list[0] = '\0';
    for (size_t i = 0; i < reader->option_count; i++) {
        const struct option *option = &reader->options[i];
        if (!is_estimate(selection, config, model, i))
            continue;
        char key[128];
        const int size = snprintf(key, sizeof key, "%s%s.%s", length > 0 ? " " : "", option->section, option->key);
        must(size > 0 && (size_t)size < sizeof key);
        /* Room for the dots stays, as the next key may not fit. */
        if (length + (size_t)size + sizeof more - 1 > ESTIMATES_TEXT) {
            memcpy(list + length, more, sizeof more);
            break;
        }
        memcpy(list + length, key, (size_t)size + 1);
        length += (size_t)size;
    }
    *text = arena_strdup(arena, list);
    return *text || fail(err, STATUS_IO, "out of memory");
}
