/* Fuzzes the reader of GGUF headers: whatever the bytes, it answers with a model or with one line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workloads/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model model;
    struct error err = {.code = STATUS_OK};
    char path[64];
    int file = memfd_create("fuzz.gguf", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (model_from_gguf(path, &model, &err)) {
        uint64_t sum = 0;
        for (uint32_t b = 0; b < model.block_count; b++) {
            const struct block *block = &model.blocks[b];
            for (uint32_t i = 0; i < block->extent_count; i++) {
                const struct extent *extent = &model.extents[block->first_extent + i];
                must(extent->offset_bytes <= size && extent->bytes <= size - extent->offset_bytes);
                sum += extent->bytes;
            }
            must(model_find(&model, model_block_name(&model, b)) == b);
        }
        must(sum == model.weights_bytes && sum <= size);
        model_free(&model);
    } else
        must(err.code != STATUS_OK && err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    close(file);
    return 0;
}
