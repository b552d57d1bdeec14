/* Fuzzes the reader of config.json: whatever the bytes, it answers with a model or with one line. */
#include "tests/fuzz/model_file.h"
#include "workloads/hf_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model model;
    struct shape shape;
    struct error err = {.code = STATUS_OK};
    const char *path = fuzz_file("config.json", data, size);
    if (!hf_config_read(path, &shape, &err)) {
        fuzz_check(false, &model, &err);
        return 0;
    }
    must(shape.layers >= 1 && shape.width >= 1 && shape.heads >= 1 && shape.heads % shape.kv_heads == 0);
    must(shape.experts_used <= shape.experts && shape.window_layers <= shape.layers);
    /* Many blocks are no fault, but slow. */
    if ((uint64_t)shape.layers * (shape.experts + UINT64_C(1)) < 4096)
        fuzz_check(model_from_config(path, QUANT_Q4_0, &model, &err), &model, &err);
    return 0;
}
