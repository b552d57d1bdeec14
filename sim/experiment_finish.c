/* What depends on several keys of [model] and [workload], and the plain labels of a run. */
#include <stdio.h>
#include <string.h>

#include "sim/experiment_parts.h"

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Which layers are windowed is a matter of the shape: "all" is its number of layers, and without a window there is
 * none.
 */
static bool finish_window(const struct selection *selection, struct shape *shape, struct error *err)
{
    if (shape->window == 0)
        shape->window_layers = 0;
    else if (shape->window_layers == UINT32_MAX)
        shape->window_layers = shape->layers;
    return shape->window_layers <= shape->layers ||
           fail_at(selection, "model", "window_layers", err, "more than the model has layers");
}

/* The file's name, with its folder where the files of all checkpoints have that name. */
static const char *file_name(const char *path)
{
    const char *name = base_name(path);
    char label[sizeof((struct model *)NULL)->name];
    model_file_label(path, label, sizeof label);
    if (strncmp(name, label, strlen(label)) == 0 || name == path)
        return name;
    for (name--; name > path && name[-1] != '/';)
        name--;
    return name;
}

bool finish_model(const struct selection *selection, struct run_config *config, struct error *err)
{
    struct model_spec *model = &config->model;
    const struct profile *profile = profile_of(selection, "model");
    if (model->blocks && (profile || model->file || model->has_shape))
        return fail_at(selection, "model", "blocks", err,
                       "given beside another model; expected one of profile, file, blocks and the keys of a shape");
    if (model->file && (profile || model->has_shape))
        return fail_at(selection, "model", "file", err,
                       "given beside another model; expected one of profile, file, blocks and the keys of a shape");
    if (!chosen_of(selection, "model", "quant")->used && is_given(selection, "model", "quant"))
        return fail_at(selection, "model", "quant", err,
                       "applies to the weights of a profile or a config.json; other files and lists of blocks bring "
                       "their own sizes");
    if (!finish_window(selection, &model->shape, err))
        return false;
    if (!model->name)
        model->name = profile                  ? profile->name
                      : model->file            ? file_name(model->file)
                      : model->blocks          ? "blocks"
                      : model->has_shape       ? "shape"
                      : config->workload.trace ? base_name(config->workload.trace)
                                               : "none";
    return true;
}

static bool check_workload(const struct selection *selection, const struct run_config *config, struct error *err)
{
    const struct workload_spec *workload = &config->workload;
    const struct model_spec *model = &config->model;
    bool has_model = model->blocks || model->file || model->has_shape;
    if (workload->kind == WORKLOAD_TRACE) {
        if (workload->trace && workload->sequence)
            return fail_at(selection, "workload", "sequence", err, "given beside workload.trace; expected one of them");
        if (!workload->trace && !workload->sequence)
            return fail_at(selection, "workload", "trace", err, "missing; expected a file, or workload.sequence");
        if (workload->sequence && !has_model)
            return fail_at(selection, "workload", "sequence", err, "needs a [model] with the blocks that it names");
        return true;
    }
    if (!has_model)
        return fail_at(selection, "model", "profile", err, "missing; expected one of profile, file, blocks");
    if (config->draft && config->second)
        return fail_at(selection, "workload", "second", err, "given beside workload.draft; expected one of them");
    if (workload->kind == WORKLOAD_CHAT && workload->prompt_tokens == 0)
        return fail_at(selection, "workload", "prompt_tokens", err,
                       "a chat's turn begins with a prompt; expected 1 or more");
    if (workload->kind == WORKLOAD_MOE && model->has_shape && model->shape.experts == 0)
        return fail_at(selection, "workload", "kind", err,
                       "moe needs a model with experts; expected dense, or such a model");
    if (model->has_shape && workload->top_k > model->shape.experts)
        return fail_at(selection, "workload", "top_k", err, "more experts than a layer of the model has");
    return true;
}

static void plain_labels(struct run_config *config)
{
    static const char *const kinds[] = {"dense", "moe", "chat"}, *const modes[] = {"chunked", "read", "mmap"};
    const struct workload_spec *workload = &config->workload;
    config->workload_label = workload->kind != WORKLOAD_TRACE ? kinds[workload->kind]
                             : workload->trace                ? base_name(workload->trace)
                                                              : "sequence";
    config->loader_label = modes[config->loader.mode];
}

bool finish_run(const struct selection *selection, struct run_config *config, struct error *err)
{
    plain_labels(config);
    return check_workload(selection, config, err) && finish_loader(selection, config, err) &&
           finish_policy(selection, config, err);
}
