/* Sizes that follow from a model's shape: its file, and its KV cache. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "results/validate_parts.h"
#include "workloads/kv.h"

enum { MODEL, QUANT, FILE_BYTES, FILE_SOURCE };
enum { KV_MODEL, KV_TYPE, KV_CONTEXT, KV_BYTES, KV_SOURCE };

static const struct truth_column file_columns[] = {
    [MODEL] = {"model", TRUTH_TEXT, 0, 0},
    [QUANT] = {"quant", TRUTH_TEXT, 0, 0},
    [FILE_BYTES] = {"file_bytes", TRUTH_COUNT, 0, 1e15},
    [FILE_SOURCE] = {"source", TRUTH_TEXT, TRUTH_MAY_BE_EMPTY | TRUTH_MAY_BE_MISSING, 0},
};

static const struct truth_column kv_columns[] = {
    [KV_MODEL] = {"model", TRUTH_TEXT, 0, 0},
    [KV_TYPE] = {"kv_type", TRUTH_TEXT, 0, 0},
    [KV_CONTEXT] = {"context_tokens", TRUTH_COUNT, 0, 1 << 24},
    [KV_BYTES] = {"kv_bytes", TRUTH_COUNT, 0, 1e15},
    [KV_SOURCE] = {"source", TRUTH_TEXT, TRUTH_MAY_BE_EMPTY | TRUTH_MAY_BE_MISSING, 0},
};

/* The model of a profile; false with the reason. */
static bool build(const struct validating *validating, const char *name, enum quant quant, struct model *model,
                  struct error *err)
{
    struct shape shape;
    char label[128];
    return profile_read_model(name, validating->options->profile_dirs, &shape, label, err) &&
           model_from_shape(label, &shape, quant, model, err);
}

static bool compare_files(struct validating *validating, const struct truth_file *file, struct error *err)
{
    for (size_t i = 0; i < file->row_count; i++) {
        const struct truth_cell *cells = file->rows[i].cells;
        char subject[160], why[160];
        struct error reason;
        struct model model;
        enum quant quant;
        snprintf(subject, sizeof subject, "%.80s %.40s", cells[MODEL].text, cells[QUANT].text);
        const struct truth_place place = {validating, file, &file->rows[i], subject};
        const char *name = truth_model_named(validating, cells[MODEL].text, NULL, why, sizeof why);
        if (name == NULL || !truth_quant_named(cells[QUANT].text, &quant, why, sizeof why)) {
            if (!truth_skip(&place, why, err))
                return false;
            continue;
        }
        const bool good = build(validating, name, quant, &model, &reason);
        const double bytes = good ? (double)model.file_bytes : (double)NAN;
        if (good)
            model_free(&model);
        if (!truth_add(&place, "file_bytes", cells[FILE_BYTES].number, bytes, 1.5, good ? "" : reason.text, err))
            return false;
    }
    return true;
}

static bool kv_type_named(const char *name, enum kv_type *type)
{
    for (int t = 0; t < KV_TYPES; t++)
        if (strcasecmp(kv_type_names[t], name) == 0) {
            *type = (enum kv_type)t;
            return true;
        }
    return false;
}

static bool compare_kv(struct validating *validating, const struct truth_file *file, struct error *err)
{
    for (size_t i = 0; i < file->row_count; i++) {
        const struct truth_cell *cells = file->rows[i].cells;
        char subject[160], why[160];
        struct error reason;
        struct model model;
        struct kv_growth growth;
        enum kv_type type = KV_TYPES;
        uint64_t bytes = 0;
        snprintf(subject, sizeof subject, "%.80s, %.0f tokens in %.20s", cells[KV_MODEL].text, cells[KV_CONTEXT].number,
                 cells[KV_TYPE].text);
        const struct truth_place place = {validating, file, &file->rows[i], subject};
        const char *name = truth_model_named(validating, cells[KV_MODEL].text, NULL, why, sizeof why);
        if (name != NULL && !kv_type_named(cells[KV_TYPE].text, &type)) {
            snprintf(why, sizeof why, "no type of KV cache \"%.40s\"", cells[KV_TYPE].text);
            name = NULL;
        }
        if (name == NULL) {
            if (!truth_skip(&place, why, err))
                return false;
            continue;
        }
        /* The cache does not depend on the weights' types. */
        const bool built = build(validating, name, QUANT_F16, &model, &reason);
        const bool good = built && kv_growth(&model, type, &growth, &reason) &&
                          kv_bytes(&growth, (uint64_t)cells[KV_CONTEXT].number, &bytes);
        if (built)
            model_free(&model);
        if (!truth_add(&place, "kv_bytes", cells[KV_BYTES].number, good ? (double)bytes : (double)NAN, 0,
                       built ? "" : reason.text, err))
            return false;
    }
    return true;
}

const struct truth_family truth_gguf_sizes = {
    .name = "file-sizes", TRUTH_COLUMN_LIST(file_columns), .compare = compare_files};
const struct truth_family truth_kv_sizes = {.name = "kv-sizes", TRUTH_COLUMN_LIST(kv_columns), .compare = compare_kv};
