/* The model of a run: that of [model], alone or combined with those of [workload]. */
#include <string.h>

#include "sim/experiment_parts.h"
#include "sim/model_choice.h"
#include "workloads/model_combine.h"

static bool is_combined(const struct run_config *config)
{
    return config->draft || config->second || config->workload.adapters > 0;
}

static const char *key_of(const struct model_spec *model)
{
    return model->blocks ? "blocks" : model->file ? "file" : "profile";
}

/* Builds a part beside the first. */
static bool add_choice(const struct model_choice *choice, enum model_role role, struct model_member *parts,
                       uint32_t *count, struct error *err)
{
    struct model_member *part = &parts[*count];
    *part = (struct model_member){.role = role};
    if (!model_build(&choice->spec, &part->model, err))
        return false;
    ++*count;
    return true;
}

enum { PARTS_MAX = 4 };

static bool add_parts(const struct run_config *config, struct model_member parts[PARTS_MAX], uint32_t *count,
                      const char **key, struct error *err)
{
    const struct workload_spec *workload = &config->workload;
    if (config->draft && (*key = "draft", !add_choice(config->draft, MEMBER_DRAFT, parts, count, err)))
        return false;
    if (config->second && (*key = "second", !add_choice(config->second, MEMBER_SECOND, parts, count, err)))
        return false;
    if (workload->adapters == 0)
        return true;
    struct model_member *part = &parts[*count];
    *part = (struct model_member){.role = MEMBER_ADAPTERS};
    *key = "adapters";
    if (!model_adapters(&parts[0].model, workload->adapters, workload->adapter_rank, &part->model, err))
        return false;
    ++*count;
    return true;
}

bool run_model_build(const struct run_config *config, struct model *model, const char **section, const char **key,
                     struct error *err)
{
    struct model_member parts[PARTS_MAX] = {{.role = MEMBER_FIRST}};
    uint32_t count = 1;
    *section = "model";
    *key = key_of(&config->model);
    if (!model_build(&config->model, &parts[0].model, err))
        return false;
    if (!is_combined(config)) {
        *model = parts[0].model;
        return true;
    }
    *section = "workload";
    if (add_parts(config, parts, &count, key, err))
        return model_combine(parts, count, model, err);
    for (uint32_t i = 0; i < count; i++)
        model_free(&parts[i].model);
    return false;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_spec(const struct model_spec *a, const struct model_spec *b)
{
    return same_text(a->name, b->name) && same_text(a->blocks, b->blocks) && same_text(a->file, b->file) &&
           a->has_shape == b->has_shape && a->quant == b->quant && memcmp(&a->shape, &b->shape, sizeof a->shape) == 0;
}

static bool same_choice(const struct model_choice *a, const struct model_choice *b)
{
    return a == b || (a && b && same_spec(&a->spec, &b->spec));
}

bool run_models_alike(const struct run_config *a, const struct run_config *b)
{
    return same_spec(&a->model, &b->model) && same_choice(a->draft, b->draft) && same_choice(a->second, b->second) &&
           a->chunk == b->chunk && a->workload.adapters == b->workload.adapters &&
           (a->workload.adapters == 0 || a->workload.adapter_rank == b->workload.adapter_rank);
}
