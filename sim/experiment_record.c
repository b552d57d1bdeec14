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
    record_finish(record);
    /* The model may be gone before the record is. */
    return record_keep(record, arena) || fail(err, STATUS_IO, "out of memory");
}
