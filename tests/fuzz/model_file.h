/* A file in a folder of its own, and what must hold of a model that was read from it. */
#ifndef POCKETLOAD_TESTS_FUZZ_MODEL_FILE_H
#define POCKETLOAD_TESTS_FUZZ_MODEL_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workloads/model.h"

static char fuzz_folder[32];

static inline void fuzz_clean(void)
{
    static const char *const names[] = {"x.safetensors", "x.safetensors.index.json", "config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%s", fuzz_folder, names[i]);
        unlink(path);
    }
    rmdir(fuzz_folder);
}

/* The path of a file of that name (one that fuzz_clean knows) with those bytes; in one folder for each process. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    static char path[96];
    if (fuzz_folder[0] == '\0') {
        snprintf(fuzz_folder, sizeof fuzz_folder, "/tmp/pocketload-fuzz-XXXXXX");
        if (mkdtemp(fuzz_folder) == NULL || atexit(fuzz_clean) != 0)
            abort();
    }
    snprintf(path, sizeof path, "%s/%s", fuzz_folder, name);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, data, size) != (ssize_t)size || close(file) != 0)
        abort();
    return path;
}

/* One line, or a model whose blocks can be found and whose sums are right. Frees it. */
static inline void fuzz_check(bool read, struct model *model, const struct error *err)
{
    if (!read) {
        must(err->code != STATUS_OK && err->text[0] != '\0' && strchr(err->text, '\n') == NULL);
        return;
    }
    uint64_t sum = 0, parts = 0;
    for (uint32_t b = 0; b < model->block_count; b++) {
        const struct block *block = &model->blocks[b];
        for (uint32_t i = 0; i < block->extent_count; i++) {
            const struct extent *extent = &model->extents[block->first_extent + i];
            must(extent->offset_bytes <= model->file_bytes &&
                 extent->bytes <= model->file_bytes - extent->offset_bytes);
            sum += extent->bytes;
        }
        must(model_find(model, model_block_name(model, b)) == b);
    }
    for (int part = 0; part < MODEL_PARTS; part++)
        parts += model->part_bytes[part];
    must(sum == model->weights_bytes && parts == sum);
    model_free(model);
}

#endif
