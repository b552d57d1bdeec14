/* What safetensors_read.c takes out of the headers of safetensors files, for safetensors.c to make a model of. Used by
 * no one else.
 *
 * Format: https://github.com/huggingface/safetensors, README.md ("Format") and safetensors/src/tensor.rs (the checks
 * of Metadata::validate and read_metadata). 8 bytes with the header's length, little-endian; the header, a JSON object
 * {"NAME": {"dtype": "BF16", "shape": [rows, columns], "data_offsets": [begin, end]}, ..., "__metadata__": {...}}; the
 * data, without holes. Several files of one model come with an index, model.safetensors.index.json: {"weight_map":
 * {"NAME": "FILE", ...}, ...}. */
#ifndef POCKETLOAD_WORKLOADS_SAFETENSORS_H
#define POCKETLOAD_WORKLOADS_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    SAFETENSORS_HEADER_MAX = 100000000, /* bytes: MAX_HEADER_SIZE of tensor.rs; of an index too */
    SAFETENSORS_TENSORS_MAX = 1 << 20,  /* of one model */
    SAFETENSORS_FILES_MAX = 4096,       /* of one model */
    SAFETENSORS_NAME_MAX = 255          /* bytes of a tensor's name, and of a file's */
};

struct safetensor {
    size_t name;        /* offset in safetensors.text */
    uint32_t part;      /* number of its file, from 0 */
    uint32_t type;      /* enum tensor_type: a BOOL or unsigned one is the signed one of its size */
    uint32_t dim_count; /* 0: a single number */
    uint64_t rows;      /* the slowest dimension, 1 where there is none */
    uint64_t row;       /* the fastest dimension, 1 where there is none */
    uint64_t elements, bytes;
    uint64_t position; /* of its data in its file */
    uint64_t offset;   /* as if the files followed one another */
};

struct safetensors {
    struct safetensor *tensors; /* in the order of their data */
    size_t tensor_count, tensor_capacity;
    char *text; /* names, each NUL-terminated */
    size_t text_size, text_capacity;
    uint64_t file_bytes; /* of all files */
};

/* Reads the header of a file or, where the path ends in ".json", the index of a model in several files and all their
 * headers. *out is zeroed first; the caller frees it in any case. A file that is one of several, by its name, is an
 * error that names the index. STATUS_INPUT, STATUS_IO. */
bool safetensors_read(const char *path, struct safetensors *out, struct error *err);
void safetensors_free(struct safetensors *out);

static inline const char *safetensors_text(const struct safetensors *file, size_t offset)
{
    return file->text + offset;
}

/* Appends the header of one file of `number`, its offsets moved by out->file_bytes, and adds its size to that. */
bool safetensors_read_file(const char *path, uint32_t number, struct safetensors *out, struct error *err);

#endif
