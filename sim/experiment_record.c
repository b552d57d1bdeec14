/* From the config and the result of a run to its record. */
#include "sim/experiment.h"
#include "sim/record.h"

bool experiment_record(struct experiment *experiment, size_t index, const struct model *model,
                       const struct run_result *result, struct arena *arena, struct run_record *record,
                       struct error *err)
{
    const char *key = experiment_run_key(experiment, index, err);
    if (key == NULL)
        return false;
    const struct run_config *config = experiment_run(experiment, index);
    *record = (struct run_record){
        .run_key = key,
        .experiment = experiment_name(experiment),
        .device = config->device.name,
        .model = model->name,
        .quant = model->quant,
        .workload = config->workload_label,
        .loader = config->loader_label,
        .policy = config->policy.label,
        .evict = config->policy.evict_text,
        .pin = config->policy.pin_text,
        .prefetch = config->policy.prefetch_text,
        .budget_bytes = config->loader.budget_bytes,
        .seed = config->seed,
        .numbers = result->numbers,
    };
    /* Its own copies: the model may be gone before the record is. */
    const char **texts[] = {&record->run_key,
                            &record->experiment,
                            &record->device,
                            &record->model,
                            &record->quant,
                            &record->workload,
                            &record->loader,
                            &record->policy,
                            &record->evict,
                            &record->pin,
                            &record->prefetch,
                            &record->numbers.killed_by,
                            &record->numbers.killed_phase};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = arena_strdup(arena, *texts[i] != NULL ? *texts[i] : "");
        if (*texts[i] == NULL)
            return fail(err, STATUS_IO, "out of memory");
    }
    record_finish(record);
    return true;
}
