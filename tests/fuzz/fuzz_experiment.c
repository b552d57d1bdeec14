/* Fuzzes the reading of experiments: any config must become runs or one line of error. */
#include <stdlib.h>
#include <string.h>

#include "sim/experiment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const dirs[] = {"configs", NULL};
    struct experiment *experiment;
    struct error err;
    if (!experiment_parse("fuzz.ini", (const char *)data, size, NULL, 0, dirs, &experiment, &err)) {
        must(*err.text && !strchr(err.text, '\n'));
        return 0;
    }
    size_t count = experiment_run_count(experiment);
    must(count > 0);
    for (size_t i = 0; i < count && i < 4; i++) {
        const struct run_config *config = experiment_run(experiment, i);
        must(*config->policy.label && config->device.pressure.threshold_bytes > 0);
        const char *key = experiment_run_key(experiment, i, &err);
        must(!key || strlen(key) == RUN_KEY_TEXT - 1);
        must(!key || experiment_run_json(experiment, i, &err));
    }
    experiment_free(experiment);
    return 0;
}
