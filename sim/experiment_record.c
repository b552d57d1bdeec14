/* From the config and the result of a run, or the reason why there is none, to its record. */
#include <string.h>

#include "sim/experiment_parts.h"
#include "sim/perplexity.h"
#include "sim/record.h"

static bool find_estimates(struct experiment *experiment, size_t index, const struct model *model, struct arena *arena,
                           const char **text, struct error *err)
{
    struct selection selection;
    struct run_config config;
    return combination_read(experiment, experiment->combinations[index], &selection, &config, err) &&
           run_estimates(&selection, &config, model, arena, text, err);
}

bool experiment_record(struct experiment *experiment, size_t index, const struct model *model,
                       const struct run_result *result, struct arena *arena, struct run_record *record,
                       struct error *err)
{
    const char *key = experiment_run_key(experiment, index, err);
    if (key == NULL)
        return false;
    const struct run_config *config = experiment_run(experiment, index);
    const char *estimates;
    if (!find_estimates(experiment, index, model, arena, &estimates, err))
        return false;
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
        .admit = config->policy.admit_text,
        .note = result->numbers.note,
        .kills = result->numbers.kills,
        .estimates = estimates,
        .perplexity = perplexity_of(config->perplexity, model->quant),
        .budget_bytes = config->loader.budget_bytes,
        .seed = config->seed,
        .numbers = result->numbers,
    };
    record_finish(record);
    /* The model may be gone before the record is. */
    return record_keep(record, arena) || fail(err, STATUS_IO, "out of memory");
}

enum { FAILURE_TEXT = 200 };

/* "FILE: policy 'x' answers ..." or "NAME: run 1 (x): took longer ..." without the places before it, in whole
 * characters, on one line. */
static void shorten(const char *why, char out[FAILURE_TEXT])
{
    static const char *const beginnings[] = {"policy '", "took longer than ", "the worker process "};
    const char *text = why;
    for (size_t i = 0; text == why && i < sizeof beginnings / sizeof *beginnings; i++) {
        const char *found = strstr(why, beginnings[i]);
        text = found ? found : why;
    }
    size_t length = strlen(text);
    if (length >= FAILURE_TEXT)
        for (length = FAILURE_TEXT - 1; length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80; length--)
            ;
    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
    out[length] = '\0';
}

bool experiment_failure(struct experiment *experiment, size_t index, const struct model *model, const char *why,
                        struct arena *arena, struct run_record *record, struct error *err)
{
    char reason[FAILURE_TEXT];
    shorten(why, reason);
    const struct run_result nothing = {.numbers = {.outcome = OUTCOME_FAILED,
                                                   .killed_by = reason,
                                                   .killed_phase = "",
                                                   .ttft_ns = -1,
                                                   .tpot_mean_ns = -1,
                                                   .tpot_p50_ns = -1,
                                                   .tpot_p95_ns = -1,
                                                   .tpot_p99_ns = -1,
                                                   .least_hole_bytes = -1,
                                                   .load_10_ns = -1,
                                                   .load_50_ns = -1,
                                                   .load_90_ns = -1,
                                                   .load_100_ns = -1,
                                                   .first_layer_ns = -1,
                                                   .turn_ttft_mean_ns = -1,
                                                   .turn_ttft_max_ns = -1,
                                                   .hot_at_ns = -1}};
    return experiment_record(experiment, index, model, &nothing, arena, record, err);
}
