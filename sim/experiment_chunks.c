/* The chunks of a run: how its model is cut. */
#include "sim/experiment_parts.h"

/* With loader.chunk = layer nothing is done. On failure the model is as it was. */
static bool cut(const struct run_config *config, struct model *model, struct model *whole, struct chunk_map *map,
                bool *is_cut, struct error *err)
{
    const struct chunk_rule rule = chunk_of_code(config->chunk);
    struct model chunked;
    *is_cut = false;
    if (rule.kind == CHUNK_LAYER)
        return true;
    if (rule.kind == CHUNK_HEADS && model->member_count > 0)
        return fail(err, STATUS_USAGE, "heads are of one model: expected layer, SIZE or layers:K beside other models");
    if (!chunk_model(model, &rule, &chunked, map, err))
        return false;
    *whole = *model;
    *model = chunked;
    *is_cut = true;
    return true;
}

bool cut_model(const struct selection *selection, const struct run_config *config, struct model *model,
               struct model *whole, struct chunk_map *map, bool *is_cut, struct error *err)
{
    if (cut(config, model, whole, map, is_cut, err))
        return true;
    if (err->code == STATUS_INPUT)
        err->code = STATUS_USAGE; /* with another rule the same model is good */
    return fail_by_key(selection, "loader", "chunk", err);
}

bool experiment_model(const struct run_config *config, struct model *model, struct error *err)
{
    struct model whole;
    struct chunk_map map;
    bool is_cut;
    const char *section, *key;
    if (!run_model_build(config, model, &section, &key, err))
        return false;
    if (!cut(config, model, &whole, &map, &is_cut, err)) {
        model_free(model);
        return false;
    }
    if (is_cut) {
        model_free(&whole);
        chunk_map_free(&map);
    }
    return true;
}
