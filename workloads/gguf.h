/* What gguf_read.c takes out of the header of a GGUF file, for gguf.c to make a model of. Used by no one else.
 *
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
#ifndef POCKETLOAD_WORKLOADS_GGUF_H
#define POCKETLOAD_WORKLOADS_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    GGUF_DIMS_MAX = 4,           /* GGML_MAX_DIMS */
    GGUF_NAME_MAX = 127,         /* of a tensor; ggml itself stops at 63 */
    GGUF_KEY_MAX = 65535,        /* of a key, as the format says */
    GGUF_ARRAY_MAX = 1 << 16,    /* of whole numbers that are kept: heads by layer and the like */
    GGUF_KEYS_MAX = 1 << 16,     /* keys of one file */
    GGUF_TENSORS_MAX = 1 << 20,  /* tensors of one model */
    GGUF_ALIGNMENT_MAX = 1 << 20 /* general.alignment */
};

enum gguf_value_kind {
    GGUF_NUMBER,   /* a whole number >= 0, or a bool */
    GGUF_NEGATIVE, /* a whole number < 0 */
    GGUF_NUMBERS,  /* an array of whole numbers or bools, none negative: their count, sum and maximum */
    GGUF_STRING,   /* general.architecture, whose text is kept: `text` is its offset in gguf.text */
    GGUF_OTHER,    /* anything else; of an array, its count */
};

struct gguf_value {
    size_t key;        /* offset in gguf.text */
    uint64_t position; /* of the key in its file */
    enum gguf_value_kind kind;
    uint64_t number, count, sum, max;
    size_t text;
};

struct gguf_tensor {
    size_t name;       /* offset in gguf.text */
    uint64_t position; /* of its description in its file, which is part number `part` */
    uint32_t part;
    uint32_t type; /* enum tensor_type */
    uint32_t dim_count;
    uint64_t dims[GGUF_DIMS_MAX]; /* fastest first */
    uint64_t elements, bytes;
    uint64_t offset; /* of its data, as if the parts of the model followed one another */
};

struct gguf {
    struct gguf_value *values; /* of the first part */
    size_t value_count, value_capacity;
    struct gguf_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    char *text; /* names, keys and strings, each NUL-terminated */
    size_t text_size, text_capacity;
    uint64_t file_bytes; /* of all parts */
};

/* Reads the headers of a file and, when it is one part of a split one, of all its parts. *gguf is zeroed first; the
 * caller frees it in any case. */
bool gguf_read(const char *path, struct gguf *gguf, struct error *err);
void gguf_free(struct gguf *gguf);

static inline const char *gguf_text(const struct gguf *gguf, size_t offset)
{
    return gguf->text + offset;
}

/* The value of a key among those from `first` on (0: of the first part), or NULL. */
const struct gguf_value *gguf_find(const struct gguf *gguf, size_t first, const char *key);

/* ---- Reading one part ---- */

struct gguf_part {
    uint64_t file_bytes;
    uint64_t split_no, split_count; /* 0 and 0: not split */
};

/* Appends the header of one file: its values and, with offsets moved by base, its tensors. */
bool gguf_read_part(const char *path, uint32_t number, uint64_t base, struct gguf *gguf, struct gguf_part *part,
                    struct error *err);

/* Fills model->shape, quant and kv_bytes_per_token from the metadata, as far as it says (gguf_meta.c). `path` is for
 * messages. */
struct model;
bool gguf_metadata(const char *path, const struct gguf *gguf, struct model *model, struct error *err);

#endif
