/* From results to records: who computed what, kept in grid order, stored as it comes. */
#include "cli/run_results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/summary.h"

static bool no_memory(struct error *err)
{
    return fail(err, STATUS_IO, "out of memory");
}

bool results_start(struct run_results *results, struct experiment *experiment, const char *db, uint64_t shard,
                   uint64_t shards, const volatile sig_atomic_t *stop, struct error *err)
{
    *results = (struct run_results){.experiment = experiment, .db = db, .stop = stop};
    size_t total = experiment_run_count(experiment);
    size_t room = total / shards + 1;
    results->indices = calloc(room, sizeof *results->indices);
    results->records = calloc(room, sizeof *results->records);
    results->has_record = calloc(room, sizeof *results->has_record);
    if (results->indices == NULL || results->records == NULL || results->has_record == NULL)
        return no_memory(err);
    for (uint64_t i = shard - 1; i < total; i += shards)
        results->indices[results->count++] = i;
    /* A missing file is made with the first result, so that a config whose runs all fail leaves nothing behind. */
    if (db != NULL && (access(db, F_OK) == 0 || errno != ENOENT))
        return store_open(db, &results->store, err);
    return true;
}

/* The effective name of a stored run is that of the experiment that asks for it now. */
static void rename_experiment(struct run_results *results, struct run_record *record)
{
    record->experiment = experiment_name(results->experiment);
}

/* The runs of the places are this experiment's too, from now on. */
static bool claim(struct run_results *results, const char **keys, size_t count, struct error *err)
{
    return count == 0 || store_claim(results->store, experiment_name(results->experiment), keys, count, err);
}

bool results_known(struct run_results *results, bool force, size_t *todo, size_t *todo_count, struct error *err)
{
    size_t known_count = 0;
    const char **known_keys = calloc(results->count + 1, sizeof *known_keys);
    bool good = known_keys != NULL || no_memory(err);
    *todo_count = 0;
    for (size_t place = 0; good && place < results->count && *results->stop == 0; place++) {
        const char *key = experiment_run_key(results->experiment, results->indices[place], err);
        bool known = false;
        good = key != NULL && (results->store == NULL || force || store_has(results->store, key, &known, err));
        if (good && known) {
            known_keys[known_count++] = key;
            good = store_get(results->store, key, &results->arena, &results->records[place], err);
            rename_experiment(results, &results->records[place]);
            results->has_record[place] = good;
        } else if (good) {
            todo[(*todo_count)++] = place;
        }
    }
    good = good && claim(results, known_keys, known_count, err);
    free(known_keys);
    return good;
}

/* The model of a run, without its trace: compiling that again here would cost as much as many a run. */
static bool find_model(struct run_results *results, size_t index, const struct model **model, struct error *err)
{
    const struct run_config *config = experiment_run(results->experiment, index);
    const struct model_spec *spec = &config->model;
    if (spec->blocks == NULL && spec->file == NULL && !spec->has_shape) {
        *model = &results->prepared.model;
        return experiment_prepare(results->experiment, index, &results->prepared, err);
    }
    *model = &results->model;
    if (results->has_model && run_models_alike(results->model_of, config))
        return true;
    if (results->has_model)
        model_free(&results->model);
    results->has_model = experiment_model(config, &results->model, err);
    results->model_of = config;
    return results->has_model;
}

bool results_weights(struct run_results *results, size_t place, uint64_t *bytes, struct error *err)
{
    const struct model *model;
    if (!find_model(results, results->indices[place], &model, err))
        return false;
    *bytes = model->weights_bytes;
    return true;
}

/* result NULL: the run failed. */
static bool keep(struct run_results *results, size_t place, const struct model *model, const struct run_result *result,
                 struct error *err)
{
    results->has_record[place] = true;
    if (results->db == NULL)
        return true;
    if (results->store == NULL && !store_open(results->db, &results->store, err))
        return false;
    const size_t index = results->indices[place];
    const char *json = experiment_run_json(results->experiment, index, err);
    const struct pressure_spec *pressure = &experiment_run(results->experiment, index)->device.pressure;
    const struct store_names names = {
        .block_name = store_model_block_name, .model = model, .apps = pressure->apps, .app_count = pressure->app_count};
    return json != NULL && store_put(results->store, &results->records[place], result, json, &names, err);
}

bool results_add(struct run_results *results, size_t place, const struct run_result *result, struct error *err)
{
    size_t index = results->indices[place];
    const struct model *model;
    if (!find_model(results, index, &model, err) ||
        !experiment_record(results->experiment, index, model, result, &results->arena, &results->records[place], err))
        return false;
    results->computed++;
    return keep(results, place, model, result, err);
}

bool results_add_failure(struct run_results *results, size_t place, const struct error *why, struct error *err)
{
    size_t index = results->indices[place];
    const struct model *model;
    return find_model(results, index, &model, err) &&
           experiment_failure(results->experiment, index, model, why->text, &results->arena, &results->records[place],
                              err) &&
           keep(results, place, model, NULL, err);
}

bool results_first_time(struct run_results *results, const char *text, size_t length)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, 64 bits */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    for (size_t i = 0; i < results->seen_count; i++)
        if (results->seen[i] == hash)
            return false;
    if (results->seen_count < TEXTS_SEEN_MAX)
        results->seen[results->seen_count++] = hash;
    return true;
}

bool results_close(struct run_results *results, struct error *err)
{
    struct store *store = results->store;
    results->store = NULL;
    return store_close(store, err);
}

bool results_finish(struct run_results *results, struct error *err)
{
    bool good = results_close(results, err);
    prepared_free(&results->prepared);
    if (results->has_model)
        model_free(&results->model);
    arena_free(&results->arena);
    free(results->indices);
    free(results->records);
    free(results->has_record);
    *results = (struct run_results){0};
    return good;
}

bool results_print_summary(struct run_results *results, enum format format, struct error *err)
{
    struct run_record *records = calloc(results->count + 1, sizeof *records);
    size_t count = 0;
    if (records == NULL)
        return no_memory(err);
    for (size_t i = 0; i < results->count; i++)
        if (results->has_record[i])
            records[count++] = results->records[i];
    const bool good = output_summary(stdout, format, records, count, err);
    free(records);
    return good;
}
