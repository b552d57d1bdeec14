/* Fuzzes the readers of safetensors headers and of their indexes: whatever the bytes, they answer with a model or with
 * one line. Input that begins with '{' is an index of the file of the input before. */
#include "tests/fuzz/model_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model model;
    struct error err = {.code = STATUS_OK};
    const bool is_index = size > 0 && data[0] == '{';
    const char *path = fuzz_file(is_index ? "x.safetensors.index.json" : "x.safetensors", data, size);
    const bool read = model_from_safetensors(path, &model, &err);
    must(!read || is_index || model.file_bytes == size);
    fuzz_check(read, &model, &err);
    return 0;
}
